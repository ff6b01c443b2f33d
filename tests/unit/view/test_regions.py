"""Regions of a map and their names."""

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError
from winkel.measures.explain import group_effects
from winkel.view.naming import names_on
from winkel.view.regions import class_names, hills, named_classes, texts_table


def islands(each=80, seed=0):
    stream = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    which = np.repeat(np.arange(3), each)
    return centers[which] + stream.normal(size=(3 * each, 2)), which


def test_hills_are_the_islands_of_a_map():
    Y, which = islands()
    hill, tops = hills(Y, 1)
    sizes = np.bincount(hill)
    large = np.flatnonzero(sizes > 40)
    assert len(large) == 3
    for h in large:
        assert len(np.unique(which[hill == h])) == 1
        assert np.linalg.norm(tops[h] - Y[hill == h].mean(axis=0)) < 1.5


def test_a_class_in_two_places_is_named_at_both():
    Y, which = islands()
    names = class_names(Y, *named_classes(np.array(["far", "near", "far"])[which]))
    assert sorted(name.text for name in names) == ["far", "far", "near"]
    places = np.array([name.place for name in names if name.text == "far"])
    assert np.linalg.norm(places[0] - places[1]) > 7
    assert sum(name.size for name in names) <= len(Y)


def test_labels_that_say_unknown_are_not_names():
    Y, which = islands()
    names = class_names(Y, *named_classes(which - 1))
    assert {name.text for name in names} == {"0", "1"}


def test_clusters_are_named_by_the_columns_that_set_them_apart():
    Y, which = islands()
    stream = np.random.default_rng(1)
    table = stream.normal(size=(len(Y), 4))
    table[which == 1, 2] += 4
    table[which == 2, 3] -= 4
    names = [
        n for n in names_on(Y, True, table=(table, ["a", "b", "c", "d"])) if n.size > 60 and n.level == 1
    ]
    by_place = {tuple(np.round(np.array(name.place) / 10).astype(int)): name.text for name in names}
    assert by_place[(1, 0)].split(",")[0] == "c ↑"
    assert by_place[(0, 1)].split(",")[0] == "d ↓"


def test_clusters_are_named_by_words_of_their_texts():
    Y, which = islands()
    texts = [f"The {('cat', 'dog', 'eel')[c]} and the river" for c in which]
    words = texts_table(texts)[1]
    assert set(words) == {"cat", "dog", "eel"}  # words that most texts hold tell nothing
    assert {name.text for name in names_on(Y, None, texts=texts)} == {"cat", "dog", "eel"}


@pytest.mark.parametrize("sparse", [False, True])
def test_effects_of_groups_are_those_of_explain(sparse):
    import scipy.sparse as sp

    stream = np.random.default_rng(0)
    X = stream.normal(size=(120, 6)) + 5
    X[stream.uniform(size=X.shape) < 0.4] = 0
    groups = stream.integers(0, 4, 120)
    found = group_effects(sp.csr_matrix(X) if sparse else X, groups, 4)
    for g in range(4):
        told = wk.explain(X, groups == g)
        effect = dict(zip(told.columns, told.effect))
        np.testing.assert_allclose(found[g], [effect[str(c)] for c in range(6)], atol=1e-10)


def test_which_names_are_written_without_being_asked():
    Y, which = islands()
    assert len(names_on(Y, None, labels=which)) == 3
    assert names_on(Y, False, labels=which) == []
    assert names_on(Y, None, labels=np.arange(len(Y))) == []  # too many
    assert len(names_on(Y, True, labels=np.arange(len(Y)))) == len(Y)
    assert names_on(Y, None) == []
    assert {name.text for name in names_on(Y, np.array(["p", "q", "r"])[which])} == {"p", "q", "r"}
    with pytest.raises(InvalidInputError, match="names=True needs something"):
        names_on(Y, True)


def test_plot_writes_names_that_do_not_overlap():
    pytest.importorskip("matplotlib")
    stream = np.random.default_rng(0)
    Y = stream.uniform(size=(38, 2)).repeat(5, axis=0) + 0.001 * stream.normal(size=(190, 2))
    labels = [f"quite a long name {k // 5}" for k in range(190)]
    ax = wk.plot(Y, labels=labels)
    ax.figure.canvas.draw()
    shown = [text for text in ax.texts if text.get_visible()]
    assert 5 < len(shown) < 38
    boxes = [text.get_window_extent() for text in shown]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert wk.plot(Y, labels=labels, names=False).texts[:] == []


def test_a_page_holds_features_only_when_asked(tmp_path):
    pandas = pytest.importorskip("pandas")
    Y, which = islands()
    table = pandas.DataFrame({"first": Y[:, 0], "second": which})
    from winkel.view.html.parts import build_parts

    assert "features" not in build_parts(Y, data=table, trust=False)
    assert "features" in build_parts(Y, data=table, trust=False, features=True)
    with pytest.raises(InvalidInputError, match="features=True needs the data"):
        wk.write_html(tmp_path / "page.html", Y, features=True)
