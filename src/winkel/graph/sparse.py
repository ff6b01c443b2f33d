"""Exact nearest neighbours of sparse rows, without ever making the matrix dense."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..data.arrays import Matrix
from ..resources import check_memory
from ..typing import FloatArray
from .metrics import RULES, unit_rows_sparse
from .search import SLACK, Indices, Show, blocks_of, rounding_allows

_STEP = 512


def exact_sparse(
    X: Matrix, k: int, metric: str, n_jobs: int, limit: int | None, show: Show
) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the rows of a CSR matrix among themselves."""
    n, m = X.shape
    width, rule = min(k + SLACK, n - 1), RULES[metric]
    need = n * (width * 24.0 + 40) + X.nnz * 24.0 + n_jobs * m * 64.0 + 16e6
    check_memory(need, limit, f"The neighbour search of {n} sparse rows", "Raise max_memory or lower n_jobs.")
    # A power of two keeps squares in the range of float32.
    largest = float(np.abs(X.data).max()) if X.nnz else 0.0
    factor = 1.0 if largest == 0 or 1e-12 < largest < 1e15 else float(2.0 ** -np.floor(np.log2(largest)))
    P = unit_rows_sparse(X) if metric == "cosine" else X * factor
    values = P.data.astype(np.float32)
    norm = np.asarray(P.multiply(P).sum(axis=1), dtype=np.float32).ravel()
    form = (P.indptr.astype(np.int64), P.indices.astype(np.int32))
    search = _core.SparseSearch(*form, values, P.shape[1], norm, width)
    for first in show(range(0, n, _STEP), "exact neighbours"):
        search.run(first, min(n, first + _STEP), n_jobs)
    candidates, far = search.result()
    del search
    form = (X.indptr.astype(np.int64), X.indices.astype(np.int32))
    index, distance = _core.refine_neighbors_sparse(*form, X.data, m, candidates, rule.kind, k, n_jobs)
    last = distance[:, -1]
    reached = rule.to_search(last.astype(np.float64) * (1.0 if metric == "cosine" else factor))
    longest = int(np.diff(X.indptr).max(initial=0))
    proved = (last == 0) | (width >= n - 1) | rounding_allows(reached, norm, far[:, -1], longest)
    for rows in blocks_of(np.flatnonzero(~proved), 64):
        index[rows], distance[rows] = _core.direct_neighbors_sparse(
            *form, X.data, m, rows, rule.kind, k, n_jobs
        )
    return index, distance
