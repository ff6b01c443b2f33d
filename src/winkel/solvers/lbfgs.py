"""Projected L-BFGS (Agrawal et al. 2021, algorithm 1): quasi-Newton steps along projected gradients, then a projection.

`strong_wolfe` finds the length of a step (Nocedal and Wright 2006, algorithms 3.5 and 3.6), and `Continuation` leads from an
easy problem to the actual one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..algebra import dot, norm
from ..checks import integer, number, optional, positive
from ..embedding import Status
from ..typing import FloatArray
from .base import SolverState

PointT = TypeVar("PointT")

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9
LARGEST_GROWTH = 10.0


@dataclass(frozen=True)
class Trial(Generic[PointT]):
    """What was found at step length t: the value and slope along the search direction, and the point itself."""

    t: float
    value: float
    slope: float
    point: PointT


def strong_wolfe(
    evaluate: Callable[[float], Trial[PointT]],
    start: Trial[PointT],
    first: float,
    *,
    slack: float = 0.0,
    max_evaluations: int = 25,
) -> Trial[PointT] | None:
    """A trial with value ≤ start + c₁·t·slope₀ + slack and |slope| ≤ c₂·|slope₀|; if there is none, the lowest trial that satisfies
    the first condition; None if none is below the start.

    `first` is the first step length. `slack` is how much two values may differ by rounding alone:
    close to a minimum it lets the slopes decide, which stay accurate when differences of values do not. A
    trial that is not finite counts as too long.
    """
    search = _Search(evaluate, start, slack, max_evaluations)
    before, t = start, first
    while search.left > 0:
        trial = search.at(t)
        if not search.is_low(trial) or (before.t > 0 and trial.value > before.value + slack):
            return search.zoom(before, trial)
        if search.is_flat(trial):
            return trial
        if trial.slope >= 0:
            return search.zoom(trial, before)
        t = _between(_cubic_minimum(before, trial), 2.0 * trial.t, LARGEST_GROWTH * trial.t)
        before = trial
    return search.best


class _Search(Generic[PointT]):
    """One search: what it may still spend, and the best low trial so far."""

    def __init__(
        self, evaluate: Callable[[float], Trial[PointT]], start: Trial[PointT], slack: float, evaluations: int
    ) -> None:
        self._evaluate = evaluate
        self._start = start
        self._slack = slack
        self.left = evaluations
        self.best: Trial[PointT] | None = None

    def at(self, t: float) -> Trial[PointT]:
        trial = self._evaluate(t)
        self.left -= 1
        if trial.value < (self._start if self.best is None else self.best).value and self.is_low(trial):
            self.best = trial
        return trial

    def is_low(self, trial: Trial[PointT]) -> bool:
        """The first condition."""
        bound = self._start.value + SUFFICIENT_DECREASE * trial.t * self._start.slope + self._slack
        return math.isfinite(trial.slope) and trial.value <= bound

    def is_flat(self, trial: Trial[PointT]) -> bool:
        """The second condition."""
        return abs(trial.slope) <= CURVATURE * abs(self._start.slope)

    def zoom(self, low: Trial[PointT], high: Trial[PointT]) -> Trial[PointT] | None:
        """An acceptable trial from an interval that contains one; `low` is the end with the lower value, and slopes into the interval."""
        while self.left > 0 and abs(high.t - low.t) > 1e-10 * max(high.t, low.t):
            width = high.t - low.t
            ends = sorted((low.t + 0.1 * width, low.t + 0.9 * width))
            trial = self.at(_between(_cubic_minimum(low, high), *ends))
            if not self.is_low(trial) or trial.value > low.value + self._slack:
                high = trial
                continue
            if self.is_flat(trial):
                return trial
            if trial.slope * (high.t - low.t) >= 0:
                high = low
            low = trial
        return self.best


def _cubic_minimum(a: Trial[PointT], b: Trial[PointT]) -> float:
    """The minimiser of the cubic with the values and slopes of a and b (equation 3.59), or NaN if there is none."""
    if not (math.isfinite(b.value) and math.isfinite(b.slope)) or a.t == b.t:
        return math.nan
    first = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.t - b.t)
    square = first * first - a.slope * b.slope
    if square < 0:
        return math.nan
    second = math.copysign(math.sqrt(square), b.t - a.t)
    bottom = b.slope - a.slope + 2.0 * second
    return math.nan if bottom == 0 else b.t - (b.t - a.t) * (b.slope + second - first) / bottom


def _between(t: float, low: float, high: float) -> float:
    """t limited to [low, high]; the mean of these if t is not a number."""
    return 0.5 * (low + high) if math.isnan(t) else min(max(t, low), high)


# The first step has no curvature to go by: it moves the points by this part of their spread.
FIRST_MOVE = 0.01

# Values are sums of rounded terms: two values that are relatively closer than this cannot be distinguished.
ROUNDING = {np.dtype(np.float32): 2e-7, np.dtype(np.float64): 1e-13}

# So many iterations without a new lowest objective or residual mean that the precision is used up.
PATIENCE = 30


class ConstrainedProblem(Protocol):
    """What the solver needs of a problem."""

    @property
    def n_threads(self) -> int:
        """The number of threads for work on whole embeddings."""

    def evaluate(self, Y: FloatArray, /) -> tuple[float, FloatArray]:
        """The value at Y and its gradient; values that are not finite are allowed."""

    def project(self, Y: FloatArray, /) -> FloatArray:
        """The allowed embedding nearest to Y."""

    def project_tangent(self, Y: FloatArray, G: FloatArray, /) -> FloatArray:
        """The allowed direction nearest to G."""


@dataclass(frozen=True)
class LBFGSState(SolverState):
    """The projected gradient at Y, the last steps sⱼ and changes of gradient yⱼ (oldest first), and their inner products.

    `products` is the Gram matrix of (s₁, …, s_k, y₁, …, y_k, gradient): with it the recursion for the
    search direction needs no pass over the vectors.
    """

    gradient: FloatArray
    steps: tuple[FloatArray, ...]
    changes: tuple[FloatArray, ...]
    products: NDArray[np.float64]
    evaluations: int
    step_length: float
    lowest: tuple[float, float]  # objective and residual so far
    idle: int = 0  # iterations since one of them fell

    def extras(self) -> Mapping[str, float]:
        return {"evaluations": self.evaluations, "step_length": self.step_length}


@dataclass(frozen=True)
class _Point:
    """An embedding with its projected gradient."""

    Y: FloatArray
    gradient: FloatArray


@dataclass(frozen=True)
class LBFGS:
    """Projected L-BFGS with a modified strong Wolfe line search.

    It has converged when the Frobenius norm of the projected gradient is at most `tol` (equation 5.4). It
    stops earlier if no further improvement is possible, which happens at the limit of the precision of Y.
    `expects_convergence` says whether reaching the largest number of iterations gives a warning. No search direction moves a row further
    than `max_move`, because there may be no force that would bring back a row that is far out.
    """

    memory_size: int = 10
    tol: float = 1e-5
    expects_convergence: bool = True
    max_move: float | None = None
    name = "L-BFGS"

    def __post_init__(self) -> None:
        integer("memory_size", self.memory_size, 1)
        number("tol", self.tol, 0.0)
        optional(positive, "max_move", self.max_move)

    def init(self, problem: ConstrainedProblem, Y0: FloatArray) -> LBFGSState:
        """The projected start, with an empty memory."""
        Y = np.ascontiguousarray(problem.project(Y0))
        value, gradient = _evaluate(problem, Y)
        products = _core.dots([gradient], [gradient], problem.n_threads)
        residual = math.sqrt(products[0, 0])
        return LBFGSState(0, Y, value, residual, gradient, (), (), products, 1, 0.0, (value, residual))

    def step(self, problem: ConstrainedProblem, state: LBFGSState) -> LBFGSState:
        """The state after one search direction and one line search along it."""
        found, evaluations = _search(problem, state, self.max_move)
        if found is None and state.steps:
            # The memory may be what misleads the search: try once more along the gradient itself.
            state = _forget(state)
            found, more = _search(problem, state, self.max_move)
            evaluations += more
        if found is None:
            return replace(
                state, iteration=state.iteration + 1, evaluations=evaluations, step_length=0.0, idle=PATIENCE
            )
        return self._moved(problem, state, found, evaluations)

    def done(self, state: LBFGSState) -> Status | None:
        """Converged when the projected gradient is small, stopped when no lower point was found."""
        if state.residual <= self.tol:
            return Status(
                "converged",
                f"The norm of the projected gradient fell to {state.residual:.3g}, tol={self.tol:g}, "
                f"after {state.iteration} iterations.",
            )
        if state.idle >= PATIENCE:
            return Status(
                "stopped",
                f"No further progress can be made in {state.Y.dtype.name} after {state.iteration} iterations; "
                f"the norm of the projected gradient is {state.residual:.3g}, tol={self.tol:g}. "
                "Start from a float64 init, or accept this tolerance.",
            )
        return None

    def _moved(
        self, problem: ConstrainedProblem, state: LBFGSState, found: Trial[_Point], evaluations: int
    ) -> LBFGSState:
        Y, gradient = found.point.Y, found.point.gradient
        steps, changes = (*state.steps, Y - state.Y), (*state.changes, gradient - state.gradient)
        products = _extended(state.products, steps, changes, gradient, problem.n_threads)
        k = len(steps)
        s_y, y_y, s_s = products[k - 1, 2 * k - 1], products[2 * k - 1, 2 * k - 1], products[k - 1, k - 1]
        drop = 0 if k > self.memory_size else None
        if not s_y > 1e-8 * math.sqrt(y_y * s_s):
            drop = k - 1  # not convex along this step; using it would spoil the positive definite matrix
        if drop is not None:
            keep = [j for j in range(k) if j != drop]
            steps, changes = tuple(steps[j] for j in keep), tuple(changes[j] for j in keep)
            products = products[np.ix_(rows := [*keep, *(k + j for j in keep), 2 * k], rows)]
        residual = math.sqrt(products[-1, -1])
        lowest = (min(state.lowest[0], found.value), min(state.lowest[1], residual))
        return LBFGSState(
            iteration=state.iteration + 1,
            Y=Y,
            objective=found.value,
            residual=residual,
            gradient=gradient,
            steps=steps,
            changes=changes,
            products=products,
            evaluations=evaluations,
            step_length=found.t,
            lowest=lowest,
            idle=0 if lowest != state.lowest else state.idle + 1,
            phase=state.phase,
        )


def direction_coefficients(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of −B⁻¹g (equations 6.1 and 6.2) in terms of (s₁, …, s_k, y₁, …, y_k, g), from their Gram matrix.

    This is the two-loop recursion, carried out on coefficients instead of vectors.
    """
    k = len(products) // 2
    c = np.zeros(2 * k + 1)
    c[-1] = -1.0
    alpha = np.zeros(k)
    for j in reversed(range(k)):
        alpha[j] = dot(products[j], c) / products[j, k + j]
        c[k + j] -= alpha[j]
    if k:
        c *= products[k - 1, 2 * k - 1] / products[2 * k - 1, 2 * k - 1]
    for j in range(k):
        beta = dot(products[k + j], c) / products[j, k + j]
        c[j] += alpha[j] - beta
    return c


