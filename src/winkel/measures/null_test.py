"""`null_test`: how often data without structure, mapped with the same settings, looks as good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..checks import choice, integer, number
from ..data import Table, as_table
from ..graph.graph import require_neighbor_lists
from ..graph.knn import neighbor_graph
from ..run import Run, Stream
from ..typing import FloatArray, IntArray, RandomState
from .density import Clusters, density_clusters, labelled_clarity
from .faithfulness import table_lines
from .fits import Data, check_estimator, cut_graph, fit_map, fresh, takes_graph
from .sources import map_neighbors

_NULLS = ("gaussian", "permutation")
_LEVEL = 0.05
_COMPARABLE = 0.5  # of a cluster's size, which one by chance must have to count as its like
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class NullTest:
    """How often maps of data without structure look as good: what `winkel.null_test` returns. It prints as a table.

    Attributes
    ----------
    Y : ndarray of shape (n, n_components)
        The map of the data.
    null : str
        How data without structure was made.
    n_repeats, n_neighbors : int
        Number of maps of such data, and size of a neighbourhood.
    clusters : ndarray of shape (n,)
        The cluster of each point, 0 being the largest.
    clarity : ndarray of shape (n_clusters,)
        How far the density of each cluster stands above the valley around it (logarithm; that of the gap for an island).
    cluster_p : ndarray of shape (n_clusters,)
        Of each cluster, (1 + b) / (1 + B): in b of B maps of structureless data a cluster at least half as large was as
        clear. It is never below 1 / (1 + B).
    null_clarity : ndarray of shape (n_repeats, n_clusters)
        The clearest such cluster of each map.
    preserved : ndarray of shape (n,)
        Of each point, the share of its neighbours in the data that are its neighbours in the map.
    point_p : ndarray of shape (n,)
        Of each point, (1 + c) / (1 + n B), c of the n B points of those maps doing as well or better.
    null_preserved : ndarray of shape (n_repeats,)
        Mean of `preserved` of each map of structureless data.

    Examples
    --------
    >>> import winkel as wk
    >>> from sklearn.decomposition import PCA
    >>> found = wk.null_test(PCA(2), wk.datasets.load_digits().X[:200], n_repeats=2)
    >>> found.clusters.shape, found.null_preserved.shape
    ((200,), (2,))
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
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> NullTest:
    """How often chance does as well: an estimator's map of the data against its maps of data without structure.

    Parameters
    ----------
    estimator : estimator
        Anything with `fit_transform` and scikit-learn's parameters.
    X : array or data frame
        Dense rows.
    null : {"gaussian", "permutation"}, default="gaussian"
        "gaussian" draws rows from the normal distribution with the mean and covariance of X; "permutation" shuffles each
        column by itself, which keeps each column's own distribution (and so groups that a single column makes).
    n_repeats : int, default=19
        Maps of such data, B. 19 is the least with which p can reach 0.05.
    clusters : array of length n or None, default=None
        The cluster of each row, where clusters are known; otherwise those are taken that a person sees, hills of the map's
        density that stand at least `min_clarity` above the valley to the next.
    n_neighbors : int, default=15
        Size of the neighbourhoods in data and map, from which density and preservation follow.
    min_clarity : float, default=0.5
        Least clarity of a cluster, a logarithm of density.
    random_state : int, numpy Generator or None, default=0
        The seed of the maps and of the data without structure.
    n_jobs : int or None, default=None
        Number of threads; None uses every core.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    NullTest
        Of each cluster and each point, how often chance does as well.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> X = np.random.default_rng(0).normal(size=(120, 5))
    >>> X[:60] += 6
    >>> found = wk.null_test(wk.MDE(max_iter=20), X, n_repeats=2)
    >>> len(found.clusters), found.n_repeats
    (120, 2)
    """
    check_estimator(estimator)
    table = as_table(X, allow_sparse=False, min_rows=4)
    n, repeats = table.shape[0], integer("n_repeats", n_repeats, 1)
    k = min(integer("n_neighbors", n_neighbors, 1), (n - 1) // 2)
    choice("null", null, _NULLS)
    min_clarity = number("min_clarity", min_clarity)
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    Y, kept = _mapped(estimator, table, k, run)
    found = (
        density_clusters(Y, k, min_clarity, run)
        if clusters is None
        else labelled_clarity(Y, clusters, k, run)
    )
    clearest, as_good = np.empty((repeats, len(found))), np.zeros(n)
    null_kept = np.empty((repeats, n))
    make = _gaussian if null == "gaussian" else _permuted
    for b in run.progress(range(repeats), "maps of chance", repeats):
        data = Table(make(table.values, run.stream(f"null {b}")), validated=True)
        Y_null, null_kept[b] = _mapped(estimator, data, k, run)
        clearest[b] = _clearest(density_clusters(Y_null, k, 0.0, run), found.mass)
        ordered = np.sort(null_kept[b])
        as_good += n - np.searchsorted(ordered, kept, side="left")
    beaten = (clearest >= found.clarity).sum(axis=0)
    return NullTest(
        Y, null, repeats, k, found.labels, found.clarity, (1 + beaten) / (1 + repeats), clearest, kept,
        (1 + as_good) / (1 + n * repeats), null_kept.mean(axis=1),
    )  # fmt: skip


def _mapped(estimator: Any, table: Table, k: int, run: Run) -> tuple[FloatArray, NDArray[np.float64]]:
    """The map of the rows, and of each the share of its neighbours in the data that are its neighbours there."""
    n, quiet = table.shape[0], run.quiet()
    if takes_graph(estimator, "euclidean"):
        graph = neighbor_graph(table, min(n - 1, max(k, estimator.n_neighbors)), quiet)
        data: Any = cut_graph(graph, estimator.n_neighbors)
    else:
        graph = neighbor_graph(table, k, quiet)
        data = Data(table.values, table).for_estimator(estimator)
    Y = fit_map(fresh(estimator, run.seed), data).Y
    neighbors, _ = require_neighbor_lists(graph, "preserved neighbours")
    shown = map_neighbors(Y, k, run)
    kept = np.empty(n)
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        kept[part] = (neighbors[part, :k, None] == shown[part, None, :]).any(axis=2).mean(axis=1)
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
