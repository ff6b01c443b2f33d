"""A fit by shards from an arrangement: rows placed among landmarks, or a map, refined."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.methods.mde.plan import Settings, make_plan
from winkel.methods.mde.plan import Source as Planned
from winkel.problem.solving import solve
from winkel.run import Run
from winkel.scale import arranged, placing
from winkel.scale.arranged import REFINING_STAGES, apart, suited

# Noise, so that no two distances are equal.
X = (wk.datasets.load_digits().X[:900] + 0.1 * np.random.default_rng(0).random((900, 64))).astype(np.float32)
BLOCK = 128
pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def maker(**parameters):
    return wk.MDE(random_state=0, **{"max_iter": 12, **parameters})


def refined(init, **arguments):
    parameters = {name: arguments.pop(name) for name in ("max_iter", "n_jobs") if name in arguments}
    source = wk.scale.open_source(X, rows_per_shard=100)
    return wk.scale.fit(maker(**parameters), source, init=init, rows_per_block=BLOCK, **arguments)


@pytest.fixture(scope="module")
def landmarks():
    return wk.scale.fit_landmarks(wk.MDE(random_state=0), X, 150, choice="kmeans++")


@pytest.fixture(scope="module")
def placed(landmarks):
    return wk.scale.transform(landmarks, X)


@pytest.fixture(scope="module")
def expected(landmarks):
    return refined(landmarks, n_jobs=1).embedding_


def test_the_map_is_that_of_the_problem_in_memory_from_the_same_start(placed):
    run, settings = Run(n_jobs=2), Settings.of(maker(max_iter=3))  # rounding grows from step to step
    problem = make_plan(Planned.of(wk.data.as_table(X), settings, run), settings, run).problem
    mde = refined(placed, max_iter=3)
    start = suited(apart(placed, run), problem.with_background(REFINING_STAGES[0].share))
    whole = solve(problem, start, settings.solving(3), run, REFINING_STAGES)
    np.testing.assert_allclose(mde.embedding_, whole.Y, atol=3e-4 * np.abs(whole.Y).max())
    assert mde.objective_ == pytest.approx(whole.objective, rel=1e-5)


def test_placed_rows_find_their_neighbours_and_keep_their_arrangement(landmarks, placed):
    scores = ["rnx_auc", "neighbor_recall"]
    mde = refined(landmarks, max_iter=None)
    assert mde.result_.settings["max_iter"] == arranged.REFINING_ITERATIONS
    before, after = (wk.measure(X, Y, scores=scores, baseline=False) for Y in (placed, mde.embedding_))
    whole = wk.scale.fit(maker(max_iter=None), X).embedding_
    full = wk.measure(X, whole, scores=scores, baseline=False)
    for score in scores:
        assert after[score].value > before[score].value + 0.05
        assert after[score].value > full[score].value - 0.02
    # Up to a turn and a scale the map is where it was, more than one from the beginning is.
    assert alike(placed, mde.embedding_) > max(0.9, alike(placed, whole) + 0.03)


def alike(Y, Z):
    """How alike two maps are, up to a turn and a scale: 1 if there is nothing else."""
    a, b = Y - Y.mean(axis=0), Z - Z.mean(axis=0)
    return np.linalg.svd(a.T @ b)[1].sum() / (np.linalg.norm(a) * np.linalg.norm(b))


def test_an_estimator_its_places_and_files_of_them_give_the_same_bytes(landmarks, placed, expected, tmp_path):
    np.testing.assert_array_equal(refined(placed).embedding_, expected)
    wk.scale.transform(landmarks, X, tmp_path / "placed.parquet")
    np.testing.assert_array_equal(refined(tmp_path / "placed.parquet").embedding_, expected)


def test_threads_and_workers_give_the_same_bytes(landmarks, expected, cluster):
    np.testing.assert_array_equal(refined(landmarks, n_jobs=2).embedding_, expected)
    np.testing.assert_array_equal(refined(landmarks, client=cluster(2)).embedding_, expected)


def test_a_folder_keeps_what_was_placed_and_its_neighbours_serve_every_start(
    landmarks, expected, tmp_path, monkeypatch
):
    refined(None, folder=tmp_path)
    searched = (tmp_path / "compared.jsonl").stat().st_mtime_ns
    np.testing.assert_array_equal(refined(landmarks, folder=tmp_path).embedding_, expected)
    assert (tmp_path / "compared.jsonl").stat().st_mtime_ns == searched
    monkeypatch.setattr(placing, "place_shard", None)  # not called again
    np.testing.assert_array_equal(refined(landmarks, folder=tmp_path).embedding_, expected)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 3e5])
def test_the_width_of_a_map_does_not_matter(unit, placed, expected):
    found = refined((placed * unit).astype(np.float32), max_iter=0).embedding_
    np.testing.assert_allclose(found, refined(placed, max_iter=0).embedding_, rtol=1e-3, atol=1e-3)


def test_a_width_is_found_from_afar():
    class Valley:
        def evaluate(self, Y):
            return abs(float(np.log2(np.sqrt(np.mean(np.square(Y)))) - 7.3)), Y

    Y = np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)
    width = np.sqrt(np.mean(np.square(suited(Y, Valley()))))
    assert abs(np.log2(width) - 7.3) <= 0.25
    assert np.isfinite(apart(np.ones((50, 2), np.float32), Run())).all()  # a map of one place


def test_what_is_no_map_of_the_rows_is_refused(placed):
    for wrong in (
        placed[:-1],
        np.zeros((len(X), 3), np.float32),
        wk.MDE(n_components=3, max_iter=3).fit(X[:300]),
    ):
        with pytest.raises(
            InvalidParameterError, match=r"init must be an estimator or a map of shape \(900, 2\)"
        ):
            refined(wrong)
    with pytest.raises(InvalidInputError, match="NaN"):
        refined(np.full((len(X), 2), np.nan))