def widest_move(n: int, width: float = 1.0) -> float:
    """How far a row of a map may move at once if forces decay with distance, as for the Cauchy penalty: two widths of the penalty.

    For many rows it is a share of the square root of their number, because maps grow with it. A row that moved further out would stay there.
    """
    return max(2.0, n**0.5 / 35) * width


def _search(
    problem: ConstrainedProblem, state: LBFGSState, max_move: float | None
) -> tuple[Trial[_Point] | None, int]:
    """The trial that the line search accepts (None if none), and how many evaluations it took."""
    coefficients = direction_coefficients(state.products)
    slope = dot(state.products[-1], coefficients)
    if not slope < 0:
        return None, 0
    threads, count = problem.n_threads, 0
    direction = _core.combine(coefficients, [*state.steps, *state.changes, state.gradient], threads)
    if state.steps and max_move is not None:  # the first step is short
        direction = _shortened(direction, max_move)
        slope = float(_core.dots([state.gradient], [direction], threads)[0, 0])
        if not slope < 0:
            return None, 0

    def evaluate(t: float) -> Trial[_Point]:
        nonlocal count
        count += 1
        Y = problem.project(_core.combine(np.array([1.0, t]), [state.Y, direction], threads))
        value, gradient = _evaluate(problem, Y)
        return Trial(t, value, float(_core.dots([gradient], [direction], threads)[0, 0]), _Point(Y, gradient))

    start = Trial(0.0, state.objective, slope, _Point(state.Y, state.gradient))
    slack = ROUNDING[state.Y.dtype] * abs(state.objective)
    return strong_wolfe(evaluate, start, _first_length(state), slack=slack), count


