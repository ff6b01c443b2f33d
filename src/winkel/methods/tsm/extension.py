"""Locally linear extension: a map of landmarks extended to all rows (Saul 2023, section 3 and appendix C).

Every row is written as a weighted sum of nearby rows (eq 14),

    min over w of ‖x − Σ_j w_j x_j‖² + ε Σ_j ‖x_j‖² w_j²

where nearby is measured by angle. The weights need not sum to one, so the origin keeps its meaning, and twice a row has twice
its weights. The map should satisfy the same sums: with W the sparse matrix of weights, ‖(I − W) Y‖² is minimised over the
rows that are not landmarks. The normal equations (eq 27) are solved for all coordinates together by conjugate
gradients, preconditioned by the diagonal.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ... import _core
from ...algebra import matmul, pinv
from ...checks import integer, positive
from ...data import Table, as_matrix
from ...embedding import Status
from ...errors import InvalidInputError, NotConvergedWarning
from ...graph import nearest_rows, neighbor_graph
from ...run import Run
from ...solvers import iterate
from ...solvers.linear import ConjugateGradients
from ...typing import FloatArray, IntArray, RandomState
from ..rows import Rows, alike, as_dense, csr_parts, row_norms
from .extension_system import ExtensionSystem, as_sparse
from .factors import Matrix

_SWEEP = 8  # products between two looks at the clock; Ctrl-C loses no more of them
_MAX_SWEEPS = 250
_SINGLE = 1e-5  # tolerance that products in single precision still reach
_LEAST_MARKS = 16  # number of landmarks in the weighted sum of a free row at the start, if there are enough


def locally_linear_extension(
    X: Any,
    landmarks: ArrayLike,
    Y_landmarks: ArrayLike,
    *,
    n_neighbors: int | None = None,
    regularization: float = 1e-4,
    tol: float = 1e-6,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
    verbose: bool | int = False,
) -> FloatArray:
    """The map of all rows of X, in which landmarks keep their places (Saul 2023, section 3).

    Every row is written as a weighted sum of rows that are close to it by angle, and its place is the same weighted sum of their places,
    as nearly as possible. Rows of zeros are placed at the origin.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The rows.
    landmarks : array of int, or of bool of shape (n_samples,)
        Row numbers of the landmarks, or a mask of them.
    Y_landmarks : array of shape (n_landmarks, n_components)
        The places of the landmarks.
    n_neighbors : int or None, default=None
        Number of nearby rows in each weighted sum; None is four times the dimension of the map.
    regularization : float, default=0.0001
        ε of eq 14, which keeps weights small if nearby rows are nearly linearly dependent.
    tol : float, default=1e-06
        Residual of the normal equations at which the solver stops, relative to their right side.
    random_state : int, numpy Generator or None, default=None
        Seed of the neighbour search, which is approximate for many rows (see `winkel.graph.knn`).
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB".
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        The map, in the precision of X.

    Examples
    --------
    >>> import numpy as np
    >>> import winkel as wk
    >>> from winkel.methods.tsm import svd_map
    >>> X = wk.datasets.load_digits().X[:300]
    >>> landmarks = np.arange(0, 300, 2)
    >>> places = svd_map(X[landmarks], 8)
    >>> wk.locally_linear_extension(X, landmarks, places, random_state=0).shape
    (300, 8)
    """
    values = as_matrix(X)
    n = values.shape[0]
    marks, places = _checked_landmarks(n, landmarks, Y_landmarks)
    positive("regularization", regularization)
    positive("tol", tol)
    if n_neighbors is not None:
        integer("n_neighbors", n_neighbors, 1, also="None")
    run = Run.of(random_state=random_state, n_jobs=n_jobs, max_memory=max_memory, verbose=verbose)
    nonzero = np.flatnonzero(row_norms(values) > 0)
    at = np.full(n, -1)
    at[nonzero] = np.arange(len(nonzero))
    usable = at[marks] >= 0
    Y = np.zeros((n, places.shape[1]))
    if usable.any():
        k = 4 * places.shape[1] if n_neighbors is None else n_neighbors
        extension = Extension.of(values[nonzero], at[marks[usable]], k, regularization, run)
        Y[nonzero] = extension.solve(places[usable], tol, run)[0]
    Y[marks] = places
    return Y.astype(values.dtype)


@dataclass(frozen=True, eq=False)
class Extension:
    """Rows, none of them zero, of which `marks` have places; `direct` (free × marks) makes up the others of near marks."""

    X: Rows
    marks: IntArray
    free: IntArray
    direct: sp.csr_matrix
    n_neighbors: int
    regularization: float

    @classmethod
    def of(cls, X: Rows, marks: IntArray, n_neighbors: int, regularization: float, run: Run) -> Extension:
        """The extension from `marks` to all rows, by as many near rows as there are."""
        n = X.shape[0]
        k = max(1, min(n_neighbors, n - 1))
        free = np.setdiff1d(np.arange(n), marks)
        direct = sp.csr_matrix((0, len(marks)))
        if len(free):
            # A start needs fewer near rows than the map, and weights cost the square of their number.
            index = _nearest_marks(X, free, marks, min(k, max(_LEAST_MARKS, k // 4)), run)
            weights = local_weights(X[free], X[marks], index, regularization, run)
            direct = as_sparse(weights, index, len(marks))
        return cls(X, marks, free, direct, k, regularization)

    def start(self, places: FloatArray) -> Matrix:
        """The map in which every free row is made up of near marks alone."""
        Y = np.empty((self.X.shape[0], places.shape[1]))
        Y[self.marks] = places
        Y[self.free] = self.direct @ places.astype(np.float64)
        return Y

    def solve(self, places: Matrix, tol: float, run: Run) -> tuple[Matrix, Status | None]:
        """The map in which free rows are made up of all near rows, and how the solver ended, if it was needed."""
        start = self.start(places)
        if not len(self.free):
            return start, None
        try:
            graph = neighbor_graph(_trusted(self.X), self.n_neighbors, run, metric="cosine")
            index = np.asarray(graph.knn_indices)
            weights = local_weights(self.X, self.X, index, self.regularization, run)
            system = ExtensionSystem(index, weights, self.free, start, run, single=tol >= _SINGLE)
        except KeyboardInterrupt:
            return start, _interrupted()
        solver = ConjugateGradients(tol, sweep=_SWEEP)
        found = iterate(solver, system, start, run, max_iter=_MAX_SWEEPS)
        return np.asarray(found.state.Y), found.status


def _interrupted() -> Status:
    """What is said, and returned, when Ctrl-C came before the system was made up."""
    sentence = (
        "Interrupted by Ctrl-C before the linear system: rows are weighted sums of nearby landmarks only."
    )
    warnings.warn(f"{ConjugateGradients.name}: {sentence}", NotConvergedWarning, stacklevel=3)
    return Status("interrupted", sentence)


def _nearest_marks(X: Rows, free: IntArray, marks: IntArray, k: int, run: Run) -> IntArray:
    """The k nearest marks, by angle, of each free row."""
    if len(marks) == 1:
        return np.zeros((len(free), 1), dtype=np.int64)
    found, _ = nearest_rows(_trusted(X[free]), _trusted(X[marks]), min(k, len(marks)), run, metric="cosine")
    return found


def _trusted(rows: Rows) -> Table:
    """Rows of a validated table as a table."""
    return Table(rows, validated=True)


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
            f"Y_landmarks must hold one place per landmark, {len(marks)}; got {len(places)}."
        )
    return marks, places


# ------------------------------------------------------------------------------------ locally linear weights


def local_weights(rows: Rows, fitted: Rows, index: IntArray, regularization: float, run: Run) -> Matrix:
    """Weights (n × k) of the fitted rows `index` (n × k), none of them zero, that make up each row.

    Every row is solved by itself, so that its weights do not depend on the others.
    """
    near = np.ascontiguousarray(index, dtype=np.int64)
    own = alike(rows, fitted).astype(fitted.dtype, copy=False)
    if sp.issparse(fitted):
        weights = _core.sparse_local_weights(
            csr_parts(own), csr_parts(fitted), fitted.shape[1], near, regularization, run.n_jobs
        )
    else:
        own, fitted = np.ascontiguousarray(own), np.ascontiguousarray(fitted)
        weights = _core.local_weights(own, fitted, near, regularization, run.n_jobs)
    for i in np.flatnonzero(np.isnan(weights[:, 0])):  # not positive by rounding: by eigenvectors
        neighbors = as_dense(fitted[near[i]]).astype(np.float64)
        gram = matmul(neighbors, neighbors.T)
        gram[np.diag_indices_from(gram)] *= 1.0 + regularization
        weights[i] = matmul(pinv(gram), matmul(neighbors, as_dense(own[i : i + 1])[0]))
    return np.asarray(weights)


def combine(weights: Matrix, Y: FloatArray, index: IntArray) -> Matrix:
    """Σ_j w_j y_j for each row, by itself."""
    return np.asarray(as_sparse(weights, index, len(Y)) @ Y.astype(np.float64))
