"""PCA by attractions and repulsions (Draganov and Dohn 2023, section 4): minimise ‖C(G_X − YYᵀ)C‖² from a random start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...errors import InvalidInputError, InvalidParameterError
from ...random import Stream
from ...solvers.base import SolverState, Status
from ...typing import FloatArray
from .kernels import gram

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Gram:
    """G = CKC, the centred similarities: from a factor F with CKC = FFᵀ (n × r), or from all entries."""

    factor: Matrix | None
    full: Matrix | None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.full if self.factor is None else self.factor)  # type: ignore[arg-type]

    def times(self, Y: Matrix) -> Matrix:
        """GY."""
        with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
            if self.factor is not None:
                return np.asarray(self.factor @ (self.factor.T @ Y))
            assert self.full is not None
            return np.asarray(self.full @ Y)

    def square_norm(self) -> float:
        """‖G‖²_F."""
        if self.factor is None:
            assert self.full is not None
            return float(np.sum(np.square(self.full)))
        with threadpool_limits(1, user_api="blas"):
            return float(np.sum(np.square(self.factor.T @ self.factor)))

    def top_eigenvalues(self, k: int) -> Matrix:
        """The k largest eigenvalues, descending."""
        with threadpool_limits(1, user_api="blas"):
            small = self.full if self.factor is None else self.factor.T @ self.factor
            assert small is not None
            values = np.asarray(np.linalg.eigvalsh(small)[::-1][:k], dtype=np.float64)
        return np.pad(values, (0, k - len(values)))


def centred_gram(X: Any, kernel_x: str, gamma: float | None) -> Gram:
    """G of the rows of X under a kernel; a linear kernel needs no n × n matrix."""
    if kernel_x in ("linear", "centered_linear"):
        rows = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        return Gram(rows - rows.mean(axis=0), None)
    K = gram(X, kernel_x, gamma)
    return Gram(None, K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean())


def nystrom(G: Gram, rank: int, seed: int) -> Gram:
    """A positive semidefinite approximation of G of at most this rank, from some of its columns (eq 5).

    Twice as many columns as the rank are drawn; what they span is cut to the leading `rank` directions.
    """
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or not 1 <= rank <= G.n:
        raise InvalidParameterError(f"rank must be an integer from 1 to the {G.n} rows; got {rank!r}.")
    chosen = np.sort(Stream.named(seed, "nystrom").permutation(G.n)[: min(G.n, 2 * int(rank))])
    with threadpool_limits(1, user_api="blas"):
        units = np.zeros((G.n, len(chosen)))
        units[chosen, np.arange(len(chosen))] = 1.0
        columns = G.times(units)
        values, vectors = np.linalg.eigh(columns[chosen])
        keep = values > 1e-10 * max(float(values[-1]), 0.0)
        if not keep.any():
            raise InvalidInputError(
                "the similarities have no positive directions that a low rank could keep; use rank=None."
            )
        factor = columns @ (vectors[:, keep] / np.sqrt(values[keep]))
        U, s, _ = np.linalg.svd(factor, full_matrices=False)
    return Gram(U[:, :rank] * s[:rank], None)


@dataclass(frozen=True, eq=False)
class PcaProblem:
    """½-free form of the loss: ‖G − YYᵀ‖²_F, whose gradient is −4(GY − Y YᵀY), by `approximate` when that is given.

    `lemma` holds what Lemma 3 compares: (1 + ε) λ₁/λ_k ‖G − G_k‖², with ε of the approximation at hand.
    """

    gram: Gram
    square_norm: float
    approximate: Gram | None = None
    lemma: float = np.nan

    @classmethod
    def of(cls, G: Gram, rank: int | None, seed: int) -> PcaProblem:
        """The loss of a Gram matrix; with `rank` its gradient is that of an approximation of that rank."""
        norm = G.square_norm()
        if rank is None:
            return cls(G, norm)
        low = nystrom(G, rank, seed)
        assert low.factor is not None
        top = G.top_eigenvalues(int(rank))
        rest = max(norm - float(np.sum(np.square(top))), 0.0)
        with threadpool_limits(1, user_api="blas"):
            cross = float(np.sum(low.factor * G.times(low.factor)))
        missed = max(norm - 2 * cross + low.square_norm(), 0.0)
        ratio = float(top[0] / top[-1]) if top[-1] > 0 else np.inf
        # (1 + ε)‖G − G_k‖² is what the approximation misses; no approximation of that rank misses less.
        return cls(G, norm, low, ratio * max(missed, rest))

    def loss(self, YGY: float, YY: Matrix) -> float:
        """‖G − YYᵀ‖² from Σ Y∘GY and YᵀY."""
        return self.square_norm - 2 * YGY + float(np.sum(np.square(YY)))

    def gradient(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """The loss at the centred Y, and its exact gradient."""
        Z = np.asarray(Y, dtype=np.float64)
        Z = Z - Z.mean(axis=0)
        product, square = self.gram.times(Z), Z.T @ Z
        return self.loss(float(np.sum(Z * product)), square), -4 * (product - Z @ square)


@dataclass(frozen=True)
class DescentState(SolverState):
    """Beside Y: GY, the last direction with the gradient it came of, and Lemma 3's two sides."""

    product: FloatArray
    direction: FloatArray
    downhill: FloatArray
    agreement: float = np.nan
    error: float = np.nan
    bound: float = np.nan

    def extras(self) -> dict[str, float]:
        """With a low rank: the cosine of both gradients, ‖G − YYᵀ‖², and what Lemma 3 asks it to exceed."""
        if np.isnan(self.bound):
            return {}
        return {"agreement": self.agreement, "error": self.error, "lemma3": self.bound}


