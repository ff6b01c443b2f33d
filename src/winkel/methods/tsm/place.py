"""New rows in a finished map: by locally linear weights, or by the parametric ReLU map (Saul 2023, eq 16).

Both turn the direction of a row into a direction on the map and give it the row's norm. Every row is placed by itself, a
row that equals a fitted one has that row's place, a row of zeros the origin, and parallel rows have parallel places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...data import Table
from ...graph import nearest_rows
from ...run import Run
from ...typing import FloatArray, IntArray
from .extension import combine, local_weights
from .factors import Matrix
from .similarity import row_norms

PLACEMENTS = ("local", "relu")
_SCRATCH = 2**24  # numbers of neighbours that are held at a time
_UPDATES = 30  # steps of the ReLU map
_SPREAD = 256  # fitted rows beside the neighbours that a row's place is kept away from
_DAMPING = 0.01  # of its steps, in proportion to the mean curvature
_PARALLEL = 1e-13  # cosine distance that rounding leaves between parallel rows


@dataclass(frozen=True, eq=False)
class FittedRows:
    """What new rows are compared with: fitted rows and their places on the map; and how new ones are placed."""

    X: FloatArray
    Y: FloatArray
    threshold: float
    regularization: float
    placement: str

    @property
    def nonzero(self) -> FittedRows:
        """Those with a direction."""
        kept = row_norms(self.X) > 0
        return FittedRows(self.X[kept], self.Y[kept], self.threshold, self.regularization, self.placement)

    @property
    def n_neighbors(self) -> int:
        """Rows that make up a new one: four times the dimension of the map."""
        return min(4 * self.Y.shape[1], len(self.X))

    def nearest(self, unit: FloatArray, k: int, run: Run) -> tuple[NDArray[np.int32], FloatArray]:
        """The k nearest rows, by angle, of rows of unit norm, and their cosine distances."""
        fitted = Table(self.X, validated=True)
        return nearest_rows(Table(unit, validated=True), fitted, k, run, metric="cosine")


def place(rows: FloatArray, fitted: FittedRows, run: Run) -> FloatArray:
    """Places of new rows among fitted ones; a row that equals a fitted one has that row's place."""
    own = own_places(rows, fitted.X)
    Y = np.array(fitted.Y[np.maximum(own, 0)])
    new = np.flatnonzero(own < 0)
    if len(new):
        Y[new] = _place_new(rows[new], fitted.nonzero, run)
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


def _place_new(rows: FloatArray, fitted: FittedRows, run: Run) -> Matrix:
    """Places of rows that equal no fitted one."""
    norms = row_norms(rows)
    Y = np.zeros((len(rows), fitted.Y.shape[1]))
    if len(fitted.X) < 2:  # one direction is known, or none
        Y[:] = norms[:, None] * _unit(fitted.Y.astype(np.float64)).sum(axis=0)
        return Y
    nonzero = np.flatnonzero(norms > 0)
    step = max(1, _SCRATCH // (2 * fitted.n_neighbors * rows.shape[1]))
    for start in range(0, len(nonzero), step):
        part = nonzero[start : start + step]
        Y[part] = _directions(rows[part] / norms[part, None], fitted, run) * norms[part, None]
    return Y


def _directions(unit: FloatArray, fitted: FittedRows, run: Run) -> Matrix:
    """Directions on the map of rows of unit norm."""
    index, distance = fitted.nearest(unit, fitted.n_neighbors, run)
    found = combine(local_weights(unit, fitted.X, index, fitted.regularization, run), fitted.Y, index)
    if fitted.placement == "relu":
        found = _relu(unit.astype(np.float64), found, fitted, run)
    found = _unit(found)
    # A multiple of a fitted row has the multiple of its place.
    parallel = distance[:, 0] <= _PARALLEL
    first = index[parallel, 0]
    found[parallel] = fitted.Y[first] / row_norms(fitted.X[first])[:, None]
    return found


def _unit(rows: Matrix) -> Matrix:
    norms = np.sqrt(np.sum(rows * rows, axis=1))
    return np.divide(rows, norms[:, None], out=np.zeros_like(rows), where=norms[:, None] > 0)


def _relu(unit: Matrix, start: Matrix, fitted: FittedRows, run: Run) -> Matrix:
    """u with max(0, x·μ_j − τ‖x‖‖μ_j‖) = max(0, u·ν_j − τ‖u‖‖ν_j‖) as nearly as can be (eq 16), x of unit norm.

    The prototypes μ_j, ν_j are fitted rows nearby and others, spread over the data, with their places. Damped
    Gauss–Newton steps over the prototypes with which x or u is similar; of all iterates the one with the least error.
    """
    tau = fitted.threshold
    with threadpool_limits(1, user_api="blas"):
        wanted, nu = _prototypes(unit, fitted, run)
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


def _prototypes(unit: Matrix, fitted: FittedRows, run: Run) -> tuple[Matrix, Matrix]:
    """Thresholded similarities of each row with its prototypes, fitted rows nearby and spread ones, and their places."""
    index, _ = fitted.nearest(unit, min(2 * fitted.n_neighbors, len(fitted.X)), run)
    spread = np.linspace(0, len(fitted.X) - 1, min(_SPREAD, len(fitted.X))).astype(np.int64)
    wanted = []
    for mu in (fitted.X[index], fitted.X[spread][None]):
        product = (mu.astype(np.float64) @ unit[:, :, None])[:, :, 0]
        wanted.append(np.maximum(0.0, product - fitted.threshold * np.linalg.norm(mu, axis=2)))
    which = np.concatenate(
        [index.astype(np.int64), np.broadcast_to(spread, (len(index), len(spread)))], axis=1
    )
    return np.concatenate(wanted, axis=1), fitted.Y[which].astype(np.float64)
