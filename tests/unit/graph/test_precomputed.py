"""`knn` from distances that the caller gives, and the refusal of parameters that make no sense."""

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.errors import InvalidInputError, InvalidParameterError, MemoryLimitError
from winkel.graph import knn

from .knn_oracle import assert_neighbors, distances, nearest


def square(n=40, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, np.asarray(distances(X, X, "euclidean"), dtype=np.float64)


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


# ---------------------------------------------------------------- a matrix of distances


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrix_gives_what_the_data_gives(dtype):
    X, D = square()
    graph = knn(D.astype(dtype), 6, metric="precomputed")
    np.testing.assert_array_equal(graph.knn_indices, knn(X, 6).knn_indices)
    assert graph.knn_distances.dtype == dtype
    assert graph.origin.metric == "precomputed"


def test_matrix_of_whole_numbers_and_ties():
    D = np.random.default_rng(1).integers(0, 4, size=(50, 50))
    D = np.triu(D, 1) + np.triu(D, 1).T
    graph = knn(D, 12, metric="precomputed")
    assert_neighbors(graph.knn_indices, graph.knn_distances, D.astype(np.longdouble), 12, 0)


def test_sparse_matrix_of_known_distances():
    rows, columns = [0, 0, 0, 1, 2, 4], [1, 2, 3, 0, 3, 0]
    known = sp.coo_matrix(([2.0, 1.0, 2.0, 2.0, 0.0, 3.0], (rows, columns)), shape=(5, 5)).tocsr()
    assert known.nnz == 6  # the zero is stored: a known distance
    graph = knn(known, 2, metric="precomputed")
    np.testing.assert_array_equal(graph.knn_indices, [[2, 1], [0, -1], [3, -1], [-1, -1], [0, -1]])
    inf = np.inf
    np.testing.assert_array_equal(graph.knn_distances, [[1, 2], [2, inf], [0, inf], [inf, inf], [3, inf]])


def test_full_sparse_matrix_equals_dense():
    D = np.random.default_rng(2).integers(1, 5, size=(30, 30)).astype(np.float64)
    D = np.triu(D, 1) + np.triu(D, 1).T
    for form in (sp.csr_matrix, sp.csc_array, sp.coo_matrix):
        graph = knn(form(D), 7, metric="precomputed")
        np.testing.assert_array_equal(graph.knn_indices, nearest(D, 7)[0])


def test_sparse_matrix_with_repeated_entries_is_added_up():
    D = sp.csr_matrix(([1.0, 2.0, 1.0], [1, 1, 2], [0, 3, 3, 3]), shape=(3, 3))
    before = D.nnz
    graph = knn(D, 2, metric="precomputed")
    np.testing.assert_array_equal(graph.knn_distances[0], [1, 3])
    assert D.nnz == before


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: D[:, :-1], "square"),
        (lambda D: D - 0.5, "negative"),
        (lambda D: 2 - D, "negative|similarities"),
        (lambda D: D + np.eye(len(D)), "similarities"),
        (lambda D: np.where(D > 1, np.nan, D), "finite|NaN|not a number"),
    ],
)
def test_impossible_matrices(form, change, message):
    _, D = square()
    with pytest.raises(InvalidInputError, match=message):
        knn(form(change(D)), 3, metric="precomputed")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_matrix_with_too_few_items(form):
    _, D = square(5)
    with pytest.raises(InvalidParameterError, match="at least 6 rows; got 5"):
        knn(form(D), 5, metric="precomputed")


def test_complex_sparse_distances():
    with pytest.raises(InvalidInputError, match="finite and not negative"):
        knn(sp.csr_matrix(np.array([[0, 1j], [1j, 0]])), 1, metric="precomputed")


# ---------------------------------------------------------------- neighbour lists


def test_lists_are_taken_as_they_are():
    X, _ = square()
    found = knn(X, 8)
    graph = knn((found.knn_indices, found.knn_distances), 5, metric="precomputed")
    np.testing.assert_array_equal(graph.knn_indices, found.knn_indices[:, :5])
    np.testing.assert_array_equal(graph.knn_distances, found.knn_distances[:, :5])
    assert graph.origin.method == "lists"


def test_lists_that_begin_with_the_row_itself():
    X, _ = square()
    found = knn(X, 8)
    index = np.hstack([np.arange(len(X))[:, None], found.knn_indices])
    distance = np.hstack([np.zeros((len(X), 1)), found.knn_distances])
    graph = knn((index, distance), 8, metric="precomputed")
    np.testing.assert_array_equal(graph.knn_indices, found.knn_indices)


