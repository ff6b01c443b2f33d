"""New rows in a fitted latent variable model: EM for each on its own, with fixed fitted items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...data import Table
from ...graph import Graph, nearest_rows
from ...run import Run
from ...typing import FloatArray
from .coarsening import Division
from .model import Model
from .neighborhood import CALIBRATION, LEAST, Vector, squared_scale

_MAX_ITER, _TOL = 300, 1e-4
_BLOCK = 4096  # new rows placed at a time, which bounds the memory
_WALKS = 2**24  # walks followed at a time


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The dissimilar items and landmarks of new rows, with lengths in the model's unit.

    `divisions` lead to the block of items from which a new row is dissimilar; ties to the landmarks on the way have weight
    `tie_weight`.
    """

    items: NDArray[np.int32]
    bounds: NDArray[np.int64]
    reach: Vector
    divisions: tuple[Division, ...]
    factor: float
    tie_weight: float
    unit: float

    @classmethod
    def of(cls, model: Model, unit: float) -> Surroundings:
        """The surroundings of a fitted model, whose unit is `unit` in the unit of the data."""
        base, divisions = model.coarse.base, model.coarse.divisions
        return cls(base.items, base.bounds, base.reach, divisions, model.factor, model.tie_weight, unit)

    def to_arrays(self) -> dict[str, Any]:
        """Plain values and arrays, for model files."""
        divisions = [[d.landmarks, d.bounds, d.leads_to, d.alone] for d in self.divisions]
        return {
            "items": self.items, "bounds": self.bounds, "reach": self.reach, "divisions": divisions,
            "factor": self.factor, "tie_weight": self.tie_weight, "unit": self.unit,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, parts: dict[str, Any]) -> Surroundings:
        """The surroundings that were converted by `to_arrays`."""
        return cls(**{**parts, "divisions": tuple(Division(*arrays) for arrays in parts["divisions"])})

    def check(self, n: int) -> None:
        """Raise ValueError unless these can be the surroundings of n items: compiled code follows their indices."""
        for number in map(np.asarray, (self.factor, self.tie_weight, self.unit)):
            if number.dtype.kind not in "iuf" or number.shape or not np.isfinite(number):
                raise ValueError("the surroundings have numbers that are not finite")
        _check_blocks(self.items, self.bounds, n)
        if [array.dtype.str[1:] for array in (self.items, self.bounds, self.reach)] != ["i4", "i8", "f8"]:
            raise ValueError("the surroundings have numbers of the wrong type")
        if self.reach.shape != (n,) or len(self.items) != n or not np.isfinite(self.reach).all():
            raise ValueError("the reach of the items does not fit them")
        sizes = [len(division.bounds) - 1 for division in self.divisions] + [len(self.bounds) - 1]
        for division, below in zip(self.divisions, sizes[1:]):
            _check_blocks(division.landmarks, division.bounds, n)
            for found, length in (
                (division.leads_to, len(division.landmarks)),
                (division.alone, len(division.bounds) - 1),
            ):
                inside = found.dtype.kind in "iu" and found.shape == (length,)
                if not inside or (length and (found.min() < -1 or found.max() >= below)):
                    raise ValueError("a division leads to a block that does not exist")


def _check_blocks(items: NDArray[Any], bounds: NDArray[Any], n: int) -> None:
    """Raise ValueError unless `bounds` cut `items`, numbers of n items, into blocks."""
    good = items.ndim == bounds.ndim == 1 and items.dtype.kind in "iu" and bounds.dtype.kind in "iu"
    good = good and len(bounds) > 0 and bounds[0] == 0 and bounds[-1] == len(items)
    good = good and not (np.diff(bounds) < 0).any()
    if not good or (len(items) and (items.min() < 0 or items.max() >= n)):
        raise ValueError("the blocks of items are inconsistent")


@dataclass(frozen=True, eq=False)
class FittedItems:
    """Fitted rows with their neighbour lists, means and variances, and the surroundings of new rows."""

    table: Table
    graph: Graph
    metric: str
    n_steps: int
    Y: FloatArray
    variance: Vector
    surroundings: Surroundings

    @property
    def lists(self) -> NDArray[np.int32]:
        """The neighbours of each fitted row."""
        assert self.graph.knn_indices is not None
        return self.graph.knn_indices

    @property
    def widths(self) -> Vector:
        """The distance of each fitted row to the last of its neighbours, in the model's unit."""
        assert self.graph.knn_distances is not None
        return self.graph.knn_distances[:, -1].astype(np.float64) / self.surroundings.unit


def place(rows: Table, fitted: FittedItems, run: Run) -> tuple[FloatArray, Vector]:
    """Means and variances of new rows; a row that equals a fitted row gets those of that row."""
    index, distance = nearest_rows(rows, fitted.table, fitted.lists.shape[1], run, metric=fitted.metric)
    Y, variance = fitted.Y[index[:, 0]], fitted.variance[index[:, 0]]
    new, unit = np.flatnonzero(distance[:, 0] > 0), fitted.surroundings.unit
    for first in range(0, len(new), _BLOCK):
        block = new[first : first + _BLOCK]
        neighbors = _Neighbors.of(index[block], distance[block].astype(np.float64) / unit, fitted)
        mean, spread = _place_block(rows.rows(block), neighbors, fitted, run)
        Y[block], variance[block] = mean * unit, spread * unit**2
    return Y, variance


