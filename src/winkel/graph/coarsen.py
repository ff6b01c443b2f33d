"""Groups of neighbours: a smaller graph of the same shape."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..random import Stream
from ..typing import FloatArray
from .graph import Graph

Entry = TypeVar("Entry", bound=np.generic)


def neighbor_groups(graph: Graph, seed: int) -> NDArray[np.int32]:
    """The group of each node, numbered from 0: a leader and those of its neighbours that are tied to it most strongly.

    Leaders are a maximal independent set (Luby 1986): no two are neighbours, and every other node is the neighbour of one.
    Ties between leaders go to the one of smaller number.
    """
    indptr, columns = graph.adjacency.indptr, graph.adjacency.indices
    leaders = _independent_set(indptr, columns, Stream.named(seed, "leaders").permutation(graph.n))
    weights = np.where(leaders[columns], graph.adjacency.data, -np.inf)
    strongest = np.flatnonzero(weights == np.repeat(_row_max(weights, indptr, -np.inf), np.diff(indptr)))
    rows = np.searchsorted(indptr, strongest, side="right") - 1
    own = np.arange(graph.n)
    own[rows[::-1]] = columns[strongest[::-1]]  # the first of a row is written last
    own[leaders] = np.flatnonzero(leaders)
    return np.unique(own, return_inverse=True)[1].astype(np.int32)


def graph_of_groups(graph: Graph, groups: NDArray[np.int32], weights: FloatArray) -> Graph:
    """The graph whose nodes are the groups, tied by the sum of the `weights` of the edges between their members."""
    ends = groups[graph.edges]
    low, high = np.minimum(ends[:, 0], ends[:, 1]), np.maximum(ends[:, 0], ends[:, 1])
    apart, n = low < high, int(groups.max()) + 1
    ties = sp.coo_array((weights[apart], (low[apart], high[apart])), shape=(n, n)).tocsr().tocoo()
    return Graph.from_edges(np.stack(ties.coords, axis=1), ties.data, n=n)


def _independent_set(
    indptr: NDArray[np.int32], columns: NDArray[np.int32], priority: NDArray[np.int64]
) -> NDArray[np.bool_]:
    chosen, open_ = np.zeros(len(priority), np.bool_), np.ones(len(priority), np.bool_)
    while open_.any():
        standing = np.where(open_, priority, -1).astype(np.int32)
        new = standing > _row_max(standing[columns], indptr, -1)
        new &= open_
        chosen |= new
        open_ &= ~(new | _row_max(new[columns], indptr, False))
    return chosen


def _row_max(values: NDArray[Entry], indptr: NDArray[np.int32], least: float) -> NDArray[Entry]:
    """The largest value of each row, `least` where a row is empty."""
    largest = np.full(len(indptr) - 1, least, dtype=values.dtype)
    some = np.flatnonzero(np.diff(indptr))
    if len(some):
        largest[some] = np.maximum.reduceat(values, indptr[some])
    return largest
