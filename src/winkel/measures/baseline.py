"""The map with which every other is compared: principal components, in the same number of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..algebra import largest_eigenvectors, largest_of_operator, matmul
from ..data.arrays import row_blocks
from ..typing import FloatArray

_DENSE_UP_TO = 1500  # columns (or rows, if fewer) whose product is decomposed as a whole


def principal_map(X: Any, n_components: int) -> FloatArray:
    """The rows' coordinates along the directions of largest variance, zeros beyond the rank."""
    n, m = X.shape
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    if min(n, m) > _DENSE_UP_TO or sp.issparse(X):
        directions = _by_iteration(X, mean, min(n_components, min(n, m) - 1))
    elif m <= n:
        directions = largest_eigenvectors(_covariance(X, mean), n_components)[1]
    else:
        centred = X.astype(np.float64) - mean
        values, vectors = largest_eigenvectors(matmul(centred, centred.T), n_components)
        return _padded(vectors * np.sqrt(np.maximum(values, 0)), n_components)
    places = X @ directions if sp.issparse(X) else matmul(X, directions)
    return _padded(np.asarray(places) - matmul(mean, directions), n_components)


def _covariance(X: FloatArray, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros((X.shape[1], X.shape[1]))
    middle = mean.astype(X.dtype)
    for _, block in row_blocks(X):
        centred = block - middle
        total += matmul(centred.T, centred)
    return total


def _by_iteration(X: Any, mean: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    if count < 1:
        return np.zeros((X.shape[1], 0))
    times = (lambda a, b: np.asarray(a @ b)) if sp.issparse(X) else matmul

    def squared(block: NDArray[np.float64]) -> NDArray[np.float64]:
        image = times(X, block) - matmul(mean, block)
        return np.asarray(times(X.T, image) - np.outer(mean, image.sum(axis=0)))

    return largest_of_operator(squared, X.shape[1], count)[1]


def _padded(Y: FloatArray, n_components: int) -> FloatArray:
    return np.ascontiguousarray(np.pad(Y, ((0, 0), (0, n_components - Y.shape[1]))))
