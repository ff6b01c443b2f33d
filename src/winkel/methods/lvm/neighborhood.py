"""Which items are similar, and on what length scale (Saul 2020, eqs 22–24, 44–45)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph, neighborhood_graph
from ...run import Run

CALIBRATION = math.sqrt(
    2 * math.log(2)
)  # at the distance δ·CALIBRATION two points coincide with chance one half
LEAST = 1e-3  # shortest length scale, in units of the typical one: duplicates are at distance zero

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Arcs i → j of similar items with their lengths; `widest` is the longest at each item.

    Lengths are in the model's own unit, the median arc, which is `unit` in the unit of the data. Rows without an arc
    (possible only because of ties between equal distances, or with given lists) use the arcs that point at them, or else 1.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    length: Vector
    widest: Vector
    unit: float

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.widest)

    @property
    def squares(self) -> Vector:
        """δ² of each arc (eq 44)."""
        return squared_scale(self.length)

    @property
    def reach(self) -> Vector:
        """Δ of each item (eq 45)."""
        return np.sqrt(squared_scale(self.widest))


def squared_scale(length: Vector) -> Vector:
    """The squared length scale for distances in the model's unit, kept above zero."""
    floored: Vector = np.maximum(length, LEAST)
    return np.square(floored / CALIBRATION)


def find_neighborhood(graph: Graph, n_steps: int, run: Run) -> Neighborhood:
    """The similar pairs of a neighbour graph by mutual reachability, or all edges of another graph, both ways."""
    if graph.knn_indices is None:
        source, target = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
        length = np.tile(graph.edge_distances, 2).astype(np.float64)
    else:
        kept = neighborhood_graph(graph, n_steps, n_jobs=run.n_jobs)
        lists, distances = kept.knn_indices, kept.knn_distances
        assert lists is not None
        assert distances is not None
        there = lists >= 0
        source = np.repeat(np.arange(graph.n, dtype=np.int32), there.sum(axis=1))
        target, length = lists[there], distances[there].astype(np.float64)
    positive = length[length > 0]
    unit = float(np.median(positive)) if len(positive) else 1.0
    length /= unit
    widest = np.zeros(graph.n)
    np.maximum.at(widest, source, length)
    bare = np.bincount(source, minlength=graph.n) == 0
    if bare.any():
        pointed = np.zeros(graph.n)
        np.maximum.at(pointed, target, length)
        reached = np.bincount(target, minlength=graph.n) > 0
        widest[bare] = np.where(reached, pointed, 1.0)[bare]
    return Neighborhood(np.ascontiguousarray(source), np.ascontiguousarray(target), length, widest, unit)
