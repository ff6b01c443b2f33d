"""The problem of the default map, by shards: coordinates are here, pairs are where their shard is processed, repulsion is on one grid.

    Y ──> each group of blocks: attraction of its rows, its rows spread on the grid ──> grids added in order, transformed once
      ──> each group: repulsion of its rows, read from the grid ──> value and gradient

The solver, its stages and the loop are the same as for every other map.
"""

from __future__ import annotations

import copy
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _core
from ..problem import Constraint
from ..problem.constraints import Constrained
from ..problem.distortions import Distortion
from ..problem.field import CHECKED_POINTS, MARGIN, Field, Kernel, check_rows, relative_error
from ..problem.grid import Frame, GridField
from ..run import resolve_n_jobs
from ..typing import FloatArray, IntArray
from .cells import Layout
from .edges import Pairs
from .engine import Engine
from .folder import Folder

_GROUP = 8  # blocks whose rows are spread on one grid
_MANY, _FEW_CHECKED = 1_000_000, 16  # rows from which on fewer sums are checked against the exact ones
_KEPT = 1024  # shards whose files one process keeps open
_MAPPED_ROWS = 4_000_000  # up to which pairs stay mapped: about 450 bytes a row


@dataclass(frozen=True)
class _Attraction:
    """The penalty of pairs in the form of the core."""

    kernel: str
    first: float
    second: float
    floor: float

    @classmethod
    def of(cls, penalty: Distortion) -> _Attraction:
        part = penalty.fused()[0]
        return cls(part.kernel, part.first, part.second, part.floor)


