"""`Source`: the rows of a file or array in shards, each read and validated by itself."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import existing_file, integer, optional
from ..data import Table, as_table
from ..errors import InvalidInputError, InvalidParameterError
from ..typing import IntArray
from .readers import SHARD_BYTES, ArrayReader, NpyReader, ParquetReader, Reader, mapped


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in shards, of which only some are in memory at a time. `open_source` makes one.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    starts : ndarray of shape (n_shards + 1,)
        The first row of each shard, and at last the number of rows.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> np.save("rows.npy", np.arange(20.0).reshape(10, 2))
    >>> source = wk.scale.open_source("rows.npy", rows_per_shard=4)
    >>> source.shape, source.n_shards, source.shard(2).values.tolist()
    ((10, 2), 3, [[16.0, 17.0], [18.0, 19.0]])
    """

    shape: tuple[int, int]
    starts: IntArray
    _reader: Reader = field(repr=False)

    @classmethod
    def of(cls, reader: Reader) -> Source:
        """The source of what a reader reads."""
        return cls(reader.shape, reader.starts, reader)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.starts) - 1

    def shard(self, number: int) -> Table:
        """The validated rows of one shard; an error names the shard's file and rows."""
        return as_table(self._reader.read(number), name=self.place(number), min_rows=1)

    def place(self, number: int) -> str:
        """What messages call a shard: its file and rows."""
        begin, end = (int(row) for row in self.starts[number : number + 2])
        return f"{self._reader.place(number)} (rows {begin} to {end - 1})"

    @property
    def identity(self) -> str:
        """What tells the rows from others: the names, sizes and times of files, or the values of an array."""
        return self._reader.identity

    def fit_map(self, settings: Any, run: Any) -> Any:
        """The map of all rows, which `winkel.MDE.fit` asks for; see `winkel.scale.fit`."""
        from .fitting import Where, fit_map

        return fit_map(self, settings, run, Where())

    def shards(self) -> Iterator[Table]:
        """All shards, one after another."""
        return (self.shard(number) for number in range(self.n_shards))

    def rows(self, index: ArrayLike) -> Table:
        """The rows at ascending numbers, gathered from their shards."""
        wanted = np.asarray(index, dtype=np.int64)
        if len(wanted) == 0 or (np.diff(wanted) <= 0).any() or wanted[0] < 0 or wanted[-1] >= self.shape[0]:
            raise InvalidParameterError(
                f"index must list rows from 0 to {self.shape[0] - 1} in ascending order, each once."
            )
        of = np.searchsorted(self.starts, wanted, side="right") - 1
        parts = [self.shard(k).values[wanted[of == k] - self.starts[k]] for k in np.unique(of).tolist()]
        return Table(np.concatenate(parts), validated=True)


def open_source(
    data: Any, *, rows_per_shard: int | None = None, columns: Sequence[str] | None = None
) -> Source:
    """The Source of a file, of several parquet files, or of an array.

    Parameters
    ----------
    data : path, glob or array
        An .npy file, which is mapped into memory; a .parquet file or a pattern of them such as "big/*.parquet", of which the row
        groups are the shards; or an array, also a memory map.
    rows_per_shard : int or None, default=None
        Rows in a shard of an array or .npy file; None takes as many as make 64 MiB.
    columns : list of str or None, default=None
        The columns of parquet files to take; None takes all, which must then hold numbers.

    Returns
    -------
    Source
        The rows; none has been read yet.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> wk.scale.open_source(np.zeros((10, 3)), rows_per_shard=5).n_shards
    2
    """
    size = optional(integer, "rows_per_shard", rows_per_shard, 1)
    if isinstance(data, Source):
        return data
    if not isinstance(data, str | os.PathLike):
        values = data if isinstance(data, np.ndarray) else np.asarray(data)
        return Source.of(ArrayReader(values, "X", _rows_per_shard(values, "X", size)))
    pattern = os.fspath(data)
    if pattern.endswith(".npy"):
        values = mapped(str(existing_file("data", data)))
        return Source.of(NpyReader(pattern, _rows_per_shard(values, pattern, size)))
    if size is not None:
        raise InvalidParameterError(
            "rows_per_shard is for arrays; the shards of parquet files are their row groups."
        )
    files = sorted(Path(name) for name in glob.glob(pattern)) or [existing_file("data", data)]
    wrong = [file.name for file in files if file.suffix != ".parquet"]
    if wrong:
        raise InvalidInputError(f"Sources are .npy and .parquet files, or arrays; got {wrong[0]!r}.")
    return Source.of(ParquetReader.of(files, columns))


def _rows_per_shard(values: Any, name: str, asked: int | None) -> int:
    """Rows in a shard of an array: as many as were asked for, or as make a certain number of bytes."""
    if values.ndim != 2 or len(values) == 0:
        raise InvalidInputError(f"{name} must have rows and columns; its shape is {values.shape}.")
    return asked or max(1, SHARD_BYTES // max(1, values.shape[1] * values.dtype.itemsize))