@dataclass(frozen=True, eq=False)
class _Neighbors:
    """Similar items of new rows (q × k): which neighbours are kept, and which of them return the tie."""

    index: NDArray[np.int32]
    length: Vector
    kept: NDArray[np.bool_]
    mutual: NDArray[np.bool_]

    @classmethod
    def of(cls, index: NDArray[np.int32], length: Vector, fitted: FittedItems) -> _Neighbors:
        """Eq 24 with the new row as one more node: the nearest is the tree's edge, others must lead back."""
        mutual = length <= fitted.widths[index]
        kept = mutual.copy()
        step = max(1, _WALKS // index.shape[1] ** (fitted.n_steps + 1))
        for first in range(0, len(index), step):
            part = slice(first, first + step)
            kept[part] |= _leads_back(index[part], mutual[part], fitted)
        kept[:, 0] = True
        return cls(index, length, kept, mutual)

    @property
    def widest(self) -> Vector:
        """Longest kept arc of each row."""
        return np.asarray(np.where(self.kept, self.length, 0.0).max(axis=1))

    def mean(self, Y: Vector) -> Vector:
        """The mean of the kept neighbours, weighted as a pull of unit variance would."""
        weights = self.kept / (np.square(self.length / CALIBRATION) + squared_scale(self.widest)[:, None])
        total: Vector = (weights[:, :, None] * Y[self.index]).sum(axis=1)
        return total / weights.sum(axis=1)[:, None]


def _leads_back(
    index: NDArray[np.int32], mutual: NDArray[np.bool_], fitted: FittedItems
) -> NDArray[np.bool_]:
    """Which neighbours walk, in one step fewer than allowed, to one that lists the new row."""
    lists = fitted.lists
    returns = np.where(mutual, index, -2)[:, None, None, :]
    walkers = index[:, :, None]
    found = np.zeros(index.shape, dtype=bool)
    for _ in range(fitted.n_steps - 1):
        walkers = np.where(walkers[..., None] >= 0, lists[walkers], -1).reshape(*index.shape, -1)
        found |= (walkers[..., None] == returns).any(axis=(2, 3))
    return found


def _place_block(rows: Table, neighbors: _Neighbors, fitted: FittedItems, run: Run) -> tuple[Vector, Vector]:
    around = fitted.surroundings
    Y = np.ascontiguousarray(fitted.Y, dtype=np.float64) / around.unit
    variance = fitted.variance / around.unit**2
    block, landmark, away = _descend(rows, fitted, run)
    # Neighbours, then the landmarks on the way down, row by row.
    similar = np.concatenate([neighbors.index, landmark], axis=1)
    used = np.concatenate([neighbors.kept, landmark >= 0], axis=1)
    pulls = neighbors.kept + neighbors.mutual.astype(np.float64)
    weights = np.concatenate([pulls, np.full(landmark.shape, around.tie_weight)], axis=1)
    squares = squared_scale(np.concatenate([neighbors.length, away], axis=1))
    entry = np.empty(len(around.items), np.int64)
    entry[around.items] = np.arange(len(around.items))
    own = np.searchsorted(around.bounds, entry[neighbors.index], side="right") - 1
    excepted = neighbors.kept & (own == block[:, None])
    spread = np.square(np.maximum(neighbors.widest, LEAST)) / (2 * Y.shape[1])
    return _core.place_latent(
        around.items, around.bounds, around.reach, around.factor, Y, variance,
        _row_starts(used), similar[used].astype(np.int32), weights[used], squares[used],
        block.astype(np.int32), np.sqrt(squared_scale(neighbors.widest)),
        _row_starts(excepted), entry[neighbors.index[excepted]].astype(np.int32),
        np.where(neighbors.mutual, 3, 1)[excepted].astype(np.uint8),
        neighbors.mean(Y), spread, _MAX_ITER, _TOL, run.n_jobs,
    )  # fmt: skip


def _row_starts(used: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)


def _descend(
    rows: Table, fitted: FittedItems, run: Run
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector]:
    """The block of each new row, and the landmark of each division on its way there, with distances (−1 for none)."""
    divisions, unit = fitted.surroundings.divisions, fitted.surroundings.unit
    q = rows.shape[0]
    block = np.zeros(q, np.int64)
    landmark, away = np.full((q, len(divisions)), -1, np.int64), np.zeros((q, len(divisions)))
    for s, division in enumerate(divisions):
        inside = block.copy()
        for b in np.unique(inside):
            here = np.flatnonzero(inside == b)
            marks = division.landmarks[division.bounds[b] : division.bounds[b + 1]]
            if len(marks) == 0:
                block[here] = division.alone[b]
                continue
            found, distance = nearest_rows(
                rows.rows(here), fitted.table.rows(marks), 1, run, metric=fitted.metric
            )
            landmark[here, s] = marks[found[:, 0]]
            away[here, s] = distance[:, 0].astype(np.float64) / unit
            block[here] = division.leads_to[division.bounds[b] + found[:, 0]]
    return block, landmark, away