class ShardedProblem(Constrained):
    """Attraction of pairs, which are in blocks on disk, and repulsion between all rows by the Cauchy penalty in the plane."""

    edges: IntArray = np.empty((0, 2), dtype=np.int32)  # no pair is here: they are in the folder

    def __init__(
        self,
        folder: Folder,
        layout: Layout,
        pairs: Pairs,
        attractive: Distortion,
        background: Distortion,
        constraint: Constraint,
        n_components: int,
        engine: Engine,
        n_jobs: int,
    ) -> None:
        self.folder, self.layout, self.pairs, self.engine = folder, layout, pairs, engine
        self.distortion, self.background = attractive, background
        self.n_threads = resolve_n_jobs(n_jobs)
        self.constraint = constraint.with_threads(self.n_threads)
        self.n_items, self.n_components = layout.n, n_components
        self._kernel = Kernel.of(background)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of an embedding."""
        return (self.n_items, self.n_components)

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return self.pairs.count

    def distances(self, Y: FloatArray) -> FloatArray:
        """The distances of the pairs in this process: none."""
        return np.empty(0, dtype=Y.dtype)

    def with_background(self, share: float) -> ShardedProblem:
        """The same problem with `share` times its repulsion."""
        other = copy.copy(self)
        other._kernel = replace(self._kernel, weight=share * self._kernel.weight)
        return other

    def evaluate(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """The average distortion and its gradient."""
        frame = self._frame(Y)
        shared = self.engine.share(Y)
        # Weights are one on average, and the objective is an average over pairs.
        scale, gradient = 1.0 / self.pairs.weight, np.empty_like(Y)
        attraction, held = 0.0, None
        work = (
            self.folder,
            self.layout,
            _Attraction.of(self.distortion),
            frame,
            scale,
            shared,
            self.engine.n_jobs,
        )
        groups = list(_groups(self.layout))
        for (first, last), (value, part, spread) in zip(groups, self.engine.map(_attract, groups, *work)):
            gradient[first:last] = part
            attraction += value
            if spread is not None:
                held = spread if held is None else np.add(held, spread, out=held)
        total, forces = self._repulsion(Y, shared, frame, held, groups)
        weight = self._kernel.weight / self.n_pairs
        gradient += Y.dtype.type(weight) * forces
        return scale * attraction + weight * total, gradient

    def _frame(self, Y: FloatArray) -> Frame | None:
        """The position of the grid that all groups share; None if the sum is computed in another way."""
        grid = self._grid(Y)
        return None if grid is None else grid.frame(Y)

    def _repulsion(
        self, Y: FloatArray, shared: Any, frame: Frame | None, held: Any, groups: list[tuple[int, int]]
    ) -> tuple[float, FloatArray]:
        """The sum of the kernel over all pairs of rows, and its gradient."""
        grid = self._grid(Y)
        if frame is not None and grid is not None:
            potential = self.engine.share(grid.convolved(held, frame.spacing))
            forces, total = np.empty_like(Y), 0.0
            found = self.engine.map(_read, groups, frame, potential, shared, self.engine.n_jobs)
            for (first, last), (value, part) in zip(groups, found):
                forces[first:last] = part
                total += value
            if self._is_right(Y, forces):
                return 0.5 * (total - len(Y) * grid.at_zero), forces
        sums = self._field.evaluate(Y)
        return sums.total, sums.forces

    def _is_right(self, Y: FloatArray, forces: FloatArray) -> bool:
        """Whether forces at some rows are within the tolerance of the exact sums."""
        rows = check_rows(len(Y), CHECKED_POINTS if len(Y) <= _MANY else _FEW_CHECKED)
        exact = self._field.exact(Y, rows=rows).forces
        return relative_error(forces[rows], exact) <= MARGIN * self._kernel.tolerance

    @property
    def _field(self) -> Field:
        kernel = replace(self._kernel, weight=1.0)
        return Field(kernel, self.n_components, tolerance=kernel.tolerance, n_jobs=self.n_threads, grid=False)

    def _grid(self, Y: FloatArray) -> GridField | None:
        """The grid that `Field` would use in the plane."""
        field = self._field
        found = None if len(Y) <= field.exact_below else field.suitable_grid(Y)
        return found if isinstance(found, GridField) else None


def _groups(layout: Layout) -> Iterator[tuple[int, int]]:
    """First and last row of each group of blocks."""
    for b in range(0, layout.n_blocks, _GROUP):
        yield b * layout.block, min(layout.n, (b + _GROUP) * layout.block)


def _attract(
    group: tuple[int, int],
    folder: Folder,
    layout: Layout,
    penalty: _Attraction,
    frame: Frame | None,
    scale: float,
    Y: FloatArray,
    n_jobs: int,
) -> tuple[float, FloatArray, FloatArray | None]:
    """Sum and gradient of the pairs of a group's rows; and the grid with its rows spread on it."""
    first, last = group
    gradient, value = np.empty((last - first, Y.shape[1]), dtype=Y.dtype), 0.0
    for b in range(first // layout.block, -(-last // layout.block)):
        begin, end = layout.span(b)
        shard = _shard(folder, b, begin, layout.n, folder.stamp(f"weights-{b}"))
        part, gradient[begin - first : end - first] = shard.pairs.pull(
            penalty.kernel, penalty.first, penalty.second, penalty.floor, Y, scale, n_jobs
        )
        value += part
        if layout.n > _MAPPED_ROWS:
            shard.release()
    if frame is None:
        return value, gradient, None
    return value, gradient, frame.spread(np.ascontiguousarray(Y[first:last]), None, n_jobs)


@lru_cache(maxsize=_KEPT)
def _shard(folder: Folder, number: int, first: int, n: int, _stamp: int) -> _Shard:
    """The pairs of a block, mapped from disk and checked once."""
    starts, neighbors, weights = (folder.map(f"{name}-{number}") for name in ("indptr", "indices", "weights"))
    return _Shard(_core.Shard(starts, neighbors, weights, first, n), (starts, neighbors, weights))


@dataclass(frozen=True)
class _Shard:
    """The pairs of a block, and the files that they are mapped from."""

    pairs: Any
    files: tuple[Any, ...]

    def release(self) -> None:
        """Release the memory-mapped files to the system's cache; they are mapped again when needed."""
        for file in self.files:
            if hasattr(file._mmap, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
                file._mmap.madvise(mmap.MADV_DONTNEED)


def _read(
    group: tuple[int, int], frame: Frame, potential: FloatArray, Y: FloatArray, n_jobs: int
) -> tuple[float, FloatArray]:
    """The sum of the values that the rows of a group read from the grid, and the forces on them."""
    first, last = group
    values, forces = _core.grid_read(
        np.ascontiguousarray(Y[first:last]), potential, frame.x, frame.y, frame.spacing, n_jobs
    )
    return float(np.sum(values, dtype=np.float64)), forces
