"""From a problem of forces and a start to an Embedding: the schedule that suits each objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...embedding import Embedding
from ...errors import InvalidParameterError
from ...random import Stream
from ...solvers import run
from ...solvers.gains import DeltaBarDelta
from ...solvers.gradient import Adam, Exaggeration, GradientDescent
from ...typing import FloatArray
from .objective import Objective
from .pca import ExactDescent, PcaProblem
from .problem import ForceProblem

SOLVERS = ("auto", "gains", "adam", "momentum")


@dataclass(frozen=True)
class Schedule:
    """How a run goes: solver, iterations, step size, early exaggeration, and the spread of the start."""

    solver: str
    max_iter: int
    # On a quarter of the gradient, times n for losses that are normalized; Adam's is its first step.
    learning_rate: float
    exaggeration: float
    exaggeration_iter: int
    start_spread: float  # standard deviation of the first coordinate
    tol: float


SCHEDULES = {
    "pca": Schedule("exact", 500, 1.0, 1.0, 0, 1.0, 1e-6),
    "two_kernel_pca": Schedule("adam", 300, 0.1, 1.0, 0, 1.0, 0.0),
    "lle": Schedule("gains", 500, 0.4, 8.0, 150, 1.0, 0.0),
    "tsne": Schedule("gains", 750, 1.0, 12.0, 250, 1e-4, 0.0),
    "umap": Schedule("adam", 300, 1.0, 4.0, 90, 4.0, 0.0),
}


def schedule(
    objective: Objective,
    *,
    solver: str = "auto",
    max_iter: int | None = None,
    learning_rate: float | None = None,
    exaggeration: float | None = None,
    exaggeration_iter: int | None = None,
    tol: float | None = None,
) -> Schedule:
    """The schedule of an objective, with what is given in place of what suits it."""
    if solver not in SOLVERS:
        raise InvalidParameterError(f"solver must be one of {', '.join(map(repr, SOLVERS))}; got {solver!r}.")
    plan = SCHEDULES[objective.name]
    if solver != "auto" and objective.name != "pca" and solver != plan.solver:
        rate = {"adam": 0.1, "gains": 0.4, "momentum": 0.1}[solver]
        plan = replace(plan, solver=solver, learning_rate=rate, exaggeration=1.0, exaggeration_iter=0)
    given: dict[str, Any] = {
        "max_iter": max_iter,
        "learning_rate": learning_rate,
        "exaggeration": exaggeration,
        "exaggeration_iter": exaggeration_iter,
        "tol": tol,
    }
    plan = replace(plan, **{name: value for name, value in given.items() if value is not None})
    if exaggeration_iter is None:  # a short run must not end in the exaggerated phase
        plan = replace(plan, exaggeration_iter=min(plan.exaggeration_iter, plan.max_iter // 3))
    if not (plan.learning_rate > 0 and np.isfinite(plan.learning_rate)):
        raise InvalidParameterError(f"learning_rate must be None or positive; got {learning_rate!r}.")
    if plan.exaggeration != 1 and plan.solver not in ("gains", "adam"):
        raise InvalidParameterError('exaggeration goes with solver="gains" and solver="adam".')
    return plan


def make_solver(plan: Schedule, problem: ForceProblem | PcaProblem, n: int) -> Any:
    """The solver of a schedule for a problem of n rows."""
    if plan.solver == "exact":
        return ExactDescent(tol=plan.tol)
    early = Exaggeration(plan.exaggeration, plan.exaggeration_iter)
    if plan.solver == "adam":
        return Adam(plan.learning_rate, tol=plan.tol, fall=plan.max_iter or None, early=early)
    # Rates are told for gradients without their factor 4, and where the weights of a row sum to about one.
    rows = n if isinstance(problem, ForceProblem) and problem.normalized else 1
    step = plan.learning_rate * rows / 4
    if plan.solver == "momentum":
        return GradientDescent(step, momentum=0.8, tol=plan.tol)
    return DeltaBarDelta(step, early=early, tol=plan.tol)


def scaled_start(Y: FloatArray, spread: float, seed: int) -> FloatArray:
    """Y centred, with its widest coordinate's standard deviation `spread`, and rows in one place moved apart a little."""
    centred = np.asarray(Y, dtype=np.float64) - np.mean(Y, axis=0, dtype=np.float64)
    widest = float(centred.std(axis=0).max())
    centred = centred * (spread / widest) if widest > 0 else centred
    noise = Stream.named(seed, "apart").normal(centred.shape)
    return np.asarray(centred + (1e-4 if widest > 0 else 1.0) * spread * noise)


def solve_forces(
    problem: ForceProblem | PcaProblem,
    Y0: FloatArray,
    objective: Objective,
    plan: Schedule,
    *,
    seed: int,
    verbose: bool | int = False,
    callbacks: Sequence[object] = (),
    keep_frames: int = 0,
) -> Embedding:
    """The map that the schedule finds from Y0."""
    solver = make_solver(plan, problem, len(Y0))
    found = run(
        solver,
        problem,
        Y0,
        max_iter=plan.max_iter,
        callbacks=callbacks,
        verbose=verbose,
        keep_frames=keep_frames,
    )
    settings = {
        "method": "AttractRepel",
        "objective": objective.name,
        "kernel_x": objective.x_kernel,
        "kernel_y": objective.y_kernel,
        "pairs": problem.how if isinstance(problem, ForceProblem) else "exact",
        "solver": solver.name,
        "max_iter": int(plan.max_iter),
        "learning_rate": float(plan.learning_rate),
        "exaggeration": float(plan.exaggeration),
    }
    state = found.state
    return Embedding(
        Y=state.Y.astype(Y0.dtype, copy=False),
        objective=state.objective,
        residual=state.residual,
        history=found.history,
        status=found.status,
        seed=seed,
        settings=settings,
        frames=found.frames,
    )
