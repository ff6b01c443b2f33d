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

_BLOCK = 1024  # rows placed at a time, which bounds the memory
_UPDATES = 100  # of the ReLU map; every one makes its error smaller
_FAR = 256  # fitted rows beside the near ones that a row's place is kept away from
_RIDGE = 1e-6
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
    some = np.flatnonzero(norms > 0)
    for start in range(0, len(some), _BLOCK):
        part = some[start : start + _BLOCK]
        unit = rows[part] / norms[part, None]
        near, far = knn_query(unit, fitted.X, fitted.n_neighbors, metric="cosine", n_jobs=fitted.n_jobs)
        weights = local_weights(unit, fitted.X, near, fitted.regularization, fitted.n_jobs)
        found = combine(weights, fitted.Y, near)
        if method == "relu":
            found = _relu(unit.astype(np.float64), near, _unit(found), fitted)
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


def _relu(unit: Matrix, near: IntArray, start: Matrix, fitted: FittedRows) -> Matrix:
    """Directions u on the map with max(0, x·μ_j − τ‖μ_j‖) = max(0, u·ν_j − τ‖ν_j‖), as nearly as can be (eq 16).

    The prototypes μ_j, ν_j are the near fitted rows and some others, spread over the data, with their places. As in the
    fit, the left side says what a product must be where it is positive, and only bounds it elsewhere: targets from the
    present u (eq 5), then u by least squares, in turn.
    """
    far = np.linspace(0, len(fitted.X) - 1, min(_FAR, len(fitted.X))).astype(np.int64)
    which = np.concatenate([near.astype(np.int64), np.broadcast_to(far, (len(near), len(far)))], axis=1)
    mu_norm, nu_norm = row_norms(fitted.X)[which], row_norms(fitted.Y)[which]
    nu = fitted.Y[which].astype(np.float64)
    with threadpool_limits(1, user_api="blas"):
        products = np.concatenate(
            [
                (fitted.X[near].astype(np.float64) @ unit[:, :, None])[:, :, 0],
                (fitted.X[far].astype(np.float64)[None] @ unit[:, :, None])[:, :, 0],
            ],
            axis=1,
        )
        wanted = np.maximum(0.0, products - fitted.threshold * mu_norm)
        normal = nu.transpose(0, 2, 1) @ nu
        trace = np.trace(normal, axis1=1, axis2=2)[:, None]
        axes = np.arange(normal.shape[1])
        normal[:, axes, axes] += _RIDGE * np.where(trace > 0, trace, 1.0)
        inverse = np.linalg.inv(normal)
        u = start[:, :, None]
        for _ in range(_UPDATES):
            now = (nu @ u)[:, :, 0] - fitted.threshold * nu_norm
            target = np.where(wanted > 0, wanted, np.minimum(now, 0.0)) + fitted.threshold * nu_norm
            u = inverse @ (nu.transpose(0, 2, 1) @ target[:, :, None] + _RIDGE * trace[:, :, None] * u)
            u = u / np.maximum(np.sqrt(np.sum(u * u, axis=1, keepdims=True)), 1e-300)
    return u[:, :, 0]
