"""Locally linear weights: each row as a sum of near rows (Saul 2023, eq 14).

    min over w of ‖x − Σ_j w_j x_j‖² + ε Σ_j ‖x_j‖² w_j²

Near means by angle, and the weights need not sum to one: so the origin keeps its meaning, and twice a row has twice its
weights.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...typing import FloatArray, IntArray

Matrix = NDArray[np.float64]

_SCRATCH = 2**19  # numbers in one block of neighbourhoods


def local_weights(
    rows: FloatArray, fitted: FloatArray, index: IntArray, regularization: float, n_jobs: int = 1
) -> Matrix:
    """Weights (n × k) of the fitted rows `index` (n × k), none of them zero, that make up each row.

    Every row is solved by itself, so that its weights do not depend on the others.
    """
    n, k = index.shape
    weights = np.empty((n, k))
    step = max(1, _SCRATCH // (k * max(int(fitted.shape[1]), k)))

    def solve(start: int) -> None:
        near = fitted[index[start : start + step]].astype(np.float64)
        own = rows[start : start + step].astype(np.float64)
        gram = near @ near.transpose(0, 2, 1)
        diagonal = np.arange(k)
        gram[:, diagonal, diagonal] *= 1.0 + regularization
        right = near @ own[:, :, None]
        weights[start : start + step] = np.linalg.solve(gram, right)[:, :, 0]

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(solve, range(0, n, step)))
    return weights


def combine(weights: Matrix, Y: FloatArray, index: IntArray) -> Matrix:
    """Σ_j w_j y_j for each row, by itself."""
    return np.asarray(as_sparse(weights, index, len(Y)) @ Y.astype(np.float64))


def as_sparse(weights: Matrix, index: IntArray, n_fitted: int) -> sp.csr_matrix:
    """The weights as a matrix with a column for each fitted row."""
    n, k = index.shape
    starts = np.arange(0, n * k + 1, k)
    return sp.csr_matrix((weights.ravel(), index.ravel(), starts), shape=(n, n_fitted))
