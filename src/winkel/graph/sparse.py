"""Exact nearest neighbours of sparse rows, without ever making the matrix dense."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.arrays import Matrix
from ..resources import check_memory
from ..typing import FloatArray
from .metrics import RULES, Float32, unit_rows_sparse
from .search import SLACK, Indices, Rows, Show, blocks_of, rounding_allows

_STEP = 512

Csr = tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]


@dataclass(frozen=True)
class SparsePoints:
    """The rows of a CSR matrix as given, and how they and new rows are searched."""

    X: Matrix
    metric: str
    factor: float
    zero_column: bool
    n_jobs: int

    @classmethod
    def of(cls, X: Matrix, metric: str, n_jobs: int) -> SparsePoints:
        """The points of validated data."""
        # A power of two keeps squares in the range of float32.
        largest = float(np.abs(X.data).max()) if X.nnz else 0.0
        factor = (
            1.0
            if metric == "cosine" or largest == 0 or 1e-12 < largest < 1e15
            else float(2.0 ** -np.floor(np.log2(largest)))
        )
        empty = bool((np.asarray(X.multiply(X).sum(axis=1)) == 0).any())
        return cls(X, metric, factor, metric == "cosine" and empty, n_jobs)

    def prepare(self, Q: Matrix) -> tuple[tuple[NDArray[np.int64], NDArray[np.int32], Float32], Float32]:
        """Rows to search, and their squared norms."""
        P = unit_rows_sparse(Q, self.zero_column) if self.metric == "cosine" else Q * self.factor
        norm = np.asarray(P.multiply(P).sum(axis=1), dtype=np.float32).ravel()
        return (*form(P)[:2], P.data.astype(np.float32)), norm

    def finish(
        self, Q: Matrix, norm: Float32, origins: Rows, candidates: Indices, far: Float32, k: int
    ) -> tuple[Indices, FloatArray]:
        """The k nearest of the candidates, and of all points for rows where something else might be nearer."""
        (n, m), rule, x = self.X.shape, RULES[self.metric], form(self.X)
        index, distance = _core.refine_neighbors_sparse(
            form(Q), x, m, origins, candidates, rule.kind, k, self.n_jobs
        )
        last = distance[:, -1]
        reached = rule.to_search(last.astype(np.float64) * self.factor)
        longest = int(np.diff(self.X.indptr).max(initial=0))
        all_seen = far.shape[1] >= n - (origins >= 0)
        proved = (last == 0) | all_seen | rounding_allows(reached, norm, far[:, -1], longest)
        for rows in blocks_of(np.flatnonzero(~proved), 64):
            index[rows], distance[rows] = _core.direct_neighbors_sparse(
                form(Q[rows]), x, m, origins[rows], rule.kind, k, self.n_jobs
            )
        return index, distance


def form(X: Matrix) -> Csr:
    """A CSR matrix as the core takes it."""
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data


def exact_sparse(
    X: Matrix, k: int, metric: str, n_jobs: int, limit: int | None, show: Show
) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the rows of a CSR matrix among themselves."""
    n, m = X.shape
    width = min(k + SLACK, n - 1)
    need = n * (width * 24.0 + 40) + X.nnz * 24.0 + n_jobs * m * 64.0 + 16e6
    check_memory(need, limit, f"The neighbour search of {n} sparse rows", "Raise max_memory or lower n_jobs.")
    points = SparsePoints.of(X, metric, n_jobs)
    rows, norm = points.prepare(X)
    search = _core.SparseSearch(*rows, n_features=m + points.zero_column, norm=norm, width=width)
    for first in show(range(0, n, _STEP), "exact neighbours"):
        search.run(first, min(n, first + _STEP), n_jobs)
    candidates, far = search.result()
    del search, rows
    return points.finish(X, norm, np.arange(n), candidates, far, k)


def query_sparse(X: Matrix, Q: Matrix, k: int, metric: str, n_jobs: int) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the rows of Q among those of X, both CSR. Each row's result depends on that row alone."""
    points = SparsePoints.of(X, metric, n_jobs)
    (x, x_norm), (q, q_norm) = points.prepare(X), points.prepare(Q)
    n_features = X.shape[1] + points.zero_column
    width = min(k + SLACK, X.shape[0])
    candidates, far = _core.search_queries_sparse(q, q_norm, x, x_norm, n_features, width, n_jobs)
    return points.finish(Q, q_norm, np.full(Q.shape[0], -1), candidates, far, k)
