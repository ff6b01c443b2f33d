"""Gradient descent and Adam: their formulas, their constraint, and where they arrive."""

from __future__ import annotations

import numpy as np
import pytest

from winkel.errors import InvalidParameterError, NotConvergedWarning
from winkel.run import Stream
from winkel.solvers import Adam, GradientDescent

from .walk import START, Bowl, run


class Quadratic:
    """f(Y) = ½ Σ a_i ‖y_i − b_i‖² with its minimum at b."""

    def __init__(self, dtype=np.float64):
        self.a = np.linspace(0.5, 4.0, 6).astype(dtype)[:, None]
        self.b = Stream(1).normal((6, 2)).astype(dtype)

    def gradient(self, Y):
        return 0.5 * float(np.sum(self.a * (Y - self.b) ** 2)), self.a * (Y - self.b)


class Centred(Quadratic):
    """The same, among the Y whose columns have mean zero."""

    class constraint:
        @staticmethod
        def project(Y):
            return Y - Y.mean(axis=0)

        @staticmethod
        def project_tangent(Y, direction):
            return direction - direction.mean(axis=0)


SOLVERS = [GradientDescent(0.2, tol=1e-9), GradientDescent(0.1, momentum=0.8, tol=1e-9), Adam(0.05, tol=1e-9)]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_the_minimum_is_found(solver):
    problem = Quadratic()
    result = run(solver, problem, START, max_iter=5000)
    assert result.status.converged
    assert np.allclose(result.state.Y, problem.b, atol=1e-8)
    assert result.state.residual <= 1e-9


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_the_constraint_holds_and_its_minimum_is_found(solver):
    problem = Centred()
    result = run(solver, problem, START + 3, max_iter=5000)
    assert result.status.converged
    assert np.allclose(result.state.Y.mean(axis=0), 0, atol=1e-12)
    # With a multiplier for the mean: a_i (y_i − b_i) = μ, so y_i = b_i + μ / a_i and μ = −Σ b / Σ (1/a).
    mu = -problem.b.sum(axis=0) / np.sum(1 / problem.a)
    assert np.allclose(result.state.Y, problem.b + mu / problem.a, atol=1e-7)


def test_momentum_steps_follow_their_formula():
    solver, problem = GradientDescent(0.1, momentum=0.5, tol=0), Bowl()
    result = run(solver, problem, START, max_iter=2)
    v1 = -0.1 * (START - 1)
    y1 = START + v1
    y2 = y1 + 0.5 * v1 - 0.1 * (y1 - 1)
    assert np.allclose(result.state.Y, y2, rtol=1e-15)
    assert result.state.objective == pytest.approx(0.5 * np.sum((y2 - 1) ** 2))
    assert result.state.residual == pytest.approx(np.sqrt(np.mean((y2 - 1) ** 2)))


def test_the_first_step_of_adam_has_its_length_in_every_coordinate():
    result = run(Adam(0.25, tol=0), Bowl(), START, max_iter=1)
    assert np.allclose(result.state.Y, START - 0.25 * np.sign(START - 1), atol=1e-7)


def test_adam_follows_its_formula_for_three_steps():
    Y, mean, square = START, 0.0, 0.0
    for t in (1, 2, 3):
        gradient = Y - 1
        mean = 0.8 * mean + 0.2 * gradient
        square = 0.9 * square + 0.1 * gradient**2
        Y = Y - 0.3 * (mean / (1 - 0.8**t)) / (np.sqrt(square / (1 - 0.9**t)) + 1e-3)
    result = run(Adam(0.3, beta1=0.8, beta2=0.9, epsilon=1e-3, tol=0), Bowl(), START, max_iter=3)
    assert np.allclose(result.state.Y, Y, rtol=1e-13)


def test_steps_of_adam_fall_evenly_to_a_twentieth():
    far = np.array([[1e6, -1e6]])  # so far from the goal that every step has its full length
    places = [run(Adam(1.0, tol=0, fall=4), Bowl(), far, max_iter=t).state.Y[0, 0] for t in range(1, 7)]
    assert np.allclose(-np.diff([1e6, *places]), [1.0, 0.75, 0.5, 0.25, 0.05, 0.05], atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_of_the_start_is_kept(solver, dtype):
    with pytest.warns(NotConvergedWarning):
        result = run(solver, Quadratic(dtype), START.astype(dtype), max_iter=3)
    assert result.state.Y.dtype == dtype


def test_steps_that_are_too_long_end_as_a_failure():
    with pytest.warns(NotConvergedWarning, match="failed"), np.errstate(over="ignore", invalid="ignore"):
        result = run(GradientDescent(1e3), Quadratic(), START, max_iter=5000)
    assert result.status.word == "failed"
    assert result.state.iteration == 0
    assert np.array_equal(result.state.Y, START)


def test_without_a_tolerance_the_length_is_fixed_and_no_warning_is_due():
    assert run(Adam(0.1, tol=0), Bowl(), np.ones((3, 2)), max_iter=2).n_iter == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GradientDescent(0), "step_size"),
        (lambda: GradientDescent(float("nan")), "step_size"),
        (lambda: GradientDescent(1, momentum=1), "momentum"),
        (lambda: GradientDescent(1, tol=-1), "tol"),
        (lambda: Adam(float("inf")), "step_size"),
        (lambda: Adam(1, beta1=1.0), "beta1"),
        (lambda: Adam(1, beta2=-0.1), "beta2"),
        (lambda: Adam(1, epsilon=0), "epsilon"),
        (lambda: Adam(1, tol=float("nan")), "tol"),
        (lambda: Adam(1, fall=0), "fall"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()
