"""Weights of pairs from a neighbour graph: t-SNE's probabilities, UMAP's memberships, LLE's reconstruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ... import _core
from ...errors import InvalidInputError, InvalidParameterError
from ...graph import Graph
from ...typing import FloatArray

Matrix = NDArray[np.float64]

_SCRATCH = 2**23  # numbers in one block of neighbourhoods
_LEAST_SIGMA = 1e-3  # of the mean distance of a row, as in UMAP


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rows of a symmetric sparse matrix of weights without diagonal, as the core reads them."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: FloatArray

    @classmethod
    def of(cls, matrix: Any, dtype: Any) -> Pairs:
        """The entries of `matrix` off the diagonal, zeros left out."""
        S = sp.csr_array(matrix)
        S = S - sp.dia_array((S.diagonal()[None, :], [0]), shape=S.shape)
        S = sp.csr_array(S)
        S.eliminate_zeros()
        S.sort_indices()
        return cls(
            np.ascontiguousarray(S.indptr, dtype=np.int64),
            np.ascontiguousarray(S.indices, dtype=np.int32),
            np.ascontiguousarray(S.data, dtype=dtype),
        )

    @property
    def matrix(self) -> sp.csr_array:
        """The weights as a sparse matrix."""
        n = len(self.indptr) - 1
        return sp.csr_array((self.weights, self.indices, self.indptr), shape=(n, n))


def lists(graph: Graph) -> tuple[NDArray[np.int32], FloatArray]:
    """Indices and distances of the nearest neighbours of a graph."""
    if graph.knn_indices is None or graph.knn_distances is None:
        raise InvalidInputError(
            "this objective needs a graph of nearest neighbours with their distances, as winkel.graph.knn makes; "
            "the graph given has none."
        )
    return graph.knn_indices, graph.knn_distances


def conditional(distances: FloatArray, perplexity: float, n_jobs: int) -> FloatArray:
    """t-SNE's p_{j|i} of listed neighbours, rows of sum one."""
    if not (isinstance(perplexity, int | float | np.number) and 1 <= perplexity < np.inf):
        raise InvalidParameterError(f"perplexity must be a number of at least 1; got {perplexity!r}.")
    return _core.calibrate_perplexity(np.ascontiguousarray(distances), float(perplexity), n_jobs)


def memberships(distances: FloatArray, n_jobs: int) -> FloatArray:
    """UMAP's local fuzzy memberships of listed neighbours: 1 for the nearest, rows of sum log2(k)."""
    target = np.log2(max(distances.shape[1], 2))
    return _core.calibrate_fuzzy(np.ascontiguousarray(distances), float(target), _LEAST_SIGMA, n_jobs)


def rows_of(index: NDArray[np.int32], values: FloatArray, n: int) -> sp.csr_array:
    """The n × n matrix with `values` at the listed neighbours of each row."""
    indptr = np.arange(0, index.size + 1, index.shape[1])
    return sp.csr_array((values.ravel(), index.ravel(), indptr), shape=(len(index), n))


def perplexity_matrix(graph: Graph, perplexity: float, n_jobs: int) -> sp.csr_array:
    """t-SNE's symmetric probabilities p_ij, of sum one."""
    index, distances = lists(graph)
    P = rows_of(index, conditional(distances, perplexity, n_jobs), graph.n)
    return sp.csr_array((P + P.T) * P.dtype.type(0.5 / graph.n))


def fuzzy_matrix(graph: Graph, n_jobs: int) -> sp.csr_array:
    """UMAP's symmetric memberships p + pᵀ − p∘pᵀ, in [0, 1]."""
    index, distances = lists(graph)
    P = rows_of(index, memberships(distances, n_jobs), graph.n)
    return sp.csr_array(P + P.T - P.multiply(P.T))


def reconstruction(X: Any, index: NDArray[np.int32], reg: float, gamma: float | None) -> Matrix:
    """LLE's weights, n × k with rows of sum one, in the space of the linear kernel, or of the RBF kernel when γ is given."""
    n, k = index.shape
    W = np.empty((n, k))
    step = max(1, _SCRATCH // (k * max(int(X.shape[1]), k)))
    for start in range(0, n, step):
        near = index[start : start + step]
        own, others = _dense(X, slice(start, start + step)), _dense(X, near.ravel()).reshape(*near.shape, -1)
        W[start : start + step] = row_weights(own, others, reg, gamma)
    return W


def row_weights(own: Matrix, others: Matrix, reg: float, gamma: float | None) -> Matrix:
    """Weights of sum one that best reconstruct each row of `own` (b × D) from its `others` (b × k × D)."""
    with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
        apart = others - own[:, None]
        G = apart @ apart.transpose(0, 2, 1)
        if gamma is not None:
            square = np.einsum("bjj->bj", G)
            to_own = np.exp(-gamma * square)
            between = np.exp(-gamma * np.maximum(square[:, :, None] + square[:, None, :] - 2 * G, 0))
            G = 1 - to_own[:, :, None] - to_own[:, None, :] + between
        return barycenter(G, reg)


def reconstruction_by_similarity(K: sp.csr_array, index: NDArray[np.int32], reg: float) -> Matrix:
    """LLE's weights in the space of a similarity whose diagonal is one where it has none: sparse, n × n."""
    n, k = index.shape
    W = np.empty((n, k))
    step = max(1, _SCRATCH // (8 * k * k))
    diagonal = K.diagonal()
    S = sp.csr_array(K + sp.dia_array((np.where(diagonal == 0, 1.0, 0.0)[None, :], [0]), shape=K.shape))
    own = S.diagonal()
    for start in range(0, n, step):
        near = index[start : start + step]
        rows = np.arange(start, start + len(near))
        to_own = np.asarray(S[np.repeat(rows, k), near.ravel()]).reshape(near.shape)
        left, right = np.repeat(near, k, axis=1), np.tile(near, (1, k))
        between = np.asarray(S[left.ravel(), right.ravel()]).reshape(-1, k, k)
        W[start : start + step] = barycenter(
            own[rows, None, None] - to_own[:, :, None] - to_own[:, None, :] + between, reg, semidefinite=False
        )
    return W


def barycenter(G: Matrix, reg: float, semidefinite: bool = True) -> Matrix:
    """argmin wᵀGw with Σw = 1 for each of b Gram matrices (b × k × k), made regular by `reg` times their trace.

    Of similarities that are no inner products a Gram matrix may have negative eigenvalues; it is raised until it has none.
    """
    if not (reg > 0 and np.isfinite(reg)):
        raise InvalidParameterError(f"reg must be a positive number; got {reg!r}.")
    k = G.shape[1]
    trace = np.trace(G, axis1=1, axis2=2)
    raised = reg * np.where(trace > 0, trace, 1.0)
    if not semidefinite:
        raised = raised + np.maximum(-np.linalg.eigvalsh(G)[:, 0], 0)
    G = G + raised[:, None, None] * np.eye(k)
    solved = np.linalg.solve(G, np.ones((len(G), k, 1)))[:, :, 0]
    return np.asarray(solved / solved.sum(axis=1, keepdims=True))


def lle_parts(index: NDArray[np.int32], W: Matrix) -> tuple[sp.csr_array, sp.csr_array]:
    """(W + Wᵀ, WᵀW): the attractions and the local repulsions of Lemma 4."""
    S = rows_of(index, W, len(index))
    S.sum_duplicates()
    return sp.csr_array(S + S.T), sp.csr_array(S.T @ S)


def _dense(X: Any, rows: Any) -> Matrix:
    some = X[rows]
    return np.asarray(some.toarray() if sp.issparse(some) else some, dtype=np.float64)
