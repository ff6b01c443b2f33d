"""New rows in a fitted latent variable model: EM for each by itself, against fitted items that stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...graph import Graph, knn_query
from ...typing import FloatArray
from .coarsening import Stage
from .model import Model
from .neighborhood import CALIBRATION, LEAST, Neighborhood, Vector, squared_scale

_MAX_ITER, _TOL = 300, 1e-4
_BLOCK = 4096  # new rows placed at a time, which bounds the memory
_WALKS = 2**24  # walks followed at a time


@dataclass(frozen=True, eq=False)
class Places:
    """What of a fitted model a new row meets; lengths in the model's unit.

    `stages` lead to the block of items that it is dissimilar from; ties to the landmarks on the way weigh
    `tie_weight`.
    """

    items: NDArray[np.int32]
    bounds: NDArray[np.int64]
    reach: Vector
    stages: tuple[Stage, ...]
    factor: float
    tie_weight: float
    unit: float

    @classmethod
    def of(cls, model: Model, near: Neighborhood) -> Places:
        """The places of a fitted model."""
        base = model.coarse.base
        return cls(
            base.items,
            base.bounds,
            base.reach,
            model.coarse.stages,
            model.factor,
            model.tie_weight,
            near.unit,
        )

    def to_arrays(self) -> dict[str, Any]:
        """Plain values and arrays, for model files."""
        stages = [[s.landmarks, s.bounds, s.leads_to, s.alone] for s in self.stages]
        return {
            "items": self.items, "bounds": self.bounds, "reach": self.reach, "stages": stages,
            "factor": self.factor, "tie_weight": self.tie_weight, "unit": self.unit,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, parts: dict[str, Any]) -> Places:
        """The places that `to_arrays` took apart."""
        return cls(**{**parts, "stages": tuple(Stage(*arrays) for arrays in parts["stages"])})


@dataclass(frozen=True, eq=False)
class Among:
    """The fitted items: rows, neighbour lists, means and variances."""

    rows: Any
    graph: Graph
    metric: str
    n_steps: int
    Y: FloatArray
    variance: Vector


def place(
    rows: Any, among: Among, places: Places, n_jobs: int | None, threads: int
) -> tuple[FloatArray, Vector]:
    """Means and variances of new rows; one that equals a fitted row has that row's."""
    lists = among.graph.knn_indices
    assert lists is not None
    index, distance = knn_query(rows, among.rows, lists.shape[1], metric=among.metric, n_jobs=n_jobs)
    Y, variance = among.Y[index[:, 0]], among.variance[index[:, 0]]
    new = np.flatnonzero(distance[:, 0] > 0)
    for first in range(0, len(new), _BLOCK):
        some = new[first : first + _BLOCK]
        near = _Near.of(index[some], distance[some].astype(np.float64) / places.unit, among, places.unit)
        mean, spread = _place_block(rows[some], near, among, places, n_jobs, threads)
        Y[some], variance[some] = mean * places.unit, spread * places.unit**2
    return Y, variance


@dataclass(frozen=True, eq=False)
class _Near:
    """Similar items of new rows (q × k): which neighbours are kept, and which of them return the tie."""

    index: NDArray[np.int32]
    length: Vector
    kept: NDArray[np.bool_]
    mutual: NDArray[np.bool_]

    @classmethod
    def of(cls, index: NDArray[np.int32], length: Vector, among: Among, unit: float) -> _Near:
        """Eq 24 with the new row as one more node: the nearest is the tree's edge, others must lead back."""
        far = among.graph.knn_distances
        assert far is not None
        mutual = length <= far[:, -1].astype(np.float64)[index] / unit
        kept = mutual.copy()
        for first in range(0, len(index), _walk_rows(index.shape[1], among.n_steps)):
            some = slice(first, first + _walk_rows(index.shape[1], among.n_steps))
            kept[some] |= _leads_back(index[some], mutual[some], among)
        kept[:, 0] = True
        return cls(index, length, kept, mutual)

    @property
    def widest(self) -> Vector:
        """Longest kept arc of each row."""
        return np.asarray(np.where(self.kept, self.length, 0.0).max(axis=1))


