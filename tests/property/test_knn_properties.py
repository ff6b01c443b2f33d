"""Properties of the neighbour search that hold for every metric and any data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.unit.graph.knn_oracle import EXACT_ON_INTEGERS, METRICS, assert_neighbors, distances, nearest
from winkel.graph import knn
from winkel.graph.knn import knn_query

SHAPES = st.tuples(st.integers(2, 40), st.integers(1, 9))
SMALL = st.integers(-2, 2)
NUMBERS = st.floats(-1e100, 1e100) | st.sampled_from([0.0, -0.0, 1.0, 1e-300, 5e-324, 1e30, 1 + 2**-52])


@st.composite
def data_and_count(draw, elements):
    X = draw(hnp.arrays(np.float64, SHAPES, elements=elements))
    return X, draw(st.integers(1, len(X) - 1))


@pytest.mark.parametrize("metric", EXACT_ON_INTEGERS)
@settings(max_examples=40, deadline=None)
@given(case=data_and_count(SMALL))
def test_whole_numbers_give_exact_neighbors_and_ties(metric, case):
    X, k = case
    graph = knn(X, k, metric=metric)
    assert_neighbors(graph.knn_indices, graph.knn_distances, distances(X, X, metric), k, 1e-12)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40, deadline=None)
@given(case=data_and_count(NUMBERS))
def test_any_numbers_give_true_distances(metric, case):
    X, k = case
    graph = knn(X, k, metric=metric)
    # Directions are known to one rounding, so half their squared distance is to about its root.
    atol = 1e-7 if metric in ("cosine", "correlation") else 0
    D = distances(X, X, metric)
    np.testing.assert_allclose(
        graph.knn_distances, nearest(D, k)[1].astype(float), rtol=1e-9, atol=atol + 1e-323
    )
    there = np.take_along_axis(D, graph.knn_indices.astype(np.int64), axis=1)
    np.testing.assert_allclose(graph.knn_distances, there.astype(float), rtol=1e-9, atol=atol + 1e-323)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=25, deadline=None)
@given(case=data_and_count(SMALL), seed=st.integers(0, 100))
def test_distances_follow_a_change_of_order(metric, case, seed):
    X, k = case
    order = np.random.default_rng(seed).permutation(len(X))
    one, other = knn(X, k, metric=metric), knn(X[order], k, metric=metric)
    np.testing.assert_array_equal(one.knn_distances[order], other.knn_distances)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@settings(max_examples=25, deadline=None)
@given(case=data_and_count(st.floats(-100, 100, width=16)), power=st.integers(-200, 200))
def test_distances_follow_a_power_of_two(metric, case, power):
    X, k = case
    one, other = knn(X, k, metric=metric), knn(np.ldexp(X, power), k, metric=metric)
    np.testing.assert_array_equal(np.ldexp(one.knn_distances, power), other.knn_distances)
    np.testing.assert_array_equal(one.knn_indices, other.knn_indices)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=25, deadline=None)
@given(case=data_and_count(SMALL))
def test_approximate_of_few_rows_is_exact(metric, case):
    X, k = case
    exact, approximate = (
        knn(X, k, metric=metric, method=how, random_state=0) for how in ("exact", "approximate")
    )
    assert approximate.origin.recall.value == 1
    np.testing.assert_allclose(approximate.knn_distances, exact.knn_distances, rtol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=25, deadline=None)
@given(case=data_and_count(SMALL | NUMBERS), threads=st.integers(1, 4))
def test_new_rows_one_by_one_give_the_bytes_of_the_batch(metric, case, threads):
    X, k = case
    index, distance = knn_query(X[::2], X, k, metric=metric, n_jobs=threads)
    for i, row in enumerate(X[::2]):
        one_index, one_distance = knn_query(row[None], X, k, metric=metric)
        assert one_index.tobytes() == index[i].tobytes()
        assert one_distance.tobytes() == distance[i].tobytes()
