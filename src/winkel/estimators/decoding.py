"""From places on a map back to data: local weights of fitted rows, and how large the error is to be expected.

The error at a place is that of the fitted rows around it, each decoded from the others. That is less than new rows have, whose
places were not found together with those of their neighbours; so some fitted rows are placed again as new ones, among the rest, and all
errors are multiplied by what theirs is too small by.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from ..data.arrays import Matrix
from ..run import Stream
from ..typing import FloatArray, IntArray

NEIGHBORS = 10  # fitted rows whose weighted mean a place is
_PLACED_AGAIN = 200  # fitted rows at most, and a tenth of all,
_FEWEST = 200  # of at least so many
_KNOWN = {"_rows", "_item_of", "_repulsion"}  # what an estimator may keep for `transform` beside its map


@dataclass(frozen=True, eq=False)
class Decoder:
    """Fitted rows and their places; `errors` are what leaving each row out costs, the root of the sum of squares over columns."""

    rows: Matrix
    places: FloatArray
    tree: Any
    errors: FloatArray

    @classmethod
    def of(cls, rows: Matrix, places: FloatArray) -> Decoder:
        """The decoder of a map: every row is decoded from the others once, to know the error."""
        wide = np.asarray(places, dtype=np.float64)
        tree = cKDTree(wide)
        index, weights = _weights(tree, wide, min(NEIGHBORS, len(wide) - 1), own=np.arange(len(wide)))
        apart = _mean_of(rows, index, weights) - rows.astype(np.float64)
        return cls(rows, wide, tree, _lengths(apart))

    def decode(self, Y: FloatArray) -> tuple[Matrix, FloatArray]:
        """The data at places Y, and the error to be expected: the weighted errors of the rows it is made of."""
        index, weights = _weights(
            self.tree, np.asarray(Y, dtype=np.float64), min(NEIGHBORS, len(self.places)), None
        )
        found = _mean_of(self.rows, index, weights).astype(self.rows.dtype)
        error = np.sum(weights * self.errors[index], axis=1)
        return found, np.where((weights == 1).any(axis=1), 0.0, error)


def new_row_factor(model: Any, rows: Matrix, places: FloatArray) -> float:
    """How many times as large the errors of new rows are as those that a `Decoder` of the fitted ones states.

    `model` is the fitted estimator. Where its `transform` needs more than rows and places, or there are few rows, it is 1.
    """
    n = len(places)
    if n < _FEWEST or not set(model._fitted) <= _KNOWN:
        return 1.0
    again = np.sort(Stream.named(0, "rows placed again").permutation(n)[: min(_PLACED_AGAIN, n // 10)])
    rest = np.setdiff1d(np.arange(n), again)
    twin = copy.copy(model)
    twin._rows = rows[rest]
    if "_item_of" in model._fitted:  # as if the others had not been fitted, but placed afterwards
        number = np.full(n, -1)
        number[rest] = np.arange(len(rest))
        items = np.arange(n) if model._item_of is None else model._item_of
        twin._item_of = np.where(items >= 0, number[items], -1)
    else:
        twin.result_ = replace(model.result_, Y=places[rest])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, stated = Decoder.of(rows[rest], places[rest]).decode(twin.transform(rows[again]))
    true: FloatArray = _lengths(found - rows[again])
    new = stated > 0  # equal rows, which some maps hold apart, come back exactly
    return float(true[new].sum() / stated[new].sum()) if new.any() else 1.0


def _lengths(apart: Any) -> FloatArray:
    """The root of the sum of squares of each row."""
    if sp.issparse(apart):
        return np.sqrt(np.asarray(apart.multiply(apart).sum(axis=1), dtype=np.float64).ravel())
    return np.sqrt(np.einsum("ij,ij->i", apart, apart, dtype=np.float64))


def _weights(tree: Any, Y: FloatArray, k: int, own: IntArray | None) -> tuple[IntArray, FloatArray]:
    """The k fitted places nearest to each of Y, without its own, and weights that fall by the square of the distance.

    A place that is a fitted one has weight 1 there (the first of those that share it).
    """
    count = k if own is None else k + 1
    distance, index = tree.query(Y, k=np.arange(1, count + 1))
    if own is not None:  # each row's own place, or of several in one place the first, is left out
        there = index == own[:, None]
        there[~there.any(axis=1), -1] = True
        keep = ~there
        distance, index = distance[keep].reshape(len(Y), k), index[keep].reshape(len(Y), k)
    same = distance == 0
    first = same & (np.cumsum(same, axis=1) == 1)
    with np.errstate(divide="ignore"):
        weights = 1 / np.where(same, 1.0, distance) ** 2
    weights = np.where(same.any(axis=1, keepdims=True), first.astype(float), weights)
    return index, weights / weights.sum(axis=1, keepdims=True)


def _mean_of(rows: Matrix, index: IntArray, weights: FloatArray) -> Any:
    n = len(index)
    chosen = sp.csr_matrix(
        (weights.ravel(), index.ravel(), np.arange(0, index.size + 1, index.shape[1])), (n, rows.shape[0])
    )
    return chosen @ rows
