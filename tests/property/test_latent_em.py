"""EM of the latent variable model never lowers the likelihood, whatever the graph, dimension, weights and start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import winkel as wk
from winkel.data import as_table
from winkel.methods.lvm.coarsening import Family, Ties, _split, coarsen, enough_levels, expected_pairs
from winkel.methods.lvm.landmarks import ByRows
from winkel.methods.lvm.model import Model
from winkel.methods.lvm.neighborhood import CALIBRATION as C
from winkel.methods.lvm.neighborhood import find_neighborhood
from winkel.run import Run, Stream
from winkel.solvers.em import EM


def rng(seed):
    return np.random.Generator(np.random.Philox(key=seed))


def random_model(n, k, n_steps, levels, seed, scale, heavy):
    """A model of random rows; with `heavy`, its masses and tie weights are random too."""
    X = scale * rng(seed).normal(size=(n, 4))
    near = find_neighborhood(wk.graph.knn(X, min(k, n - 1)), n_steps, Run())
    coarse = coarsen(near, levels, ByRows(as_table(X), "euclidean", Run()), Run(seed=seed))
    if heavy:
        families = tuple(
            Family(f.items, f.bounds, f.reach, f.slack, np.exp(rng(i).normal(size=len(f.items))), f.member)
            for i, f in enumerate(coarse.families[:-1])
        )
        ties = coarse.ties
        weight = np.exp(2 * rng(9).normal(size=len(ties.item)))
        coarse = type(coarse)(
            (*families, coarse.base), Ties(ties.landmark, ties.item, weight, ties.length), coarse.divisions
        )
    return Model(near, coarse, Run(), single=False)


@given(
    n=st.integers(3, 70),
    k=st.integers(1, 8),
    n_steps=st.integers(1, 3),
    levels=st.integers(0, 3),
    m=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([0.0, 1e-6, 0.01, 1.0, 30.0, 1e4]),
    tied=st.booleans(),
    heavy=st.booleans(),
    tol=st.sampled_from([0.9, 0.1, 1e-8]),
)
@example(n=40, k=5, n_steps=1, levels=1, m=2, seed=0, spread=0.0, tied=False, heavy=False, tol=0.1)
def test_the_likelihood_never_falls_without_momentum(
    n, k, n_steps, levels, m, seed, spread, tied, heavy, tol
):
    model = random_model(n, k, n_steps, levels, seed, 1.0, heavy)
    solver = EM(0.0, tied, tol)
    state = solver.init(model, spread * rng(seed ^ 1).normal(size=(n, m)))
    for _ in range(12):
        following = solver.step(model, state)
        assert following.objective <= state.objective + 1e-9 * abs(state.objective) + 1e-9
        assert (following.variance > 0).all()
        state = following


@given(
    n=st.integers(12, 60),
    levels=st.integers(0, 2),
    seed=st.integers(0, 2**32 - 1),
    scale=st.floats(1e-6, 1e6),
)
def test_maps_follow_the_scale_of_the_data(n, levels, seed, scale):
    # Lengths are measured in units of the data, so that another unit changes only the numbers.
    one, other = (random_model(n, 4, 1, levels, seed, s, False) for s in (1.0, scale))
    Y = rng(seed).normal(size=(n, 2))
    solver = EM()
    a, b = solver.init(one, Y), solver.init(other, Y)
    for _ in range(3):
        a, b = solver.step(one, a), solver.step(other, b)
    np.testing.assert_allclose(a.Y, b.Y, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(a.variance, b.variance, rtol=1e-3)


@given(n=st.integers(8, 60), blocks=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_landmarks_stand_for_all_pairs_on_the_scales_of_equation_26(n, blocks, seed):
    """Eqs 25 and 26 as printed, over all pairs of the items that two landmarks stand for."""
    random = rng(seed)
    X, order = random.normal(size=(n, 3)), random.permutation(n).astype(np.int32)
    bounds = np.r_[0, np.sort(random.choice(np.arange(1, n), blocks - 1, replace=False)), n].astype(np.int64)
    member = np.empty(n, np.int64)
    member[order] = np.arange(n)
    reach, slack, mass = random.random((3, n)) + 0.1
    family = Family(order, bounds, reach, slack, mass, member)
    above, below, ties, division = _split(family, 2.0, ByRows(as_table(X), "euclidean", Run()), Stream(seed))
    assert sorted(below.items) == list(range(n))
    place = {item: p for p, item in enumerate(order)}
    parts = [below.items[a:b] for a, b in zip(below.bounds[:-1], below.bounds[1:])]
    led = {tuple(sorted(part)): set(part) & set(division.landmarks) for part in parts}
    stands_for = {mark: part for part, marks in led.items() for mark in marks if len(marks) == 1}
    assert set(stands_for) == set(above.items)
    for mark, item, weight, length in zip(ties.landmark, ties.item, ties.weight, ties.length):
        assert item in stands_for[mark]
        assert weight == mass[place[item]]
        assert 2 * length == pytest.approx(np.linalg.norm(X[mark] - X[item]), rel=1e-5)
        rivals = above.items[above.block == above.block[list(above.items).index(mark)]]
        assert np.linalg.norm(X[rivals] - X[item], axis=1).min() >= 2 * length * (1 - 1e-5)
    for a, b in zip(above.bounds[:-1], above.bounds[1:]):
        for p in range(a, b):
            for q in range(a, b):
                i, j = above.items[p], above.items[q]
                pairs = [(place[x], place[y], x, y) for x in stands_for[i] for y in stands_for[j]]
                weight = sum(mass[x] * mass[y] for x, y, _, _ in pairs)
                scale = max(
                    reach[x] + slack[y] + (np.linalg.norm(X[i] - X[u]) + np.linalg.norm(X[j] - X[v])) / 2 / C
                    for x, y, u, v in pairs
                )
                assert above.mass[p] * above.mass[q] == pytest.approx(weight)
                assert above.reach[p] + above.slack[q] == pytest.approx(scale, rel=1e-5)


@pytest.mark.parametrize(("levels", "exponent"), [(0, 2.0), (1, 4 / 3), (2, 10 / 9)])
def test_numbers_of_pairs_grow_as_the_paper_says(levels, exponent):
    sizes, counts = (2000, 16000), []
    for n in sizes:
        X = rng(0).normal(size=(n, 3)).astype(np.float32)
        near = find_neighborhood(wk.graph.knn(X, 3, n_jobs=1), 1, Run())
        coarse = coarsen(near, levels, ByRows(as_table(X), "euclidean", Run()), Run(seed=0))
        counts.append(sum(f.n_pairs for f in coarse.families))
        assert counts[-1] == pytest.approx(expected_pairs(n, levels), rel=0.3)
    growth = np.log(counts[1] / counts[0]) / np.log(sizes[1] / sizes[0])
    assert growth == pytest.approx(exponent, abs=0.06)


def test_levels_by_size():
    sizes = (10, 4000, 10_000, 70_000, 300_000, 10**6)
    assert [enough_levels(n) for n in sizes] == [0, 0, 1, 1, 2, 2]
