"""Rows in the order of cells: similar rows are next to each other, so that the neighbours of a shard's rows are mostly in the same shard.

    Source ──> copy (float32, in its order) ──> cells (k-means of a sample) ──> rows (in the order of cells)

From here on rows are numbered in that order; `order` says which row of the source each is.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import InvalidInputError
from ..graph.metrics import squared_norms, unit_rows
from ..run import Run
from ..typing import FloatArray, IntArray
from .engine import Engine
from .folder import Folder
from .source import Source

METRICS = ("euclidean", "cosine", "correlation")
CELL_ROWS = 512  # of a cell on average
_SAMPLE, _ITERATIONS = 16, 4  # rows for each cell that k-means sees, and its iterations
PROBES = 12  # nearest cells in which neighbours of a row are searched
_PIECE = 8 * CELL_ROWS  # rows of a cell at most; larger ones are cut
_BALANCE = 40  # rows from which on cells grow: those whose number is this often the square of CELL_ROWS
_LARGEST = 1e15  # beyond, squares of differences would leave the range of single precision


@dataclass(frozen=True)
class Layout:
    """The number of rows, and of rows in a block; it depends only on the data, not on the workers."""

    n: int
    block: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return math.ceil(self.n / self.block)

    def span(self, number: int) -> tuple[int, int]:
        """The first row of a block, and that after its last."""
        return number * self.block, min(self.n, (number + 1) * self.block)


def make_rows(folder: Folder, source: Source, layout: Layout, metric: str, engine: Engine, run: Run) -> None:
    """Write "rows" and "order", and what the search needs: their "norms", "cells" (first rows) and "probes" (cells to search)."""
    n, m = source.shape
    if folder.note("whole.json") is None:
        folder.create("copy", (n, m), np.float32)
        _copy_all(folder, source, metric, engine, run)
    if folder.once("whole", lambda: source.identity) != source.identity:
        raise folder.of_another_run("rows")
    if folder.note("rows.json") is None:
        folder.once("centres", lambda: _make_centres(folder, n, run))
        folder.create("near", (n, min(PROBES, cell_count(n))), np.int32)
        folder.stage("assigned", engine, _assign, layout.n_blocks, run, layout, engine.n_jobs)
        folder.once("ordered", lambda: _order(folder))
        folder.create("rows", (n, m), np.float32)
        folder.create("norms", (n,), np.float32)
        folder.create("probes", folder.map("near").shape, np.int32)
        folder.stage("sorted", engine, _gather, layout.n_blocks, run, layout)
        folder.once("rows", lambda: True)
    folder.remove("copy", "near")


def _copy_all(folder: Folder, source: Source, metric: str, engine: Engine, run: Run) -> None:
    """Write "copy". Shards that cannot be used are named; shards of files that were repaired since are read again."""
    stamp, offset = folder.once("offset", lambda: [source.stamp(0), _offset(source, metric)])
    if stamp != source.stamp(0):  # what is subtracted from all rows was another file's
        folder.forget("offset", "copied")
        _copy_all(folder, source, metric, engine, run)
        return
    found = folder.stage(
        "copied",
        engine,
        _copy,
        source.n_shards,
        run,
        source,
        metric,
        np.array(offset),
        accept=lambda k, result: result["stamp"] == source.stamp(k),
    )
    wrong = [result["wrong"] for result in found if result is not None and result["stamp"] is None]
    if wrong:
        many = f"{len(wrong)} shards cannot be used. " if len(wrong) > 1 else ""
        raise InvalidInputError(many + " ".join(wrong))


def cell_count(n: int) -> int:
    """The number of cells for n rows. For very many rows, cells are larger, which balances the choice of cells, n²/size, and the search in them, n · size."""
    return max(1, n // max(CELL_ROWS, math.isqrt(n // _BALANCE)))


def _offset(source: Source, metric: str) -> list[float]:
    """The vector that is subtracted from all rows, because norms that are large compared with distances would cause cancellation."""
    if metric != "euclidean":
        return [0.0] * source.shape[1]
    first = dense(source.shard(0).values)
    with np.errstate(over="ignore"):
        return np.asarray(first.mean(axis=0, dtype=np.float64)).tolist()


def dense(values: Any) -> FloatArray:
    """Rows as a dense array; sparse rows are converted."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _copy(k: int, folder: Folder, source: Source, metric: str, offset: FloatArray) -> dict[str, str | None]:
    """Copy a shard, and return the stamp of its file, or the problem with it."""
    try:
        stamp = source.stamp(k)
        folder.write("copy", int(source.starts[k]), _prepared(source, k, metric, offset))
    except InvalidInputError as error:
        return {"stamp": None, "wrong": str(error)}
    return {"stamp": stamp}


