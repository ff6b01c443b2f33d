"""Minimum spanning trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from .origin import Origin

if TYPE_CHECKING:
    from .graph import Graph


def minimum_spanning_tree(graph: Graph) -> Graph:
    """The spanning tree of least total length, one for each component; weights and lengths are the graph's.

    Kruskal's algorithm; among edges of equal length the first in order is taken, so that ties are settled the
    same way each time. Edges of length zero (between duplicates) are edges like any other.
    """
    from .graph import Graph

    order = np.argsort(graph.edge_distances, kind="stable")
    chosen = np.sort(_core.spanning_forest(graph.edges, order, graph.n))
    return Graph.from_edges(
        graph.edges[chosen],
        graph.weights[chosen],
        graph.edge_distances[chosen] if graph.has_distances else None,
        n=graph.n,
        origin=Origin("spanning tree", metric=graph.origin.metric),
    )
