"""`null_test`: how often data without structure, mapped with the same settings, looks equally good."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algebra import one_blas_thread
from ..checks import choice, integer, number
from ..data import Table, as_table
from ..graph.graph import require_neighbor_lists
from ..graph.knn import neighbor_graph
from ..run import Run, Stream
from ..typing import FloatArray, IntArray, RandomState
from .density import Clusters, density_clusters, labelled_clarity
from .faithfulness import html_table, table_lines
from .fits import Data, check_estimator, cut_graph, fit_map, fresh, takes_graph
from .sources import map_neighbors

_COMPARABLE = 0.5  # of a cluster's size, which one by chance must have to count as its like
_BLOCK = 1024
_ATTEMPTS = 8  # to find variances whose neighbourhoods are as those of the data
_ARMS = 7  # fewer than data may have let them be called; with many more, data that taper are called


@dataclass(frozen=True, eq=False)
class NullTest:
    """How often maps of data without structure look equally good: the result of `winkel.null_test`. It prints as a table.

    Attributes
    ----------
    Y : ndarray of shape (n, n_components)
        The map of the data.
    null : str
        How data without structure was made.
    n_repeats, n_neighbors : int
        Number of maps of such data, and size of a neighbourhood.
    clusters : ndarray of shape (n,)
        The cluster of each point; 0 is the largest.
    clarity : ndarray of shape (n_clusters,)
        How far the density of each cluster is above the valley around it, as a logarithm (for an island, above the density that corresponds
        to the gap).
    level : float
        The accepted probability that any cluster of data without structure is called "not by chance".
    single_p : ndarray of shape (n_clusters,)
        The p-value of each cluster on its own, (1 + b) / (1 + B), if b of the B maps of structureless data have an equally clear cluster
        that is at least half as large. It is never below 1 / (1 + B).
    cluster_p : ndarray of shape (n_clusters,)
        The same, corrected for the number of clusters (Westfall and Young 1993, step-down maxima of clarity). With probability 1 − level,
        none of the clusters at or below `level` is there by chance.
    null_clarity : ndarray of shape (n_repeats, n_clusters)
        The clarity of the clearest such cluster in each map.
    preserved : ndarray of shape (n,)
        For each point, the share of its neighbours in the data that are its neighbours in the map.
    point_p : ndarray of shape (n,)
        For each point, (1 + c) / (1 + n B), where c of the n B points of the maps of structureless data do as well or better.
    null_preserved : ndarray of shape (n_repeats,)
        The mean of `preserved` in each map of structureless data.

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
    level: float
    clusters: IntArray
    clarity: NDArray[np.float64]
    single_p: NDArray[np.float64]
    cluster_p: NDArray[np.float64]
    null_clarity: NDArray[np.float64]
    preserved: NDArray[np.float64]
    point_p: NDArray[np.float64]
    null_preserved: NDArray[np.float64]

    @property
    def chance(self) -> NDArray[np.bool_]:
        """Whether chance is not ruled out for each cluster (`cluster_p` above `level`), which does not show that it is chance."""
        return self.cluster_p > self.level

    @property
    def can_reach_level(self) -> bool:
        """Whether there are enough maps to distinguish any cluster from chance."""
        return 1 / (1 + self.n_repeats) <= self.level

    def __str__(self) -> str:
        return "\n".join([self._head, *table_lines(self._table()), self._points])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{html_table(self._head, self._table())}<p>{html.escape(self._points)}</p>"

    @property
    def _head(self) -> str:
        least, needed = 1 / (1 + self.n_repeats), maps_for(self.level)
        reach = f"the least p of a cluster is {least:.3g}"
        if not self.can_reach_level:
            reach += f", so none can reach the level {self.level:g}: n_repeats={needed} would do"
        return f"{len(self.Y)} rows against {self.n_repeats} maps of data without structure ({self.null}); {reach}"

    @property
    def _points(self) -> str:
        points = np.mean(self.point_p <= self.level)
        return (
            f"neighbours kept: {self.preserved.mean():.3f}, by chance {self.null_preserved.mean():.3f}; "
            f"{points:.0%} of the points keep more than chance does (p ≤ {self.level:g})"
        )

    def _table(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [
            ("cluster", "points", "clarity", "as clear by chance", "p, corrected", "verdict")
        ]
        for c, (clarity, p) in enumerate(zip(self.clarity, self.cluster_p)):
            beaten = int(np.sum(self.null_clarity[:, c] >= clarity))
            size = int(np.sum(self.clusters == c))
            chance = f"{beaten} of {self.n_repeats} maps"
            rows.append((str(c), str(size), f"{clarity:.2f}", chance, f"{p:.3f}", self._verdict(c)))
        return rows

    def _verdict(self, c: int) -> str:
        """What p says of a cluster: that chance makes its like, that it does not, or neither."""
        if not self.can_reach_level:
            return "too few maps to tell"
        if self.cluster_p[c] <= self.level:
            return "not by chance"
        if self.single_p[c] <= self.level:  # the correction for the number of clusters misses much
            return f"cannot be told among {len(self.clarity)}"
        return "chance does as well"


def null_test(
    estimator: Any,
    X: Any,
    *,
    null: str = "arms",
    level: float = 0.05,
    n_repeats: int | None = None,
    clusters: ArrayLike | None = None,
    n_neighbors: int = 15,
    min_clarity: float = 0.5,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> NullTest:
    """How often chance does as well: an estimator's map of the data, compared with its maps of data without structure.

    Parameters
    ----------
    estimator : estimator
        Anything with `fit_transform` and scikit-learn's parameters.
    X : array, data frame or AnnData
        Dense rows. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
    null : {"arms", "gaussian", "permutation"}, default="arms"
        How data without structure is made. "arms" draws rows from seven arms that leave one place, with the same local dimension as X: the
        mean spectrum of neighbourhoods of X says how thin the arms are. Thin arms are what a map tears most easily into pieces that look
        like clusters. "gaussian" is one normal distribution with the covariance of X; groups that are far apart stretch it along
        a few directions, so that chance keeps more neighbours than the data can. "permutation" shuffles each column
        separately, which keeps the distribution of each column (and with it groups that a single column makes).
    level : float, default=0.05
        The accepted probability that any cluster of data without structure is called "not by chance".
    n_repeats : int or None, default=None
        Number B of maps of such data. None makes the fewest with which p can reach `level`, which is 19 for 0.05. More maps make p finer.
    clusters : array of length n or None, default=None
        The cluster of each row, if clusters are known. Otherwise clusters are those that a person sees: hills of the map's
        density that are at least `min_clarity` above the valley to the next hill.
    n_neighbors : int, default=15
        Size of the neighbourhoods in data and map, by which density and preservation are measured.
    min_clarity : float, default=0.5
        Smallest clarity of a cluster, a logarithm of density.
    random_state : int, numpy Generator or None, default=0
        The seed of the maps and of the data without structure.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    NullTest
        For each cluster and each point, how often chance does as well.

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
    level = number("level", level, 0.0, 1.0, low_open=True, high_open=True)
    repeats = maps_for(level) if n_repeats is None else integer("n_repeats", n_repeats, 1)
    n = table.shape[0]
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
    make = _NULLS[null](table, k, run)
    for b in run.progress(range(repeats), "maps of chance", repeats):
        data = Table(make(run.stream(f"null {b}")), validated=True)
        Y_null, null_kept[b] = _mapped(estimator, data, k, run)
        clearest[b] = _clearest(density_clusters(Y_null, k, 0.0, run), found.mass)
        ordered = np.sort(null_kept[b])
        as_good += n - np.searchsorted(ordered, kept, side="left")
    single, corrected = _corrected(found.clarity, clearest)
    return NullTest(
        Y, null, repeats, k, level, found.labels, found.clarity, single, corrected, clearest, kept,
        (1 + as_good) / (1 + n * repeats), null_kept.mean(axis=1),
    )  # fmt: skip


def maps_for(level: float) -> int:
    """The smallest number of maps of structureless data with which a p can be as small as `level`."""
    return max(1, math.ceil(1 / level - 1e-9) - 1)


def _corrected(
    clarity: NDArray[np.float64], null: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p of each cluster, by itself and corrected for their number by step-down maxima of clarity (Westfall and Young 1993).

    A cluster's corrected p is the share of maps, that of the data among them, in which the clearest like of this cluster, or of one that is
    no clearer, is as clear as it.
    """
    repeats, count = null.shape
    single = (1 + (null >= clarity).sum(axis=0)) / (1 + repeats)
    order = np.argsort(-clarity, kind="stable")
    most = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    corrected = np.empty(count)
    corrected[order] = np.maximum.accumulate((1 + (most >= clarity[order]).sum(axis=0)) / (1 + repeats))
    return single, corrected


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


def _local(X: FloatArray, neighbors: NDArray[np.int32]) -> NDArray[np.float64]:
    """The mean spectrum of neighbourhoods, m variances in all with the total variance of X.

    One half of a row's neighbours says along which axes, the other how far: few rows lie by chance along axes of their own,
    and what the others have beyond those axes is shared by the directions that are left.
    """
    n, m = X.shape
    rank = min(neighbors.shape[1] // 2, m)
    spectrum = np.zeros(m)
    with one_blas_thread():  # the same bytes for any number of threads
        for start in range(0, n, _BLOCK):
            lists = neighbors[start : start + _BLOCK]
            near = X[lists].astype(np.float64)
            near -= near.mean(axis=1, keepdims=True)  # at the edge of the data neighbours lie to one side
            _, _, axes = np.linalg.svd(near[:, 0::2], full_matrices=False)
            others = near[:, 1::2]
            along = np.square(others @ axes[:, :rank].transpose(0, 2, 1)).sum(axis=1)
            total = np.square(others).sum(axis=(1, 2))[:, None]
            scale = np.where(total > 0, total, 1)
            spectrum[:rank] += (along / scale).sum(axis=0)
            if rank < m:
                spectrum[rank:] += np.maximum(1 - (along / scale).sum(axis=1), 0).sum() / (m - rank)
    total_share = spectrum.sum()
    share = spectrum / total_share if total_share > 0 else spectrum
    return share * float(np.var(X, axis=0, dtype=np.float64).sum())


def _arms_null(table: Table, k: int, run: Run) -> Callable[[Stream], FloatArray]:
    """Rows on arms that leave one place, whose neighbourhoods have the spectrum that those of the data have.

    Along its arm a row is anywhere equally likely, and across it normally distributed. Of all shapes without clusters, arms that
    are long and thin fall into the clearest pieces in a map, and round data give no such arms, since neighbourhoods say how thin
    they are. Neighbourhoods of the rows are rounder than an arm, so variances are sought whose rows have the right ones.
    """
    X: FloatArray = table.values
    n, m = X.shape
    k = min(n - 1, max(4, k, min(2 * m, n // 8)))
    mean = X.mean(axis=0, dtype=np.float64)
    with one_blas_thread():  # the same bytes for any number of threads
        _, _, axes = np.linalg.svd(X.astype(np.float64) - mean, full_matrices=False)
    r = len(axes)
    total = float(np.var(X, axis=0, dtype=np.float64).sum())
    rows = np.arange(n)

    def spectrum(values: FloatArray) -> NDArray[np.float64]:
        graph = neighbor_graph(Table(values, validated=True), k, run.quiet())
        found = _local(values, require_neighbor_lists(graph, "a null of local dimension")[0])
        return found / max(float(found.sum()), np.finfo(np.float64).tiny)

    def drawn(share: NDArray[np.float64], stream: Stream) -> FloatArray:
        places, draws = stream.normal((n, r)), stream.uniform((n, 2), start=n * r)
        places[:, 0] = math.sqrt(12) * draws[:, 0]  # of variance 1 as well
        places *= np.sqrt(share[:r])
        arm = (draws[:, 1] * min(_ARMS, 2 * r)).astype(np.int64)  # along the first axes, then against them
        along = np.where(arm < r, places[:, 0], -places[:, 0])
        places[:, 0] = places[rows, arm % r]
        places[rows, arm % r] = along
        places -= places.mean(axis=0)
        places *= math.sqrt(total / max(float(np.var(places, axis=0).sum()), np.finfo(np.float64).tiny))
        with one_blas_thread():
            return (places @ axes + mean).astype(X.dtype)

    target = share = spectrum(X)
    for attempt in range(_ATTEMPTS):
        trial = spectrum(drawn(share, run.stream(f"null spectrum {attempt}")))
        share = share * np.clip(target / np.maximum(trial, 1e-12), 0.25, 4.0)
        share = share / max(float(share.sum()), np.finfo(np.float64).tiny)
    return lambda stream: drawn(share, stream)


def _gaussian(X: FloatArray, stream: Stream) -> FloatArray:
    """Normal rows with the mean and covariance of X."""
    n, m = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    centred = X.astype(np.float64) - mean
    out = np.empty((n, m))
    with one_blas_thread():  # the same bytes for any number of threads
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


# What makes data without structure, from the data.
_NULLS: dict[str, Callable[[Table, int, Run], Callable[[Stream], FloatArray]]] = {
    "arms": _arms_null,
    "gaussian": lambda table, k, run: lambda stream: _gaussian(table.values, stream),
    "permutation": lambda table, k, run: lambda stream: _permuted(table.values, stream),
}
