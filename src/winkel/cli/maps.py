"""Map files: a map with the ids and labels of its rows, as parquet, csv, tsv or npz; and tables from the command line."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..data import Table, read
from ..data.archive import atomic_file
from ..data.files import suffix_of
from ..errors import InvalidInputError, missing_extra
from ..typing import FloatArray
from .methods import UsageError

STANDARD = "-"  # as a file name: standard input or output, as csv
MODEL_SUFFIX = ".winkel"
_COORDINATE = re.compile(r"y[1-9][0-9]*")


@dataclass(frozen=True, eq=False)
class Map:
    """A map and what is known of its rows.

    `points` holds further columns, one value a row; `embedding` is the Embedding that the map comes from, if it is known.
    """

    Y: FloatArray
    ids: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    points: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    embedding: Any = None

    @classmethod
    def of(cls, embedding: Any, table: Table | None = None) -> Map:
        """The map of an Embedding, with ids and labels of the table it was made from."""
        n = len(embedding.Y)
        points = {name: block for name, block in embedding.blocks.items() if block.shape == (n,)}
        ids, labels = (None, None) if table is None else (table.ids, table.labels)
        return cls(embedding.Y, ids, labels, points, embedding)

    def columns(self) -> dict[str, NDArray[Any]]:
        """All columns by name, as they stand in a file."""
        first = {"id": np.arange(len(self.Y)) if self.ids is None else self.ids}
        if self.labels is not None:
            first["label"] = self.labels
        return first | {f"y{k + 1}": self.Y[:, k] for k in range(self.Y.shape[1])} | dict(self.points)


# --------------------------------------------------------------------------------------------------- reading


def table_of(options: Namespace) -> Table:
    """The table that the options of a command name: a file, or csv text on standard input."""

    def table(path: str | Path) -> Table:
        columns = split_columns(options.columns)
        return read(path, columns=columns, label=options.label, id=options.id, key=options.key)

    if options.input != STANDARD:
        return table(options.input)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input.csv"
        copy.write_bytes(sys.stdin.buffer.read())
        return table(copy)


def split_columns(given: list[str] | None) -> list[str] | None:
    """Names listed with commas; one that holds a comma itself is put in quotation marks."""
    if not given:
        return None
    return [name for row in csv.reader(given) for name in row if name]


def read_map(path: str) -> Map:
    """The map in a map file, a model file, or any file of coordinates that `winkel.data.read` reads."""
    file = Path(path)
    suffix = suffix_of(file)
    if suffix == MODEL_SUFFIX:
        return _from_model(file)
    if suffix == ".npz" and file.is_file():
        return _from_npz(file)
    names = _column_names(file, suffix)
    if names is None:
        table = read(file, min_rows=1)
        return Map(np.asarray(table.values), table.ids, table.labels)
    coordinates = [name for name in names if _COORDINATE.fullmatch(name)]
    coordinates = coordinates or [name for name in names if name not in ("id", "label")]
    label = "label" if "label" in names else None
    id = "id" if "id" in names else None
    table = read(file, columns=coordinates, label=label, id=id, min_rows=1)
    return Map(np.asarray(table.values), table.ids, table.labels)


def _from_model(file: Path) -> Map:
    from ..embedding import load
    from ..errors import ModelFileError

    if not file.is_file():
        raise InvalidInputError(f"The file {str(file)!r} does not exist.")
    content = load(file)
    embedding = getattr(content, "embedding_", content)
    if not hasattr(embedding, "Y"):
        raise ModelFileError(f"{str(file)!r} holds a {type(content).__name__}, which has no map.")
    return Map.of(embedding)


def _from_npz(file: Path) -> Map:
    with np.load(file, allow_pickle=False) as archive:
        names = set(archive.files)
    pick = {name: name if name in names else None for name in ("id", "label")}
    table = read(file, key="Y" if "Y" in names else None, min_rows=1, **pick)
    return Map(np.asarray(table.values), table.ids, table.labels)


def _column_names(file: Path, suffix: str) -> list[str] | None:
    """Names of the columns, or None where the file has none."""
    if not file.is_file():
        return None  # `read` says so
    if suffix == ".parquet":
        names = _pyarrow("Reading a parquet file").parquet.read_schema(file).names
        return [name for name in names if not name.startswith("__index_level_")]
    if suffix.startswith((".csv", ".tsv")):
        opened: Callable[..., IO[str]] = gzip.open if suffix.endswith(".gz") else open
        with opened(file, "rt", encoding="utf-8-sig", newline="", errors="replace") as stream:
            first = next(csv.reader(stream, delimiter="\t" if ".tsv" in suffix else ","), [])
        return first if any(_COORDINATE.fullmatch(name) or name == "id" for name in first) else None
    return None


def matched(table: Table, found: Map, path: str) -> Map:
    """The map with its rows in the order of the table's: by id where both have ids, else by position."""
    n, m = table.shape[0], len(found.Y)
    if n != m:
        raise InvalidInputError(f"The data has {n} rows, but the map {path!r} has {m}.")
    if table.ids is None or found.ids is None:
        return found
    wanted, there = table.ids.astype(str), found.ids.astype(str)
    if (wanted == there).all():
        return found
    place = {name: row for row, name in enumerate(there.tolist())}
    missing = [name for name in wanted.tolist() if name not in place]
    if missing or len(place) < m:
        if there.tolist() == [str(row) for row in range(m)]:
            return found  # the map only counts its rows
        trouble = f"it has no row with the id {missing[0]!r}" if missing else "its ids are not unique"
        raise InvalidInputError(f"The map {path!r} cannot be matched with the data by id: {trouble}.")
    order = np.array([place[name] for name in wanted.tolist()])
    return replace(
        found,
        Y=found.Y[order],
        ids=found.ids[order],
        labels=None if found.labels is None else found.labels[order],
        points={name: column[order] for name, column in found.points.items()},
        embedding=None,  # whose rows stand in another order
    )


