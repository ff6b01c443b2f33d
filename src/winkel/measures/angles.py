"""How well a map keeps norms and small angles: the measures of Saul (2023), eqs 11 and 12 and appendix B.

All of them compare the angles of close pairs Ω_x in the data with the angles of the same pairs in the map. Close pairs are
chosen by `threshold` (all pairs whose cosine exceeds it, as in the paper) or by `n_neighbors` (each row and
its nearest rows by angle). There is never a matrix of all pairs: rows are handled block by block. Above `_ALL_ROWS` rows, a
sample of rows represents all, and the score has a 95 % interval. Rows of zeros have no angle and are in no pair.

The public functions are the paper's measures, for any threshold. `measure` uses the same parts for its scores of neighbours (`scores.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algebra import arccos, matmul, one_blas_thread
from ..checks import flag, integer, number, optional
from ..data import Table, as_table
from ..errors import InvalidInputError
from ..graph.knn import nearest_rows
from ..run import Run, Stream, resolve_seed
from ..typing import IntArray, RandomState
from .registry import Score, Value, scores
from .sources import Rows, blocks, map_table, row_source

Matrix = NDArray[np.float64]
Sums = tuple[Matrix, Matrix]  # of every row: what is counted, and of how many

_ALL_ROWS = 5000  # up to this number of rows, all are measured unless a sample is requested
_SAMPLE = 2000  # rows of a sample that nobody chose
_ROWS, _COLUMNS = 128, 4096  # pairs that are worked on at a time
_ANGLES = 256  # rows whose angles to their neighbours are computed at a time


def angular_deviation(
    X: Any,
    map: Any,
    *,
    n_neighbors: int = 15,
    threshold: float | None = None,
    sample: int | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Score:
    """Δ, the mean change in degrees of the angle between close rows (Saul 2023, eq 11).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows; those of zeros have no angle and are in no pair.
    map : array, estimator, Embedding or file
        The map of these rows.
    n_neighbors : int, default=15
        Each row and its `n_neighbors` nearest rows by angle are close.
    threshold : float or None, default=None
        If given, all pairs whose cosine exceeds it are close, as in the paper.
    sample : int or None, default=None
        Number of rows to compare with all others; None takes all rows up to 5 000, and 2 000 beyond.
    random_state : int, Generator or None, default=0
        The seed of that sample.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    Score
        Δ, with its 95 % interval if rows were sampled.

    Examples
    --------
    >>> from winkel.measures.angles import angular_deviation
    >>> X = [[1.0, 0.0], [1.0, 0.2], [0.0, 1.0]]
    >>> angular_deviation(X, [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], threshold=0.9).value.__round__(2)
    11.31
    """
    pair = _pair(X, map)
    rows = _chosen_rows(len(pair), sample, random_state)
    sums = _rule(pair, threshold, n_neighbors, _deviation_by_threshold, _deviation_by_neighbors)
    total, count = _by_blocks(rows, n_jobs, sums)
    found = ratio(np.degrees(total), count, rows, len(pair), (0.0, 180.0), empty=0.0)
    return scores()["angular_deviation"].score(found)


def jaccard(
    X: Any,
    map: Any,
    *,
    n_neighbors: int = 15,
    threshold: float | None = None,
    diagonal: bool = False,
    sample: int | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Score:
    """J, the number of close pairs that data and map share, relative to those in either (Saul 2023, eq 12).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows; those of zeros have no angle and are in no pair.
    map : array, estimator, Embedding or file
        The map of these rows.
    n_neighbors : int, default=15
        Each row and its `n_neighbors` nearest rows by angle are close.
    threshold : float or None, default=None
        If given, all pairs whose cosine exceeds it are close, as in the paper.
    diagonal : bool, default=False
        Whether every row also counts as close to itself, as eq 12 literally says. J is then larger for rows with few close
        rows.
    sample : int or None, default=None
        Number of rows to compare with all others; None takes all rows up to 5 000, and 2 000 beyond.
    random_state : int, Generator or None, default=0
        The seed of that sample.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    Score
        J, with its 95 % interval if rows were sampled.

    Examples
    --------
    >>> from winkel.measures.angles import jaccard
    >>> X, Y = [[1.0, 0.0], [1.0, 0.2], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    >>> jaccard(X, Y, threshold=0.9).value, jaccard(X, Y, threshold=0.9, diagonal=True).value.__round__(2)
    (0.0, 0.43)
    """
    pair = _pair(X, map)
    rows = _chosen_rows(len(pair), sample, random_state)
    sums = _rule(pair, threshold, n_neighbors, _shared_by_angle, _shared_by_neighbors)
    both, either = _by_blocks(rows, n_jobs, sums)
    if flag("diagonal", diagonal):
        before, after = pair.data.norm[rows] > 0, pair.map.norm[rows] > 0
        both, either = both + (before & after), either + (before | after)
    return scores()["jaccard"].score(ratio(both, either, rows, len(pair), (0.0, 1.0), empty=1.0))


def distance_jaccard(
    X: Any,
    map: Any,
    *,
    threshold: float,
    sample: int | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Score:
    """J of pairs with cosine above `threshold` in the data and ½‖y_i − y_j‖² < 1 − threshold in the map.

    This is the variant of Saul (2023), appendix B, for maps such as Isomap's that were made from distances between rows
    of unit norm and keep no angles.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows.
    map : array, estimator, Embedding or file
        The map of these rows.
    threshold : float
        The cosine.
    sample : int or None, default=None
        Number of rows to compare with all others; None takes all rows up to 5 000, and 2 000 beyond.
    random_state : int, Generator or None, default=0
        The seed of that sample.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    Score
        J, with its 95 % interval if rows were sampled.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.measures.angles import distance_jaccard
    >>> from winkel.methods.tsm import isomap_map
    >>> X = wk.datasets.load_digits().X[:300]
    >>> 0 < distance_jaccard(X, isomap_map(X, 4, threshold=0.7), threshold=0.7).value < 1
    True
    """
    pair = _pair(X, map)
    rows, cosine = _chosen_rows(len(pair), sample, random_state), _checked_threshold(threshold)
    both, either = _by_blocks(rows, n_jobs, lambda part: _shared_by_distance(pair, part, cosine))
    found = ratio(both, either, rows, len(pair), (0.0, 1.0), empty=1.0)
    meaning = "Share of pairs, close by angle in the data and by distance in the map, that both have."
    return Score(
        "distance_jaccard", float(found.value), (0.0, 1.0), True, meaning, found.per_point, found.interval, found.n_sampled
    )  # fmt: skip


def norm_error(X: Any, map: Any) -> Score:
    """Median over rows of |‖y‖/‖x‖ − 1|.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows. The error of a row of zeros is 0 if its place is zero too, otherwise 1.
    map : array, estimator, Embedding or file
        The map of these rows.

    Returns
    -------
    Score
        The median, with the value of each row.

    Examples
    --------
    >>> from winkel.measures.angles import norm_error
    >>> norm_error([[3.0, 4.0], [0.0, 1.0], [0.0, 2.0]], [[4.0], [1.0], [2.0]]).per_point.round(2).tolist()
    [0.2, 0.0, 0.0]
    """
    pair = _pair(X, map)
    return scores()["norm_error"].score(norm_difference(pair.data.norm, pair.map.norm))


# ---------------------------------------------------------------------------------- parts that `measure` uses too


@dataclass(frozen=True, eq=False)
class Directions:
    """Rows with their norms."""

    values: Any
    norm: Matrix

    @classmethod
    def of(cls, values: Any) -> Directions:
        """The rows of a matrix, dense or sparse."""
        parts = [
            np.linalg.norm(_dense(values[i : i + _COLUMNS]), axis=1)
            for i in range(0, values.shape[0], _COLUMNS)
        ]
        return cls(values, np.concatenate(parts))

    def unit(self, rows: Any) -> Matrix:
        """Rows scaled to unit norm; rows of zeros stay zero."""
        norm = self.norm[rows]
        return _dense(self.values[rows]) / np.where(norm > 0, norm, 1.0)[:, None]


@dataclass(frozen=True, eq=False)
class Angles:
    """Angles in radians between each measured row and its nearest rows by angle in the data.

    `neighbors` are those rows; `data` and `map` the angles there; `defined` is False where a row of zeros has none.
    """

    neighbors: IntArray
    data: Matrix
    map: Matrix
    defined: NDArray[np.bool_]


def nearest_by_angle(values: Any, rows: Rows, k: int, run: Run) -> IntArray:
    """The k nearest others by angle of these rows of a dense or sparse matrix."""
    source = row_source(Table(values, validated=True), "cosine", run)
    lists = [source.block(rows[part]).nearest(k) for part in blocks(rows, source.n)]
    return np.concatenate(lists).astype(np.int64)


def angles_between(of: Directions, rows: Rows, others: IntArray) -> Matrix:
    """Angle of each row to each of its k others."""
    found = np.empty(others.shape)
    for start in range(0, len(rows), _ANGLES):
        part = slice(start, start + _ANGLES)
        found[part] = _angles(of, rows[part], others[part])
    return found


def norm_difference(data: Matrix, map: Matrix) -> Value:
    """The median relative difference of norms, and that of each row."""
    error = np.abs(np.divide(map, data, out=1.0 + (map > 0), where=data > 0) - 1.0)
    return Value(float(np.median(error)), error)


def ratio(
    top: Matrix, bottom: Matrix, rows: IntArray, n: int, limits: tuple[float, float], *, empty: float
) -> Value:
    """Σ top / Σ bottom, of a sample with the interval of a ratio of means; `empty` where there is nothing to count."""
    whole = float(bottom.sum())
    value = float(top.sum()) / whole if whole > 0 else empty
    if len(rows) == n:
        points = np.divide(top, bottom, out=np.full(len(rows), np.nan), where=bottom > 0)
        return Value(value, points)
    error = 0.0
    if whole > 0:
        left = 1.0 - len(rows) / n  # a sample without replacement knows part of the whole
        spread = np.var(top - value * bottom, ddof=1)
        error = 1.96 * float(np.sqrt(left * spread * len(rows))) / whole
    interval = (max(limits[0], value - error), min(limits[1], value + error))
    return Value(value, interval=interval, n_sampled=len(rows))


# --------------------------------------------------------------------------------------------------- rows and rules


@dataclass(frozen=True, eq=False)
class _Pair:
    """Data and map of the same rows."""

    data: Directions
    map: Directions

    def __len__(self) -> int:
        return len(self.map.norm)


def _pair(X: Any, map: Any) -> _Pair:
    data, places = as_table(X).values, map_table(map).values
    if data.shape[0] != places.shape[0]:
        raise InvalidInputError(
            f"X and map must have the same rows; X has {data.shape[0]} and map has {places.shape[0]}."
        )
    return _Pair(Directions.of(data), Directions.of(places))


def _dense(rows: Any) -> Matrix:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _chosen_rows(n: int, sample: int | None, random_state: RandomState) -> IntArray:
    """The rows to measure: all, or a sample in ascending order."""
    size = optional(integer, "sample", sample, 2)
    if size is None:
        size = n if n <= _ALL_ROWS else _SAMPLE
    if size >= n:
        return np.arange(n)
    return np.sort(Stream.named(resolve_seed(random_state), "angles").permutation(n)[:size])


def _rule(
    pair: _Pair,
    threshold: float | None,
    n_neighbors: int,
    by_threshold: Callable[[_Pair, IntArray, float], Sums],
    by_neighbors: Callable[[_Pair, IntArray, int], Sums],
) -> Callable[[IntArray], Sums]:
    """The function that sums over a block of rows; it depends on how close pairs are defined."""
    if threshold is not None:
        cosine = _checked_threshold(threshold)
        return lambda rows: by_threshold(pair, rows, cosine)
    k = min(integer("n_neighbors", n_neighbors, 1), len(pair) - 1)
    return lambda rows: by_neighbors(pair, rows, k)


def _checked_threshold(threshold: float) -> float:
    return number("threshold", threshold, 0.0, 1.0, low_open=True, high_open=True)


def _by_blocks(rows: IntArray, n_jobs: int | None, sums: Callable[[IntArray], Sums]) -> Sums:
    """The two sums of every row; blocks have a fixed size, so that threads change no byte."""
    parts = [rows[i : i + _ROWS] for i in range(0, len(rows), _ROWS)]
    jobs = Run.of(random_state=0, n_jobs=n_jobs).n_jobs
    with one_blas_thread(), ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(sums, parts))
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


def _columns(pair: _Pair) -> list[slice]:
    return [slice(c, min(c + _COLUMNS, len(pair))) for c in range(0, len(pair), _COLUMNS)]


# ------------------------------------------------------------------------------------------------------ by threshold


def _without_self(close: NDArray[np.bool_], rows: IntArray, columns: slice) -> NDArray[np.bool_]:
    """Which entries of rows × columns are close pairs; a row is not paired with itself."""
    inside = (rows >= columns.start) & (rows < columns.stop)
    close[np.flatnonzero(inside), rows[inside] - columns.start] = False
    return close


def _deviation_by_threshold(pair: _Pair, rows: IntArray, threshold: float) -> Sums:
    x, y = pair.data.unit(rows), pair.map.unit(rows)
    total, count = np.zeros(len(rows)), np.zeros(len(rows))
    for columns in _columns(pair):
        cosine = matmul(x, pair.data.unit(columns).T)
        close = _without_self(cosine > threshold, rows, columns)
        i, j = np.nonzero(close)
        after = np.sum(y[i] * pair.map.unit(columns)[j], axis=1)
        total += np.bincount(i, np.abs(_arccos(cosine[i, j]) - _arccos(after)), minlength=len(rows))
        count += close.sum(axis=1)
    return total, count


def _shared_by_angle(pair: _Pair, rows: IntArray, threshold: float) -> Sums:
    y = pair.map.unit(rows)
    return _shared(pair, rows, threshold, lambda columns: matmul(y, pair.map.unit(columns).T) > threshold)


def _shared_by_distance(pair: _Pair, rows: IntArray, threshold: float) -> Sums:
    y, square = _dense(pair.map.values[rows]), pair.map.norm**2

    def close(columns: slice) -> NDArray[np.bool_]:
        product = matmul(y, _dense(pair.map.values[columns]).T)
        return 0.5 * (square[rows][:, None] + square[columns]) - product < 1.0 - threshold

    return _shared(pair, rows, threshold, close)


def _shared(
    pair: _Pair, rows: IntArray, threshold: float, close_in_map: Callable[[slice], NDArray[np.bool_]]
) -> Sums:
    """How many pairs of each row are close in data and map, and in data or map."""
    x = pair.data.unit(rows)
    both, either = np.zeros(len(rows)), np.zeros(len(rows))
    for columns in _columns(pair):
        before = _without_self(matmul(x, pair.data.unit(columns).T) > threshold, rows, columns)
        after = _without_self(close_in_map(columns), rows, columns)
        both += (before & after).sum(axis=1)
        either += (before | after).sum(axis=1)
    return both, either


# ------------------------------------------------------------------------------------------------------ by neighbours


def _deviation_by_neighbors(pair: _Pair, rows: IntArray, k: int) -> Sums:
    others = _neighbors(pair.data.values, rows, k)
    counted = (pair.data.norm[rows] > 0)[:, None] & (pair.data.norm[others] > 0)
    change = np.abs(_angles(pair.data, rows, others) - _angles(pair.map, rows, others))
    return np.where(counted, change, 0.0).sum(axis=1), counted.sum(axis=1).astype(np.float64)


def _shared_by_neighbors(pair: _Pair, rows: IntArray, k: int) -> Sums:
    return shared_lists(_neighbors(pair.data.values, rows, k), _neighbors(pair.map.values, rows, k))


def shared_lists(data: IntArray, map: IntArray) -> Sums:
    """How many neighbours of each row two lists share, and how many either has."""
    both = (data[:, :, None] == map[:, None, :]).sum(axis=(1, 2)).astype(np.float64)
    return both, 2.0 * data.shape[1] - both


def _neighbors(values: Any, rows: IntArray, k: int) -> IntArray:
    """The k nearest rows by angle of each of these rows, without itself; on one thread."""
    table = Table(values, validated=True)
    index, _ = nearest_rows(table.rows(rows), table, k + 1, Run(), metric="cosine")
    own = index == rows[:, None]
    own[:, -1] |= ~own.any(axis=1)  # a row among more than k equal ones may not find itself
    return index[~own].reshape(len(rows), k).astype(np.int64)


def _angles(of: Directions, rows: IntArray, others: IntArray) -> Matrix:
    ends = of.unit(others.ravel()).reshape(*others.shape, -1)
    return _arccos(np.einsum("ij,ikj->ik", of.unit(rows), ends))


def _arccos(cosine: Matrix) -> Matrix:
    return np.asarray(arccos(np.clip(cosine, -1.0, 1.0)))
