"""Scores of how far apart rows are: the rank correlation of distances. (Stress comes with the ranks, in `neighbors`.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..resources import resolve_n_jobs, resolve_seed
from ..typing import FloatArray, Metric, RandomState
from .neighbors import check_map
from .rows import Indices, RowSource, row_source
from .sampling import half_width, sampled_pairs
from .score import Score

_ALL_PAIRS = 500_000  # up to so many pairs (1 000 rows) all are ranked
_MOST_PAIRS = 20_000_000  # as many as are ranked when all are asked for
_SAMPLED_PAIRS = 200_000
_GROUPS = 50
_MEANING = "Rows that are far apart in the data are far apart in the map: rank correlation of all distances."


def distance_correlation(
    X: Any,
    Y: ArrayLike,
    *,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Score:
    """Spearman's correlation between the distances in the data and those in the map.

    All pairs up to 1 000 rows, 200 000 drawn at random beyond; `sample=None` asks for all up to 20 million pairs. A map or
    data with all distances equal has correlation 0.
    """
    jobs = resolve_n_jobs(n_jobs)
    source = row_source(X, metric, jobs)
    return correlate_maps(source, [check_map(Y, source.n, jobs)], sample, resolve_seed(random_state))[0]


def correlate_maps(
    X: RowSource, maps: Sequence[RowSource], sample: str | int | None, seed: int
) -> list[Score]:
    """The correlation of each of several maps of the same data, on the same pairs."""
    n_pairs = X.n * (X.n - 1) // 2
    whole = n_pairs <= (_MOST_PAIRS if sample is None else _ALL_PAIRS)
    pairs = _all_pairs(X.n) if whole else sampled_pairs(X.n, _SAMPLED_PAIRS, seed)
    data = X.pairs(pairs)
    ranks = average_ranks(data)
    scores = []
    for source in maps:
        shown = source.pairs(pairs)
        value = _correlation(ranks, average_ranks(shown))
        interval = None if whole else _interval(value, data, shown)
        scores.append(
            Score(
                "distance_correlation", value, (-1.0, 1.0), True, _MEANING,
                interval=interval, n_sampled=None if whole else len(pairs),
            )
        )  # fmt: skip
    return scores


def _interval(value: float, data: FloatArray, shown: FloatArray) -> tuple[float, float]:
    """From the spread of the correlation over groups of the pairs, which are drawn independently."""
    parts = np.array(
        [
            _correlation(average_ranks(a), average_ranks(b))
            for a, b in zip(np.array_split(data, _GROUPS), np.array_split(shown, _GROUPS))
        ]
    )
    half = half_width(parts, 2**62, 2.0)  # pairs are so many that those drawn are none of them
    return max(-1.0, value - half), min(1.0, value + half)


def _all_pairs(n: int) -> Indices:
    return np.ascontiguousarray(np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32))


def average_ranks(values: FloatArray) -> NDArray[np.float64]:
    """Ranks from 1 on; equal values share the mean of theirs."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    size = np.diff(np.append(first, len(values)))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(first + (size + 1) / 2, size)
    return ranks


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.clip(np.sum(a * b) / norm, -1, 1)) if norm > 0 else 0.0
