"""Rows of dask arrays and data frames: their blocks and partitions are the shards. Dask is only imported if one is passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.frames import is_a
from ..errors import InvalidInputError
from ..typing import IntArray
from .columns import Columns


def is_dask_array(data: Any) -> bool:
    """Whether `data` is a dask array."""
    return is_a(data, "dask", "Array")


def is_dask_frame(data: Any) -> bool:
    """Whether `data` is a dask data frame."""
    return is_a(data, "dask", "DataFrame") or is_a(data, "dask_expr", "DataFrame")


@dataclass(frozen=True, eq=False)
class DaskReader:
    """Rows of a dask array or data frame, in its partitions; partitions without rows are not shards."""

    collection: Any
    parts: tuple[int, ...]
    starts: IntArray
    n_columns: int
    what: str

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return int(self.starts[-1]), self.n_columns

    def read(self, number: int) -> Any:
        """The values of a shard."""
        return computed(self.collection.partitions[self.parts[number]])

    def place(self, number: int) -> str:
        """The name of a shard's partition in messages."""
        return f"partition {self.parts[number]} of the dask {self.what}"

    @property
    def identity(self) -> str:
        """What distinguishes these rows from others: the name that Dask gives to how they are made."""
        return str(getattr(self.collection, "_name", None) or self.collection.name)

    @classmethod
    def of_array(cls, array: Any) -> DaskReader:
        """The reader of a dask array; columns in several blocks are joined."""
        if array.ndim != 2:
            raise InvalidInputError(f"The dask array must have rows and columns; its shape is {array.shape}.")
        if any(np.isnan(length) for length in (*array.chunks[0], *array.chunks[1])):
            raise InvalidInputError(
                "The dask array does not know how many rows its blocks have; call its compute_chunk_sizes() first."
            )
        return cls._of(whole_rows(array), array.chunks[0], array.shape[1], "array")

    @classmethod
    def of_frame(cls, frame: Any, columns: Columns) -> DaskReader:
        """The reader of columns of a dask data frame, whose partitions are computed once to count their rows."""
        names = columns.among(list(frame.columns), "The dask data frame")
        taken = frame[names] if columns.chosen else frame
        counts = [int(count) for count in frame.map_partitions(len).compute()]
        return cls._of(taken, counts, len(taken.columns), "data frame")

    @classmethod
    def _of(cls, collection: Any, counts: Sequence[int], n_columns: int, what: str) -> DaskReader:
        parts = tuple(number for number, count in enumerate(counts) if count)
        if not parts:
            raise InvalidInputError(f"The dask {what} has no rows.")
        starts = np.concatenate([[0], np.cumsum([counts[number] for number in parts])]).astype(np.int64)
        return cls(collection, parts, starts, n_columns, what)


def whole_rows(array: Any) -> Any:
    """A dask array whose blocks contain all columns."""
    return array if len(array.chunks[1]) == 1 else array.rechunk({1: -1})


def computed(part: Any) -> Any:
    """A partition in memory, computed in this process, or by the workers that hold its data."""
    if not _held_by_workers(part):
        return part.compute(scheduler="synchronous")
    from distributed import get_worker, worker_client

    try:
        get_worker()
    except ValueError:
        return part.compute()
    with worker_client():
        return part.compute()


def _held_by_workers(part: Any) -> bool:
    try:
        from distributed import futures_of
    except ImportError:
        return False
    return bool(futures_of(part))
