"""Nearest neighbours of new sparse rows among the rows of a sparse matrix, which never becomes dense."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.arrays import Matrix
from ..typing import FloatArray
from .metrics import RULES
from .search import Indices


def query_sparse(X: Matrix, Q: Matrix, k: int, metric: str, n_jobs: int) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the rows of Q among those of X, both CSR. Each row's result depends on that row alone."""
    return _core.query_sparse(_parts(Q), _parts(X), X.shape[1], RULES[metric].kind, k, n_jobs)


def _parts(X: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    """A CSR matrix as the core takes it."""
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
