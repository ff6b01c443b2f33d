"""`combine`: sets of pairs and weights worked out by hand, and maps of several tables."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError

A = wk.Graph.from_edges([[0, 1], [1, 2]], [1.0, 3.0], [1.0, 1.0], n=4)  # weights over their mean: 0.5, 1.5
B = wk.Graph.from_edges([[1, 2], [2, 3]], [2.0, 2.0], [1.0, 3.0], n=4)  # 1, 1; lengths 0.5, 1.5


def test_union_has_the_mean():
    found = wk.graph.combine([A, B])
    np.testing.assert_array_equal(found.edges, [[0, 1], [1, 2], [2, 3]])
    np.testing.assert_allclose(found.weights, [0.25, 1.25, 0.5])
    np.testing.assert_allclose(found.edge_distances, [1.0, 0.75, 1.5])
    assert found.origin.method == "combined"


def test_intersection_has_the_geometric_mean():
    found = wk.graph.combine([A, B], "intersection")
    np.testing.assert_array_equal(found.edges, [[1, 2]])
    np.testing.assert_allclose(found.weights, [1.5**0.5], rtol=1e-6)


def test_numbers_weigh_the_graphs():
    found = wk.graph.combine([A, B], [3, 1])
    np.testing.assert_allclose(found.weights, [0.75 * 0.5, 0.75 * 1.5 + 0.25, 0.25])
    alone = wk.graph.combine([A, B], [1, 0])
    np.testing.assert_array_equal(alone.edges, A.edges)


def test_a_graph_with_itself_is_itself():
    graph = wk.graph.knn(np.random.default_rng(0).normal(size=(40, 3)), 5)
    for how in ("union", "intersection", [2.0, 5.0]):
        found = wk.graph.combine([graph, graph], how)
        np.testing.assert_array_equal(found.edges, graph.edges)
        np.testing.assert_allclose(found.weights, graph.weights / graph.weights.mean(), rtol=1e-6)


@pytest.mark.parametrize(
    ("graphs", "how", "message"),
    [
        ([A], "union", "two or more graphs"),
        ([A, wk.Graph.from_edges([[0, 1]], n=3)], "union", "these have 4, 3 nodes"),
        ([A, B], "both", "how must be one of 'union', 'intersection'"),
        ([A, B], [1.0], "how must be"),
        ([A, B], [0.0, 0.0], "one of them above 0"),
        ([A, wk.Graph.from_edges([[0, 3]], n=4)], "intersection", "no pair is in all graphs"),
    ],
)
def test_what_cannot_be_combined(graphs, how, message):
    with pytest.raises((InvalidParameterError, InvalidInputError), match=message):
        wk.graph.combine(graphs, how)
