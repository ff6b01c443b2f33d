"""LVM eqs 22–24 against dense powers of K."""

from __future__ import annotations

import numpy as np
import pytest

from winkel import Graph
from winkel.errors import InvalidParameterError
from winkel.graph import neighborhood_graph

from .shapes import cycle, knn_graph, neighbor_lists


def _directed(graph: Graph) -> np.ndarray:
    K = np.zeros((graph.n, graph.n), bool)
    rows, places = np.nonzero(graph.knn_indices >= 0)
    K[rows, graph.knn_indices[rows, places]] = True
    return K


def _expected(graph: Graph, steps: int) -> np.ndarray:
    K = _directed(graph).astype(float)
    R = sum(np.linalg.matrix_power(K, s) for s in range(1, steps + 1))
    T = graph.minimum_spanning_tree().adjacency.toarray() != 0
    return (K * (T + R * R.T)) > 0


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_equals_the_equations(steps, k):
    graph = knn_graph(70, k, seed=k)
    assert np.array_equal(_directed(neighborhood_graph(graph, steps)), _expected(graph, steps))


def test_directions_are_kept():
    graph = knn_graph(70, 3, seed=5)
    E = _directed(neighborhood_graph(graph))
    assert (E != E.T).any()
    assert np.array_equal(neighborhood_graph(graph).adjacency.toarray(), E.astype(int) + E.T)


def test_rows_stay_sorted_and_distances_stay_with_them():
    graph = knn_graph(70, 6, seed=0)
    kept = neighborhood_graph(graph)
    for i in range(graph.n):
        near = kept.knn_indices[i][kept.knn_indices[i] >= 0]
        place = [graph.knn_indices[i].tolist().index(j) for j in near.tolist()]
        assert place == sorted(place)
        assert np.array_equal(kept.knn_distances[i][: len(near)], graph.knn_distances[i][place])


def test_what_was_connected_stays_connected():
    X = np.concatenate([knn_graph(5, 2, 0).knn_distances, [[9.0, 9.0]], np.full((4, 2), 30.0)])
    graph = Graph.from_knn(*neighbor_lists(X, 2))
    kept = neighborhood_graph(graph)
    assert np.array_equal(kept.components()[1], graph.components()[1])
    assert graph.components()[0] == 2


def test_missing_neighbours_and_duplicates():
    lists = neighbor_lists(np.repeat(np.arange(5.0), 3)[:, None], 4)
    graph = Graph.from_knn(*lists).subgraph(np.arange(13))
    for steps in (1, 2):
        assert np.array_equal(_directed(neighborhood_graph(graph, steps)), _expected(graph, steps))


def test_same_for_any_number_of_threads():
    graph = knn_graph(300, 5, 1)
    assert neighborhood_graph(graph, 3, n_jobs=1) == neighborhood_graph(graph, 3, n_jobs=3)


def test_what_is_refused():
    with pytest.raises(InvalidParameterError, match="needs a neighbour graph"):
        neighborhood_graph(cycle(4))
    for bad in (0, 1.5, True):
        with pytest.raises(InvalidParameterError, match="n_steps must be a positive integer"):
            neighborhood_graph(knn_graph(20, 2, 0), bad)
