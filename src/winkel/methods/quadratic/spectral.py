"""Laplacian embedding and locally linear embedding: weights on the edges of a neighbour graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...data import as_matrix
from ...errors import DataWarning, InvalidInputError, InvalidParameterError
from ...graph import Graph, knn
from ...graph.laplacian import laplacian_parts, require_nonnegative_weights
from ...solvers.eigen import bottom_of_graph, bottom_of_sparse, check_components, standardized
from ...typing import Metric
from .result import ListedPairs, Quadratic

Matrix = NDArray[np.float64]

_SCRATCH = 2**24  # numbers in one block of neighbourhoods


def laplacian(
    X: Any,
    n_components: int = 2,
    *,
    normalized: bool = False,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> Quadratic:
    """Laplacian embedding (Laplacian eigenmap): the weights of a graph, none negative.

    `X` is a Graph, or data, from which the exact graph of `n_neighbors` is made. With `normalized` the
    solution is D^(−1/2) times the bottom eigenvectors of D^(−1/2) L D^(−1/2), d the weighted degrees: the same
    objective under (1/n) Yᵀ diag(d) Y = I, Yᵀd = 0, in which a hub counts as much as its edges. The result's
    `masses` are then d. `to_textbook()` has YᵀY = I, or Yᵀ diag(d) Y = I.

    Of a graph in pieces the first coordinates only tell the components apart, which a DataWarning says.
    """
    graph = X if isinstance(X, Graph) else knn(X, n_neighbors, metric=metric, method="exact", n_jobs=n_jobs)
    require_nonnegative_weights(graph, "the Laplacian embedding")
    check_components(
        n_components, graph.n - 1, f"there are {graph.n} items and the constant vector is ruled out"
    )
    _warn_if_in_pieces(graph)
    if not normalized:
        found = bottom_of_graph(graph, n_components)
        Y, masses = standardized(found.vectors), None
    else:
        masses = np.asarray(graph.adjacency.sum(axis=1), np.float64)
        if masses.min() <= 0:
            raise InvalidInputError(
                f"the normalised Laplacian needs an edge at every item; {int((masses <= 0).sum())} have none, "
                f"first {int(np.argmin(masses))}. Leave them out with graph.subgraph(...), or normalized=False."
            )
        weights, _ = laplacian_parts(graph, normalized=True)
        null = np.sqrt(masses / masses.sum())
        found = bottom_of_sparse(weights, np.ones(graph.n), null, n_components, n_jobs=n_jobs)
        Y = found.vectors * np.sqrt(graph.n / masses)[:, None]
    return Quadratic("laplacian", Y, found.values, ListedPairs(graph.edges, graph.weights), masses)


def _warn_if_in_pieces(graph: Graph) -> None:
    count, labels = graph.components()
    if count > 1:
        warnings.warn(
            f"the graph has {count} components (the largest of {np.bincount(labels)[0]} of {graph.n} items): "
            f"the first {count - 1} coordinates of the exact solution only tell them apart. "
            "A larger n_neighbors may join them.",
            DataWarning,
            stacklevel=3,
        )


def lle(
    X: Any,
    n_components: int = 2,
    *,
    n_neighbors: int = 15,
    reg: float = 1e-3,
    graph: Graph | None = None,
    n_jobs: int | None = None,
) -> Quadratic:
    """Locally linear embedding: weights −M_ij of M = (I − W)ᵀ(I − W), W the local reconstruction weights.

    Row i of W reconstructs x_i from its `n_neighbors` nearest rows, weights summing to one, of least squared
    error. The local Gram matrix has `reg` times its trace added to its diagonal, without which more neighbours
    than dimensions have no unique weights. `graph` gives the neighbour lists, if they are there already.
    `to_textbook()` has YᵀY = I.
    """
    values = as_matrix(X)
    n = int(values.shape[0])
    check_components(n_components, n - 1, f"there are {n} items and the constant vector is ruled out")
    if isinstance(reg, bool) or not isinstance(reg, int | float | np.number) or not 0 < reg < np.inf:
        raise InvalidParameterError(f"reg must be a positive number; got {reg!r}.")
    if graph is None:
        graph = knn(values, n_neighbors, method="exact", n_jobs=n_jobs)
    if graph.n != n or graph.knn_indices is None or graph.knn_indices.min() < 0:
        raise InvalidParameterError(
            f"graph must be a neighbour graph of the {n} rows of X with full lists, as winkel.graph.knn makes "
            f"it; got {graph!r}."
        )
    _warn_if_in_pieces(graph)
    tied = _alignment_graph(values, graph.knn_indices, float(reg))
    found = bottom_of_graph(tied, n_components, semidefinite=True)
    return Quadratic("lle", standardized(found.vectors), found.values, ListedPairs(tied.edges, tied.weights))


def _alignment_graph(X: Any, neighbors: NDArray[np.int32], reg: float) -> Graph:
    """The graph with weights −M_ij, i < j."""
    n, k = neighbors.shape
    with threadpool_limits(1, user_api="blas"):
        W = barycenter_weights(X, neighbors, reg)
    indptr = np.arange(0, n * k + 1, k)
    A = sp.eye_array(n, format="csr") - sp.csr_array((W.ravel(), neighbors.ravel(), indptr), shape=(n, n))
    M = sp.triu(A.T @ A, k=1).tocoo()
    return Graph.from_edges(np.stack([M.row, M.col], axis=1), -M.data, n=n)


def barycenter_weights(X: Any, neighbors: NDArray[np.int32], reg: float) -> Matrix:
    """Weights, n × k with rows of sum one, that best reconstruct each row from its neighbours."""
    n, k = neighbors.shape
    W = np.empty((n, k))
    step = max(1, _SCRATCH // (k * max(int(X.shape[1]), k)))
    for start in range(0, n, step):
        near = neighbors[start : start + step]
        if sp.issparse(X):
            own = X[start : start + step].toarray().astype(np.float64)
            others = X[near.ravel()].toarray().astype(np.float64).reshape(*near.shape, -1)
        else:
            own, others = X[start : start + step].astype(np.float64), X[near].astype(np.float64)
        apart = others - own[:, None]
        gram = apart @ apart.transpose(0, 2, 1)
        trace = np.trace(gram, axis1=1, axis2=2)
        # Where all neighbours coincide with the row, any weights do; equal ones come of a unit diagonal.
        gram[:, np.arange(k), np.arange(k)] += reg * np.where(trace > 0, trace, 1.0)[:, None]
        solved = np.linalg.solve(gram, np.ones((len(near), k, 1)))[:, :, 0]
        W[start : start + step] = solved / solved.sum(axis=1, keepdims=True)
    return W
