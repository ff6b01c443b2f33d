"""Expectation–maximisation for means and variances, alternating, with momentum on the means (Saul 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..checks import number
from ..embedding import Status
from ..typing import FloatArray
from .base import SolverState

Vector = NDArray[np.float64]


class Latent(Protocol):
    """What EM needs of a model of means Y and variances."""

    @property
    def weight(self) -> Vector:
        """What each variance weighs in a common one."""

    def starting_variance(self, n_components: int, /) -> Vector:
        """Variances to begin with."""

    def evaluate(self, Y: Vector, variance: Vector, /) -> tuple[float, Vector]:
        """The log-likelihood and its derivatives by the means."""

    def move_means(self, Y: Vector, variance: Vector, gradient: Vector, tol: float, /) -> tuple[Vector, int]:
        """Means of higher likelihood, and the work of the linear solver."""

    def move_variances(self, Y: Vector, variance: Vector, /) -> Vector:
        """Variances of higher likelihood."""


@dataclass(frozen=True)
class EMState(SolverState):
    """Y are the means; `objective` is minus the log-likelihood, whose derivatives by the means are `gradient`."""

    variance: Vector
    gradient: Vector
    velocity: Vector  # the last change of Y
    sweeps: int = 0

    def extras(self) -> Mapping[str, float]:
        """The iterations of the linear solver."""
        return {"sweeps": float(self.sweeps)}


@dataclass(frozen=True)
class EM:
    """Alternating EM: new means with fixed variances, then new variances with fixed means.

    `momentum` adds this share of the last change to the new means (supplement, eq 43); without it the likelihood
    never falls. `tied` gives all items one variance. `solver_tol` is the accuracy of the linear system of a step:
    the remaining residual relative to the gradient, which itself decreases as EM converges.
    """

    momentum: float = 0.9
    tied: bool = False
    solver_tol: float = 0.1
    name = "EM"
    expects_convergence = False

    def __post_init__(self) -> None:
        number("momentum", self.momentum, 0.0, 1.0, high_open=True)
        number("solver_tol", self.solver_tol, 0.0, 1.0, high_open=True)

    def init(self, problem: Latent, Y0: FloatArray) -> EMState:
        """The start, at rest."""
        Y = np.asarray(Y0, dtype=np.float64)
        variance = self._shared(problem, problem.starting_variance(Y.shape[1]))
        value, gradient = problem.evaluate(Y, variance)
        return EMState(0, Y, -value, np.nan, variance, gradient, np.zeros_like(Y))

    def step(self, problem: Latent, state: EMState) -> EMState:
        """The state after both updates."""
        before = np.asarray(state.Y, dtype=np.float64)
        Y, sweeps = problem.move_means(before, state.variance, state.gradient, self.solver_tol)
        Y = Y + self.momentum * state.velocity
        variance = self._shared(problem, problem.move_variances(Y, state.variance))
        value, gradient = problem.evaluate(Y, variance)
        change = abs(value + state.objective) / max(abs(value), np.finfo(float).tiny)
        return EMState(state.iteration + 1, Y, -value, change, variance, gradient, Y - before, sweeps)

    def done(self, state: EMState) -> Status | None:
        """Never: EM has no step size, and makes all its iterations."""
        return None

    def _shared(self, problem: Latent, variance: Vector) -> Vector:
        if not self.tied:
            return variance
        weight = problem.weight
        # Sums of a fixed order: NumPy's do not depend on threads.
        mean = float((weight * variance).sum() / weight.sum())
        return np.full_like(variance, mean)
