"""New rows placed in a finished map: each row by itself, against fitted rows that stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem.distortions import Distortion, FusedPart
from ...problem.distortions.base import DEFAULT_FLOOR
from ...problem.field import TABULATED
from ...problem.tabulation import tabulated
from ...run import Run
from ...typing import FloatArray
from ..starts import weighted_mean
from .problems import Forces

MAX_LANDMARKS = 512
_MAX_ITER, _TOL, _TRIES = 200, 1e-6, 30
_NEAREST = 8  # landmarks between which a row begins

Matrix = NDArray[np.float64]


def landmarks(n: int, run: Run) -> NDArray[np.int32]:
    """Fitted rows, the same for every new row, that stand for all of them."""
    return np.sort(run.stream("landmarks").permutation(n)[:MAX_LANDMARKS]).astype(np.int32)


def place_by_neighbors(
    Y: FloatArray,
    index: NDArray[np.int32],
    distance: FloatArray,
    forces: Forces,
    repulsion: float,
    run: Run,
) -> FloatArray:
    """Positions where attraction by the neighbours (q × k) and repulsion by landmarks balance.

    `repulsion` is the total repulsive weight of a row, shared by the landmarks: what a fitted row met on average. The
    Cauchy penalty is felt by close rows only, which landmarks cannot stand for: there all fitted rows repel.
    """
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    groups = [_penalty_group(forces.attractive, index, 1.0)]
    if forces.repulsive is not None and repulsion > 0:
        marks = np.arange(len(Y), dtype=np.int32) if forces.short_ranged else landmarks(len(Y), run)
        groups.append(_penalty_group(forces.repulsive, marks[None, :], -repulsion / marks.size))
    start = weighted_mean(anchors, index, distance)
    return _core.place_rows(anchors, start, groups, _MAX_ITER, _TOL, run.n_jobs)


def place_by_distances(
    Y: FloatArray,
    marks: NDArray[np.int32],
    distances: FloatArray,
    make: Callable[[FloatArray], Distortion],
    run: Run,
) -> FloatArray:
    """Positions whose distances to the landmarks `marks` are as near to `distances` (q × landmarks) as the loss asks.

    `make` makes the loss from a vector of distances, entry by entry, as for the fitted pairs.
    """
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    wanted = np.ascontiguousarray(distances, dtype=np.float64)
    nearest = np.argsort(wanted, axis=1, kind="stable")[:, :_NEAREST].astype(np.int32)
    start = weighted_mean(anchors, marks[nearest], np.take_along_axis(wanted, nearest, axis=1))
    fused = make(wanted.ravel()).fused()
    if len(fused) != 1:
        rows = [_place_row(anchors[marks], make(wanted[i]), start[i]) for i in range(len(start))]
        return np.stack(rows)
    # A loss takes its floor from the mean of its distances, which must not depend on what rows come together.
    part = replace(fused[0], floor=1e-6 * float(anchors.std()) or DEFAULT_FLOOR)
    weights = np.reshape(np.broadcast_to(part.weights, wanted.size), wanted.shape)
    group = _group(part, np.broadcast_to(marks, wanted.shape), weights, wanted)
    return _core.place_rows(anchors, start, [group], _MAX_ITER, _TOL, run.n_jobs)


def _penalty_group(penalty: Distortion, index: NDArray[np.int32], weight: float) -> _core.AnchorGroup:
    """Fitted rows that share a penalty of one weight for all, by its fused kernel or by a table of its values."""
    fused = penalty.fused()
    if len(fused) == 1:
        return _group(fused[0], index, np.full(index.shape, weight * fused[0].weights), None)
    index, weights = np.ascontiguousarray(index), np.full(index.shape, weight)
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
