"""Files as validated Tables: npy, npz, csv, tsv, parquet, h5ad. Nothing is ever unpickled."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..checks import existing_file
from ..errors import InvalidInputError, InvalidParameterError, missing_extra
from .annotated import opened_h5ad, split_key
from .delimited import read_delimited
from .frames import Columns, Pick, Selection, plain_column
from .table import Table, as_table


def read(
    path: str | os.PathLike[str],
    *,
    columns: Columns = None,
    label: Pick = None,
    id: Pick = None,
    drop: Columns = None,
    keep: Columns = None,
    numeric: bool = False,
    encode: str | None = None,
    key: str | None = None,
    min_rows: int = 2,
) -> Table:
    """The validated Table in a file; the suffix of the file determines the format.

    ==================  ==============================================================================================
    .npy                one matrix
    .npz                the array `key`, else "X", else the only matrix; `label` and `id` name arrays; or a matrix
                        written by scipy.sparse.save_npz
    .csv .tsv           numbers, with or without a header line, also compressed as .csv.gz or .tsv.gz, separated by commas,
                        semicolons, tabs or bars; columns of text must be named as `label` or `id`, dropped, kept or encoded
    .parquet            numbers (needs pyarrow); the index that pandas stored becomes the ids
    .h5ad               AnnData (needs anndata): its `X`, or what `key` names: "obsm/X_pca", "layers/counts"; `label` and
                        `id` name columns of `obs`; nothing else of the file is loaded
    ==================  ==============================================================================================

    Parameters
    ----------
    path : str or path
        The file.
    columns : list of str or int, or None, default=None
        The feature columns, by name or position; None takes all but `label` and `id`.
    label : str, int or None, default=None
        The column that holds labels.
    id : str, int or None, default=None
        The column that names rows.
    drop : list of str or int, or None, default=None
        Columns to leave out.
    keep : list of str or int, or None, default=None
        Columns that are not features but are kept, in `kept` of the table.
    numeric : bool, default=False
        Whether to leave out columns that do not hold numbers; `omitted` of the table then names them.
    encode : {"onehot", "gower"} or None, default=None
        How to encode columns of text and categories; see `as_table`.
    key : str or None, default=None
        The array to read from an .npz or .h5ad file.
    min_rows : int, default=2
        Smallest number of rows allowed.

    Returns
    -------
    Table
        Values, and the names of rows and columns if the file has them.

    Examples
    --------
    >>> from pathlib import Path
    >>> import winkel as wk
    >>> _ = Path("cells.csv").write_text("cell,x,y\\na,1.5,0\\nb,2,1\\n")
    >>> table = wk.data.read("cells.csv", id="cell")
    >>> table.columns, table.ids.tolist()
    (('x', 'y'), ['a', 'b'])
    """
    file = existing_file("path", path)
    reader = _READERS.get(suffix_of(file))
    if reader is None:
        raise InvalidInputError(
            f"Cannot tell the format of {str(file)!r} by its suffix {suffix_of(file)!r}. "
            f"Known suffixes: {', '.join(sorted(_READERS))}."
        )
    if key is not None and reader not in (_read_npz, _read_h5ad):
        raise InvalidParameterError(
            f"key picks an array of an .npz file, or of an .h5ad file; {str(file)!r} is neither."
        )
    return reader(file, Selection(columns, label, id, drop, keep, numeric, encode), key, min_rows)


def suffix_of(file: Path) -> str:
    """Lower-case suffix; for a compressed file together with the one before it, such as ".csv.gz"."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


# What NumPy and zipfile raise for broken files: fuzzing finds all of these.
UNREADABLE = (
    ValueError, EOFError, OSError, zipfile.BadZipFile, SyntaxError, tokenize.TokenError, zlib.error, KeyError, TypeError,
    IndexError, AttributeError, NotImplementedError, OverflowError, RuntimeError, MemoryError, struct.error,
)  # fmt: skip


@contextmanager
def opened(file: Path) -> Iterator[Any]:
    """The array of an .npy file, or the archive of an .npz file; never unpickled, and closed at the end."""
    with open(file, "rb") as stream:
        try:
            _check_npy_size(stream)
            content = np.load(stream, allow_pickle=False)
            if isinstance(content, np.ndarray) != (suffix_of(file) == ".npy"):
                raise ValueError("its content does not fit its suffix")
        except UNREADABLE as error:
            raise InvalidInputError(
                f"{str(file)!r} cannot be read as a NumPy file: {error}. "
                f"Files that hold Python objects (dtype=object) are refused: reading them could run code."
            ) from error
        yield content


def _check_npy_size(stream: IO[bytes], size: int | None = None) -> None:
    """Raise ValueError if the header of an .npy file promises more than the file (of `size` bytes) contains.

    NumPy allocates memory for everything that the header promises before it reads a value.
    """
    begin = stream.tell()
    if stream.read(6) == b"\x93NUMPY":
        stream.seek(begin)
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(stream)
        needed = math.prod(shape) * dtype.itemsize
        size = os.fstat(stream.fileno()).st_size if size is None else size
        left = size - (stream.tell() - begin)
        if min(shape, default=0) < 0 or (not dtype.hasobject and needed > left):
            raise ValueError(
                f"its header promises an array of shape {shape}, {needed} bytes, and {left} bytes follow"
            )
    stream.seek(begin)


