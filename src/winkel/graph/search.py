"""Nearest neighbours of dense rows: an approximate or exact search in float32, then true distances.

The search works on squared norms and dot products in float32, which round. So it keeps a few more
candidates than asked for, takes true distances of those, and proves for every row, by a bound on the
rounding, that no other row can be nearer. Rows where the proof fails are searched again by true distances
to all rows: exact means exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.arrays import Matrix
from ..random import Stream
from ..typing import FloatArray
from .metrics import Float32, Preparation, plan_preparation
from .origin import Recall

Indices = NDArray[np.int32]
Rows = NDArray[np.int64]
Show = Callable[[Iterable[Any], str], Iterable[Any]]  # passes an iterable on, showing progress

SLACK = 8  # candidates beyond k that the proof of exactness can lean on
_ROUNDOFF = 2.0**-24
_SKETCH = 64  # coordinates of the projection that trees see in place of many more
_LEAF, _CANDIDATES = 256, 24  # two dozen new and as many old candidates fill one panel of the tile kernel
_MAX_TREES, _TREES_ENOUGH, _MAX_ROUNDS, _STILL = 12, 0.9, 20, 0.001
_SAMPLE = 512


@dataclass(frozen=True)
class Points:
    """Rows as given, and as they are searched."""

    X: Matrix
    P: Float32
    norm: Float32
    plan: Preparation
    n_jobs: int

    @classmethod
    def of(cls, X: Matrix, metric: str, n_jobs: int) -> Points:
        """The points of validated data."""
        plan = plan_preparation(X, metric)
        P = np.ascontiguousarray(plan.apply(X))
        return cls(X, P, squared_norms(P), plan, n_jobs)

    def __len__(self) -> int:
        return len(self.X)


def squared_norms(P: Float32) -> Float32:
    """Squared norm of every row (of rows of zeros and ones: how many ones)."""
    return np.einsum("ij,ij->i", P, P)


def exact(points: Points, k: int, show: Show) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the points among themselves."""
    search = _core.ExactSearch(
        points.P, points.norm, points.plan.rule.search, min(k + SLACK, len(points) - 1)
    )
    step = 4 * points.n_jobs
    for begin in show(range(0, search.n_tasks, step), "exact neighbours"):
        search.run(begin, min(begin + step, search.n_tasks), points.n_jobs)
    candidates, far = search.result()
    del search
    return _finish(points, points.X, points.norm, np.arange(len(points)), candidates, far, k)


def query(points: Points, Q: Matrix, origins: Rows, k: int) -> tuple[Indices, FloatArray]:
    """Exact neighbours of rows Q among the points; `origins` are their numbers if they are points, else -1.

    Each row's result depends on that row alone.
    """
    P = np.ascontiguousarray(points.plan.apply(Q))
    norm, rule = squared_norms(P), points.plan.rule
    width = min(k + SLACK + 1, len(points))
    candidates, far = _core.search_queries(P, norm, points.P, points.norm, rule.search, width, points.n_jobs)
    return _finish(points, Q, norm, origins, candidates, far, k)


def _finish(
    points: Points, Q: Matrix, norm: Float32, origins: Rows, candidates: Indices, far: Float32, k: int
) -> tuple[Indices, FloatArray]:
    """The k nearest of the candidates, and of all points for rows where something else might be nearer."""
    kind, n_jobs = points.plan.rule.kind, points.n_jobs
    index, distance = _core.refine_neighbors(Q, points.X, origins, candidates, kind, k, n_jobs)
    for rows in blocks_of(np.flatnonzero(~_proved(points, norm, distance[:, -1], far)), 64):
        part = _core.direct_neighbors(Q[rows], points.X, origins[rows], kind, k, n_jobs)
        index[rows], distance[rows] = part
    return index, distance


def blocks_of(rows: Rows, size: int) -> list[Rows]:
    """`rows` in consecutive pieces."""
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def _proved(points: Points, norm: Float32, last: FloatArray, far: Float32) -> NDArray[np.bool_]:
    """Rows whose last neighbour is nearer than anything that the search left out can be."""
    if far.shape[1] >= len(points) - 1:
        return np.ones(len(last), dtype=bool)
    plan = points.plan
    factor = points.X.shape[1] if plan.metric == "hamming" else plan.factor  # that search counts coordinates
    reached = plan.rule.to_search(last.astype(np.float64) * factor)
    return (last == 0) | rounding_allows(reached, norm, far[:, -1], points.P.shape[1])


