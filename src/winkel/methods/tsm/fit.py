"""Thresholded similarity matching, step by step: S, then L, then the map; and landmarks for large data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...embedding import Embedding
from ...random import Stream
from ...run import Run
from ...solvers import iterate
from ...solvers.base import History, Status
from ...typing import FloatArray, IntArray
from .baselines import svd_map
from .dense import DenseMatching, DenseUpdates
from .extension import locally_linear_extension
from .gram import outputs, warn_if_not_a_gram_matrix
from .placement import FittedRows, own_places, place
from .quasi_newton import QuasiNewton
from .similarity import AngleHistogram, Similarities, angle_histogram, row_norms, similarities
from .updates import Factors, FactorUpdates, Matching

Matrix = NDArray[np.float64]

# Of the extension from landmarks: on 10 000 images a hundredth of it changes the mean angular deviation by 0.001°.
EXTENSION_TOLERANCE = 1e-4
_MODERATE = (1e-5, 1e5)  # largest entries with which single precision has no trouble


SOLVERS = ("quasi_newton", "factors", "dense")
PLACEMENTS = ("local", "relu")


@dataclass(frozen=True)
class Settings:
    """What was asked for; `threshold` None takes it from the histogram of angles by `sparsity`."""

    n_components: int
    threshold: float | None
    sparsity: float
    n_landmarks: int | None
    momentum: float
    max_iter: int
    tol: float
    solver: str
    placement: str
    regularization: float


def embed(X: FloatArray, settings: Settings, run: Run) -> Embedding:
    """The Embedding of rows. Rows of zeros stand at the origin, equal rows in one place.

    Rows with very large or small entries are scaled first, and the objective is that of the scaled rows.

    Its blocks are `eigenvalues` of the Gram matrix, `isolated` rows (similar to no other) and, if there were any,
    `landmarks`.
    """
    _check_memory(X, settings, run)
    scale = _scale(X)
    if scale != 1.0:
        made = embed(X / X.dtype.type(scale), settings, run)
        return replace(made, Y=(made.Y * scale).astype(X.dtype))
    nonzero = np.flatnonzero(row_norms(X) > 0)
    marks = _landmarks(nonzero, settings, run.seed)
    if len(marks) < 2:
        return _without_angles(X, settings, run.seed)
    tau = settings.threshold
    if tau is None:
        tau = angle_histogram(X[marks], sparsity=settings.sparsity, seed=run.seed).threshold
    S, rows = similarities(X[marks], tau, n_jobs=run.n_jobs, limit=run.max_memory)
    found = _solve(S, rows, settings, run)
    places = np.zeros((len(marks), settings.n_components))
    places[:, : found.Y.shape[1]] = found.Y[: len(marks)]
    Y = np.zeros((len(X), settings.n_components))
    Y[marks] = places
    if len(marks) < len(nonzero):
        Y[nonzero] = locally_linear_extension(
            X[nonzero],
            np.searchsorted(nonzero, marks),
            places,
            regularization=settings.regularization,
            tol=EXTENSION_TOLERANCE,
            random_state=run.seed,
            n_jobs=run.n_jobs,
            verbose=run.verbose,
        )
    Y = Y[own_places(X, X)]
    return Embedding(
        Y=Y.astype(X.dtype),
        objective=found.objective,
        residual=found.residual,
        history=found.history,
        status=found.status,
        seed=run.seed,
        settings=_described(settings, tau, S),
        blocks={"eigenvalues": found.eigenvalues, "isolated": marks[S.isolated], "landmarks": marks},
    )


@dataclass(frozen=True)
class _Found:
    Y: Matrix
    eigenvalues: Matrix
    objective: float
    residual: float
    history: History
    status: Status


def _solve(S: Similarities, rows: FloatArray, settings: Settings, run: Run) -> _Found:
    """The map of the rows of S."""
    d = min(settings.n_components, S.n)
    stricter = 1 - (1 - S.threshold) / 4 if settings.solver == "quasi_newton" else S.threshold
    start = svd_start(rows, d, stricter)
    problem = Matching(S, run.n_jobs)
    if settings.solver == "dense":
        solver: Any = DenseUpdates(settings.momentum)
        task: Any = DenseMatching(S.dense(), S.total)
    elif settings.solver == "factors":
        solver, task = FactorUpdates(settings.momentum, settings.tol), problem
    else:
        solver, task = QuasiNewton(tol=settings.tol), problem
    result = iterate(solver, task, start, run, max_iter=settings.max_iter)
    state = result.state
    made = outputs(state.Y, state.values, S.threshold)
    warn_if_not_a_gram_matrix(made)
    objective = problem.objective(Factors(state.Y, state.values))
    return _Found(made.Y, made.eigenvalues, objective, state.residual, result.history, result.status)


def place_rows(
    rows: FloatArray, fitted: FloatArray, Y: FloatArray, settings: Settings, threshold: float, run: Run
) -> FloatArray:
    """Places of new rows among fitted ones; a row that equals a fitted one has that row's place."""
    own = own_places(rows, fitted)
    placed = np.array(Y[np.maximum(own, 0)])
    new = np.flatnonzero(own < 0)
    if len(new):
        known = row_norms(fitted) > 0
        among = FittedRows(fitted[known], Y[known], threshold, settings.regularization, run.n_jobs)
        placed[new] = place(rows[new], among, settings.placement)
    return placed


