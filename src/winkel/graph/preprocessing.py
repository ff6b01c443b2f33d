"""Graphs prepared for an embedding (Agrawal et al. 2021, section 4.3): which pairs are similar, how similar, and which are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..checks import integer, number, positive
from ..data import as_matrix
from ..errors import InvalidInputError
from ..run import Run
from ..typing import RandomState
from .graph import Graph
from .metrics import metric_name, pair_distances
from .origin import Origin

_BLOCK = 512  # rows whose distances to all others are held at a time
_TRIES = 20  # pairs drawn for each that is wanted, before it is said that there are too few


def threshold_graph(X: Any, length: float, *, metric: str = "euclidean", n_jobs: int | None = None) -> Graph:
    """The Graph of all pairs of rows that are closer than `length`, with their distances.

    All pairs are compared, so time grows with n²; memory grows with the number of pairs found.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        Dense rows.
    length : float
        Distance below which two rows are similar.
    metric : str, default="euclidean"
        A metric of `winkel.graph.knn`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    Graph
        The similar pairs, of weight 1.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.graph.threshold_graph([[0.0], [1.0], [3.0]], 1.5).edges.tolist()
    [[0, 1]]
    """
    rows = as_matrix(X, allow_sparse=False)
    positive("length", length)
    name, jobs = metric_name(metric), Run.of(random_state=0, n_jobs=n_jobs).n_jobs
    pairs, distances = [], []
    columns = np.arange(len(rows), dtype=np.int32)
    for start in range(0, len(rows), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(rows)), dtype=np.int32)
        both = np.stack(np.meshgrid(block, columns, indexing="ij"), axis=-1).reshape(-1, 2)
        both = both[both[:, 0] < both[:, 1]]
        found = pair_distances(rows, both, name, jobs) if len(both) else np.empty(0)
        near = found < length
        pairs.append(both[near])
        distances.append(found[near])
    return Graph.from_edges(
        np.concatenate(pairs), distances=np.concatenate(distances), n=len(rows), origin=Origin("edges")
    )


def gaussian_weights(graph: Graph, width: float | None = None) -> Graph:
    """The graph with weights exp(−δ²/σ²) of its distances δ.

    Parameters
    ----------
    graph : Graph
        Pairs with distances, such as those of `winkel.graph.knn`.
    width : float or None, default=None
        σ; None takes the median distance.

    Returns
    -------
    Graph
        The same pairs and distances with the new weights.

    Examples
    --------
    >>> import winkel as wk
    >>> graph = wk.Graph.from_edges([[0, 1], [1, 2]], distances=[1.0, 2.0])
    >>> wk.graph.gaussian_weights(graph, 1.0).weights.round(3).tolist()
    [0.368, 0.018]
    """
    distances = np.asarray(graph.edge_distances, dtype=np.float64)
    if width is None:
        width = float(np.median(distances)) if len(distances) else 1.0
        if width == 0.0:
            raise InvalidInputError("More than half of the distances are zero; give a width above zero.")
    sigma = positive("width", width)
    weights = np.exp(-np.square(distances / sigma))
    return Graph.from_edges(graph.edges, weights=weights, distances=distances, n=graph.n)


def two_hop_graph(graph: Graph, weight: float = 0.5) -> Graph:
    """The graph with additional pairs: those that have a neighbour in common (section 4.3.3).

    Parameters
    ----------
    graph : Graph
        Similar pairs, which keep their weights.
    weight : float, default=0.5
        Weight of a pair that is two steps apart.

    Returns
    -------
    Graph
        Pairs at most two steps apart, without distances.

    Examples
    --------
    >>> import winkel as wk
    >>> chain = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    >>> wk.graph.two_hop_graph(chain).weights.tolist()
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """
    number("weight", weight)
    ones = sp.csr_array((np.ones(2 * graph.n_edges), _both_ways(graph).T), shape=(graph.n, graph.n))
    reached = sp.triu(ones @ ones, 1).tocoo()
    second = np.column_stack([reached.row, reached.col]).astype(np.int64)
    first = graph.edges.astype(np.int64)
    new = second[~np.isin(_keys(second, graph.n), _keys(first, graph.n))]
    return Graph.from_edges(
        np.concatenate([first, new]),
        weights=np.concatenate([np.asarray(graph.weights, np.float64), np.full(len(new), weight)]),
        n=graph.n,
    )


def distant_pairs(
    X: Any,
    graph: Graph,
    n_pairs: int | None = None,
    *,
    quantile: float = 0.5,
    metric: str = "euclidean",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Dissimilar pairs, drawn from pairs of rows that are far from each other: not an edge of the graph, and at a large distance.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        Dense rows.
    graph : Graph
        The similar pairs.
    n_pairs : int or None, default=None
        Number of pairs; None takes as many as there are similar pairs.
    quantile : float, default=0.5
        The pairs are further apart than this share of all pairs, estimated from a sample.
    metric : str, default="euclidean"
        A metric of `winkel.graph.knn`.
    random_state : int, numpy Generator or None, default=None
        The seed.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        Different pairs i < j, sorted.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:100]
    >>> wk.graph.distant_pairs(X, wk.graph.knn(X, 5), 50, random_state=0).shape
    (50, 2)
    """
    rows = as_matrix(X, allow_sparse=False)
    if len(rows) != graph.n:
        raise InvalidInputError(f"X must have the {graph.n} rows of the graph; got {len(rows)}.")
    wanted = graph.n_edges if n_pairs is None else integer("n_pairs", n_pairs, 1, also="None")
    share = number("quantile", quantile, 0.0, 1.0, high_open=True)
    run = Run.of(random_state=random_state, n_jobs=n_jobs)
    every = graph.n * (graph.n - 1) // 2
    drawn = _drawn_pairs(graph.n, min(every, _TRIES * wanted), run)
    distances = pair_distances(rows, drawn, metric_name(metric), run.n_jobs)
    far = distances > np.quantile(distances, share)
    apart = drawn[far & ~np.isin(_keys(drawn, graph.n), _keys(graph.edges, graph.n))].astype(np.int64)
    if len(apart) < wanted:
        raise InvalidInputError(
            f"Only {len(apart)} of the pairs that were drawn are not neighbours and far enough apart for quantile={share:g}, but "
            f"n_pairs={wanted}. Use a smaller n_pairs or a lower quantile."
        )
    chosen = np.sort(run.stream("distant pairs").permutation(len(apart))[:wanted])
    return apart[chosen]


