"""Projected L-BFGS (Agrawal et al. 2021, algorithm 1): quasi-Newton steps along projected gradients, then a projection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..checks import integer, number
from ..typing import FloatArray
from .base import SolverState, Status
from .linesearch import Trial, strong_wolfe

# The first step has no curvature to go by: it moves the points by this part of their spread.
FIRST_MOVE = 0.01

# Values are sums of rounded terms: closer than this, relatively, they cannot be told apart.
ROUNDING = {np.dtype(np.float32): 2e-7, np.dtype(np.float64): 1e-13}

# So many iterations without a new lowest objective or residual mean that the precision is used up.
PATIENCE = 30


class ConstrainedProblem(Protocol):
    """What the solver needs of a problem."""

    @property
    def n_threads(self) -> int:
        """The number of threads for work on whole embeddings."""

    def evaluate(self, Y: FloatArray, /) -> tuple[float, FloatArray]:
        """The value at Y and its gradient; not finite values are allowed."""

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
    stops before that when nothing improves any more, which happens at the limit of the precision of Y.
    `expects_convergence` says whether running out of iterations deserves a warning.
    """

    memory_size: int = 10
    tol: float = 1e-5
    expects_convergence: bool = True
    name = "L-BFGS"

    def __post_init__(self) -> None:
        integer("memory_size", self.memory_size, 1)
        number("tol", self.tol, 0.0)

    def init(self, problem: ConstrainedProblem, Y0: FloatArray) -> LBFGSState:
        """The projected start, with an empty memory."""
        Y = np.ascontiguousarray(problem.project(Y0))
        value, gradient = _evaluate(problem, Y)
        products = _core.dots([gradient], [gradient], problem.n_threads)
        residual = math.sqrt(products[0, 0])
        return LBFGSState(0, Y, value, residual, gradient, (), (), products, 1, 0.0, (value, residual))

    def step(self, problem: ConstrainedProblem, state: LBFGSState) -> LBFGSState:
        """The state after one search direction and one line search along it."""
        found, evaluations = _search(problem, state)
        if found is None and state.steps:
            # The memory may be what misleads the search: try once more along the gradient itself.
            state = _forget(state)
            found, more = _search(problem, state)
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
        alpha[j] = products[j] @ c / products[j, k + j]
        c[k + j] -= alpha[j]
    if k:
        c *= products[k - 1, 2 * k - 1] / products[2 * k - 1, 2 * k - 1]
    for j in range(k):
        beta = products[k + j] @ c / products[j, k + j]
        c[j] += alpha[j] - beta
    return c


def _search(problem: ConstrainedProblem, state: LBFGSState) -> tuple[Trial[_Point] | None, int]:
    """The trial that the line search accepts (None if none), and how many evaluations it took."""
    coefficients = direction_coefficients(state.products)
    slope = float(state.products[-1] @ coefficients)
    if not slope < 0:
        return None, 0
    threads, count = problem.n_threads, 0
    direction = _core.combine(coefficients, [*state.steps, *state.changes, state.gradient], threads)

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
    spread = float(np.linalg.norm(state.Y - state.Y.mean(axis=0)))
    return FIRST_MOVE * (spread if spread > 0 else math.sqrt(state.Y.size)) / state.residual


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
