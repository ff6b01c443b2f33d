"""From a problem and a start to an Embedding: the choice of the solver, its input, and the loop.

Problem ──> choose ──> _Task (solver, what it works on, start) ──> solvers.iterate ──> Embedding
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import choice, integer, number, optional, positive
from ..embedding import Embedding
from ..errors import InvalidParameterError, NotConvergedWarning
from ..run import Run, Stream
from ..solvers import History, Outcome, digest, iterate
from ..solvers.lbfgs import LBFGS, ConstrainedProblem, Continuation, widest_move
from ..typing import FloatArray
from .problem import Problem
from .stream_problem import StreamProblem

SOLVERS = ("auto", "lbfgs", "stochastic", "linear", "eigen")

# Points of a pair that lie closer than the distortion's floor exert no force worth the name; an init is
# freed of such pairs by moving their points this part of its spread.
APART = 1e-4

# A map whose objective fell by less than this part in the last tenth of the iterations looks as it will look.
SETTLED = 0.01


@dataclass(frozen=True, kw_only=True)
class SolverSettings:
    """Which solver to use, and when it stops; `Problem.solve` documents each setting.

    A run that reaches its largest number of iterations gives a warning; with `expects_convergence=False`, only if the objective
    was still falling.
    """

    solver: str = "auto"
    batch_size: int | None = None
    trust: float | None = None
    max_iter: int = 300
    tol: float = 1e-5
    memory_size: int = 10
    expects_convergence: bool = True

    def __post_init__(self) -> None:
        choice("solver", self.solver, SOLVERS)
        optional(integer, "batch_size", self.batch_size, 1)
        optional(positive, "trust", self.trust)
        integer("max_iter", self.max_iter, 0)
        number("tol", self.tol, 0.0)
        integer("memory_size", self.memory_size, 1)


@dataclass(frozen=True)
class Stage:
    """An intermediate problem: its share of the background, its share of the iterations, and how much its map is stretched at the end.

    `beside` is a problem that is added to it, multiplied by `weight`; its map is `rearranged` before it is stretched.
    """

    share: float
    iterations: float
    stretch: float
    weight: float = 0.0
    beside: Problem | None = None
    rearranged: Callable[[FloatArray], FloatArray] | None = None

    def of(self, problem: Problem) -> ConstrainedProblem:
        """The problem that is solved at this stage, on the way to `problem`."""
        weaker = problem.with_background(self.share)
        return weaker if self.beside is None else _Joined(weaker, self.beside, self.weight)


@dataclass(frozen=True)
class _Joined:
    """A problem, and `weight` times another one of the same items."""

    problem: Problem
    other: Problem
    weight: float

    @property
    def n_threads(self) -> int:
        """The number of threads for work on whole embeddings."""
        return self.problem.n_threads

    def evaluate(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """Both values and gradients, summed."""
        value, gradient = self.problem.evaluate(Y)
        more, slope = self.other.evaluate(Y)
        gradient += Y.dtype.type(self.weight) * slope
        return value + self.weight * more, gradient

    def project(self, Y: FloatArray) -> FloatArray:
        """The allowed embedding nearest to Y."""
        return self.problem.project(Y)

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """The allowed direction nearest to G."""
        return self.problem.project_tangent(Y, G)


@dataclass(frozen=True)
class _Task:
    """The input of the loop, its description in the settings of the result, and the Problem that identifies its checkpoint."""

    solver: Any
    problem: Any
    Y0: FloatArray
    settings: dict[str, Any]
    identified_by: Problem


def solve(
    problem: Problem | StreamProblem,
    start: ArrayLike | None,
    settings: SolverSettings,
    run: Run,
    stages: Sequence[Stage] = (),
) -> Embedding:
    """The embedding found from `start`, or from a random start. The `stages` are solved before the problem itself."""
    problem = problem.with_jobs(run.n_jobs)
    task = _task(problem, start, settings, run.seed)
    if stages:
        task = _staged(task, stages, settings.max_iter)
    fingerprint = None if run.checkpoint is None else _fingerprint(task.identified_by, task.Y0)
    outcome = iterate(
        task.solver, task.problem, task.Y0, run, max_iter=settings.max_iter, fingerprint=fingerprint
    )
    if not settings.expects_convergence:
        _warn_if_still_falling(outcome)
    state = outcome.state
    objective, residual = state.objective, state.residual
    if isinstance(task.problem, StreamProblem):
        # A round knows its batch; a result is judged by all pairs.
        objective, residual = task.problem.measure(state.Y, task.solver.batch_size)
    return Embedding(
        Y=state.Y,
        objective=objective,
        residual=residual,
        history=outcome.history,
        status=outcome.status,
        seed=run.seed,
        settings={
            "method": "MDE",
            "solver": task.solver.name,
            "n_components": problem.n_components,
            "n_pairs": problem.n_pairs,
            "constraint": type(problem.constraint).__name__,
            "init": "random" if start is None else "given",
            "max_iter": int(settings.max_iter),
            **task.settings,
        },
        frames=outcome.frames,
    )


def choose(problem: Problem | StreamProblem, settings: SolverSettings) -> str:
    """The solver that `settings` name, checked to suit the problem; "auto" chooses one that does."""
    asked = settings.solver
    chosen = _suitable(problem) if asked == "auto" else asked
    if settings.batch_size is not None and chosen != "stochastic":
        raise InvalidParameterError(
            f'batch_size={settings.batch_size} is for solver="stochastic"; the solver here is {chosen!r}.'
        )
    if settings.trust is not None and chosen != "stochastic":
        raise InvalidParameterError(
            f'trust={settings.trust:g} is for solver="stochastic"; the solver here is {chosen!r}.'
        )
    if isinstance(problem, StreamProblem):
        if chosen != "stochastic":
            raise InvalidParameterError(
                f'Pairs that come in a stream are for solver="stochastic" or "auto"; got {asked!r}.'
            )
    elif chosen != "lbfgs" and problem.background is not None:
        raise InvalidParameterError(
            f'A background over all pairs is for solver="lbfgs" or "auto"; got {asked!r}.'
        )
    return chosen


def _suitable(problem: Problem | StreamProblem) -> str:
    if isinstance(problem, StreamProblem):
        return "stochastic"
    if problem.background is not None:
        return "lbfgs"
    from .exact import has_eigenvectors, is_linear  # scipy's sparse solvers: most need them not

    if is_linear(problem):
        return "linear"
    return "eigen" if has_eigenvectors(problem) else "lbfgs"


def still_falling(history: History) -> bool:
    """Whether the objective fell noticeably in the last tenth of the iterations."""
    objective = history.objective
    first, last = float(objective[0]), float(objective[-1])
    before = float(objective[-1 - min(len(objective) - 1, max(1, len(objective) // 10))])
    # A part of the whole fall is allowed for too, since an objective may end near zero; stages may also raise it.
    return before - last > SETTLED * (abs(last) + 0.1 * max(first - last, 0.0))


def starting_point(problem: Problem, start: ArrayLike | None, seed: int) -> FloatArray:
    """An allowed starting embedding in which no pair coincides: a random one, or the one nearest to `start`."""
    if start is None:
        return problem.constraint.initialize(*problem.shape, seed).astype(np.float32)
    Y = problem.project(problem.check_embedding(start))
    together = problem.distances(Y) < problem.distortion.floor
    if together.any():
        items = np.unique(problem.edges[together])
        spread = float(np.sqrt(np.mean(np.square(Y - Y.mean(axis=0), dtype=np.float64))))
        noise = Stream.named(seed, "apart").normal((len(items), problem.n_components))
        moved = np.array(Y)
        moved[items] += (APART * (spread if spread > 0 else 1.0) * noise).astype(Y.dtype)
        Y = problem.project(moved)
    return np.ascontiguousarray(Y)


def _task(problem: Any, start: ArrayLike | None, settings: SolverSettings, seed: int) -> _Task:
    chosen = choose(problem, settings)
    if chosen == "stochastic":
        return _stochastic(problem, start, settings, seed)
    if chosen == "linear":
        return _linear(problem)
    if chosen == "eigen":
        return _eigen(problem, seed)
    return _lbfgs(problem, start, settings, seed)


def _lbfgs(problem: Problem, start: ArrayLike | None, settings: SolverSettings, seed: int) -> _Task:
    solver = LBFGS(
        memory_size=settings.memory_size,
        tol=settings.tol,
        expects_convergence=settings.expects_convergence,
    )
    return _Task(
        solver, problem, starting_point(problem, start, seed), _described(problem, settings), problem
    )


def _staged(task: _Task, stages: Sequence[Stage], max_iter: int) -> _Task:
    """The task with preceding problems that have another share of the background, in each of which rows only take small steps."""
    if not isinstance(task.solver, LBFGS):
        raise InvalidParameterError(f'Stages are for solver="lbfgs"; the solver here is {task.solver.name}.')
    problems = [stage.of(task.problem) for stage in stages]
    iterations = tuple(round(stage.iterations * max_iter) for stage in stages)
    careful = replace(task.solver, max_move=widest_move(task.problem.n_items))
    stretches, rearranged = (stage.stretch for stage in stages), (stage.rearranged for stage in stages)
    solver = Continuation(careful, iterations, tuple(stretches), tuple(rearranged))
    return replace(task, solver=solver, problem=[*problems, task.problem])


def _linear(problem: Problem) -> _Task:
    from .exact import AnchoredSystem, linear_solver

    system = AnchoredSystem(problem)
    return _Task(linear_solver(system), system, system.start, _described(problem), problem)


def _eigen(problem: Problem, seed: int) -> _Task:
    from ..solvers.eigen import ExactQuadratic
    from .exact import has_eigenvectors, quadratic_weights

    weights = quadratic_weights(problem)
    if weights is None or not has_eigenvectors(problem):
        raise InvalidParameterError(
            'solver="eigen" is for quadratic penalties under Standardized() without pulls; use "auto" or "lbfgs".'
        )
    Y0 = problem.constraint.initialize(*problem.shape, seed)
    return _Task(ExactQuadratic(weights), problem, Y0, _described(problem), problem)


def _stochastic(
    problem: Problem | StreamProblem, start: ArrayLike | None, settings: SolverSettings, seed: int
) -> _Task:
    from ..solvers.stochastic import TRUST, StochasticProximal

    whole = problem if isinstance(problem, StreamProblem) else StreamProblem.of(problem)
    size = whole.default_batch_size if settings.batch_size is None else settings.batch_size
    solver = StochasticProximal(
        batch_size=size,
        seed=seed,
        memory_size=settings.memory_size,
        tol=settings.tol,
        trust=TRUST if settings.trust is None else settings.trust,
    )
    first = whole.batch(0, size, seed)
    described = {**_described(first, settings), "batch_size": int(size), "trust": solver.trust}
    return _Task(solver, whole, starting_point(first, start, seed), described, first)


def _described(problem: Problem, settings: SolverSettings | None = None) -> dict[str, Any]:
    """The description of the problem and, if there was a choice, of the solver, in the settings of a result."""
    described: dict[str, Any] = {"distortion": type(problem.distortion).__name__}
    if settings is not None:
        described |= {"tol": float(settings.tol), "memory_size": int(settings.memory_size)}
    return described


def _fingerprint(problem: Problem, Y0: FloatArray) -> dict[str, object]:
    """The gradient at the start, which distinguishes problems by everything that matters: pairs, distortion and pulls."""
    return {"pairs": digest(problem.edges), "gradient": digest(problem.evaluate(Y0)[1])}


def _warn_if_still_falling(outcome: Outcome[Any]) -> None:
    if outcome.status.word == "max_iter" and still_falling(outcome.history):
        warnings.warn(
            f"{outcome.status.sentence} The objective was still falling: a larger max_iter gives a better map.",
            NotConvergedWarning,
            stacklevel=4,
        )
