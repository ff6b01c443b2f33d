"""New rows placed in a finished map: each row by itself, against fitted rows that stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...data import Table
from ...graph.index import RowIndex
from ...problem.distortions import Distortion, FusedPart
from ...problem.distortions.base import DEFAULT_FLOOR
from ...problem.distortions.penalties import Cauchy
from ...problem.field import TABULATED, Kernel, held_cauchy
from ...problem.grid import HeldField
from ...problem.tabulation import tabulated
from ...run import Run
from ...typing import FloatArray
from ..starts import densest_neighbor, weighted_mean
from .neighbors import Forces

MAX_LANDMARKS = 512
_MAX_ITER, _TOL, _TRIES = 200, 1e-6, 30
_NEAR = 1.2  # perplexity of what a new row gives to fitted ones, in terms of n_neighbors
_NEAREST = 8  # landmarks between which a row begins
_GRID_FROM = 1000  # rows; fewer are summed one by one in as little time

Matrix = NDArray[np.float64]


def landmarks(n: int, run: Run) -> NDArray[np.int32]:
    """Fitted rows, the same for every new row, that stand for all of them."""
    return np.sort(run.stream("landmarks").permutation(n)[:MAX_LANDMARKS]).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What new rows meet, made once for a map: an index of the fitted rows, and the repulsion of all of them.

    `held` is the field Σⱼ (1 + |y − yⱼ|²)^−a on a grid, for the Cauchy penalty in the plane and in space; None where fitted rows repel one by
    one. `reach` is how far the last neighbour of each fitted row is, and `width` how far from its neighbours a row is on the map; both
    for the Cauchy penalty. All are functions of the fitted rows, their neighbours and their places: a model file need not hold them.
    """

    index: RowIndex
    held: HeldField | None
    reach: FloatArray | None = None
    width: float | None = None

    @classmethod
    def of(
        cls, rows: Table, Y: FloatArray, metric: str, n_neighbors: int, forces: Forces | None, run: Run
    ) -> Surroundings:
        """The surroundings of a map Y; without `forces` only the index."""
        index = RowIndex.of(rows, metric, n_neighbors, run)
        return cls(index, None if forces is None else _held_field(Y, forces, run))


@dataclass(frozen=True)
class Affinities:
    """How strongly its nearest fitted rows attract a new one, which is said from both sides, as in the fit (neighbors.py).

    The new row gives one, by the distances: a Gaussian of perplexity `_NEAR` times `n_neighbors`. Every fitted row that would have it among
    its `n_neighbors` gives a share of one, alike: one that has many such rows near it is drawn to them, and not to rows whose
    own neighbours are nearer than it is. Weights are `total` in all; `listed` is how many fitted rows a new one lists.
    """

    n_neighbors: int
    listed: int
    total: float

    def weights(self, distance: FloatArray, reach: FloatArray, run: Run) -> FloatArray:
        """Weights of the listed rows (q × listed) by their distances and how far their own last neighbours are; each row by itself."""
        lengths = np.ascontiguousarray(distance)
        given = _core.calibrate_perplexity(lengths, max(1.0, _NEAR * self.n_neighbors), run.n_jobs)
        weights = given.astype(np.float64) + np.where(distance < reach, 1 / self.n_neighbors, 0.0)
        return np.asarray(weights * (self.total / weights.sum(axis=1, keepdims=True)))


def _held_field(Y: FloatArray, forces: Forces, run: Run) -> HeldField | None:
    """The field of the Cauchy repulsion on a grid, where that is less work than all rows one by one."""
    if not isinstance(forces.repulsive, Cauchy) or len(Y) < _GRID_FROM:
        return None
    return held_cauchy(Y, Kernel.of(forces.repulsive).exponent, run.n_jobs)


def place_by_neighbors(
    Y: FloatArray,
    index: NDArray[np.int32],
    distance: FloatArray,
    forces: Forces,
    repulsion: float,
    run: Run,
    *,
    weights: FloatArray | None = None,
    held: HeldField | None = None,
    width: float | None = None,
) -> FloatArray:
    """Positions where attraction by the neighbours (q × k) and repulsion by fitted rows balance.

    `weights` (q × k, by default 1) are those of the neighbours' attraction. `repulsion` is the total repulsive weight of a
    row, shared by all others: what a fitted row met on average. The Cauchy penalty is felt by close rows only, which no sample
    of landmarks can stand for: there all fitted rows repel, by the field that the map holds (`held`) where there is one. A
    row begins between its neighbours; with `width`, how far apart neighbours are on the map, at the place of the one about which most
    of them lie, since they may lie in several places.
    """
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    groups = [_penalty_group(forces.attractive, index, 1.0 if weights is None else weights)]
    potential = None
    if forces.repulsive is not None and repulsion > 0:
        if held is not None:
            weight = -repulsion / len(Y) * Kernel.of(forces.repulsive).weight
            potential = held.potential(weight)
        else:
            marks = np.arange(len(Y), dtype=np.int32) if forces.short_ranged else landmarks(len(Y), run)
            groups.append(_penalty_group(forces.repulsive, marks[None, :], -repulsion / marks.size))
    if width is None:
        start = weighted_mean(anchors, index, distance)
    else:
        start = densest_neighbor(anchors, index, np.ones(index.shape) if weights is None else weights, width)
    return _core.place_rows(anchors, start, groups, _MAX_ITER, _TOL, run.n_jobs, potential)


