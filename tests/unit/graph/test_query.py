"""Neighbours of new rows, dense and sparse, against all true distances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.graph import knn_query


def rng(seed):
    return np.random.Generator(np.random.Philox(key=seed))


def sparse_rows(n, m, seed, dtype=np.float64):
    draw = rng(seed)
    X = np.where(draw.random((n, m)) < 0.2, draw.normal(size=(n, m)), 0)
    X[::11] = 0  # some rows without any entry
    return X.astype(dtype)


def true_distances(Q, X, metric):
    if metric == "euclidean":
        return np.linalg.norm(Q[:, None].astype(float) - X[None].astype(float), axis=2)

    def unit(Z):
        return Z / np.where((s := np.linalg.norm(Z, axis=1)) > 0, s, 1)[:, None]

    D = 1 - unit(Q.astype(float)) @ unit(X.astype(float)).T
    empty = (np.linalg.norm(Q, axis=1) == 0)[:, None] & (np.linalg.norm(X, axis=1) == 0)[None]
    return np.where(empty, 0, D)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("empty_rows", [True, False])
def test_sparse_query_finds_the_nearest(metric, dtype, empty_rows):
    X, Q = sparse_rows(90, 30, 0, dtype), sparse_rows(40, 30, 1, dtype)
    if not empty_rows:
        X = X[np.abs(X).sum(axis=1) > 0]
    index, distance = knn_query(sp.csr_matrix(Q), sp.csr_matrix(X), 6, metric=metric, n_jobs=2)
    D = true_distances(Q, X, metric)
    np.testing.assert_allclose(distance, np.sort(D, axis=1)[:, :6], atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(D, index.astype(int), axis=1), distance, atol=1e-6)


def test_sparse_query_is_the_dense_query():
    X, Q = sparse_rows(60, 20, 2), sparse_rows(25, 20, 3)
    a = knn_query(Q, X, 5)
    for q, x in ((sp.csr_matrix(Q), sp.csr_matrix(X)), (Q, sp.csr_matrix(X)), (sp.csr_matrix(Q), X)):
        b = knn_query(q, x, 5)
        np.testing.assert_allclose(a[1], b[1], atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_rows_one_by_one_and_any_threads(metric):
    X, Q = sp.csr_matrix(sparse_rows(80, 20, 4)), sp.csr_matrix(sparse_rows(37, 20, 5))
    index, distance = knn_query(Q, X, 7, metric=metric, n_jobs=3)
    for i in range(Q.shape[0]):
        one = knn_query(Q[i], X, 7, metric=metric, n_jobs=1)
        assert one[0].tobytes() == index[i : i + 1].tobytes()
        assert one[1].tobytes() == distance[i : i + 1].tobytes()


def test_sparse_query_refuses_what_would_need_a_dense_matrix():
    X = sp.csr_matrix(sparse_rows(20, 5, 6))
    with pytest.raises(InvalidInputError, match="sparse"):
        knn_query(X, X, 3, metric="chebyshev")
    with pytest.raises(InvalidParameterError, match="5 columns"):
        knn_query(sp.csr_matrix(np.ones((2, 4))), X, 3)


def test_sparse_query_is_exact_where_single_precision_is_not():
    # In single precision all points of the far cluster look alike, and the last of them is the nearest.
    X = np.where(np.arange(25) < 10, 1e4, -1e4)[:, None] + 1e-6 * np.arange(25)[:, None]
    index, distance = knn_query(sp.csr_matrix([[1e4]]), sp.csr_matrix(X), 16)
    np.testing.assert_array_equal(index[0], [*range(10), *range(24, 18, -1)])
    np.testing.assert_array_equal(distance[0], np.sort(np.abs(X[:, 0] - 1e4))[:16])


@pytest.mark.parametrize("scale", [1e-150, 1e100])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_query_of_tiny_and_huge_values(scale, metric):
    X, Q = sparse_rows(60, 20, 7), sparse_rows(20, 20, 8)
    plain = knn_query(sp.csr_matrix(Q), sp.csr_matrix(X), 5, metric=metric)
    scaled = knn_query(sp.csr_matrix(Q * scale), sp.csr_matrix(X * scale), 5, metric=metric)
    factor = 1 if metric == "cosine" else scale
    np.testing.assert_allclose(scaled[1], plain[1] * factor, rtol=1e-9, atol=1e-12 * factor)


def test_equally_near_rows_come_in_order():
    X = sp.csr_matrix(np.ones((12, 3)))
    np.testing.assert_array_equal(knn_query(X[:2], X, 4)[0], [[0, 1, 2, 3]] * 2)
