"""The map that every other is held against: principal components, in as many dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..data.arrays import row_blocks
from ..typing import FloatArray

_DENSE_UP_TO = 1500  # columns (or rows, if fewer) whose product is decomposed as a whole


def principal_map(X: Any, n_components: int) -> FloatArray:
    """The rows' coordinates along the directions of largest variance, zeros beyond the rank."""
    n, m = X.shape
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
        if min(n, m) > _DENSE_UP_TO or sp.issparse(X):
            directions = _by_iteration(X, mean, min(n_components, min(n, m) - 1))
        elif m <= n:
            directions = np.linalg.eigh(_covariance(X, mean))[1][:, ::-1][:, :n_components]
        else:
            centred = X.astype(np.float64) - mean
            values, vectors = np.linalg.eigh(centred @ centred.T)
            Y = vectors * np.sqrt(np.maximum(values, 0))
            return _padded(Y[:, ::-1][:, :n_components], n_components)
        return _padded(np.asarray(X @ directions) - mean @ directions, n_components)


def _covariance(X: FloatArray, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros((X.shape[1], X.shape[1]))
    middle = mean.astype(X.dtype)
    for _, block in row_blocks(X):
        centred = block - middle
        total += centred.T @ centred
    return total


def _by_iteration(X: Any, mean: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    from scipy.sparse.linalg import LinearOperator, svds

    if count < 1:
        return np.zeros((X.shape[1], 0))
    operator = LinearOperator(
        X.shape,
        matvec=lambda v: np.asarray(X @ v.ravel()).ravel() - mean @ v.ravel(),
        rmatvec=lambda u: np.asarray(X.T @ u.ravel()).ravel() - mean * u.sum(),
        dtype=np.float64,
    )
    start = np.random.Generator(np.random.Philox(key=0)).normal(size=min(X.shape))
    return svds(operator, k=count, v0=start)[2][::-1].T


def _padded(Y: FloatArray, n_components: int) -> FloatArray:
    return np.ascontiguousarray(np.pad(Y, ((0, 0), (0, n_components - Y.shape[1]))))
