"""Every constraint × its definition: allowed, nearest, tangent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winkel.problem import Anchored, Centered, Constraint, Standardized

ANCHORS = np.array([1, 4, 7])
PLACES = np.array([[0.5, -1.0], [2.0, 0.25], [-3.0, 1.0]])


class OnCircles(Constraint):
    """A user's own: every point on the unit circle."""

    def initialize(self, n, m, seed):
        return self.project(np.random.Generator(np.random.Philox(key=seed)).standard_normal((n, m)))

    def project(self, Y):
        return Y / np.linalg.norm(Y, axis=1, keepdims=True)

    def project_tangent(self, Y, G):
        return G - np.sum(Y * G, axis=1, keepdims=True) * Y


def violation(constraint, Y):
    """Largest amount by which Y breaks the definition of the constraint."""
    n, m = Y.shape
    match constraint:
        case Centered():
            return np.abs(Y.mean(axis=0)).max()
        case Standardized():
            return max(np.abs(Y.mean(axis=0)).max(), np.abs(Y.T @ Y / n - np.eye(m)).max())
        case Anchored():
            return np.abs(Y[ANCHORS] - PLACES).max()
        case _:
            return np.abs(np.linalg.norm(Y, axis=1) - 1).max()


CONSTRAINTS = [Centered(), Standardized(), Anchored(ANCHORS, PLACES), OnCircles()]
every_constraint = pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: type(c).__name__)
seeds = st.integers(0, 2**32 - 1)


def normal(seed, n=30, m=2):
    return np.random.Generator(np.random.Philox(key=seed)).standard_normal((n, m)) * 3 + 1


@every_constraint
@given(seed=seeds)
def test_initialize_is_allowed_and_depends_on_the_seed_alone(constraint, seed):
    Y = constraint.initialize(30, 2, seed)
    assert Y.shape == (30, 2)
    assert violation(constraint, Y) < 1e-12
    np.testing.assert_array_equal(Y, constraint.initialize(30, 2, seed))
    assert np.abs(Y - constraint.initialize(30, 2, seed + 1)).max() > 0.1


@every_constraint
@given(seed=seeds)
def test_project_gives_an_allowed_point_and_keeps_it(constraint, seed):
    Z = normal(seed)
    kept = Z.copy()
    Y = constraint.project(Z)
    np.testing.assert_array_equal(Z, kept)
    assert violation(constraint, Y) < 1e-12
    np.testing.assert_allclose(constraint.project(Y), Y, atol=1e-12)


@every_constraint
@given(seed=seeds)
def test_project_is_the_nearest_allowed_point(constraint, seed):
    Z = normal(seed)
    Y = constraint.project(Z)
    nearest = np.linalg.norm(Z - Y)
    for k in range(5):
        other = constraint.initialize(30, 2, k)
        assert nearest <= np.linalg.norm(Z - other) + 1e-9
        close = constraint.project(Y + 1e-3 * normal(seed + k + 1))
        assert nearest <= np.linalg.norm(Z - close) + 1e-9


@every_constraint
@given(seed=seeds)
def test_tangent_projection_is_an_orthogonal_projection(constraint, seed):
    Y = constraint.initialize(30, 2, seed)
    G, H = normal(seed + 1), normal(seed + 2)
    V, W = constraint.project_tangent(Y, G), constraint.project_tangent(Y, H)
    np.testing.assert_allclose(constraint.project_tangent(Y, V), V, atol=1e-12)
    assert abs(np.sum((G - V) * W)) < 1e-10 * np.linalg.norm(G) * np.linalg.norm(H)


@every_constraint
@given(seed=seeds)
def test_tangents_stay_allowed_to_first_order(constraint, seed):
    Y = constraint.initialize(30, 2, seed)
    V = constraint.project_tangent(Y, normal(seed + 1))
    h = 1e-5
    assert violation(constraint, Y + h * V) < 100 * h**2 * max(1.0, np.abs(V).max() ** 2)


@pytest.mark.parametrize("constraint", CONSTRAINTS[:3], ids=lambda c: type(c).__name__)
def test_single_precision_stays_and_is_as_good_as_it_can_be(constraint):
    Z = normal(3).astype(np.float32)
    Y = constraint.project(Z)
    assert Y.dtype == np.float32
    assert constraint.project_tangent(Y, Z).dtype == np.float32
    assert violation(constraint, Y.astype(np.float64)) < 3e-7
    np.testing.assert_allclose(Y, constraint.project(Z.astype(np.float64)), atol=3e-6)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_standardized_projection_is_the_polar_factor(m):
    Z = normal(11, n=40, m=m)
    U, _, Vt = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(Standardized().project(Z), np.sqrt(40) * U @ Vt, atol=1e-12)
    assert np.abs(Standardized().project_tangent(Standardized().project(Z), normal(12, 40, m)).sum(axis=0)).max() < 1e-12


@pytest.mark.parametrize("Z", [np.zeros((20, 2)), np.outer(np.arange(20.0), [1.0, 1.0]), np.full((20, 2), 7.0)])
def test_standardized_projection_of_a_flat_embedding_is_allowed_and_repeatable(Z):
    Y = Standardized().project(Z)
    assert violation(Standardized(), Y) < 1e-9
    np.testing.assert_array_equal(Y, Standardized().project(Z))
