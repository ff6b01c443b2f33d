"""`wk.spectrum`: maps from the shape of the whole to the neighbours of each row."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

import winkel as wk
from winkel.errors import InvalidParameterError

ROLL = make_swiss_roll(1500, random_state=0)[0].astype(np.float32)
DIGITS = wk.datasets.load_digits()
X, LABELS = DIGITS.X[:300], DIGITS.y[:300]
pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


@pytest.fixture(scope="module")
def roll():
    return wk.spectrum(ROLL, n_jobs=1)


@pytest.fixture(scope="module")
def digits():
    return wk.spectrum(X, labels=LABELS, model=wk.MDE(max_iter=60), n_jobs=1)


def test_more_neighbours_are_kept_along_the_line_and_only_the_shape_is_surely_whole(roll):
    recall, torn = roll.scores["neighbor_recall"], roll.scores["tearing"]
    assert recall[-1] > recall[0] + 0.02
    assert (np.diff(recall) > -0.01).all()
    assert torn[0] == 0 < torn.max()


def test_each_map_is_about_as_good_as_one_by_itself(roll):
    by_itself = [wk.MDE(focus=place, random_state=0, n_jobs=1).fit(ROLL).result_ for place in roll.focus]
    assert roll.models[0].embedding_.tobytes() == by_itself[0].Y.tobytes()
    for found, alone in zip(roll, by_itself):
        assert found.objective < 1.02 * alone.objective


def test_five_maps_take_fewer_than_three_times_the_evaluations_of_one(roll):
    def evaluations(model):
        return model.result_.history["evaluations"].sum()

    one = evaluations(wk.MDE(focus=1.0, random_state=0, n_jobs=1).fit(ROLL))
    assert sum(map(evaluations, roll.models)) < 3 * one


def test_neighbours_are_searched_once(monkeypatch):
    from winkel.methods.mde import plan

    searches = []
    listed = plan.listed_neighbors
    monkeypatch.setattr(plan, "listed_neighbors", lambda *args: searches.append(1) or listed(*args))
    wk.spectrum(X, model=wk.MDE(max_iter=20), places=(0.2, 0.6), n_jobs=1)
    assert len(searches) == 1


def test_maps_lie_upon_each_other(digits):
    for before, after in zip(digits.maps, digits.maps[1:]):
        np.testing.assert_allclose(after, wk.align(after, before), atol=1e-4 * np.std(after))
    for model, Y in zip(digits.models, digits.maps):
        assert wk.similarity(model.embedding_, Y) == pytest.approx(1, abs=1e-5)


def test_the_same_bytes_for_any_number_of_threads(digits):
    again = wk.spectrum(X, labels=LABELS, model=wk.MDE(max_iter=60), n_jobs=2)
    assert [Y.tobytes() for Y in again.maps] == [Y.tobytes() for Y in digits.maps]
    for name, values in again.scores.items():
        np.testing.assert_array_equal(values, digits.scores[name])


def test_models_place_new_rows_and_say_their_focus(digits):
    for place, model in zip(digits.focus, digits.models):
        assert model.focus == place
        np.testing.assert_array_equal(model.transform(X[:3]), model.embedding_[:3])


def test_equal_rows_share_a_place():
    found = wk.spectrum(
        np.repeat(X[:60], 2, axis=0), model=wk.MDE(n_neighbors=5, max_iter=20), n_neighbors=5, n_jobs=1
    )
    for model in found.models:
        np.testing.assert_array_equal(model.embedding_[::2], model.embedding_[1::2])


def test_precomputed_distances_give_a_spectrum():
    D = np.sqrt(np.maximum(((X[:80, None] - X[None, :80]) ** 2).sum(axis=2), 0))
    found = wk.spectrum(
        D,
        model=wk.MDE(metric="precomputed", n_neighbors=8, max_iter=20),
        places=(0, 1),
        n_neighbors=8,
        n_jobs=1,
    )
    assert [Y.shape for Y in found.maps] == [(80, 2)] * 2


def test_it_prints_as_a_table_and_is_drawn_and_written(digits, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    assert len(digits) == len(list(digits)) == 5
    assert digits[4] is digits.results[4]
    assert "1 neighbors" in str(digits)
    assert digits._repr_html_().count("<tr>") == 6
    figure = digits.plot(path=tmp_path / "maps.png")
    assert [ax.get_title() for ax in figure.axes] == [f"focus {name}" for name in digits.names]
    assert all(f"{report['tearing'].value:.3f}" in ax.texts[-1].get_text() for ax, report in zip(figure.axes, digits.reports))  # fmt: skip
    assert (tmp_path / "maps.png").stat().st_size > 1000
    assert digits.write_html(tmp_path / "maps.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        (X, {"model": wk.LVM()}, "model must be a winkel.MDE"),
        (X, {"model": wk.MDE(preserve="distances")}, "model must be a winkel.MDE"),
        (X, {"model": wk.MDE(repulsive="log")}, "focus"),
        (X, {"places": ()}, "places must be ascending numbers"),
        (X, {"places": (0.5, 0.5)}, "places must be ascending numbers"),
        (X, {"places": (0.5, 2)}, "places must be"),
        (X, {"scores": ["beauty"]}, "scores must be"),
        (wk.graph.knn(X, 5), {}, "got a Graph"),
    ],
)
def test_what_cannot_be_is_refused(data, more, message):
    with pytest.raises(InvalidParameterError, match=message):
        wk.spectrum(data, **more)


def test_the_command_line_writes_a_page_with_all_maps(tmp_path, capsys):
    from winkel.cli import main

    np.save(tmp_path / "rows.npy", X)
    page, picture = tmp_path / "page.html", tmp_path / "maps.png"
    code = main(["spectrum", str(tmp_path / "rows.npy"), "-o", str(page), "--png", str(picture), "--set", "max_iter=20", "--json"])  # fmt: skip
    values = json.loads(capsys.readouterr().out)
    assert code == 0
    assert values["focus"] == [0, 0.25, 0.5, 0.75, 1]
    assert len(values["scores"]) == 5
    assert page.stat().st_size > 1000
    assert picture.stat().st_size > 1000
    assert main(["spectrum", str(tmp_path / "rows.npy"), "-o", str(tmp_path / "page.csv")]) == 2
    assert main(["spectrum", str(tmp_path / "rows.npy"), "-o", str(page), "--set", "focus=1"]) == 2
