"""Symmetric matrices of low rank, and the map that one of them is the answer for (Saul 2023, eqs 7–9)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...algebra import eigh, matmul, qr
from ...errors import DataWarning
from ...typing import FloatArray

Matrix = NDArray[np.float64]

_LARGE = 0.1  # a negative eigenvalue that is this part of the largest one says that d is too small


@dataclass(frozen=True)
class Factors:
    """The symmetric matrix basis · diag(values) · basisᵀ."""

    basis: Matrix
    values: Matrix

    def toward(self, other: Factors, step: float) -> Factors:
        """self + step · (self − other), of the sum of both ranks."""
        if step == 0.0:
            return self
        return Factors(
            np.concatenate([self.basis, other.basis], axis=1),
            np.concatenate([(1.0 + step) * self.values, -step * other.values]),
        )


def start_factors(Y0: FloatArray) -> Factors:
    """The best approximation of Y0 · diag(1, …, 1, −1) · Y0ᵀ of a rank lower by one than its columns."""
    F = np.asarray(Y0, dtype=np.float64)
    signs = np.append(np.ones(F.shape[1] - 1), -1.0)
    Q, R = qr(F)
    return best_of_rank(Q, matmul(R * signs, R.T), F.shape[1] - 1)


def best_of_rank(Q: Matrix, inner: Matrix, d: int, negatives: int | None = None) -> Factors:
    """The best approximation of Q · inner · Qᵀ of rank d, with at most so many negative eigenvalues; Q is orthonormal."""
    values, vectors = eigh((inner + inner.T) / 2.0)
    size = np.abs(values)
    if negatives is not None:
        size[negatives:][values[negatives:] < 0] = 0.0  # eigenvalues ascend: the most negative come first
        values = np.where(size > 0, values, 0.0)
    top = np.argsort(-size, kind="stable")[:d]
    return Factors(np.ascontiguousarray(matmul(Q, vectors[:, top])), values[top])


def relative_change(new: Matrix, old: Matrix, cross: Matrix) -> float:
    """‖L − the one before‖ / ‖L‖, from the eigenvalues of both and the products of their bases."""
    size = float(np.sum(new**2))
    square = size + float(np.sum(old**2)) - 2.0 * float(np.sum(new[:, None] * old * cross**2))
    return float(np.sqrt(max(0.0, square) / size)) if size > 0 else 0.0


@dataclass(frozen=True)
class Outputs:
    """The map Y and all eigenvalues of the Gram matrix that may be other than zero, largest first."""

    Y: Matrix
    eigenvalues: Matrix

    @property
    def negative(self) -> float:
        """Size of the most negative eigenvalue as a part of the largest one."""
        top = float(self.eigenvalues.max(initial=0.0))
        return max(0.0, -float(self.eigenvalues.min(initial=0.0))) / top if top > 0 else 0.0


def outputs(basis: FloatArray, values: Matrix, threshold: float, n_components: int | None = None) -> Outputs:
    """The Outputs of L = basis · diag(values) · basisᵀ.

    The Gram matrix G = L + τ/(1−τ) s sᵀ with s_i = √L_ii (eq 8) has the columns of `basis` and s as factor, so the
    eigenvalues of a (r+1) × (r+1) matrix, r the rank of L, are all of its eigenvalues; the d largest give Y (eq 9). d is the
    rank of L where `n_components` is None.
    """
    d = basis.shape[1] if n_components is None else n_components
    diagonal = np.einsum("ij,j,ij->i", basis, values, basis)
    factor = np.column_stack([basis, np.sqrt(np.maximum(diagonal, 0.0))])
    Q, R = qr(factor)
    inner = matmul(R * np.append(values, threshold / (1.0 - threshold)), R.T)
    eigenvalues, vectors = eigh((inner + inner.T) / 2.0)
    top = vectors[:, ::-1][:, :d]
    Y = matmul(Q, top * np.sqrt(np.maximum(eigenvalues[::-1][:d], 0.0)))
    Y = np.pad(Y, ((0, 0), (0, d - Y.shape[1])))
    return Outputs(Y, eigenvalues[::-1].copy())


def warn_if_not_a_gram_matrix(found: Outputs) -> None:
    """A DataWarning with the paper's advice when eigenvalues that should not be negative are."""
    kept = found.eigenvalues[: found.Y.shape[1]]
    missing = int(np.sum(kept < 0))
    if found.negative > _LARGE or missing > 0:
        warnings.warn(
            f"The Gram matrix of the map has a negative eigenvalue of {found.negative:.0%} of the largest one"
            f"{f', and {missing} of the {len(kept)} that should span the map are negative' if missing else ''}: no map in so "
            f"few dimensions can have these angles. Use an n_components above {len(kept)}.",
            DataWarning,
            stacklevel=3,
        )
