"""Exact neighbours in a map: a k-d tree in few dimensions, where it beats comparing with every row."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..graph import knn, knn_query
from ..graph.graph import require_neighbor_lists
from ..graph.search import SLACK
from ..resources import resolve_n_jobs
from ..typing import FloatArray, IntArray
from .rows import Indices

_TREE_DIMENSIONS, _TREE_FROM = 3, 4000
_MANY_TIES = 0.02


def map_neighbors(Y: FloatArray, k: int, n_jobs: int | None) -> Indices:
    """The k nearest other rows of every row, nearest first, equal ones in cyclic order of index as in `knn`."""
    n = len(Y)
    if _tree_pays(Y, n):
        jobs = resolve_n_jobs(n_jobs)
        width = min(k + 1 + SLACK, n)
        found, far = _tree_query(Y, Y, width, jobs)
        rows = np.arange(n)
        index, distance = _core.refine_neighbors(Y, Y, rows, found, 0, k, jobs)
        tied = np.flatnonzero(far[:, -1] <= distance[:, -1].astype(np.float64) * (1 + 1e-6))
        if len(tied) <= _MANY_TIES * n:  # there the tree may have left out one as near as the last
            for start in range(0, len(tied), 64):
                some = tied[start : start + 64]
                index[some] = _core.direct_neighbors(Y[some], Y, some, 0, k, jobs)[0]
            return index
    return require_neighbor_lists(knn(Y, k, method="exact", n_jobs=n_jobs), "a map")[0]


def nearest_in(Y: FloatArray, queries: FloatArray, k: int, n_jobs: int | None) -> IntArray:
    """The k rows of Y nearest to each query, nearest first."""
    if _tree_pays(Y, len(queries)):
        return _tree_query(Y, queries, k, resolve_n_jobs(n_jobs))[0]
    return knn_query(queries, Y, k, n_jobs=n_jobs)[0]


def _tree_pays(Y: FloatArray, n_queries: int) -> bool:
    return Y.shape[1] <= _TREE_DIMENSIONS and min(len(Y), n_queries) >= _TREE_FROM


def _tree_query(Y: FloatArray, queries: FloatArray, k: int, jobs: int) -> tuple[Indices, FloatArray]:
    from scipy.spatial import cKDTree

    tree = cKDTree(Y.astype(np.float64), balanced_tree=False)
    far, found = tree.query(queries.astype(np.float64), k=np.arange(1, k + 1), workers=jobs)
    return np.ascontiguousarray(found.astype(np.int32)), far