@dataclass(frozen=True)
class ExactDescent:
    """Conjugate gradients (Polak and Ribière) whose steps have the best length, so that the loss never rises (Theorem 1).

    Along a direction the loss is a polynomial of degree four, whose minimum is known from d × d matrices. With a low
    rank the step is taken for the approximate loss. It has converged when ‖GY − Y YᵀY‖ is at most `tol` times ‖GY‖.
    """

    tol: float = 1e-6
    name = "PCA by forces"

    @property
    def expects_convergence(self) -> bool:
        return self.tol > 0

    def init(self, problem: PcaProblem, Y0: FloatArray) -> DescentState:
        """The centred start."""
        Y = np.asarray(Y0, dtype=np.float64)
        Y = Y - Y.mean(axis=0)
        still = np.zeros_like(Y)
        return self._at(problem, 0, Y, self._gram(problem).times(Y), still, still)

    def step(self, problem: PcaProblem, state: DescentState) -> DescentState:
        """The state after the best step along the next direction."""
        Y = np.asarray(state.Y, dtype=np.float64)
        downhill = _downhill(Y, state.product)
        before = float(np.sum(np.square(state.downhill)))
        turn = float(np.sum(downhill * (downhill - state.downhill))) / before if before > 0 else 0.0
        direction = downhill + max(turn, 0.0) * state.direction
        if float(np.sum(direction * downhill)) <= 0:
            direction = downhill
        moved = self._gram(problem).times(direction)
        length = best_step(Y, direction, state.product, moved)
        # Rounding of GY must not add up.
        Y = Y + length * direction
        fresh = state.iteration % 50 == 49
        product = self._gram(problem).times(Y) if fresh else state.product + length * moved
        return self._at(problem, state.iteration + 1, Y, product, direction, downhill)

    def done(self, state: DescentState) -> Status | None:
        """Converged when the forces balance."""
        if self.tol == 0 or not state.residual <= self.tol:
            return None
        return Status(
            "converged",
            f"Forces balance to {state.residual:.3g} of their size, tol={self.tol:g}, after {state.iteration} iterations.",
        )

    def _gram(self, problem: PcaProblem) -> Gram:
        return problem.gram if problem.approximate is None else problem.approximate

    def _at(
        self,
        problem: PcaProblem,
        t: int,
        Y: Matrix,
        product: FloatArray,
        direction: FloatArray,
        downhill: FloatArray,
    ) -> DescentState:
        force = _downhill(Y, product)
        size = float(np.sqrt(np.sum(np.square(product))))
        residual = float(np.sqrt(np.sum(np.square(force)))) / size if size > 0 else 0.0
        if problem.approximate is None:
            loss = problem.loss(float(np.sum(Y * product)), Y.T @ Y)
            return DescentState(t, Y, loss, residual, product, direction, downhill)
        loss, true = problem.gradient(Y)
        cosine = float(np.sum(true * -force)) / max(
            float(np.linalg.norm(true) * np.linalg.norm(force)), 1e-300
        )
        return DescentState(
            t, Y, loss, residual, product, direction, downhill, cosine, max(loss, 0.0), problem.lemma
        )


def _downhill(Y: Matrix, product: FloatArray) -> Matrix:
    """GY − Y YᵀY, a quarter of the negative gradient."""
    return np.asarray(product - Y @ (Y.T @ Y))


def best_step(Y: Matrix, D: Matrix, GY: FloatArray, GD: FloatArray) -> float:
    """The t ≥ 0 at which ‖G − (Y + tD)(Y + tD)ᵀ‖² is least."""
    sizes = [float(np.sqrt(np.sum(np.square(Z)))) for Z in (Y, D)]
    unit = (
        sizes[0] / sizes[1] if min(sizes) > 0 else 1.0
    )  # steps are counted in the size of Y, lest powers overflow
    D, GD = unit * D, unit * GD
    A, B, C = Y.T @ Y, Y.T @ D + D.T @ Y, D.T @ D
    linear, quadratic = float(np.sum(D * GY)), float(np.sum(D * GD))
    # Of t⁴, t³, t², t: ‖A + tB + t²C‖² − 2(YGY + 2t·DGY + t²·DGD), less its value at 0.
    coefficients = np.array(
        [
            np.sum(C * C),
            2 * np.sum(B * C),
            np.sum(B * B) + 2 * np.sum(A * C) - 2 * quadratic,
            2 * np.sum(A * B) - 4 * linear,
            0.0,
        ]
    )
    if not coefficients.any():
        return 0.0
    roots = np.roots(np.polyder(coefficients))
    real = roots.real[np.abs(roots.imag) <= 1e-8 * np.maximum(np.abs(roots.real), 1e-300)]
    candidates = np.append(real[real > 0], 0.0)
    return unit * float(candidates[np.argmin(np.polyval(coefficients, candidates))])
