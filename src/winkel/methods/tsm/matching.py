"""The matching problem (Saul 2023, eq 19) and its alternating updates, on factors and on dense matrices.

On factors, memory grows with n·d and with the number of entries of S, never with n². Z differs from L only by δ, and at pairs where S has
entries or L is positive, which are about as few as S has. So a product with Z is a product with low-rank factors minus a product with that
sparse difference, whose entries are found by comparing rows in tiles, each pair once. All sums for δ and the objective
come from the same pass.

On dense matrices the updates follow appendix A of the paper, equation by equation, as the reference for small data. Memory and time grow with
n² and n³.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import _core
from ...algebra import dot, eigh, matmul, norm, qr
from ...embedding import Status
from ...run import Run
from ...solvers.base import SolverState
from ...typing import FloatArray
from .factors import Factors, Matrix, best_of_rank, outputs, relative_change, start_factors
from .similarity import Float32, Similarities

_LANES = 8  # the core works on this many columns at a time


@dataclass(frozen=True)
class Product:
    """Z · V for the Z of some L, with δ, ‖Z‖², the objective ‖L − Z‖² at that L and half its gradient times V."""

    ZV: Matrix
    delta: float
    square: float
    objective: float
    slope: Matrix


class Matching:
    """min ‖L − Z‖² such that rank L = d, max(0, Z) = S and ΣZ ≥ total (eq 19), for L given by its factors."""

    def __init__(self, S: Similarities, run: Run) -> None:
        self._S = _core.SimilarMatrix(S.indptr, S.indices, S.values)
        self._sum = float(np.sum(S.values, dtype=np.float64))
        self._square = float(np.sum(np.square(S.values, dtype=np.float64)))
        self._zeros = S.n**2 - len(S.values)
        self._total = S.total
        self._threshold = S.threshold
        self._n_jobs = run.n_jobs

    def product(self, L: Factors, V: Matrix) -> Product:
        """Z · V for the Z that eqs 20–22 give for L."""
        left, right, block = _padded(L.basis * L.values), _padded(L.basis), _padded(V)
        width = V.shape[1]
        residual, (beyond, beyond_square, own, own_square, gap) = self._S.residual_product(
            left, right, block, self._n_jobs
        )
        wide_left, wide_right = left.astype(np.float64), right.astype(np.float64)
        LV = matmul(wide_left, matmul(wide_right.T, V))
        whole_square = dot(matmul(wide_left.T, wide_left), matmul(wide_right.T, wide_right))
        whole_sum = dot(wide_left.sum(axis=0), wide_right.sum(axis=0))
        # What min(0, L) sums up to where S is zero, and the δ that makes up for what is missing (eq 21).
        below = whole_sum - beyond - own
        delta = max(0.0, (self._total - below - self._sum) / self._zeros) if self._zeros else 0.0
        ZV, slope = LV - residual[:, :width], residual[:, :width]
        if delta > 0.0:
            others = V.sum(axis=0) - self._S.support_product(block, self._n_jobs)[:, :width]
            ZV += delta * others
            # δ falls where a negative L_ij rises: the mean of max(0, L) there has to be added where L < 0, and is where
            # S = 0, nearly the same, for the few others have far larger terms.
            slope = slope + (beyond / self._zeros - delta) * others
        square = whole_square - beyond_square - own_square
        square += 2.0 * delta * below + self._zeros * delta**2 + self._square
        objective = gap + beyond_square - 2.0 * delta * beyond + self._zeros * delta**2
        return Product(ZV, delta, square, objective, slope)

    def objective(self, L: Factors) -> float:
        """‖L − Z‖² for the Z of L."""
        return self.product(L, np.zeros((len(L.basis), 1))).objective

    def map_of(self, state: FactorState) -> Matrix:
        """The map of the L of a state."""
        return outputs(state.Y, state.values, self._threshold).Y


@dataclass(frozen=True)
class FactorState(SolverState):
    """Y is the basis of L, `values` its eigenvalues; `before` and `before_values` those of the L before; δ of the last Z."""

    values: Matrix
    before: Matrix
    before_values: Matrix
    delta: float

    def extras(self) -> dict[str, float]:
        """δ (eq 21), one an update."""
        return {"delta": self.delta}


@dataclass(frozen=True)
class FactorUpdates:
    """Z from the extrapolated L + momentum · (L − the previous L); then L from one product of Z with the basis of L.

    Of Z, the part in the tangent space of the matrices of rank d at L is taken, Q Qᵀ Z + Z Q Qᵀ − Q Qᵀ Z Q Qᵀ, which that
    product gives, and of it the best approximation of rank d, by an eigenvalue problem of size 2d. The momentum of the
    paper (eq 23) acts on Z, which has full rank; here it acts on L, so that all stays of rank 2d. It grows from `momentum`
    on as t/(t + 3) in update t (Nesterov 1983), unless it is 0, and starts anew when the objective became larger.
    """

    momentum: float = 0.9
    tol: float = 0.0
    name = "TSM"
    expects_convergence = False

    def init(self, problem: Matching, Y0: FloatArray) -> FactorState:
        """The best approximation of rank d of the start L = Y0 · diag(1, …, 1, −1) · Y0ᵀ."""
        L = start_factors(Y0)
        return FactorState(0, L.basis, np.nan, np.nan, L.values, L.basis, L.values, 0.0)

    def step(self, problem: Matching, state: FactorState) -> FactorState:
        """One update of Z and one of L; the objective is ‖L − Z‖² between the two."""
        L = Factors(np.asarray(state.Y, np.float64), state.values)
        before = Factors(state.before, state.before_values)
        Q = L.basis
        grown = max(self.momentum, state.iteration / (state.iteration + 3.0)) if self.momentum > 0 else 0.0
        found = problem.product(L.toward(before, grown), Q)
        inner = matmul(Q.T, found.ZV)
        inner = (inner + inner.T) / 2.0
        axes, R = qr(np.concatenate([Q, found.ZV], axis=1))
        A, B = R[:, : Q.shape[1]], R[:, Q.shape[1] :]
        new = best_of_rank(axes, matmul(A, B.T) + matmul(B, A.T) - matmul(matmul(A, inner), A.T), Q.shape[1])
        cross = matmul(new.basis.T, Q)
        objective = found.square - 2.0 * float(np.sum(np.diag(inner) * L.values)) + float(np.sum(L.values**2))
        objective = max(0.0, objective)
        if objective > state.objective:
            L = new
        return FactorState(
            state.iteration + 1,
            new.basis,
            objective,
            relative_change(new.values, state.values, cross),
            new.values,
            L.basis,
            L.values,
            found.delta,
        )

    def done(self, state: FactorState) -> Status | None:
        """Converged when an update changes L by no more than `tol` of its norm."""
        if not state.residual <= self.tol:
            return None
        return Status(
            "converged", f"The last update changed L by {state.residual:.2g} of its norm, tol={self.tol:g}."
        )


def _padded(rows: Matrix) -> Float32:
    """Rows in single precision, their columns filled up with zeros to whole lanes."""
    n, width = rows.shape
    out = np.zeros((n, -(-width // _LANES) * _LANES), dtype=np.float32)
    out[:, :width] = rows
    return out


# ------------------------------------------------------------------------------------------ dense matrices


@dataclass(frozen=True)
class DenseMatching:
    """min ‖L − Z‖² such that rank L = d, max(0, Z) = S and ΣZ ≥ total (eq 19)."""

    S: Matrix
    total: float
    threshold: float

    def match(self, L: Matrix) -> tuple[Matrix, float]:
        """Z (eqs 20–22) and δ for a given L."""
        similar = self.S > 0
        Z = np.where(similar, self.S, np.minimum(0.0, L))
        zeros = similar.size - int(similar.sum())
        delta = max(0.0, (self.total - float(Z.sum())) / zeros) if zeros else 0.0
        return np.where(similar, Z, Z + delta), delta

    def objective(self, L: Matrix) -> float:
        """‖L − Z‖² for the Z of L."""
        return float(np.sum((L - self.match(L)[0]) ** 2))

    def map_of(self, state: DenseState) -> Matrix:
        """The map of the L of a state."""
        return outputs(state.Y, state.values, self.threshold).Y


@dataclass(frozen=True)
class DenseState(SolverState):
    """Y holds the eigenvectors of L, `values` its eigenvalues; Z and the one before."""

    values: Matrix
    Z: Matrix
    before: Matrix


@dataclass(frozen=True)
class DenseUpdates:
    """L ← the best approximation of rank d of Z (eq 6); Z ← eq 22 + momentum · (Z − the previous Z) (eq 23)."""

    momentum: float = 0.9
    name = "TSM (dense)"
    expects_convergence = False

    def init(self, problem: DenseMatching, Y0: FloatArray) -> DenseState:
        """The start from factors: L = Y0 · diag(1, …, 1, −1) · Y0ᵀ, its last column being the negative part."""
        F = np.asarray(Y0, dtype=np.float64)
        signs = np.append(np.ones(F.shape[1] - 1), -1.0)
        L = matmul(F * signs, F.T)
        Z, _ = problem.match(L)
        d = F.shape[1] - 1
        basis, values = leading_eigenvectors(L, d)
        return DenseState(0, basis, float(np.sum((L - Z) ** 2)), np.nan, values, Z, Z)

    def step(self, problem: DenseMatching, state: DenseState) -> DenseState:
        """One update of L and one of Z."""
        basis, values = leading_eigenvectors(state.Z, state.Y.shape[1])
        L = matmul(basis * values, basis.T)
        matched, _ = problem.match(L)
        objective = float(np.sum((L - matched) ** 2))
        Z = matched + self.momentum * (state.Z - state.before)
        size = norm(L)
        change = norm(L - matmul(state.Y * state.values, state.Y.T)) / size if size > 0 else 0.0
        return DenseState(state.iteration + 1, basis, objective, change, values, Z, state.Z)

    def done(self, state: DenseState) -> Status | None:
        """Never before the iterations are made."""
        return None


def leading_eigenvectors(M: Matrix, d: int) -> tuple[Matrix, Matrix]:
    """The d eigenvectors of a symmetric matrix with the eigenvalues largest in magnitude, and those eigenvalues."""
    values, vectors = eigh(M)
    top = np.argsort(-np.abs(values), kind="stable")[:d]
    return vectors[:, top], values[top]
