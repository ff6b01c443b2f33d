"""`similarity`: how much two maps of the same rows are alike, whatever their size, place and orientation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..errors import InvalidInputError, InvalidParameterError
from ..graph.knn import knn
from ..random import Stream
from ..resources import resolve_seed
from ..typing import RandomState

Matrix = NDArray[np.float64]
KINDS = ("procrustes", "distances", "neighbors")


def similarity(
    Y1: ArrayLike,
    Y2: ArrayLike,
    *,
    kind: str = "procrustes",
    n_neighbors: int = 15,
    max_rows: int = 2000,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> float:
    """How alike two maps of the same rows are, from 0 to 1, which equal maps have.

    It is symmetric, and does not change when either map is moved, stretched as a whole, turned or mirrored (Draganov and
    Dohn 2023, section 6.1). The maps may have different numbers of dimensions.

    kind : "procrustes" is the share of structure that one map has in common with the other when it is turned onto it: the
        sum of the singular values of Y1ᵀY2 over ‖Y1‖‖Y2‖, both centred; the large shape decides.
        "distances" is the distance correlation (Székely, Rizzo and Bakirov 2007): the cosine between the two matrices of
        distances, centred by rows and columns; all scales decide.
        "neighbors" is the mean share of the `n_neighbors` nearest rows that both maps agree on; the small shape decides.
    max_rows : "distances" is computed on so many rows, drawn by `random_state`, when there are more.

    A map whose rows all lie in one place is alike only to another such map.
    """
    if kind not in KINDS:
        raise InvalidParameterError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
    first, second = _centred("Y1", Y1), _centred("Y2", Y2)
    if len(first) != len(second):
        raise InvalidInputError(
            f"Y1 and Y2 must be maps of the same rows; got {len(first)} and {len(second)} rows."
        )
    if not first.any() or not second.any():
        return float(not first.any() and not second.any())
    with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
        if kind == "procrustes":
            value = float(np.linalg.svd(first.T @ second, compute_uv=False).sum())
        elif kind == "distances":
            rows = _some_rows(len(first), max_rows, resolve_seed(random_state))
            value = _distance_correlation(first[rows], second[rows])
        else:
            value = _shared_neighbors(first, second, n_neighbors, n_jobs)
    return min(max(value, 0.0), 1.0)


def _centred(name: str, Y: ArrayLike) -> Matrix:
    """The map with mean zero and unit norm; zero when all rows lie in one place."""
    array = np.array(Y, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInputError(f"{name} must be a map, rows by dimensions; got shape {array.shape}.")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise InvalidInputError(f"{name} must be finite; row {int(np.argmin(finite))} is not.")
    largest = float(np.abs(array).max())
    if largest == 0:
        return array
    array /= largest  # so that no square overflows or vanishes
    array -= array.mean(axis=0)
    norm = float(np.sqrt(np.sum(array * array)))
    # What is left of a map in one place is the rounding of its mean.
    return array / norm if norm > 1e-14 * np.sqrt(array.size) else np.zeros_like(array)


def _some_rows(n: int, most: int, seed: int) -> NDArray[np.int64]:
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 2:
        raise InvalidParameterError(f"max_rows must be an integer of at least 2; got {most!r}.")
    if n <= most:
        return np.arange(n)
    return np.sort(Stream.named(seed, "similarity").permutation(n)[:most])


def _distance_correlation(first: Matrix, second: Matrix) -> float:
    A, B = _centred_distances(first), _centred_distances(second)
    scale = float(np.sqrt(np.sum(A * A)) * np.sqrt(np.sum(B * B)))
    if scale == 0:
        return float(not A.any() and not B.any())
    # The mean product of the centred matrices is never negative (it is a squared distance covariance).
    return float(np.sqrt(max(float(np.sum(A * B)), 0.0) / scale))


def _centred_distances(Y: Matrix) -> Matrix:
    square = np.zeros((len(Y), len(Y)))
    for column in Y.T:
        difference = column[:, None] - column[None, :]
        square += difference * difference
    D: Matrix = np.sqrt(square)
    return D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean()


def _shared_neighbors(first: Matrix, second: Matrix, n_neighbors: int, n_jobs: int | None) -> float:
    n = len(first)
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer) or n_neighbors < 1:
        raise InvalidParameterError(f"n_neighbors must be a positive integer; got {n_neighbors!r}.")
    k = min(int(n_neighbors), n - 1)
    lists = []
    for Y in (first, second):
        found = knn(Y, k, method="exact", n_jobs=n_jobs).knn_indices
        assert found is not None
        lists.append(np.sort(np.arange(n)[:, None] * n + found.astype(np.int64), axis=None))
    return len(np.intersect1d(lists[0], lists[1], assume_unique=True)) / (n * k)
