"""Methods with which TSM is compared: linear projections, and Isomap on the same similar pairs (Saul 2023, eq 10, appendix B)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ...algebra import largest_eigenvectors, largest_of_operator
from ...checks import integer, number
from ...data import as_matrix
from ...graph import Graph
from ...run import Run
from ...typing import FloatArray
from ..quadratic import isomap
from ..rows import Rows, product, products_of_rows, row_norms, turned_product
from .factors import Matrix
from .similarity import similar_pairs

_BLOCK = 8192  # rows multiplied at a time
_SMALL = 3000  # of the smaller side; beyond it a few singular vectors are found by iteration


def svd_map(X: Any, n_components: int) -> FloatArray:
    """Rows projected onto their leading singular vectors, without centring (eq 10).

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The rows.
    n_components : int
        Dimension of the map; columns beyond the rank are zero.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        The projections, in the precision of X.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.tsm import svd_map
    >>> svd_map(wk.datasets.load_digits().X, 8).shape
    (1797, 8)
    """
    return svd_projections(as_matrix(X), integer("n_components", n_components, 1))


def svd_projections(X: Rows, n_components: int) -> FloatArray:
    """`svd_map` of validated rows."""
    n, m = X.shape
    d = min(n_components, n, m)
    if min(n, m) > _SMALL and d < min(n, m) // 4:
        axes = largest_of_operator(lambda block: turned_product(X, product(X, block)), m, d)[1]
    elif m <= n:
        axes = largest_eigenvectors(_products_of_columns(X), d)[1]
    else:
        square, sides = largest_eigenvectors(products_of_rows(X, X), d)
        Y = sides * np.sqrt(np.maximum(square, 0.0))
        return np.pad(Y, ((0, 0), (0, n_components - d))).astype(X.dtype)
    Y = np.concatenate([product(X[i : i + _BLOCK], axes) for i in range(0, n, _BLOCK)])
    return np.pad(Y, ((0, 0), (0, n_components - d))).astype(X.dtype)


def _products_of_columns(X: Rows) -> Matrix:
    return np.asarray((X.T.astype(np.float64) @ X).toarray() if issparse(X) else turned_product(X, X))


def similarity_graph(
    X: Any, threshold: float, *, n_jobs: int | None = None, max_memory: int | float | str | None = None
) -> Graph:
    """The Graph of pairs of rows with a cosine above a threshold.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The rows.
    threshold : float
        The cosine above which rows are similar.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.
    max_memory : int, str or None, default=None
        Largest amount of memory for the pairs, in bytes or as text such as "4GB".

    Returns
    -------
    Graph
        The graph; its distances are those between rows scaled to unit norm.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.tsm import similarity_graph
    >>> similarity_graph([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]], 0.9).n_edges
    1
    """
    values = as_matrix(X)
    number("threshold", threshold, -1.0, 1.0)
    run = Run.of(random_state=0, n_jobs=n_jobs, max_memory=max_memory)
    i, j, cosine = similar_pairs(values, row_norms(values), threshold, run)
    distance = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * cosine.astype(np.float64)))
    return Graph.from_edges(np.column_stack([i, j]), n=values.shape[0], distances=distance)


def isomap_map(
    X: Any,
    n_components: int,
    threshold: float,
    *,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> Matrix:
    """Isomap on the pairs with a cosine above a threshold, with the distances between rows scaled to unit norm (appendix B).

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        Dense rows; the graph of their similar pairs must be connected.
    n_components : int
        Dimension of the map.
    threshold : float
        The cosine above which rows are similar.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB"; all path lengths (n × n) are held in memory.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        The map.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.methods.tsm import isomap_map
    >>> angle = np.linspace(0, 1, 20)
    >>> isomap_map(np.column_stack([np.cos(angle), np.sin(angle)]), 1, 0.99).shape
    (20, 1)
    """
    graph = similarity_graph(X, threshold, n_jobs=n_jobs, max_memory=max_memory)
    return isomap(graph, n_components, n_jobs=n_jobs, max_memory=max_memory).to_textbook()
