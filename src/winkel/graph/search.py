"""Nearest neighbours of rows, dense and sparse.

For dense rows, an approximate or exact search in float32 is followed by true distances. The search uses squared norms and dot
products in float32, which have rounding errors. So it keeps a few more candidates than needed, computes their true distances, and
proves for every row, by a bound on the rounding error, that no other row can be nearer. Rows for which the proof fails are searched
again by true distances to all rows: exact means exact. Sparse rows are always searched exactly, in the same way, and never become dense.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..algebra import matmul, qr
from ..data.arrays import Matrix
from ..errors import InvalidParameterError
from ..run import Run, Stream
from ..typing import FloatArray
from .metrics import RULES, Float32, MetricRule, Preparation, range_factor
from .origin import Recall

Indices = NDArray[np.int32]
Rows = NDArray[np.int64]

SLACK = 8  # candidates beyond k for the proof of exactness
# The same for rows for which SLACK is not enough (with many columns, distances are very similar), and the values handled at a time.
_MORE_SLACK, _WIDE_STEP = 160, 2**18
_SMALLEST = 2.0**-126  # below it float32 has larger rounding errors, or rounds to zero
_SKETCH = 64  # coordinates of the projection that trees use instead of many columns
_LEAF = 256
# Trees are grown before the first round as long as they help much; later only if rounds no longer make progress.
_FIRST_TREES, _MAX_TREES, _TREES_ENOUGH, _MAX_ROUNDS, _STILL = 8, 12, 0.9, 20, 0.001
_SAMPLE = 512
# For rows of many columns: number of coordinates for the search, number of rows from which on it is used, and by which factors lists are longer.
_REDUCED, _REDUCED_FROM, _WIDER = 128, 10_000, (1.25, 1.5, 2.0)
_DIRECTIONS_FROM, _SUBSPACE_ROUNDS = 2048, 4  # rows of a sample, and rounds, for the directions
SUMS_OF_SQUARES = ("euclidean", "cosine", "correlation")  # metrics whose rows, once prepared, are compared so
_SPARSE_STEP = 512  # sparse rows searched between two looks at the progress


def check_neighbor_count(k: int, n: int) -> None:
    """Raise unless n rows have k neighbours each."""
    if k >= n:
        raise InvalidParameterError(
            f"n_neighbors={k} needs at least {k + 1} rows; got {n}. Use n_neighbors of at most {n - 1}."
        )


@dataclass(frozen=True)
class Points:
    """Rows of the data, and their form for the search."""

    X: Matrix
    P: Float32
    norm: Float32
    plan: Preparation
    n_jobs: int

    @classmethod
    def of(cls, X: Matrix, plan: Preparation, n_jobs: int) -> Points:
        """The points of validated data."""
        P = plan.apply(X)
        return cls(X, P, plan.norms(P), plan, n_jobs)

    def __len__(self) -> int:
        return len(self.X)

    @cached_property
    def rounds(self) -> bool:
        """Whether a search distance between two points may differ from the true distance."""
        return self.plan.rounds(self.X, self.P)


def exact(points: Points, k: int, run: Run) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the points among themselves."""
    search = _core.ExactSearch(
        points.P, points.norm, points.plan.rule.search, min(k + SLACK, len(points) - 1)
    )
    step = 4 * points.n_jobs
    for begin in run.progress(range(0, search.n_tasks, step), "exact neighbours"):
        search.run(begin, min(begin + step, search.n_tasks), points.n_jobs)
    candidates, reach = search.result()
    del search
    all_seen = reach.shape[1] >= len(points) - 1
    sure = all_seen or not points.rounds
    return _finish(points, points.X, points.norm, np.arange(len(points)), candidates, reach, k, sure)


def query(points: Points, Q: Matrix, origins: Rows, k: int) -> tuple[Indices, FloatArray]:
    """Exact neighbours of rows Q among the points; `origins` are the numbers of those rows that are points, otherwise -1.

    Each row's result depends on that row alone. Among points at equal distance, the first ones are neighbours.
    """
    P = points.plan.apply(Q)
    norm, rule = points.plan.norms(P), points.plan.rule
    width = min(k + SLACK + 1, len(points))
    candidates, reach = _core.search_queries(
        P, norm, points.P, points.norm, rule.search, width, points.n_jobs
    )
    sure = width == len(points) or not (points.rounds or points.plan.rounds(Q, P))
    return _finish(points, Q, norm, origins, candidates, reach, k, sure)


