"""Equal rows as one item, which weighs as much as they do together; rows of weight zero as none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...data import Table
from ...errors import InvalidParameterError
from ...run import Run, Stream
from ...solvers.base import Frames, Status
from ...solvers.progress import IterationInfo, Listener, listeners
from ...typing import FloatArray, IntArray

_BLOCK = 4096  # rows whose bits are looked at together
_COLUMNS = 64  # columns that are enough to see that most rows differ


@dataclass(frozen=True, eq=False)
class Items:
    """The items of a map: `rows` are the rows that they stand for (the first of equals), `of` is the item of each row.

    Rows of weight zero are of no item, −1. `weights` are sums over equal rows.
    """

    rows: IntArray
    of: IntArray
    weights: FloatArray

    @classmethod
    def numbered(cls, of: IntArray) -> Items:
        """The items of rows whose numbers are known."""
        numbers, first = np.unique(of, return_index=True)
        rows = first[numbers >= 0]
        return cls(rows, of, np.bincount(of[of >= 0], minlength=len(rows)).astype(np.float64))

    @property
    def trivial(self) -> bool:
        """Whether each row is an item, in order."""
        return bool((self.of == np.arange(len(self.of))).all())

    @property
    def absent(self) -> IntArray:
        """Rows that are of no item."""
        return np.flatnonzero(self.of < 0)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of items (along the last axis but one) as values of rows; zeros for rows of no item."""
        out = values[..., np.maximum(self.of, 0), :]
        out[..., self.absent, :] = 0
        return out

    def watched(self, run: Run) -> Run:
        """The run of a fit to the items, whose callbacks are told of all rows."""
        if self.trivial:
            return run
        return replace(
            run, callbacks=tuple(_OfAllRows(each, self) for each in listeners(run.callbacks, False))
        )

    def frames(self, frames: Frames | None) -> Frames | None:
        """Frames of all rows."""
        return None if frames is None else Frames(frames.iteration, self.spread(frames.Y))


class _OfAllRows(Listener):
    """Someone who is told of all rows where the loop knows items."""

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
    """The items of a table, or None where each row is an item of weight one.

    Unless they are to stand `in_order`, that of the rows, their order depends on their values alone. So a map of rows with
    whole numbers as weights is that of the table in which each row is repeated as often, and in any order.
    """
    n = table.shape[0]
    if weights is not None and not weights.any():
        raise InvalidParameterError(
            "sample_weight must be positive for at least one row; got zeros throughout."
        )
    plain = weights is None or bool((weights == 1).all())
    if plain and not _has_equal_rows(table.values):
        return None
    code = hash_rows(table.values)
    present = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
    rows, of = _equal_rows(table.values, code, present)
    given = np.ones(n) if weights is None else weights
    total = np.bincount(of[present], given[present], len(rows)).astype(np.float64)
    ones = bool((total == 1).all())
    if ones and len(rows) == n:
        return None
    items = Items(rows, of, total)
    return _in_order(items) if in_order or ones else items


def _in_order(items: Items) -> Items:
    """The same items in the order of the rows that they stand for."""
    order = np.argsort(items.rows)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    of = np.where(items.of < 0, -1, rank[np.maximum(items.of, 0)])
    return Items(items.rows[order], of, items.weights[order])


def hash_rows(values: Any, n_columns: int | None = None) -> NDArray[np.uint64]:
    """64 bits of each row, equal for equal rows, dense or sparse; of so many columns only, evenly chosen, if there are more.

    A value of zero adds nothing, so that a sparse row is equal to its dense form.
    """
    n, m = values.shape
    factors = Stream.named(0, "columns of a row").bits(m) | np.uint64(1)
    if issparse(values):
        terms = _mixed(values.data) * factors[values.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return np.asarray(sums[values.indptr[1:]] - sums[values.indptr[:-1]])
    columns = (
        slice(None) if n_columns is None or m <= n_columns else np.linspace(0, m - 1, n_columns).astype(int)
    )
    code = np.empty(n, dtype=np.uint64)
    for start in range(0, n, _BLOCK):
        block = values[start : start + _BLOCK, columns]
        code[start : start + _BLOCK] = (_mixed(block) * factors[columns]).sum(axis=1, dtype=np.uint64)
    return code


def _mixed(values: FloatArray) -> NDArray[np.uint64]:
    """The bits of numbers, spread over 64 as in SplitMix64; −0.0 is as 0.0, whose bits are zero."""
    plain = np.ascontiguousarray(values + values.dtype.type(0))
    bits = plain.view(np.uint32 if plain.dtype == np.float32 else np.uint64).astype(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(bits ^ (bits >> np.uint64(27)))


def _has_equal_rows(values: Any) -> bool:
    """Whether any two rows are equal; all columns are looked at only of rows that are equal in some of them."""
    alike = _repeated(hash_rows(values, _COLUMNS))
    return len(alike) > 0 and len(_repeated(hash_rows(values[alike]))) > 0


def _repeated(code: NDArray[np.uint64]) -> IntArray:
    """Rows whose code another row has too."""
    order = np.argsort(code, kind="stable")
    same = code[order[1:]] == code[order[:-1]]
    return np.sort(order[np.append(same, False) | np.append(False, same)])


def _equal_rows(values: Any, code: NDArray[np.uint64], present: IntArray) -> tuple[IntArray, IntArray]:
    """The first row of each set of equal ones among `present`, in order of their code, and the set of each row."""
    _, first, of_present = np.unique(code[present], return_index=True, return_inverse=True)
    rows = present[first]
    of = np.full(len(code), -1, dtype=np.int64)
    of[present] = of_present
    copies = present[rows[of_present] != present]
    different = np.zeros(len(copies), dtype=bool)
    for start in range(0, len(copies), _BLOCK):
        some = copies[start : start + _BLOCK]
        differ = values[some] != values[rows[of[some]]]
        different[start : start + _BLOCK] = np.asarray(differ.sum(axis=1)).ravel() > 0
    chance = copies[different]  # the same code by chance: each is an item of its own
    of[chance] = len(rows) + np.arange(len(chance))
    return np.concatenate([rows, chance]), of
