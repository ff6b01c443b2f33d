"""Neighbours by brute force in extended precision, and the data sets that the neighbour tests run over."""

from __future__ import annotations

import numpy as np

METRICS = ("euclidean", "cosine", "manhattan", "chebyshev", "correlation", "hamming", "jaccard")
EXACT_ON_INTEGERS = ("euclidean", "manhattan", "chebyshev", "hamming", "jaccard")  # no rounding, so true ties
TOLERANCE = {np.float32: 1e-6, np.float64: 1e-12}


def distances(Q, X, metric):
    """All distances by the definition of the metric, in extended precision."""
    a, b = np.asarray(Q, dtype=np.longdouble), np.asarray(X, dtype=np.longdouble)
    if metric in ("cosine", "correlation"):
        u, v = (_directions(rows, metric) for rows in (a, b))
        zero_u, zero_v = ~u.any(axis=1), ~v.any(axis=1)
        D = 0.5 * ((u[:, None] - v[None]) ** 2).sum(axis=2)
        D[zero_u[:, None] != zero_v[None]] = 1
        return D
    if metric == "jaccard":
        a, b = a != 0, b != 0
        both, either = (f(a[:, None], b[None]).sum(axis=2) for f in (np.logical_and, np.logical_or))
        return np.where(either > 0, 1 - both.astype(np.longdouble) / np.maximum(either, 1), 0)
    difference = a[:, None] - b[None]
    if metric == "hamming":
        return (difference != 0).mean(axis=2, dtype=np.longdouble)
    if metric == "manhattan":
        return np.abs(difference).sum(axis=2)
    if metric == "chebyshev":
        return np.abs(difference).max(axis=2)
    return np.sqrt((difference**2).sum(axis=2))


def _directions(rows, metric):
    if metric == "correlation":
        constant = rows.max(axis=1) == rows.min(axis=1)
        rows = rows - rows.mean(axis=1)[:, None]
        rows[constant] = 0
    norm = np.sqrt((rows**2).sum(axis=1))
    return rows / np.where(norm > 0, norm, 1)[:, None]


def nearest(D, k, *, own=True):
    """Indices and distances of the k nearest columns; ties in cyclic order from the row's own number."""
    n = D.shape[1]
    index = np.empty((len(D), k), dtype=np.int64)
    for i, row in enumerate(D):
        offset = (np.arange(n) - i) % n if own else np.arange(n)
        order = np.lexsort((offset, row))
        index[i] = order[order != i][:k] if own else order[:k]
    return index, np.take_along_axis(D, index, axis=1)


def assert_neighbors(index, distance, D, k, rtol, *, own=True, atol=0.0, same_index=True):
    """The given neighbours are those of the matrix of true distances D."""
    want_index, want = nearest(D, k, own=own)
    atol += np.finfo(distance.dtype).smallest_subnormal
    np.testing.assert_allclose(distance.astype(np.longdouble), want, rtol=rtol, atol=atol)
    if same_index:
        np.testing.assert_array_equal(index, want_index)
    else:  # another row may stand there only if it is as near
        there = np.take_along_axis(D, index.astype(np.int64), axis=1)
        np.testing.assert_allclose(there, want, rtol=rtol, atol=atol)
        if own:
            assert (index != np.arange(len(index))[:, None]).all()
        assert all(len(set(row)) == len(row) for row in index.tolist())


def data_for(metric, n, m, dtype, seed=0):
    """Rows without ties for metrics of magnitudes, and of few symbols for metrics of symbols and sets."""
    rng = np.random.default_rng([seed, n, m])
    if metric in ("hamming", "jaccard"):
        return rng.integers(0, 3, size=(n, m)).astype(dtype)
    return rng.normal(size=(n, m)).astype(dtype)


def clustered(n, m, seed=0, *, n_clusters=20, spread=0.3):
    """Points around random centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_clusters, m))
    return (centres[rng.integers(n_clusters, size=n)] + spread * rng.normal(size=(n, m))).astype(np.float32)
