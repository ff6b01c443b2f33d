"""The stochastic proximal method (Agrawal et al. 2021, algorithm 2), for problems with more pairs than fit in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .. import _core
from ..checks import integer, positive
from ..embedding import Status
from ..run import Stream
from ..typing import FloatArray
from .base import SolverState
from .lbfgs import LBFGS, ConstrainedProblem, LBFGSState
from .trace import Matrix, hutch_plus_plus

# Second derivatives are differences of gradients over this part of the embedding's spread: small against the
# distances that matter, and large enough to average over the kinks of a distortion that has them.
DIFFERENCE = 1e-4

# A trace below this part of the Frobenius norm says that curvatures cancel, not that there are none.
CANCELLED = 1e-3


TRUST = 30.0  # λ; see StochasticProximal


class BatchedProblem(Protocol):
    """What the solver needs of a problem."""

    @property
    def n_threads(self) -> int:
        """The number of threads for work on whole embeddings."""

    def n_batches(self, size: int, /) -> int:
        """The number of batches in one pass over the pairs."""

    def batch(self, t: int, size: int, seed: int, /) -> ConstrainedProblem:
        """The problem of batch t, a pure function of its arguments."""

    def measure(self, Y: FloatArray, size: int, seed: int, epoch: int, /) -> tuple[float, float]:
        """Average distortion and residual over all pairs."""

    def project(self, Y: FloatArray, /) -> FloatArray:
        """The allowed embedding nearest to Y."""


@dataclass(frozen=True)
class StochasticState(SolverState):
    """The embedding after a round. `objective` is that of the round's batch, so it cannot be compared with other rounds.

    `residual` and `average_distortion` are over all pairs, at the end of each pass; in between they are NaN.
    `curvature` is c of the paper, once the first round has found it.
    """

    average_distortion: float
    curvature: float
    evaluations: int

    def extras(self) -> Mapping[str, float]:
        return {
            "average_distortion": self.average_distortion,
            "curvature": self.curvature,
            "evaluations": self.evaluations,
        }


@dataclass(frozen=True)
class StochasticProximal:
    """In round k, approximately minimise Eᵏ(Y) + (ck/2)‖Y − Yᵏ⁻¹‖² over one batch of pairs (equation 6.6).

    The first round has no second term. Then c = tr(∇²E⁰(Y⁰)) / (λnm), with λ = `trust`, and the trace by
    Hutch++. The paper has λ = 10, for quadratic problems; with 30 those come closer to their optimum in 300
    rounds, and other problems, whose first batch lies further from the whole, much closer. Each round is at most
    `inner_iter` iterations of projected L-BFGS: ten leave less to be undone of what the first batch alone asks for
    than thirty, at a third to three quarters of the work (`python -m benchmarks.paper.mde inner`). Since the
    second term grows, the method makes a chosen number of rounds; it stops before that when the residual over all
    pairs, taken at the end of a pass, is at most `tol`.
    """

    batch_size: int
    seed: int = 0
    inner_iter: int = 10
    memory_size: int = 10
    tol: float = 1e-5
    trust: float = TRUST
    name = "stochastic proximal"
    expects_convergence = False

    def __post_init__(self) -> None:
        integer("batch_size", self.batch_size, 1)
        integer("inner_iter", self.inner_iter, 1)
        positive("trust", self.trust)
        self._inner()  # checks memory_size and tol

    def init(self, problem: BatchedProblem, Y0: FloatArray) -> StochasticState:
        """The projected start, with the objective of the first batch."""
        Y = np.ascontiguousarray(problem.project(Y0))
        value = problem.batch(0, self.batch_size, self.seed).evaluate(Y)[0]
        return StochasticState(0, Y, value, math.nan, math.nan, math.nan, 1)

    def step(self, problem: BatchedProblem, state: StochasticState) -> StochasticState:
        """The state after one more round."""
        k = state.iteration
        batch = problem.batch(k, self.batch_size, self.seed)
        weight = state.curvature * k if k else 0.0
        found = self._solve(_Proximal(batch, state.Y, weight), state.Y)
        curvature = state.curvature if k else self._curvature(batch, found.Y)
        count = problem.n_batches(self.batch_size)
        average = residual = math.nan
        if (k + 1) % count == 0:
            average, residual = problem.measure(found.Y, self.batch_size, self.seed, k // count)
        return StochasticState(
            iteration=k + 1,
            Y=found.Y,
            objective=batch.evaluate(found.Y)[0],
            residual=residual,
            average_distortion=average,
            curvature=curvature,
            evaluations=found.evaluations,
            phase=k + 1,
        )

    def done(self, state: StochasticState) -> Status | None:
        """Converged when a whole pass finds the projected gradient small."""
        if not state.residual <= self.tol:
            return None
        return Status(
            "converged",
            f"The norm of the projected gradient over all pairs fell to {state.residual:.3g}, "
            f"tol={self.tol:g}, after {state.iteration} rounds.",
        )

    def _inner(self) -> LBFGS:
        return LBFGS(memory_size=self.memory_size, tol=self.tol)

    def _solve(self, problem: ConstrainedProblem, Y: FloatArray) -> LBFGSState:
        solver = self._inner()
        state = solver.init(problem, Y)
        evaluations = state.evaluations
        while state.iteration < self.inner_iter and solver.done(state) is None:
            state = solver.step(problem, state)
            evaluations += state.evaluations
        return LBFGSState(**{**vars(state), "evaluations": evaluations})

    def _curvature(self, problem: ConstrainedProblem, Y: FloatArray) -> float:
        """c = tr(∇²E(Y)) / (λnm); where curvatures of both signs cancel, their root mean square takes the mean's place."""
        n = Y.size
        stream = Stream.named(self.seed, "hutch++")
        trace, norm = hutch_plus_plus(HessianProduct(problem, Y), n, stream)
        mean, spread = trace / n, norm / math.sqrt(n)
        return (mean if mean > CANCELLED * spread else spread) / self.trust


