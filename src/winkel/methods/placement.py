"""New rows placed in a finished map: each row by itself, against fitted rows that stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import InvalidParameterError
from ..problem.distortions import Distortion, FusedPart
from ..problem.distortions.base import DEFAULT_FLOOR
from ..problem.distortions.penalties import Cauchy
from ..random import Stream
from ..typing import FloatArray

MAX_LANDMARKS = 512
_MAX_ITER, _TOL = 200, 1e-6


@dataclass(frozen=True)
class Neighbors:
    """Fitted rows near each new row (q × k) and how strongly each attracts it."""

    index: NDArray[np.int32]
    distance: FloatArray
    weight: float


def landmarks(n: int, seed: int) -> NDArray[np.int32]:
    """Fitted rows, the same for every new row, that stand for all of them."""
    return np.sort(Stream.named(seed, "landmarks").permutation(n)[:MAX_LANDMARKS]).astype(np.int32)


def place_by_neighbors(
    Y: FloatArray,
    near: Neighbors,
    attractive: Distortion,
    repulsive: Distortion | None,
    repulsion: float,
    seed: int,
    n_jobs: int,
) -> FloatArray:
    """Positions where attraction by the neighbours and repulsion by landmarks balance.

    `repulsion` is the total repulsive weight of a row, shared by the landmarks: what a fitted row met in the mean. The
    Cauchy penalty is felt by near rows only, which landmarks cannot stand for: there all fitted rows repel.
    """
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    part = _only_part(attractive)
    groups = [_group(part, near.index, np.full(near.index.shape, near.weight * part.weights), None)]
    if repulsive is not None and repulsion > 0:
        near_only = isinstance(repulsive, Cauchy)
        marks = np.arange(len(Y), dtype=np.int32) if near_only else landmarks(len(Y), seed)
        marks, part = marks[None, :], _only_part(repulsive)
        groups.append(_group(part, marks, np.full(marks.shape, -repulsion * part.weights / marks.size), None))
    start = weighted_mean(anchors, near)
    return _core.place_rows(anchors, start, groups, _MAX_ITER, _TOL, n_jobs)


def place_by_distances(
    Y: FloatArray,
    marks: NDArray[np.int32],
    distances: FloatArray,
    make: Callable[[FloatArray], Distortion],
    n_jobs: int,
) -> FloatArray:
    """Positions whose distances to the landmarks `marks` are as near to `distances` (q × landmarks) as the loss asks.

    `make` makes the loss from a vector of distances, entry by entry, as for the fitted pairs.
    """
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    far = np.ascontiguousarray(distances, dtype=np.float64)
    near = np.argsort(far, axis=1, kind="stable")[:, :8].astype(np.int32)
    start = weighted_mean(anchors, Neighbors(marks[near], np.take_along_axis(far, near, axis=1), 1.0))
    # A loss takes its floor from the mean of its distances, which must not depend on what rows come together.
    part = replace(_only_part(make(far.ravel())), floor=1e-6 * float(anchors.std()) or DEFAULT_FLOOR)
    weights = np.reshape(np.broadcast_to(part.weights, far.size), far.shape)
    group = _group(part, np.broadcast_to(marks, far.shape), weights, far)
    return _core.place_rows(anchors, start, [group], _MAX_ITER, _TOL, n_jobs)


def weighted_mean(Y: FloatArray, near: Neighbors) -> NDArray[np.float64]:
    """Mean of the neighbours' positions, nearer ones counting more; summed neighbour by neighbour."""
    weight = 1 / (1e-12 + near.distance.astype(np.float64))
    weight /= weight.max(axis=1, keepdims=True)
    total: NDArray[np.float64] = np.zeros(len(weight))
    where: NDArray[np.float64] = np.zeros((len(weight), Y.shape[1]))
    for k in range(weight.shape[1]):
        total += weight[:, k]
        where += weight[:, k, None] * Y[near.index[:, k]]
    return where / total[:, None]


def _only_part(distortion: Distortion) -> FusedPart:
    parts = distortion.fused()
    if len(parts) != 1:
        raise InvalidParameterError(
            f"new rows can be placed under built-in distortions only; this map was made with {distortion!r}. "
            "Fit again with the new rows among the old."
        )
    return parts[0]


def _group(
    part: FusedPart, anchors: NDArray[np.int32], weights: FloatArray, deviations: NDArray[np.float64] | None
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
