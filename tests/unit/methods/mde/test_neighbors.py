"""What a row of the default map gives to its neighbours, beside a calculation of its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import winkel as wk
from winkel.methods.mde.neighbors import affinities, given
from winkel.run import Run

K = 6
RUN = Run(n_jobs=1)
GRAPH = wk.graph.knn(np.random.default_rng(0).normal(size=(90, 5)), 30, random_state=0)


def gaussian(distance, perplexity):
    """Weights exp(−b d²) that sum to one, with b found so that their entropy is the logarithm of the perplexity."""

    def weights(b):
        w = np.exp(-b * (distance**2 - distance.min() ** 2))
        return w / w.sum()

    def excess(log_b):
        w = weights(np.exp(log_b))
        return -np.sum(w * np.log(w + 1e-300)) - np.log(perplexity)

    return weights(np.exp(brentq(excess, -15, 15)))


def test_a_row_gives_to_the_nearest_alike_by_their_distances_and_to_a_wider_surrounding():
    distance = GRAPH.knn_distances.astype(np.float64)
    found = given(distance, K, RUN)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    for row in (0, 41):
        even = np.where(np.arange(30) < K, 1 / K, 0.0)
        expected = (
            0.3 * even + 0.5 * gaussian(distance[row], 0.8 * K) + 0.2 * gaussian(distance[row], 4.0 * K)
        )
        np.testing.assert_allclose(found[row], expected, rtol=1e-4, atol=1e-7)


def test_a_list_as_short_as_the_neighbours_is_given_the_rest_evenly():
    distance = GRAPH.knn_distances[:, :K].astype(np.float64)
    found = given(distance, K, RUN)
    expected = (0.3 + 0.2) / K + 0.5 * gaussian(distance[0], 0.8 * K)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4)


def test_a_pair_has_what_both_rows_give():
    pairs, weights = affinities(GRAPH, K, RUN)
    gifts = given(GRAPH.knn_distances, K, RUN)
    both = np.zeros((90, 90))
    np.put_along_axis(both, GRAPH.knn_indices.astype(np.int64), gifts, axis=1)
    both += both.T
    expected = both[pairs[:, 0], pairs[:, 1]]
    assert np.count_nonzero(np.triu(both)) == len(pairs)
    assert weights.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(weights, expected / expected.mean(), rtol=1e-5)
