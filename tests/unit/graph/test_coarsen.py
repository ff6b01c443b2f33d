"""Groups of neighbours: what makes them groups, and the graph between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winkel import Graph, _core
from winkel.graph.structure import graph_of_groups, neighbor_groups

from .shapes import cycle, knn_graph, path, together


def leaders_of(graph: Graph, groups: np.ndarray) -> list[list[int]]:
    """For each group the members that all others of it are neighbours of."""
    tied = graph.adjacency.toarray() != 0
    found = []
    for group in range(groups.max() + 1):
        members = np.flatnonzero(groups == group)
        inside = tied[np.ix_(members, members)] | np.eye(len(members), dtype=bool)
        found.append(members[inside.all(axis=1)].tolist())
    return found


@given(n=st.integers(12, 80), k=st.integers(1, 8), seed=st.integers(0, 99))
def test_every_group_has_a_leader_whose_neighbours_the_others_are(n, k, seed):
    graph = knn_graph(n, k, seed)
    groups = neighbor_groups(graph, seed)
    assert set(groups) == set(range(groups.max() + 1))
    assert all(leaders_of(graph, groups))
    assert np.array_equal(groups, neighbor_groups(graph, seed))


@pytest.mark.parametrize(
    ("order", "weights", "word"),
    [
        ([0, 1], 2, "every node"),
        ([0, 1, 1], 2, "every node"),
        ([0, 1, 3], 2, "range"),
        ([2, 1, 0], 1, "weight"),
    ],
)
def test_wrong_calls_of_the_core_are_refused(order, weights, word):
    indptr, columns = np.array([0, 1, 2, 2], np.int32), np.array([1, 0], np.int32)
    with pytest.raises(ValueError, match=word):
        _core.neighbor_groups(indptr, columns, np.ones(weights), np.array(order, np.int32))


def test_members_go_where_they_are_tied_most():
    # 0 - 1 - 2 with the stronger tie at the right: when both ends lead, 1 joins the right one.
    graph = Graph.from_edges([[0, 1], [1, 2]], [1.0, 5.0])
    for seed in range(20):
        groups = neighbor_groups(graph, seed)
        if groups.max() == 1:
            assert groups[1] == groups[2] != groups[0]
            return
    pytest.fail("the middle led with every seed")


def test_nodes_without_neighbours_and_small_components_stand_alone():
    graph = together(path(2), cycle(3), isolated=2)
    groups = neighbor_groups(graph, 0)
    assert len(set(groups)) == 4
    assert groups[0] == groups[1]
    assert len(set(groups[2:5])) == 1
    assert graph_of_groups(graph, groups, graph.weights).n_edges == 0


def test_ties_between_groups_are_summed():
    graph = Graph.from_edges([[0, 1], [1, 2], [0, 2], [2, 3], [1, 3]], [1.0, 2.0, 4.0, 8.0, 16.0])
    coarse = graph_of_groups(graph, np.array([0, 0, 1, 1], np.int32), graph.weights)
    assert coarse.edges.tolist() == [[0, 1]]
    assert coarse.weights.tolist() == [2.0 + 4.0 + 16.0]
