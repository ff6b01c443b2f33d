"""New rows placed in a finished map: each row by itself, against fitted rows that stay where they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import InvalidParameterError
from ..problem.distortions import Distortion
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

    `repulsion` is the total repulsive weight of a row, shared by the landmarks: what a fitted row met in the mean.
    """
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    groups = [_group(attractive, near.index, np.full(near.index.shape, near.weight), None)]
    if repulsive is not None and repulsion > 0:
        marks = landmarks(len(Y), seed)[None, :]
        groups.append(_group(repulsive, marks, np.full(marks.shape, -repulsion / marks.size), None))
    start = _weighted_mean(anchors, near)
    return _core.place_rows(anchors, start, groups, _MAX_ITER, _TOL, n_jobs)


def place_by_distances(
    Y: FloatArray, marks: NDArray[np.int32], distances: FloatArray, loss: Distortion, n_jobs: int
) -> FloatArray:
    """Positions whose distances to the landmarks `marks` are as near to `distances` (q × landmarks) as `loss` asks."""
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    far = np.ascontiguousarray(distances, dtype=np.float64)
    group = _group(loss, marks[None, :], np.ones((1, len(marks))), far)
    nearest = np.argsort(far, axis=1, kind="stable")[:, :8].astype(np.int32)
    near = Neighbors(marks[nearest], np.take_along_axis(far, nearest, axis=1), 1.0)
    return _core.place_rows(anchors, _weighted_mean(anchors, near), [group], _MAX_ITER, _TOL, n_jobs)


def _weighted_mean(Y: FloatArray, near: Neighbors) -> NDArray[np.float64]:
    """Mean of the neighbours' positions, nearer ones counting more; summed neighbour by neighbour."""
    weight = 1 / (1e-12 + near.distance.astype(np.float64))
    weight /= weight.max(axis=1, keepdims=True)
    total: NDArray[np.float64] = np.zeros(len(weight))
    where: NDArray[np.float64] = np.zeros((len(weight), Y.shape[1]))
    for k in range(weight.shape[1]):
        total += weight[:, k]
        where += weight[:, k, None] * Y[near.index[:, k]]
    return where / total[:, None]


def _group(
    distortion: Distortion,
    anchors: NDArray[np.int32],
    weights: FloatArray,
    deviations: NDArray[np.float64] | None,
) -> _core.AnchorGroup:
    parts = distortion.fused()
    if len(parts) != 1:
        raise InvalidParameterError(
            f"new rows can be placed under built-in distortions only; this map was made with {distortion!r}. "
            "Fit again with the new rows among the old."
        )
    part = parts[0]
    scaled = np.ascontiguousarray(weights * part.weights, dtype=np.float64)
    return _core.AnchorGroup(
        part.kernel, part.first, part.second, part.floor, np.ascontiguousarray(anchors), scaled, deviations
    )