def _first_length(state: LBFGSState) -> float:
    if state.steps:
        return 1.0
    spread = norm(state.Y - state.Y.mean(axis=0))
    return FIRST_MOVE * (spread if spread > 0 else math.sqrt(state.Y.size)) / state.residual


def _shortened(direction: FloatArray, most: float) -> FloatArray:
    """Rows that are longer than `most` cut to that length."""
    square = np.square(direction[:, 0])
    for column in direction.T[1:]:  # a sum along rows as short as those of a map is slow
        square += np.square(column)
    if not float(square.max()) > most * most:
        return direction
    long = np.flatnonzero(square > most * most)
    shortened = np.array(direction)
    shortened[long] *= (most / np.sqrt(square[long]))[:, None].astype(direction.dtype)
    return shortened


def _evaluate(problem: ConstrainedProblem, Y: FloatArray) -> tuple[float, FloatArray]:
    value, gradient = problem.evaluate(Y)
    return value, np.ascontiguousarray(problem.project_tangent(Y, gradient))


def _extended(
    products: NDArray[np.float64],
    steps: tuple[FloatArray, ...],
    changes: tuple[FloatArray, ...],
    gradient: FloatArray,
    threads: int,
) -> NDArray[np.float64]:
    """The Gram matrix with the last step and change added and the gradient replaced."""
    k = len(steps)
    vectors = [*steps, *changes, gradient]
    new = [k - 1, 2 * k - 1, 2 * k]
    old = [j for j in range(2 * k + 1) if j not in new]
    out = np.empty((2 * k + 1, 2 * k + 1))
    out[np.ix_(old, old)] = products[:-1, :-1]
    out[new] = _core.dots([vectors[j] for j in new], vectors, threads)
    out[:, new] = out[new].T
    return out


