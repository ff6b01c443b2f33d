"""The constraint that some items stay where they are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InvalidParameterError
from ...typing import FloatArray, IntArray
from .base import Constraint, random_normal


class Anchored(Constraint):
    """yᵢ = given value for each anchored item i; the rest is free."""

    def __init__(self, indices: ArrayLike, values: ArrayLike) -> None:
        self.indices, self.values = as_placed_items("Anchored", indices, values)

    def check(self, n: int, m: int) -> None:
        check_placed_items("Anchored", self.indices, self.values, n, m)

    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        # Free items start around the anchors, on their scale, so that neither set is out of reach of the other.
        Y = random_normal(n, m, seed)
        spread = float(self.values.std()) if len(self.values) > 1 else 1.0
        Y = self.values.mean(axis=0) + (spread if spread > 0 else 1.0) * Y
        return self.project(Y)

    def project(self, Y: FloatArray) -> FloatArray:
        out = np.array(Y)
        out[self.indices] = self.values
        return out

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        out = np.array(G)
        out[self.indices] = 0
        return out

    def __repr__(self) -> str:
        return f"Anchored({len(self.indices)} items)"


def as_placed_items(what: str, indices: ArrayLike, values: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Items and their positions as read-only arrays, checked against each other."""
    items, positions = np.array(indices), np.array(values, dtype=np.float64)
    if items.ndim != 1 or not np.issubdtype(items.dtype, np.integer) or not len(items):
        raise InvalidParameterError(
            f"{what} needs a vector of item numbers, at least one; got an array of {items.dtype}, shape {items.shape}."
        )
    if positions.ndim != 2 or len(positions) != len(items) or not np.isfinite(positions).all():
        raise InvalidParameterError(
            f"{what} needs one finite position a named item, an array of shape ({len(items)}, n_components); "
            f"got shape {positions.shape}{'' if np.isfinite(positions).all() else ' with values that are not finite'}."
        )
    if len(np.unique(items)) != len(items):
        raise InvalidParameterError(f"{what} names an item more than once; give each item one position.")
    items = items.astype(np.int64)
    items.flags.writeable = positions.flags.writeable = False
    return items, positions


def check_placed_items(what: str, items: IntArray, positions: FloatArray, n: int, m: int) -> None:
    """Raise when the items or positions do not fit n items in m dimensions."""
    if items.min() < 0 or items.max() >= n:
        raise InvalidParameterError(
            f"{what} names items from {items.min()} to {items.max()}; the problem has items 0 to {n - 1}."
        )
    if positions.shape[1] != m:
        raise InvalidParameterError(
            f"{what} gives positions in {positions.shape[1]} dimensions; the problem has n_components={m}."
        )
