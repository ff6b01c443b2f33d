"""The readers of a Source: one small class for each kind of file or array.

A reader can be sent to another process, where it opens its files again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from ..errors import InvalidInputError, missing_extra
from ..solvers.base import digest
from ..typing import IntArray
from .columns import Columns
from .stored import identity_of, opened

SHARD_BYTES = 2**26  # of values as they are stored


class Reader(Protocol):
    """Rows of a file or array, in shards."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""

    @property
    def starts(self) -> IntArray:
        """The first row of each shard, followed by the number of rows."""

    def read(self, number: int) -> Any:
        """The values of a shard, in a form that `winkel.data.as_table` takes."""

    def place(self, number: int) -> str:
        """The name of a shard's file in messages."""

    @property
    def identity(self) -> str:
        """What distinguishes these rows from others."""


@dataclass(frozen=True, eq=False)
class ArrayReader:
    """Rows of an array or sparse matrix in memory, or of anything that can be sliced like one (a memory map, a zarr array)."""

    values: Any
    name: str
    rows_per_shard: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        n, m = self.values.shape
        return int(n), int(m)

    @property
    def starts(self) -> IntArray:
        """The first row of each shard, followed by the number of rows."""
        n = self.shape[0]
        return np.append(np.arange(0, n, self.rows_per_shard), n)

    def read(self, number: int) -> Any:
        """The values of a shard."""
        begin = number * self.rows_per_shard
        rows = self.values[begin : begin + self.rows_per_shard]
        return rows if issparse(rows) else np.array(rows)

    def place(self, number: int) -> str:
        """The name of a shard's file in messages."""
        return self.name

    @property
    def identity(self) -> str:
        """What distinguishes these rows from others: their values."""
        parts = (self.read(number) for number in range(len(self.starts) - 1))
        return digest(*(each for part in parts for each in _arrays(part)))


@dataclass(frozen=True, eq=False)
class FileReader:
    """Rows of an array in an .npy or h5ad file or a zarr store, which every process opens on its own."""

    path: str
    key: str | None
    shape: tuple[int, int]
    rows_per_shard: int

    @property
    def starts(self) -> IntArray:
        """The first row of each shard, followed by the number of rows."""
        n = self.shape[0]
        return np.append(np.arange(0, n, self.rows_per_shard), n)

    def read(self, number: int) -> Any:
        """The values of a shard."""
        with opened(self.path, self.key) as array:
            try:
                return ArrayReader(array, self.path, self.rows_per_shard).read(number)
            except Exception as error:  # whatever h5py and zarr raise for a part that is broken
                raise InvalidInputError(
                    f"{self.place(number)}: rows from {number * self.rows_per_shard} on cannot be read ({error}). "
                    "Write the file again."
                ) from error

    def place(self, number: int) -> str:
        """The name of a shard's file in messages."""
        return self.path if self.key is None else f"{self.path}[{self.key}]"

    @property
    def identity(self) -> str:
        """What distinguishes these rows from others."""
        return f"{identity_of([self.path])} {self.key}"


@dataclass(frozen=True, eq=False)
class ParquetReader:
    """Rows of parquet files; their row groups are the shards."""

    files: tuple[str, ...]
    names: tuple[str, ...]
    groups: tuple[tuple[int, int], ...]  # the file and the row group of each shard
    starts: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return int(self.starts[-1]), len(self.names)

    def read(self, number: int) -> Any:
        """The values of a shard."""
        file, group = self.groups[number]
        whole = _parquet(self.files[file])
        try:
            return whole.read_row_group(group, columns=list(self.names))
        except (OSError, ValueError) as error:  # pyarrow's own are both
            raise InvalidInputError(
                f"{self.place(number)}: row group {group} cannot be read ({' '.join(str(error).split())}). Write the file again."
            ) from error

    def place(self, number: int) -> str:
        """The name of a shard's file in messages."""
        return self.files[self.groups[number][0]]

    @property
    def identity(self) -> str:
        """What distinguishes these rows from others."""
        return f"{identity_of(self.files)} {' '.join(self.names)}"

    @property
    def names_identity(self) -> str:
        """What distinguishes these rows from others, also after one of the files was repaired."""
        return f"{' '.join(str(Path(file).resolve()) for file in self.files)} {' '.join(self.names)}"

    def stamp(self, number: int) -> str:
        """A value that changes when the file of a shard is written again."""
        return identity_of([self.files[self.groups[number][0]]])

    @classmethod
    def of(cls, files: Sequence[Path], columns: Columns) -> ParquetReader:
        """The reader of all rows of the files, which must have the same columns."""
        opened = [_parquet(str(file)) for file in files]
        names = columns.among(opened[0].schema_arrow.names, files[0].name)
        for file, each in zip(files, opened, strict=True):
            missing = [name for name in names if name not in each.schema_arrow.names]
            if missing:
                raise InvalidInputError(
                    f"{file.name} has no column {missing[0]!r}, which {files[0].name} has."
                )
        groups = [(k, g) for k, each in enumerate(opened) for g in range(each.num_row_groups)]
        counts = [opened[k].metadata.row_group(g).num_rows for k, g in groups]
        groups = [group for group, count in zip(groups, counts, strict=True) if count]
        starts = np.concatenate([[0], np.cumsum([count for count in counts if count])]).astype(np.int64)
        if len(groups) == 0:
            raise InvalidInputError(f"{files[0].name} has no rows.")
        # Whole paths: workers may have another working folder.
        return cls(tuple(str(file.absolute()) for file in files), tuple(names), tuple(groups), starts)


def _arrays(part: Any) -> tuple[Any, ...]:
    return (part.data, part.indices, part.indptr) if issparse(part) else (part,)


def _parquet(path: str) -> Any:
    """A parquet file, opened once as long as it stays the same."""
    return _opened(path, identity_of([path]))


@lru_cache(maxsize=256)
def _opened(path: str, _identity: str) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "Reading parquet files") from None
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)  # where the file has checksums
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(f"{Path(path).name} cannot be read as a parquet file: {error}.") from error