def place_by_distances(
    Y: FloatArray,
    marks: NDArray[np.int32],
    distances: FloatArray,
    make: Callable[[FloatArray], Distortion],
    run: Run,
) -> FloatArray:
    """Positions whose distances to the fitted rows `marks` are as near to `distances` (q × marks) as the loss asks.

    `marks` are the same for all rows, or the own ones of each (q × marks).

    `make` makes the loss from a vector of distances, entry by entry, as for the fitted pairs.
    """
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    wanted = np.ascontiguousarray(distances, dtype=np.float64)
    nearest = np.argsort(wanted, axis=1, kind="stable")[:, :_NEAREST].astype(np.int32)
    marks = np.broadcast_to(marks, wanted.shape)
    start = weighted_mean(
        anchors, np.take_along_axis(marks, nearest, axis=1), np.take_along_axis(wanted, nearest, axis=1)
    )
    fused = make(wanted.ravel()).fused()
    if len(fused) != 1:
        rows = [_place_row(anchors[marks[i]], make(wanted[i]), start[i]) for i in range(len(start))]
        return np.stack(rows)
    # A loss takes its floor from the mean of its distances, which must not depend on what rows come together.
    part = replace(fused[0], floor=1e-6 * float(anchors.std()) or DEFAULT_FLOOR)
    weights = np.reshape(np.broadcast_to(part.weights, wanted.size), wanted.shape)
    group = _group(part, marks, weights, wanted)
    return _core.place_rows(anchors, start, [group], _MAX_ITER, _TOL, run.n_jobs)


def _penalty_group(
    penalty: Distortion, index: NDArray[np.int32], weight: float | FloatArray
) -> _core.AnchorGroup:
    """Fitted rows that share a penalty, by its fused kernel or by a table of its values, with one weight or one each."""
    fused = penalty.fused()
    weights = np.ascontiguousarray(np.broadcast_to(np.asarray(weight, dtype=np.float64), index.shape))
    if len(fused) == 1:
        return _group(fused[0], index, weights * fused[0].weights, None)
    index = np.ascontiguousarray(index)
    return _core.AnchorGroup(TABULATED, 0.0, 0.0, penalty.floor, index, weights, None, tabulated(penalty))


def _group(
    part: FusedPart, index: NDArray[np.int32], weights: FloatArray, deviations: Matrix | None
) -> _core.AnchorGroup:
    return _core.AnchorGroup(
        part.kernel,
        part.first,
        part.second,
        part.floor,
        np.ascontiguousarray(index),
        np.ascontiguousarray(weights, dtype=np.float64),
        deviations,
    )


def _place_row(anchors: Matrix, loss: Distortion, y: Matrix) -> Matrix:
    """The place that `core/place.hpp` would find from y, for a loss that is known by its formula alone.

    Gradient steps of Barzilai and Borwein's length, which must lower the value.
    """

    def evaluate(at: Matrix) -> tuple[float, Matrix]:
        offset = at - anchors
        d = np.sqrt((offset * offset).sum(axis=1))
        value, slope = loss.value_and_derivative(d)
        factor = slope / np.maximum(d, np.finfo(np.float64).tiny)
        return float(value.sum()), (factor[:, None] * offset).sum(axis=0)

    value, gradient = evaluate(y)
    length = first = float(np.sqrt((gradient * gradient).sum()))
    spread = float(np.sqrt(((y - anchors) ** 2).sum(axis=1)).mean())
    step = 0.1 * max(spread, 1e-12) / first if first > 0 else 0.0
    for _ in range(_MAX_ITER):
        if length <= _TOL * first or step <= 0:
            break
        for _ in range(_TRIES):
            moved = y - step * gradient
            lower, slope = evaluate(moved)
            if lower <= value - 1e-4 * step * length * length:
                break
            step *= 0.25
        else:
            break
        change = moved - y
        curvature = float((change * (slope - gradient)).sum())
        y, value, gradient = moved, lower, slope
        step = float((change * change).sum()) / curvature if curvature > 0 else 4.0 * step
        length = float(np.sqrt((gradient * gradient).sum()))
    return y
