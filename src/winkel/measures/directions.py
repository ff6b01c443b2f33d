"""The scores of angles for several maps of the same rows, with the neighbours by angle found once for all of them.

They are those of `angles.angular_deviation` and `angles.jaccard` with `n_neighbors`; only the search differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..typing import FloatArray
from .angles import _angle, _jaccard_score, _Pair, _pair, _ratio_score
from .rows import Rows, blocks, row_source
from .score import Score

Lists = NDArray[np.int64]


def angle_scores(
    X: Any, maps: Mapping[str, FloatArray], rows: Rows, k: int, n_jobs: int
) -> dict[str, tuple[Score, Score]]:
    """Angular deviation and Jaccard index of each map, over the given rows and their k nearest by angle."""
    near = nearest_by_angle(X, rows, k, n_jobs)
    scores = {}
    for name, Y in maps.items():
        pair = _pair(X, Y)
        total, count = _deviation(pair, rows, near)
        deviation = _ratio_score(
            "angular_deviation", np.degrees(total), count, rows, pair, (0.0, 180.0), higher_is_better=False,
            meaning="The angle between near rows changes by so many degrees, on average.",
        )  # fmt: skip
        shown = nearest_by_angle(Y, rows, k, n_jobs)
        both = (near[:, :, None] == shown[:, None, :]).sum(axis=(1, 2)).astype(np.float64)
        meaning = "Share of pairs near by angle that data and map have in common, of those that either has."
        scores[name] = (deviation, _jaccard_score("jaccard", both, 2.0 * k - both, rows, pair, meaning))
    return scores


def nearest_by_angle(values: Any, rows: Rows, k: int, n_jobs: int) -> Lists:
    """The k nearest others by angle of some rows."""
    source = row_source(values, "cosine", n_jobs)
    return np.concatenate([source.block(rows[part]).nearest(k) for part in blocks(rows, source.n)]).astype(
        np.int64
    )


def _deviation(pair: _Pair, rows: Rows, near: Lists) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each row the sum of the changes of angle to its neighbours, and of how many; rows of zeros have none."""
    total, count = np.zeros(len(rows)), np.zeros(len(rows))
    for start in range(0, len(rows), 256):
        part = slice(start, start + 256)
        some, others = rows[part], near[part]
        before, after = (
            np.einsum("ij,ikj->ik", of(some), of(others.ravel()).reshape(*others.shape, -1))
            for of in (pair.x_directions, pair.y_directions)
        )
        counted = (pair.x_norm[some] > 0)[:, None] & (pair.x_norm[others] > 0)
        total[part] = np.where(counted, np.abs(_angle(before) - _angle(after)), 0.0).sum(axis=1)
        count[part] = counted.sum(axis=1)
    return total, count
