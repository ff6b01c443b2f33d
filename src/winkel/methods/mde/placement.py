"""New rows placed in a finished map: each row by itself, against fitted rows that stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem.distortions import Distortion, FusedPart
from ...problem.distortions.base import DEFAULT_FLOOR
from ...run import Run
from ...typing import FloatArray
from ..starts import weighted_mean
from .settings import Forces

MAX_LANDMARKS = 512
_MAX_ITER, _TOL = 200, 1e-6
_NEAREST = 8  # landmarks between which a row begins

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class _Anchors:
    """Fitted rows that share one distortion: the same for all new rows (one row of indices), or some for each (q × k)."""

    distortion: Callable[[int], Distortion]  # of the new row with that number
    index: NDArray[np.int32]
    weight: float

    def add(self, row: int, y: Matrix, Y: Matrix, gradient: Matrix) -> float:
        """The sum of the terms of one new row at y; adds their gradient."""
        offset = y - Y[self.index[row if len(self.index) > 1 else 0]]
        d = np.sqrt((offset * offset).sum(axis=1))
        value, slope = self.distortion(row).value_and_derivative(d)
        factor = self.weight * slope / np.maximum(d, np.finfo(np.float64).tiny)
        gradient += (factor[:, None] * offset).sum(axis=0)
        return self.weight * float(value.sum())


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
    start = weighted_mean(anchors, index, distance)
    parts = [(forces.attractive, index, 1.0)]
    if forces.repulsive is not None and repulsion > 0:
        marks = np.arange(len(Y), dtype=np.int32) if forces.short_ranged else landmarks(len(Y), run)
        parts.append((forces.repulsive, marks[None, :], -repulsion / marks.size))
    fused = [distortion.fused() for distortion, _, _ in parts]
    if all(fused):
        groups = [
            _group(part, marks, np.full(marks.shape, weight * part.weights), None)
            for (part,), (_, marks, weight) in zip(fused, parts)
        ]
        return _core.place_rows(anchors, start, groups, _MAX_ITER, _TOL, run.n_jobs)
    own = [_Anchors(lambda row, f=f: f, marks, weight) for f, marks, weight in parts]  # type: ignore[misc]
    return _place_by_formula(anchors, start, own)


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
        return _place_by_formula(
            anchors, start, [_Anchors(lambda row: make(wanted[row]), marks[None, :], 1.0)]
        )
    # A loss takes its floor from the mean of its distances, which must not depend on what rows come together.
    part = replace(fused[0], floor=1e-6 * float(anchors.std()) or DEFAULT_FLOOR)
    weights = np.reshape(np.broadcast_to(part.weights, wanted.size), wanted.shape)
    group = _group(part, np.broadcast_to(marks, wanted.shape), weights, wanted)
    return _core.place_rows(anchors, start, [group], _MAX_ITER, _TOL, run.n_jobs)


def _group(
    part: FusedPart, anchors: NDArray[np.int32], weights: FloatArray, deviations: Matrix | None
) -> _core.AnchorGroup:
    return _core.AnchorGroup(
        part.kernel,
        part.first,
        part.second,
        part.floor,
        np.ascontiguousarray(anchors),
        np.ascontiguousarray(weights, dtype=np.float64),
        deviations,
    )


def _place_by_formula(Y: Matrix, start: Matrix, groups: list[_Anchors]) -> Matrix:
    """What the compiled core does, for distortions that are known by their formula alone."""
    placed = np.array(start)
    for row in range(len(placed)):
        placed[row] = _place_row(Y, placed[row], groups, row)
    return placed


def _place_row(Y: Matrix, y: Matrix, groups: list[_Anchors], row: int) -> Matrix:
    """Gradient steps of Barzilai and Borwein's length that must lower the value, as in `core/place.hpp`."""

    def evaluate(at: Matrix) -> tuple[float, Matrix]:
        gradient = np.zeros_like(at)
        return sum(group.add(row, at, Y, gradient) for group in groups), gradient

    value, gradient = evaluate(y)
    length = first = float(np.sqrt((gradient * gradient).sum()))
    near = groups[0].index[row if len(groups[0].index) > 1 else 0]
    spread = float(np.sqrt(((y - Y[near]) ** 2).sum(axis=1)).mean())
    step = 0.1 * max(spread, 1e-12) / first if first > 0 else 0.0
    for _ in range(_MAX_ITER):
        if length <= _TOL * first or step <= 0:
            break
        for _ in range(30):
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