def _no_names(selection: Selection, file: Path) -> None:
    if selection:
        raise InvalidParameterError(
            f"{str(file)!r} holds a matrix without named columns: columns, label, id, drop and keep cannot pick from it."
        )


def _read_npy(file: Path, selection: Selection, key: str | None, min_rows: int) -> Table:
    _no_names(selection, file)
    with opened(file) as content:
        return as_table(content, name=repr(file.name), min_rows=min_rows)


def _read_npz(file: Path, selection: Selection, key: str | None, min_rows: int) -> Table:
    with opened(file) as archive:
        if key is None and {"format", "shape", "data"} <= set(archive.files):
            _no_names(selection, file)
            try:
                matrix = sp.load_npz(file)
            except UNREADABLE as error:
                raise InvalidInputError(
                    f"{str(file)!r} cannot be read as a sparse matrix: {error}."
                ) from error
            return as_table(matrix, name=repr(file.name), min_rows=min_rows)
        _no_names(replace(selection, label=None, id=None, keep=None), file)
        key = key if key is not None else _matrix_key(archive, file)
        table = as_table(
            _member(archive, key, "key", file), name=f"{file.name!r}[{key!r}]", min_rows=min_rows
        )
        ids, labels = (
            None if name is None else _vector(archive, name, what, table.shape[0], file)
            for name, what in ((selection.id, "id"), (selection.label, "label"))
        )
        kept = {str(k): _vector(archive, k, "keep", table.shape[0], file) for k in selection.keep or ()}
    return replace(table, ids=ids, labels=labels, kept=kept)


def _member(archive: Any, key: Pick, what: str, file: Path) -> NDArray[Any]:
    if key not in archive.files:
        raise InvalidParameterError(
            f"{what}={key!r} names no array of {str(file)!r}; it has {_listed(archive.files)}."
        )
    try:
        name = key if key in archive.zip.namelist() else f"{key}.npy"
        with archive.zip.open(name) as stream:
            _check_npy_size(stream, archive.zip.getinfo(name).file_size)
        return np.asarray(archive[key])
    except UNREADABLE as error:
        raise InvalidInputError(f"The array {key!r} of {str(file)!r} cannot be read: {error}.") from error


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _matrix_key(archive: Any, file: Path) -> str:
    """ "X" if there is an array of that name, else the only array that is a matrix."""
    if "X" in archive.files:
        return "X"
    found = [name for name in archive.files if _member(archive, name, "key", file).ndim == 2]
    if len(found) == 1:
        return str(found[0])
    trouble = f"has {len(found)} matrices ({_listed(found)})" if found else "has no matrix"
    raise InvalidInputError(
        f"{str(file)!r} {trouble} and none is called 'X'; its arrays are {_listed(archive.files)}. "
        f"Name the one to read with key=."
    )


def _vector(archive: Any, key: Pick, what: str, n_rows: int, file: Path) -> NDArray[Any]:
    values = _member(archive, key, what, file)
    if values.shape != (n_rows,):
        raise InvalidInputError(
            f"{what}={key!r} of {str(file)!r} has shape {values.shape}; "
            f"one value for each of the {n_rows} rows is needed."
        )
    return plain_column(values)


def _read_text(file: Path, selection: Selection, key: str | None, min_rows: int) -> Table:
    frame = read_delimited(file, selection)
    return _selected(frame, selection, file, min_rows)


def _selected(content: Any, selection: Selection, file: Path, min_rows: int, **which: str | None) -> Table:
    wishes = {item.name: getattr(selection, item.name) for item in fields(selection)}
    return as_table(content, **wishes, **which, name=repr(file.name), min_rows=min_rows)  # type: ignore[arg-type]


def _read_parquet(file: Path, selection: Selection, key: str | None, min_rows: int) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("pyarrow", "parquet", "Reading a parquet file") from error
    try:
        content = pyarrow.parquet.read_table(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInputError(f"{str(file)!r} cannot be read as a parquet file: {error}") from error
    return _selected(content, selection, file, min_rows)


def _read_h5ad(file: Path, selection: Selection, key: str | None, min_rows: int) -> Table:
    use_rep, layer = split_key(key, repr(file.name))
    with opened_h5ad(file) as content:
        return _selected(content, selection, file, min_rows, use_rep=use_rep, layer=layer)


_READERS: dict[str, Callable[[Path, Selection, str | None, int], Table]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_text,
    ".csv.gz": _read_text,
    ".tsv": _read_text,
    ".tsv.gz": _read_text,
    ".parquet": _read_parquet,
    ".h5ad": _read_h5ad,
}
