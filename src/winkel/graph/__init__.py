"""Graphs: which rows are neighbours.

`Graph` is the immutable object that the later stages read; everything else here makes a graph or reads one.

    X ── knn ──┐                         ┌─ structure: components, spanning tree, neighborhood_graph (LVM eqs 22–24)
    edges      ├─> Graph ── C++ rows ──> ├─ paths: shortest_paths, path_distances
    matrices  ─┘                         └─ laplacian, spectral_layout: spectral_embedding

    graph.py  edges.py  origin.py             the Graph, checks of its input, how it was made
    combining.py                              one graph from several
    preprocessing.py                          which pairs are similar, how similar, and which are not (MDE, section 4.3)
    knn.py ── metrics.py, search.py, precomputed.py      neighbours from rows, from distances, by a function

A public function reads its parameters into a `Run`. The internal versions, which methods call, take a `Run`: `neighbor_graph` (knn), `nearest_rows`
(knn_query), `robust_neighbors` (neighborhood_graph), `path_matrix` (shortest_paths), `sample_paths` (path_distances),
`spectral_coordinates` (spectral_embedding).
"""

from .combining import combine
from .graph import Graph
from .knn import knn, knn_query
from .knn import nearest_rows as nearest_rows
from .knn import neighbor_graph as neighbor_graph
from .laplacian import laplacian
from .origin import Origin, Recall
from .paths import path_distances, shortest_paths
from .paths import path_matrix as path_matrix
from .paths import sample_paths as sample_paths
from .preprocessing import (
    distant_pairs,
    gaussian_weights,
    preference_graph,
    threshold_graph,
    two_hop_graph,
)
from .spectral_layout import spectral_coordinates as spectral_coordinates
from .spectral_layout import spectral_embedding
from .structure import neighborhood_graph
from .structure import robust_neighbors as robust_neighbors

__all__ = [
    "Graph",
    "Origin",
    "Recall",
    "combine",
    "distant_pairs",
    "gaussian_weights",
    "knn",
    "knn_query",
    "laplacian",
    "neighborhood_graph",
    "path_distances",
    "preference_graph",
    "shortest_paths",
    "spectral_embedding",
    "threshold_graph",
    "two_hop_graph",
]
