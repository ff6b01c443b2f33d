"""Lengths of shortest paths: all, from chosen nodes, or a sample of pairs.

`path_matrix` and `sample_paths` are `shortest_paths` and `path_distances` with a `Run`, for methods.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..checks import integer, number, optional
from ..errors import InvalidInputError
from ..run import Run
from ..typing import FloatArray, RandomState
from .graph import Graph

# A sample of pairs comes from at least this number of sources, so that it is spread over the graph.
_LEAST_SOURCES = 512
_MOST_WORK = 1e10  # nodes and edges looked at, over all searches
_PILOT_SOURCES = 64
_PAIR_BYTES = 48  # a pair and its length, held twice while sorted, and the order
_SOURCE_STREAM, _THIN_STREAM = 2**63, 2**63 + 1  # streams below are those of the nodes


def shortest_paths(
    graph: Graph,
    sources: ArrayLike | None = None,
    *,
    limit: float | None = None,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> FloatArray:
    """The lengths of the shortest paths from each source to every node.

    Parameters
    ----------
    graph : Graph
        The graph. Lengths are its distances, or the number of edges if it has none.
    sources : array of int or None, default=None
        Nodes to start from; None starts from all.
    limit : float or None, default=None
        Largest length of a path.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.
    max_memory : int, str or None, default=None
        Memory that the result may use, in bytes or as text such as "4GB".

    Returns
    -------
    ndarray of shape (n_sources, n)
        The lengths, in the precision of the graph's distances; infinite if there is no path of length at most `limit`.

    Examples
    --------
    >>> import winkel as wk
    >>> road = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]], distances=[1.0, 2.0, 4.0])
    >>> wk.graph.shortest_paths(road, [0], limit=5)
    array([[ 0.,  1.,  3., inf]])
    """
    return path_matrix(graph, Run.of(random_state=0, n_jobs=n_jobs, max_memory=max_memory), sources, limit)


def path_matrix(
    graph: Graph, run: Run, sources: ArrayLike | None = None, limit: float | None = None
) -> FloatArray:
    """`shortest_paths` with a `Run`, for methods."""
    chosen = np.arange(graph.n) if sources is None else np.asarray(sources)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise InvalidInputError(
            f"sources must be a vector of node numbers; got dtype {chosen.dtype}, shape {chosen.shape}."
        )
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= graph.n):
        raise InvalidInputError(
            f"sources must lie in [0, {graph.n}); got values from {chosen.min()} to {chosen.max()}."
        )
    longest = _longest(limit)
    dtype = graph.edge_distances.dtype
    run.check_memory(
        len(chosen) * graph.n * dtype.itemsize,
        f"the matrix of path lengths from {len(chosen)} nodes to {graph.n}",
        "Give fewer sources, or sample pairs with path_distances(graph, max_pairs=...).",
    )
    out = np.empty((len(chosen), graph.n), dtype)
    _core.path_matrix(*_roads(graph), chosen.astype(np.int32), longest, run.n_jobs, out)
    return out


def path_distances(
    graph: Graph,
    *,
    fraction: float | None = None,
    max_pairs: int | None = None,
    limit: float | None = None,
    n_sources: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> tuple[NDArray[np.int32], FloatArray]:
    """Pairs that are joined by a path, all of them or a random sample, and the lengths of the paths.

    A sample is drawn from the paths that start at `n_sources` random nodes, because most of the time goes into the search from each node. No
    n × n array is made.

    Parameters
    ----------
    graph : Graph
        The graph. Lengths are its distances, or the number of edges if it has none.
    fraction : float or None, default=None
        Return about this share of the pairs, in (0, 1]; None takes all.
    max_pairs : int or None, default=None
        Largest number of pairs.
    limit : float or None, default=None
        Largest length of a path.
    n_sources : int or None, default=None
        Number of nodes to start from; None starts from all, or from as many as about 10¹⁰ steps of search allow.
    random_state : int, numpy Generator or None, default=None
        The seed of the sample. The same seed gives the same bytes for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.
    max_memory : int, str or None, default=None
        Memory that the list may use, in bytes or as text such as "4GB".

    Returns
    -------
    pairs : ndarray of shape (p, 2)
        Pairs i < j that are joined by a path of length at most `limit`, in lexicographic order.
    lengths : ndarray of shape (p,)
        Lengths of the paths.

    Examples
    --------
    >>> import winkel as wk
    >>> road = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]], distances=[1.0, 2.0, 4.0])
    >>> pairs, lengths = wk.graph.path_distances(road, limit=6)
    >>> pairs.tolist(), lengths.tolist()
    ([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]], [1.0, 3.0, 2.0, 6.0, 4.0])
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs, max_memory=max_memory)
    return sample_paths(graph, run, fraction=fraction, max_pairs=max_pairs, limit=limit, n_sources=n_sources)


