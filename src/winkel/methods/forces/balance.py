"""New rows among fitted rows: each is placed where the forces of the fitted rows on it balance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...run import Run
from ...typing import FloatArray
from ..starts import densest_neighbor, weighted_mean
from .data_kernels import NewRows
from .map_kernels import FLOOR, MapKernel

Matrix = NDArray[np.float64]

MOST_LANDMARKS = 4096  # fitted rows that repel a new one where the map holds no field
_MAX_ITER, _TOL = 200, 1e-6


@dataclass(frozen=True)
class Balance:
    """The forces on a new row: forms of the curves of listed and of all fitted rows, and the weight of one of all.

    With `degree`, the mean sum of the listed weights of fitted rows, that weight is for each unit of the mean of `degree`
    and of the new row's own sum.
    """

    kernel: MapKernel
    listed_form: str
    all_form: str
    all_weight: float
    degree: float | None = None


def balanced_places(Y: FloatArray, new: NewRows, weights: Matrix, balance: Balance, run: Run) -> Matrix:
    """Positions of new rows from the weights (q × k) of their listed fitted rows."""
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    each = balance.all_weight
    if balance.degree is not None:
        each = each * 0.5 * (weights.sum(axis=1) + balance.degree)
    groups, potential = [_group(balance, balance.listed_form, new.index, weights)], None
    held = new.fields.of(balance.kernel, balance.all_form)
    if held is not None:
        potential = held.potential(each)
    else:
        groups.append(_landmarks(len(anchors), each, balance, run))
    width = new.fields.width
    if width is None:
        start = weighted_mean(anchors, new.index, new.distance)
    else:
        # By the kernel itself, which rises where rows come near, a negative weight attracts.
        pull = -weights if balance.listed_form == "kernel" else weights
        start = densest_neighbor(anchors, new.index, np.maximum(pull, 0.0), width)
    return _core.place_rows(anchors, start, groups, _MAX_ITER, _TOL, run.n_jobs, potential)


def _landmarks(n: int, each: float | Matrix, balance: Balance, run: Run) -> _core.AnchorGroup:
    """Fitted rows that represent all; `each` is the weight of a single fitted row, one for all new rows or one per new row."""
    marks = np.sort(run.stream("landmarks").permutation(n)[:MOST_LANDMARKS]).astype(np.int32)
    charge = np.reshape(np.asarray(each, dtype=np.float64) * (n / len(marks)), (-1, 1))
    repelling = np.broadcast_to(marks, (len(charge), len(marks)))
    return _group(balance, balance.all_form, repelling, np.broadcast_to(charge, repelling.shape))


def _group(balance: Balance, form: str, anchors: NDArray[np.int32], weights: Matrix) -> _core.AnchorGroup:
    kernel = balance.kernel
    return _core.AnchorGroup(
        f"{kernel.name}:{form}",
        kernel.first,
        kernel.second,
        FLOOR,
        np.ascontiguousarray(anchors),
        np.ascontiguousarray(weights, dtype=np.float64),
        None,
    )
