"""Graphs made ready for an embedding, each against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.graph import distant_pairs, gaussian_weights, preference_graph, threshold_graph, two_hop_graph


def rows(n=90, m=3, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_graph_of_a_threshold_has_all_closer_pairs(metric):
    X = rows(700, 2)  # more than a block
    d = squareform(pdist(X, metric))
    length = float(np.quantile(d, 0.01))
    graph = threshold_graph(X, length, metric=metric, n_jobs=1)
    i, j = np.nonzero(np.triu(d < length, 1))
    np.testing.assert_array_equal(graph.edges, np.column_stack([i, j]))
    np.testing.assert_allclose(graph.edge_distances, d[i, j], atol=1e-9)
    with pytest.raises(InvalidParameterError, match="length"):
        threshold_graph(X, 0.0)


def test_gaussian_weights():
    graph = wk.graph.knn(rows(), 5)
    d = graph.edge_distances
    np.testing.assert_allclose(gaussian_weights(graph, 0.5).weights, np.exp(-((d / 0.5) ** 2)), rtol=1e-6)
    np.testing.assert_allclose(gaussian_weights(graph).weights, np.exp(-((d / np.median(d)) ** 2)), rtol=1e-6)
    with pytest.raises(InvalidInputError, match="width"):
        gaussian_weights(wk.Graph.from_edges([[0, 1], [1, 2]], distances=[0.0, 0.0]))


def test_pairs_two_steps_apart():
    graph = wk.graph.knn(rows(40), 3)
    A = graph.adjacency.toarray() > 0
    two = (A.astype(int) @ A.astype(int) > 0) & ~A & ~np.eye(40, dtype=bool)
    made = two_hop_graph(graph, 0.25)
    expected = graph.adjacency.toarray() + 0.25 * two
    np.testing.assert_allclose(made.adjacency.toarray(), expected)


def test_distant_pairs_are_far_and_no_neighbours():
    X = rows()
    graph = wk.graph.knn(X, 5)
    pairs = distant_pairs(X, graph, 200, quantile=0.7, random_state=1)
    assert pairs.shape == (200, 2)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == 200
    d = squareform(pdist(X))
    assert d[pairs[:, 0], pairs[:, 1]].min() > np.quantile(pdist(X), 0.65)
    known = {tuple(pair) for pair in graph.edges.tolist()}
    assert not known & {tuple(pair) for pair in pairs.tolist()}
    again = distant_pairs(X, graph, 200, quantile=0.7, random_state=1, n_jobs=2)
    assert again.tobytes() == pairs.tobytes()
    with pytest.raises(InvalidInputError, match="Use a smaller n_pairs"):
        distant_pairs(X, graph, 4000, quantile=0.9)
    with pytest.raises(InvalidInputError, match="90 rows"):
        distant_pairs(X[:5], graph)


def test_preferences_become_mean_differences_of_ranks():
    graph = preference_graph([[1, 2, 3, np.nan], [3, 1, 2, np.nan], [np.nan, np.nan, 1, 2]])
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2], [2, 3]]
    np.testing.assert_allclose(graph.edge_distances, [1.5, 1.5, 1.0, 1.0])
    for bad in ([1, 2, 3], [[1, np.inf]], [[1, np.nan]]):
        with pytest.raises(InvalidInputError):
            preference_graph(bad)