@pytest.mark.parametrize(
    ("lists", "error", "message"),
    [
        ((np.zeros((3, 1), int),), InvalidInputError, "pair"),
        ((np.zeros((3, 2), int), np.zeros((3, 1))), InvalidInputError, "one shape"),
        ((np.zeros(3, int), np.zeros(3)), InvalidInputError, "one shape"),
        ((np.zeros((3, 0), int), np.zeros((3, 0))), InvalidParameterError, "contain only 0 neighbours"),
        ((np.array([[1], [2], [0]]), np.ones((3, 1))), InvalidParameterError, "contain only 1 neighbours"),
        ((np.array([[1, 7], [0, 2], [0, 1]]), np.ones((3, 2))), InvalidInputError, "must lie in"),
        ((np.array([[1, 2.5], [0, 2], [0, 1]]), np.ones((3, 2))), InvalidInputError, "integers"),
        ((np.array([[1, 1], [0, 2], [0, 1]]), np.ones((3, 2))), InvalidInputError, "not valid at row 0"),
        ((np.array([[1, 2], [0, 1], [0, 1]]), np.ones((3, 2))), InvalidInputError, "not valid at row 1"),
        ((np.array([[1, 2], [0, 2], [0, 1]]), -np.ones((3, 2))), InvalidInputError, "not valid at row 0"),
        (
            (np.array([[1, 2], [0, 2], [0, 1]]), np.full((3, 2), np.nan)),
            InvalidInputError,
            "not valid at row 0",
        ),
        (
            (np.array([[1, 2], [0, 2], [0, 1]]), np.array([[2, 1]] * 3)),
            InvalidInputError,
            "not valid at row 0",
        ),
    ],
)
def test_impossible_lists(lists, error, message):
    with pytest.raises(error, match=message):
        knn(lists, 2, metric="precomputed")


# ---------------------------------------------------------------- a function


WORDS = ["winkel", "winkle", "wrinkle", "sprinkle", "map", "maps", "mapping", "gap", "tripel", "triple"]


def test_words_by_edit_distance():
    graph = knn(WORDS, 3, metric=edit_distance)
    D = np.array([[edit_distance(a, b) for b in WORDS] for a in WORDS], dtype=np.longdouble)
    assert_neighbors(graph.knn_indices, graph.knn_distances, D, 3, 0)
    assert graph.origin.metric == "edit_distance"


def test_a_function_of_rows_equals_the_metric():
    X, _ = square(25)
    graph = knn(X, 4, metric=lambda a, b: np.abs(a - b).sum())
    np.testing.assert_array_equal(graph.knn_indices, knn(X, 4, metric="manhattan").knn_indices)


def test_a_function_of_the_rows_of_a_frame():
    pandas = pytest.importorskip("pandas")
    X, _ = square(12)
    graph = knn(pandas.DataFrame(X), 4, metric=lambda a, b: float(np.linalg.norm(a - b)))
    np.testing.assert_array_equal(graph.knn_indices, knn(X, 4).knn_indices)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda a, b: float("nan"), "finite distances of at least 0; got nan for items 0 and 1"),
        (lambda a, b: float("inf"), "got inf"),
        (lambda a, b: -1.0, "got -1.0"),
        (lambda a, b: a - 2 * b if a > b else b - a, "must be symmetric"),
        (lambda a, b: "far", "failed for items 0 and 1"),
        (lambda a, b: None, "failed for items 0 and 1"),
        (lambda a: 0.0, "failed for items 0 and 1"),
    ],
)
def test_impossible_functions(metric, message):
    with pytest.raises(InvalidInputError, match=message):
        knn([5.0, 1.0, 3.0], 1, metric=metric)


def test_a_fault_far_down_names_its_pair():
    with pytest.raises(InvalidInputError, match="items 20 and 29"):
        knn(list(range(30)), 2, metric=lambda a, b: abs(a - b) if {a, b} != {20, 29} else -1)


@pytest.mark.parametrize("items", [{"a": 1, "b": 2}, {1, 2, 3}, 7, sp.eye(4, format="csr"), iter("abc")])
def test_things_that_are_not_sequences(items):
    with pytest.raises(InvalidInputError, match="sequence of items"):
        knn(items, 1, metric=lambda a, b: 1.0)


def test_a_function_needs_items():
    with pytest.raises(InvalidInputError, match="at least 2 items; got 1"):
        knn(["alone"], 1, metric=edit_distance)
    with pytest.raises(InvalidParameterError, match="at least 11 rows"):
        knn(WORDS, 10, metric=edit_distance)
    with pytest.raises(MemoryLimitError, match="built-in metric"):
        knn(WORDS, 2, metric=edit_distance, max_memory=100)


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3", None])
def test_impossible_counts(k):
    with pytest.raises(InvalidParameterError, match="positive integer"):
        knn(np.eye(5), k)


def test_counts_of_any_integer_type():
    assert knn(np.eye(5), np.int8(2)).knn_indices.shape == (5, 2)


def test_too_many_neighbors():
    with pytest.raises(InvalidParameterError, match="Use n_neighbors of at most 4"):
        knn(np.eye(5), 5)


@pytest.mark.parametrize("metric", ["euclid", "", None, 3, ["euclidean"]])
def test_unknown_metrics(metric):
    with pytest.raises(InvalidParameterError, match="metric must be one of 'euclidean'"):
        knn(np.eye(5), 2, metric=metric)


@pytest.mark.parametrize("method", ["fast", None, "EXACT"])
def test_unknown_methods(method):
    with pytest.raises(InvalidParameterError, match="method must be"):
        knn(np.eye(5), 2, method=method)


@pytest.mark.parametrize("X", [np.eye(1), np.zeros((0, 3)), np.zeros((5, 0)), [[1.0, np.nan], [0, 1]]])
def test_impossible_data(X):
    with pytest.raises(InvalidInputError):
        knn(X, 1)
