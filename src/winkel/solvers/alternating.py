"""Alternating minimisation over two blocks of variables, each of which is found exactly for the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from ..checks import number
from ..embedding import Status
from ..typing import FloatArray
from .base import SolverState


class TwoBlocks(Protocol):
    """What the solver needs of a problem in Y and one other block."""

    def best_other(self, Y: FloatArray, start: Any, /) -> tuple[Any, float]:
        """The best other block for Y, searched from `start` (or None), and the objective of both."""

    def best_first(self, other: Any, Y: FloatArray, /) -> FloatArray:
        """The best first block for `other`, searched from Y; never worse than Y."""


@dataclass(frozen=True)
class AlternatingState(SolverState):
    """Both blocks; `other` was found for Y. The residual is the relative decrease of the objective in the last step."""

    other: Any


@dataclass(frozen=True)
class Alternating:
    """Y ← best for the other block, then the other block ← best for Y: the objective never rises.

    It has converged when a step lowers the objective by at most `tol` times its value; `tol=0` runs to `max_iter`.
    """

    tol: float = 1e-4
    name: str = "alternating minimisation"

    def __post_init__(self) -> None:
        number("tol", self.tol, 0.0)

    @property
    def expects_convergence(self) -> bool:
        return self.tol > 0

    def init(self, problem: TwoBlocks, Y0: FloatArray) -> AlternatingState:
        """The start and the block that is best for it."""
        other, objective = problem.best_other(Y0, None)
        return AlternatingState(0, Y0, objective, math.nan, other)

    def step(self, problem: TwoBlocks, state: AlternatingState) -> AlternatingState:
        """Each block once."""
        Y = problem.best_first(state.other, state.Y)
        other, objective = problem.best_other(Y, state.other)
        fell = state.objective - objective
        residual = fell / abs(objective) if objective else float(fell > 0)
        return AlternatingState(state.iteration + 1, Y, objective, residual, other)

    def done(self, state: AlternatingState) -> Status | None:
        """Converged when a step changed little."""
        if self.tol == 0 or not state.residual <= self.tol:
            return None
        return Status(
            "converged",
            f"A step lowered the objective by {state.residual:.3g} of itself, tol={self.tol:g}, "
            f"after {state.iteration} iterations.",
        )
