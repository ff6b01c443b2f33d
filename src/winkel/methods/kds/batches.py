"""Rows that come in batches: of an array or memory map, or from wherever an iterable takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import as_matrix
from ...errors import InvalidInputError, InvalidParameterError
from ...random import Stream
from ...typing import FloatArray

BatchSource = Callable[[], Iterable[Any]] | Iterable[Any]


@dataclass(frozen=True, eq=False)
class ArrayBatches:
    """Batches of an array's rows, in a new random order each time; a memory map is read batch by batch."""

    rows: FloatArray
    size: int
    seed: int

    def __post_init__(self) -> None:
        size: Any = self.size
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise InvalidParameterError(f"batch_size must be a positive integer; got {size!r}.")

    def epoch(self, number: int) -> Iterator[FloatArray]:
        """All rows once. Rows of a batch keep their order, so that files are read forwards."""
        n = len(self.rows)
        order = Stream.named(self.seed, "kds batches").permutation(n, start=number * n)
        for first in range(0, n, self.size):
            yield self.rows[np.sort(order[first : first + self.size])]

    def in_order(self) -> Iterator[FloatArray]:
        """All rows once, as they stand."""
        for first in range(0, len(self.rows), self.size):
            yield self.rows[first : first + self.size]


@dataclass(frozen=True, eq=False)
class StreamBatches:
    """Batches from an iterable that can be walked again and again, or from a function that returns one."""

    source: BatchSource

    def __post_init__(self) -> None:
        if not callable(self.source) and iter(self.source) is self.source:
            raise InvalidInputError(
                "batches can be walked only once (it is an iterator), but training needs several walks. Give a list, "
                "or a function that returns a new iterator each time."
            )

    def epoch(self, number: int) -> Iterator[FloatArray]:
        """All batches once, in their own order, whatever the number."""
        return self.in_order()

    def in_order(self) -> Iterator[FloatArray]:
        """All batches once, each validated."""
        width: int | None = None
        for number, batch in enumerate(self.source() if callable(self.source) else self.source):
            rows = as_matrix(batch, name=f"batch {number}", min_rows=1, allow_sparse=False)
            if width is not None and rows.shape[1] != width:
                raise InvalidInputError(
                    f"batch {number} has {rows.shape[1]} features, but those before it have {width}."
                )
            width = rows.shape[1]
            yield rows
        if width is None:
            raise InvalidInputError("batches gave no batch at all; at least one is needed.")


Batches = ArrayBatches | StreamBatches


def first_rows(batches: Batches, least: int) -> FloatArray:
    """Rows of the first batches, at least so many if there are."""
    parts: list[FloatArray] = []
    for batch in batches.epoch(0):
        parts.append(batch)
        if sum(map(len, parts)) >= least:
            break
    return np.concatenate(parts)
