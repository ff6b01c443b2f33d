"""Groups of neighbours: a smaller graph of the same shape."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..random import Stream
from ..typing import FloatArray
from .graph import Graph


def neighbor_groups(graph: Graph, seed: int) -> NDArray[np.int32]:
    """The group of each node, numbered from 0: a leader and those of its neighbours that are tied to it most strongly.

    Leaders, taken in random order, are a maximal independent set: no two are neighbours, and every other node is the
    neighbour of one. Ties between leaders go to the one of smaller number.
    """
    matrix = graph.adjacency
    order = Stream.named(seed, "leaders").permutation(graph.n).astype(np.int32)
    return np.asarray(
        _core.neighbor_groups(matrix.indptr, matrix.indices, matrix.data.astype(np.float64), order)
    )


def graph_of_groups(graph: Graph, groups: NDArray[np.int32], weights: FloatArray) -> Graph:
    """The graph whose nodes are the groups, tied by the sum of the `weights` of the edges between their members."""
    ends = groups[graph.edges]
    low, high = np.minimum(ends[:, 0], ends[:, 1]), np.maximum(ends[:, 0], ends[:, 1])
    apart, n = low < high, int(groups.max()) + 1
    ties = sp.coo_array((weights[apart], (low[apart], high[apart])), shape=(n, n)).tocsr().tocoo()
    return Graph.from_edges(np.stack(ties.coords, axis=1), ties.data, n=n)
