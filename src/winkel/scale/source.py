"""`Source`: the rows of a file or array in shards, each of which is read and validated on its own."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse, vstack

from ..checks import existing_file, integer, optional
from ..data import Table, as_table
from ..data.annotated import is_anndata, representation, split_key
from ..data.frames import is_a
from ..errors import InvalidInputError, InvalidParameterError
from ..typing import IntArray
from .columns import Columns
from .lazy import DaskReader, is_dask_array, is_dask_frame
from .readers import SHARD_BYTES, ArrayReader, FileReader, ParquetReader, Reader
from .stored import SUFFIXES, opened


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in shards, only some of which are in memory at a time. `open_source` makes a Source.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    starts : ndarray of shape (n_shards + 1,)
        The first row of each shard, followed by the number of rows.

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
        """The source with the rows of a reader."""
        return cls(reader.shape, reader.starts, reader)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.starts) - 1

    def shard(self, number: int) -> Table:
        """The validated rows of one shard; an error names the shard's file and rows."""
        values = self._reader.read(number)
        first = int(self.starts[number])
        return as_table(values, name=self.place(number), min_rows=1, first_row=first)

    def place(self, number: int) -> str:
        """The name of a shard in messages: its file and rows."""
        begin, end = (int(row) for row in self.starts[number : number + 2])
        return f"{self.file(number)} (rows {begin} to {end - 1})"

    def file(self, number: int) -> str:
        """The name of a shard's file in messages."""
        return self._reader.place(number)

    @property
    def components(self) -> Any:
        """The principal components onto which the rows are projected, if `pca` made this source; otherwise None."""
        return getattr(self._reader, "components", None)

    @property
    def identity(self) -> str:
        """What distinguishes the rows from others: the names, sizes and times of files, or the values of an array."""
        return self._reader.identity

    @property
    def names_identity(self) -> str:
        """The identity, without the parts that are in the `stamp` of each shard."""
        return str(getattr(self._reader, "names_identity", self.identity))

    def stamp(self, number: int) -> str:
        """A value that changes when the file of a shard is written again; "" if the identity already covers that."""
        told = getattr(self._reader, "stamp", None)
        return "" if told is None else str(told(number))

    def fit_map(self, settings: Any, run: Any) -> Any:
        """The map of all rows, for `winkel.MDE.fit`; see `winkel.scale.fit`."""
        from .fitting import Where, fit_map

        return fit_map(self, settings, run, Where())

    def shards(self) -> Iterator[Table]:
        """All shards, one after another."""
        return (self.shard(number) for number in range(self.n_shards))

    def rows(self, index: ArrayLike) -> Table:
        """The rows with these ascending row numbers, gathered from their shards."""
        wanted = np.asarray(index, dtype=np.int64)
        if len(wanted) == 0 or (np.diff(wanted) <= 0).any() or wanted[0] < 0 or wanted[-1] >= self.shape[0]:
            raise InvalidParameterError(
                f"index must list rows from 0 to {self.shape[0] - 1} in ascending order, each once."
            )
        of = np.searchsorted(self.starts, wanted, side="right") - 1
        parts = [self.shard(k).rows(wanted[of == k] - self.starts[k]) for k in np.unique(of).tolist()]
        values = [part.values for part in parts]
        together = vstack(values, format="csr") if issparse(values[0]) else np.concatenate(values)
        return Table(together, columns=parts[0].columns, validated=True)


