"""From places on a map back to data: local weights of fitted rows, and how large the error is to be expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from ..data.arrays import Matrix
from ..typing import FloatArray, IntArray

NEIGHBORS = 10  # fitted rows whose weighted mean a place is


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
        if sp.issparse(apart):
            square = np.asarray(apart.multiply(apart).sum(axis=1)).ravel()
        else:
            square = np.einsum("ij,ij->i", apart, apart)
        return cls(rows, wide, tree, np.sqrt(square))

    def decode(self, Y: FloatArray) -> tuple[Matrix, FloatArray]:
        """The data at places Y, and the error to be expected: the weighted errors of the rows it is made of."""
        index, weights = _weights(
            self.tree, np.asarray(Y, dtype=np.float64), min(NEIGHBORS, len(self.places)), None
        )
        found = _mean_of(self.rows, index, weights).astype(self.rows.dtype)
        error = np.sum(weights * self.errors[index], axis=1)
        return found, np.where((weights == 1).any(axis=1), 0.0, error)


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