def _forget(state: LBFGSState) -> LBFGSState:
    return replace(state, steps=(), changes=(), products=state.products[-1:, -1:])


@dataclass(frozen=True)
class Continuation:
    """L-BFGS on `problems[phase]`, and then on the next problem after `iterations[phase]` iterations or when the problem is solved.

    The last problem has no such limit, and only it can end the run. The result of a problem is stretched by its factor
    in `stretches` to start the next problem, so that a map that has to grow need not do so in small steps; before that it may be
    `rearranged`.
    """

    inner: LBFGS
    iterations: tuple[int, ...]  # of every problem but the last
    stretches: tuple[float, ...] = ()  # as many; without them nothing is stretched
    rearranged: tuple[Callable[[FloatArray], FloatArray] | None, ...] = ()  # likewise
    name = "L-BFGS"

    @property
    def expects_convergence(self) -> bool:
        """Whether running out of iterations deserves a warning."""
        return self.inner.expects_convergence

    def init(self, problems: Sequence[ConstrainedProblem], Y0: FloatArray) -> LBFGSState:
        """The start of the first problem."""
        return self.inner.init(problems[0], Y0)

    def step(self, problems: Sequence[ConstrainedProblem], state: LBFGSState) -> LBFGSState:
        """One step on the problem of the state's phase, or the first step on the next one."""
        phase = state.phase
        if phase < len(self.iterations) and (
            state.iteration >= sum(self.iterations[: phase + 1]) or self.inner.done(state) is not None
        ):
            start, rearranged = state.Y, self.rearranged[phase] if self.rearranged else None
            if rearranged is not None:
                start = rearranged(start)
            if self.stretches:
                start = start * start.dtype.type(self.stretches[phase])
            fresh = self.inner.init(problems[phase + 1], start)
            evaluations = state.evaluations + fresh.evaluations
            state = replace(fresh, iteration=state.iteration, evaluations=evaluations, phase=phase + 1)
        return self.inner.step(problems[state.phase], state)

    def done(self, state: LBFGSState) -> Status | None:
        """The status of the last problem; None before."""
        return self.inner.done(state) if state.phase == len(self.iterations) else None
