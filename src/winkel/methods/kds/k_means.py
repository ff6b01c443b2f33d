"""k-means of few columns, to the same bytes on every processor: sums run in the order of the rows, products by `winkel.algebra`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...algebra import matmul
from ...run import Stream

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]

_MAX_ITER = 300


def k_means(points: Matrix, k: int, stream: Stream, starts: int) -> Matrix:
    """The k centres with the least sum of squares over several starts; some may coincide where points do."""
    best, least = points[:0], math.inf
    for start in range(starts):
        centers, loss = improved(points, _spread(points, k, stream, start))
        if loss < least:
            best, least = centers, loss
    return best


def improved(points: Matrix, centers: Matrix) -> tuple[Matrix, float]:
    """The centres after Lloyd's iteration, and the sum of squared distances to the nearest."""
    labels, squares = _nearest(points, centers)
    for _ in range(_MAX_ITER):
        centers = _means(points, labels, squares, len(centers))
        before, (labels, squares) = labels, _nearest(points, centers)
        if np.array_equal(labels, before):
            break
    return centers, float(np.sum(squares))


def _nearest(points: Matrix, centers: Matrix) -> tuple[Labels, Matrix]:
    """The nearest centre of each point, the first of equally near ones, and its squared distance."""
    heights = np.einsum("ij,ij->i", centers, centers) - 2.0 * matmul(points, centers.T)
    labels = np.asarray(heights.argmin(axis=1), dtype=np.int64)
    apart = points - centers[labels]
    return labels, np.einsum("ij,ij->i", apart, apart)


def _means(points: Matrix, labels: Labels, squares: Matrix, k: int) -> Matrix:
    """The mean of each cluster; one without points moves to a point that lies far from its own centre."""
    counts = np.bincount(labels, minlength=k)
    sums = np.stack([np.bincount(labels, column, minlength=k) for column in points.T], axis=1)
    centers = sums / np.maximum(counts, 1)[:, None]
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        centers[empty] = points[np.argsort(-squares, kind="stable")[: len(empty)]]
    return np.asarray(centers)


def _spread(points: Matrix, k: int, stream: Stream, start: int) -> Matrix:
    """k points far from each other: each the best of several drawn by their squared distance to those before."""
    trials = 2 + int(math.log(k))
    draws = stream.uniform((k, trials), start=start * k * trials)
    centers = np.empty((k, points.shape[1]))
    centers[0] = points[min(int(draws[0, 0] * len(points)), len(points) - 1)]
    squares = _squares(points, centers[0])
    for j in range(1, k):
        reach = np.cumsum(squares)
        rows = np.minimum(np.searchsorted(reach, draws[j] * reach[-1], side="right"), len(points) - 1)
        left = [np.minimum(squares, _squares(points, points[row])) for row in rows]
        chosen = int(np.argmin([np.sum(each) for each in left]))
        centers[j], squares = points[rows[chosen]], left[chosen]
    return centers


def _squares(points: Matrix, center: Matrix) -> Matrix:
    apart = points - center
    return np.asarray(np.einsum("ij,ij->i", apart, apart))