def _prepared(source: Source, k: int, metric: str, offset: FloatArray) -> FloatArray:
    """A shard in single precision; rows of length one where directions are compared."""
    values = dense(source.shard(k).values)
    place = source.place(k)
    if metric == "euclidean":
        moved = values - offset
        if not float(np.abs(moved).max(initial=0)) < _LARGEST:
            raise InvalidInputError(f"{place} has values beyond {_LARGEST:g}; change the unit of the data.")
    else:
        moved, zero = unit_rows(values, metric)
        if zero.any():
            row = int(source.starts[k]) + int(np.argmax(zero))
            raise InvalidInputError(
                f"{place}: row {row} has no direction (all values zero, or equal under correlation), but metric="
                f"{metric!r} compares directions. Leave such rows out."
            )
    return np.asarray(moved.astype(np.float32))


def _make_centres(folder: Folder, n: int, run: Run) -> int:
    """Centres of cells, by k-means of a sample."""
    copy = folder.map("copy")
    count = cell_count(n)
    stream = run.stream("cells")
    chosen = np.sort(stream.permutation(n)[: _SAMPLE * count])
    sample = np.array(copy[chosen])
    first = run.stream("centres").permutation(len(sample))[:count]
    centres = sample[np.sort(first)]
    for _ in range(_ITERATIONS if count > 1 else 0):
        nearest = _nearest(sample, centres, 1, run.n_jobs)[:, 0]
        size = np.bincount(nearest, minlength=count)
        for j in range(centres.shape[1]):
            sums = np.bincount(nearest, weights=sample[:, j], minlength=count)
            centres[size > 0, j] = (sums[size > 0] / size[size > 0]).astype(np.float32)
    folder.save("centres", centres[_side_by_side(centres)])
    return count


def _side_by_side(points: FloatArray) -> IntArray:
    """An order in which close points are near each other: halves along the widest side, then halves of these, and so on."""
    order = np.arange(len(points))
    parts = [(0, len(points))]
    while parts:
        begin, end = parts.pop()
        if end - begin < 3:
            continue
        part = order[begin:end]
        side = int(np.argmax(points[part].var(axis=0)))
        order[begin:end] = part[np.argsort(points[part, side], kind="stable")]
        middle = (begin + end) // 2
        parts += [(begin, middle), (middle, end)]
    return order


def _nearest(rows: FloatArray, points: FloatArray, count: int, n_jobs: int) -> NDArray[np.int32]:
    """The points nearest to each row, by single precision."""
    norms = (squared_norms(part).astype(np.float32) for part in (rows, points))
    return _core.search_queries(rows, next(norms), points, next(norms), 0, min(count, len(points)), n_jobs)[0]


def _assign(k: int, folder: Folder, layout: Layout, n_jobs: int) -> None:
    """The cells nearest to each row of a block."""
    first, last = layout.span(k)
    centres = np.array(folder.map("centres"))
    wanted = folder.map("near").shape[1]
    folder.write("near", first, _nearest(folder.read("copy", first, last), centres, wanted, n_jobs))


def _order(folder: Folder) -> int:
    """The order of the rows, and where cells begin in it."""
    label = np.array(folder.map("near")[:, 0])
    order = np.argsort(label, kind="stable")
    size = np.bincount(label, minlength=len(folder.map("centres")))
    folder.save("order", order.astype(np.int32))
    folder.save("cells", np.concatenate([[0], np.cumsum(size)]))
    return int(size.max())


def _gather(k: int, folder: Folder, layout: Layout) -> None:
    """A block of rows in the order of cells, and the cells in which each row searches."""
    first, last = layout.span(k)
    order = np.array(folder.map("order")[first:last])
    rows = folder.map("copy")[order]
    folder.write("rows", first, rows)
    folder.write("norms", first, squared_norms(rows))
    # Rows of a cell that was cut search the piece they are in, other rows the first one.
    cells, pieces = np.array(folder.map("cells")), cut_cells(folder)
    near = np.array(folder.map("near")[order])
    # What a cell without rows begins with is the next one.
    probes = np.minimum(np.searchsorted(pieces, cells[near], side="right") - 1, len(pieces) - 2)
    probes[:, 0] = np.searchsorted(pieces, np.arange(first, last), side="right") - 1
    folder.write("probes", first, probes)


def cut_cells(folder: Folder) -> NDArray[np.int64]:
    """First rows of cells, followed by the number of rows; large cells are cut, because many rows may be equal."""
    cells = np.array(folder.map("cells"))
    piece = max(_PIECE, 8 * math.isqrt(int(cells[-1]) // _BALANCE))
    parts = [np.arange(begin, end, piece) for begin, end in itertools.pairwise(cells)]
    return np.concatenate([*parts, cells[-1:]]).astype(np.int64)
