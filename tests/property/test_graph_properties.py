"""Properties of graphs on generated ones, checked against dense matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from winkel import Graph
from winkel.graph import neighborhood_graph, path_distances, shortest_paths, spectral_embedding


@st.composite
def weighted_graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(1, 12))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    pairs = draw(st.lists(pair, max_size=24)) if n > 1 else []
    lengths = draw(st.lists(st.integers(0, 5), min_size=len(pairs), max_size=len(pairs)))
    return Graph.from_edges(np.array(pairs, int).reshape(-1, 2), None, lengths, n=n, combine="max")


@st.composite
def neighbor_graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(2, 10))
    k = draw(st.integers(1, n - 1))
    rows = [draw(st.permutations([j for j in range(n) if j != i]))[:k] for i in range(n)]
    lengths = np.sort([draw(st.lists(st.integers(0, 4), min_size=k, max_size=k)) for _ in range(n)], axis=1)
    kept = np.arange(k) < np.array(draw(st.lists(st.integers(0, k), min_size=n, max_size=n)))[:, None]
    return Graph.from_knn(np.where(kept, rows, -1), np.where(kept, lengths.astype(float), np.inf))


def _lists(graph: Graph) -> np.ndarray:
    K = np.zeros((graph.n, graph.n), int)
    rows, places = np.nonzero(graph.knn_indices >= 0)
    K[rows, graph.knn_indices[rows, places]] = 1
    return K


@settings(deadline=None)
@given(weighted_graphs())
def test_matrices_and_edges_say_the_same(graph: Graph):
    i, j = graph.edges.T
    assert (i < j).all()
    assert (np.diff(i.astype(np.int64) * graph.n + j) > 0).all()
    upper = sp.csr_array((graph.weights, (i, j)), shape=(graph.n, graph.n)).toarray()
    assert np.array_equal(graph.adjacency.toarray(), upper + upper.T)
    assert Graph.from_arrays(*graph.to_arrays()) == graph


@settings(deadline=None)
@given(weighted_graphs())
def test_paths_equal_scipy_and_tree_keeps_components(graph: Graph):
    # Lengths are whole numbers; a stored zero, which SciPy drops, becomes a number that rounding removes.
    d = graph.distances
    lengths = sp.csr_array((np.maximum(d.data, 1e-9), d.indices, d.indptr), shape=d.shape)
    expected = np.round(csgraph.dijkstra(lengths, directed=False))
    assert np.array_equal(shortest_paths(graph), expected)
    pairs, found = path_distances(graph)
    assert np.array_equal(found, expected[pairs[:, 0], pairs[:, 1]])
    tree = graph.minimum_spanning_tree()
    assert np.array_equal(tree.components()[1], graph.components()[1])
    assert np.isclose(tree.edge_distances.sum(), csgraph.minimum_spanning_tree(lengths).sum(), atol=1e-6)


@settings(deadline=None)
@given(neighbor_graphs(), st.integers(1, 4))
def test_neighbourhoods_equal_the_equations(graph: Graph, steps: int):
    K = _lists(graph)
    assert np.array_equal(graph.adjacency.toarray(), K + K.T)
    R = sum(np.linalg.matrix_power(K, s) for s in range(1, steps + 1))
    T = graph.minimum_spanning_tree().adjacency.toarray() != 0
    assert np.array_equal(_lists(neighborhood_graph(graph, steps)), (K * (T + R * R.T) > 0).astype(int))


@settings(deadline=None)
@given(weighted_graphs(), st.integers(1, 3), st.booleans())
def test_spectral_embeddings_are_finite_and_tell_components_apart(graph: Graph, m: int, normalized: bool):
    Y = spectral_embedding(graph, m, normalized=normalized, random_state=0)
    assert Y.shape == (graph.n, m)
    assert np.isfinite(Y).all()
    count, labels = graph.components()
    middles = np.array([Y[labels == c].mean(axis=0) for c in range(count)])
    assert len(np.unique(middles.round(9), axis=0)) == count