def sample_paths(
    graph: Graph,
    run: Run,
    *,
    fraction: float | None = None,
    max_pairs: int | None = None,
    limit: float | None = None,
    n_sources: int | None = None,
) -> tuple[NDArray[np.int32], FloatArray]:
    """`path_distances` with a `Run`, for methods."""
    part = 1.0 if fraction is None else number("fraction", fraction, 0.0, 1.0, low_open=True)
    most = math.inf if max_pairs is None else number("max_pairs", max_pairs, 1)
    n_sources, longest = optional(integer, "n_sources", n_sources, 1, graph.n), _longest(limit)
    joined = graph.n * (graph.n - 1) / 2
    if most < joined:
        joined = _count_joined(graph, longest, run)
        part = min(part, most / joined) if joined else 1.0
    sources = _random_nodes(graph.n, n_sources or _enough_sources(graph, part), run.seed)
    share = min(1.0, part / _covered(graph.n, len(sources)))
    expected = joined * share * _covered(graph.n, len(sources))
    run.check_memory(
        _PAIR_BYTES * expected,
        f"a list of about {expected:.0f} path lengths",
        "Give a smaller max_pairs, fraction or limit.",
    )
    if most < math.inf and share < 1.0:
        # The number drawn varies, and may rest on an estimate: draw more than enough, then thin.
        share = min(1.0, share * (1.2 if limit is not None else 1.0 + 4.0 / math.sqrt(max(expected, 1.0))))
    pairs, lengths = _core.path_pairs(*_roads(graph), sources, longest, share, run.seed, run.n_jobs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    if len(pairs) > most:
        draws = _core.random_bits(run.seed, _THIN_STREAM, 0, len(pairs))
        order = order[np.sort(np.argsort(draws, kind="stable")[: int(most)])]
    return pairs[order], lengths[order].astype(graph.edge_distances.dtype)


def _roads(graph: Graph) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    indptr, indices, edge = graph._rows
    if not graph.has_distances:
        return indptr, indices, np.empty(0)
    return indptr, indices, graph.edge_distances[edge].astype(np.float64)


def _longest(limit: float | None) -> float:
    """The largest allowed length of a path."""
    if limit is None or (isinstance(limit, float) and limit == math.inf):
        return math.inf
    return number("limit", limit, 0.0, low_open=True)


def _random_nodes(n: int, m: int, seed: int) -> NDArray[np.int32]:
    order = np.argsort(_core.random_bits(seed, _SOURCE_STREAM, 0, n), kind="stable")
    return np.sort(order[:m]).astype(np.int32)


def _count_joined(graph: Graph, longest: float, run: Run) -> float:
    """Number of pairs with a path: exact without a limit, otherwise estimated from a few searches."""
    if longest == math.inf:
        sizes = np.bincount(graph.components()[1]).astype(float)
        return float((sizes * (sizes - 1) / 2).sum())
    few = _random_nodes(graph.n, min(graph.n, _PILOT_SOURCES), run.seed)
    lengths = _core.path_pairs(*_roads(graph), few, longest, 1.0, run.seed, run.n_jobs)[1]
    return len(lengths) / _covered(graph.n, len(few)) if graph.n > 1 else 0.0


def _covered(n: int, m: int) -> float:
    """Share of all pairs of n nodes that have at least one end among m given nodes."""
    return m * (2 * n - m - 1) / (n * (n - 1)) if n > 1 else 1.0


def _enough_sources(graph: Graph, part: float) -> int:
    """Number of nodes to search from, if the share `part` of all paths is requested.

    A sample in which every node is a source is uniform. With few sources, the other nodes only have pairs with these sources,
    which is visible in a map. So few sources are only used if a search from all nodes would take too long.
    """
    n = graph.n
    affordable = int(_MOST_WORK / (n + 2 * graph.n_edges))
    return n if part >= 1 else min(n, max(_LEAST_SOURCES, math.ceil(part * n), affordable))
