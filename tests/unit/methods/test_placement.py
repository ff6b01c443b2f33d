from __future__ import annotations

import numpy as np
import pytest

from winkel import losses, penalties
from winkel.errors import InvalidParameterError
from winkel.methods.placement import (
    MAX_LANDMARKS,
    Neighbors,
    landmarks,
    place_by_distances,
    place_by_neighbors,
)
from winkel.problem.distortions import as_distortion


def some_map(n=40, seed=0, m=2):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


def neighbors(Y, q, k=4, seed=1):
    rng = np.random.Generator(np.random.Philox(key=seed))
    index = np.stack([rng.permutation(len(Y))[:k] for _ in range(q)]).astype(np.int32)
    return Neighbors(index, np.sort(rng.random((q, k)) + 0.1, axis=1), 1.0)


def near_value(Y, near, marks, repulsion, row, y):
    """The value that a row's place is to minimise, by the definition."""
    attract = penalties.Log1p().value(np.linalg.norm(Y[near.index[row]] - y, axis=1)).sum()
    return attract - repulsion * penalties.Log().value(np.linalg.norm(Y[marks] - y, axis=1)).mean()


def test_quadratic_attraction_alone_puts_a_row_at_the_mean():
    Y = some_map()
    near = neighbors(Y, 5)
    placed = place_by_neighbors(Y, near, penalties.Quadratic(), None, 0.0, 0, 1)
    np.testing.assert_allclose(placed, Y[near.index].mean(axis=1), atol=1e-5)


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
    np.testing.assert_allclose(place_by_distances(Y, marks, far, loss, 1), new, atol=2e-3)


@pytest.mark.parametrize(
    "loss", [losses.Quadratic, losses.WeightedQuadratic, losses.Absolute, losses.SoftFractional]
)
def test_each_row_is_placed_by_itself_whatever_comes_with_it(loss):
    Y = some_map()
    marks = landmarks(len(Y), 0)
    far = 5 * np.random.Generator(np.random.Philox(key=2)).random((20, len(marks))) + 0.01
    far[0] *= 1000  # a far row must not change the others
    together = place_by_distances(Y, marks, far, loss, 2)
    for i in range(20):
        assert place_by_distances(Y, marks, far[i : i + 1], loss, 1).tobytes() == together[i].tobytes()


def test_neighbor_placement_is_per_row_and_any_threads():
    Y = some_map(60)
    near = neighbors(Y, 50)
    place = (penalties.Log1p(), penalties.Log(), 8.0, 1)
    together = place_by_neighbors(Y, near, *place, 3)
    for i in range(50):
        one = Neighbors(near.index[i : i + 1], near.distance[i : i + 1], 1.0)
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
    near = Neighbors(np.zeros((1, 3), dtype=np.int32), np.ones((1, 3)), 1.0)
    placed = place_by_neighbors(Y, near, penalties.Log1p(), penalties.Log(), 3.0, 0, 1)
    assert np.isfinite(placed).all()


def test_own_distortions_are_refused_with_advice():
    class Mine:
        def value(self, d):
            return d

        def derivative(self, d):
            return np.ones_like(d)

    Y = some_map()
    with pytest.raises(InvalidParameterError, match=r"built-in distortions only.*Fit again"):
        place_by_neighbors(Y, neighbors(Y, 1), as_distortion(Mine()), None, 0.0, 0, 1)
