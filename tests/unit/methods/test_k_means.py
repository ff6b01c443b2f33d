"""k-means of the clusters of codes: against the best of all partitions, and against scikit-learn's."""

import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans

from winkel.methods.kds.k_means import improved, k_means
from winkel.run import Stream


def loss(points, centers):
    return ((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()


def points_of(n, m, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) + 3 * rng.integers(0, 4, (n, 1))


@pytest.mark.parametrize("seed", range(4))
def test_few_points_are_parted_as_well_as_can_be(seed):
    points = points_of(9, 2, seed)
    least = np.inf
    for labels in itertools.product(range(3), repeat=8):
        own = np.array([0, *labels])
        if set(own) == {0, 1, 2}:
            least = min(least, loss(points, np.array([points[own == c].mean(axis=0) for c in range(3)])))
    assert loss(points, k_means(points, 3, Stream.named(seed, "test"), 20)) == pytest.approx(least)


@pytest.mark.parametrize("k", [2, 5, 9])
def test_as_good_as_that_of_scikit_learn(k):
    points = points_of(400, 5, k)
    theirs = KMeans(k, n_init=20, random_state=0).fit(points).inertia_
    assert loss(points, k_means(points, k, Stream.named(0, "test"), 20)) <= 1.005 * theirs


def test_fewer_points_than_centres():
    points = np.repeat([[0.0, 1.0], [2.0, 3.0]], 10, axis=0)
    centers = k_means(points, 4, Stream.named(0, "test"), 3)
    assert centers.shape == (4, 2)
    assert loss(points, centers) == 0.0


def test_a_centre_without_points_moves():
    points = np.array([[0.0], [0.1], [5.0], [9.0]])
    centers, found = improved(points, np.array([[0.0], [1e6], [1e6]]))
    assert sorted(centers[:, 0].round(3)) == [0.05, 5.0, 9.0]
    assert found == pytest.approx(0.005)
