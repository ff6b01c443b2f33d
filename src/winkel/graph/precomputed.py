"""Neighbours from distances that the user provides: a matrix, neighbour lists, or a function of two items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data import as_matrix
from ..errors import InvalidInputError, InvalidParameterError
from ..run import Run
from ..typing import FloatArray
from .search import Indices, check_neighbor_count

_ASYMMETRY = (
    1e-5  # two directions of a pair may differ by so much, relatively: distances in single precision do
)
_SYMMETRY_TRIALS = 10  # pairs for which a function is called both ways round


def neighbors_from_distances(D: Any, k: int, run: Run) -> tuple[Indices, FloatArray]:
    """Neighbours from a square matrix of distances. A sparse matrix holds the known distances, including stored zeros."""
    if sp.issparse(D):
        return _from_sparse_distances(sp.csr_matrix(D), k)
    D = as_distances(D)
    check_neighbor_count(k, len(D))
    return _core.nearest_columns(D, np.arange(len(D)), k, run.n_jobs)


def as_distances(D: Any) -> FloatArray:
    """A validated square matrix of distances."""
    if sp.issparse(D):
        raise InvalidInputError(
            "all distances are needed here, but a sparse matrix contains only some of them: entries that are not stored are unknown, "
            "not zero. Pass the dense matrix, or the data with another metric."
        )
    D = as_matrix(D, name="the matrix of distances", allow_sparse=False)
    n = len(D)
    if D.shape != (n, n):
        raise InvalidInputError(
            f"a precomputed matrix of distances must be square; got shape {D.shape}. "
            "For neighbour lists pass a pair (indices, distances); for data choose another metric."
        )
    if D.min() < 0:
        i, j = np.unravel_index(int(D.argmin()), D.shape)
        raise InvalidInputError(f"distances must not be negative; got {D[i, j]} at row {i}, column {j}.")
    _refuse_diagonal(np.diagonal(D))
    _check_symmetry(D)
    return D


def _check_symmetry(D: FloatArray) -> None:
    found = _first_asymmetry(D)
    if found is not None:
        i, j = found
        raise InvalidInputError(
            f"the matrix of distances must be symmetric; it has {D[i, j]:g} at row {i}, column {j}, and {D[j, i]:g} the other "
            "way round. Use (D + D.T) / 2 if that is what is meant."
        )


def _first_asymmetry(D: FloatArray) -> tuple[int, int] | None:
    """The first pair whose two entries differ by more than rounding, or None; searched in square tiles."""
    n, tile = len(D), 1024
    for i in range(0, n, tile):
        for j in range(i, n, tile):
            above, below = D[i : i + tile, j : j + tile], D[j : j + tile, i : i + tile].T
            bad = np.abs(above - below) > _ASYMMETRY * np.maximum(above, below)
            if bad.any():
                row, column = np.argwhere(bad)[0]
                return i + int(row), j + int(column)
    return None


def _from_sparse_distances(D: Any, k: int) -> tuple[Indices, FloatArray]:
    n = D.shape[0]
    if D.shape != (n, n):
        raise InvalidInputError(f"a precomputed matrix of distances must be square; got shape {D.shape}.")
    check_neighbor_count(k, n)
    if D.dtype.kind not in "biuf" or not (np.isfinite(D.data).all() and D.data.min(initial=0) >= 0):
        raise InvalidInputError("stored distances must be finite and not negative; clean them first.")
    if not D.has_canonical_format:
        D = D.copy()
        D.sum_duplicates()
    rows = np.repeat(np.arange(n), np.diff(D.indptr))
    _refuse_diagonal(D.diagonal())
    _check_stored_symmetry(D)
    others = D.indices != rows
    rows, columns, values = rows[others], D.indices[others], D.data[others]
    nearest = np.lexsort(((columns - rows) % n, values, rows))
    place = np.arange(len(rows)) - np.searchsorted(
        rows, rows
    )  # rows are in order, so this is the rank in its row
    nearest, rows, place = nearest[place < k], rows[place < k], place[place < k]
    index = np.full((n, k), -1, dtype=np.int32)
    distance = np.full((n, k), np.inf, dtype=np.float32 if D.dtype == np.float32 else np.float64)
    index[rows, place], distance[rows, place] = columns[nearest], values[nearest]
    return index, distance


def _check_stored_symmetry(D: Any) -> None:
    """Raise if both directions of a pair are stored and differ; if only one is stored, it counts for both."""
    back = sp.csr_matrix(D.T)
    both = sp.csr_matrix(D.multiply(back != 0))
    other = sp.csr_matrix(back.multiply(D != 0))
    apart = abs(both - other).tocoo()
    bad = np.flatnonzero(apart.data > _ASYMMETRY * max(float(D.data.max(initial=0)), 0.0))
    if len(bad):
        i, j = int(apart.row[bad[0]]), int(apart.col[bad[0]])
        raise InvalidInputError(
            f"the matrix of distances must be symmetric; it has {D[i, j]:g} at row {i}, column {j}, and {D[j, i]:g} the other "
            "way round."
        )


def _refuse_diagonal(diagonal: FloatArray) -> None:
    if diagonal.any():
        i = np.flatnonzero(diagonal)[0]
        raise InvalidInputError(
            f"an item must be at distance 0 from itself; got {diagonal[i]} at row {i}. "
            "Is this a matrix of similarities?"
        )


def neighbors_from_lists(lists: tuple[Any, ...], k: int) -> tuple[Indices, FloatArray]:
    """The first k entries of the neighbour lists (indices, distances); if the first column is the row itself, it is left out."""
    if len(lists) != 2:
        raise InvalidInputError(
            f"precomputed neighbours are a pair (indices, distances); got {len(lists)} items."
        )
    index, distance = np.asarray(lists[0]), np.asarray(lists[1])
    if index.ndim != 2 or index.shape != distance.shape:
        raise InvalidInputError(
            f"indices and distances must be n × k arrays of one shape; got {index.shape} and {distance.shape}."
        )
    if index.shape[1] and (index[:, 0] == np.arange(len(index))).all():
        index, distance = index[:, 1:], distance[:, 1:]
    if index.shape[1] < k:
        raise InvalidParameterError(
            f"n_neighbors={k}, but the lists contain only {index.shape[1]} neighbours per row. Pass longer lists, or use a smaller "
            "n_neighbors."
        )
    return index[:, :k], distance[:, :k]


def neighbors_by_function(
    items: Any, k: int, metric: Callable[[Any, Any], float], run: Run
) -> tuple[Indices, FloatArray]:
    """Neighbours by a symmetric function of two items."""
    items = _sequence(items)
    check_neighbor_count(k, len(items))
    D = distances_by_function(items, metric, run)
    return _core.nearest_columns(D, np.arange(len(D)), k, 1)


def distances_by_function(items: Any, metric: Callable[[Any, Any], float], run: Run) -> FloatArray:
    """All distances by a symmetric function of two items, called once per pair (twice for a few pairs, to check that it is symmetric)."""
    items = _sequence(items)
    n = len(items)
    run.check_memory(8.0 * n * n, f"All {n} × {n} distances by a function", "Use a built-in metric.")
    _refuse_asymmetry(metric, items)
    D = np.zeros((n, n))
    for i in run.progress(range(n), "distances by a function"):
        for j in range(i + 1, n):
            D[i, j] = D[j, i] = _distance(metric, items, i, j)
    return D


def _sequence(items: Any) -> Any:
    """Items that can be counted and taken by number, at least two."""
    if hasattr(items, "iloc"):
        items = items.to_numpy()
    indexed = hasattr(items, "__len__") and hasattr(items, "__getitem__") and not isinstance(items, Mapping)
    if not indexed or sp.issparse(items):
        raise InvalidInputError(
            "with a function as metric, X must be a sequence of items, such as a list or a dense array; "
            f"got {type(items).__name__}."
        )
    if len(items) < 2:
        raise InvalidInputError(f"X must hold at least 2 items; got {len(items)}.")
    return items


def _refuse_asymmetry(metric: Callable[[Any, Any], float], items: Any) -> None:
    for j in range(1, min(len(items), _SYMMETRY_TRIALS + 1)):
        there, back = _distance(metric, items, 0, j), _distance(metric, items, j, 0)
        if abs(there - back) > 1e-6 * max(there, back):
            raise InvalidInputError(
                f"the metric must be symmetric; it gives {there} for items 0 and {j}, and {back} the other way round. "
                "Use a symmetric one, such as the mean of both directions."
            )


def _distance(metric: Callable[[Any, Any], float], items: Any, i: int, j: int) -> float:
    try:
        d = float(metric(items[i], items[j]))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"the metric failed for items {i} and {j}: {error}") from error
    if not 0 <= d < np.inf:
        raise InvalidInputError(
            f"the metric must give finite distances of at least 0; got {d} for items {i} and {j}."
        )
    return d
