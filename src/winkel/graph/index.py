"""An index for repeated searches among the same rows: candidates by a sketch of few coordinates, then true distances.

The sketch consists of the coordinates of the rows along the 64 directions of largest variance (found in a sample of the rows), and of their
full norms. The sum of two squared norms minus twice the product of two sketches equals the squared distance, except for the products
beyond those directions. The nearest rows by this estimate are candidates; among them, the nearest by true distance are kept. The necessary
number of candidates is measured on rows of the index. The result for a new row depends on that row alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..algebra import one_blas_thread
from ..data import Table
from ..run import Run, Stream
from ..typing import FloatArray
from . import search
from .knn import nearest_rows
from .metrics import Float32, metric_name, plan_preparation
from .search import Indices, Points

_DIRECTIONS = 64  # of a sketch, as the core's projection has
_LEAST_ROWS, _LEAST_COLUMNS = 10_000, 192  # below, all true distances take less time, or not much more
_SAMPLE, _PROBES = (
    2048,
    256,
)  # number of rows from which directions are computed, and on which the recall is measured
_CANDIDATES, _MOST_CANDIDATES = (3, 6, 12), 512  # for each neighbour, and in all
_SUMS_OF_SQUARES = (
    "euclidean",
    "cosine",
    "correlation",
)  # metrics whose rows, once prepared, are compared so
RECALL = 0.98


@dataclass(frozen=True, eq=False)
class RowIndex:
    """Fitted rows, prepared for fast repeated searches among them.

    `recall` is the measured share of true neighbours that a search finds; it is 1 if all distances are computed.
    """

    rows: Table
    metric: str
    points: Points | None = None
    directions: Float32 | None = None
    sketch: Float32 | None = None
    candidates: int = 0  # for each neighbour
    recall: float = 1.0

    @classmethod
    def of(cls, rows: Table, metric: str, n_neighbors: int, run: Run) -> RowIndex:
        """The index of rows for searches of about `n_neighbors`; without a sketch if it would not save time."""
        name, plain = metric_name(metric), cls(rows, metric)
        X = rows.values
        n, m = X.shape
        if (
            name not in _SUMS_OF_SQUARES
            or sp.issparse(X)
            or n < _LEAST_ROWS
            or m < _LEAST_COLUMNS
            or 6 * n_neighbors > _MOST_CANDIDATES
        ):
            return plain
        points = Points.of(X, plan_preparation(X, name), run.n_jobs)
        directions = _directions(points.P)
        sketch = _core.project(points.P, directions, run.n_jobs)
        probes = np.sort(Stream.named(0, "probes of an index").permutation(n)[:_PROBES])
        near = search.query(points, X[probes], np.full(len(probes), -1), n_neighbors)[1][:, -1:] * (1 + 1e-6)
        for candidates in _CANDIDATES:
            if candidates * n_neighbors > min(_MOST_CANDIDATES, n // 8):
                break
            found = cls(rows, metric, points, directions, sketch, candidates)
            _, distance = found._by_sketch(X[probes], n_neighbors, run.n_jobs)
            recall = float((distance <= near).mean())
            if recall >= RECALL:
                return cls(rows, metric, points, directions, sketch, candidates, recall)
        return plain

    def nearest(self, new: Table, k: int, run: Run) -> tuple[Indices, FloatArray]:
        """The k nearest rows of each new row, nearest first, and their distances."""
        if self.points is None or sp.issparse(new.values) or new.dtype != self.rows.dtype:
            return nearest_rows(new, self.rows, k, run, metric=self.metric)
        return self._by_sketch(new.values, k, run.n_jobs)

    def _by_sketch(self, Q: Any, k: int, n_jobs: int) -> tuple[Indices, FloatArray]:
        assert self.points is not None
        assert self.directions is not None
        assert self.sketch is not None
        plan = self.points.plan
        P = plan.apply(Q)
        width = min(self.candidates * k + 8, len(self.points))
        found, _ = _core.search_queries(
            _core.project(P, self.directions, n_jobs), plan.norms(P), self.sketch, self.points.norm, 0, width, n_jobs
        )  # fmt: skip
        return _core.refine_neighbors(Q, self.points.X, np.full(len(Q), -1), found, plan.rule.kind, k, n_jobs)


def _directions(P: Float32) -> Float32:
    """Orthonormal directions of the largest variance of a sample of the rows."""
    chosen = np.sort(Stream.named(0, "sample of an index").permutation(len(P))[:_SAMPLE])
    sample = P[chosen].astype(np.float64)
    sample -= sample.mean(axis=0)
    n, m = sample.shape
    with one_blas_thread():  # the same bytes for any number of threads
        if m <= n:
            top = np.linalg.eigh(sample.T @ sample)[1][:, ::-1][:, :_DIRECTIONS]
        else:
            top = sample.T @ np.linalg.eigh(sample @ sample.T)[1][:, ::-1][:, :_DIRECTIONS]
            top /= np.maximum(np.linalg.norm(top, axis=0), 1e-300)
    return np.ascontiguousarray(top, dtype=np.float32)
