"""Which landmark is nearest: by rows and a metric, by a matrix of distances, or by paths in a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from ...data import Table
from ...graph import Graph, nearest_rows
from ...run import Run
from ...typing import FloatArray

Indices = NDArray[np.int64]
Assignment = tuple[Indices, NDArray[np.float64]]


class Blocks(Protocol):
    """The parts of a family that an assignment needs."""

    @property
    def items(self) -> NDArray[np.int32]:
        """Points, block after block."""

    @property
    def bounds(self) -> Indices:
        """Where each block begins, followed by the end of the last."""

    @property
    def member(self) -> Indices:
        """The entry that represents each point, −1 for none."""


class Nearest(Protocol):
    """Assigns the nearest landmark of its block to every entry."""

    def assign(self, blocks: Blocks, chosen: NDArray[np.bool_]) -> Assignment:
        """The nearest chosen entry, and its distance in the unit of the data; a chosen entry is assigned to itself.

        Entries of a block without chosen entries are also assigned to themselves, and so is an entry from which no chosen entry
        can be reached.
        """


@dataclass(frozen=True, eq=False)
class ByRows:
    """By the rows of the data."""

    table: Table
    metric: str
    run: Run

    def assign(self, blocks: Blocks, chosen: NDArray[np.bool_]) -> Assignment:
        """See `Nearest`."""

        def nearest(others: Indices, marks: Indices) -> Assignment:
            queries, landmarks = (self.table.rows(blocks.items[entries]) for entries in (others, marks))
            found, distance = nearest_rows(queries, landmarks, 1, self.run, metric=self.metric)
            return marks[found[:, 0]], distance[:, 0].astype(np.float64)

        return _block_by_block(blocks, chosen, nearest)


@dataclass(frozen=True, eq=False)
class ByMatrix:
    """By a square matrix of all distances."""

    distances: FloatArray

    def assign(self, blocks: Blocks, chosen: NDArray[np.bool_]) -> Assignment:
        """See `Nearest`."""

        def nearest(others: Indices, marks: Indices) -> Assignment:
            part = self.distances[np.ix_(blocks.items[others], blocks.items[marks])]
            found = np.argmin(part, axis=1)
            return marks[found], part[np.arange(len(others)), found].astype(np.float64)

        return _block_by_block(blocks, chosen, nearest)


def _block_by_block(
    blocks: Blocks, chosen: NDArray[np.bool_], nearest: Callable[[Indices, Indices], Assignment]
) -> Assignment:
    landmark, distance = np.arange(len(blocks.items)), np.zeros(len(blocks.items))
    for begin, end in zip(blocks.bounds[:-1].tolist(), blocks.bounds[1:].tolist()):
        entries = np.arange(begin, end)
        marks, others = entries[chosen[begin:end]], entries[~chosen[begin:end]]
        if len(marks) and len(others):
            landmark[others], distance[others] = nearest(others, marks)
    return landmark, distance


@dataclass(frozen=True, eq=False)
class ByPaths:
    """By shortest paths in a graph, for data with only some known distances.

    A block corresponds to a region of points, those whose representatives are in it. Paths that leave the region
    are not used, so that one search from all landmarks is enough for all blocks.
    """

    graph: Graph

    def assign(self, blocks: Blocks, chosen: NDArray[np.bool_]) -> Assignment:
        """See `Nearest`."""
        block = np.repeat(np.arange(len(blocks.bounds) - 1), np.diff(blocks.bounds))
        region = np.where(blocks.member >= 0, block[blocks.member], -1)
        matrix = self.graph.distances.tocoo()
        inside = (region[matrix.row] == region[matrix.col]) & (region[matrix.row] >= 0)
        # A stored zero is an edge between duplicates, which scipy would take for no edge.
        length = np.maximum(matrix.data[inside].astype(np.float64), np.finfo(np.float64).tiny)
        paths = sp.csr_matrix((length, (matrix.row[inside], matrix.col[inside])), shape=matrix.shape)
        landmark, distance = np.arange(len(blocks.items)), np.zeros(len(blocks.items))
        marks = blocks.items[chosen].astype(np.int64)
        if len(marks) == 0:
            return landmark, distance
        reach, _, nearest = dijkstra(
            paths, directed=True, indices=marks, min_only=True, return_predecessors=True
        )
        entry = np.full(self.graph.n, -1, np.int64)
        entry[blocks.items] = np.arange(len(blocks.items))
        reached = np.isfinite(reach[blocks.items]) & ~chosen
        landmark[reached] = entry[nearest[blocks.items[reached]]]
        distance[reached] = reach[blocks.items[reached]]
        return landmark, distance
