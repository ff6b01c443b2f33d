"""The structure of a graph: components, spanning tree, robust neighbourhoods, groups of neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..checks import integer
from ..run import Run
from ..typing import FloatArray
from .graph import Graph, component_roots, read_only, require_neighbor_lists
from .origin import Origin


def connected_components(graph: Graph) -> tuple[int, NDArray[np.int32]]:
    """Number of components, and the component of each node; 0 is the largest, and ties are ordered by their first node."""
    roots, labels, sizes = np.unique(component_roots(graph), return_inverse=True, return_counts=True)
    rank = np.empty(len(roots), np.int32)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(roots), dtype=np.int32)
    return len(roots), read_only(rank[labels])


def minimum_spanning_tree(graph: Graph) -> Graph:
    """The spanning tree of smallest total length, one for each component, with the weights and lengths of the graph.

    Kruskal's algorithm. Among edges of equal length the first one is taken, so that the result is always the
    same. Edges of length zero (between duplicates) are edges like any other.
    """
    order = np.argsort(graph.edge_distances, kind="stable")
    chosen = np.sort(_core.spanning_forest(graph.edges, order, graph.n))
    return Graph.from_edges(
        graph.edges[chosen],
        graph.weights[chosen],
        graph.edge_distances[chosen] if graph.has_distances else None,
        n=graph.n,
        origin=Origin("spanning tree", metric=graph.origin.metric),
    )


def neighborhood_graph(graph: Graph, n_steps: int = 1, *, n_jobs: int | None = None) -> Graph:
    """The neighbour graph that keeps j as a neighbour of i only if the edge is needed for connection or if a short path leads back.

    With K the neighbour lists (eq 22 of Saul 2020), R = K + K² + … + Kˢ the pairs within s steps (eq 23) and T the
    minimum spanning tree of the symmetrised graph, E_ij = 1 where K_ij (T_ij + R_ij R_ji) > 0 (eq 24).
    Since K_ij = 1 implies R_ij > 0, only paths back from j to i have to be searched, and only s steps deep.

    Each component has its own tree. The paper keeps only the largest component; for this, call
    `graph.subgraph(graph.components()[1] == 0)` first.

    Parameters
    ----------
    graph : Graph
        A neighbour graph, as made by `winkel.graph.knn`.
    n_steps : int, default=1
        The number of steps s within which a path must lead back.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.

    Returns
    -------
    Graph
        E is directed, as in the paper: its entries are in `knn_indices` (−1 for neighbours that a row did not keep), and `weights`
        are E + Eᵀ.

    Examples
    --------
    >>> import winkel as wk
    >>> graph = wk.graph.knn([[0.0], [1.0], [3.0], [7.0]], 2)
    >>> wk.graph.neighborhood_graph(graph).knn_indices
    array([[ 1,  2],
           [ 0,  2],
           [ 1,  0],
           [ 2, -1]], dtype=int32)
    """
    return robust_neighbors(graph, n_steps, Run.of(random_state=0, n_jobs=n_jobs))


def robust_neighbors(graph: Graph, n_steps: int, run: Run) -> Graph:
    """`neighborhood_graph` with a `Run`, for methods."""
    indices, distances = require_neighbor_lists(graph, "neighborhood_graph")
    n_steps = integer("n_steps", n_steps, 1)
    tree = graph.minimum_spanning_tree().edges
    keep = _core.neighborhood_arcs(indices, tree, n_steps, run.n_jobs).astype(bool)
    # Kept neighbours move to the front of their row, still nearest first.
    order = np.argsort(~keep, axis=1, kind="stable")
    kept = np.take_along_axis(keep, order, axis=1)
    indices = np.where(kept, np.take_along_axis(indices, order, axis=1), np.int32(-1))
    missing = distances.dtype.type(np.inf)
    distances = np.where(kept, np.take_along_axis(distances, order, axis=1), missing)
    note = f"mutual reachability in {n_steps} step{'s' if n_steps > 1 else ''}"
    return Graph.from_knn(indices, distances, replace(graph.origin, note=note))


def neighbor_groups(graph: Graph, run: Run) -> NDArray[np.int32]:
    """The group of each node, numbered from 0. A group is a leader and those of its neighbours that are connected to it most strongly.

    Leaders, chosen in random order, are a maximal independent set: no two are neighbours, and every other node is the
    neighbour of a leader. If a node is connected equally strongly to two leaders, it joins the one with the smaller number.
    """
    matrix = graph.adjacency
    order = run.stream("leaders").permutation(graph.n).astype(np.int32)
    return np.asarray(
        _core.neighbor_groups(matrix.indptr, matrix.indices, matrix.data.astype(np.float64), order)
    )


def graph_of_groups(edges: NDArray[np.int32], groups: NDArray[np.int32], weights: FloatArray) -> Graph:
    """The graph whose nodes are the groups; the weight between two groups is the sum of the `weights` of the `edges` between their members."""
    ends = groups[edges]
    low, high = np.minimum(ends[:, 0], ends[:, 1]), np.maximum(ends[:, 0], ends[:, 1])
    apart, n = low < high, int(groups.max()) + 1
    ties = sp.coo_array((weights[apart], (low[apart], high[apart])), shape=(n, n)).tocsr().tocoo()
    return Graph.from_edges(np.stack(ties.coords, axis=1), ties.data, n=n)
