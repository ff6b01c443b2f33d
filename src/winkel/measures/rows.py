"""Blocks of rows as seen against all rows: distances, nearest, ranks and order, never an n × n matrix.

`PointRows` holds dense rows under one of the metrics of the neighbour search, `GivenRows` anything else that can give
distances of some rows to all. A block gives exact neighbours and exact ranks (float32 search distances, with true
distances in double where those are too close to tell); its full `order` of all n rows is by search distance alone.
Equal distances stand in cyclic order of index, as in `winkel.graph.knn`, so that a map equal to its data is perfect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..data import as_matrix
from ..errors import InvalidInputError
from ..graph import Graph
from ..graph.metrics import check_metric_input, metric_name, plan_preparation
from ..graph.precomputed import as_distances
from ..graph.search import Points
from ..typing import FloatArray, Metric

Rows = NDArray[np.int64]
Indices = NDArray[np.int32]

_NUMBERS = 2**21  # distances in one block: what the cache of a processor can hold
_DIFFERENCES = 5  # the search kernel that squares differences (tile.hpp)
_ROUNDOFF, _SMALLEST = 2.0**-24, 2.0**-126


class Block(Protocol):
    """Some rows against all n."""

    @property
    def distances(self) -> NDArray[np.float32]:
        """Distances of the b rows to all n, or their squares where the source has `squared`."""

    def nearest(self, k: int) -> Indices:
        """The k nearest of each row, nearest first."""

    def ranks(self, targets: Indices) -> NDArray[np.int64]:
        """Ranks 1, 2, ... of the targets of each row among all others."""

    def order(self) -> Indices:
        """Ranks of all n, 0 for the row itself."""


class RowSource(Protocol):
    """n rows, of which any can be seen against all."""

    n: int
    squared: bool

    def block(self, rows: Rows) -> Block:
        """The given rows against all."""

    def pairs(self, pairs: Indices) -> FloatArray:
        """Distance of each pair of rows."""


class PointRows:
    """Dense rows under a metric of the neighbour search."""

    def __init__(self, X: FloatArray, metric: str, n_jobs: int) -> None:
        name = metric_name(metric)
        plan = plan_preparation(X, name)
        self.n, self.n_jobs, self.squared = len(X), n_jobs, name == "euclidean"
        self.points = Points.of(X, plan, n_jobs)
        self._by_differences = (
            plan.rule.search == 0
        )  # close points then do not lose their distance to rounding
        search = _DIFFERENCES if self._by_differences else plan.rule.search
        self._all = _core.DistanceRows(self.points.P, self.points.norm, search)
        self._scratch = np.empty(0, np.float32)

    def block(self, rows: Rows) -> PointBlock:
        """The given rows against all; good until the next block is asked for, which takes over its memory."""
        return self.new_block(self.points.X[rows], rows)

    def new_block(self, Q: FloatArray, origins: Rows) -> PointBlock:
        """Rows Q against all; `origins` are their numbers if they are among them, else -1."""
        P = self.points.plan.apply(Q)
        norm = self.points.plan.norms(P)
        if self._scratch.size < len(Q) * self.n:
            self._scratch = np.empty(len(Q) * self.n, np.float32)
        distances = self._scratch[: len(Q) * self.n].reshape(len(Q), self.n)
        self._all.rows(P, norm, origins, distances, self.n_jobs)
        return PointBlock(self, np.ascontiguousarray(Q), origins, norm, distances)

    def pairs(self, pairs: Indices) -> FloatArray:
        """Distance of each pair of rows."""
        return _core.metric_distances(self.points.X, pairs, self.points.plan.rule.kind, self.n_jobs)

    def rounding(self, norm: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
        """How far search distances of rows with these norms can be off: `offset + slope * distance`."""
        points, m = self.points, self.points.P.shape[1]
        if not points.rounds:
            return np.zeros(len(norm)), 0.0
        size = norm.astype(np.float64)
        if (
            self._by_differences
        ):  # each of m squares and sums rounds, and so do coordinates where P is not X itself
            coordinates = 16 * _ROUNDOFF if points.plan.copies(points.X) else 0.0
            return coordinates * size + m * _SMALLEST, (m + 32) * _ROUNDOFF
        bound, zero = points.plan.rule.rounding, np.zeros(1)
        slope = float((bound(zero, zero + 1, m) - bound(zero, zero, m))[0])
        return bound(size, np.zeros_like(size), m) + m * _SMALLEST, slope


class PointBlock:
    """Some dense rows against all."""

    def __init__(
        self,
        source: PointRows,
        Q: FloatArray,
        origins: Rows,
        norm: NDArray[np.float32],
        distances: NDArray[np.float32],
    ) -> None:
        self._source, self._Q, self._origins, self.distances = source, Q, origins, distances
        self._offset, self._slope = source.rounding(norm)

    def nearest(self, k: int) -> Indices:
        """The k nearest of each row, nearest first."""
        points, n_jobs = self._source.points, self._source.n_jobs
        index, _ = _core.exact_nearest(
            self.distances, self._Q, points.X, self._origins, points.plan.rule.kind, k,
            self._offset, self._slope, n_jobs,
        )  # fmt: skip
        return index

    def ranks(self, targets: Indices) -> NDArray[np.int64]:
        """Ranks 1, 2, ... of the targets of each row among all others."""
        points, n_jobs = self._source.points, self._source.n_jobs
        return _core.exact_ranks(
            self.distances, self._Q, points.X, self._origins, np.ascontiguousarray(targets),
            points.plan.rule.kind, self._offset, self._slope, n_jobs,
        )  # fmt: skip

    def order(self) -> Indices:
        """Ranks of all n, 0 for the row itself."""
        return _ranked(self.distances, self._origins, self._source.n_jobs)


class GivenRows:
    """Rows whose distances to all others a function gives: matrices of distances, sparse data, functions of two items."""

    squared = False

    def __init__(self, n: int, distances_of: Callable[[Rows], NDArray[np.float64]], n_jobs: int) -> None:
        self.n, self.n_jobs, self._distances_of = n, n_jobs, distances_of

    def block(self, rows: Rows) -> GivenBlock:
        """The given rows against all."""
        D = np.abs(
            np.ascontiguousarray(self._distances_of(rows), dtype=np.float64)
        )  # no −0, whose bits sort last
        D[np.arange(len(rows)), rows] = 0
        return GivenBlock(D, rows, self.n_jobs)

    def pairs(self, pairs: Indices) -> FloatArray:
        """Distance of each pair of rows."""
        first, back = np.unique(pairs[:, 0].astype(np.int64), return_inverse=True)
        found = np.empty(len(pairs))
        step = max(1, _NUMBERS // self.n)
        for start in range(0, len(first), step):
            D = self._distances_of(first[start : start + step])
            here = (back >= start) & (back < start + step)
            found[here] = D[back[here] - start, pairs[here, 1]]
        return found


class GivenBlock:
    """Some rows of given distances."""

    def __init__(self, D: NDArray[np.float64], origins: Rows, n_jobs: int) -> None:
        self._D, self._origins, self._n_jobs = D, origins, n_jobs

    @property
    def distances(self) -> NDArray[np.float32]:
        """Distances of the b rows to all n, in single precision."""
        return self._D.astype(np.float32)

    @cached_property
    def _order(self) -> Indices:
        return _ranked(self._D, self._origins, self._n_jobs)

    def nearest(self, k: int) -> Indices:
        """The k nearest of each row, nearest first."""
        rows, columns = np.nonzero((self._order >= 1) & (self._order <= k))
        index = np.empty((len(self._D), k), np.int32)
        index[rows, self._order[rows, columns] - 1] = columns
        return index

    def ranks(self, targets: Indices) -> NDArray[np.int64]:
        """Ranks 1, 2, ... of the targets of each row among all others."""
        return np.take_along_axis(self._order, targets.astype(np.int64), axis=1).astype(np.int64)

    def order(self) -> Indices:
        """Ranks of all n, 0 for the row itself."""
        return self._order


def _ranked(distances: NDArray[Any], origins: Rows, n_jobs: int) -> Indices:
    ranks = np.empty(distances.shape, np.int32)
    _core.rank_rows(distances, origins, ranks, n_jobs)
    return ranks


def row_source(X: Any, metric: Metric, n_jobs: int) -> RowSource:
    """The rows of X, of whatever kind `winkel.graph.knn` takes under `metric`, except neighbour lists."""
    if isinstance(X, Graph):
        raise InvalidInputError(
            "a map is measured against data, and a Graph holds only neighbours. Pass the rows, or distances with "
            'metric="precomputed".'
        )
    if callable(metric):
        return _by_function(X, metric, n_jobs)
    if metric == "precomputed":
        D = as_distances(X)
        return GivenRows(len(D), lambda rows: D[rows].astype(np.float64), n_jobs)
    values = as_matrix(X)
    check_metric_input(values, metric_name(metric))
    if sp.issparse(values):
        return _sparse_rows(values, metric_name(metric), n_jobs)
    return PointRows(values, metric, n_jobs)


def _by_function(X: Any, metric: Callable[[Any, Any], float], n_jobs: int) -> GivenRows:
    items = list(X)

    def distances(rows: Rows) -> NDArray[np.float64]:
        found = np.array([[metric(items[i], other) for other in items] for i in rows.tolist()], dtype=float)
        if not (found >= 0).all():
            raise InvalidInputError("the metric must return distances, none negative and none NaN.")
        return found

    return GivenRows(len(items), distances, n_jobs)


def _sparse_rows(X: Any, metric: str, n_jobs: int) -> GivenRows:
    if metric == "cosine":
        norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())
        X = sp.csr_matrix(sp.diags(1 / np.where(norm > 0, norm, 1)) @ X.astype(np.float64))
    else:
        X = sp.csr_matrix(X, dtype=np.float64)
    square = np.asarray(X.multiply(X).sum(axis=1)).ravel()

    def distances(rows: Rows) -> NDArray[np.float64]:
        products = (X[rows] @ X.T).toarray()
        if metric == "cosine":  # a row of zeros is at distance 0 from such rows and 1 from all others
            return np.where((square[rows][:, None] == 0) & (square == 0), 0, np.maximum(1 - products, 0))
        return np.sqrt(np.maximum(square[rows][:, None] + square - 2 * products, 0))

    return GivenRows(X.shape[0], distances, n_jobs)


def blocks(rows: Rows, n: int) -> Iterator[slice]:
    """Consecutive slices of `rows`, so many at a time that their distances to all n stay small."""
    step = int(np.clip(_NUMBERS // n // 8 * 8, 8, 256))
    for start in range(0, len(rows), step):
        yield slice(start, min(start + step, len(rows)))
