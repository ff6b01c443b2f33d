"""Graphs: who is near whom.

`Graph` is the immutable result that the later stages read; everything else here makes one or reads one.

    X ── knn ──┐                         ┌─ components, minimum_spanning_tree
    edges      ├─> Graph ── C++ rows ──> ├─ neighborhood_graph (mutual reachability, LVM eqs 22–24)
    matrices  ─┘                         ├─ shortest_paths, path_distances
                                         └─ laplacian, spectral_embedding
"""

from .graph import Graph
from .knn import knn, knn_query, nearest_rows, neighbor_graph
from .laplacian import laplacian
from .origin import Origin, Recall
from .paths import path_distances, shortest_paths
from .spectral_layout import spectral_embedding
from .structure import neighborhood_graph

__all__ = [
    "Graph",
    "Origin",
    "Recall",
    "knn",
    "knn_query",
    "laplacian",
    "nearest_rows",
    "neighbor_graph",
    "neighborhood_graph",
    "path_distances",
    "shortest_paths",
    "spectral_embedding",
]
