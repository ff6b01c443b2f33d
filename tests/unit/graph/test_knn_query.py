"""`knn_query`: neighbours of new rows."""

import numpy as np
import pytest

from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.graph import knn
from winkel.graph.knn import knn_query

from .knn_oracle import EXACT_ON_INTEGERS, METRICS, TOLERANCE, assert_neighbors, data_for, distances


def check(Q, X, k, metric, rtol, **how):
    index, distance = knn_query(Q, X, k, metric=metric)
    assert_neighbors(index, distance, distances(Q, X, metric), k, rtol, own=False, **how)
    return index, distance


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "k"), [(2, 3, 2), (20, 3, 11), (20, 3, 20), (50, 49, 5), (130, 7, 100)])
@pytest.mark.parametrize("metric", METRICS)
def test_equals_brute_force(metric, n, m, k, dtype):
    Q, X = data_for(metric, 23, m, dtype, seed=1), data_for(metric, n, m, dtype)
    check(Q, X, k, metric, TOLERANCE[dtype], same_index=metric not in ("cosine", "correlation"))


@pytest.mark.parametrize("metric", METRICS)
def test_a_batch_gives_the_bytes_of_its_rows(metric):
    Q, X = data_for(metric, 37, 9, np.float32, seed=1), data_for(metric, 400, 9, np.float32)
    Q[3] = 0
    index, distance = knn_query(Q, X, 6, metric=metric)
    for i in range(len(Q)):
        one_index, one_distance = knn_query(Q[i : i + 1], X, 6, metric=metric)
        assert one_index.tobytes() == index[i].tobytes()
        assert one_distance.tobytes() == distance[i].tobytes()


@pytest.mark.parametrize("metric", METRICS)
def test_the_points_themselves_come_first(metric):
    X = data_for(metric, 80, 30, np.float64)
    index, distance = knn_query(X, X, 1, metric=metric)
    np.testing.assert_array_equal(index[:, 0], np.arange(80))
    assert (distance == 0).all()


def test_agrees_with_knn():
    X = data_for("euclidean", 100, 4, np.float32)
    graph = knn(X, 5)
    index, distance = knn_query(X, X, 6)
    np.testing.assert_array_equal(index[:, 1:], graph.knn_indices)
    np.testing.assert_array_equal(distance[:, 1:], graph.knn_distances)


@pytest.mark.parametrize("metric", EXACT_ON_INTEGERS)
def test_ties_go_by_index(metric):
    rng = np.random.default_rng(2)
    check(rng.integers(0, 3, (40, 3)), rng.integers(0, 3, (150, 3)), 25, metric, 1e-6)


@pytest.mark.parametrize("metric", EXACT_ON_INTEGERS)
def test_rows_that_are_not_whole_beside_points_that_are(metric):
    rng = np.random.default_rng(3)
    Q = rng.integers(0, 3, (40, 3)) + 1e-9 * rng.integers(0, 2, (40, 3))
    X = rng.integers(0, 3, (150, 3)).astype(float)
    check(Q, X, 25, metric, 1e-12, same_index=metric in ("chebyshev", "hamming", "jaccard"))  # others round


def test_hamming_tells_values_apart_that_float32_merges():
    rng = np.random.default_rng(4)
    X, Q = (0.1 + 1e-12 * rng.integers(0, 3, size=(n, 5)) for n in (200, 30))
    check(Q, X, 10, "hamming", 1e-12)


@pytest.mark.parametrize("n", [10, 19, 20, 100])
def test_offsets_that_cancel(n):
    rng = np.random.default_rng(5)
    centre = np.where(np.arange(n) % 2, 1e5, -1e5)[:, None]
    X = centre + 1e-4 * rng.normal(size=(n, 3))
    check(X + 1e-5 * rng.normal(size=(n, 3)), X, 9, "euclidean", 1e-9, same_index=False)


def test_rows_far_from_every_point():
    X = data_for("euclidean", 60, 4, np.float64)
    check(X[:5] + 1e9, X, 4, "euclidean", 1e-12, same_index=False)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("points_have_some", [False, True])
def test_rows_without_direction(metric, points_have_some):
    X, Q = data_for(metric, 40, 5, np.float64), data_for(metric, 6, 5, np.float64, seed=1)
    Q[2] = 0
    if points_have_some:
        X[[7, 30]] = 0
    index, distance = check(Q, X, 5, metric, 1e-12)
    if points_have_some:
        np.testing.assert_array_equal(index[2, :2], [7, 30])
    else:
        np.testing.assert_array_equal(distance[2], 1.0)


def test_float32_rows_for_float64_points():
    X = data_for("euclidean", 50, 4, np.float64)
    Q = data_for("euclidean", 5, 4, np.float32, seed=1)
    _, distance = check(Q, X, 3, "euclidean", 1e-12)
    assert distance.dtype == np.float64


def test_refusals():
    X = np.eye(5)
    with pytest.raises(InvalidParameterError, match="5 columns of the fitted data; got 4"):
        knn_query(np.eye(4), X, 2)
    for k in (0, 6, 2.5, True):
        with pytest.raises(InvalidParameterError, match="n_neighbors"):
            knn_query(X, X, k)
    with pytest.raises(InvalidParameterError, match="metric"):
        knn_query(X, X, 2, metric="precomputed")
    with pytest.raises(InvalidInputError, match="Q"):
        knn_query(np.full((1, 5), np.nan), X, 2)
