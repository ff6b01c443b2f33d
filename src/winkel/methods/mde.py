"""Minimum-distortion embedding (Agrawal, Ali and Boyd 2021)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..embedding import Embedding
from ..errors import InvalidParameterError, NotConvergedWarning
from ..problem import Problem, Standardized, StreamProblem
from ..random import Stream
from ..resources import resolve_seed
from ..solvers import digest, run
from ..solvers.base import History
from ..solvers.continuation import Continuation
from ..solvers.lbfgs import LBFGS
from ..typing import FloatArray, RandomState

SOLVERS = ("auto", "lbfgs", "stochastic", "linear", "eigen")

# Points of a pair that lie closer than the distortion's floor exert no force worth the name; an init is
# freed of such pairs by moving their points this part of its spread.
APART = 1e-4

# A map whose objective fell by less than this part in the last tenth of the iterations looks as it will look.
SETTLED = 0.01


@dataclass(frozen=True)
class Stage:
    """A problem on the way: its share of the background and of the iterations, and how far its map is stretched at its end."""

    share: float
    iterations: float
    stretch: float


@dataclass(frozen=True)
class _Task:
    """What the loop is given, and the problem by whose pairs and gradient a checkpoint knows it."""

    solver: Any
    problem: Any
    Y0: FloatArray
    settings: dict[str, Any]
    known_by: Problem


def solve(
    problem: Problem | StreamProblem,
    *,
    init: ArrayLike | None = None,
    solver: str = "auto",
    batch_size: int | None = None,
    max_iter: int = 300,
    tol: float = 1e-5,
    memory: int = 10,
    random_state: RandomState = None,
    verbose: bool | int = False,
    callbacks: Sequence[object] = (),
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    resume: bool = False,
    keep_frames: int = 0,
    strict: bool = True,
    stages: Sequence[Stage] = (),
) -> Embedding:
    """The embedding that `solver`, one of `SOLVERS`, finds for `problem`.

    `stages` are gone through before the problem itself.

    A run that makes all its iterations gives a warning; when not `strict`, only if the objective was still falling.
    """
    seed = resolve_seed(random_state)
    chosen = choose(problem, solver)
    if batch_size is not None and chosen != "stochastic":
        raise InvalidParameterError(
            f'batch_size={batch_size} is for solver="stochastic"; the solver here is {chosen!r}.'
        )
    if chosen != "lbfgs" and isinstance(problem, Problem) and problem.background is not None:
        raise InvalidParameterError(
            f'A background over all pairs is for solver="lbfgs" or "auto"; got {solver!r}.'
        )
    if chosen == "stochastic":
        task = _stochastic(problem, init, batch_size, memory, tol, seed)
    elif isinstance(problem, StreamProblem):
        raise InvalidParameterError(
            f'Pairs that come in a stream are for solver="stochastic" or "auto"; got {solver!r}.'
        )
    elif chosen == "linear":
        task = _linear(problem)
    elif chosen == "eigen":
        task = _eigen(problem, seed)
    else:
        task = _staged(_lbfgs(problem, init, memory, tol, seed, strict), stages, max_iter)
    result = run(
        task.solver,
        task.problem,
        task.Y0,
        max_iter=max_iter,
        time_limit=time_limit,
        callbacks=callbacks,
        verbose=verbose,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
        fingerprint=None if checkpoint is None else _fingerprint(task.known_by, task.Y0),
        keep_frames=keep_frames,
    )
    state = result.state
    objective, residual = state.objective, state.residual
    if chosen == "stochastic":
        # A round knows its batch; a result is judged by all pairs.
        objective, residual = task.problem.measure(state.Y, task.solver.batch_size)
    if not strict and result.status.word == "max_iter" and still_falling(result.history):
        warnings.warn(
            f"{result.status.sentence} The objective was still falling: a larger max_iter gives a better map.",
            NotConvergedWarning,
            stacklevel=3,
        )
    settings = {
        "method": "MDE",
        "solver": task.solver.name,
        "n_components": problem.n_components,
        "n_pairs": problem.n_pairs,
        "constraint": type(problem.constraint).__name__,
        "init": "random" if init is None else "given",
        "max_iter": int(max_iter),
        **task.settings,
    }
    return Embedding(
        Y=state.Y,
        objective=objective,
        residual=residual,
        history=result.history,
        status=result.status,
        seed=seed,
        settings=settings,
        frames=result.frames,
    )


def choose(problem: Problem | StreamProblem, solver: str) -> str:
    """The solver that `solver` stands for, "auto" being what suits the problem."""
    if solver not in SOLVERS:
        raise InvalidParameterError(f"solver must be one of {', '.join(map(repr, SOLVERS))}; got {solver!r}.")
    if solver != "auto":
        return solver
    if isinstance(problem, StreamProblem):
        return "stochastic"
    if problem.background is not None:
        return "lbfgs"
    from ..solvers.linear import is_linear, quadratic_weights  # scipy's sparse solvers: most need them not

    if is_linear(problem):
        return "linear"
    exact = isinstance(problem.constraint, Standardized) and problem.pulls is None
    return "eigen" if exact and quadratic_weights(problem) is not None else "lbfgs"


def still_falling(history: History) -> bool:
    """Whether the objective fell noticeably in the last tenth of the iterations."""
    objective = history.objective
    first, last = float(objective[0]), float(objective[-1])
    before = float(objective[-1 - min(len(objective) - 1, max(1, len(objective) // 10))])
    # A part of the whole fall is allowed for too, since an objective may end near zero; stages may also raise it.
    return before - last > SETTLED * (abs(last) + 0.1 * max(first - last, 0.0))


def start(problem: Problem, init: ArrayLike | None, seed: int) -> FloatArray:
    """An allowed embedding to begin with, in which no pair coincides: a random one, or that nearest to `init`."""
    if init is None:
        return problem.constraint.initialize(*problem.shape, seed).astype(np.float32)
    Y = problem.project(problem.check_embedding(init))
    together = problem.distances(Y) < problem.distortion.floor
    if together.any():
        items = np.unique(problem.edges[together])
        spread = float(np.sqrt(np.mean(np.square(Y - Y.mean(axis=0), dtype=np.float64))))
        noise = Stream.named(seed, "apart").normal((len(items), problem.n_components))
        moved = np.array(Y)
        moved[items] += (APART * (spread if spread > 0 else 1.0) * noise).astype(Y.dtype)
        Y = problem.project(moved)
    return np.ascontiguousarray(Y)


def _lbfgs(
    problem: Problem, init: ArrayLike | None, memory: int, tol: float, seed: int, strict: bool
) -> _Task:
    Y0 = start(problem, init, seed)
    settings = {"distortion": type(problem.distortion).__name__, "tol": float(tol), "memory": int(memory)}
    return _Task(LBFGS(memory=memory, tol=tol, expects_convergence=strict), problem, Y0, settings, problem)


def _staged(task: _Task, stages: Sequence[Stage], max_iter: int) -> _Task:
    """The task led up to by problems with another share of the background."""
    if not stages:
        return task
    problems = [task.problem.with_background(stage.share) for stage in stages]
    iterations = tuple(round(stage.iterations * max_iter) for stage in stages)
    solver = Continuation(task.solver, iterations, tuple(stage.stretch for stage in stages))
    return replace(task, solver=solver, problem=[*problems, task.problem])


def _linear(problem: Problem) -> _Task:
    from ..solvers.linear import AnchoredSystem, linear_solver

    system = AnchoredSystem(problem)
    settings = {"distortion": type(problem.distortion).__name__}
    Y0 = system.start
    return _Task(linear_solver(system), system, Y0, settings, problem)


def _eigen(problem: Problem, seed: int) -> _Task:
    from ..solvers.eigen import ExactQuadratic
    from ..solvers.linear import quadratic_weights

    weights = quadratic_weights(problem)
    if weights is None or not isinstance(problem.constraint, Standardized) or problem.pulls is not None:
        raise InvalidParameterError(
            'solver="eigen" is for quadratic penalties under Standardized() without pulls; use "auto" or "lbfgs".'
        )
    Y0 = problem.constraint.initialize(*problem.shape, seed)
    settings = {"distortion": type(problem.distortion).__name__}
    return _Task(ExactQuadratic(weights), problem, Y0, settings, problem)


def _stochastic(
    problem: Problem | StreamProblem,
    init: ArrayLike | None,
    batch_size: int | None,
    memory: int,
    tol: float,
    seed: int,
) -> _Task:
    from ..solvers.stochastic import StochasticProximal

    whole = problem if isinstance(problem, StreamProblem) else StreamProblem.of(problem)
    size = whole.default_batch_size if batch_size is None else batch_size
    solver = StochasticProximal(batch_size=size, seed=seed, memory=memory, tol=tol)
    first = whole.batch(0, size, seed)
    Y0 = start(first, init, seed)
    settings = {
        "distortion": type(first.distortion).__name__,
        "tol": float(tol),
        "memory": int(memory),
        "batch_size": int(size),
    }
    return _Task(solver, whole, Y0, settings, first)


def _fingerprint(problem: Problem, Y0: FloatArray) -> dict[str, object]:
    """The gradient at the start tells problems apart by all that matters: pairs, distortion and pulls."""
    return {"pairs": digest(problem.edges), "gradient": digest(problem.evaluate(Y0)[1])}
