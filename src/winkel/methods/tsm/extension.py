"""Locally linear extension: a map of landmarks carried over to all rows (Saul 2023, section 3 and appendix C).

Every row is written as a sum of near rows (`weights`), and the map is asked to have the same sums: with W the sparse
matrix of weights, minimise ‖(I − W) Y‖² over the rows that are not landmarks. The normal equations (eq 27) are solved
for all coordinates side by side by conjugate gradients, preconditioned by the diagonal.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...data import as_matrix
from ...errors import InvalidInputError, InvalidParameterError
from ...graph import knn, knn_query
from ...resources import resolve_n_jobs, resolve_seed
from ...run import Run
from ...solvers import iterate
from ...solvers.linear import ConjugateGradients
from ...typing import FloatArray, IntArray, RandomState
from .similarity import row_norms
from .weights import as_sparse, combine, local_weights

Matrix = NDArray[np.float64]

REGULARIZATION = 1e-4  # ε of eq 14
_MAX_SWEEPS = 100


def locally_linear_extension(
    X: Any,
    landmarks: ArrayLike,
    Y_landmarks: ArrayLike,
    *,
    n_neighbors: int | None = None,
    regularization: float = REGULARIZATION,
    tol: float = 1e-6,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool | int = False,
) -> FloatArray:
    """The map of all rows of X, in which `landmarks` (row numbers) have their places `Y_landmarks`.

    Parameters
    ----------
    n_neighbors : near rows, by angle, of which each row is made up; None is four times the dimension of the map.
    regularization : ε of eq 14, which keeps weights small where near rows are nearly dependent.
    tol : remainder of the normal equations at which the solver stops, in proportion to their right side.
    random_state, n_jobs : of the neighbour search, which is approximate for many rows (see `winkel.graph.knn`).

    Rows of zeros are placed at the origin. The result has the precision of X.
    """
    values = as_matrix(X, allow_sparse=False)
    marks, places = _checked_landmarks(len(values), landmarks, Y_landmarks)
    _check_positive("regularization", regularization)
    _check_positive("tol", tol)
    jobs, seed = resolve_n_jobs(n_jobs), resolve_seed(random_state)
    nonzero = np.flatnonzero(row_norms(values) > 0)
    at = np.full(len(values), -1)
    at[nonzero] = np.arange(len(nonzero))
    known = at[marks] >= 0
    Y = np.zeros((len(values), places.shape[1]))
    if known.any():
        k = _usable_neighbors(n_neighbors, places.shape[1], len(nonzero))
        Y[nonzero] = _extend(
            values[nonzero], at[marks[known]], places[known], k, regularization, tol, seed, jobs, verbose
        )
    Y[marks] = places
    return Y.astype(values.dtype)


def _extend(
    X: FloatArray,
    marks: IntArray,
    places: Matrix,
    k: int,
    regularization: float,
    tol: float,
    seed: int,
    jobs: int,
    verbose: bool | int,
) -> Matrix:
    """The map of rows, none of them zero."""
    if len(marks) == len(X):
        Y = np.empty((len(X), places.shape[1]))
        Y[marks] = places
        return Y
    graph = knn(X, k, metric="cosine", n_jobs=jobs, random_state=seed)
    near = np.array(graph.knn_indices)  # a copy, since it will be sorted
    weights = local_weights(X, X, near, regularization, jobs)
    free = np.setdiff1d(np.arange(len(X)), marks)
    start = _direct(X, free, marks, places, k, regularization, jobs)
    system = ExtensionSystem(near, weights, free, start, jobs)
    watched = Run(seed=seed, n_jobs=jobs, verbose=verbose)
    found = iterate(ConjugateGradients(tol), system, start, watched, max_iter=_MAX_SWEEPS)
    return np.asarray(found.state.Y)


def _direct(
    X: FloatArray, free: IntArray, marks: IntArray, places: Matrix, k: int, regularization: float, jobs: int
) -> Matrix:
    """A start: every row made up of near landmarks alone."""
    Y = np.empty((len(X), places.shape[1]))
    Y[marks] = places
    near, _ = knn_query(X[free], X[marks], min(k, len(marks)), metric="cosine", n_jobs=jobs)
    Y[free] = combine(local_weights(X[free], X[marks], near, regularization, jobs), places, near)
    return Y


class ExtensionSystem:
    """Aᵀ A Y_f = −Aᵀ B Y_l: (I − W) cut into the columns A of free rows and B of landmarks."""

    def __init__(self, index: IntArray, weights: Matrix, free: IntArray, start: Matrix, n_jobs: int) -> None:
        n = len(index)
        self.free = free
        self.n_pairs = n
        self.start = start
        self._n_jobs = n_jobs
        W = as_sparse(weights, index, n)
        W.sort_indices()
        self._W, self._Wt = _rows(W), _rows(W.T.tocsr())
        squares = W.copy()
        squares.data **= 2
        # Squared norms of the columns of I − W, whose own entries are not on the diagonal of W.
        self._diagonal = 1.0 + np.asarray(squares.sum(axis=0)).ravel()[free]
        self._known = np.array(start)
        self._known[free] = 0.0
        self.right = -self._transposed(self._apply(self._known))[free]

    @property
    def matrix(self) -> ExtensionSystem:
        """What multiplies a block of free rows from the left: itself."""
        return self

    def __matmul__(self, free: Matrix) -> Matrix:
        Y = np.zeros_like(self._known)
        Y[self.free] = free
        return self._transposed(self._apply(Y))[self.free]

    @cached_property
    def scale(self) -> Matrix:
        """The square of the right side, for each coordinate."""
        return np.asarray(np.sum(self.right * self.right, axis=0))

    def whole(self, free: FloatArray) -> Matrix:
        """The map with its free rows placed."""
        Y = np.array(self._known)
        Y[self.free] = free
        return Y

    def value(self, Y: Matrix) -> float:
        """Mean squared error with which near rows make up each row of the map (eq 15)."""
        error = self._apply(Y)
        return float(np.sum(error * error)) / self.n_pairs

    def precondition(self, R: Matrix) -> Matrix:
        """R divided by the diagonal of the matrix."""
        return R / self._diagonal[:, None]

    def _apply(self, Y: Matrix) -> Matrix:
        return _less(self._W, Y, self._n_jobs)

    def _transposed(self, Y: Matrix) -> Matrix:
        return _less(self._Wt, Y, self._n_jobs)


Rows = tuple[NDArray[np.int32], NDArray[np.int32], Matrix]


def _rows(W: Any) -> Rows:
    return (
        W.indptr.astype(np.int32),
        W.indices.astype(np.int32),
        np.ascontiguousarray(W.data, dtype=np.float64),
    )


def _less(W: Rows, Y: Matrix, n_jobs: int) -> Matrix:
    """(I − W) Y."""
    n, d = Y.shape
    padded = np.zeros((n, -(-d // 8) * 8))
    padded[:, :d] = Y
    out = np.empty_like(padded)
    _core.laplacian_apply(*W, np.ones(n), n_jobs, padded, out)
    return np.ascontiguousarray(out[:, :d])


def _checked_landmarks(n: int, landmarks: ArrayLike, Y_landmarks: ArrayLike) -> tuple[IntArray, Matrix]:
    marks = np.asarray(landmarks)
    if marks.dtype == bool and marks.shape == (n,):
        marks = np.flatnonzero(marks)
    if marks.ndim != 1 or len(marks) == 0 or not np.issubdtype(marks.dtype, np.integer):
        raise InvalidInputError(
            f"landmarks must be row numbers, at least one, or a mask of {n} rows; got {marks.dtype} of shape "
            f"{marks.shape}."
        )
    if marks.min() < 0 or marks.max() >= n or len(np.unique(marks)) != len(marks):
        raise InvalidInputError(f"landmarks must be different row numbers in [0, {n}).")
    places = as_matrix(Y_landmarks, name="Y_landmarks", min_rows=1, allow_sparse=False).astype(np.float64)
    if len(places) != len(marks):
        raise InvalidInputError(
            f"Y_landmarks must hold one place a landmark, {len(marks)}; got {len(places)}."
        )
    return marks, places


def _check_positive(name: str, value: float) -> None:
    if isinstance(value, bool) or not (isinstance(value, int | float | np.number) and 0 < value < np.inf):
        raise InvalidParameterError(f"{name} must be a positive number; got {value!r}.")


def _usable_neighbors(n_neighbors: int | None, d: int, n: int) -> int:
    if n_neighbors is None:
        return max(1, min(4 * d, n - 1))
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer) or n_neighbors < 1:
        raise InvalidParameterError(f"n_neighbors must be None or a positive integer; got {n_neighbors!r}.")
    return min(int(n_neighbors), n - 1)
