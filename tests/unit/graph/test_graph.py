"""Graph: what goes in comes out sorted, checked and unchangeable."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from winkel import Graph, _core
from winkel.data.arrays import distinct
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.graph import Origin, Recall

from .shapes import knn_graph, neighbor_lists


def test_edges_are_sorted_pairs():
    graph = Graph.from_edges([[3, 1], [0, 2], [1, 0]], [5.0, 6.0, 7.0], [0.5, 0.25, 0.0])
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 3]]
    assert graph.edges.dtype == np.int32
    assert graph.edges.flags.c_contiguous
    assert graph.weights.tolist() == [7.0, 6.0, 5.0]
    assert graph.edge_distances.tolist() == [0.0, 0.25, 0.5]
    assert (graph.n, graph.n_edges) == (4, 3)
    assert graph.degree.tolist() == [2, 2, 1, 1]
    dense = np.zeros((4, 4))
    dense[[0, 0, 1], [1, 2, 3]] = [7, 6, 5]
    assert np.array_equal(graph.adjacency.toarray(), dense + dense.T)
    assert graph.adjacency.has_sorted_indices


def test_zero_distances_are_stored():
    graph = Graph.from_edges([[0, 1], [1, 2]], distances=[0.0, 2.0])
    assert graph.distances.nnz == 4
    assert graph.has_distances
    assert graph.distances[1, 2] == 2.0


def test_without_distances_edges_have_length_one():
    graph = Graph.from_edges([[0, 1], [1, 2]])
    assert not graph.has_distances
    assert graph.edge_distances.tolist() == [1.0, 1.0]
    assert graph.weights.tolist() == [1.0, 1.0]


def test_same_pair_twice_with_the_same_values_is_one_edge():
    graph = Graph.from_edges([[0, 1], [1, 0], [1, 2]], [2.0, 2.0, 3.0])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.weights.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(("combine", "expected"), [("sum", 6.0), ("mean", 2.0), ("max", 3.0), ("min", 1.0)])
def test_combine_merges_weights_and_keeps_the_smallest_distance(combine, expected):
    graph = Graph.from_edges(
        [[1, 0], [0, 1], [0, 1], [0, 2]], [1.0, 2.0, 3.0, 9.0], [0.3, 0.1, 0.2, 0.4], combine=combine
    )
    assert graph.weights.tolist() == [expected, 9.0]
    assert graph.edge_distances.tolist() == [0.1, 0.4]


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([[0, 0]], {}, "join two different nodes"),
        ([[0, -1]], {}, "not be negative"),
        ([[0, 3]], {"n": 3}, "less than n=3"),
        ([[0.0, 1.0]], {}, "must be integers"),
        ([0, 1], {}, r"shape \(p, 2\)"),
        ([[0, 1, 2]], {}, r"shape \(p, 2\)"),
        ([[0, 1]], {"weights": [np.nan]}, "weights must be finite"),
        ([[0, 1]], {"weights": [1.0, 2.0]}, "one number per edge"),
        ([[0, 1]], {"weights": ["a"]}, "real numbers"),
        ([[0, 1]], {"distances": [-1.0]}, "not negative"),
        ([[0, 1]], {"distances": [np.inf]}, "finite"),
        ([[0, 1], [1, 0]], {"weights": [1.0, 2.0]}, 'combine="sum"'),
        ([[0, 1], [1, 0]], {"distances": [1.0, 2.0]}, "different distances"),
    ],
)
def test_bad_edges_are_refused(edges, options, message):
    with pytest.raises(InvalidInputError, match=message):
        Graph.from_edges(edges, **options)


@pytest.mark.parametrize("options", [{}, {"n": 0}, {"n": 2.5}, {"n": True}, {"n": 2**31}])
def test_bad_number_of_nodes_is_refused(options):
    with pytest.raises(InvalidParameterError, match="number of nodes"):
        Graph.from_edges(np.zeros((0, 2), int), **options)


def test_bad_combine_is_refused():
    with pytest.raises(InvalidParameterError, match="combine must be one of"):
        Graph.from_edges([[0, 1]], combine="product")


def test_a_graph_without_edges():
    graph = Graph.from_edges([], n=3)
    assert graph.edges.shape == (0, 2)
    assert graph.adjacency.shape == (3, 3)
    assert graph.components()[0] == 3


def test_negative_weights_are_kept():
    assert Graph.from_edges([[0, 1]], [-1]).weights.tolist() == [-1.0]


def test_graph_does_not_follow_the_arrays_it_was_made_from():
    weights = np.ones(1, np.float32)
    graph = Graph.from_edges([[0, 1]], weights)
    idx, far = neighbor_lists(np.arange(4.0)[:, None], 2)
    lists = Graph.from_knn(idx, far)
    weights[0], idx[0, 0], far[0, 0] = 5, 3, -1
    assert graph.weights[0] == 1
    assert lists.knn_indices[0, 0] == 1
    assert lists.knn_distances[0, 0] == 1.0


def test_nothing_can_be_changed():
    graph = knn_graph(20, 3, 0)
    for array in (graph.edges, graph.weights, graph.edge_distances, graph.knn_indices, graph.adjacency.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError, match="cannot be changed"):
        graph.n = 3
    with pytest.raises(AttributeError, match="cannot be changed"):
        del graph.edges
    with pytest.raises(TypeError, match="from_edges"):
        Graph()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbour_graph_is_the_union_of_both_directions(dtype):
    X = np.random.Generator(np.random.Philox(key=3)).normal(size=(60, 3))
    idx, far = neighbor_lists(X, 5, dtype)
    graph = Graph.from_knn(idx, far)
    K = np.zeros((60, 60))
    K[np.arange(60)[:, None], idx] = 1
    assert np.array_equal(graph.adjacency.toarray(), K + K.T)
    D = np.zeros((60, 60), dtype)
    D[np.arange(60)[:, None], idx] = far
    assert np.array_equal(graph.distances.toarray(), np.maximum(D, D.T))
    assert graph.edge_distances.dtype == dtype
    assert graph.weights.dtype == np.float32
    assert np.array_equal(graph.edges, np.argwhere(np.triu(K + K.T)))


def test_an_edge_listed_both_ways_has_the_smaller_distance():
    graph = Graph.from_knn([[1], [0]], [[2.0], [1.0]])
    assert graph.edge_distances.tolist() == [1.0]
    assert graph.weights.tolist() == [2.0]


def test_missing_neighbours():
    graph = Graph.from_knn([[1, 2], [-1, -1], [0, -1]], [[1.0, 2.0], [np.inf, np.inf], [2.0, np.inf]])
    assert graph.edges.tolist() == [[0, 1], [0, 2]]
    assert graph.weights.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("indices", "distances", "message"),
    [
        ([[1], [2]], [[1.0], [1.0]], "must lie in"),
        ([[0], [0]], [[1.0], [1.0]], "row 0: the row is listed as its own"),
        ([[1, 2], [0, 2], [0, 1]], [[1, 2], [2, 1], [1, 2]], "row 1: distances are not in ascending"),
        ([[1], [-1]], [[1.0], [1.0]], "row 1: missing neighbours"),
        ([[-1, 1], [0, -1]], [[np.inf, 1], [1, np.inf]], "row 0: missing neighbours"),
        ([[1], [0]], [[np.nan], [1.0]], "row 0: a distance is negative"),
        ([[1], [0]], [[1.0], [-1.0]], "row 1: a distance is negative"),
        ([[1, 1], [0, -1]], [[1.0, 1.0], [1.0, np.inf]], "row 0: a neighbour is listed twice"),
        ([[1.0], [0.0]], [[1.0], [1.0]], "must be integers"),
        ([[1], [0]], [["a"], ["b"]], "real numbers"),
        ([[1, 0]], [[1.0]], "same shape"),
        (np.zeros((0, 2), int), np.zeros((0, 2)), "n at least 1"),
    ],
)
def test_bad_neighbour_lists_are_refused(indices, distances, message):
    with pytest.raises(InvalidInputError, match=message):
        Graph.from_knn(indices, distances)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetrizing_gives_the_same_bytes_for_any_number_of_threads(dtype):
    # More rows than one block of the kernel, with neighbours far apart in memory.
    n, k = 9001, 4
    shift = np.array([1, 4000, 77, 8000])
    idx = ((np.arange(n)[:, None] * 7 + shift) % n).astype(np.int32)
    idx = np.where(idx == np.arange(n)[:, None], (idx + 3) % n, idx).astype(np.int32)
    far = np.sort(_core.random_uniform(1, 0, 0, n * k).reshape(n, k), axis=1).astype(dtype)
    one, three = (_core.symmetrize_knn(idx, far, jobs) for jobs in (1, 3))
    for a, b in zip(one, three):
        assert a.tobytes() == b.tobytes()
    pairs = np.sort(np.stack([np.repeat(np.arange(n), k), idx.ravel()], axis=1), axis=1)
    assert np.array_equal(one[0], np.unique(pairs, axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_of_both_directions_are_summed(dtype):
    n, k = 9001, 4
    steps = np.array([1, -1, 77, 4000])
    lists = ((np.arange(n)[:, None] + steps) % n).astype(np.int32)
    values = _core.random_uniform(3, 0, 0, n * k).reshape(n, k).astype(dtype)
    one, three = (_core.sum_directions(lists, values, jobs) for jobs in (1, 3))
    for a, b in zip(one, three):
        assert a.tobytes() == b.tobytes()
    given = sp.csr_array((values.ravel(), lists.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    both = sp.triu(given + given.T).tocoo()
    order = np.lexsort((both.col, both.row))
    assert np.array_equal(one[0], np.stack([both.row, both.col], axis=1)[order])
    np.testing.assert_array_equal(one[2], both.data[order])


def test_the_core_refuses_arrays_that_would_read_out_of_bounds():
    ends = np.array([[0, 5]], np.int32)
    with pytest.raises(ValueError, match="out of range"):
        _core.rows_of_edges(ends, 3)
    with pytest.raises(ValueError, match="out of range"):
        _core.symmetrize_knn(np.array([[4]], np.int32), np.zeros((1, 1)), 1)
    with pytest.raises(ValueError, match="same shape"):
        _core.check_knn(np.zeros((2, 2), np.int32), np.zeros((2, 3)), 1)
    with pytest.raises(ValueError, match="every edge once"):
        _core.spanning_forest(np.array([[0, 1]], np.int32), np.array([4]), 2)
    no = np.zeros(0)
    with pytest.raises(ValueError, match="indptr must rise"):
        _core.path_pairs(
            np.array([0, 9], np.int32), np.zeros(1, np.int32), no, np.zeros(1, np.int32), 1.0, 1.0, 0, 1
        )
    starts, columns, x = np.array([0, 0], np.int32), np.zeros(0, np.int32), np.zeros((1, 7))
    with pytest.raises(ValueError, match="multiple of 8"):
        _core.laplacian_apply(starts, columns, no, np.ones(1), 1, x, x.copy())


def test_adjacency_round_trip():
    graph = knn_graph(30, 4, 1)
    for matrix in (graph.adjacency, sp.coo_matrix(graph.adjacency), graph.adjacency.toarray()):
        again = Graph.from_adjacency(matrix)
        assert np.array_equal(again.edges, graph.edges)
        assert np.array_equal(again.weights, graph.weights)


def test_adjacency_of_distances_keeps_stored_zeros():
    matrix = sp.csr_array(([0.0, 0.0, 2.0, 2.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    graph = Graph.from_adjacency(matrix, entries="distances")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_distances.tolist() == [0.0, 2.0]
    assert graph.weights.tolist() == [1.0, 1.0]
    assert Graph.from_adjacency(matrix).edges.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.array([[0, 1], [0, 0]]), r"\(A \+ A.T\) / 2"),
        (np.array([[0, 1], [2, 0]]), "must be symmetric"),
        (np.array([[1, 1], [1, 0]]), "diagonal"),
        (np.ones((2, 3)), "square"),
        (np.array([[0, np.nan], [np.nan, 0]]), "finite"),
        (np.zeros(3), "square matrix of numbers"),
        (np.array([["a"]]), "matrix of numbers"),
    ],
)
def test_bad_adjacency_is_refused(matrix, message):
    with pytest.raises(InvalidInputError, match=message):
        Graph.from_adjacency(matrix)


def test_bad_kind_of_entries_is_refused():
    with pytest.raises(InvalidParameterError, match="entries must be one of 'weights', 'distances'"):
        Graph.from_adjacency(np.zeros((2, 2)), entries="lengths")


def test_networkx():
    club = nx.karate_club_graph()
    graph = Graph.from_networkx(club)
    assert np.array_equal(graph.adjacency.toarray(), nx.to_numpy_array(club))
    assert graph.node_labels == tuple(club)
    assert Graph.from_networkx(club, weight=None).weights.max() == 1.0


def test_networkx_labels_and_distances():
    named = nx.Graph()
    named.add_edge("b", "a", length=2.0)
    named.add_edge("a", "c", length=1.0, weight=4.0)
    graph = Graph.from_networkx(named, distance="length")
    assert graph.node_labels == ("b", "a", "c")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.weights.tolist() == [1.0, 4.0]
    assert graph.edge_distances.tolist() == [2.0, 1.0]
    with pytest.raises(InvalidInputError, match="no attribute 'km'"):
        Graph.from_networkx(named, distance="km")


def test_networkx_graphs_that_are_refused():
    with pytest.raises(InvalidInputError, match="to_undirected"):
        Graph.from_networkx(nx.DiGraph([(0, 1)]))
    with pytest.raises(InvalidInputError, match="expected a networkx graph"):
        Graph.from_networkx([[0, 1]])
    many = nx.MultiGraph([(0, 1, {"weight": 1}), (0, 1, {"weight": 2})])
    with pytest.raises(InvalidInputError, match="more than once"):
        Graph.from_networkx(many)
    assert Graph.from_networkx(many, combine="sum").weights.tolist() == [3.0]


def test_pickle_copy_and_equality():
    for graph in (
        knn_graph(20, 3, 0),
        Graph.from_networkx(nx.path_graph(4)),
        Graph.from_edges([[0, 1]], n=3),
    ):
        again = pickle.loads(pickle.dumps(graph))
        assert again == graph
        assert again.origin == graph.origin
        assert not again.edges.flags.writeable
        assert copy.deepcopy(graph) is graph
        assert copy.copy(graph) is graph
    assert knn_graph(20, 3, 0) != knn_graph(20, 3, 1)
    assert Graph.from_edges([[0, 1]]) != Graph.from_edges([[0, 1]], n=3)
    assert Graph.from_edges([[0, 1]]) != Graph.from_edges([[0, 1]], distances=[1.0])
    assert Graph.from_edges([[0, 1]]) != "graph"


def test_saving():
    lists = neighbor_lists(np.arange(5.0)[:, None], 2)
    origin = Origin("exact", "euclidean", 2, 7, Recall(0.9, 0.8, 1.0, 100), 0.5, "a note")
    grid = Graph.from_networkx(nx.grid_2d_graph(2, 3))
    for graph in (Graph.from_knn(*lists, origin), grid, Graph.from_edges([[0, 1]], distances=[0.5])):
        again = Graph.from_arrays(*graph.to_arrays())
        assert again == graph
        assert again.origin == graph.origin
        assert again.node_labels == graph.node_labels
    assert grid.node_labels[1] == (0, 1)


def test_arrays_that_are_no_graph_are_refused():
    meta, arrays = Graph.from_edges([[0, 1]]).to_arrays()
    with pytest.raises(InvalidInputError, match="do not describe a graph"):
        Graph.from_arrays(meta, {"edges": arrays["edges"]})
    with pytest.raises(InvalidInputError, match="do not describe a graph"):
        Graph.from_arrays({"n": 2}, arrays)
    with pytest.raises(InvalidInputError, match="numbers of nodes differ"):
        Graph.from_arrays({**meta, "labels": ["a"]}, arrays)
    named = Graph.from_networkx(nx.Graph([(frozenset({1}), 2)]))
    with pytest.raises(InvalidInputError, match="node labels"):
        named.to_arrays()


def test_subgraph_of_edges():
    graph = Graph.from_networkx(nx.relabel_nodes(nx.path_graph(5), dict(enumerate("abcde"))))
    part = graph.subgraph([4, 3, 0, 1])
    assert part.node_labels == ("e", "d", "a", "b")
    assert part.edges.tolist() == [[0, 1], [2, 3]]
    assert part == graph.subgraph(np.array([4, 3, 0, 1]))
    masked = graph.subgraph(np.array([True, True, False, True, True]))
    assert masked.edges.tolist() == [[0, 1], [2, 3]]


def test_subgraph_of_neighbour_lists_keeps_directions():
    graph = knn_graph(40, 5, 2)
    rows = np.random.Generator(np.random.Philox(key=1)).permutation(40)[:17]
    part = graph.subgraph(rows)
    K = np.zeros((40, 40))
    K[np.arange(40)[:, None], graph.knn_indices] = 1
    K = K[np.ix_(rows, rows)]
    assert np.array_equal(part.adjacency.toarray(), K + K.T)
    assert Graph.from_knn(part.knn_indices, part.knn_distances) == part
    missing = Graph.from_knn([[1, 2], [0, -1], [-1, -1]], [[1, 2], [1, np.inf], [np.inf, np.inf]])
    assert missing.subgraph([2, 1, 0]).edges.tolist() == [[0, 2], [1, 2]]


@pytest.mark.parametrize("rows", [[], [0, 0], [-1], [20], [0.5], [True]])
def test_bad_rows_are_refused(rows):
    with pytest.raises(InvalidInputError, match=r"rows must be|mask of rows"):
        knn_graph(20, 3, 0).subgraph(np.array(rows))


def test_repr_says_size_and_source():
    graph = Graph.from_knn(*neighbor_lists(np.arange(5.0)[:, None], 2), Origin("exact", "cosine", 2))
    assert repr(graph) == "Graph(n=5, n_neighbors=2, from exact cosine)"
    assert graph.n_edges == 6
    assert repr(graph) == "Graph(n=5, n_neighbors=2, n_edges=6, from exact cosine)"
    assert repr(Graph.from_edges([[0, 1]])) == "Graph(n=2, n_edges=1, from edges)"


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_distinct_numbers_are_those_of_numpy(n):
    keys = _core.random_integers(0, 0, 0, n, 1000) * 2**33 if n else np.empty(0, np.int64)
    assert distinct(keys).tolist() == np.unique(keys).tolist()
