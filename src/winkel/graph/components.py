"""Connected components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .edges import read_only

if TYPE_CHECKING:
    from .graph import Graph


def connected_components(graph: Graph) -> tuple[int, NDArray[np.int32]]:
    """Number of components and the component of each node; by size, the largest is 0, ties by first node."""
    roots, labels, sizes = np.unique(
        _core.component_roots(graph.edges, graph.n), return_inverse=True, return_counts=True
    )
    rank = np.empty(len(roots), np.int32)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(roots), dtype=np.int32)
    return len(roots), read_only(rank[labels])
