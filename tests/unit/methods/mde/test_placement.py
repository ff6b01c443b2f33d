from __future__ import annotations

import numpy as np
import pytest

from winkel import _core, losses, penalties
from winkel.methods.mde import placement
from winkel.methods.mde.neighbors import Forces
from winkel.methods.mde.placement import MAX_LANDMARKS, place_by_distances
from winkel.problem.distortions import as_distortion
from winkel.run import Run


def some_map(n=40, seed=0, m=2):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


def neighbors(Y, q, k=4, seed=1):
    """Indices and distances of neighbours of q rows."""
    rng = np.random.Generator(np.random.Philox(key=seed))
    index = np.stack([rng.permutation(len(Y))[:k] for _ in range(q)]).astype(np.int32)
    return index, np.sort(rng.random((q, k)) + 0.1, axis=1)


def landmarks(n, seed):
    return placement.landmarks(n, Run(seed=seed))


def place_by_neighbors(Y, near, attractive, repulsive, repulsion, seed, n_jobs):
    forces = Forces(attractive, repulsive, all_pairs=False)
    return placement.place_by_neighbors(Y, *near, forces, repulsion, Run(seed=seed, n_jobs=n_jobs))


def one_by_one(Y, marks, far, loss, n_jobs):
    return place_by_distances(Y, marks, far, loss, Run(n_jobs=n_jobs))


def near_value(Y, near, marks, repulsion, row, y):
    """The value that a row's place is to minimise, by the definition."""
    attract = penalties.Log1p().value(np.linalg.norm(Y[near[0][row]] - y, axis=1)).sum()
    return attract - repulsion * penalties.Log().value(np.linalg.norm(Y[marks] - y, axis=1)).mean()


def test_quadratic_attraction_alone_puts_a_row_at_the_mean():
    Y = some_map()
    near = neighbors(Y, 5)
    placed = place_by_neighbors(Y, near, penalties.Quadratic(), None, 0.0, 0, 1)
    np.testing.assert_allclose(placed, Y[near[0]].mean(axis=1), atol=1e-5)


def test_places_are_local_minima():
    Y = some_map()
    near, marks = neighbors(Y, 6), landmarks(40, 3)
    placed = place_by_neighbors(Y, near, penalties.Log1p(), penalties.Log(), 5.0, 3, 2)
    for row, y in enumerate(placed):
        here = near_value(Y, near, marks, 5.0, row, y)
        for angle in np.linspace(0, 2 * np.pi, 12):
            step = 1e-3 * np.array([np.cos(angle), np.sin(angle)])
            assert near_value(Y, near, marks, 5.0, row, y + step) > here - 1e-9


@pytest.mark.parametrize("loss", [losses.Quadratic, losses.WeightedQuadratic, losses.Huber, losses.Absolute])
def test_true_distances_give_the_place_back(loss):
    Y = some_map()
    marks = landmarks(len(Y), 0)
    new = some_map(7, seed=5)
    far = np.linalg.norm(new[:, None] - Y[marks][None], axis=2)
    np.testing.assert_allclose(one_by_one(Y, marks, far, loss, 1), new, atol=2e-3)


@pytest.mark.parametrize(
    "loss", [losses.Quadratic, losses.WeightedQuadratic, losses.Absolute, losses.SoftFractional]
)
def test_each_row_is_placed_by_itself_whatever_comes_with_it(loss):
    Y = some_map()
    marks = landmarks(len(Y), 0)
    far = 5 * np.random.Generator(np.random.Philox(key=2)).random((20, len(marks))) + 0.01
    far[0] *= 1000  # a far row must not change the others
    together = one_by_one(Y, marks, far, loss, 2)
    for i in range(20):
        assert one_by_one(Y, marks, far[i : i + 1], loss, 1).tobytes() == together[i].tobytes()


