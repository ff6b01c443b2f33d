"""What TSM is compared with: linear projections, and Isomap on the same similar pairs (Saul 2023, eq 10, appendix B)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...data import as_matrix
from ...errors import InvalidParameterError
from ...graph import Graph
from ...resources import parse_memory, resolve_n_jobs
from ...typing import FloatArray
from ..quadratic import isomap
from .similarity import row_norms, similar_pairs

Matrix = NDArray[np.float64]

_BLOCK = 8192  # rows multiplied at a time
_SMALL = 3000  # of the smaller side; beyond it a few singular vectors are found by iteration


def svd_map(X: Any, n_components: int) -> FloatArray:
    """Rows projected on their leading singular vectors, without centring (eq 10); further columns are zero."""
    values = as_matrix(X, allow_sparse=False)
    n, m = values.shape
    d = min(int(n_components), n, m)
    if d < 1:
        raise InvalidParameterError(f"n_components must be a positive integer; got {n_components!r}.")
    with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
        if min(n, m) > _SMALL and d < min(n, m) // 4:
            from scipy.sparse.linalg import svds

            _, _, axes = svds(values.astype(np.float64), k=d, v0=np.ones(min(n, m)))
            axes = axes[::-1]
        elif m <= n:
            axes = np.linalg.eigh(_gram(values))[1][:, ::-1].T[:d]
        else:
            square, sides = np.linalg.eigh(values.astype(np.float64) @ values.T.astype(np.float64))
            Y = sides[:, ::-1][:, :d] * np.sqrt(np.maximum(square[::-1][:d], 0.0))
            return np.pad(Y, ((0, 0), (0, int(n_components) - d))).astype(values.dtype)
        Y = np.concatenate([values[i : i + _BLOCK].astype(np.float64) @ axes.T for i in range(0, n, _BLOCK)])
    return np.pad(Y, ((0, 0), (0, int(n_components) - d))).astype(values.dtype)


def _gram(X: FloatArray) -> Matrix:
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), _BLOCK):
        some = X[start : start + _BLOCK].astype(np.float64)
        total += some.T @ some
    return total


def similarity_graph(
    X: Any, threshold: float, *, n_jobs: int | None = None, max_memory: int | float | str | None = None
) -> Graph:
    """The Graph of pairs of rows with a cosine above `threshold`, with the distances between them in unit norm."""
    values = as_matrix(X, allow_sparse=False)
    i, j, cosine = similar_pairs(
        values, row_norms(values), threshold, n_jobs=resolve_n_jobs(n_jobs), limit=parse_memory(max_memory)
    )
    distance = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * cosine.astype(np.float64)))
    return Graph.from_edges(np.column_stack([i, j]), n=len(values), distances=distance)


def isomap_map(
    X: Any,
    n_components: int,
    threshold: float,
    *,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> Matrix:
    """Isomap on the pairs with a cosine above `threshold`, by the distances of rows in unit norm (appendix B).

    The graph of those pairs must be connected, and all path lengths (n × n) are held.
    """
    graph = similarity_graph(X, threshold, n_jobs=n_jobs, max_memory=max_memory)
    return isomap(graph, n_components, n_jobs=n_jobs, max_memory=max_memory).to_textbook()
