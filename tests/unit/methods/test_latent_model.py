"""The compiled model against dense matrices and the paper's equations."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.data import as_table
from winkel.methods.lvm.coarsening import coarsen
from winkel.methods.lvm.landmarks import ByRows
from winkel.methods.lvm.model import Model
from winkel.methods.lvm.neighborhood import find_neighborhood
from winkel.run import Run

from .latent_oracle import dense


@pytest.fixture(autouse=True)
def threads_on_small_data(monkeypatch):
    """Without it small models, which these are, would be worked on by one thread."""
    monkeypatch.setattr("winkel.methods.lvm.model.SMALL", 0)


def rng(seed):
    return np.random.Generator(np.random.Philox(key=seed))


def setting(n=40, k=4, n_steps=1, levels=0, m=2, seed=0, spread=0.3):
    X = rng(seed).normal(size=(n, 5))
    near = find_neighborhood(wk.graph.knn(X, k), n_steps, Run())
    coarse = coarsen(near, levels, ByRows(as_table(X), "euclidean", Run()), Run(seed=seed))
    Y = spread * rng(seed + 1).normal(size=(n, m))
    variance = np.exp(rng(seed + 2).normal(size=n) - 1)
    return near, coarse, Y, variance


CASES = [
    {},
    {"n_steps": 2, "m": 1},
    {"m": 3, "seed": 1},
    {"m": 7, "levels": 1},
    {"m": 10, "levels": 2, "n": 90},
    {"levels": 1, "n": 60},
    {"levels": 2, "n": 150, "k": 3},
    {"levels": 3, "n": 150},
    {"n": 300, "spread": 3.0},  # more than one tile
    {"n": 530, "m": 3, "k": 3},  # three tiles
    {"m": 14, "levels": 1, "n": 400},  # several small blocks in a tile, several such tiles
    {"m": 4, "levels": 2, "n": 500},
    {"m": 20, "n": 60},  # more columns than one group of the linear solver
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("single", [False, True])
def test_likelihood_and_steps_are_those_of_the_equations(case, single):
    near, coarse, Y, variance = setting(**case)
    model, oracle = Model(near, coarse, Run(n_jobs=2), single=single), dense(near, coarse)
    rtol = 2e-4 if single else 1e-9
    value, gradient = model.evaluate(Y, variance)
    assert value == pytest.approx(oracle.log_likelihood(Y, variance), rel=rtol)
    moved, _ = model.move_means(Y, variance, gradient, 1e-6 if single else 1e-12)
    expected = oracle.new_means(Y, variance)
    np.testing.assert_allclose(moved, expected, atol=rtol * np.abs(expected).max())
    np.testing.assert_allclose(
        model.move_variances(Y, variance), oracle.new_variances(Y, variance), rtol=10 * rtol
    )
    np.testing.assert_allclose(model.weight, (oracle.S + oracle.D).sum(0) + (oracle.S + oracle.D).sum(1))
    assert model.n_similar == len(near.source) + len(coarse.ties.item)
    assert model.n_dissimilar == (oracle.D > 0).sum()
    assert oracle.D.sum() == pytest.approx(oracle.S.sum())


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_derivatives_are_those_of_the_likelihood(levels):
    near, coarse, Y, variance = setting(n=60, levels=levels, m=3)
    model = Model(near, coarse, Run(), single=False)
    _, gradient = model.evaluate(Y, variance)
    slopes = model._core.variance_slopes(Y, variance, 1)
    h = 1e-6
    for i in (0, 17, 59):
        for c in range(3):
            up, down = Y.copy(), Y.copy()
            up[i, c] += h
            down[i, c] -= h
            numeric = (model.evaluate(up, variance)[0] - model.evaluate(down, variance)[0]) / (2 * h)
            assert gradient[i, c] == pytest.approx(numeric, rel=1e-5, abs=1e-6)
        up, down = variance.copy(), variance.copy()
        up[i] += h
        down[i] -= h
        numeric = (model.evaluate(Y, up)[0] - model.evaluate(Y, down)[0]) / (2 * h)
        assert slopes[i] / 2 == pytest.approx(numeric, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("m", [1, 2, 3, 50])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(
    ("distance", "size"),
    [(0.0, 1e-25), (0.0, 1e-9), (1e-6, 1e-9), (1e-3, 1e-6), (1e3, 1e-6), (1e6, 1.0), (1.0, 1e6)],
    ids=["P=1 beyond precision", "P=1", "P->1", "P near 1", "P=0", "P->0", "wide"],
)
def test_chances_near_zero_and_one(distance, size, m, single):
    # Four items on a line at 0, 1, 2, 3: the far ends are dissimilar.
    graph = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    near = find_neighborhood(graph, 1, Run())
    coarse = coarsen(near, 0, None, Run())
    model = Model(near, coarse, Run(), single=single)
    Y = np.zeros((4, m))
    Y[:, 0] = distance * np.arange(4)
    variance = np.full(4, size)
    oracle = dense(near, coarse)
    value, gradient = model.evaluate(Y, variance)
    rtol = 1e-4 if single else 1e-9
    if oracle.log_likelihood(Y, variance) > -1e15:
        assert value == pytest.approx(oracle.log_likelihood(Y, variance), rel=rtol, abs=rtol)
    assert np.isfinite(gradient).all()
    if size < 1e5:
        moved, _ = model.move_means(Y, variance, gradient, 1e-7)
        np.testing.assert_allclose(
            moved, oracle.new_means(Y, variance), atol=1e-3 * max(distance, 1e-9) + 1e-12
        )
    after = model.move_variances(Y, variance)
    assert (after > 0).all()
    np.testing.assert_allclose(after, oracle.new_variances(Y, variance), rtol=1e-2 if single else 1e-6)


def test_same_bytes_for_any_threads():
    for case in ({"n": 600, "levels": 0}, {"n": 600, "levels": 1}, {"n": 600, "levels": 2, "m": 4}):
        near, coarse, Y, variance = setting(**case)
        for single in (False, True):
            results = []
            for jobs in (1, 2, 3):
                model = Model(near, coarse, Run(n_jobs=jobs), single=single)
                value, gradient = model.evaluate(Y, variance)
                moved, _ = model.move_means(Y, variance, gradient, 0.01)
                spread = model.move_variances(Y, variance)
                results.append((value, gradient.tobytes(), moved.tobytes(), spread.tobytes()))
            assert results[0] == results[1] == results[2]
