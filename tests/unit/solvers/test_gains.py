"""Gradient descent with gains, on problems whose answer is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from winkel.errors import InvalidParameterError
from winkel.solvers.gains import DeltaBarDelta
from winkel.solvers.gradient import Adam, Exaggeration

from .walk import run


@dataclass(frozen=True)
class Springs:
    """½ e Σ c (y − goal)², attractions e times as strong."""

    goal: np.ndarray
    stiffness: np.ndarray
    factor: float = 1.0
    round: int = 0

    def exaggerated(self, factor):
        return replace(self, factor=factor)

    def at_round(self, number):
        return replace(self, round=number)

    def gradient(self, Y):
        apart = Y - self.goal
        force = self.factor * self.stiffness * apart
        return 0.5 * float(np.sum(force * apart)), force


def springs():
    goal = np.random.Generator(np.random.Philox(key=0)).normal(size=(20, 2))
    return Springs(goal - goal.mean(axis=0), np.array([1.0, 0.05]))


def test_finds_the_rest_and_stays_centred():
    problem = springs()
    found = run(DeltaBarDelta(0.1, tol=1e-8), problem, np.zeros((20, 2)) + 1, max_iter=2000)
    assert found.status.converged
    np.testing.assert_allclose(found.state.Y, problem.goal, atol=1e-6)
    np.testing.assert_allclose(found.state.Y.mean(axis=0), 0, atol=1e-12)


def test_first_steps_by_hand():
    # At rest the signs of velocity (zero, not positive) and of a positive gradient differ: the gain grows to 1.2.
    problem = Springs(np.array([[-1.0], [1.0]]), np.array([1.0]))
    state = DeltaBarDelta(0.5).init(problem, np.zeros((2, 1)))
    np.testing.assert_allclose(state.gradient, [[1.0], [-1.0]])
    state = DeltaBarDelta(0.5).step(problem, state)
    np.testing.assert_allclose(state.gains, [[1.2], [0.8]])
    np.testing.assert_allclose(state.velocity, [[-0.6], [0.4]])
    np.testing.assert_allclose(state.Y, [[-0.5], [0.5]])  # less the mean −0.1


@pytest.mark.parametrize("kind", [DeltaBarDelta, Adam])
def test_exaggeration_ends_and_its_phase_with_it(kind):
    problem = springs()
    solver = kind(0.1, early=Exaggeration(4.0, 5), tol=1e-3)
    state = solver.init(problem, np.ones((20, 2)))
    phases = [state.phase]
    for _ in range(7):
        state = solver.step(problem, state)
        phases.append(state.phase)
        expected = problem.exaggerated(1.0 if state.phase else 4.0).gradient(state.Y)
        np.testing.assert_allclose(state.gradient, expected[1], rtol=1e-12)
    assert phases == [0] * 5 + [1] * 3
    assert solver.done(replace(state, phase=0, residual=0.0)) is None
    assert solver.done(replace(state, residual=0.0)).converged


def test_no_row_moves_further_than_allowed():
    problem = Springs(np.array([[-1000.0, 0], [1000.0, 0]]), np.ones(2))
    solver = DeltaBarDelta(1.0, max_step=5.0)
    state = solver.step(problem, solver.init(problem, np.zeros((2, 2))))
    np.testing.assert_allclose(np.linalg.norm(state.velocity, axis=1), 5)


@pytest.mark.parametrize("change", [{"step_size": 0.0}, {"momentum": 1.0}, {"tol": -1.0}])
def test_wrong_settings_are_told(change):
    with pytest.raises(InvalidParameterError):
        DeltaBarDelta(**{"step_size": 1.0} | change)


def test_an_exaggeration_is_positive():
    with pytest.raises(InvalidParameterError, match="exaggeration"):
        Exaggeration(-1.0)
