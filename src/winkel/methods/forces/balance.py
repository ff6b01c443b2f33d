"""New rows among fitted ones: each goes where the forces of the fitted rows on it balance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...run import Run
from ...typing import FloatArray
from ..starts import weighted_mean
from .data_kernels import NewRows
from .map_kernels import FLOOR, MapKernel

Matrix = NDArray[np.float64]

MOST_LANDMARKS = 4096  # fitted rows that repel a new one
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
    n, index = len(anchors), new.index
    marks = np.sort(run.stream("landmarks").permutation(n)[:MOST_LANDMARKS]).astype(np.int32)
    share = balance.all_weight * n / len(marks)
    if balance.degree is None:
        repelling, charge = marks[None, :], np.full((1, len(marks)), share)
    else:
        own = 0.5 * (weights.sum(axis=1) + balance.degree)
        repelling = np.ascontiguousarray(np.broadcast_to(marks, (len(index), len(marks))))
        charge = np.repeat(share * own[:, None], len(marks), axis=1)
    groups = [
        _group(balance, balance.listed_form, index, weights),
        _group(balance, balance.all_form, repelling, charge),
    ]
    start = weighted_mean(anchors, index, new.distance)
    return _core.place_rows(anchors, start, groups, _MAX_ITER, _TOL, run.n_jobs)


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
