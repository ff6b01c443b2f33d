"""Equal rows as one item with the sum of their weights; rows of weight zero are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data import Table
from ...data.table import equal_rows
from ...embedding import Frames, Status
from ...errors import InvalidParameterError
from ...run import Run
from ...solvers.progress import IterationInfo, Listener, listeners
from ...typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Items:
    """The items of a map: `rows` are the rows that they represent (the first of equal rows), `of` is the item of each row.

    Rows of weight zero have no item, −1. `weights` are sums over equal rows.
    """

    rows: IntArray
    of: IntArray
    weights: FloatArray

    @classmethod
    def numbered(cls, of: IntArray) -> Items:
        """The items of rows with given item numbers."""
        numbers, first = np.unique(of, return_index=True)
        rows = first[numbers >= 0]
        return cls(rows, of, np.bincount(of[of >= 0], minlength=len(rows)).astype(np.float64))

    @property
    def trivial(self) -> bool:
        """Whether each row is an item, in order."""
        return bool((self.of == np.arange(len(self.of))).all())

    @property
    def absent(self) -> IntArray:
        """Rows without an item."""
        return np.flatnonzero(self.of < 0)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of items (along the last axis but one) as values of rows; zeros for rows without an item."""
        out = values[..., np.maximum(self.of, 0), :]
        out[..., self.absent, :] = 0
        return out

    def watched(self, run: Run) -> Run:
        """The run of a fit to the items, whose callbacks get the map of all rows."""
        if self.trivial:
            return run
        return replace(
            run, callbacks=tuple(_OfAllRows(each, self) for each in listeners(run.callbacks, False))
        )

    def frames(self, frames: Frames | None) -> Frames | None:
        """Frames of all rows."""
        return None if frames is None else Frames(frames.iteration, self.spread(frames.Y))


class _OfAllRows(Listener):
    """A listener that gets the map of all rows, while the loop works on items."""

    def __init__(self, listener: Listener, items: Items) -> None:
        self._listener, self._items = listener, items

    def open(self, name: str, iteration: int, max_iter: int) -> None:
        self._listener.open(name, iteration, max_iter)

    def begin(self) -> None:
        self._listener.begin()

    def end(self, info: IterationInfo) -> bool:
        Y = self._items.spread(info.Y)
        Y.flags.writeable = False
        return self._listener.end(replace(info, Y=Y))

    def close(self, status: Status | None) -> None:
        self._listener.close(status)


def find_items(table: Table, weights: FloatArray | None = None, *, in_order: bool = False) -> Items | None:
    """The items of a table, or None if each row is an item of weight one.

    Items are in the order of the rows if `in_order`; otherwise their order depends only on their values. So a map of rows with
    whole numbers as weights equals that of a table in which each row is repeated this number of times, in any order.
    """
    n = table.shape[0]
    if weights is not None and not weights.any():
        raise InvalidParameterError(
            "sample_weight must be positive for at least one row; got zeros throughout."
        )
    present = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
    rows, of = equal_rows(table.values, present)
    given = np.ones(n) if weights is None else weights
    total = np.bincount(of[present], given[present], len(rows)).astype(np.float64)
    ones = bool((total == 1).all())
    if ones and len(rows) == n:
        return None
    items = Items(rows, of, total)
    return _in_order(items) if in_order or ones else items


def _in_order(items: Items) -> Items:
    """The same items in the order of the rows that they represent."""
    order = np.argsort(items.rows)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    of = np.where(items.of < 0, -1, rank[np.maximum(items.of, 0)])
    return Items(items.rows[order], of, items.weights[order])
