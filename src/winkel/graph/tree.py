"""Minimum spanning trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from .origin import Origin

if TYPE_CHECKING:
    from .graph import Graph


def minimum_spanning_tree(graph: Graph) -> Graph:
    """The spanning tree of least total length, one for each component; weights and lengths are the graph's.

    Edges are ranked by length and, among equals, by position, and the tree of the ranks is found: ranks are
    different and positive, so that ties are settled the same way each time and edges of length zero
    (duplicates) are not mistaken for missing ones.
    """
    from .graph import Graph

    p = graph.n_edges
    order = np.argsort(graph.edge_distances, kind="stable")
    rank = np.empty(p, np.float64)
    rank[order] = np.arange(1, p + 1)
    upper = sp.coo_array((rank, (graph.edges[:, 0], graph.edges[:, 1])), shape=(graph.n, graph.n)).tocsr()
    tree = csgraph.minimum_spanning_tree(upper)
    chosen = np.sort(order[tree.data.astype(np.int64) - 1])
    return Graph.from_edges(
        graph.edges[chosen],
        graph.weights[chosen],
        graph.edge_distances[chosen] if graph.has_distances else None,
        n=graph.n,
        origin=Origin("spanning tree", metric=graph.origin.metric),
    )
