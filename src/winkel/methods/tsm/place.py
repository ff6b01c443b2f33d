"""New rows on a finished map: by locally linear weights, or by the parametric ReLU map (Saul 2023, eq 16).

Both turn the direction of a row into a direction on the map and give it the norm of the row. Every row is placed on its own. A
row that equals a fitted row gets that row's place, a row of zeros is placed at the origin, and parallel rows have parallel places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...algebra import each_product
from ...data import Table
from ...graph import nearest_rows
from ...run import Run
from ...typing import FloatArray, IntArray
from ..kds.dictionary import spread_rows
from ..rows import Rows, alike, products_of_rows, row_keys, row_norms, scaled_rows
from .extension import combine, local_weights
from .factors import Matrix
from .relu import solve_relu, unit_rows

PLACEMENTS = ("local", "relu")
_SCRATCH = 2**24  # numbers of neighbours that are held at a time
_SPREAD = 256  # fitted rows, besides the neighbours, from which the place of a row is kept away
_SAMPLED = 16  # rows for each of these that they are chosen from
_PARALLEL = 1e-13  # cosine distance that rounding leaves between parallel rows


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Fitted rows and their places on the map, with which new rows are compared; and how new rows are placed."""

    X: Rows
    Y: FloatArray
    threshold: float
    regularization: float
    placement: str
    wanted_neighbors: int

    @property
    def nonzero(self) -> FittedRows:
        """Those with a direction."""
        kept = row_norms(self.X) > 0
        return replace(self, X=self.X[kept], Y=self.Y[kept])

    @property
    def n_neighbors(self) -> int:
        """Number of rows in the weighted sum of a new row: the requested number, or fewer if there are too few rows."""
        return min(self.wanted_neighbors, self.X.shape[0])

    def nearest(self, unit: Rows, k: int, run: Run) -> tuple[NDArray[np.int32], FloatArray]:
        """The k nearest rows, by angle, of rows of unit norm, and their cosine distances."""
        fitted = Table(self.X, validated=True)
        return nearest_rows(Table(unit, validated=True), fitted, k, run, metric="cosine")


def place(rows: Rows, fitted: FittedRows, run: Run) -> FloatArray:
    """Places of new rows among fitted rows; a row that equals a fitted row gets that row's place."""
    step = max(1, _SCRATCH // rows.shape[1])
    if (
        issparse(rows) and not issparse(fitted.X) and rows.shape[0] > step
    ):  # as many as may be dense at a time
        parts = [place(rows[start : start + step], fitted, run) for start in range(0, rows.shape[0], step)]
        return np.concatenate(parts)
    rows = alike(rows, fitted.X)
    own = own_places(rows, fitted.X)
    Y = np.array(fitted.Y[np.maximum(own, 0)])
    new = np.flatnonzero(own < 0)
    if len(new):
        Y[new] = _place_new(rows[new], fitted.nonzero, run)
    return Y


def own_places(rows: Rows, fitted: Rows) -> IntArray:
    """The first fitted row that equals each row, or −1."""
    common = np.result_type(rows.dtype, fitted.dtype)
    first: dict[bytes, int] = {}
    for i, key in enumerate(row_keys(fitted, common)):
        first.setdefault(key, i)
    return np.array([first.get(key, -1) for key in row_keys(rows, common)], dtype=np.int64)


def _place_new(rows: Rows, fitted: FittedRows, run: Run) -> Matrix:
    """Places of rows that equal no fitted one."""
    norms = row_norms(rows)
    Y = np.zeros((rows.shape[0], fitted.Y.shape[1]))
    if fitted.X.shape[0] < 2:  # one direction is known, or none
        Y[:] = norms[:, None] * unit_rows(fitted.Y.astype(np.float64)).sum(axis=0)
        return Y
    nonzero = np.flatnonzero(norms > 0)
    width = int(np.diff(rows.indptr).max()) if issparse(rows) else rows.shape[1]
    step = max(1, _SCRATCH // (2 * fitted.n_neighbors * max(1, width)))
    for start in range(0, len(nonzero), step):
        part = nonzero[start : start + step]
        Y[part] = _directions(_in_unit_norm(rows[part], norms[part]), fitted, run) * norms[part, None]
    return Y


def _in_unit_norm(rows: Rows, norms: Matrix) -> Rows:
    return scaled_rows(rows, 1.0 / norms) if issparse(rows) else rows / norms[:, None]


def _directions(unit: Rows, fitted: FittedRows, run: Run) -> Matrix:
    """Directions on the map of rows of unit norm."""
    index, distance = fitted.nearest(unit, fitted.n_neighbors, run)
    found = combine(local_weights(unit, fitted.X, index, fitted.regularization, run), fitted.Y, index)
    if fitted.placement == "relu":
        found = _relu(unit.astype(np.float64), found, fitted, run)
    found = unit_rows(found)
    # A multiple of a fitted row has the multiple of its place.
    parallel = distance[:, 0] <= _PARALLEL
    first = index[parallel, 0]
    found[parallel] = fitted.Y[first] / row_norms(fitted.X[first])[:, None]
    return found


def _relu(unit: Rows, start: Matrix, fitted: FittedRows, run: Run) -> Matrix:
    """The places that eq 16 gives rows of unit norm; prototypes are fitted rows nearby and others spread over the data."""
    wanted, nu = _prototypes(unit, fitted, run)
    return solve_relu(wanted, nu, start, fitted.threshold)


def _spread(X: Rows, run: Run) -> IntArray:
    """Rows spread over the directions of the data by k-means++, from a sample of many rows."""
    order = run.stream("tsm prototypes").permutation(X.shape[0])
    sample = np.sort(order[: _SAMPLED * _SPREAD])
    length = row_norms(X[sample])
    unit = _in_unit_norm(X[sample], length if issparse(X) else length.astype(X.dtype))
    return np.unique(sample[spread_rows(unit, min(_SPREAD, len(sample)), run)])


def _prototypes(unit: Rows, fitted: FittedRows, run: Run) -> tuple[Matrix, Matrix]:
    """Thresholded similarities of each row with its prototypes, fitted rows nearby and spread ones, and their places."""
    index, _ = fitted.nearest(unit, min(2 * fitted.n_neighbors, fitted.X.shape[0]), run)
    spread = _spread(fitted.X, run)
    wanted = _similar_to(unit, fitted, index, spread)
    which = np.concatenate(
        [index.astype(np.int64), np.broadcast_to(spread, (len(index), len(spread)))], axis=1
    )
    return np.concatenate(wanted, axis=1), fitted.Y[which].astype(np.float64)


def _similar_to(unit: Rows, fitted: FittedRows, index: IntArray, spread: IntArray) -> list[Matrix]:
    """Thresholded similarities of rows of unit norm with the fitted rows `index`, others for each, and `spread`, the same for all."""
    wanted = []
    if issparse(unit):
        n, k = index.shape
        near = unit[np.repeat(np.arange(n), k)].multiply(fitted.X[index.ravel()])
        products = [
            np.asarray(near.sum(axis=1)).reshape(n, k),
            products_of_rows(unit, fitted.X[spread]),
        ]
        norms = row_norms(fitted.X)
        for product, length in zip(products, (norms[index], norms[spread])):
            wanted.append(np.maximum(0.0, product - fitted.threshold * length))
        return wanted
    for mu in (fitted.X[index], fitted.X[spread][None]):
        product = each_product(np.broadcast_to(mu, (len(unit), *mu.shape[1:])), unit[:, None])[:, :, 0]
        wanted.append(np.maximum(0.0, product - fitted.threshold * np.linalg.norm(mu, axis=2)))
    return wanted
