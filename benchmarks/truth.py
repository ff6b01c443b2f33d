"""The exact neighbours of a sample of rows, computed once for a data set and cached."""

from __future__ import annotations

from functools import cache

import numpy as np

from . import quality
from .datasets import Dataset, cached


@cache
def nearest(dataset: Dataset, k: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`size` sampled rows, and the indices and distances of their k nearest in the data."""
    X, rows = dataset.load(), quality.sample_rows(dataset.rows, size)

    def found() -> tuple[np.ndarray, np.ndarray]:
        if dataset.metric == "precomputed":
            return quality.listed_neighbors(X, rows, k)
        return quality.exact_neighbors(X, rows, k)

    path = cached(f"{dataset.key}-nearest{k}-of{len(rows)}", lambda: found()[0])
    indices = np.load(path)
    if dataset.metric == "precomputed":
        return rows, indices, np.take_along_axis(X[rows], indices, axis=1)
    return rows, indices, quality.distances_to(X, rows, indices)
