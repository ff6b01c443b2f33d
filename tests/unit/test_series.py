"""`wk.series`: maps of changing data that stay comparable."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError

pytestmark = [
    pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning"),
    pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning"),
]
RNG = np.random.default_rng(0)
GROUP = np.repeat(np.arange(4), 40)
BASE = 6 * RNG.normal(size=(4, 6))[GROUP] + RNG.normal(size=(160, 6))
TABLES = [BASE + 0.3 * t * RNG.normal(size=BASE.shape) for t in range(3)]
MODEL = wk.MDE(n_neighbors=8, max_iter=60)


def test_ties_keep_items_in_their_places_and_neighbours_faithful():
    tied = wk.series(TABLES, model=MODEL, random_state=0, n_jobs=1)
    alone = [wk.MDE(n_neighbors=8, max_iter=60, random_state=t, init="random", n_jobs=1).fit(X).embedding_
             for t, X in enumerate(TABLES)]  # fmt: skip
    apart = wk.series(TABLES, model=MODEL, tie=0.0, random_state=0, n_jobs=1)
    assert tied.movement.max() < 0.3
    assert tied.movement.mean() < apart.movement.mean()
    for X, Y, own in zip(TABLES, tied.maps, alone):
        scores = [wk.measure(X, M, scores=["trustworthiness"], n_neighbors=8, n_jobs=1)["trustworthiness"].value
                  for M in (Y, own)]  # fmt: skip
        assert scores[0] > scores[1] - 0.03


def test_a_map_follows_data_that_has_changed_altogether():
    """Pulls hold items whose neighbours stay, and give way where every row has become another."""
    digits = wk.datasets.load_digits().X[:400]
    other = digits[np.random.default_rng(1).permutation(400)]
    still, turned = (wk.series([digits, X], random_state=0, n_jobs=1) for X in (digits, other))
    assert still.movement[0] < 0.05 < 0.5 < turned.movement[0]
    scores = [wk.measure(other, Y, scores=["trustworthiness"], n_jobs=1)["trustworthiness"].value
              for Y in (turned.maps[1], turned.maps[0])]  # fmt: skip
    assert scores[0] > 0.9 > 0.6 > scores[1]


def test_a_series_is_told_as_a_table():
    ids = [np.arange(120), np.arange(30, 160)]
    found = wk.series([TABLES[0][:120], TABLES[1][30:]], ids, model=MODEL, random_state=0, n_jobs=1)
    told = repr(found).splitlines()
    assert len(told) == 3
    assert told[2].split()[:4] == ["1", "130", "90", f"{found.movement[0]:.3f}"]
    assert found._repr_html_().count("<tr") == 3


def test_items_come_and_go():
    ids = [np.arange(120), np.arange(30, 160)]
    found = wk.series([TABLES[0][:120], TABLES[1][30:]], ids, model=MODEL, random_state=0, n_jobs=1)
    assert [len(Y) for Y in found.maps] == [120, 130]
    assert found.common.tolist() == list(range(30, 120))
    frames = found.frames()
    assert frames.shape == (2, 90, 2)
    np.testing.assert_array_equal(frames[0], found.maps[0][30:120])
    np.testing.assert_array_equal(frames[1], found.maps[1][:90])
    middle = found.maps[1][GROUP[30:] == 3].mean(axis=0)  # a group of which every item is new
    assert np.isfinite(middle).all()


def test_the_same_bytes_for_any_number_of_threads():
    one, two = (wk.series(TABLES[:2], model=MODEL, random_state=0, n_jobs=jobs).maps for jobs in (1, 2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two))


def test_animation_and_slider(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    found = wk.series(TABLES[:2], model=MODEL, n_sweeps=0, random_state=0, n_jobs=1)
    gif = found.animate(tmp_path / "a.gif", labels=GROUP, fps=3, seconds=0.7, hold=0.3, size=2.0)
    assert gif.stat().st_size > 1000
    assert found.write_html(tmp_path / "a.html", labels=GROUP).stat().st_size > 1000


@pytest.mark.parametrize(
    ("tables", "ids", "more", "message"),
    [
        ([BASE], None, {}, "two or more tables"),
        (TABLES, [range(160)], {}, "one entry for each of the 3 tables; got 1"),
        (TABLES[:2], [range(160), range(9)], {}, r"ids\[1\] must name the 160 rows"),
        (TABLES[:2], [range(160), [0] * 160], {}, r"ids\[1\] names an item twice"),
        ([BASE, BASE[:90]], None, {}, "tables have 160, 90 rows and no names of their rows: pass ids"),
        (
            TABLES[:2],
            [range(160), range(200, 360)],
            {},
            r"tables\[1\] has no item in common with tables\[0\]",
        ),
        (TABLES, None, {"model": wk.LVM()}, "model must be a winkel.MDE"),
        (TABLES, None, {"tie": -1.0}, "tie must be"),
    ],
)
def test_what_is_refused(tables, ids, more, message):
    with pytest.raises((InvalidParameterError, InvalidInputError), match=message):
        wk.series(tables, ids, **more)
