"""Optimality conditions of chapter 5 against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.problem import stationarity


def ring(n=12):
    return np.column_stack([np.arange(n), (np.arange(n) + 1) % n])


def test_duals_of_a_standardized_quadratic_problem_are_eigenvalues():
    weights = np.random.Generator(np.random.Philox(key=0)).uniform(0.5, 2, 12)
    problem = wk.Problem(ring(), wk.penalties.Quadratic(weights), constraint=wk.Standardized())
    found = stationarity(problem, problem.solve().Y)
    L = np.zeros((12, 12))
    for (i, j), w in zip(ring(), weights):
        L[[i, j], [i, j]] += w
        L[[i, j], [j, i]] -= w
    np.testing.assert_allclose(
        np.linalg.eigvalsh(found.multipliers), 12 / 12 * np.linalg.eigvalsh(L)[1:3], rtol=1e-5
    )
    assert found.residual == pytest.approx(problem.residual(problem.solve().Y), abs=1e-6)
    # The trace of the multiplier is the average distortion, since f'(d)d/2 = f(d) here.
    assert np.trace(found.multipliers) == pytest.approx(
        problem.average_distortion(problem.solve().Y), rel=1e-5
    )


def test_duals_of_anchors_are_the_forces_that_hold_them():
    problem = wk.Problem(
        [[0, 1], [1, 2], [2, 3]],
        wk.penalties.Quadratic(),
        n_components=1,
        constraint=wk.Anchored([0, 3], [[0.0], [3.0]]),
    )
    found = stationarity(problem, problem.solve().Y)
    assert found.residual < 1e-6
    # Springs of length 1 pull each end inwards with f'(1)/p = 2/3; the anchors pull back.
    np.testing.assert_allclose(found.multipliers, [[2 / 3], [-2 / 3]], atol=1e-6)


def test_a_map_that_is_not_stationary_and_constraints_without_duals():
    problem = wk.Problem(ring(), wk.losses.Quadratic(np.ones(12)))
    Y = np.random.Generator(np.random.Philox(key=1)).normal(size=(12, 2))
    found = stationarity(problem, Y - Y.mean(axis=0))
    assert found.multipliers is None
    assert found.residual > 0.01
    np.testing.assert_allclose(found.projected, found.gradient, atol=1e-9)  # forces of pairs sum to zero
