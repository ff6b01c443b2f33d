"""The tables and maps that a command line names, and checks of the files it will write."""

from __future__ import annotations

import csv
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..data import Table, read, scaled
from ..data.annotated import require_anndata
from ..data.files import suffix_of
from ..errors import InvalidInputError
from ..maps import WRITERS, Map, require_pyarrow
from .console import Console
from .methods import UsageError

STANDARD = "-"  # as a file name: standard input or output, as csv


def table_of(options: Namespace, console: Console) -> Table:
    """The table named by the options of a command: a file, or csv text on standard input."""
    if options.encode == "gower" and options.scale != "none":
        raise UsageError("--encode gower scales the columns itself; leave --scale out.")

    def table(path: str | Path) -> Table:
        found = read(
            path,
            columns=split_columns(options.columns),
            label=options.label,
            id=options.id,
            drop=split_columns(options.drop),
            keep=split_columns(options.keep),
            numeric=options.numeric,
            encode=options.encode,
            key=options.key,
        )
        if found.omitted:
            console.note(f"left out, because they hold no numbers: {', '.join(found.omitted)}")
        return scaled(found, options.scale)

    if options.input != STANDARD:
        return table(options.input)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input.csv"
        copy.write_bytes(sys.stdin.buffer.read())
        return table(copy)


def split_columns(texts: list[str] | None) -> list[str] | None:
    """Names separated by commas; a name that contains a comma must be in quotation marks."""
    if not texts:
        return None
    return [name for row in csv.reader(texts) for name in row if name]


def metric_of(options: Namespace) -> str:
    """The distance named by `--metric`; Gower's, if columns were encoded for it."""
    return "manhattan" if options.encode == "gower" and options.metric == "euclidean" else str(options.metric)


def matched(table: Table, map: Map, path: str) -> Map:
    """The map with its rows in the order of the table: matched by id if both have ids, otherwise by position."""
    n, m = table.shape[0], len(map)
    if n != m:
        raise InvalidInputError(f"The data has {n} rows, but the map {path!r} has {m}.")
    if table.ids is None or map.ids is None:
        return map
    wanted, there = table.ids.astype(str), map.ids.astype(str)
    if (wanted == there).all():
        return map
    place = {name: row for row, name in enumerate(there.tolist())}
    missing = [name for name in wanted.tolist() if name not in place]
    if missing or len(place) < m:
        if there.tolist() == [str(row) for row in range(m)]:
            return map  # which only counts its rows
        trouble = f"it has no row with the id {missing[0]!r}" if missing else "its ids are not unique"
        raise InvalidInputError(f"The map {path!r} cannot be matched with the data by id: {trouble}.")
    return map.reordered(np.array([place[name] for name in wanted.tolist()]))


def check_output(path: str, suffixes: Iterable[str] = WRITERS) -> None:
    """Raise unless the suffix of `path` is a format that can be written, and its package is installed."""
    if path == STANDARD:
        return
    suffix = suffix_of(Path(path))
    if suffix not in suffixes:
        raise UsageError(
            f"cannot tell the format of the output {path!r} by its suffix; use one of {', '.join(suffixes)}."
        )
    if suffix == ".h5ad":
        require_anndata("Writing an h5ad file")
    if suffix == ".parquet":
        require_pyarrow("Writing a parquet file")
