"""Blocks of rows compared with all rows: distances, nearest rows, ranks and order, never an n × n matrix.

`DenseRows` holds dense rows under one of the metrics of the neighbour search, `DistanceRows` anything else whose distances
can be computed row by row. A block gives exact neighbours and exact ranks (from float32 search distances, and from true
distances in double precision if those are too close to distinguish); its full `order` of all n rows uses search distances alone.
Equal distances are in cyclic order of index, as in `winkel.graph.knn`, so that a map equal to its data is perfect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..data import Table, as_matrix, as_table
from ..errors import InvalidInputError
from ..graph import Graph
from ..graph.graph import require_neighbor_lists
from ..graph.knn import nearest_rows, neighbor_graph
from ..graph.metrics import check_metric_input, formula_of, metric_name, plan_preparation
from ..graph.precomputed import as_distances
from ..graph.search import SLACK, Points
from ..maps import as_map
from ..run import Run
from ..typing import FloatArray, IntArray, Metric

Rows = NDArray[np.int64]
Indices = NDArray[np.int32]

_NUMBERS = 2**21  # distances in one block: what the cache of a processor can hold
DIFFERENCES = 5  # the search kernel that squares differences (tile.hpp)
_ROUNDOFF, _SMALLEST = 2.0**-24, 2.0**-126
_TREE_DIMENSIONS, _TREE_FROM = 3, 4000  # dimensions up to which, and rows from which on, a k-d tree is faster
_MANY_TIES = 0.02


class Block(Protocol):
    """Several rows compared with all n."""

    @property
    def distances(self) -> NDArray[np.float32]:
        """Distances of the b rows to all n, or their squares if the source has `squared`."""

    def nearest(self, k: int) -> Indices:
        """The k nearest of each row, nearest first."""

    def ranks(self, targets: Indices) -> NDArray[np.int64]:
        """Ranks 1, 2, ... of the targets of each row among all others."""

    def order(self) -> Indices:
        """Ranks of all n, 0 for the row itself."""


class RowSource(Protocol):
    """n rows, any of which can be compared with all."""

    n: int
    squared: bool

    def block(self, rows: Rows) -> Block:
        """These rows against all."""

    def pairs(self, pairs: Indices) -> FloatArray:
        """Distance of each pair of rows."""


class DenseRows:
    """Dense rows under a metric of the neighbour search."""

    def __init__(self, X: FloatArray, metric: str, n_jobs: int) -> None:
        name = metric_name(metric)
        plan = plan_preparation(X, name)
        self.n, self.n_jobs, self.squared = len(X), n_jobs, name == "euclidean"
        self.points = Points.of(X, plan, n_jobs)
        # Close points then do not lose their distance to rounding.
        self._by_differences = plan.rule.search == 0
        search = DIFFERENCES if self._by_differences else plan.rule.search
        self._all = _core.DistanceRows(self.points.P, self.points.norm, search)
        self._scratch = np.empty(0, np.float32)

    def block(self, rows: Rows) -> DenseBlock:
        """These rows compared with all; valid until the next block is requested, which reuses its memory."""
        return self.new_block(self.points.X[rows], rows)

    def new_block(self, Q: FloatArray, origins: Rows) -> DenseBlock:
        """Rows Q compared with all; `origins` are their row numbers if they are among them, otherwise -1."""
        P = self.points.plan.apply(Q)
        norm = self.points.plan.norms(P)
        if self._scratch.size < len(Q) * self.n:
            self._scratch = np.empty(len(Q) * self.n, np.float32)
        distances = self._scratch[: len(Q) * self.n].reshape(len(Q), self.n)
        self._all.rows(P, norm, origins, distances, self.n_jobs)
        return DenseBlock(self, np.ascontiguousarray(Q), origins, norm, distances)

    def pairs(self, pairs: Indices) -> FloatArray:
        """Distance of each pair of rows."""
        return _core.metric_distances(self.points.X, pairs, self.points.plan.rule.kind, self.n_jobs)

    def rounding(self, norm: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
        """How far search distances of rows with these norms can be off: `offset + slope * distance`."""
        points, m = self.points, self.points.P.shape[1]
        if not points.rounds:
            return np.zeros(len(norm)), 0.0
        size = norm.astype(np.float64)
        if self._by_differences:
            # Each of m squares and sums rounds, and so do coordinates where P is not X itself.
            coordinates = 16 * _ROUNDOFF if points.plan.copies(points.X) else 0.0
            return coordinates * size + m * _SMALLEST, (m + 32) * _ROUNDOFF
        bound, zero = points.plan.rule.rounding, np.zeros(1)
        slope = float((bound(zero, zero + 1, m) - bound(zero, zero, m))[0])
        return bound(size, np.zeros_like(size), m) + m * _SMALLEST, slope


class DenseBlock:
    """Several dense rows compared with all."""

    def __init__(
        self,
        source: DenseRows,
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


class DistanceRows:
    """Rows whose distances to all others are computed by a function: for matrices of distances, sparse data, and functions of two items."""

    squared = False

    def __init__(self, n: int, distances_of: Callable[[Rows], NDArray[np.float64]], n_jobs: int) -> None:
        self.n, self.n_jobs, self._distances_of = n, n_jobs, distances_of

    def block(self, rows: Rows) -> DistanceBlock:
        """These rows against all."""
        # Without −0, whose bits sort last.
        D = np.abs(np.ascontiguousarray(self._distances_of(rows), dtype=np.float64))
        D[np.arange(len(rows)), rows] = 0
        return DistanceBlock(D, rows, self.n_jobs)

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


class DistanceBlock:
    """Several rows, by their distances to all."""

    def __init__(self, D: FloatArray, origins: Rows, n_jobs: int) -> None:
        self._D, self._origins, self._n_jobs = D, origins, n_jobs

    @property
    def distances(self) -> NDArray[np.float32]:
        """Distances of the b rows to all n, in single precision."""
        return self._D.astype(np.float32, copy=False)

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


def has_rows(metric: Metric) -> bool:
    """Whether data under this metric is a table of rows, and not distances or other items."""
    return not callable(metric) and metric != "precomputed"


def map_table(map: Any, name: str = "map", min_rows: int = 2) -> Table:
    """The validated places of anything that is accepted as a map: an array, a fitted estimator, an Embedding, a file."""
    places = map if isinstance(map, Table) else as_map(map, name).Y
    return as_table(places, name=name, min_rows=min_rows, allow_sparse=False)


def row_source(X: Any, metric: Metric, run: Run) -> RowSource:
    """The rows of X, of any kind that `winkel.graph.knn` takes under `metric`, except neighbour lists."""
    if isinstance(X, Graph):
        raise InvalidInputError(
            "a map is compared with its data, but a Graph contains only neighbours. Pass the rows, or distances with "
            'metric="precomputed".'
        )
    if callable(metric):
        return _by_function(X, metric, run.n_jobs)
    if metric == "precomputed":
        D = as_distances(X)
        return DistanceRows(len(D), lambda rows: D[rows].astype(np.float64), run.n_jobs)
    values = as_matrix(X)
    check_metric_input(values, metric_name(metric))
    formula = formula_of(metric_name(metric), sparse=sp.issparse(values))
    if formula is not None:
        rows, between = formula.prepare(values)(values), formula.between
        return DistanceRows(values.shape[0], lambda index: between(rows[index], rows), run.n_jobs)
    if sp.issparse(values):
        return _sparse_rows(values, metric_name(metric), run.n_jobs)
    return DenseRows(values, metric, run.n_jobs)


def _by_function(X: Any, metric: Callable[[Any, Any], float], n_jobs: int) -> DistanceRows:
    items = list(X)

    def distances(rows: Rows) -> NDArray[np.float64]:
        found = np.array([[metric(items[i], other) for other in items] for i in rows.tolist()], dtype=float)
        if not (found >= 0).all():
            raise InvalidInputError("the metric must return distances, none negative and none NaN.")
        return found

    return DistanceRows(len(items), distances, n_jobs)


def _sparse_rows(X: Any, metric: str, n_jobs: int) -> DistanceRows:
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

    return DistanceRows(X.shape[0], distances, n_jobs)


def blocks(rows: Rows, n: int) -> Iterator[slice]:
    """Consecutive slices of `rows`, each small enough that its distances to all n rows fit into little memory."""
    step = int(np.clip(_NUMBERS // n // 8 * 8, 8, 256))
    for start in range(0, len(rows), step):
        yield slice(start, min(start + step, len(rows)))


def map_neighbors(Y: FloatArray, k: int, run: Run) -> Indices:
    """The k nearest other rows of every row of a map, nearest first; ties are in cyclic order of index, as in `knn`."""
    n = len(Y)
    if _tree_pays(Y, n):
        found, reach = _tree_query(Y, Y, min(k + 1 + SLACK, n), run.n_jobs)
        index, distance = _core.refine_neighbors(Y, Y, np.arange(n), found, 0, k, run.n_jobs)
        tied = np.flatnonzero(reach[:, -1] <= distance[:, -1].astype(np.float64) * (1 + 1e-6))
        if len(tied) <= _MANY_TIES * n:  # there the tree may have left out one as near as the last
            for start in range(0, len(tied), 64):
                part = tied[start : start + 64]
                index[part] = _core.direct_neighbors(Y[part], Y, part, 0, k, run.n_jobs)[0]
            return index
    graph = neighbor_graph(Table(Y, validated=True), k, run.quiet(), method="exact")
    return require_neighbor_lists(graph, "a map")[0]


def nearest_in_map(Y: FloatArray, queries: FloatArray, k: int, run: Run) -> IntArray:
    """The k rows of a map nearest to each query, nearest first."""
    if _tree_pays(Y, len(queries)):
        return _tree_query(Y, queries, k, run.n_jobs)[0]
    return nearest_rows(Table(queries, validated=True), Table(Y, validated=True), k, run.quiet())[0]


def _tree_pays(Y: FloatArray, n_queries: int) -> bool:
    return Y.shape[1] <= _TREE_DIMENSIONS and min(len(Y), n_queries) >= _TREE_FROM


def _tree_query(Y: FloatArray, queries: FloatArray, k: int, n_jobs: int) -> tuple[Indices, FloatArray]:
    from scipy.spatial import cKDTree

    tree = cKDTree(Y.astype(np.float64), balanced_tree=False)
    reach, found = tree.query(queries.astype(np.float64), k=np.arange(1, k + 1), workers=n_jobs)
    return np.ascontiguousarray(found.astype(np.int32)), reach
