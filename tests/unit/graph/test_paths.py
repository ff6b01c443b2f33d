"""Shortest paths against SciPy, and samples of them against the whole."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

from winkel import Graph
from winkel.errors import InvalidInputError, InvalidParameterError, MemoryLimitError
from winkel.graph import path_distances, shortest_paths

from .shapes import grid, knn_graph, neighbor_lists, path, together

GRAPHS = {
    "neighbours": knn_graph(120, 4, 0),
    "grid": grid(7, 9),
    "apart": together(path(5), grid(3, 3), isolated=2),
    "duplicates": Graph.from_knn(*neighbor_lists(np.repeat(np.arange(20.0), 3)[:, None], 4)),
    "one node": Graph.from_edges([], n=1),
}


def _oracle(graph: Graph) -> np.ndarray:
    d = graph.distances
    # SciPy takes a stored zero for no edge.
    lengths = sp.csr_array((np.maximum(d.data.astype(float), 1e-200), d.indices, d.indptr), shape=d.shape)
    return csgraph.dijkstra(lengths, directed=False)


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_scipy(name):
    graph = GRAPHS[name]
    found = shortest_paths(graph)
    np.testing.assert_allclose(found, _oracle(graph), rtol=1e-6, atol=1e-12)
    assert found.dtype == graph.edge_distances.dtype


def test_some_sources_in_their_order():
    graph = GRAPHS["neighbours"]
    sources = [7, 3, 7, 100]
    assert np.array_equal(shortest_paths(graph, sources), shortest_paths(graph)[sources])


@pytest.mark.parametrize("name", ["neighbours", "grid"])
def test_limit(name):
    graph = GRAPHS[name]
    everything = shortest_paths(graph)
    limit = float(np.median(everything[np.isfinite(everything)]))
    expected = np.where(everything <= limit, everything, np.inf)
    assert np.array_equal(shortest_paths(graph, limit=limit), expected)
    pairs, lengths = path_distances(graph, limit=limit)
    assert np.array_equal(pairs, np.argwhere(np.triu(np.isfinite(expected), 1)))
    np.testing.assert_allclose(lengths, expected[pairs[:, 0], pairs[:, 1]], rtol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_all_pairs(name):
    graph = GRAPHS[name]
    everything = shortest_paths(graph)
    pairs, lengths = path_distances(graph)
    assert np.array_equal(pairs, np.argwhere(np.triu(np.isfinite(everything), 1)))
    np.testing.assert_allclose(lengths, everything[pairs[:, 0], pairs[:, 1]], rtol=1e-6)


@pytest.mark.parametrize("n_sources", [None, 40])
def test_a_fraction_of_the_pairs(n_sources):
    graph = grid(12, 12)
    pairs, lengths = path_distances(graph, fraction=0.2, n_sources=n_sources, random_state=0)
    # 10 296 pairs: 5 standard deviations of the number drawn are less than 210.
    assert abs(len(pairs) - 0.2 * 10296) < 210
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    at = np.stack(np.divmod(np.arange(144), 12), axis=1)
    assert np.array_equal(lengths, np.abs(at[pairs[:, 0]] - at[pairs[:, 1]]).sum(axis=1))
    assert len(np.unique(pairs)) == 144


@pytest.mark.parametrize("limit", [None, 6])
def test_at_most_so_many_pairs(limit):
    graph = grid(30, 30)
    pairs, lengths = path_distances(graph, max_pairs=3000, limit=limit, random_state=1)
    assert 2500 <= len(pairs) <= 3000
    assert lengths.max() <= (limit or 58)
    assert np.array_equal(pairs, pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))])
    few, _ = path_distances(graph, max_pairs=1, random_state=1)
    assert len(few) <= 1


def test_more_pairs_than_there_are():
    graph = GRAPHS["apart"]
    assert np.array_equal(path_distances(graph, max_pairs=10**6)[0], path_distances(graph)[0])
    assert len(path_distances(graph, max_pairs=46)[0]) == 46
    assert len(path_distances(Graph.from_edges([], n=9), max_pairs=3)[0]) == 0


def test_same_seed_same_bytes_for_any_number_of_threads():
    graph = knn_graph(200, 5, 2)
    first = path_distances(graph, fraction=0.1, n_sources=50, random_state=5, n_jobs=1)
    again = path_distances(graph, fraction=0.1, n_sources=50, random_state=5, n_jobs=3)
    other = path_distances(graph, fraction=0.1, n_sources=50, random_state=6)
    assert [a.tobytes() for a in first] == [a.tobytes() for a in again]
    assert first[0].tobytes() != other[0].tobytes()
    assert shortest_paths(graph, n_jobs=1).tobytes() == shortest_paths(graph, n_jobs=3).tobytes()


def test_single_precision_in_single_precision_out():
    idx, far = neighbor_lists(np.arange(6.0)[:, None], 2, np.float32)
    graph = Graph.from_knn(idx, far)
    assert shortest_paths(graph).dtype == np.float32
    assert path_distances(graph)[1].dtype == np.float32


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"limit": -1.0},
        {"limit": "far"},
        {"limit": float("nan")},
        {"fraction": 0.0},
        {"fraction": 1.5},
        {"fraction": "half"},
        {"max_pairs": 0},
        {"max_pairs": "all"},
        {"n_sources": 0},
        {"n_sources": 1000},
    ],
)
def test_bad_parameters_are_refused(options):
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        path_distances(GRAPHS["grid"], **options)


@pytest.mark.parametrize("sources", [[-1], [63], [0.5], [[0]]])
def test_bad_sources_are_refused(sources):
    with pytest.raises(InvalidInputError, match="sources must"):
        shortest_paths(GRAPHS["grid"], sources)


def test_memory_is_forecast():
    with pytest.raises(MemoryLimitError, match="path_distances"):
        shortest_paths(GRAPHS["grid"], max_memory=1000)
    with pytest.raises(MemoryLimitError, match="smaller max_pairs"):
        path_distances(GRAPHS["grid"], max_memory=1000)
