"""The schedule of a fit by forces: solver, iterations, step size, early exaggeration, spread of the start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import choice, integer, number, optional, positive, refuse
from ...embedding import Status
from ...run import Run
from ...solvers.gains import DeltaBarDelta
from ...solvers.gradient import Adam, Exaggeration, GradientDescent
from ...solvers.lbfgs import LBFGS, Continuation, LBFGSState, widest_move
from ...typing import FloatArray
from .force_problem import ForceProblem
from .map_kernels import MapKernel

SOLVERS = ("auto", "lbfgs", "gains", "adam", "momentum")
_RATES = {
    "adam": 0.1,
    "gains": 0.4,
    "momentum": 0.1,
    "lbfgs": 1.0,
}  # of a solver that is not the objective's own
# Of L-BFGS: stages of less and less exaggeration, with their shares of its iterations; a map whose attractions are weaker
# is wider, by about the root, so it is stretched between stages.
_STAGES = (0.45, 0.275, 0.275)
_USUAL_SHARE = 0.4  # of the iterations after those, by Cauchy's kernel where that asked for has heavier tails


@dataclass(frozen=True)
class Schedule:
    """The schedule of a fit. `start_spread` is the standard deviation of the first coordinate of the start; `row_spread` times the
    square root of the number of rows is added to it.

    `learning_rate` is for a quarter of the gradient, times n for losses that are normalized; Adam's is its first step, and
    L-BFGS has none. `otherwise` is the schedule where pairs are sampled anew every round, which L-BFGS does not go with.
    """

    solver: str
    max_iter: int
    learning_rate: float = 1.0
    exaggeration: float = 1.0
    exaggeration_iter: int = 0
    start_spread: float = 1.0
    tol: float = 0.0
    row_spread: float = 0.0
    otherwise: Schedule | None = None

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
        """The schedule, with the given parameters in place of the objective's defaults."""
        plan = self._with_solver(choice("solver", solver, SOLVERS))
        if plan.solver == "lbfgs" and learning_rate is not None:
            refuse(
                "learning_rate",
                'None with solver="lbfgs"',
                learning_rate,
                'It goes with solver="gains" or "adam".',
            )
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
            plan = replace(plan, exaggeration_iter=plan._early(self))
        return plan

    def _early(self, usual: Schedule) -> int:
        """Exaggerated iterations where none were asked for: of L-BFGS the usual share of all, of others at most a third."""
        if self.solver == "lbfgs" and usual.solver == "lbfgs":
            return round(usual.exaggeration_iter * self.max_iter / usual.max_iter)
        return min(self.exaggeration_iter, self.max_iter // 3)

    def for_pairs(self, how: str) -> Schedule:
        """The schedule for pairs that are summed in this way."""
        if self.solver != "lbfgs" or how != "sampled":
            return self
        if self.otherwise is None:
            refuse("solver", '"auto" or another where pairs are sampled', self.solver)
        return self.otherwise

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
        """Raise if a given parameter would have no effect."""
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
        if self.solver == "lbfgs":
            return self._staged(problem)
        early = Exaggeration(self.exaggeration, self.exaggeration_iter)
        if self.solver == "adam":
            return Adam(self.learning_rate, tol=self.tol, fall=self.max_iter or None, early=early)
        # Rates are for gradients without their factor 4, and where the weights of a row sum to about one.
        step = self.learning_rate * (problem.n if problem.normalized else 1) / 4
        if self.solver == "momentum":
            return GradientDescent(step, momentum=0.8, tol=self.tol)
        return DeltaBarDelta(step, early=early, tol=self.tol)

    def _staged(self, problem: ForceProblem) -> StagedLBFGS:
        furthest = widest_move(problem.n, problem.kernel.width)
        inner = LBFGS(tol=self.tol, expects_convergence=self.tol > 0, max_move=furthest)
        if self.exaggeration == 1 or not self.exaggeration_iter:
            return StagedLBFGS(Continuation(inner, ()), ())
        count = len(_STAGES)
        factors = tuple(self.exaggeration ** (1 - stage / count) for stage in range(count))
        ends = np.round(np.cumsum(_STAGES) * self.exaggeration_iter).astype(int)
        iterations = tuple(int(end) for end in np.diff(ends, prepend=0))
        stretch = float(self.exaggeration ** (0.5 / count))
        stretches = (stretch,) * count
        if (wider := _widening(problem)) > 1:  # a stage of the usual tails without exaggeration
            factors, stretches = (*factors, 1.0), (*stretches, wider)
            iterations = (*iterations, round(_USUAL_SHARE * (self.max_iter - self.exaggeration_iter)))
        return StagedLBFGS(Continuation(inner, iterations, stretches), factors)


@dataclass(frozen=True)
class StagedLBFGS:
    """L-BFGS on a problem whose attractions are multiplied by `factors[0]` at first, then by `factors[1]`, and so on."""

    inner: Continuation
    factors: tuple[float, ...]
    name = "L-BFGS"

    @property
    def expects_convergence(self) -> bool:
        """Whether running out of iterations deserves a warning."""
        return self.inner.expects_convergence

    def init(self, problem: ForceProblem, Y0: FloatArray) -> LBFGSState:
        """The start of the first stage."""
        return self.inner.init(self._stages(problem), Y0)

    def step(self, problem: ForceProblem, state: LBFGSState) -> LBFGSState:
        """One step on the stage of the state, or the first on the next."""
        return self.inner.step(self._stages(problem), state)

    def done(self, state: LBFGSState) -> Status | None:
        """The status of the last stage; None before."""
        return self.inner.done(state)

    def _stages(self, problem: ForceProblem) -> list[ForceProblem]:
        early = problem
        if _widening(problem) > 1:  # heavy tails would drive a map apart before it has taken shape
            early = replace(problem, kernel=MapKernel("cauchy"))
        return [*(early.exaggerated(factor) for factor in self.factors), problem.exaggerated(1.0)]


def scaled_start(Y: FloatArray, spread: float, run: Run) -> FloatArray:
    """Y centred, with its widest coordinate's standard deviation `spread`, and rows in one place moved slightly apart."""
    centred = np.asarray(Y, dtype=np.float64) - np.mean(Y, axis=0, dtype=np.float64)
    widest = float(centred.std(axis=0).max())
    centred = centred * (spread / widest) if widest > 0 else centred
    noise = run.stream("apart").normal(centred.shape)
    return np.asarray(centred + (1e-4 if widest > 0 else 1.0) * spread * noise)


def _widening(problem: ForceProblem) -> float:
    """How many times as wide as by Cauchy's kernel the map is to be; 1 for kernels of one's own."""
    return problem.kernel.widening if isinstance(problem.kernel, MapKernel) else 1.0
