"""How well a map keeps norms and small angles: the measures of Saul (2023), eqs 11 and 12 and appendix B.

All of them compare pairs Ω_x of rows with a small angle in the data with what became of them in the map. Which pairs
those are is said by `threshold` (all pairs whose cosine exceeds it, as in the paper) or by `n_neighbors` (each row and
its nearest rows by angle). No matrix of all pairs is held: rows are worked on block by block. Above `_ALL_ROWS` rows a
sample of rows stands for all, and the score carries its 95 % interval. Rows of zeros have no angle and are in no pair.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..data import as_matrix
from ..errors import InvalidInputError, InvalidParameterError
from ..graph import knn_query
from ..random import Stream
from ..resources import resolve_n_jobs
from ..typing import FloatArray, IntArray
from .score import Score

Matrix = NDArray[np.float64]
Sums = tuple[Matrix, Matrix]  # of every row: what is counted, and of how many

_ALL_ROWS = 5000  # up to so many rows all are counted unless a sample is asked for
_SAMPLE = 2000  # rows of a sample that nobody chose
_ROWS, _COLUMNS = 128, 4096  # pairs that are worked on at a time


def angular_deviation(
    X: Any,
    Y: Any,
    *,
    n_neighbors: int = 15,
    threshold: float | None = None,
    sample: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Score:
    """Δ, the mean change in degrees of the angle between near rows (Saul 2023, eq 11).

    Near are each row and its `n_neighbors` nearest by angle; with `threshold`, all pairs whose cosine exceeds it.
    `sample` rows are looked at, each with all others; None takes all up to 5 000 rows and 2 000 beyond.
    """
    pair = _pair(X, Y)
    rows = _chosen_rows(len(pair), sample, seed)
    sums = _rule(pair, threshold, n_neighbors, _deviation_by_threshold, _deviation_by_neighbors)
    total, count = _by_blocks(rows, n_jobs, sums)
    return _ratio_score(
        "angular_deviation",
        np.degrees(total),
        count,
        rows,
        pair,
        (0.0, 180.0),
        higher_is_better=False,
        meaning="mean change of the angle between near rows, in degrees",
    )


def jaccard(
    X: Any,
    Y: Any,
    *,
    n_neighbors: int = 15,
    threshold: float | None = None,
    sample: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Score:
    """J, pairs of near rows that data and map share, of those that either has (Saul 2023, eq 12).

    Near are each row and its `n_neighbors` nearest by angle; with `threshold`, all pairs whose cosine exceeds it. `sample`
    as in `angular_deviation`.
    """
    pair = _pair(X, Y)
    rows = _chosen_rows(len(pair), sample, seed)
    sums = _rule(pair, threshold, n_neighbors, _shared_by_angle, _shared_neighbors)
    both, either = _by_blocks(rows, n_jobs, sums)
    return _jaccard_score(
        "jaccard", both, either, rows, pair, "share of near pairs that data and map have in common"
    )


def distance_jaccard(
    X: Any, Y: Any, *, threshold: float, sample: int | None = None, seed: int = 0, n_jobs: int | None = None
) -> Score:
    """J of pairs with cosine above `threshold` in the data and ½‖y_i − y_j‖² < 1 − threshold in the map.

    This is the variant of Saul (2023), appendix B, for maps such as Isomap's that were made from distances between rows
    of unit norm and keep no angles.
    """
    pair = _pair(X, Y)
    rows, level = _chosen_rows(len(pair), sample, seed), _checked_threshold(threshold)
    both, either = _by_blocks(rows, n_jobs, lambda some: _shared_by_distance(pair, some, level))
    meaning = "share of pairs, near by angle in the data and by distance in the map, that both have"
    return _jaccard_score("distance_jaccard", both, either, rows, pair, meaning)


def norm_error(X: Any, Y: Any) -> Score:
    """Median over rows of |‖y‖/‖x‖ − 1|. A row of zeros counts 0 if the map has zeros too, else 1."""
    pair = _pair(X, Y)
    x, y = pair.x_norm, pair.y_norm
    error = np.abs(np.divide(y, x, out=1.0 + (y > 0), where=x > 0) - 1.0)
    meaning = "median relative difference between the norms of a row in map and data"
    return Score("norm_error", float(np.median(error)), (0.0, np.inf), False, meaning, per_point=error)


@dataclass(frozen=True)
class _Pair:
    """Data and map of the same rows, and their norms."""

    X: Any
    Y: FloatArray
    x_norm: Matrix
    y_norm: Matrix

    def __len__(self) -> int:
        return len(self.Y)

    def x_directions(self, rows: Any) -> Matrix:
        """Rows of X in unit norm."""
        return _unit(_dense(self.X[rows]), self.x_norm[rows])

    def y_directions(self, rows: Any) -> Matrix:
        """Rows of Y in unit norm."""
        return _unit(_dense(self.Y[rows]), self.y_norm[rows])


def _pair(X: Any, Y: Any) -> _Pair:
    data, flat = as_matrix(X), as_matrix(getattr(Y, "Y", Y), name="Y", allow_sparse=False)
    if data.shape[0] != flat.shape[0]:
        raise InvalidInputError(
            f"X and Y must have the same rows; X has {data.shape[0]} and Y has {flat.shape[0]}."
        )
    return _Pair(data, flat, _norms(data), _norms(flat))


def _norms(X: Any) -> Matrix:
    n = X.shape[0]
    return np.concatenate(
        [np.linalg.norm(_dense(X[i : i + _COLUMNS]), axis=1) for i in range(0, n, _COLUMNS)]
    )


def _dense(rows: Any) -> Matrix:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _unit(rows: Matrix, norms: Matrix) -> Matrix:
    return rows / np.where(norms > 0, norms, 1.0)[:, None]


def _chosen_rows(n: int, sample: int | None, seed: int) -> IntArray:
    """The rows to look at: all, or a sample in ascending order."""
    if sample is not None and (
        isinstance(sample, bool) or not isinstance(sample, int | np.integer) or sample < 2
    ):
        raise InvalidParameterError(f"sample must be None or an integer of at least 2; got {sample!r}.")
    size = n if sample is None and n <= _ALL_ROWS else min(n, _SAMPLE if sample is None else int(sample))
    if size == n:
        return np.arange(n)
    return np.sort(Stream.named(seed, "angles").permutation(n)[:size])


def _rule(
    pair: _Pair,
    threshold: float | None,
    n_neighbors: int,
    by_threshold: Callable[[_Pair, IntArray, float], Sums],
    by_neighbors: Callable[[_Pair, IntArray, int], Sums],
) -> Callable[[IntArray], Sums]:
    """What sums up some rows, by the way of saying which pairs are near."""
    if threshold is not None:
        tau = _checked_threshold(threshold)
        return lambda rows: by_threshold(pair, rows, tau)
    k = _checked_neighbors(n_neighbors, pair)
    return lambda rows: by_neighbors(pair, rows, k)


def _checked_threshold(threshold: float | None) -> float:
    if (
        isinstance(threshold, bool)
        or not isinstance(threshold, float | int | np.number)
        or not 0 < threshold < 1
    ):
        raise InvalidParameterError(f"threshold must be a cosine between 0 and 1; got {threshold!r}.")
    return float(threshold)


def _checked_neighbors(n_neighbors: int, pair: _Pair) -> int:
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer) or n_neighbors < 1:
        raise InvalidParameterError(f"n_neighbors must be a positive integer; got {n_neighbors!r}.")
    return min(int(n_neighbors), len(pair) - 1)


def _by_blocks(rows: IntArray, n_jobs: int | None, sums: Callable[[IntArray], Sums]) -> Sums:
    """The two sums of every row; blocks have a fixed size, so that threads change no byte."""
    blocks = [rows[i : i + _ROWS] for i in range(0, len(rows), _ROWS)]
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(resolve_n_jobs(n_jobs)) as pool:
        parts = list(pool.map(sums, blocks))
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def _columns(pair: _Pair) -> list[slice]:
    return [slice(c, min(c + _COLUMNS, len(pair))) for c in range(0, len(pair), _COLUMNS)]


def _near_in_data(pair: _Pair, rows: IntArray, own: Matrix, columns: slice, tau: float) -> tuple[Matrix, Any]:
    """Cosines of rows with columns, and which of them exceed tau; a row is not its own pair."""
    cosine = own @ pair.x_directions(columns).T
    near = cosine > tau
    inside = (rows >= columns.start) & (rows < columns.stop)
    near[np.flatnonzero(inside), rows[inside] - columns.start] = False
    return cosine, near


def _deviation_by_threshold(pair: _Pair, rows: IntArray, tau: float) -> Sums:
    x, y = pair.x_directions(rows), pair.y_directions(rows)
    total, count = np.zeros(len(rows)), np.zeros(len(rows))
    for columns in _columns(pair):
        cosine, near = _near_in_data(pair, rows, x, columns, tau)
        i, j = np.nonzero(near)
        after = np.sum(y[i] * pair.y_directions(columns)[j], axis=1)
        total += np.bincount(i, np.abs(_angle(cosine[i, j]) - _angle(after)), minlength=len(rows))
        count += near.sum(axis=1)
    return total, count


def _shared_by_angle(pair: _Pair, rows: IntArray, tau: float) -> Sums:
    y = pair.y_directions(rows)
    return _shared(pair, rows, tau, lambda columns: y @ pair.y_directions(columns).T > tau)


def _shared_by_distance(pair: _Pair, rows: IntArray, tau: float) -> Sums:
    y, square = _dense(pair.Y[rows]), pair.y_norm**2

    def near(columns: slice) -> NDArray[np.bool_]:
        product = y @ _dense(pair.Y[columns]).T
        return 0.5 * (square[rows][:, None] + square[columns]) - product < 1.0 - tau

    return _shared(pair, rows, tau, near)


def _shared(
    pair: _Pair, rows: IntArray, tau: float, near_in_map: Callable[[slice], NDArray[np.bool_]]
) -> Sums:
    """How many pairs of each row are near in data and map, and in data or map."""
    x = pair.x_directions(rows)
    both, either = np.zeros(len(rows)), np.zeros(len(rows))
    for columns in _columns(pair):
        _, near = _near_in_data(pair, rows, x, columns, tau)
        after = near_in_map(columns)
        inside = (rows >= columns.start) & (rows < columns.stop)
        after[np.flatnonzero(inside), rows[inside] - columns.start] = False
        both += (near & after).sum(axis=1)
        either += (near | after).sum(axis=1)
    return both, either


def _deviation_by_neighbors(pair: _Pair, rows: IntArray, k: int) -> Sums:
    near = _neighbors(pair.X, rows, k)
    before, after = (
        np.einsum("ij,ikj->ik", of(rows), of(near.ravel()).reshape(*near.shape, -1))
        for of in (pair.x_directions, pair.y_directions)
    )
    counted = (pair.x_norm[rows] > 0)[:, None] & (pair.x_norm[near] > 0)
    change = np.abs(_angle(before) - _angle(after))
    return np.where(counted, change, 0.0).sum(axis=1), counted.sum(axis=1).astype(np.float64)


def _shared_neighbors(pair: _Pair, rows: IntArray, k: int) -> Sums:
    near, after = _neighbors(pair.X, rows, k), _neighbors(pair.Y, rows, k)
    both = (near[:, :, None] == after[:, None, :]).sum(axis=(1, 2)).astype(np.float64)
    return both, 2.0 * k - both


def _neighbors(values: Any, rows: IntArray, k: int) -> IntArray:
    """The k nearest rows by angle of some rows, themselves left out."""
    index, _ = knn_query(values[rows], values, k + 1, metric="cosine", n_jobs=1)
    own = index == rows[:, None]
    own[:, -1] |= ~own.any(axis=1)  # a row among more than k equal ones may not find itself
    return index[~own].reshape(len(rows), k).astype(np.int64)


def _angle(cosine: Matrix) -> Matrix:
    return np.arccos(np.clip(cosine, -1.0, 1.0))


def _ratio_score(
    name: str,
    top: Matrix,
    bottom: Matrix,
    rows: IntArray,
    pair: _Pair,
    range: tuple[float, float],
    *,
    higher_is_better: bool,
    meaning: str,
) -> Score:
    """The score Σ top / Σ bottom; of a sample with the interval of a ratio of means."""
    whole = float(bottom.sum())
    empty = range[1] if higher_is_better else range[0]  # no pairs: nothing was lost
    value = float(top.sum()) / whole if whole > 0 else empty
    if len(rows) == len(pair):
        points = np.divide(top, bottom, out=np.full(len(rows), np.nan), where=bottom > 0)
        return Score(name, value, range, higher_is_better, meaning, per_point=points)
    error = 0.0
    if whole > 0:
        left = 1.0 - len(rows) / len(pair)  # a sample without replacement knows part of the whole
        spread = np.var(top - value * bottom, ddof=1)
        error = 1.96 * float(np.sqrt(left * spread * len(rows))) / whole
    interval = (max(range[0], value - error), min(range[1], value + error))
    return Score(name, value, range, higher_is_better, meaning, interval=interval, n_sampled=len(rows))


def _jaccard_score(
    name: str, both: Matrix, either: Matrix, rows: IntArray, pair: _Pair, meaning: str
) -> Score:
    return _ratio_score(name, both, either, rows, pair, (0.0, 1.0), higher_is_better=True, meaning=meaning)