def rounding_allows(reached: FloatArray, norm: Float32, limit: Float32, n_terms: int) -> NDArray[np.bool_]:
    """Whether a pair at search distance `reached` beats all pairs found beyond `limit`, rounding allowed for.

    A dot product errs by at most one rounding of |x||y| a term, and a row at squared distance `limit` from
    x has squared norm at most 2 (|x|² + limit).
    """
    limit = limit.astype(np.float64)
    error = (n_terms + 8) * _ROUNDOFF * 3 * (norm.astype(np.float64) + limit)
    return reached * (1 + 1e-6) <= limit - error


class RecallProbe:
    """True neighbour distances of some rows, against which a search is held."""

    def __init__(self, points: Points, k: int, seed: int) -> None:
        self._points, self._k = points, k
        self.rows: Rows = np.sort(Stream.named(seed, "recall").permutation(len(points))[:_SAMPLE])
        _, distance = query(points, points.X[self.rows], self.rows, k)
        self._reach = distance[:, -1:] * (1 + 1e-6)  # any row as near as the k-th neighbour is a true one

    def measure(self, candidates: Indices) -> Recall:
        """Share of true neighbours among the k nearest candidates of the sampled rows, with 95 % interval."""
        points = self._points
        _, distance = _core.refine_neighbors(
            points.X[self.rows],
            points.X,
            self.rows,
            candidates,
            points.plan.rule.kind,
            self._k,
            points.n_jobs,
        )
        share = (distance <= self._reach).mean(axis=1)
        value, n = float(share.mean()), len(share)
        # Rows, not neighbours, are sampled; drawn without replacement from len(points).
        error = (
            float(share.std(ddof=1)) / math.sqrt(n) * math.sqrt(max(0.0, 1 - n / len(points)))
            if n > 1
            else 0.0
        )
        return Recall(value, max(0.0, value - error), min(1.0, value + error), n)


def approximate(
    points: Points, k: int, seed: int, target: float, show: Show
) -> tuple[Indices, FloatArray, Recall]:
    """Approximate neighbours whose recall, measured on sampled rows, reached `target` or stopped growing."""
    probe = RecallProbe(points, k, seed)
    width = min(k + max(5, k // 3), len(points) - 1)
    sketch, rule, n_jobs = _sketch(points, seed), points.plan.rule, points.n_jobs
    search = _core.NeighborDescent(
        points.P, points.norm, sketch, rule.search, width, _CANDIDATES, _LEAF, seed, n_jobs
    )
    recall = probe.measure(search.peek(probe.rows))
    for _ in show(range(_MAX_TREES - 1), "neighbour trees"):
        if recall.value >= _TREES_ENOUGH:
            break
        search.grow_tree(n_jobs)
        recall = probe.measure(search.peek(probe.rows))
    for _ in show(range(_MAX_ROUNDS), "neighbours of neighbours"):
        if recall.low >= target:
            break
        changed = search.round(n_jobs)
        recall = probe.measure(search.peek(probe.rows))
        if changed < _STILL * len(points) * width:
            break
    rows = np.arange(len(points))
    candidates = search.peek(rows)
    del search
    index, distance = _core.refine_neighbors(points.X, points.X, rows, candidates, rule.kind, k, n_jobs)
    return index, distance, recall


def _sketch(points: Points, seed: int) -> Float32:
    """The points as the trees see them."""
    m = points.P.shape[1]
    if m <= 2 * _SKETCH:
        return points.P
    directions = Stream.named(seed, "sketch").normal((m, _SKETCH)).astype(np.float32)
    return _core.project(points.P, directions, points.n_jobs)


def forecast(n: int, n_features: int, itemsize: int, k: int, *, copies: bool, exactly: bool) -> float:
    """Bytes that a search needs beside the data: upper estimate of the peak."""
    row = 4.0 * n_features
    result = k * (4 + itemsize) + 8
    prepared = (row if copies else 0) + 4
    if exactly:
        width = min(k + SLACK, n - 1)
        return n * (prepared + width * 8 + 9 + max(width * 8, result + width * 8 - 9)) + 16e6
    width = k + max(5, k // 3)
    sketch = 2 * 4.0 * _SKETCH if n_features > 2 * _SKETCH else 0
    lists = 8.0 * (width + 2 * _CANDIDATES) + 27
    return n * (prepared + row + 4 + sketch + lists + 28 + width * 4 + result) + 16e6
