"""The single pass over the measured rows: their neighbours, ranks and distances in the data and in several maps of it.

Rank 1 is the nearest other row. Rows are compared with all n rows, one block of rows at a time. For each block, the quantities of the data
are computed once for all maps, and only quantities that the scores need are computed at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..run import Run
from ..typing import FloatArray
from .sampling import half_width, sampled_pairs
from .sources import DenseRows, Indices, Rows, RowSource, blocks, map_neighbors

PASSED = ("data_neighbors", "map_neighbors", "ranks_in_data", "ranks_in_map", "co_ranks", "distance_sums")

_ALL_PAIRS = 500_000  # up to this number of pairs (1 000 rows), all are ranked
_MOST_PAIRS = 20_000_000  # largest number of pairs that are ranked if all are requested
_SAMPLED_PAIRS = 200_000
_GROUPS = 50


@dataclass(frozen=True, eq=False)
class RnxWeights:
    """Weights for which a row's area under R_NX over log K is (Σ pair[larger rank] − chance) / total."""

    pair: NDArray[np.float64]
    chance: float
    total: float


@dataclass(frozen=True, eq=False)
class CoRanks:
    """The agreement of ranks in the data and in a map.

    `counts[r]` is the number of pairs (a measured row and any other row) whose larger rank, of the two in data and map, is r;
    `rnx_auc` is the area under R_NX of each measured row.
    """

    n: int
    n_measured: int
    rnx_auc: NDArray[np.float64]
    counts: NDArray[np.int64]

    def add(self, part: slice, data: Indices, shown: Indices, weights: RnxWeights, n_jobs: int) -> None:
        """Count a block of rows by their ranks of all rows in the data and in the map."""
        sums, found = _core.corank(data, shown, weights.pair, n_jobs)
        self.rnx_auc[part] = (sums - weights.chance) / weights.total
        self.counts[:] += found

    def curve(self) -> NDArray[np.float64]:
        """R_NX(K) for K = 1, ..., n − 2 (Lee et al. 2015): shared neighbours minus chance, divided by perfect minus chance."""
        others = self.n - 1
        K = np.arange(1, others)
        shared = np.cumsum(self.counts[1:others]) / (K * self.n_measured)
        return (others * shared - K) / (others - K)


@dataclass(frozen=True, eq=False)
class RowPass:
    """The results of one pass over the rows, with the maps in the order in which they were passed. Quantities that were not requested are empty."""

    data_neighbors: Indices
    map_neighbors: list[Indices]
    ranks_in_data: list[Indices]
    ranks_in_map: list[Indices]
    co_ranks: list[CoRanks]
    distance_sums: list[NDArray[np.float64]]

    @classmethod
    def empty(cls, n: int, n_measured: int, n_maps: int, k: int, wanted: Collection[str]) -> RowPass:
        """Space for the requested quantities."""

        def room(name: str, width: int, dtype: type) -> list[NDArray[Any]]:
            shape = (n_measured, width) if name in wanted else (0, width)
            return [np.empty(shape, dtype) for _ in range(n_maps)]

        counted = n_measured if "co_ranks" in wanted else 0
        neighbors = "data_neighbors" in wanted or "ranks_in_map" in wanted
        return cls(
            np.empty((n_measured if neighbors else 0, k), np.int32),
            room("map_neighbors", k, np.int32),
            room("ranks_in_data", k, np.int32),
            room("ranks_in_map", k, np.int32),
            [CoRanks(n, n_measured, np.empty(counted), np.zeros(n + 1, np.int64)) for _ in range(n_maps)],
            room("distance_sums", 3, np.float64),
        )


def compare_rows(
    data: RowSource,
    maps: Sequence[DenseRows],
    rows: Rows,
    k: int,
    wanted: Collection[str],
    run: Run,
    lists: Indices | None = None,
) -> RowPass:
    """The requested quantities of `PASSED` for several maps of the same data; `lists` are the neighbours in the data, if known."""
    found = RowPass.empty(data.n, len(rows), len(maps), k, wanted)
    both = not {"ranks_in_map", "co_ranks", "distance_sums"}.isdisjoint(wanted)
    in_maps = not {"map_neighbors", "ranks_in_data"}.isdisjoint(wanted)
    # Where nothing else is asked of all rows of a map, a search for neighbours is faster than distances to all.
    searched = in_maps and not both and len(rows) == data.n
    shown_lists = [map_neighbors(source.points.X, k, run) for source in maps] if searched else []
    weights = rnx_weights(data.n) if "co_ranks" in wanted else None
    for part in blocks(rows, data.n):
        here = rows[part]
        block = data.block(here)
        if len(found.data_neighbors):
            found.data_neighbors[part] = block.nearest(k) if lists is None else lists[here, :k]
        order = None if weights is None else block.order()
        for m, source in enumerate(maps):
            shown = source.block(here) if both or (in_maps and not searched) else None
            if in_maps:
                nearest = shown.nearest(k) if shown is not None else shown_lists[m][here]
                if "map_neighbors" in wanted:
                    found.map_neighbors[m][part] = nearest
                if "ranks_in_data" in wanted:
                    found.ranks_in_data[m][part] = block.ranks(nearest)
            if shown is None:
                continue
            if "ranks_in_map" in wanted:
                found.ranks_in_map[m][part] = shown.ranks(found.data_neighbors[part])
            if order is not None and weights is not None:
                found.co_ranks[m].add(part, order, shown.order(), weights, run.n_jobs)
            if "distance_sums" in wanted:
                found.distance_sums[m][part] = _core.distance_moments(
                    block.distances, shown.distances, data.squared, source.squared, run.n_jobs
                )
    return found


