"""The alternating updates on dense matrices, equation by equation: the reference for small data (Saul 2023, appendix A).

Memory and time go with n² and n³. `updates` does the same work on the factors alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...solvers.base import SolverState, Status
from ...typing import FloatArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class DenseMatching:
    """min ‖L − Z‖² such that rank L = d, max(0, Z) = S and ΣZ ≥ total (eq 19)."""

    S: Matrix
    total: float

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


@dataclass(frozen=True)
class DenseState(SolverState):
    """Y holds the eigenvectors of L, `values` its eigenvalues; Z and the one before."""

    values: Matrix
    Z: Matrix
    before: Matrix


@dataclass(frozen=True)
class DenseUpdates:
    """L ← the best approximation of rank d of Z (eq 6); Z ← eq 22 + momentum · (Z − the one before) (eq 23)."""

    momentum: float = 0.9
    name = "TSM (dense)"
    expects_convergence = False

    def init(self, problem: DenseMatching, Y0: FloatArray) -> DenseState:
        """The start from factors: L = Y0 · diag(1, …, 1, −1) · Y0ᵀ, its last column being the negative part."""
        F = np.asarray(Y0, dtype=np.float64)
        signs = np.append(np.ones(F.shape[1] - 1), -1.0)
        L = (F * signs) @ F.T
        Z, _ = problem.match(L)
        d = F.shape[1] - 1
        basis, values = best_of_rank(L, d)
        return DenseState(0, basis, float(np.sum((L - Z) ** 2)), np.nan, values, Z, Z)

    def step(self, problem: DenseMatching, state: DenseState) -> DenseState:
        """One update of L and one of Z."""
        basis, values = best_of_rank(state.Z, state.Y.shape[1])
        L = (basis * values) @ basis.T
        matched, _ = problem.match(L)
        objective = float(np.sum((L - matched) ** 2))
        Z = matched + self.momentum * (state.Z - state.before)
        size = float(np.linalg.norm(L))
        change = float(np.linalg.norm(L - (state.Y * state.values) @ state.Y.T)) / size if size > 0 else 0.0
        return DenseState(state.iteration + 1, basis, objective, change, values, Z, state.Z)

    def done(self, state: DenseState) -> Status | None:
        """Never before the iterations are made."""
        return None


def best_of_rank(M: Matrix, d: int) -> tuple[Matrix, Matrix]:
    """The d eigenvectors of a symmetric matrix with the eigenvalues largest in magnitude, and those eigenvalues."""
    with threadpool_limits(1, user_api="blas"):
        values, vectors = np.linalg.eigh(M)
    top = np.argsort(-np.abs(values), kind="stable")[:d]
    return vectors[:, top], values[top]
