"""PCA by attractions and repulsions (Draganov and Dohn 2023, section 4): minimise ‖C(G_X − YYᵀ)C‖² from a random start."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...algebra import eigh, largest_eigenvectors, matmul, svd
from ...algebra import norm as length
from ...checks import integer
from ...embedding import Status
from ...errors import InvalidInputError
from ...run import Run
from ...solvers.base import SolverState
from ...typing import FloatArray

Matrix = NDArray[np.float64]


class Gram(Protocol):
    """G = CKC, the centred similarities of n rows."""

    @property
    def n(self) -> int:
        """The number of rows."""

    def times(self, Y: Matrix) -> Matrix:
        """GY."""

    def entries(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
        """G_ij of pairs."""

    def square_norm(self) -> float:
        """‖G‖²_F."""

    def top_eigenvalues(self, k: int) -> Matrix:
        """The k largest eigenvalues, descending."""


@dataclass(frozen=True, eq=False)
class DenseGram:
    """G by all its entries."""

    full: Matrix

    @classmethod
    def of(cls, K: Matrix) -> DenseGram:
        """CKC of similarities K."""
        return cls(K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean())

    @property
    def n(self) -> int:
        return len(self.full)

    def times(self, Y: Matrix) -> Matrix:
        return np.asarray(matmul(self.full, Y))

    def entries(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
        return np.asarray(self.full[i, j])

    def square_norm(self) -> float:
        return float(np.sum(np.square(self.full)))

    def top_eigenvalues(self, k: int) -> Matrix:
        return _top_eigenvalues(self.full, k)


@dataclass(frozen=True, eq=False)
class FactoredGram:
    """G = FFᵀ by its factor F, n × r."""

    factor: Matrix

    @property
    def n(self) -> int:
        return len(self.factor)

    def times(self, Y: Matrix) -> Matrix:
        return np.asarray(matmul(self.factor, matmul(self.factor.T, Y)))

    def entries(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
        return np.asarray(np.sum(self.factor[i] * self.factor[j], axis=1))

    def square_norm(self) -> float:
        return float(np.sum(np.square(self._smaller())))

    def top_eigenvalues(self, k: int) -> Matrix:
        return _top_eigenvalues(self._smaller(), k)

    def _smaller(self) -> Matrix:
        """FᵀF or FFᵀ, which have the same norm and the same eigenvalues but for zeros."""
        n, r = self.factor.shape
        return matmul(self.factor.T, self.factor) if r <= n else matmul(self.factor, self.factor.T)


def _top_eigenvalues(S: Matrix, k: int) -> Matrix:
    values = largest_eigenvectors(S, k)[0]
    return np.pad(values, (0, k - len(values)))


def nystrom(G: Gram, rank: int, run: Run) -> FactoredGram:
    """A positive semidefinite approximation of G of at most this rank, from a sample of its columns (eq 5).

    Twice as many columns as the rank are drawn; what they span is cut to the leading `rank` directions.
    """
    integer("rank", rank, 1, G.n)
    chosen = np.sort(run.stream("nystrom").permutation(G.n)[: min(G.n, 2 * int(rank))])
    units = np.zeros((G.n, len(chosen)))
    units[chosen, np.arange(len(chosen))] = 1.0
    columns = G.times(units)
    values, vectors = eigh(columns[chosen])
    keep = values > 1e-10 * max(float(values[-1]), 0.0)
    if not keep.any():
        raise InvalidInputError(
            "the similarities have no positive eigenvalues that a low rank could keep; use rank=None."
        )
    factor = matmul(columns, vectors[:, keep] / np.sqrt(values[keep]))
    U, s, _ = svd(factor)
    return FactoredGram(U[:, :rank] * s[:rank])


@dataclass(frozen=True, eq=False)
class PcaProblem:
    """½-free form of the loss: ‖G − YYᵀ‖²_F, whose gradient is −4(GY − Y YᵀY), by `approximate` when that is given.

    `lemma` holds what Lemma 3 compares: (1 + ε) λ₁/λ_k ‖G − G_k‖², with ε of the approximation at hand.
    """

    gram: Gram
    square_norm: float
    approximate: FactoredGram | None = None
    lemma: float = np.nan

    @classmethod
    def of(cls, G: Gram, rank: int | None, run: Run) -> PcaProblem:
        """The loss of a Gram matrix; with `rank` its gradient is that of an approximation of that rank."""
        norm = G.square_norm()
        if rank is None:
            return cls(G, norm)
        low = nystrom(G, rank, run)
        top = G.top_eigenvalues(int(rank))
        rest = max(norm - float(np.sum(np.square(top))), 0.0)
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
        product, square = self.gram.times(Z), matmul(Z.T, Z)
        return self.loss(float(np.sum(Z * product)), square), -4 * (product - matmul(Z, square))


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
            loss = problem.loss(float(np.sum(Y * product)), matmul(Y.T, Y))
            return DescentState(t, Y, loss, residual, product, direction, downhill)
        loss, true = problem.gradient(Y)
        cosine = float(np.sum(true * -force)) / max(length(true) * length(force), 1e-300)
        return DescentState(
            t, Y, loss, residual, product, direction, downhill, cosine, max(loss, 0.0), problem.lemma
        )


def _downhill(Y: Matrix, product: FloatArray) -> Matrix:
    """GY − Y YᵀY, a quarter of the negative gradient."""
    return np.asarray(product - matmul(Y, matmul(Y.T, Y)))


def best_step(Y: Matrix, D: Matrix, GY: FloatArray, GD: FloatArray) -> float:
    """The t ≥ 0 at which ‖G − (Y + tD)(Y + tD)ᵀ‖² is least."""
    sizes = [float(np.sqrt(np.sum(np.square(Z)))) for Z in (Y, D)]
    unit = (
        sizes[0] / sizes[1] if min(sizes) > 0 else 1.0
    )  # steps are counted in the size of Y, lest powers overflow
    D, GD = unit * D, unit * GD
    A, B, C = matmul(Y.T, Y), matmul(Y.T, D), matmul(D.T, D)
    B = B + B.T
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
    candidates = np.append(_positive_roots(np.polyder(coefficients)), 0.0)
    return unit * float(candidates[np.argmin(np.polyval(coefficients, candidates))])


def _positive_roots(cubic: Matrix) -> Matrix:
    """The positive roots at which a polynomial of degree at most three changes its sign, found between its turning points."""
    a, b, c, d = (float(x) for x in cubic)
    size = max(abs(a), abs(b), abs(c), abs(d))
    if size == 0.0 or a == b == c == 0.0:
        return np.empty(0)
    leading = next(x for x in (a, b, c) if x != 0.0)
    bound = 1.0 + size / abs(leading)  # Cauchy's: no root is beyond
    turns = _quadratic_roots(3 * a, 2 * b, c)
    ends = [0.0, *sorted(t for t in turns if 0.0 < t < bound), bound]
    roots = []
    for low, high in pairwise(ends):
        at_low = ((a * low + b) * low + c) * low + d
        at_high = ((a * high + b) * high + c) * high + d
        if at_low * at_high > 0.0 or at_low == at_high:
            continue
        for _ in range(200):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            value = ((a * middle + b) * middle + c) * middle + d
            low, high = (middle, high) if (value > 0.0) == (at_low > 0.0) else (low, middle)
        roots.append(high)
    return np.array(roots)


def _quadratic_roots(a: float, b: float, c: float) -> list[float]:
    inside = b * b - 4 * a * c
    if a == 0.0:
        return [-c / b] if b != 0.0 else []
    if inside < 0.0:
        return []
    q = -0.5 * (b + math.copysign(math.sqrt(inside), b))
    return [q / a, *([c / q] if q != 0.0 else [])]