def penalised(ranks: Indices, k: int, n: int) -> NDArray[np.float64]:
    """1 minus the sum of the ranks beyond k, scaled such that the worst possible row has 0 (Venna and Kaski 2001)."""
    return 1 - np.maximum(ranks - k, 0).sum(axis=1) * (2.0 / (k * (2 * n - 3 * k - 1)))


def rnx_weights(n: int) -> RnxWeights:
    """The weights for n rows.

    R_NX(K) = (N q(K)/K − K) / (N − K) with N = n − 1 others and q(K) pairs whose larger rank is at most K; the area is
    Σ R_NX(K)/K over Σ 1/K, K < N. Each pair adds N / (K²(N − K)) for all K from its larger rank on.
    """
    others = n - 1
    K = np.arange(1, others, dtype=np.float64)
    pair = np.zeros(n + 1)
    pair[1:others] = np.cumsum((others / (K * K * (others - K)))[::-1])[::-1]
    return RnxWeights(pair, float(np.sum(1 / (others - K))), float(np.sum(1 / K)))


def stress(moments: NDArray[np.float64], n: int) -> tuple[float, tuple[float, float] | None]:
    """√(Σ(d − a·d_map)² / Σd²) for the best a, which is √(1 − cos²) of the two vectors of distances; and its interval.

    `moments` are the sums of data², data·map and map² over the distances from each measured row.
    """
    sampled = len(moments) < n
    xx, xy, yy = moments.mean(axis=0)
    if xx == 0 or yy == 0:  # all rows in one place, in the data or in the map
        return float(xx != yy), (0.0, 1.0) if sampled else None
    cosine2 = min(1.0, xy * xy / (xx * yy))
    value = float(np.sqrt(1 - cosine2))
    if not sampled:
        return value, None
    # How the squared cosine answers to each row, to first order.
    pull = cosine2 * (moments @ np.array([-1 / xx, 2 / xy, -1 / yy]))
    half = half_width(pull, n, 1.0)
    low, high = (float(np.sqrt(np.clip(1 - cosine2 + e, 0, 1))) for e in (-half, half))
    return value, (low, high)


# ------------------------------------------------------------------------------------------------- pairs of rows


@dataclass(frozen=True, eq=False)
class DataPairs:
    """Pairs of rows, all or a sample, with their distances in the data and the ranks of those."""

    pairs: Indices
    distances: FloatArray
    ranks: NDArray[np.float64]
    exact: bool


@dataclass(frozen=True, eq=False)
class PairDistances:
    """Distances of pairs of rows, all or a sample of them: in the data (`data`) and in the map (`map`)."""

    sample: DataPairs
    map: FloatArray

    @property
    def pairs(self) -> Indices:
        """The two rows of each pair."""
        return self.sample.pairs

    @property
    def data(self) -> FloatArray:
        """The distance of each pair in the data."""
        return self.sample.distances

    @property
    def exact(self) -> bool:
        """Whether these are all pairs."""
        return self.sample.exact

    def rank_correlation(self) -> tuple[float, tuple[float, float] | None]:
        """Spearman's correlation of the two distances and, for a sample, its interval; 0 if all distances are equal."""
        value = correlation(self.sample.ranks, average_ranks(self.map))
        if self.exact:
            return value, None
        parts = [
            correlation(average_ranks(a), average_ranks(b))
            for a, b in zip(np.array_split(self.data, _GROUPS), np.array_split(self.map, _GROUPS))
        ]
        half = half_width(
            np.array(parts), 2**62, 2.0
        )  # there are so many pairs that the sample is a negligible share
        return value, (max(-1.0, value - half), min(1.0, value + half))


def data_pairs(data: RowSource, sample: str | int | None, seed: int) -> DataPairs:
    """All pairs of up to 1 000 rows (up to 20 million pairs with `sample=None`), and 200 000 random pairs beyond."""
    n_pairs = data.n * (data.n - 1) // 2
    exact = n_pairs <= (_MOST_PAIRS if sample is None else _ALL_PAIRS)
    pairs = _all_pairs(data.n) if exact else sampled_pairs(data.n, _SAMPLED_PAIRS, seed)
    distances = data.pairs(pairs)
    return DataPairs(pairs, distances, average_ranks(distances), exact)


def _all_pairs(n: int) -> Indices:
    return np.ascontiguousarray(np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32))


def average_ranks(values: FloatArray) -> NDArray[np.float64]:
    """Ranks, counted from 1; equal values share the mean of their ranks."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    size = np.diff(np.append(first, len(values)))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(first + (size + 1) / 2, size)
    return ranks


def correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Pearson's correlation; 0 if one of the two does not vary."""
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.clip(np.sum(a * b) / norm, -1, 1)) if norm > 0 else 0.0
