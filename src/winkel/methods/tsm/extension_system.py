"""The linear system of the extension from landmarks, multiplied without being formed (Saul 2023, eq 27).

Rows are held in an order in which near ones stand close to each other, so that a product finds most of what it needs in
the cache, and in single precision where the tolerance allows.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...run import Run
from ...typing import FloatArray, IntArray
from .factors import Matrix

_LEAF = 64  # rows that are not ordered any further


class ExtensionSystem:
    """Aᵀ A Y_f = −Aᵀ B Y_l: (I − W) cut into the columns A of free rows and B of landmarks."""

    def __init__(
        self, index: IntArray, weights: Matrix, free: IntArray, start: Matrix, run: Run, *, single: bool
    ) -> None:
        n = len(index)
        self.free = free
        self.n_pairs = n
        self.start = start
        self._n_jobs = run.n_jobs
        order = neighborhood_order(start)
        self._rank = np.empty(n, dtype=np.int64)
        self._rank[order] = np.arange(n)
        W = as_sparse(weights[order], self._rank[index[order]], n)
        W.sort_indices()
        squares = np.bincount(W.indices, W.data**2, minlength=n)
        # Squared norms of the columns of I − W, whose own entries are not on the diagonal of W.
        self._diagonal = 1.0 + squares[self._rank[free]]
        self._W, self._Wt = (_Remainder.of(M, single) for M in (W, W.T.tocsr()))
        self._fixed = np.array(start)
        self._fixed[free] = 0.0
        self.right = -self._normal(self._fixed, np.arange(n))

    @property
    def matrix(self) -> ExtensionSystem:
        """What multiplies a block of free rows from the left: itself."""
        return self

    def __matmul__(self, free: Matrix) -> Matrix:
        return self._normal(free, self.free)

    @cached_property
    def scale(self) -> Matrix:
        """The square of the right side, for each coordinate."""
        return np.asarray(np.sum(self.right * self.right, axis=0))

    def whole(self, free: FloatArray) -> Matrix:
        """The map with its free rows placed."""
        Y = np.array(self._fixed)
        Y[self.free] = free
        return Y

    def value(self, Y: Matrix) -> float:
        """Mean squared error with which near rows make up each row of the map (eq 15)."""
        error = self._W.times(self._W.block(Y, self._rank), self._n_jobs)
        return float(np.sum(np.square(error), dtype=np.float64)) / self.n_pairs

    def precondition(self, R: Matrix) -> Matrix:
        """R divided by the diagonal of the matrix."""
        return R / self._diagonal[:, None]

    def _normal(self, values: Matrix, rows: IntArray) -> Matrix:
        """The free rows of (I − W)ᵀ (I − W) Y, where Y has `values` in `rows` and zeros elsewhere."""
        Y = self._W.block(values, self._rank[rows])
        product = self._Wt.times(self._W.times(Y, self._n_jobs), self._n_jobs)
        return np.asarray(product[self._rank[self.free], : values.shape[1]], dtype=np.float64)


class _Remainder:
    """I − W in compressed rows, in single or double precision."""

    def __init__(self, indptr: NDArray[np.int32], indices: NDArray[np.int32], weights: Any) -> None:
        self._rows = indptr, indices, weights
        self._ones = np.ones(len(indptr) - 1)

    @classmethod
    def of(cls, W: sp.csr_matrix, single: bool) -> _Remainder:
        """That of the weights W."""
        weights = np.ascontiguousarray(W.data, dtype=np.float32 if single else np.float64)
        return cls(W.indptr.astype(np.int32), W.indices.astype(np.int32), weights)

    def block(self, values: Matrix, rows: IntArray) -> FloatArray:
        """A matrix with `values` in `rows`, zeros elsewhere, and columns filled up as the core wants them."""
        weights = self._rows[2]
        lanes = 16 if weights.dtype == np.float32 else 8
        Y = np.zeros((len(self._ones), -(-values.shape[1] // lanes) * lanes), dtype=weights.dtype)
        Y[rows, : values.shape[1]] = values
        return Y

    def times(self, Y: Any, n_jobs: int) -> Any:
        """(I − W) Y."""
        out = np.empty_like(Y)
        indptr, indices, weights = self._rows
        if Y.dtype == np.float32:
            _core.remainder_apply(indptr, indices, weights, n_jobs, Y, out)
        else:
            _core.laplacian_apply(indptr, indices, weights, self._ones, n_jobs, Y, out)
        return out


def neighborhood_order(Y: Matrix) -> IntArray:
    """An order of the rows in which near ones, by direction, stand close: halves, split across where they are widest."""
    norms = np.sqrt(np.sum(Y * Y, axis=1, keepdims=True))
    unit = np.divide(Y, norms, out=np.zeros_like(Y), where=norms > 0)
    parts, done = [np.arange(len(Y))], []
    while parts:
        part = parts.pop()
        if len(part) <= _LEAF:
            done.append(part)
            continue
        axis = int(np.argmax(np.var(unit[part], axis=0)))
        part = part[np.argsort(unit[part, axis], kind="stable")]
        parts += [part[len(part) // 2 :], part[: len(part) // 2]]
    return np.concatenate(done) if done else np.empty(0, dtype=np.int64)


def as_sparse(weights: Matrix, index: IntArray, n_fitted: int) -> sp.csr_matrix:
    """The weights as a matrix with a column for each fitted row."""
    n, k = index.shape
    starts = np.arange(0, n * k + 1, k)
    return sp.csr_matrix((weights.ravel(), index.ravel(), starts), shape=(n, n_fitted))
