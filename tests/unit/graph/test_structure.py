"""Components, spanning trees, robust neighbourhoods and groups of neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

from winkel import Graph, _core
from winkel.errors import InvalidParameterError
from winkel.graph import neighborhood_graph
from winkel.graph.graph import component_roots
from winkel.graph.structure import graph_of_groups, neighbor_groups
from winkel.run import Run

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
def test_components_from_lists_are_those_of_the_edges(seed):
    rng = np.random.Generator(np.random.Philox(key=seed))
    index, distance = neighbor_lists(rng.normal(size=(60, 3)) + 50 * (np.arange(60) < 20)[:, None], 2)
    index, distance = np.array(index), np.array(distance)
    index[::7, 1], distance[::7, 1] = -1, np.inf
    graph = Graph.from_knn(index, distance)
    roots = component_roots(graph)
    assert np.array_equal(roots, _core.component_roots(graph.edges, graph.n))
    assert len(np.unique(roots)) > 1


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
    groups = neighbor_groups(graph, Run(seed=seed))
    assert set(groups) == set(range(groups.max() + 1))
    assert all(leaders_of(graph, groups))
    assert np.array_equal(groups, neighbor_groups(graph, Run(seed=seed)))


@pytest.mark.parametrize(
    ("order", "weights", "word"),
    [
        ([0, 1], 2, "every node"),
        ([0, 1, 1], 2, "every node"),
        ([0, 1, 3], 2, "every node"),
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
        groups = neighbor_groups(graph, Run(seed=seed))
        if groups.max() == 1:
            assert groups[1] == groups[2] != groups[0]
            return
    pytest.fail("the middle led with every seed")


def test_nodes_without_neighbours_and_small_components_stand_alone():
    graph = together(path(2), cycle(3), isolated=2)
    groups = neighbor_groups(graph, Run(seed=0))
    assert len(set(groups)) == 4
    assert groups[0] == groups[1]
    assert len(set(groups[2:5])) == 1
    assert graph_of_groups(graph.edges, groups, graph.weights).n_edges == 0


def test_ties_between_groups_are_summed():
    graph = Graph.from_edges([[0, 1], [1, 2], [0, 2], [2, 3], [1, 3]], [1.0, 2.0, 4.0, 8.0, 16.0])
    coarse = graph_of_groups(graph.edges, np.array([0, 0, 1, 1], np.int32), graph.weights)
    assert coarse.edges.tolist() == [[0, 1]]
    assert coarse.weights.tolist() == [2.0 + 4.0 + 16.0]
