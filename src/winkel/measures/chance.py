"""`null_test`: how often data without structure, mapped with the same settings, looks as good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..data import as_matrix
from ..errors import InvalidParameterError
from ..graph import Graph, knn
from ..graph.graph import require_neighbor_lists
from ..random import Stream
from ..resources import resolve_seed
from ..typing import FloatArray, IntArray, RandomState
from .density import Clusters, density_clusters, given_clarity
from .fits import check_estimator, check_repeats, cut_graph, fit_map, fresh, progress, takes_graph
from .nearest import map_neighbors
from .trust import table_lines

_LEVEL = 0.05
_COMPARABLE = 0.5  # of a cluster's size, which one by chance must have to count as its like
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class NullTest:
    """How often maps of data without structure look as good as the map of the data.

    Y : the map of the data. `clusters` : the cluster of each point, 0 being the largest.
    clarity : of each cluster, how far its density stands above the valley around it (logarithm; that of the gap for an island).
    cluster_p : of each cluster, (1 + b) / (1 + B): in b of B maps of structureless data some cluster, at least half as large,
        was as clear. `null_clarity` (B × clusters) has the clearest such one of each map. No cluster_p is below 1 / (1 + B).
    preserved : of each point, the share of its neighbours in the data that are its neighbours in the map.
    point_p : of each point, (1 + c) / (1 + n B), c of the n B points of those maps doing as well or better.
    """

    Y: FloatArray
    null: str
    n_repeats: int
    n_neighbors: int
    clusters: IntArray
    clarity: NDArray[np.float64]
    cluster_p: NDArray[np.float64]
    null_clarity: NDArray[np.float64]
    preserved: NDArray[np.float64]
    point_p: NDArray[np.float64]
    null_preserved: NDArray[np.float64]

    @property
    def chance(self) -> NDArray[np.bool_]:
        """Whether each cluster is no clearer than chance makes them (p above 0.05)."""
        return self.cluster_p > _LEVEL

    def __str__(self) -> str:
        rows = [("cluster", "points", "clarity", "as clear by chance", "p", "verdict")]
        for c, (clarity, p) in enumerate(zip(self.clarity, self.cluster_p)):
            beaten = int(np.sum(self.null_clarity[:, c] >= clarity))
            size = int(np.sum(self.clusters == c))
            verdict = "chance does as well" if p > _LEVEL else "not by chance"
            rows.append(
                (
                    str(c),
                    str(size),
                    f"{clarity:.2f}",
                    f"{beaten} of {self.n_repeats} maps",
                    f"{p:.3f}",
                    verdict,
                )
            )
        points = np.mean(self.point_p <= _LEVEL)
        return "\n".join(
            [
                f"{len(self.Y)} rows against {self.n_repeats} maps of data without structure ({self.null}); with so many "
                f"no p of a cluster can be below {1 / (1 + self.n_repeats):.3f}",
                *table_lines(rows),
                f"neighbours kept: {self.preserved.mean():.3f}, by chance {self.null_preserved.mean():.3f}; "
                f"{points:.0%} of the points keep more than chance does (p ≤ {_LEVEL})",
            ]
        )

    __repr__ = __str__


def null_test(
    estimator: Any,
    X: Any,
    *,
    null: str = "gaussian",
    n_repeats: int = 19,
    clusters: ArrayLike | None = None,
    n_neighbors: int = 15,
    min_clarity: float = 0.5,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> NullTest:
    """How often chance does as well: the estimator's map of X against its maps of data without structure.

    Parameters
    ----------
    estimator : anything with `fit_transform` and scikit-learn's parameters.
    X : dense rows.
    null : "gaussian" draws rows from the normal distribution with the mean and covariance of X; "permutation" shuffles each
        column by itself, which keeps each column's own distribution (and so groups that a single column makes).
    n_repeats : maps of such data, B. 19 is the least with which p can reach 0.05.
    clusters : one entry a row, where clusters are known; otherwise those are taken that a person sees, hills of the map's
        density that stand at least `min_clarity` (a logarithm) above the valley to the next.
    n_neighbors : size of the neighbourhoods in data and map, from which density and preservation follow.
    """
    check_estimator(estimator)
    values = as_matrix(X, allow_sparse=False, min_rows=4)
    n, repeats = len(values), check_repeats("n_repeats", n_repeats)
    k = min(check_repeats("n_neighbors", n_neighbors), (n - 1) // 2)
    if null not in ("gaussian", "permutation"):
        raise InvalidParameterError(f"null must be 'gaussian' or 'permutation'; got {null!r}.")
    seed = resolve_seed(random_state)
    Y, kept = _mapped(estimator, values, seed, k, n_jobs)
    found = (
        density_clusters(Y, k, min_clarity, n_jobs)
        if clusters is None
        else given_clarity(Y, clusters, k, n_jobs)
    )
    clearest, as_good = np.empty((repeats, len(found))), np.zeros(n)
    null_kept = np.empty((repeats, n))
    for b in progress(range(repeats), "maps of chance", verbose, repeats):
        stream = Stream.named(seed, f"null {b}")
        data = _gaussian(values, stream) if null == "gaussian" else _permuted(values, stream)
        Y_null, null_kept[b] = _mapped(estimator, data, seed, k, n_jobs)
        clearest[b] = _clearest(density_clusters(Y_null, k, 0.0, n_jobs), found.mass)
        ordered = np.sort(null_kept[b])
        as_good += n - np.searchsorted(ordered, kept, side="left")
    beaten = (clearest >= found.clarity).sum(axis=0)
    return NullTest(
        Y, null, repeats, k, found.labels, found.clarity, (1 + beaten) / (1 + repeats), clearest, kept,
        (1 + as_good) / (1 + n * repeats), null_kept.mean(axis=1),
    )  # fmt: skip


def _mapped(
    estimator: Any, X: FloatArray, seed: int, k: int, n_jobs: int | None
) -> tuple[FloatArray, NDArray[np.float64]]:
    """The map of X, and of each row the share of its neighbours in X that are its neighbours there."""
    graph: Graph | None = None
    if takes_graph(estimator, "euclidean"):
        graph = knn(X, min(len(X) - 1, max(k, estimator.n_neighbors)), random_state=seed, n_jobs=n_jobs)
    data = X if graph is None else cut_graph(graph, estimator.n_neighbors)
    Y = np.ascontiguousarray(fit_map(fresh(estimator, seed), data).Y)
    near, _ = require_neighbor_lists(
        graph or knn(X, k, random_state=seed, n_jobs=n_jobs), "preserved neighbours"
    )
    shown = map_neighbors(Y, k, n_jobs)
    kept = np.empty(len(X))
    for start in range(0, len(X), _BLOCK):
        part = slice(start, start + _BLOCK)
        kept[part] = (near[part, :k, None] == shown[part, None, :]).any(axis=2).mean(axis=1)
    return Y, kept


def _clearest(clusters: Clusters, mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each mass the clearest of the clusters that have at least half of it; small ones often stand apart by chance."""
    large = clusters.mass[:, None] >= _COMPARABLE * mass
    return np.where(large, clusters.clarity[:, None], 0.0).max(axis=0)


def _gaussian(X: FloatArray, stream: Stream) -> FloatArray:
    """Normal rows with the mean and covariance of X."""
    n, m = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    centred = X.astype(np.float64) - mean
    out = np.empty((n, m))
    with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
        root = np.linalg.qr(centred, mode="r") if m <= n else centred
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            size = (stop - start, len(root))
            draws = stream.normal(size, start=start * len(root))
            out[start:stop] = draws @ root / np.sqrt(n - 1) + mean
    return out.astype(X.dtype)


def _permuted(X: FloatArray, stream: Stream) -> FloatArray:
    """X with the entries of each column in an order of their own."""
    n, m = X.shape
    return np.stack([X[stream.permutation(n, start=c * n), c] for c in range(m)], axis=1)
