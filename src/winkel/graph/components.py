"""Connected components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from .edges import read_only

if TYPE_CHECKING:
    from .graph import Graph


def connected_components(graph: Graph) -> tuple[int, NDArray[np.int32]]:
    """Number of components and the component of each node; by size, the largest is 0, ties by first node."""
    indptr, indices, _ = graph._rows
    # Ones instead of weights or lengths: csgraph takes a stored zero for no edge.
    pattern = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(graph.n, graph.n))
    count, found = csgraph.connected_components(pattern, directed=False)
    sizes = np.bincount(found, minlength=count)
    _, first = np.unique(found, return_index=True)
    rank = np.empty(count, np.int32)
    rank[np.lexsort((first, -sizes))] = np.arange(count, dtype=np.int32)
    return int(count), read_only(rank[found])
