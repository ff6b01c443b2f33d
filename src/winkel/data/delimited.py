"""Text files (csv, tsv) as Frames: fast if the file is in order, exact about the place of the error if it is not."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from .frames import Frame, Selection

_PADDED = re.compile(r"[+-]?0\d")  # such as 007, a code rather than a number
_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")  # such as 3,14
_DELIMITERS = (",", ";", "\t", "|")
_PEEK = 20  # lines looked at to tell a header from data and text from numbers


def read_delimited(file: Path, selection: Selection) -> Frame:
    """The Frame of a text file; columns that are neither features nor requested stay text.

    Values are separated by commas, semicolons, tabs or bars: the one that occurs equally often in each of the first lines.
    If that is not the comma, numbers may have decimal commas (3,14), provided that no number in the first lines has a decimal point.
    """
    name = repr(file.name)
    delimiter = sniffed(file)
    head = list(islice(_rows(file, delimiter), _PEEK + 1))
    comma = delimiter != "," and _has_commas([cells for _, cells in head])
    if comma:
        head = [(line, [_pointed(cell) for cell in cells]) for line, cells in head]
    has_header = bool(head) and _has_header([cells for _, cells in head])
    if len(head) <= has_header:
        raise InvalidInputError(
            f"{name} has no rows of values" + (", only a header line." if has_header else ".")
        )
    first_line, first = head[0]
    names = tuple(cell.strip() or str(j) if has_header else str(j) for j, cell in enumerate(first))
    aside = selection.aside(names, name)
    peek = [cells for _, cells in head[has_header:] if len(cells) == len(names)]
    text = {j for j in range(len(names)) if _is_text_column([cells[j] for cells in peek])}
    numeric = [j not in aside and j not in text for j in range(len(names))]
    records = _records(file, delimiter, first_line if has_header else 0, names, numeric, comma)
    return Frame(
        names=names,
        types=tuple("text" if j in text else "number" for j in range(len(names))),
        refused=frozenset(text),
        column=lambda j: records[f"f{j}"] if numeric[j] else _parsed(records[f"f{j}"], comma),
        n_rows=len(records),
        whole=(lambda: records.view(np.float64).reshape(len(records), -1)) if all(numeric) else None,
    )


def sniffed(file: Path) -> str:
    """The character between values: the one that divides the first lines into the most columns, equally many in each."""
    usual = "\t" if ".tsv" in file.name.lower() else ","
    counts = {}
    for delimiter in (usual, *(d for d in _DELIMITERS if d != usual)):
        widths = [len(cells) for _, cells in islice(_rows(file, delimiter), _PEEK)]
        counts[delimiter] = widths[0] if widths and len(set(widths)) == 1 else 0
    widest = max(counts, key=lambda delimiter: counts[delimiter])  # the usual one, of equals
    return widest if counts[widest] > 1 else usual


def _rows(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file that are not blank, each with the number of its last line, counted from 1."""
    opener = gzip.open if file.suffix.lower() == ".gz" else open
    try:
        with opener(file, "rt", encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=delimiter)
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
    except (UnicodeDecodeError, csv.Error, OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(f"{str(file)!r} cannot be read as UTF-8 text with values: {error}") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000 as a number; files do not mean that


def _has_commas(rows: list[list[str]]) -> bool:
    """Whether numbers have decimal commas: some do, and none has a decimal point."""
    cells = [cell for row in rows for cell in row]
    return any(map(_COMMA.fullmatch, cells)) and not any("." in cell and _is_number(cell) for cell in cells)


def _pointed(cell: str) -> str:
    """A number with its decimal comma replaced by a point; anything else unchanged."""
    return cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell


def _is_text(cell: str) -> bool:
    return bool(cell.strip()) and not _is_number(cell)


def _is_text_column(cells: list[str]) -> bool:
    """Whether the cells contain text and no number; some may be empty."""
    return any(map(_is_text, cells)) and not any(map(_is_number, cells))


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row contains column names: text above numbers, or text together with the names 0, 1, 2, ... ."""
    first, rest = rows[0], rows[1:]
    named = [j for j, cell in enumerate(first) if not _is_number(cell)]
    if not rest:
        return len(named) == len(first)
    if any(_is_number(cells[j]) for j in named for cells in rest if j < len(cells)):
        return True
    counted = [cell for cell in first if _is_number(cell)]
    return bool(named) and len(counted) > 1 and counted == [str(j) for j in range(len(counted))]


def _records(
    file: Path, delimiter: str, skip: int, names: tuple[str, ...], numeric: list[bool], comma: bool
) -> NDArray[Any]:
    """All rows as records with fields f0, f1, ...: float64 where numeric, text elsewhere."""
    dtype = np.dtype([(f"f{j}", np.float64 if number else object) for j, number in enumerate(numeric)])
    try:
        records = np.loadtxt(
            file,
            dtype,
            comments=None,
            delimiter=delimiter,
            skiprows=skip,
            encoding="utf-8-sig",
            quotechar='"',
            converters={
                j: lambda cell: float(_pointed(cell)) for j, number in enumerate(numeric) if number and comma
            },
        )
    except (ValueError, OSError, EOFError, zlib.error) as error:
        trouble = _first_trouble(file, delimiter, skip, names, numeric, comma) or str(error)
        raise InvalidInputError(f"{file.name!r} cannot be read as a table of numbers: {trouble}") from error
    return np.atleast_1d(records)


def _first_trouble(
    file: Path, delimiter: str, skip: int, names: tuple[str, ...], numeric: list[bool], comma: bool
) -> str:
    """A sentence about the first row or cell that does not fit; empty if there is none."""
    rows = ((line, cells) for line, cells in _rows(file, delimiter) if line > skip)
    for i, (line, cells) in enumerate(rows):
        at = f"row {i} (counted from 0; line {line} of the file)"
        if len(cells) != len(names):
            return f"{at} has {len(cells)} values, but {len(names)} columns are expected."
        for j, cell in enumerate(cells):
            if numeric[j] and not _is_number(_pointed(cell) if comma else cell):
                what = f"holds {cell.strip()!r}, which is not a number" if cell.strip() else "is empty"
                return (
                    f"{at}, column {j} ({names[j]!r}) {what}. Fill or drop missing values first; "
                    f"name a column of text as label or id."
                )
    return ""


def _parsed(values: NDArray[Any], comma: bool) -> NDArray[Any]:
    """Text cells as integers or floats if this loses nothing for any of them, otherwise as text."""
    cells = [value.strip() for value in values]
    numbers = [_pointed(cell) for cell in cells] if comma else cells
    if all(_is_number(cell) and not _PADDED.match(cell) for cell in numbers):
        try:
            return np.array([int(cell) for cell in numbers], dtype=np.int64)
        except (ValueError, OverflowError):
            return np.array([float(cell) for cell in numbers])
    return np.array(cells, dtype=str)