def test_neighbor_placement_is_per_row_and_any_threads():
    Y = some_map(60)
    near = neighbors(Y, 50)
    place = (penalties.Log1p(), penalties.Log(), 8.0, 1)
    together = place_by_neighbors(Y, near, *place, 3)
    for i in range(50):
        one = tuple(part[i : i + 1] for part in near)
        assert place_by_neighbors(Y, one, *place, 1).tobytes() == together[i].tobytes()


def test_landmarks_are_some_of_the_rows():
    np.testing.assert_array_equal(landmarks(10, 0), np.arange(10))
    many = landmarks(10_000, 0)
    assert len(np.unique(many)) == MAX_LANDMARKS
    assert (many >= 0).all()
    assert (many < 10_000).all()
    np.testing.assert_array_equal(many, landmarks(10_000, 0))
    assert not np.array_equal(many, landmarks(10_000, 1))


def test_neighbors_that_share_one_place():
    Y = np.zeros((5, 2))
    near = np.zeros((1, 3), dtype=np.int32), np.ones((1, 3))
    placed = place_by_neighbors(Y, near, penalties.Log1p(), penalties.Log(), 3.0, 0, 1)
    assert np.isfinite(placed).all()


class Own:
    """A distortion known by its formula alone, equal to a built-in one."""

    def __init__(self, like):
        self.like = like

    def value(self, d):
        return self.like.value(d)

    def derivative(self, d):
        return self.like.derivative(d)


@pytest.mark.parametrize(
    ("attractive", "repulsive"),
    [
        (as_distortion(Own(penalties.Log1p())), penalties.Log()),
        (penalties.Log1p(), as_distortion(Own(penalties.Log()))),
        (as_distortion(Own(penalties.Log1p())), as_distortion(Own(penalties.Log()))),
        (as_distortion(Own(penalties.Log1p())), None),
    ],
)
def test_own_penalties_place_rows_as_equal_built_in_ones(attractive, repulsive):
    Y, near = some_map(), neighbors(some_map(), 5)
    placed = place_by_neighbors(Y, near, attractive, repulsive, 5.0, 3, 1)
    same = place_by_neighbors(Y, near, penalties.Log1p(), repulsive and penalties.Log(), 5.0, 3, 1)
    np.testing.assert_allclose(placed, same, atol=1e-4)
    for i in range(5):
        one = tuple(part[i : i + 1] for part in near)
        alone = place_by_neighbors(Y, one, attractive, repulsive, 5.0, 3, 1)
        assert alone.tobytes() == placed[i].tobytes()


def test_own_losses_place_rows_as_equal_built_in_ones():
    Y, marks = some_map(), landmarks(40, 0)
    far = 3 * np.random.Generator(np.random.Philox(key=2)).random((4, 40)) + 0.5

    def own(distances):
        return as_distortion(Own(losses.Quadratic(distances)))

    placed = one_by_one(Y, marks, far, own, 1)
    np.testing.assert_allclose(placed, one_by_one(Y, marks, far, losses.Quadratic, 1), atol=1e-4)
    assert one_by_one(Y, marks, far[2:3], own, 1).tobytes() == placed[2].tobytes()


@pytest.mark.parametrize("n", [5, 16, 37])
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_anchors_of_all_rows_are_summed_as_those_of_each(n, m):
    Y, start = some_map(n, m=m), 0.3 * some_map(6, seed=4, m=m)
    near = placement._penalty_group(penalties.Log1p(), np.zeros((6, 1), dtype=np.int32), 3.0)
    marks, weights = np.arange(n, dtype=np.int32)[None], -np.linspace(0.1, 0.3, n)[None]
    common = placement._penalty_group(penalties.Cauchy(), marks, weights)
    own = placement._penalty_group(penalties.Cauchy(), np.tile(marks, (6, 1)), np.tile(weights, (6, 1)))
    one, other = (_core.place_rows(Y, start, [near, group], 50, 1e-6, 2) for group in (common, own))
    np.testing.assert_allclose(one, other, atol=1e-4)
    assert np.abs(one - start).max() > 0.01
