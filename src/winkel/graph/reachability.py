"""Robust neighbourhoods: mutual reachability and a spanning tree (LVM, Saul 2020, eqs 22–24)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import _core
from ..errors import InvalidParameterError
from ..resources import resolve_n_jobs
from .graph import Graph, require_neighbor_lists


def neighborhood_graph(graph: Graph, n_steps: int = 1, *, n_jobs: int | None = None) -> Graph:
    """The neighbour graph that keeps j as a neighbour of i where the tie is needed or answered.

    With K the neighbour lists (eq 22), R = K + K² + … + Kˢ the pairs within s = `n_steps` steps (eq 23) and T
    the minimum spanning tree of the symmetrised graph, E_ij = 1 where K_ij (T_ij + R_ij R_ji) > 0 (eq 24).
    Since K_ij = 1 implies R_ij > 0, only the way back from j to i has to be searched, and only s steps deep.

    E has directions, as in the paper: `knn_indices` of the result holds them (−1 where a row kept fewer than
    k), and its `weights` are E + Eᵀ. Each component has its own tree; the paper keeps the largest component
    alone, which is `graph.subgraph(graph.components()[1] == 0)` before this call.
    """
    indices, distances = require_neighbor_lists(graph, "neighborhood_graph")
    if isinstance(n_steps, bool) or not isinstance(n_steps, int | np.integer) or n_steps < 1:
        raise InvalidParameterError(f"n_steps must be a positive integer; got {n_steps!r}.")
    tree = graph.minimum_spanning_tree().edges
    keep = _core.neighborhood_arcs(indices, tree, int(n_steps), resolve_n_jobs(n_jobs)).astype(bool)
    # Kept neighbours move to the front of their row, still nearest first.
    order = np.argsort(~keep, axis=1, kind="stable")
    kept = np.take_along_axis(keep, order, axis=1)
    near = np.where(kept, np.take_along_axis(indices, order, axis=1), np.int32(-1))
    far = np.where(kept, np.take_along_axis(distances, order, axis=1), distances.dtype.type(np.inf))
    note = f"mutual reachability in {n_steps} step{'s' if n_steps > 1 else ''}"
    return Graph.from_knn(near, far, replace(graph.origin, note=note))
