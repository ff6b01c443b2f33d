"""New rows in a finished map: by locally linear weights, or by the parametric ReLU map (Saul 2023, eq 16).

Both turn the direction of a row into a direction on the map and give it the row's norm. Every row is placed by itself, a
row that equals a fitted one has that row's place, a row of zeros the origin, and parallel rows have parallel places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...graph import knn_query
from ...typing import FloatArray, IntArray
from .similarity import row_norms
from .weights import combine, local_weights

Matrix = NDArray[np.float64]

_SCRATCH = 2**24  # numbers of near rows that are held at a time
_UPDATES = 30  # steps of the ReLU map
_SPREAD = 256  # fitted rows beside the near ones that a row's place is kept away from
_DAMPING = 0.01  # of its steps, in proportion to the mean curvature
_PARALLEL = 1e-13  # cosine distance that rounding leaves between parallel rows


@dataclass(frozen=True)
class FittedRows:
    """What new rows are compared with: fitted rows, none of them zero, and their places on the map."""

    X: FloatArray
    Y: FloatArray
    threshold: float
    regularization: float
    n_jobs: int

    @property
    def n_neighbors(self) -> int:
        """Near rows that make up a new one: four times the dimension of the map."""
        return min(4 * self.Y.shape[1], len(self.X))


def place(rows: FloatArray, fitted: FittedRows, method: str) -> Matrix:
    """Places of rows by `method`, "local" or "relu"."""
    norms = row_norms(rows)
    Y = np.zeros((len(rows), fitted.Y.shape[1]))
    if len(fitted.X) < 2:  # one direction is known, or none
        Y[:] = norms[:, None] * _unit(fitted.Y.astype(np.float64)).sum(axis=0)
        return Y
    some = np.flatnonzero(norms > 0)
    step = max(1, _SCRATCH // (2 * fitted.n_neighbors * rows.shape[1]))
    for start in range(0, len(some), step):
        part = some[start : start + step]
        unit = rows[part] / norms[part, None]
        near, far = knn_query(unit, fitted.X, fitted.n_neighbors, metric="cosine", n_jobs=fitted.n_jobs)
        weights = local_weights(unit, fitted.X, near, fitted.regularization, fitted.n_jobs)
        found = combine(weights, fitted.Y, near)
        if method == "relu":
            found = _relu(unit.astype(np.float64), found, fitted)
        found = _unit(found)
        # A multiple of a fitted row has the multiple of its place.
        same = far[:, 0] <= _PARALLEL
        first = near[same, 0]
        found[same] = fitted.Y[first] / row_norms(fitted.X[first])[:, None]
        Y[part] = found * norms[part, None]
    return Y


def own_places(rows: FloatArray, fitted: FloatArray) -> IntArray:
    """The first fitted row that equals each row, or −1."""
    common = np.result_type(rows.dtype, fitted.dtype)
    first: dict[bytes, int] = {}
    for i, key in enumerate(_keys(fitted, common)):
        first.setdefault(key, i)
    return np.array([first.get(key, -1) for key in _keys(rows, common)], dtype=np.int64)


def _keys(rows: FloatArray, dtype: np.dtype[np.floating]) -> list[bytes]:
    # Adding zero turns −0.0, which equals 0.0 in other bytes, into 0.0.
    return [(row.astype(dtype) + 0.0).tobytes() for row in rows]


def _unit(rows: Matrix) -> Matrix:
    norms = np.sqrt(np.sum(rows * rows, axis=1))
    return np.divide(rows, norms[:, None], out=np.zeros_like(rows), where=norms[:, None] > 0)


def _relu(unit: Matrix, start: Matrix, fitted: FittedRows) -> Matrix:
    """u with max(0, x·μ_j − τ‖x‖‖μ_j‖) = max(0, u·ν_j − τ‖u‖‖ν_j‖) as nearly as can be (eq 16), x of unit norm.

    The prototypes μ_j, ν_j are near fitted rows and some others, spread over the data, with their places. Damped
    Gauss–Newton steps over the prototypes with which x or u is similar; of all iterates the one with the least error.
    """
    tau = fitted.threshold
    with threadpool_limits(1, user_api="blas"):
        wanted, nu = _prototypes(unit, fitted)
        nu_norm = np.linalg.norm(nu, axis=2)
        u = best = start
        least = np.full(len(unit), np.inf)
        axes = np.arange(u.shape[1])
        for _ in range(_UPDATES):
            # u·ν − τ‖u‖‖ν‖ is its own derivative times u, since it grows with the length of u.
            slope = nu - tau * nu_norm[:, :, None] * _unit(u)[:, None, :]
            now = (slope @ u[:, :, None])[:, :, 0]
            error = np.sum((np.maximum(0.0, now) - wanted) ** 2, axis=1)
            better = error < least
            best, least = np.where(better[:, None], u, best), np.where(better, error, least)
            slope *= ((wanted > 0) | (now > 0))[:, :, None]
            normal = slope.transpose(0, 2, 1) @ slope
            damping = _DAMPING * np.trace(normal, axis1=1, axis2=2) / len(axes)
            normal[:, axes, axes] += np.where(damping > 0, damping, 1.0)[:, None]
            step = np.linalg.solve(normal, slope.transpose(0, 2, 1) @ (wanted - now)[:, :, None])
            u = u + step[:, :, 0]
    return best


def _prototypes(unit: Matrix, fitted: FittedRows) -> tuple[Matrix, Matrix]:
    """Thresholded similarities of each row with its prototypes, near fitted rows and spread ones, and their places."""
    k = min(2 * fitted.n_neighbors, len(fitted.X))
    near, _ = knn_query(unit, fitted.X, k, metric="cosine", n_jobs=fitted.n_jobs)
    spread = np.linspace(0, len(fitted.X) - 1, min(_SPREAD, len(fitted.X))).astype(np.int64)
    wanted = []
    for mu in (fitted.X[near], fitted.X[spread][None]):
        product = (mu.astype(np.float64) @ unit[:, :, None])[:, :, 0]
        wanted.append(np.maximum(0.0, product - fitted.threshold * np.linalg.norm(mu, axis=2)))
    which = np.concatenate([near.astype(np.int64), np.broadcast_to(spread, (len(near), len(spread)))], axis=1)
    return np.concatenate(wanted, axis=1), fitted.Y[which].astype(np.float64)
