"""Components and spanning trees, with duplicates, ties and isolated nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csgraph

from winkel import Graph

from .shapes import cycle, knn_graph, neighbor_lists, path, together


def test_components_are_ordered_by_size():
    graph = together(path(2), path(4), cycle(3), path(2), isolated=2)
    count, labels = graph.components()
    assert count == 6
    assert labels.tolist() == [2, 2, 0, 0, 0, 0, 1, 1, 1, 3, 3, 4, 5]
    assert not labels.flags.writeable


def test_edges_of_length_zero_connect():
    graph = Graph.from_edges([[0, 1], [1, 2]], distances=[0.0, 0.0])
    assert graph.components()[0] == 1
    assert graph.minimum_spanning_tree().n_edges == 2


@pytest.mark.parametrize("seed", range(3))
def test_tree_has_the_least_length(seed):
    graph = knn_graph(80, 4, seed)
    tree = graph.minimum_spanning_tree()
    assert np.isclose(tree.edge_distances.sum(), csgraph.minimum_spanning_tree(graph.distances).sum())
    assert tree.n_edges == graph.n - graph.components()[0]
    assert np.array_equal(tree.components()[1], graph.components()[1])


def test_tree_keeps_weights_and_joins_duplicates():
    X = np.repeat(np.arange(4.0), 3)[:, None] * 10
    graph = Graph.from_knn(*neighbor_lists(X, 5))
    tree = graph.minimum_spanning_tree()
    assert tree.n_edges == 11
    assert np.isclose(tree.edge_distances.sum(), 30)
    weight = {tuple(e): w for e, w in zip(graph.edges.tolist(), graph.weights.tolist())}
    assert tree.weights.tolist() == [weight[tuple(e)] for e in tree.edges.tolist()]


def test_ties_go_to_the_first_edges():
    assert cycle(5).minimum_spanning_tree().edges.tolist() == [[0, 1], [0, 4], [1, 2], [2, 3]]


def test_tree_of_a_graph_without_distances_has_none():
    assert not cycle(5).minimum_spanning_tree().has_distances


def test_forest_of_several_components():
    assert together(cycle(4), cycle(3), isolated=1).minimum_spanning_tree().n_edges == 5