def preference_graph(rankings: ArrayLike) -> Graph:
    """The Graph of pairs of items, with deviations from preferences: how far apart the rankings place them on average (section 4.3.3).

    Parameters
    ----------
    rankings : array of shape (n_rankings, n_items)
        The rank of each item, one ranking per row; NaN for an item that was not ranked.

    Returns
    -------
    Graph
        Pairs of items that appear together in at least one ranking; their distances are mean differences of ranks.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.graph.preference_graph([[1, 2, 3], [2, 1, 3]]).edge_distances.tolist()
    [1.0, 1.5, 1.5]
    """
    ranks = np.asarray(rankings, dtype=np.float64)
    if ranks.ndim != 2 or ranks.shape[1] < 2 or np.isinf(ranks).any():
        raise InvalidInputError(
            f"rankings must be finite ranks, one row for each ranking and one column for each item; got shape {ranks.shape}."
        )
    i, j = np.triu_indices(ranks.shape[1], 1)
    apart = np.abs(ranks[:, i] - ranks[:, j])
    known = ~np.isnan(apart)
    count = known.sum(axis=0)
    mean = np.where(known, apart, 0.0).sum(axis=0) / np.maximum(count, 1)
    kept = count > 0
    if not kept.any():
        raise InvalidInputError("Every ranking has fewer than two items, so there is nothing to compare.")
    return Graph.from_edges(
        np.column_stack([i, j])[kept], distances=mean[kept], n=ranks.shape[1], origin=Origin("edges")
    )


def _both_ways(graph: Graph) -> NDArray[np.int32]:
    return np.concatenate([graph.edges, graph.edges[:, ::-1]])


def _keys(pairs: NDArray[Any], n: int) -> NDArray[np.int64]:
    """A number for each pair i < j."""
    return np.asarray(pairs[:, 0].astype(np.int64) * n + pairs[:, 1])


def _drawn_pairs(n: int, count: int, run: Run) -> NDArray[np.int32]:
    """`count` different pairs i < j of n items, sorted; all pairs if `count` is more than half of them."""
    if 2 * count > n * (n - 1) // 2:
        return np.column_stack(np.triu_indices(n, 1)).astype(np.int32)
    return np.asarray(_core.sample_pairs(n, count, run.seed, np.empty(0, dtype=np.int64), run.n_jobs))