class _Proximal:
    """The problem of a batch with (weight/2)‖Y − centre‖² added."""

    def __init__(self, problem: ConstrainedProblem, centre: FloatArray, weight: float) -> None:
        self._problem = problem
        self._centre = centre
        self._weight = weight
        self.n_threads = problem.n_threads
        self.project = problem.project
        self.project_tangent = problem.project_tangent

    def evaluate(self, Y: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self._problem.evaluate(Y)
        if not self._weight:
            return value, gradient
        offset: FloatArray = np.ascontiguousarray(Y - self._centre)
        square = float(_core.dots([offset], [offset], self.n_threads)[0, 0])
        moved = _core.combine(np.array([1.0, self._weight]), [gradient, offset], self.n_threads)
        return value + 0.5 * self._weight * square, np.asarray(moved)


class HessianProduct:
    """The function v ↦ ∇²E(Y)v, v and the result flat, by central differences of the gradient in double precision."""

    def __init__(self, problem: ConstrainedProblem, Y: FloatArray) -> None:
        self._problem = problem
        self._Y = np.ascontiguousarray(Y, dtype=np.float64)
        spread = float(np.sqrt(np.mean((self._Y - self._Y.mean(axis=0)) ** 2)))
        self._move = DIFFERENCE * (spread if spread > 0 else 1.0)

    def __call__(self, v: Matrix) -> Matrix:
        size = float(np.sqrt(np.mean(v * v)))
        if size == 0:
            return np.zeros_like(v)
        h = self._move / size
        step = h * v.reshape(self._Y.shape)
        ahead, behind = self._problem.evaluate(self._Y + step)[1], self._problem.evaluate(self._Y - step)[1]
        return np.asarray((ahead - behind).ravel() / (2 * h), dtype=np.float64)
