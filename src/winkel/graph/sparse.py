"""Exact nearest neighbours of sparse rows, without ever making the matrix dense."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data.arrays import Matrix
from ..resources import check_memory
from ..typing import FloatArray
from .metrics import RULES, range_factor
from .search import SLACK, Indices, Show, blocks_of, rounding_allows

_STEP = 512


def exact_sparse(
    X: Matrix, k: int, metric: str, n_jobs: int, limit: int | None, show: Show
) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the rows of a CSR matrix among themselves."""
    n, m = X.shape
    width, rule = min(k + SLACK, n - 1), RULES[metric]
    entry = 44.0 if metric == "cosine" else 28.0
    need = n * (width * 24.0 + 40) + X.nnz * entry + n_jobs * m * 64.0 + 16e6
    check_memory(need, limit, f"The neighbour search of {n} sparse rows", "Raise max_memory or lower n_jobs.")
    P, factor = _prepare(X, metric)
    form = (P.indptr.astype(np.int64), P.indices.astype(np.int32))
    values, norm = P.data.astype(np.float32), squared_row_norms(P).astype(np.float32)
    search = _core.SparseSearch(*form, values, P.shape[1], norm, width)
    del P
    for first in show(range(0, n, _STEP), "exact neighbours"):
        search.run(first, min(n, first + _STEP), n_jobs)
    candidates, far = search.result()
    del search
    form = (X.indptr.astype(np.int64), X.indices.astype(np.int32))
    index, distance = _core.refine_neighbors_sparse(*form, X.data, m, candidates, rule.kind, k, n_jobs)
    last = distance[:, -1]
    reached = rule.to_search(last.astype(np.float64) * factor)
    longest = int(np.diff(X.indptr).max(initial=0))
    proved = (last == 0) | (width >= n - 1) | rounding_allows(rule, reached, norm, far[:, -1], longest)
    for rows in blocks_of(np.flatnonzero(~proved), 64):
        index[rows], distance[rows] = _core.direct_neighbors_sparse(
            *form, X.data, m, rows, rule.kind, k, n_jobs
        )
    return index, distance


def _prepare(X: Matrix, metric: str) -> tuple[Matrix, float]:
    """The rows to search in double precision, and the factor by which distances between them are larger."""
    if metric == "cosine":
        return _unit_rows(X), 1.0
    factor = range_factor(float(np.abs(X.data).max(initial=0)))
    return sp.csr_matrix((X.data * np.float64(factor), X.indices, X.indptr), shape=X.shape), factor


def _unit_rows(X: Matrix) -> Matrix:
    """Rows of length 1; rows of zeros get a column of their own, as in `plan_preparation`."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    largest = np.zeros(X.shape[0])
    np.maximum.at(largest, rows, np.abs(X.data))
    # First to a largest entry of about 1, by a power of two: squares neither vanish nor overflow.
    exponent = np.frexp(largest)[1]
    data = np.ldexp(X.data.astype(np.float64), -exponent[rows])
    norm = np.sqrt(np.bincount(rows, weights=data * data, minlength=X.shape[0]))
    zero = largest == 0
    unit = sp.csr_matrix((data / np.where(zero, 1, norm)[rows], X.indices, X.indptr), shape=X.shape)
    if not zero.any():
        return unit
    return sp.hstack([unit, sp.csr_matrix(zero[:, None].astype(np.float64))], format="csr")


def squared_row_norms(P: Matrix) -> FloatArray:
    """Squared length of every row of a CSR matrix."""
    squares = sp.csr_matrix((P.data * P.data, P.indices, P.indptr), shape=P.shape)
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
