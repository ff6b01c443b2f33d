"""Scores of who is near whom: trustworthiness, continuity, neighbour recall, and R_NX over all neighbourhood sizes.

All of them come from ranks: rank 1 is the nearest other row. One pass over the rows, a block at a time, gives the ranks
of the map's neighbours in the data and of the data's in the map; a full order of both gives the co-ranking curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..data import as_matrix
from ..errors import InvalidInputError, InvalidParameterError
from ..resources import resolve_n_jobs, resolve_seed
from ..typing import FloatArray, Metric, RandomState
from .nearest import map_neighbors
from .rows import Indices, PointRows, Rows, RowSource, blocks, row_source
from .sampling import half_width, mean_interval, sampled_rows
from .score import Score

_TEMPLATES = {
    "trustworthiness": Score(
        "trustworthiness", 1.0, (0.0, 1.0), True,
        "Rows shown beside a point are near it in the data too; strangers among them cost by how far they come.",
    ),
    "continuity": Score(
        "continuity", 1.0, (0.0, 1.0), True,
        "Rows near a point in the data are shown beside it; those torn away cost by how far they are put.",
    ),
    "neighbor_recall": Score(
        "neighbor_recall", 1.0, (0.0, 1.0), True,
        "Share of a row's nearest in the data that are also among its nearest in the map.",
    ),
    "rnx_auc": Score(
        "rnx_auc", 1.0, (-1.0, 1.0), True,
        "Shared neighbours at all neighbourhood sizes, small ones counting most: 1 is perfect, 0 is chance.",
    ),
    "stress": Score(
        "stress", 0.0, (0.0, 1.0), False,
        "Distances in the map differ from those in the data by this share, at the map's best scale.",
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class MapRanks:
    """What one pass over the rows found for one map, an entry a measured row; `counts` over all of them.

    `counts[r]` says how many pairs have r as the larger of their two ranks. `moments` are the sums of squares and
    products of distances (data², data·map, map²).
    """

    n: int
    rows: Rows
    trust: NDArray[np.float64]
    continuity: NDArray[np.float64]
    recall: NDArray[np.float64]
    rnx_auc: NDArray[np.float64]
    moments: NDArray[np.float64]
    counts: NDArray[np.int64]

    def score(self, name: str) -> Score:
        """The score of this name, with its interval where rows were sampled."""
        if name == "stress":
            return self._stress()
        values = {
            "trustworthiness": self.trust,
            "continuity": self.continuity,
            "neighbor_recall": self.recall,
            "rnx_auc": self.rnx_auc,
        }[name]
        return _row_score(name, values, self.rows, self.n)

    @property
    def _n_sampled(self) -> int | None:
        return None if len(self.rows) == self.n else len(self.rows)

    def curve(self) -> NDArray[np.float64]:
        """R_NX(K) for K = 1, ..., n − 2 (Lee et al. 2015): shared neighbours less chance, over perfect less chance."""
        others = self.n - 1
        K = np.arange(1, others)
        shared = np.cumsum(self.counts[1:others]) / (K * len(self.rows))
        return (others * shared - K) / (others - K)

    def _stress(self) -> Score:
        """√(Σ(d − a·d_map)² / Σd²) at the best a, which is √(1 − cos²) of the two vectors of distances."""
        xx, xy, yy = self.moments.mean(axis=0)
        if xx == 0 or yy == 0:  # all rows in one place, in the data or in the map
            value, interval = float(xx != yy), None if self._n_sampled is None else (0.0, 1.0)
        else:
            cosine2 = min(1.0, xy * xy / (xx * yy))
            value, interval = float(np.sqrt(1 - cosine2)), None
            if self._n_sampled is not None:  # how the squared cosine answers to each row, to first order
                pull = cosine2 * (self.moments @ np.array([-1 / xx, 2 / xy, -1 / yy]))
                half = half_width(pull, self.n, 1.0)
                low, high = (float(np.sqrt(np.clip(1 - cosine2 + e, 0, 1))) for e in (-half, half))
                interval = (low, high)
        return replace(_TEMPLATES["stress"], value=value, interval=interval, n_sampled=self._n_sampled)


def _row_score(name: str, values: NDArray[np.float64], rows: Rows, n: int) -> Score:
    """The score that is the mean of one value a row."""
    template = _TEMPLATES[name]
    return replace(
        template,
        value=float(values.mean()),
        per_point=spread(values, rows, n),
        interval=mean_interval(values, n, template.range),
        n_sampled=None if len(rows) == n else len(rows),
    )


def spread(values: NDArray[np.float64], rows: Rows, n: int) -> FloatArray:
    """One value for each of n rows, NaN for those that were not measured."""
    if len(rows) == n:
        return values
    full = np.full(n, np.nan)
    full[rows] = values
    return full


def rank_maps(
    X: RowSource,
    maps: Sequence[RowSource],
    rows: Rows,
    k: int,
    *,
    lists: Indices | None = None,
    whole: bool = True,
    n_jobs: int,
) -> list[MapRanks]:
    """The ranks of several maps of the same data; without `whole` only those of neighbours, no curve and no stress.

    `lists` are the data's neighbours of all rows, where they are known.
    """
    weights, chance, total = rnx_weights(X.n)
    columns = np.zeros((len(maps), len(rows), 4))
    moments = np.zeros((len(maps), len(rows), 3))
    counts = np.zeros((len(maps), X.n + 1), np.int64)
    for part in blocks(rows, X.n):
        here = rows[part]
        data = X.block(here)
        near = data.nearest(k) if lists is None else np.ascontiguousarray(lists[here, :k])
        order = data.order() if whole else None
        for m, source in enumerate(maps):
            shown = source.block(here)
            strangers = data.ranks(shown.nearest(k))
            torn = shown.ranks(near)
            columns[m, part, 0] = _penalised(strangers, k, X.n)
            columns[m, part, 1] = _penalised(torn, k, X.n)
            columns[m, part, 2] = (torn <= k).mean(axis=1)
            if order is None:
                continue
            sums, found = _core.corank(order, shown.order(), weights, n_jobs)
            columns[m, part, 3] = (sums - chance) / total
            counts[m] += found
            moments[m, part] = _core.distance_moments(
                data.distances, shown.distances, X.squared, source.squared, n_jobs
            )
    return [
        MapRanks(X.n, rows, c[:, 0], c[:, 1], c[:, 2], c[:, 3], moments[m], counts[m])
        for m, c in enumerate(columns)
    ]


def _penalised(ranks: NDArray[np.int64], k: int, n: int) -> NDArray[np.float64]:
    """1 less the ranks beyond k, scaled so that the worst row has 0 (Venna and Kaski 2001)."""
    return 1 - np.maximum(ranks - k, 0).sum(axis=1) * (2.0 / (k * (2 * n - 3 * k - 1)))


def rnx_weights(n: int) -> tuple[NDArray[np.float64], float, float]:
    """Weights w, c and h such that a row's area under R_NX over log K is (Σ w[larger rank] − c) / h.

    R_NX(K) = (N q(K)/K − K) / (N − K) with N = n − 1 others and q(K) pairs whose larger rank is at most K; the area is
    Σ R_NX(K)/K over Σ 1/K, K < N. Each pair adds N / (K²(N − K)) for all K from its larger rank on.
    """
    others = n - 1
    K = np.arange(1, others, dtype=np.float64)
    weights = np.zeros(n + 1)
    weights[1:others] = np.cumsum((others / (K * K * (others - K)))[::-1])[::-1]
    return weights, float(np.sum(1 / (others - K))), float(np.sum(1 / K))


def trustworthiness(
    X: Any,
    Y: ArrayLike,
    *,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Score:
    """How far the rows shown beside each point are near it in the data (Venna and Kaski 2001).

    The number of `sklearn.manifold.trustworthiness`, without its n × n matrix: equal where no two distances from one
    row are equal; of equal ones scikit-learn takes any order, here it is that of `winkel.graph.knn`.
    """
    source, shown, k, _ = check_pair(X, Y, n_neighbors, metric, n_jobs)
    rows = sampled_rows(source.n, sample, resolve_seed(random_state))
    whole = map_neighbors(shown.points.X, k, n_jobs) if len(rows) == source.n else None
    values = np.empty(len(rows))
    for part in blocks(rows, source.n):
        here = rows[part]
        near = shown.block(here).nearest(k) if whole is None else whole[here]
        values[part] = _penalised(source.block(here).ranks(near), k, source.n)
    return _row_score("trustworthiness", values, rows, source.n)


def continuity(
    X: Any,
    Y: ArrayLike,
    *,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Score:
    """How far the rows near each point in the data are shown beside it: trustworthiness the other way round."""
    return _ranked("continuity", X, Y, n_neighbors, metric, sample, random_state, n_jobs)


def neighbor_recall(
    X: Any,
    Y: ArrayLike,
    *,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Score:
    """Share of each row's nearest in the data that are among its nearest in the map."""
    return _ranked("neighbor_recall", X, Y, n_neighbors, metric, sample, random_state, n_jobs)


