"""Lengths of shortest paths: all, from chosen nodes, or a sample of pairs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInputError, InvalidParameterError
from ..resources import check_memory, parse_memory, resolve_n_jobs, resolve_seed
from ..typing import FloatArray, RandomState
from .graph import Graph

# A sample of pairs comes from at least so many sources, so that it is spread over the graph.
_LEAST_SOURCES = 512
_MOST_WORK = 1e10  # nodes and edges looked at, over all searches
_PILOT_SOURCES = 64
_PAIR_BYTES = 48  # a pair and its length, held twice while sorted, and the order
_SOURCE_STREAM, _THIN_STREAM = 2**63, 2**63 + 1  # streams below are those of the nodes


def _roads(graph: Graph) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    indptr, indices, edge = graph._rows
    if not graph.has_distances:
        return indptr, indices, np.empty(0)
    return indptr, indices, graph.edge_distances[edge].astype(np.float64)


def _check_limit(limit: float | None) -> float:
    if limit is None:
        return math.inf
    if isinstance(limit, bool) or not isinstance(limit, int | float | np.number) or not limit > 0:
        raise InvalidParameterError(
            f"limit, the longest path wanted, must be a positive number; got {limit!r}."
        )
    return float(limit)


def shortest_paths(
    graph: Graph,
    sources: ArrayLike | None = None,
    *,
    limit: float | None = None,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> FloatArray:
    """Lengths of the shortest paths from each source (all nodes if None) to every node, len(sources) × n.

    Infinite where there is no path, or none of length at most `limit`. Lengths are the graph's distances, or
    the number of edges if it has none; the result has their precision.
    """
    chosen = np.arange(graph.n) if sources is None else np.asarray(sources)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise InvalidInputError(
            f"sources must be a vector of node numbers; got dtype {chosen.dtype}, shape {chosen.shape}."
        )
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= graph.n):
        raise InvalidInputError(
            f"sources must lie in [0, {graph.n}); got values from {chosen.min()} to {chosen.max()}."
        )
    dtype = graph.edge_distances.dtype
    check_memory(
        len(chosen) * graph.n * dtype.itemsize,
        parse_memory(max_memory),
        f"the matrix of path lengths from {len(chosen)} nodes to {graph.n}",
        "Give fewer sources, or sample pairs with path_distances(graph, max_pairs=...).",
    )
    out = np.empty((len(chosen), graph.n), dtype)
    jobs, far = resolve_n_jobs(n_jobs), _check_limit(limit)
    _core.path_matrix(*_roads(graph), chosen.astype(np.int32), far, jobs, out)
    return out


def _check_sample(fraction: float | None, max_pairs: int | None) -> tuple[float, float]:
    """The share and the largest number of pairs asked for; 1 and infinity if nothing was said."""
    share, most = 1.0 if fraction is None else fraction, math.inf if max_pairs is None else max_pairs
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < share <= 1:
        raise InvalidParameterError(f"fraction of pairs must lie in (0, 1]; got {fraction!r}.")
    if isinstance(most, bool) or not isinstance(most, int | float | np.number) or not most >= 1:
        raise InvalidParameterError(f"max_pairs must be a number of pairs, at least 1; got {max_pairs!r}.")
    return float(share), float(most)


def _random_nodes(n: int, m: int, seed: int) -> NDArray[np.int32]:
    order = np.argsort(_core.random_bits(seed, _SOURCE_STREAM, 0, n), kind="stable")
    return np.sort(order[:m]).astype(np.int32)


def _count_joined(graph: Graph, far: float, seed: int, n_jobs: int) -> float:
    """Number of pairs with a path: exact without a limit, otherwise estimated from a few searches."""
    if far == math.inf:
        sizes = np.bincount(graph.components()[1]).astype(float)
        return float((sizes * (sizes - 1) / 2).sum())
    few = _random_nodes(graph.n, min(graph.n, _PILOT_SOURCES), seed)
    met = _core.path_pairs(*_roads(graph), few, far, 1.0, seed, n_jobs)[1]
    return len(met) / _covered(graph.n, len(few)) if graph.n > 1 else 0.0


def _covered(n: int, m: int) -> float:
    """Share of all pairs of n nodes that have an end among m of them."""
    return m * (2 * n - m - 1) / (n * (n - 1)) if n > 1 else 1.0


def _choose_sources(graph: Graph, part: float, n_sources: int | None, seed: int) -> NDArray[np.int32]:
    """Nodes to search from when `part` of all paths is wanted."""
    n = graph.n
    if n_sources is None:
        # A sample in which every node is a source is uniform. With few sources the other nodes have pairs with
        # those alone, which shows in a map; so that is done only where searching from all would take too long.
        affordable = int(_MOST_WORK / (n + 2 * graph.n_edges))
        m = n if part >= 1 else min(n, max(_LEAST_SOURCES, math.ceil(part * n), affordable))
    elif (
        isinstance(n_sources, bool) or not isinstance(n_sources, int | np.integer) or not 1 <= n_sources <= n
    ):
        raise InvalidParameterError(f"n_sources must be an integer from 1 to n={n}; got {n_sources!r}.")
    else:
        m = int(n_sources)
    return _random_nodes(n, m, seed)


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
    """Pairs i < j joined by a path of length at most `limit`, in lexicographic order, and the paths' lengths.

    All of them, or a random sample: about `fraction` of them, and never more than `max_pairs`. A sample is
    drawn from the paths that start at `n_sources` random nodes, since searching is what takes time: by
    default from all nodes, or as many as about 10¹⁰ steps of search allow. Pairs without a path are left
    out. No n × n array is made.
    """
    seed, jobs, far = resolve_seed(random_state), resolve_n_jobs(n_jobs), _check_limit(limit)
    part, most = _check_sample(fraction, max_pairs)
    joined = graph.n * (graph.n - 1) / 2
    if most < joined:
        joined = _count_joined(graph, far, seed, jobs)
        part = min(part, most / joined) if joined else 1.0
    sources = _choose_sources(graph, part, n_sources, seed)
    share = min(1.0, part / _covered(graph.n, len(sources)))
    expected = joined * share * _covered(graph.n, len(sources))
    check_memory(
        _PAIR_BYTES * expected,
        parse_memory(max_memory),
        f"a list of about {expected:.0f} path lengths",
        "Give a smaller max_pairs, fraction or limit.",
    )
    if most < math.inf and share < 1.0:
        # The number drawn varies, and may rest on an estimate: draw more than enough, then thin.
        share = min(1.0, share * (1.2 if limit is not None else 1.0 + 4.0 / math.sqrt(max(expected, 1.0))))
    pairs, lengths = _core.path_pairs(*_roads(graph), sources, far, share, seed, jobs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    if len(pairs) > most:
        draws = _core.random_bits(seed, _THIN_STREAM, 0, len(pairs))
        order = order[np.sort(np.argsort(draws, kind="stable")[: int(most)])]
    return pairs[order], lengths[order].astype(graph.edge_distances.dtype)