def _finish(
    points: Points,
    Q: Matrix,
    norm: Float32,
    origins: Rows,
    candidates: Indices,
    reach: Float32,
    k: int,
    sure: bool,
) -> tuple[Indices, FloatArray]:
    """The k nearest candidates; for rows for which another point might be nearer, from more candidates, and then from all points."""
    kind, n_jobs = points.plan.rule.kind, points.n_jobs
    index, distance = _core.refine_neighbors(Q, points.X, origins, candidates, kind, k, n_jobs)
    if sure:
        return index, distance
    unproved = np.flatnonzero(~_proved(points, norm, distance[:, -1], reach))
    width = min(k + _MORE_SLACK, len(points))
    if width > candidates.shape[1]:
        left = [unproved[:0]]
        for rows in blocks_of(unproved, max(64, min(1024, _WIDE_STEP // Q.shape[1]))):
            P, search = points.plan.apply(Q[rows]), points.plan.rule.search
            more, reach = _core.search_queries(P, norm[rows], points.P, points.norm, search, width, n_jobs)
            index[rows], distance[rows] = _core.refine_neighbors(
                Q[rows], points.X, origins[rows], more, kind, k, n_jobs
            )
            if width < len(points):
                left.append(rows[~_proved(points, norm[rows], distance[rows, -1], reach)])
        unproved = np.concatenate(left)
    for rows in blocks_of(unproved, 64):
        part = _core.direct_neighbors(Q[rows], points.X, origins[rows], kind, k, n_jobs)
        index[rows], distance[rows] = part
    return index, distance


def blocks_of(rows: Rows, size: int) -> list[Rows]:
    """`rows` in consecutive pieces."""
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def _proved(points: Points, norm: Float32, last: FloatArray, reach: Float32) -> NDArray[np.bool_]:
    """Rows whose last neighbour is certainly nearer than any point that the search left out."""
    plan = points.plan
    factor = points.X.shape[1] if plan.metric == "hamming" else plan.factor  # that search counts coordinates
    reached = plan.rule.to_search(last.astype(np.float64) * factor)
    return (last == 0) | rounding_allows(plan.rule, reached, norm, reach[:, -1], points.P.shape[1])


def rounding_allows(
    rule: MetricRule, reached: FloatArray, norm: Float32, limit: Float32, n_terms: int
) -> NDArray[np.bool_]:
    """Whether a pair at search distance `reached` is certainly closer than all pairs beyond `limit`, despite rounding."""
    reach = limit.astype(np.float64)
    error = rule.rounding(norm.astype(np.float64), reach, n_terms) + n_terms * _SMALLEST
    return reached * (1 + 1e-6) <= reach - error


class RecallProbe:
    """True neighbour distances of sampled rows, with which the results of a search are compared."""

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
        # Rows, not neighbours, are sampled. Where none was missed, three in all could have been.
        error = max(1.96 * float(share.std()) / math.sqrt(n), 3 / (n * self._k))
        error *= math.sqrt(1 - n / len(points))  # drawn without replacement
        return Recall(value, max(0.0, value - error), min(1.0, value + error), n)


def approximate(points: Points, k: int, target: float, run: Run) -> tuple[Indices, FloatArray, Recall]:
    """Approximate neighbours whose recall, measured on sampled rows, reached `target` or stopped growing."""
    seed, rule, n_jobs = run.seed, points.plan.rule, points.n_jobs
    probe = RecallProbe(points, k, seed)
    searched, width = _reduced(points, probe, k, target, seed)
    sketch = _sketch(searched, seed, n_jobs)
    first_trees, most_trees, compared = _FIRST_TREES, _MAX_TREES, _n_candidates(k)
    if searched is not points.P:  # trees of few coordinates cost little compared with a round
        first_trees, most_trees, compared = 2 * first_trees, 2 * most_trees, min(48, compared)
    search = _core.NeighborDescent(
        searched, points.norm, sketch, rule.search, width, compared, _LEAF, seed, n_jobs
    )
    del searched, sketch
    recall = probe.measure(search.peek(probe.rows))
    trees, still = 1, False
    for _ in run.progress(range(most_trees + _MAX_ROUNDS), "approximate neighbours"):
        if recall.low >= target or (still and trees == most_trees):
            break
        # Descent alone does not leave the leaves of one tree when these are closed; another tree joins them.
        first = trees < first_trees and recall.value < _TREES_ENOUGH
        if first or (still and trees < most_trees):
            search.grow_tree(n_jobs)
            trees, still = trees + 1, False
        else:
            still = search.round(n_jobs) < _STILL * len(points) * width
        recall = probe.measure(search.peek(probe.rows))
    rows = np.arange(len(points))
    search.finish()
    candidates = search.peek(rows)
    del search
    index, distance = _core.refine_neighbors(points.X, points.X, rows, candidates, rule.kind, k, n_jobs)
    for few in blocks_of(np.flatnonzero(index[:, -1] < 0), 64):  # lists that did not fill up
        index[few], distance[few] = _core.direct_neighbors(points.X[few], points.X, few, rule.kind, k, n_jobs)
    return index, distance, recall


def _list_width(k: int) -> int:
    """Number of neighbours that are listed during a search for k: a few more, through which others are found."""
    return k + max(5, k // 8)


def _n_candidates(k: int) -> int:
    """Number of neighbours of a row that a round compares: enough that after the first trees, one round finds most missing neighbours."""
    return int(np.clip(2 * k // 3, 36, 64))


def _sketch(P: Float32, seed: int, n_jobs: int) -> Float32:
    """The points in the form that the trees use."""
    m = P.shape[1]
    if m <= 2 * _SKETCH:
        return P
    directions = Stream.named(seed, "sketch").normal((m, _SKETCH)).astype(np.float32)
    return _core.project(P, directions, n_jobs)


def _reduced(points: Points, probe: RecallProbe, k: int, target: float, seed: int) -> tuple[Float32, int]:
    """The points in the form in which they are searched, and the number of neighbours that are listed during the search.

    Rows of many columns are searched by their coordinates along the directions of largest variance. The sum of the squared norms of two
    whole rows minus twice the product of such coordinates equals their squared distance, except for the products beyond those directions.
    True distances then select among the listed neighbours. The necessary number of listed neighbours is measured on sampled rows; if it
    is too large, whole rows are searched.
    """
    P, n, n_jobs = points.P, len(points), points.n_jobs
    whole = P, min(_list_width(k), n - 1)
    if n < _REDUCED_FROM or P.shape[1] <= 2 * _REDUCED or points.plan.metric not in SUMS_OF_SQUARES:
        return whole
    directions = principal_directions(P, _REDUCED, Stream.named(seed, "directions"), n_jobs)
    halves = np.split(directions, _REDUCED // _SKETCH, axis=1)
    near = np.concatenate([_core.project(P, np.ascontiguousarray(half), n_jobs) for half in halves], axis=1)
    rows = probe.rows
    for share in _WIDER:
        width = min(math.ceil(share * k) + SLACK, n - 1)
        found, _ = _core.search_queries(
            near[rows], points.norm[rows], near, points.norm, points.plan.rule.search, width, n_jobs
        )
        if probe.measure(found).value >= 0.5 * (1 + target):
            return near, width
    return whole


def principal_directions(P: Float32, count: int, stream: Stream, n_jobs: int) -> Float32:
    """Orthonormal directions of approximately the largest variance in a sample of the rows; the same bytes everywhere."""
    chosen = np.sort(stream.permutation(len(P))[:_DIRECTIONS_FROM])
    sample = P[chosen].astype(np.float64)
    sample -= sample.mean(axis=0)
    basis = stream.normal((P.shape[1], count))
    for _ in range(_SUBSPACE_ROUNDS):
        basis = matmul(sample.T, matmul(sample, qr(basis)[0], n_jobs), n_jobs)
    return np.ascontiguousarray(qr(basis)[0], dtype=np.float32)


def forecast(X: FloatArray, k: int, *, copies: bool, exactly: bool, n_jobs: int) -> float:
    """Bytes that a search needs in addition to the data: an upper estimate of the peak."""
    n, m = X.shape
    row = 4.0 * m
    result = k * (4 + X.itemsize) + 8
    prepared = (row if copies else 0) + 4
    if exactly:
        width = min(k + SLACK, n - 1)
        lists = max(16 * width + 9, 8 * width + result, 2 * result)
        return n * (prepared + lists) + n_jobs * max(2.0**19, 48 * row) + 16e6
    width = _list_width(k)
    sketch = 2 * 4.0 * _SKETCH if m > 2 * _SKETCH else 0
    lists, chosen = (8 * 8 * math.ceil(length / 8) + 9 for length in (width, _n_candidates(k)))
    candidates = (
        2 * 4 * (_n_candidates(k) + 1) + 8 + 2 * chosen / 4
    )  # chosen for a quarter of the rows at a time
    leaf = (_LEAF + 48) * (row + 8)
    # While rounds are made, or when the lists of the search become the result.
    peak = max(row + 4 + sketch + 20 + lists + candidates, 12 + lists + 4 * width, 4 * width + 2 * result)
    return n * (prepared + peak) + n_jobs * leaf + 16e6


def forecast_sparse(X: Matrix, k: int, metric: str, n_jobs: int) -> float:
    """The same for the exact search of the rows of a CSR matrix."""
    n, m = X.shape
    width, entry = min(k + SLACK, n - 1), 44.0 if metric == "cosine" else 28.0
    copies = 16.0 * n + 24.0 * X.nnz  # the rows once more, and their columns as lists
    scratch = 4.0 * n + 64.0 * min(m, X.nnz)
    return n * (width * 24.0 + 40) + X.nnz * entry + copies + n_jobs * scratch + 16e6


def exact_sparse(X: Matrix, k: int, metric: str, run: Run) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the rows of a CSR matrix among themselves."""
    (n, m), n_jobs = X.shape, run.n_jobs
    width, rule = min(k + SLACK, n - 1), RULES[metric]
    need = forecast_sparse(X, k, metric, n_jobs)
    run.check_memory(need, f"The neighbour search of {n} sparse rows", "Raise max_memory or lower n_jobs.")
    P, factor = prepare_sparse(X, metric)
    indptr, indices, values = _csr_parts(P)
    norm = squared_row_norms(P).astype(np.float32)
    search = _core.SparseSearch(indptr, indices, values.astype(np.float32), P.shape[1], norm, width)
    del P, values, indptr, indices  # the search has copies
    for first in run.progress(range(0, n, _SPARSE_STEP), "exact neighbours"):
        search.run(first, min(n, first + _SPARSE_STEP), n_jobs)
    candidates, reach = search.result()
    del search
    parts = _csr_parts(X)
    index, distance = _core.refine_neighbors_sparse(*parts, m, candidates, rule.kind, k, n_jobs)
    last = distance[:, -1]
    reached = rule.to_search(last.astype(np.float64) * factor)
    longest = int(np.diff(X.indptr).max(initial=0))
    proved = (last == 0) | (width >= n - 1) | rounding_allows(rule, reached, norm, reach[:, -1], longest)
    for rows in blocks_of(np.flatnonzero(~proved), 64):
        index[rows], distance[rows] = _core.direct_neighbors_sparse(*parts, m, rows, rule.kind, k, n_jobs)
    return index, distance


def prepare_sparse(X: Matrix, metric: str) -> tuple[Matrix, float]:
    """The rows to search, in double precision, and the factor by which distances between them are too large."""
    if metric == "cosine":
        return _unit_sparse_rows(X), 1.0
    factor = range_factor(float(np.abs(X.data).max(initial=0)))
    return sp.csr_matrix((X.data * np.float64(factor), X.indices, X.indptr), shape=X.shape), factor


def _unit_sparse_rows(X: Matrix) -> Matrix:
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


def query_sparse(X: Matrix, Q: Matrix, k: int, metric: str, run: Run) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the rows of Q among those of X, both CSR. Each row's result depends on that row alone."""
    return _core.query_sparse(_csr_parts(Q), _csr_parts(X), X.shape[1], RULES[metric].kind, k, run.n_jobs)


def _csr_parts(X: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    """A CSR matrix as the core takes it."""
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
