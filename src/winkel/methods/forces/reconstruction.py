"""LLE's weights: how each row is best reconstructed from its neighbours, in the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...algebra import each_product, each_solution, eigh, exp
from .data_kernels import dense

Matrix = NDArray[np.float64]

SCRATCH = 2**23  # numbers in one block of neighbourhoods


def weights_by_rows(X: Any, index: NDArray[np.int32], regularization: float, gamma: float | None) -> Matrix:
    """The weights of all rows, n × k with rows of sum one, in the space of the linear kernel, or with γ of the RBF."""
    n, k = index.shape
    W = np.empty((n, k))
    step = max(1, SCRATCH // (k * max(int(X.shape[1]), k)))
    for start in range(0, n, step):
        listed = index[start : start + step]
        own, others = dense(X[start : start + step]), dense(X[listed.ravel()]).reshape(*listed.shape, -1)
        W[start : start + step] = weights_of(own, others, regularization, gamma)
    return W


def weights_of(own: Matrix, others: Matrix, regularization: float, gamma: float | None) -> Matrix:
    """Weights of sum one that best reconstruct each row of `own` (b × D) from its `others` (b × k × D)."""
    apart = others - own[:, None]
    G = each_product(apart, apart)
    if gamma is not None:
        square = np.einsum("bjj->bj", G)
        to_own = exp(-gamma * square)
        between = exp(-gamma * np.maximum(square[:, :, None] + square[:, None, :] - 2 * G, 0))
        G = 1 - to_own[:, :, None] - to_own[:, None, :] + between
    return barycenter(G, regularization)


def weights_by_similarity(K: sp.csr_array, index: NDArray[np.int32], regularization: float) -> Matrix:
    """The weights of all rows in the space of a similarity, sparse n × n; its diagonal is one where it has none."""
    n, k = index.shape
    W = np.empty((n, k))
    step = max(1, SCRATCH // (8 * k * k))
    diagonal = K.diagonal()
    S = sp.csr_array(K + sp.dia_array((np.where(diagonal == 0, 1.0, 0.0)[None, :], [0]), shape=K.shape))
    own = S.diagonal()
    for start in range(0, n, step):
        listed = index[start : start + step]
        rows = np.arange(start, start + len(listed))
        to_own = np.asarray(S[np.repeat(rows, k), listed.ravel()]).reshape(listed.shape)
        left, right = np.repeat(listed, k, axis=1), np.tile(listed, (1, k))
        between = np.asarray(S[left.ravel(), right.ravel()]).reshape(-1, k, k)
        W[start : start + step] = weights_of_similar(own[rows], to_own, between, regularization)
    return W


def weights_of_similar(own: Matrix, to_own: Matrix, between: Matrix, regularization: float) -> Matrix:
    """Weights from similarities: of each row with itself (b), with its neighbours (b × k), and between those (b × k × k)."""
    G = own[:, None, None] - to_own[:, :, None] - to_own[:, None, :] + between
    return barycenter(G, regularization, semidefinite=False)


def barycenter(G: Matrix, regularization: float, semidefinite: bool = True) -> Matrix:
    """argmin wᵀGw with Σw = 1 for each of b Gram matrices (b × k × k), made regular by a share of their trace.

    Of similarities that are no inner products a Gram matrix may have negative eigenvalues; it is raised until it has none.
    """
    k = G.shape[1]
    trace = np.trace(G, axis1=1, axis2=2)
    raised = regularization * np.where(trace > 0, trace, 1.0)
    if not semidefinite:
        raised = raised + np.maximum([-eigh(own)[0][0] for own in G], 0)
    G = G + raised[:, None, None] * np.eye(k)
    solved = each_solution(G, np.ones((len(G), k)))
    return np.asarray(solved / solved.sum(axis=1, keepdims=True))
