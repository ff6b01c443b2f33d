"""Positive definite linear systems: in one step by a factorisation, or by conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..embedding import Status
from ..typing import FloatArray
from .base import SolverState

Matrix = NDArray[np.float64]

ACCURACY = 1e-10  # remainder in proportion to that of the start
SWEEP = 20  # products with the matrix in one iteration of the loop


class LinearSystem(Protocol):
    """The system for conjugate gradients: positive definite, matrix · Y[free] = right, for all coordinates together."""

    n_pairs: int
    free: Any
    right: Matrix

    @property
    def matrix(self) -> Any:
        """The matrix that multiplies the free rows from the left."""

    @property
    def scale(self) -> Matrix:
        """The square of the remainder that counts as one, for each coordinate."""

    @property
    def precondition(self) -> Callable[[Matrix], Matrix]:
        """An approximate inverse of the matrix."""

    def whole(self, free: FloatArray, /) -> Matrix:
        """The embedding with the free rows placed."""

    def value(self, Y: Matrix, /) -> float:
        """The objective."""


class FactorisableSystem(LinearSystem, Protocol):
    """A linear system that can also be solved at once."""

    def factorised(self) -> Matrix:
        """The free rows that solve the system."""


@dataclass(frozen=True)
class Factorisation:
    """One step, to the solution, by a sparse factorisation."""

    name = "sparse factorisation"

    def init(self, system: FactorisableSystem, Y0: FloatArray) -> SolverState:
        """The start, with the norm of its projected gradient."""
        Y = np.array(Y0, dtype=np.float64)
        return SolverState(0, Y, system.value(Y), _residual(system, Y[system.free]))

    def step(self, system: FactorisableSystem, state: SolverState) -> SolverState:
        """The solution."""
        free = system.factorised()
        Y = system.whole(free)
        return SolverState(state.iteration + 1, Y, system.value(Y), _residual(system, free))

    def done(self, state: SolverState) -> Status | None:
        """Converged after the step."""
        if state.iteration == 0:
            return None
        return Status(
            "converged",
            f"The linear system was solved by factorisation; the norm of the projected gradient is {state.residual:.3g}.",
        )


@dataclass(frozen=True)
class CGState(SolverState):
    """Conjugate gradients for each coordinate: remainder r, direction p, ⟨r, M⁻¹r⟩, and ‖r‖ of the worst in proportion to the start's."""

    remainder: Matrix
    direction: Matrix
    energy: Matrix
    accuracy: float


@dataclass(frozen=True)
class ConjugateGradients:
    """Preconditioned conjugate gradients on all coordinates together, to a relative residual of `accuracy`, with `sweep` products per iteration."""

    accuracy: float = ACCURACY
    sweep: int = SWEEP
    name = "conjugate gradients"

    def init(self, system: LinearSystem, Y0: FloatArray) -> CGState:
        """The start, with the remainder of the system there."""
        Y = np.array(Y0, dtype=np.float64)
        remainder = system.right - system.matrix @ Y[system.free]
        nothing = np.zeros_like(remainder)
        return CGState(
            0,
            Y,
            system.value(Y),
            _scaled(system, remainder),
            remainder,
            nothing,
            np.zeros(Y.shape[1]),
            _relative(system, remainder),
        )

    def step(self, system: LinearSystem, state: CGState) -> CGState:
        """The state after a few products with the matrix."""
        X, R, P, old = np.array(state.Y[system.free]), state.remainder, state.direction, state.energy
        for _ in range(self.sweep):
            Z = system.precondition(R)
            new = np.sum(R * Z, axis=0)
            P = Z + _ratio(new, old) * P
            AP = system.matrix @ P
            length = _ratio(new, np.sum(P * AP, axis=0))
            X, R, old = X + length * P, R - length * AP, new
            if _relative(system, R) <= self.accuracy:
                # The remainder is updated, not computed; what is reported is the true one.
                R = system.right - system.matrix @ X
                break
        Y = system.whole(X)
        return replace(
            state,
            iteration=state.iteration + 1,
            Y=Y,
            objective=system.value(Y),
            residual=_scaled(system, R),
            remainder=R,
            direction=P,
            energy=old,
            accuracy=_relative(system, R),
        )

    def done(self, state: CGState) -> Status | None:
        """Converged when the remainder of every coordinate is small compared with that of the start."""
        if not state.accuracy <= 2 * self.accuracy:  # twice, for the rounding between the two remainders
            return None
        return Status(
            "converged",
            f"The linear system was solved to a relative residual of {state.accuracy:.2g}; the norm of the projected "
            f"gradient is {state.residual:.3g}.",
        )


def _residual(system: LinearSystem, free: FloatArray) -> float:
    return _scaled(system, system.right - system.matrix @ free)


def _scaled(system: LinearSystem, remainder: Matrix) -> float:
    """Norm of the projected gradient of the average distortion."""
    return 2 * math.sqrt(float(np.sum(remainder * remainder))) / system.n_pairs


def _relative(system: LinearSystem, remainder: Matrix) -> float:
    size = np.sum(remainder * remainder, axis=0)
    return float(np.sqrt(np.max(_ratio(size, system.scale))))


def _ratio(top: Matrix, bottom: Matrix) -> Matrix:
    """top / bottom, and 0 where bottom is 0: there the start was already exact, or nothing is left to do."""
    return np.asarray(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0))