def open_source(
    data: Any,
    *,
    rows_per_shard: int | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    key: str | None = None,
) -> Source:
    """The Source of a file, several parquet files, an array, a sparse matrix, or a dask array or data frame.

    Parameters
    ----------
    data : path, glob, array, sparse matrix, AnnData, dask array or dask data frame
        A .parquet file or a pattern such as "big/*.parquet", whose row groups are the shards; an .npy file, which is
        memory-mapped; an .h5ad file or .zarr store, dense or with compressed sparse rows; an array, also a memory map or zarr array;
        an AnnData object, which stays on disk if it is backed; a dask array or data frame, whose partitions are the shards.
    rows_per_shard : int or None, default=None
        Number of rows in a shard, for everything except parquet and dask. None takes as many as make 64 MiB, in whole chunks of a zarr array.
    columns : list of str or None, default=None
        The columns of parquet files or of a dask data frame to use; None uses all columns, which must then hold numbers.
    drop : list of str or None, default=None
        Columns to leave out, such as names and labels of rows.
    key : str or None, default=None
        The array of an AnnData object, .h5ad file or .zarr store: "X", "obsm/NAME" or "layers/NAME"; for other zarr stores the
        path of the array. None takes X, or the only array of the store.

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
    named = Columns(columns, drop or ())
    if is_anndata(data) and data.isbacked:
        data, key = data.filename, key or "X"
    reader = (
        _reader_of_files(data, size, named, key) if _is_path(data) else _reader_of(data, size, named, key)
    )
    if size is not None and isinstance(reader, ParquetReader | DaskReader):
        raise InvalidParameterError(
            "rows_per_shard is for arrays; the shards of parquet files are their row groups, those of Dask its partitions."
        )
    if named.chosen and not (isinstance(reader, ParquetReader) or is_dask_frame(data)):
        name = "drop" if columns is None else "columns"
        raise InvalidParameterError(f"{name} is for parquet files and dask data frames.")
    return Source.of(reader)


def _is_path(data: Any) -> bool:
    return isinstance(data, str | os.PathLike)


def _reader_of(data: Any, size: int | None, columns: Columns, key: str | None) -> Reader:
    """The reader of an object."""
    if is_anndata(data):
        use_rep, layer = split_key(key, "X")
        data, key = representation(data, use_rep, layer, "X")[0], None
    if key is not None:
        raise InvalidParameterError("key names an array of an AnnData object, an h5ad file or a zarr store.")
    if is_dask_array(data):
        return DaskReader.of_array(data)
    if is_dask_frame(data):
        return DaskReader.of_frame(data, columns)
    if issparse(data):
        data = data.tocsr()
    elif not isinstance(data, np.ndarray) and not is_a(data, "zarr", "Array"):
        data = np.asarray(data)
    return ArrayReader(data, "X", _rows_per_shard(data, "X", size))


def _reader_of_files(data: Any, size: int | None, columns: Columns, key: str | None) -> Reader:
    """The reader of a file, or of all parquet files that a pattern names."""
    pattern = os.fspath(data)
    if pattern.endswith(SUFFIXES):
        if not (pattern.endswith(".zarr") and Path(pattern).is_dir()):
            existing_file("data", data)
        with opened(pattern, key) as array:
            rows = _rows_per_shard(array, pattern, size)
            return FileReader(
                str(Path(pattern).absolute()), key, (int(array.shape[0]), int(array.shape[1])), rows
            )
    if key is not None:
        raise InvalidParameterError("key names an array of an AnnData object, an h5ad file or a zarr store.")
    files = sorted(Path(name) for name in glob.glob(pattern)) or [existing_file("data", data)]
    wrong = [file.name for file in files if file.suffix != ".parquet"]
    if wrong:
        raise InvalidInputError(
            f"Sources are {', '.join(SUFFIXES)} and .parquet files, or arrays; got {wrong[0]!r}."
        )
    return ParquetReader.of(files, columns)


def _rows_per_shard(values: Any, name: str, asked: int | None) -> int:
    """Rows in a shard of an array: as many as were asked for, or as make a certain number of bytes when dense."""
    if values.ndim != 2 or values.shape[0] == 0:
        raise InvalidInputError(f"{name} must have rows and columns; its shape is {values.shape}.")
    rows = asked or max(1, SHARD_BYTES // max(1, values.shape[1] * values.dtype.itemsize))
    chunk = (getattr(values, "chunks", None) or (1,))[0]
    return rows if asked or rows < chunk else rows // chunk * chunk
