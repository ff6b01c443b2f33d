"""How a run of forces goes: solver, iterations, step size, early exaggeration, spread of the start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import choice, integer, number, optional, positive, refuse
from ...run import Run
from ...solvers.gains import DeltaBarDelta
from ...solvers.gradient import Adam, Exaggeration, GradientDescent
from ...typing import FloatArray
from .force_problem import ForceProblem

SOLVERS = ("auto", "gains", "adam", "momentum")
_RATES = {"adam": 0.1, "gains": 0.4, "momentum": 0.1}  # of a solver that is not the objective's own


@dataclass(frozen=True)
class Schedule:
    """How a run goes. `start_spread` is the standard deviation of the first coordinate of the start.

    `learning_rate` is for a quarter of the gradient, times n for losses that are normalized; Adam's is its first step.
    """

    solver: str
    max_iter: int
    learning_rate: float = 1.0
    exaggeration: float = 1.0
    exaggeration_iter: int = 0
    start_spread: float = 1.0
    tol: float = 0.0

    def changed(
        self,
        *,
        solver: str = "auto",
        learning_rate: float | None = None,
        exaggeration: float | None = None,
        exaggeration_iter: int | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
    ) -> Schedule:
        """The schedule with what was asked for in place of what suits the objective."""
        plan = self._with_solver(choice("solver", solver, SOLVERS))
        asked: dict[str, Any] = {
            "learning_rate": optional(positive, "learning_rate", learning_rate),
            "exaggeration": optional(positive, "exaggeration", exaggeration),
            "exaggeration_iter": optional(integer, "exaggeration_iter", exaggeration_iter, 0),
            "max_iter": optional(integer, "max_iter", max_iter, 0),
            "tol": optional(number, "tol", tol, 0.0),
        }
        plan = replace(plan, **{name: value for name, value in asked.items() if value is not None})
        plan._check_exaggeration(exaggeration, exaggeration_iter)
        if exaggeration_iter is None:  # a short run must not end in the exaggerated phase
            plan = replace(plan, exaggeration_iter=min(plan.exaggeration_iter, plan.max_iter // 3))
        return plan

    def plain(self, max_iter: int | None) -> Schedule:
        """The schedule without exaggeration and without an early end."""
        count = self.max_iter if max_iter is None else max_iter
        return replace(self, max_iter=count, exaggeration=1.0, exaggeration_iter=0, tol=0.0)

    def _with_solver(self, solver: str) -> Schedule:
        if solver in ("auto", self.solver):
            return self
        return replace(
            self, solver=solver, learning_rate=_RATES[solver], exaggeration=1.0, exaggeration_iter=0
        )

    def _check_exaggeration(self, factor: float | None, iterations: int | None) -> None:
        """Raise where what was asked for would do nothing."""
        if self.exaggeration != 1 and self.solver == "momentum":
            refuse("exaggeration", 'None with solver="momentum"', factor)
        if self.exaggeration == 1 and iterations:
            refuse("exaggeration_iter", "None or 0 where exaggeration is 1", iterations)
        if (
            self.exaggeration != 1
            and factor is not None
            and iterations is None
            and not self.exaggeration_iter
        ):
            refuse("exaggeration_iter", "a positive integer with this exaggeration", iterations)

    def make_solver(self, problem: ForceProblem) -> Any:
        """The solver for a problem."""
        early = Exaggeration(self.exaggeration, self.exaggeration_iter)
        if self.solver == "adam":
            return Adam(self.learning_rate, tol=self.tol, fall=self.max_iter or None, early=early)
        # Rates are for gradients without their factor 4, and where the weights of a row sum to about one.
        step = self.learning_rate * (problem.n if problem.normalized else 1) / 4
        if self.solver == "momentum":
            return GradientDescent(step, momentum=0.8, tol=self.tol)
        return DeltaBarDelta(step, early=early, tol=self.tol)


def scaled_start(Y: FloatArray, spread: float, run: Run) -> FloatArray:
    """Y centred, with its widest coordinate's standard deviation `spread`, and rows in one place moved slightly apart."""
    centred = np.asarray(Y, dtype=np.float64) - np.mean(Y, axis=0, dtype=np.float64)
    widest = float(centred.std(axis=0).max())
    centred = centred * (spread / widest) if widest > 0 else centred
    noise = run.stream("apart").normal(centred.shape)
    return np.asarray(centred + (1e-4 if widest > 0 else 1.0) * spread * noise)