def _ranked(
    name: str,
    X: Any,
    Y: ArrayLike,
    n_neighbors: int,
    metric: Metric,
    sample: str | int | None,
    random_state: RandomState,
    n_jobs: int | None,
) -> Score:
    source, shown, k, jobs = check_pair(X, Y, n_neighbors, metric, n_jobs)
    rows = sampled_rows(source.n, sample, resolve_seed(random_state))
    return rank_maps(source, [shown], rows, k, whole=False, n_jobs=jobs)[0].score(name)


def check_pair(
    X: Any, Y: ArrayLike, n_neighbors: int, metric: Metric, n_jobs: int | None
) -> tuple[RowSource, PointRows, int, int]:
    """Validated data and map, number of neighbours, and threads."""
    jobs = resolve_n_jobs(n_jobs)
    source = row_source(X, metric, jobs)
    shown = check_map(Y, source.n, jobs)
    return source, shown, check_count(n_neighbors, source.n), jobs


def check_map(Y: ArrayLike, n: int, n_jobs: int) -> PointRows:
    """The map's rows, one for each of n."""
    values = as_matrix(getattr(Y, "Y", Y), name="Y", allow_sparse=False)
    if len(values) != n:
        raise InvalidInputError(f"Y must have one row for each of the {n} rows of X; it has {len(values)}.")
    return PointRows(values, "euclidean", n_jobs)


def check_count(n_neighbors: int, n: int) -> int:
    """`n_neighbors`, for which trustworthiness must be defined: fewer than half of n."""
    whole = isinstance(n_neighbors, int | np.integer) and not isinstance(n_neighbors, bool)
    if not whole or not 1 <= n_neighbors < n / 2:
        raise InvalidParameterError(
            f"n_neighbors must be a whole number from 1 to less than half of the {n} rows; got {n_neighbors!r}."
        )
    return int(n_neighbors)
