"""Operations on rows, dense or sparse (CSR), for the methods; sparse rows are never made dense as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, vstack

from ..algebra import matmul

Matrix = NDArray[np.float64]
Rows = Any  # an array or a CSR matrix: SciPy has no types


def row_norms(X: Rows) -> Matrix:
    """The norm of each row, in double."""
    if issparse(X):
        return np.sqrt(np.bincount(_row_of_entries(X), np.square(X.data, dtype=np.float64), X.shape[0]))
    norms: Matrix = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    return norms


def scaled_rows(X: Rows, factor: Matrix) -> Rows:
    """Every row multiplied by its factor."""
    if issparse(X):
        return _with_entries(X, X.data * np.repeat(factor, np.diff(X.indptr)))
    return X * factor[:, None]


def column_sums(X: Rows) -> Matrix:
    """The sum of each column, in double."""
    if issparse(X):
        return np.asarray(np.bincount(X.indices, X.data.astype(np.float64), X.shape[1]), dtype=np.float64)
    return np.asarray(X.sum(axis=0, dtype=np.float64))


def product(X: Rows, block: Any) -> Any:
    """X @ block, in double."""
    return np.asarray(_wide(X) @ np.asarray(block, dtype=np.float64)) if issparse(X) else matmul(X, block)


def turned_product(X: Rows, block: Any) -> Any:
    """Xᵀ @ block, in double."""
    return np.asarray(_wide(X).T @ np.asarray(block, dtype=np.float64)) if issparse(X) else matmul(X.T, block)


def products_of_rows(A: Rows, B: Rows) -> Any:
    """A @ Bᵀ as an array, in double."""
    return (_wide(A) @ _wide(B).T).toarray() if issparse(A) else matmul(A, B.T)


def as_dense(X: Rows) -> Any:
    """Rows as a dense array; only for a few rows."""
    return X.toarray() if issparse(X) else X


def alike(X: Rows, other: Rows) -> Rows:
    """X, sparse if `other` is sparse and dense if it is dense."""
    if issparse(X) == issparse(other):
        return X
    return csr_matrix(X) if issparse(other) else X.toarray()


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows of all parts, one after another."""
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def row_keys(X: Rows, dtype: np.dtype[np.floating]) -> list[bytes]:
    """Bytes of each row in some precision, the same for equal rows."""
    if not issparse(X):
        # Adding zero turns −0.0, which equals 0.0 in other bytes, into 0.0.
        return [(row.astype(dtype) + 0.0).tobytes() for row in X]
    stored = X.data != 0
    ends = np.concatenate([[0], np.cumsum(stored)])[X.indptr]
    columns, values = X.indices[stored].astype(np.int64), X.data[stored].astype(dtype)
    return [columns[lo:hi].tobytes() + b"|" + values[lo:hi].tobytes() for lo, hi in pairwise(ends)]


def csr_parts(X: Rows, dtype: Any = None) -> tuple[Any, Any, Any]:
    """Row starts, columns and values of a CSR matrix as the core takes them."""
    return (
        X.indptr.astype(np.int64, copy=False),
        X.indices.astype(np.int32, copy=False),
        np.ascontiguousarray(X.data, dtype=X.dtype if dtype is None else dtype),
    )


def _row_of_entries(X: Rows) -> NDArray[np.int64]:
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def _wide(X: Rows) -> Rows:
    return X.astype(np.float64, copy=False)


def _with_entries(X: Rows, values: Any) -> Rows:
    return type(X)((values, X.indices, X.indptr), shape=X.shape)
