"""Thresholded similarity matching, step by step: S, then L, then the map; with landmarks for large data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Table
from ...embedding import Embedding, Frames, History, Status
from ...run import Run
from ...solvers import iterate
from ...typing import FloatArray, IntArray
from ..rows import Rows, row_norms
from .baselines import svd_projections
from .extension import Extension
from .factors import Factors, Matrix, outputs, warn_if_not_a_gram_matrix
from .matching import DenseMatching, DenseUpdates, FactorUpdates, Matching
from .place import own_places
from .quasi_newton import QuasiNewton
from .similarity import Similarities, find_angles, similarities

SOLVERS = ("quasi_newton", "factors", "dense")
NORMS = ("keep", "matched")
STARTS = ("strict", "svd")

# Of the extension from landmarks: on 10 000 images a hundredth of it changes the mean angular deviation by 0.001°.
EXTENSION_TOLERANCE = 1e-4
_UNFINISHED = ("time_limit", "interrupted", "failed")


@dataclass(frozen=True)
class Settings:
    """What was asked for.

    `threshold` None takes it from the histogram of angles by `sparsity`; `rank` None is the dimension of the map, and
    `n_neighbors` None four times that.
    """

    n_components: int
    threshold: float | None
    sparsity: float
    n_landmarks: int | None
    momentum: float
    max_iter: int
    tol: float
    solver: str
    regularization: float
    norms: str
    init: str
    rank: int | None
    n_neighbors: int | None

    @property
    def extension_neighbors(self) -> int:
        """Near rows that make up a row that is not matched."""
        return 4 * self.n_components if self.n_neighbors is None else self.n_neighbors


def fit(table: Table, settings: Settings, run: Run) -> Embedding:
    """The Embedding of rows. Rows of zeros are placed at the origin, and equal rows in one place.

    Its blocks are `eigenvalues` of the Gram matrix, `isolated` rows (similar to no other row) and, if there are any,
    `landmarks`.
    """
    X: Rows = table.values
    nonzero = np.flatnonzero(row_norms(X) > 0)
    marks = _landmarks(nonzero, settings, run)
    if len(marks) < 2:
        return _without_angles(X, settings, run)
    tau = settings.threshold
    if tau is None:
        tau = find_angles(X[marks], settings.sparsity, run).threshold
    S, rows = similarities(X[marks], tau, run)
    found = _solve(S, rows, settings, run)
    whole = _Whole.of(X, nonzero, marks, settings, run)
    Y, status = whole.map(found, run)
    Y = Y.astype(X.dtype)
    return Embedding(
        Y=Y,
        objective=found.objective,
        residual=found.residual,
        history=found.history,
        status=_joint(found.status, status),
        seed=run.seed,
        settings=_described(settings, tau, S),
        blocks={"eigenvalues": found.eigenvalues, "isolated": marks[S.isolated], "landmarks": marks},
        frames=found.frames and whole.frames(found.frames.turned_to(found.Y)),
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """The map of the rows of S, virtual ones included, and how it was found."""

    Y: Matrix
    eigenvalues: Matrix
    objective: float
    residual: float
    history: History
    status: Status
    frames: Frames | None


def _solve(S: Similarities, rows: Rows, settings: Settings, run: Run) -> _Found:
    d = min(settings.n_components, S.n)
    rank = min(max(d, settings.rank or d), S.n)
    start = svd_start(rows, rank, start_threshold(S.threshold, settings.init))
    problem = Matching(S, run)
    task: Any = problem
    if settings.solver == "dense":
        solver: Any = DenseUpdates(settings.momentum)
        task = DenseMatching(S.dense(), S.total, S.threshold)
    elif settings.solver == "factors":
        solver = FactorUpdates(settings.momentum, settings.tol)
    else:
        solver = QuasiNewton(tol=settings.tol)
    found = iterate(solver, task, start, run, max_iter=settings.max_iter)
    state = found.state
    made = outputs(state.Y, state.values, S.threshold, d)
    warn_if_not_a_gram_matrix(made)
    objective = problem.objective(Factors(state.Y, state.values))
    return _Found(
        made.Y, made.eigenvalues, objective, state.residual, found.history, found.status, found.frames
    )


def start_threshold(threshold: float, init: str) -> float:
    """The τ with which the start is made: that of the problem (eq 17), or 1 − (1 − τ)/4 for a strict one.

    With the larger τ fewer dissimilar pairs are positive at the start. Quasi-Newton steps, which are longer than alternating
    updates, then no longer shrink most rows to nothing, as they did for some rows and d = 4.
    """
    return 1 - (1 - threshold) / 4 if init == "strict" else threshold


def svd_start(X: Rows, d: int, threshold: float) -> Matrix:
    """Factors of L_ij = v_i·v_j − τ‖v_i‖‖v_j‖ with v the linear projections (eq 17); the last column enters negatively."""
    V = svd_projections(X, d).astype(np.float64)
    return np.column_stack([V, np.sqrt(threshold) * row_norms(V)])


@dataclass(frozen=True, eq=False)
class _Whole:
    """From the places of matched rows to those of all rows: rows of zeros at the origin, equal rows in one place.

    With `norms`, every place is scaled to the norm of its row, which changes no angle. Landmarks are scaled before the
    extension, because the weights of the extension also transfer norms.
    """

    marks: IntArray
    nonzero: IntArray
    own: IntArray
    n_components: int
    extension: Extension | None
    norms: Matrix | None

    @classmethod
    def of(cls, X: Rows, nonzero: IntArray, marks: IntArray, settings: Settings, run: Run) -> _Whole:
        extension = None
        if len(marks) < len(nonzero):
            at = np.searchsorted(nonzero, marks)
            extension = Extension.of(
                X[nonzero], at, settings.extension_neighbors, settings.regularization, run
            )
        norms = row_norms(X) if settings.norms == "keep" else None
        return cls(marks, nonzero, own_places(X, X), settings.n_components, extension, norms)

    def map(self, found: _Found, run: Run) -> tuple[Matrix, Status | None]:
        """The map, and how the solver of the extension ended, if there was one.

        After a matching that was interrupted or out of time, other rows are weighted sums of nearby landmarks only.
        """
        places, status = self._padded(found.Y), None
        if self.extension is not None and found.status.word in _UNFINISHED:
            places = self.extension.start(places)
        elif self.extension is not None:
            inner = replace(run.stage("extension"), callbacks=(), keep_frames=0)
            places, status = self.extension.solve(places, EXTENSION_TOLERANCE, inner)
        return self._all(places), status

    def frames(self, found: Frames) -> Frames:
        """The frames of all rows; rows that were not matched are weighted sums of nearby landmarks."""
        maps = []
        for frame in found.Y:
            places = self._padded(frame)
            maps.append(self._all(places if self.extension is None else self.extension.start(places)))
        return Frames(found.iteration, np.stack(maps).astype(np.float32))

    def _padded(self, found: FloatArray) -> Matrix:
        """Places of the matched rows without virtual ones, in the requested number of dimensions."""
        places = np.zeros((len(self.marks), self.n_components))
        places[:, : found.shape[1]] = found[: len(self.marks)]
        return self._in_length(places, self.marks)

    def _all(self, places: Matrix) -> Matrix:
        Y = np.zeros((len(self.own), self.n_components))
        Y[self.nonzero] = self._in_length(places, self.nonzero)
        return Y[self.own]

    def _in_length(self, places: Matrix, rows: IntArray) -> Matrix:
        """Places scaled to the norm of their rows; a place at the origin has no direction and stays there."""
        if self.norms is None:
            return places
        length = row_norms(places)
        factor = np.divide(self.norms[rows], length, out=np.zeros(len(rows)), where=length > 0)
        return places * factor[:, None]


def _joint(matching: Status, extension: Status | None) -> Status:
    """The status of the matching, unless only the extension was not finished."""
    if extension is None or matching.word in _UNFINISHED or extension.word not in _UNFINISHED:
        return matching
    return Status(extension.word, f"The extension from landmarks was not finished. {extension.sentence}")


def _landmarks(nonzero: IntArray, settings: Settings, run: Run) -> IntArray:
    """The rows that are matched: all, or a random selection of the given size."""
    m = settings.n_landmarks
    if m is None or m >= len(nonzero):
        return nonzero
    return np.sort(nonzero[run.stream("landmarks").permutation(len(nonzero))[:m]])


_DENSE_START = 3000  # columns, or rows, up to which the start is found by products of all with all


def forecast(shape: tuple[int, int], nnz: int | None, settings: Settings) -> float:
    """The largest number of bytes that a fit takes in addition to the data; nnz of sparse rows. Measured (tests/fire/memory.py).

    How many pairs are similar is known by the sparsity; a threshold that is given may keep more, which stops at the limit.
    """
    n, columns = shape
    m = n if settings.n_landmarks is None else min(n, settings.n_landmarks)
    entries = columns * m if nnz is None else 2.0 * nnz * m / n
    pairs = (1 - settings.sparsity) * m * m / 2
    matched = 20.0 * entries + 300.0 * m * settings.n_components + 64.0 * pairs
    square = 48.0 * m * m if settings.solver == "dense" else 0.0
    row = 58.0 * settings.extension_neighbors + 8.0 * columns + 165.0 * settings.n_components
    extended = 12e6 + row * n if m < n else 0.0
    held = matched + square
    if nnz is None:
        few = min(m, columns)
        held += 24.0 * few**2 if few <= _DENSE_START else 0.0  # products of columns and their eigenvectors
    else:
        few = min(m, columns)
        square = (
            float(few) ** 2 if few <= _DENSE_START else 0.0
        )  # beyond that the start is found without them
        # Products of rows that are held at a time, or the products of columns, as they come and dense, and the rows once more.
        joined = 8.0 * square + 12.0 * min(square, (nnz * m / n) ** 2 / m) + 10.0 * entries
        held = max(held, 0.5 * held + max(40.0 * min(2**20, m * m), joined))
    return 8e6 + held + extended


def _without_angles(X: Rows, settings: Settings, run: Run) -> Embedding:
    """The map of rows if at most one is not zero, so that there are only norms to keep."""
    Y = np.zeros((X.shape[0], settings.n_components))
    Y[:, 0] = row_norms(X)
    tau = settings.threshold if settings.threshold is not None else 0.5
    columns = {"iteration": [0], "objective": [0.0], "residual": [0.0], "seconds": [0.0]}
    empty = np.empty(0, dtype=np.int64)
    return Embedding(
        Y=Y.astype(X.dtype),
        objective=0.0,
        residual=0.0,
        history=History({name: np.array(column) for name, column in columns.items()}),
        status=Status("converged", "At most one row is not zero, so there is only its norm to keep."),
        seed=run.seed,
        settings=_described(settings, tau, None),
        blocks={"eigenvalues": np.zeros(1), "isolated": empty, "landmarks": empty},
    )


def _described(settings: Settings, tau: float, S: Similarities | None) -> dict[str, Any]:
    return {
        "method": "TSM",
        "n_components": settings.n_components,
        "threshold": float(tau),
        "sparsity": 1.0 if S is None else 1.0 - S.density,
        "n_virtual": 0 if S is None else S.n_virtual,
        "momentum": settings.momentum,
        "max_iter": settings.max_iter,
        "solver": settings.solver,
        "norms": settings.norms,
        "init": settings.init,
    }