def _walk_rows(k: int, n_steps: int) -> int:
    return max(1, _WALKS // k ** (n_steps + 1))


def _leads_back(index: NDArray[np.int32], mutual: NDArray[np.bool_], among: Among) -> NDArray[np.bool_]:
    """Which neighbours walk, in one step fewer than allowed, to one that lists the new row."""
    lists = among.graph.knn_indices
    assert lists is not None
    returns = np.where(mutual, index, -2)[:, None, None, :]
    walkers = index[:, :, None]
    found = np.zeros(index.shape, dtype=bool)
    for _ in range(among.n_steps - 1):
        walkers = np.where(walkers[..., None] >= 0, lists[walkers], -1).reshape(*index.shape, -1)
        found |= (walkers[..., None] == returns).any(axis=(2, 3))
    return found


def _place_block(
    rows: Any, near: _Near, among: Among, places: Places, n_jobs: int | None, threads: int
) -> tuple[Vector, Vector]:
    Y = np.ascontiguousarray(among.Y, dtype=np.float64) / places.unit
    variance = among.variance / places.unit**2
    block, landmark, away = _descend(rows, among, places, n_jobs)
    known = landmark >= 0
    # Neighbours, then the landmarks on the way down, row by row.
    similar = np.concatenate([near.index, landmark], axis=1)
    used = np.concatenate([near.kept, known], axis=1)
    weights = np.concatenate(
        [near.kept + near.mutual.astype(np.float64), np.full(landmark.shape, places.tie_weight)], axis=1
    )
    squares = squared_scale(np.concatenate([near.length, away], axis=1))
    entry = np.empty(len(places.items), np.int64)
    entry[places.items] = np.arange(len(places.items))
    own = np.searchsorted(places.bounds, entry[near.index], side="right") - 1
    excepted = near.kept & (own == block[:, None])
    reach = np.sqrt(squared_scale(near.widest))
    start = _weighted_mean(Y, near)
    spread = np.square(np.maximum(near.widest, LEAST)) / (2 * Y.shape[1])
    return _core.place_latent(
        places.items, places.bounds, places.reach, places.factor, Y, variance,
        _row_starts(used), similar[used].astype(np.int32), weights[used], squares[used],
        block.astype(np.int32), reach,
        _row_starts(excepted), entry[near.index[excepted]].astype(np.int32),
        np.where(near.mutual, 3, 1)[excepted].astype(np.uint8),
        start, spread, _MAX_ITER, _TOL, threads,
    )  # fmt: skip


def _row_starts(used: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)


def _weighted_mean(Y: Vector, near: _Near) -> Vector:
    """The mean of the kept neighbours, weighted as a pull of unit variance would."""
    weights = near.kept / (np.square(near.length / CALIBRATION) + squared_scale(near.widest)[:, None])
    total: Vector = (weights[:, :, None] * Y[near.index]).sum(axis=1)
    return total / weights.sum(axis=1)[:, None]


def _descend(
    rows: Any, among: Among, places: Places, n_jobs: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector]:
    """The block of each new row, and the landmark of each stage on its way there, with distances (−1 for none)."""
    q = rows.shape[0]
    block = np.zeros(q, np.int64)
    landmark, away = np.full((q, len(places.stages)), -1, np.int64), np.zeros((q, len(places.stages)))
    for s, stage in enumerate(places.stages):
        inside = block.copy()
        for b in np.unique(inside):
            here = np.flatnonzero(inside == b)
            marks = np.arange(stage.bounds[b], stage.bounds[b + 1])
            if len(marks) == 0:
                block[here] = stage.alone[b]
                continue
            found, distance = knn_query(
                rows[here], among.rows[stage.landmarks[marks]], 1, metric=among.metric, n_jobs=n_jobs
            )
            landmark[here, s] = stage.landmarks[marks[found[:, 0]]]
            away[here, s] = distance[:, 0].astype(np.float64) / places.unit
            block[here] = stage.leads_to[marks[found[:, 0]]]
    return block, landmark, away
