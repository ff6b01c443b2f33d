"""`Source`: the rows of a file or array in shards, each read and validated by itself."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import existing_file, integer, optional
from ..data import Table, as_table
from ..errors import InvalidInputError, InvalidParameterError, missing_extra
from ..typing import IntArray

SHARD_BYTES = 2**26  # of values as they are stored


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
    _read: Callable[[int, int], Any] = field(repr=False)  # values of the rows from … to … , of one shard
    _place: Callable[[int], str] = field(repr=False)  # what messages call a shard

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.starts) - 1

    def shard(self, number: int) -> Table:
        """The validated rows of one shard; an error names the shard's file and rows."""
        begin, end = (int(row) for row in self.starts[number : number + 2])
        name = f"{self._place(number)} (rows {begin} to {end - 1})"
        return as_table(self._read(begin, end), name=name, min_rows=1)

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
        return _of_array(np.asarray(data) if not isinstance(data, np.ndarray) else data, "X", size)
    pattern = os.fspath(data)
    if pattern.endswith(".npy"):
        return _of_array(_mapped(existing_file("data", data)), pattern, size)
    if size is not None:
        raise InvalidParameterError(
            "rows_per_shard is for arrays; the shards of parquet files are their row groups."
        )
    files = sorted(Path(name) for name in glob.glob(pattern)) or [existing_file("data", data)]
    wrong = [file.name for file in files if file.suffix != ".parquet"]
    if wrong:
        raise InvalidInputError(f"Sources are .npy and .parquet files, or arrays; got {wrong[0]!r}.")
    return _of_parquet(files, columns)


def _mapped(file: Path) -> Any:
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidInputError(f"{str(file)!r} cannot be read as a NumPy file: {error}.") from error


def _of_array(values: Any, name: str, size: int | None) -> Source:
    if values.ndim != 2 or len(values) == 0:
        raise InvalidInputError(f"{name} must have rows and columns; its shape is {values.shape}.")
    n, m = values.shape
    step = size or max(1, SHARD_BYTES // max(1, m * values.dtype.itemsize))
    starts = np.append(np.arange(0, n, step), n)
    return Source((n, m), starts, lambda begin, end: np.array(values[begin:end]), lambda _: name)


def _of_parquet(files: list[Path], columns: Sequence[str] | None) -> Source:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "Reading parquet files") from None
    opened = [pq.ParquetFile(file) for file in files]
    names = list(opened[0].schema_arrow.names if columns is None else columns)
    for file, each in zip(files, opened, strict=True):
        missing = [name for name in names if name not in each.schema_arrow.names]
        if missing:
            raise InvalidInputError(f"{file.name} has no column {missing[0]!r}, which {files[0].name} has.")
    groups = [(k, g) for k, each in enumerate(opened) for g in range(each.num_row_groups)]
    counts = [opened[k].metadata.row_group(g).num_rows for k, g in groups]
    groups = [group for group, count in zip(groups, counts, strict=True) if count]
    starts = np.concatenate([[0], np.cumsum([count for count in counts if count])]).astype(np.int64)
    if len(groups) == 0:
        raise InvalidInputError(f"{files[0].name} has no rows.")

    def read(begin: int, end: int) -> Any:
        k, g = groups[int(np.searchsorted(starts, begin, side="right")) - 1]
        return opened[k].read_row_group(g, columns=names)

    return Source((int(starts[-1]), len(names)), starts, read, lambda number: files[groups[number][0]].name)
