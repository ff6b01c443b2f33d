from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.methods.starts import pivot_start, principal_start, spectral_start, weighted_mean
from winkel.run import Run


def rows(n=60, m=5, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


@pytest.mark.parametrize(("n", "m"), [(30, 6), (6, 30)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_principal_start_is_that_of_the_singular_vectors(n, m, dtype):
    X = (rows(n, m) * np.arange(1, m + 1)).astype(dtype)
    Y = principal_start(X, 3)
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    expected = U[:, :3] * s[:3]
    assert Y.dtype == dtype
    tolerance = 1e-3 if dtype == np.float32 else 1e-8
    np.testing.assert_allclose(np.abs(Y), np.abs(expected), atol=tolerance * s[0])


def test_principal_start_with_more_components_than_there_are_directions():
    Y = principal_start(rows(5, 2), 4)
    assert Y.shape == (5, 4)
    np.testing.assert_array_equal(Y[:, 2:], 0)
    assert np.isfinite(principal_start(np.ones((4, 3)), 2)).all()


def test_spectral_start_has_unit_spread_and_no_centre():
    Y = spectral_start(wk.graph.knn(rows(), 6), 2, Run())
    np.testing.assert_allclose(Y.std(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-6)


def test_pivots_lay_out_a_path_as_a_line():
    graph = wk.Graph.from_edges([[i, i + 1] for i in range(9)])
    Y = pivot_start(graph, 2, Run())
    np.testing.assert_allclose(np.diff(Y[:, 0]), np.diff(Y[:2, 0])[0])  # ten evenly spaced places
    np.testing.assert_allclose(Y[:, 1], 0, atol=1e-6 * np.ptp(Y[:, 0]))


def test_components_without_a_path_stand_beside():
    graph = wk.Graph.from_edges([[0, 1], [1, 2], [3, 4]])
    assert np.isfinite(pivot_start(graph, 3, Run())).all()


def test_a_new_row_begins_at_the_mean_of_its_neighbours_by_nearness():
    Y = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 6.0]])
    # Weights 1/1 and 1/2 of neighbours 0 and 1: (0 + 3/2) / (3/2) = 1.
    found = weighted_mean(Y, np.array([[0, 1]], dtype=np.int32), np.array([[1.0, 2.0]]))
    np.testing.assert_allclose(found, [[1.0, 0.0]])
    # A neighbour at distance zero decides.
    found = weighted_mean(Y, np.array([[2, 1]], dtype=np.int32), np.array([[0.0, 2.0]]))
    np.testing.assert_allclose(found, [[0.0, 6.0]], atol=1e-10)
