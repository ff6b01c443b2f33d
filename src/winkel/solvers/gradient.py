"""Gradient descent with momentum, and Adam: for any problem that gives its value and gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..checks import number, optional, positive
from ..embedding import Status
from ..typing import FloatArray
from .base import SolverState

_LEAST_STEP = 0.05  # share of the step that is left when it has fallen


class Differentiable(Protocol):
    """What these solvers need of a problem.

    A problem may also have a `constraint` with `project(Y)`, applied after every step, and
    `project_tangent(Y, direction)`, applied to every gradient; without one, Y moves freely.
    """

    def gradient(self, Y: FloatArray, /) -> tuple[float, FloatArray]:
        """The value at Y and its gradient."""


class Exaggerable(Differentiable, Protocol):
    """A problem whose attractions can be made stronger for a while, and which may sample pairs anew every round."""

    def exaggerated(self, factor: float, /) -> Exaggerable:
        """The problem with attractions `factor` times as strong."""

    def at_round(self, number: int, /) -> Exaggerable:
        """The problem with the pairs of that round."""


@dataclass(frozen=True)
class Exaggeration:
    """Attractions that are `factor` times stronger in the first `iterations`. Their objectives, in phase 0, are not compared with
    later ones. A problem without attractions is used as it is."""

    factor: float = 1.0
    iterations: int = 0

    def __post_init__(self) -> None:
        positive("exaggeration", self.factor)

    def evaluate(self, problem: Any, Y: FloatArray, t: int) -> tuple[int, float, FloatArray]:
        """The phase of iteration t, the value at Y and its gradient along the constraint."""
        early = t < self.iterations
        if hasattr(problem, "exaggerated"):
            problem = problem.exaggerated(self.factor if early else 1.0).at_round(t)
        value, gradient = _evaluate(problem, Y)
        return 0 if early else 1, value, gradient


@dataclass(frozen=True)
class MomentumState(SolverState):
    """The gradient at Y and the velocity of the last step."""

    gradient: FloatArray
    velocity: FloatArray


@dataclass(frozen=True)
class AdamState(SolverState):
    """The gradient at Y and the running means of gradients and of their squares."""

    gradient: FloatArray
    mean: FloatArray
    square: FloatArray


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent with momentum: V ← momentum·V − step_size·∇f(Y), Y ← project(Y + V).

    Parameters
    ----------
    step_size : float
        Length of a step, relative to the gradient.
    momentum : float, default=0.0
        Share of the last step that is added to the next; below 1.
    tol : float, default=1e-5
        The solver has converged when the root mean square of the gradient along the constraint is at most this; 0 makes all iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.solvers import GradientDescent, iterate
    >>> class Bowl:
    ...     def gradient(self, Y):
    ...         return float(np.sum(Y**2)), 2 * Y
    >>> iterate(GradientDescent(0.25), Bowl(), np.ones((3, 2)), max_iter=100).status.word
    'converged'
    """

    step_size: float
    momentum: float = 0.0
    tol: float = 1e-5
    name = "gradient descent"

    def __post_init__(self) -> None:
        positive("step_size", self.step_size)
        number("momentum", self.momentum, 0.0, 1.0, high_open=True)
        number("tol", self.tol, 0.0)

    @property
    def expects_convergence(self) -> bool:
        return self.tol > 0

    def init(self, problem: Differentiable, Y0: FloatArray) -> MomentumState:
        """The projected start, at rest."""
        Y = _project(problem, Y0)
        value, gradient = _evaluate(problem, Y)
        return MomentumState(0, Y, value, root_mean_square(gradient), gradient, np.zeros_like(Y))

    def step(self, problem: Differentiable, state: MomentumState) -> MomentumState:
        """The state one step further downhill."""
        velocity = self.momentum * state.velocity - self.step_size * state.gradient
        Y = _project(problem, state.Y + velocity)
        value, gradient = _evaluate(problem, Y)
        return MomentumState(state.iteration + 1, Y, value, root_mean_square(gradient), gradient, velocity)

    def done(self, state: MomentumState) -> Status | None:
        """Converged when the gradient is small."""
        return small_gradient(state, self.tol)


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma and Ba 2015, algorithm 1): steps of about `step_size` in every coordinate.

    Parameters
    ----------
    step_size : float
        Length of a step in each coordinate.
    beta1 : float, default=0.9
        How long gradients are remembered.
    beta2 : float, default=0.999
        How long their squares are remembered.
    epsilon : float, default=1e-8
        Added to the root of the squares.
    tol : float, default=1e-5
        It has converged when the root mean square of the gradient along the constraint is at most this; 0 makes all iterations.
    fall : int or None, default=None
        Number of iterations over which steps become shorter, evenly, to a twentieth of their length; None keeps the length.
    early : Exaggeration, default=Exaggeration()
        Stronger attractions at first, if the problem has attractions.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.solvers import Adam, iterate
    >>> class Bowl:
    ...     def gradient(self, Y):
    ...         return float(np.sum(Y**2)), 2 * Y
    >>> found = iterate(Adam(0.1, tol=1e-3), Bowl(), np.ones((3, 2)), max_iter=1000)
    >>> found.status.converged
    True
    """

    step_size: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    tol: float = 1e-5
    fall: int | None = None
    early: Exaggeration = field(default_factory=Exaggeration)
    name = "Adam"

    def __post_init__(self) -> None:
        positive("step_size", self.step_size)
        positive("epsilon", self.epsilon)
        optional(positive, "fall", self.fall)
        number("beta1", self.beta1, 0.0, 1.0, high_open=True)
        number("beta2", self.beta2, 0.0, 1.0, high_open=True)
        number("tol", self.tol, 0.0)

    @property
    def expects_convergence(self) -> bool:
        return self.tol > 0

    def init(self, problem: Differentiable, Y0: FloatArray) -> AdamState:
        """The projected start, with running means of zero."""
        Y = _project(problem, Y0)
        phase, value, gradient = self.early.evaluate(problem, Y, 0)
        return AdamState(
            0, Y, value, root_mean_square(gradient), gradient, np.zeros_like(Y), np.zeros_like(Y), phase=phase
        )

    def step(self, problem: Differentiable, state: AdamState) -> AdamState:
        """The state after one step, the running means freed of their bias towards zero."""
        t = state.iteration + 1
        mean = self.beta1 * state.mean + (1.0 - self.beta1) * state.gradient
        square = self.beta2 * state.square + (1.0 - self.beta2) * state.gradient**2
        share = 1.0 if self.fall is None else max(_LEAST_STEP, 1.0 - state.iteration / self.fall)
        size = share * self.step_size / (1.0 - self.beta1**t)
        scale = np.sqrt(square / (1.0 - self.beta2**t)) + self.epsilon
        Y = _project(problem, state.Y - size * mean / scale)
        phase, value, gradient = self.early.evaluate(problem, Y, t)
        return AdamState(t, Y, value, root_mean_square(gradient), gradient, mean, square, phase=phase)

    def done(self, state: AdamState) -> Status | None:
        """Converged when the gradient is small, and no longer of exaggerated attractions."""
        return small_gradient(state, self.tol) if state.phase else None


def _project(problem: Any, Y: FloatArray) -> FloatArray:
    constraint = getattr(problem, "constraint", None)
    return Y if constraint is None else np.asarray(constraint.project(Y))


def _evaluate(problem: Any, Y: FloatArray) -> tuple[float, FloatArray]:
    """The value at Y and its gradient along the constraint."""
    value, gradient = problem.gradient(Y)
    constraint = getattr(problem, "constraint", None)
    if constraint is not None:
        gradient = np.asarray(constraint.project_tangent(Y, gradient))
    return float(value), gradient


def root_mean_square(gradient: FloatArray) -> float:
    return math.sqrt(float(np.mean(np.square(gradient, dtype=np.float64)))) if gradient.size else 0.0


def small_gradient(state: SolverState, tol: float) -> Status | None:
    if tol == 0 or not state.residual <= tol:
        return None
    return Status(
        "converged",
        f"The gradient fell to {state.residual:.3g} (root mean square), tol={tol:g}, "
        f"after {state.iteration} iterations.",
    )
