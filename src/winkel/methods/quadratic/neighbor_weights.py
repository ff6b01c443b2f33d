"""Laplacian embedding and locally linear embedding: weights on the edges of a neighbour graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...algebra import one_blas_thread
from ...checks import flag, positive
from ...data import as_table
from ...errors import DataWarning, InvalidInputError, InvalidParameterError
from ...graph import Graph, neighbor_graph
from ...graph.laplacian import laplacian_parts, require_nonnegative_weights
from ...run import Run
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
    """Laplacian embedding (Laplacian eigenmap): the weights are those of a graph, none negative.

    `to_textbook()` has YᵀY = I, or Yᵀ diag(d) Y = I if normalized. For a graph with several components, the first coordinates
    only separate the components; a DataWarning says so.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Graph
        Rows, from which the exact neighbour graph is made, or a graph.
    n_components : int, default=2
        Dimension of the map.
    normalized : bool, default=False
        Whether the solution is D^(−1/2) times the bottom eigenvectors of D^(−1/2) L D^(−1/2), where d are the weighted degrees. This is the
        same objective under (1/n) Yᵀ diag(d) Y = I, Yᵀd = 0, so that a hub counts as much as its edges. `masses` of the result
        are then d.
    n_neighbors : int, default=15
        Number of neighbours of each row.
    metric : str or callable, default="euclidean"
        The metric of `winkel.graph.knn`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    Quadratic
        The weights and the exact solution.

    Examples
    --------
    >>> import winkel as wk
    >>> cycle = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> square = wk.quadratic.laplacian(cycle).Y  # four corners at the same distance from the centre
    >>> (square**2).sum(axis=1).round(6)
    array([2., 2., 2., 2.])
    """
    run = Run.of(random_state=0, n_jobs=n_jobs)
    graph = X if isinstance(X, Graph) else neighbor_graph(X, n_neighbors, run, metric=metric, method="exact")
    require_nonnegative_weights(graph, "the Laplacian embedding")
    check_components(
        n_components, graph.n - 1, f"there are {graph.n} items and the constant vector is ruled out"
    )
    _warn_if_in_pieces(graph)
    if not flag("normalized", normalized):
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
        found = bottom_of_sparse(weights, np.ones(graph.n), null, n_components, n_jobs=run.n_jobs)
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
    regularization: float = 1e-3,
    graph: Graph | None = None,
    n_jobs: int | None = None,
) -> Quadratic:
    """Locally linear embedding: weights −M_ij of M = (I − W)ᵀ(I − W), where W are the local reconstruction weights.

    Row i of W reconstructs x_i from its nearest rows with the smallest squared error; its weights sum to one.
    `to_textbook()` has YᵀY = I.

    Parameters
    ----------
    X : array, data frame or sparse matrix
        The rows.
    n_components : int, default=2
        Dimension of the map.
    n_neighbors : int, default=15
        Number of rows from which each row is reconstructed.
    regularization : float, default=1e-3
        Added to the diagonal of the local Gram matrix, relative to its trace; without it, the weights are not unique if there are more
        neighbours than dimensions.
    graph : Graph or None, default=None
        The neighbour graph of X with full lists, if it has already been computed.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    Quadratic
        The weights and the exact solution.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> wk.quadratic.lle(digits.X[:300], n_neighbors=25).Y.shape
    (300, 2)
    """
    run = Run.of(random_state=0, n_jobs=n_jobs)
    table = as_table(X)
    n = table.shape[0]
    check_components(n_components, n - 1, f"there are {n} items and the constant vector is ruled out")
    regularization = positive("regularization", regularization)
    if graph is None:
        graph = neighbor_graph(table, n_neighbors, run, method="exact")
    if graph.n != n or graph.knn_indices is None or graph.knn_indices.min() < 0:
        raise InvalidParameterError(
            f"graph must be a neighbour graph of the {n} rows of X with full lists, as winkel.graph.knn makes "
            f"it; got {graph!r}."
        )
    _warn_if_in_pieces(graph)
    tied = _alignment_graph(table.values, graph.knn_indices, regularization)
    found = bottom_of_graph(tied, n_components, semidefinite=True)
    return Quadratic("lle", standardized(found.vectors), found.values, ListedPairs(tied.edges, tied.weights))


def _alignment_graph(X: Any, neighbors: NDArray[np.int32], regularization: float) -> Graph:
    """The graph with weights −M_ij, i < j."""
    n, k = neighbors.shape
    with one_blas_thread():
        W = barycenter_weights(X, neighbors, regularization)
    indptr = np.arange(0, n * k + 1, k)
    A = sp.eye_array(n, format="csr") - sp.csr_array((W.ravel(), neighbors.ravel(), indptr), shape=(n, n))
    M = sp.triu(A.T @ A, k=1).tocoo()
    return Graph.from_edges(np.stack([M.row, M.col], axis=1), -M.data, n=n)


def barycenter_weights(X: Any, neighbors: NDArray[np.int32], regularization: float) -> Matrix:
    """Weights (n × k, with rows that sum to one) that best reconstruct each row from its neighbours."""
    n, k = neighbors.shape
    W = np.empty((n, k))
    step = max(1, _SCRATCH // (k * max(int(X.shape[1]), k)))
    for start in range(0, n, step):
        listed = neighbors[start : start + step]
        if sp.issparse(X):
            own = X[start : start + step].toarray().astype(np.float64)
            others = X[listed.ravel()].toarray().astype(np.float64).reshape(*listed.shape, -1)
        else:
            own, others = X[start : start + step].astype(np.float64), X[listed].astype(np.float64)
        apart = others - own[:, None]
        gram = apart @ apart.transpose(0, 2, 1)
        trace = np.trace(gram, axis1=1, axis2=2)
        # Where all neighbours coincide with the row, any weights do; equal ones come of a unit diagonal.
        gram[:, np.arange(k), np.arange(k)] += regularization * np.where(trace > 0, trace, 1.0)[:, None]
        solved = np.linalg.solve(gram, np.ones((len(listed), k, 1)))[:, :, 0]
        W[start : start + step] = solved / solved.sum(axis=1, keepdims=True)
    return W