# --------------------------------------------------------------------------------------------------- writing


def check_output(path: str) -> None:
    """Raise unless the suffix of `path` names a format that can be written, and its package is there."""
    if path == STANDARD:
        return
    suffix = suffix_of(Path(path))
    if suffix not in _WRITERS:
        raise UsageError(
            f"cannot tell the format of the output {path!r} by its suffix; use one of {', '.join(_WRITERS)}."
        )
    if suffix == ".parquet":
        _pyarrow("Writing a parquet file")


def write_map(path: str, found: Map) -> None:
    """Write a map file, all or nothing; its suffix says the format."""
    write_columns(path, found.columns(), found.Y)


def write_columns(path: str, columns: Mapping[str, NDArray[Any]], Y: FloatArray | None = None) -> None:
    """Write columns of the same length; with the map itself given, an npz file holds it as one matrix."""
    if path == STANDARD:
        sys.stdout.flush()
        _write_text(sys.stdout.buffer, columns, ",")
        sys.stdout.buffer.flush()
        return
    suffix = suffix_of(Path(path))
    if suffix == ".npz" and Y is not None:
        columns = {"Y": Y} | {name: c for name, c in columns.items() if not _COORDINATE.fullmatch(name)}
    with atomic_file(path) as file:
        _WRITERS[suffix](file, columns)


def _write_text(file: IO[bytes], columns: Mapping[str, NDArray[Any]], delimiter: str) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    # As text first: the shortest digits that give the same float32 or float64 back.
    writer.writerows(zip(*(column.astype(str).tolist() for column in columns.values())))
    text.flush()
    text.detach()


def _write_npz(file: IO[bytes], columns: Mapping[str, NDArray[Any]]) -> None:
    np.savez_compressed(file, allow_pickle=False, **columns)


def _write_parquet(file: IO[bytes], columns: Mapping[str, NDArray[Any]]) -> None:
    pyarrow = _pyarrow("Writing a parquet file")
    arrays = {
        name: pyarrow.array(column.tolist() if column.dtype.kind in "US" else column)
        for name, column in columns.items()
    }
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)


def _pyarrow(purpose: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("pyarrow", "parquet", purpose) from error
    return pyarrow


_WRITERS: dict[str, Callable[[IO[bytes], Mapping[str, NDArray[Any]]], None]] = {
    ".parquet": _write_parquet,
    ".csv": lambda file, columns: _write_text(file, columns, ","),
    ".tsv": lambda file, columns: _write_text(file, columns, "\t"),
    ".npz": _write_npz,
}