def svd_start(X: FloatArray, d: int, threshold: float) -> Matrix:
    """Factors of L_ij = v_i·v_j − τ‖v_i‖‖v_j‖ with v the linear projections (eq 17); the last column enters negatively.

    With a τ larger than that of the problem fewer dissimilar pairs are positive at the start. Quasi-Newton steps, which are
    longer than alternating updates, then no longer shrink most rows to nothing, as they did for some rows and d = 4.
    """
    V = svd_map(X, d).astype(np.float64)
    return np.column_stack([V, np.sqrt(threshold) * row_norms(V)])


def histogram(X: FloatArray, sparsity: float, seed: int) -> AngleHistogram:
    """The histogram of angles by which "auto" chooses, of rows that are not zero."""
    return angle_histogram(X[row_norms(X) > 0], sparsity=sparsity, seed=seed)


def _scale(X: FloatArray) -> float:
    """A power of two by which rows are divided where fourth powers of their norms could overflow or vanish, or 1."""
    largest = float(np.max(np.abs(X), initial=0.0))
    if largest == 0 or _MODERATE[0] < largest < _MODERATE[1]:
        return 1.0
    return float(2.0 ** np.round(np.log2(largest)))


def _landmarks(nonzero: IntArray, settings: Settings, seed: int) -> IntArray:
    """The rows that are matched: all, or so many drawn at random."""
    m = settings.n_landmarks
    if m is None or m >= len(nonzero):
        return nonzero
    return np.sort(nonzero[Stream.named(seed, "landmarks").permutation(len(nonzero))[:m]])


def _check_memory(X: FloatArray, settings: Settings, run: Run) -> None:
    m = len(X) if settings.n_landmarks is None else min(len(X), settings.n_landmarks)
    wide = 4.0 * m * X.shape[1] + 260.0 * m * settings.n_components
    square = 48.0 * m * m if settings.solver == "dense" else 0.0
    run.check_memory(
        wide + square,
        f"Similarity matching of {m} rows",
        'Use n_landmarks, or solver="quasi_newton".' if square else "Use n_landmarks.",
    )


def _without_angles(X: FloatArray, settings: Settings, seed: int) -> Embedding:
    """The map of rows of which at most one is not zero: norms are all there is to keep."""
    Y = np.zeros((len(X), settings.n_components))
    Y[:, 0] = row_norms(X)
    tau = settings.threshold if settings.threshold is not None else 0.5
    columns = {"iteration": [0], "objective": [0.0], "residual": [0.0], "seconds": [0.0]}
    empty = np.empty(0, dtype=np.int64)
    return Embedding(
        Y=Y.astype(X.dtype),
        objective=0.0,
        residual=0.0,
        history=History({name: np.array(column) for name, column in columns.items()}),
        status=Status("converged", "At most one row is not zero: its norm is all there is to keep."),
        seed=seed,
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
    }
