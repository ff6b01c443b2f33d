"""`knn` of sparse rows against the dense search."""

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.graph import knn

from .knn_oracle import TOLERANCE, assert_neighbors, distances


def sparse_rows(n, m, density, dtype=np.float64, seed=0):
    return sp.random(
        n, m, density=density, format="csr", dtype=dtype, random_state=np.random.default_rng(seed)
    )


def check(X, k, metric, rtol, **how):
    graph = knn(X, k, metric=metric)
    assert_neighbors(
        graph.knn_indices, graph.knn_distances, distances(X.toarray(), X.toarray(), metric), k, rtol, **how
    )
    return graph


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "k"), [(2, 3, 1), (17, 5, 16), (100, 40, 9), (130, 300, 4)])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_equals_brute_force(metric, n, m, k, dtype):
    X = sparse_rows(n, m, 0.4 if m > 3 else 1.0, dtype)
    graph = check(
        X, k, metric, TOLERANCE[dtype], atol=1e-30, same_index=False
    )  # parallel rows round to 1e-32
    assert graph.knn_distances.dtype == dtype


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_equals_dense(metric, form):
    X = sparse_rows(150, 30, 0.3)
    sparse, dense = knn(form(X), 8, metric=metric), knn(X.toarray(), 8, metric=metric)
    np.testing.assert_array_equal(sparse.knn_indices, dense.knn_indices)
    np.testing.assert_allclose(sparse.knn_distances, dense.knn_distances, rtol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_rows_and_columns_of_zeros(metric):
    X = sparse_rows(60, 25, 0.3).tolil()
    X[[4, 20, 21]] = 0
    X[:, [0, 7]] = 0
    graph = check(X.tocsr(), 59, metric, 1e-12, same_index=False)
    assert (graph.knn_distances[4, :2] == 0).all()
    assert sorted(graph.knn_indices[4, :2]) == [20, 21]
    if metric == "cosine":
        np.testing.assert_array_equal(graph.knn_distances[4, 2:], 1.0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_nothing_but_zeros(metric):
    graph = knn(sp.csr_matrix((12, 5)), 3, metric=metric)
    assert (graph.knn_distances == 0).all()
    np.testing.assert_array_equal(graph.knn_indices, (np.arange(12)[:, None] + [1, 2, 3]) % 12)


def test_ties_go_by_cyclic_order():
    dense = np.random.default_rng(1).integers(0, 2, size=(120, 5)).astype(np.float64)
    check(sp.csr_matrix(dense), 30, "euclidean", 1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-30, 1e30, 1e140])
def test_any_size(metric, scale):
    X = sparse_rows(80, 20, 0.4) * scale
    check(X, 6, metric, 1e-9, atol=1e-15 if metric == "cosine" else 0, same_index=False)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_float32_too_small_to_square(metric):
    X = sparse_rows(80, 20, 0.4, np.float32)
    X.data *= np.float32(1e-38)
    check(X, 6, metric, 1e-6, atol=1e-7 if metric == "cosine" else 0, same_index=False)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_equal_rows(metric):
    X = sp.csr_matrix(np.tile(sparse_rows(1, 40, 0.5).toarray(), (600, 1)))
    assert (knn(X, 9, metric=metric).knn_distances == 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_same_bytes_for_any_number_of_threads(metric):
    X = sparse_rows(600, 50, 0.1)
    one = knn(X, 10, metric=metric, n_jobs=1)
    other = knn(X, 10, metric=metric, n_jobs=3)
    assert one.knn_indices.tobytes() == other.knn_indices.tobytes()
    assert one.knn_distances.tobytes() == other.knn_distances.tobytes()


def test_data_is_not_changed():
    X = sparse_rows(50, 20, 0.3)
    before = X.copy()
    for metric in ("euclidean", "cosine"):
        knn(X, 5, metric=metric)
    assert abs(X - before).nnz == 0


@pytest.mark.parametrize("metric", ["chebyshev", "correlation", "hamming"])
def test_other_metrics_are_refused(metric):
    with pytest.raises(InvalidInputError, match=f"'{metric}' does not take sparse data"):
        knn(sparse_rows(20, 5, 0.5), 3, metric=metric)


def test_approximate_is_refused():
    with pytest.raises(InvalidParameterError, match="searched exactly"):
        knn(sparse_rows(20, 5, 0.5), 3, method="approximate")


def test_too_many_neighbors():
    with pytest.raises(InvalidParameterError, match="at least 21 rows; got 20"):
        knn(sparse_rows(20, 5, 0.5), 20)
