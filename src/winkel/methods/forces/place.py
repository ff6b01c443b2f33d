"""New rows among fitted ones: each goes where the forces of the fitted rows on it balance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...random import Stream
from ...typing import FloatArray
from ..placement import Neighbors, weighted_mean
from .kernels import FLOOR, MapKernel
from .objective import Objective
from .weights import conditional, memberships, row_weights

Matrix = NDArray[np.float64]

MOST_LANDMARKS = 4096  # fitted rows that repel a new one
_MAX_ITER, _TOL = 200, 1e-6


@dataclass(frozen=True)
class Balance:
    """How a new row's forces are made: forms of the near and far curves, and the far weight of one fitted row.

    With `degree`, the mean sum of the near weights of fitted rows, the far weight is for each unit of the mean of that and of
    the new row's own sum.
    """

    kernel: MapKernel
    near_form: str
    far_form: str
    far_weight: float
    degree: float | None = None


def place_near(
    Y: FloatArray,
    index: NDArray[np.int32],
    distance: FloatArray,
    weights: Matrix,
    balance: Balance,
    seed: int,
    n_jobs: int,
) -> Matrix:
    """Positions of new rows from the near weights (q × k) of their listed fitted rows."""
    anchors = np.ascontiguousarray(Y, dtype=np.float64)
    n = len(anchors)
    marks = np.sort(Stream.named(seed, "landmarks").permutation(n)[:MOST_LANDMARKS]).astype(np.int32)
    share = balance.far_weight * n / len(marks)
    if balance.degree is None:
        far, there = marks[None, :], np.full((1, len(marks)), share)
    else:
        own = 0.5 * (weights.sum(axis=1) + balance.degree)
        far = np.ascontiguousarray(np.broadcast_to(marks, (len(index), len(marks))))
        there = np.repeat(share * own[:, None], len(marks), axis=1)
    groups = [
        _group(balance, balance.near_form, index, weights),
        _group(balance, balance.far_form, far, there),
    ]
    start = weighted_mean(anchors, Neighbors(index, distance, 1.0))
    return _core.place_rows(anchors, start, groups, _MAX_ITER, _TOL, n_jobs)


def near_weights(
    objective: Objective,
    rows: Any,
    fitted: Any,
    index: NDArray[np.int32],
    distance: FloatArray,
    gamma: float | None,
    n_jobs: int,
) -> Matrix:
    """What each new row (q × k listed fitted rows) is tied by: as fitted rows are, but that nothing is made symmetric."""
    if objective.name == "lle":
        return -row_weights(
            _rows64(rows), _gathered(fitted, index), objective.reg, gamma
        )  # attraction is −w k_y
    if objective.x_kernel == "perplexity":
        weights = conditional(distance.astype(np.float64), objective.perplexity, n_jobs)
    elif objective.x_kernel == "fuzzy":
        weights = memberships(distance.astype(np.float64), n_jobs)
    elif objective.x_kernel == "rbf":
        assert gamma is not None
        weights = np.exp(-gamma * np.square(distance.astype(np.float64)))
    else:
        weights = np.sum(_rows64(rows)[:, None] * _gathered(fitted, index), axis=2)
    if objective.name == "tsne":
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total > 0, total, 1.0)
    return np.asarray(-2 * weights if objective.name == "two_kernel_pca" else weights, dtype=np.float64)


def _rows64(rows: Any) -> Matrix:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


def _gathered(fitted: Any, index: NDArray[np.int32]) -> Matrix:
    """The fitted rows that are listed, q × k × D."""
    return _rows64(fitted[index.ravel()]).reshape(*index.shape, -1)


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


def place_on_gram(
    rows: FloatArray, fitted: FloatArray, Y: FloatArray, kernel_x: str, gamma: float | None
) -> Matrix:
    """Positions y of new rows with y·yⱼ as near as can be to their centred similarities gⱼ: (YᵀY)⁻¹Yᵀg, row by row."""
    X, points = np.asarray(fitted, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    points = points - points.mean(axis=0)
    solve = np.linalg.pinv(points)
    placed = np.empty((len(rows), points.shape[1]))
    middle = X.mean(axis=0)
    if kernel_x == "rbf":
        assert gamma is not None
        means = _rbf_means(X, gamma)
    for r, row in enumerate(
        np.asarray(rows, dtype=np.float64)
    ):  # one by one, so that no row depends on another
        if kernel_x == "rbf":
            near = np.exp(-float(gamma or 1.0) * np.sum(np.square(X - row), axis=1))
            g = near - near.mean() - means + means.mean()
        else:
            g = np.sum((X - middle) * (row - middle), axis=1)
        placed[r] = np.sum(solve * g, axis=1)
    return placed


def _rbf_means(X: Matrix, gamma: float) -> Matrix:
    """The mean similarity of every fitted row to all of them."""
    return np.array([float(np.mean(np.exp(-gamma * np.sum(np.square(X - row), axis=1)))) for row in X])
