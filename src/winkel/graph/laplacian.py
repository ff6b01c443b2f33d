"""Graph Laplacians."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InvalidInputError
from .graph import Graph


def require_nonnegative_weights(graph: Graph, purpose: str) -> None:
    """Raise when an edge has a negative weight."""
    if graph.n_edges and graph.weights.min() < 0:
        below = np.flatnonzero(graph.weights < 0)
        edge = tuple(graph.edges[below[0]].tolist())
        raise InvalidInputError(
            f"{purpose} needs weights that are not negative; {len(below)} of {graph.n_edges} are, "
            f"first {graph.weights[below[0]]} on edge {edge}. Leave those edges out: "
            "keep = g.weights > 0; Graph.from_edges(g.edges[keep], g.weights[keep], n=g.n)."
        )


def laplacian_parts(graph: Graph, normalized: bool) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """W of the Laplacian diag(d) − W, without stored zeros, and the weighted degrees, in double precision.

    The d that goes with W is the weighted degree, or, if normalized, 1 where there is an edge.
    """
    weights = graph.adjacency.astype(np.float64)
    weights.eliminate_zeros()
    degree = np.asarray(weights.sum(axis=1), np.float64)
    if not normalized:
        return weights, degree
    root = np.sqrt(degree)
    scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    weights.data *= np.repeat(scale, np.diff(weights.indptr)) * scale[weights.indices]
    return weights, degree


def laplacian(graph: Graph, normalized: bool = False) -> sp.csr_array:
    """The Laplacian D − W of the graph's weights, or I − D^(−1/2) W D^(−1/2), as a symmetric CSR matrix.

    Weights must not be negative. A node without edges has an empty row in both.
    """
    require_nonnegative_weights(graph, "the Laplacian")
    weights, degree = laplacian_parts(graph, normalized)
    diagonal = (degree > 0).astype(np.float64) if normalized else degree
    return sp.csr_array(sp.diags_array(diagonal) - weights)
