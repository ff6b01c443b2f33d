"""Where a map starts: principal components, the spectral embedding of a graph, scaling of path lengths; and where a new row starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..algebra import eigh, largest_eigenvectors, matmul, norm, power, qr, tanh
from ..data.arrays import distinct
from ..graph import Graph, path_matrix, spectral_coordinates
from ..graph.laplacian import Laplacian, block_width
from ..graph.metrics import pair_distances
from ..graph.search import prepare_sparse, squared_row_norms
from ..run import Run
from ..typing import FloatArray, IntArray, Metric

SAMPLE, _OVERSAMPLING, _SUBSPACE_ITERATIONS = 10_000, 8, 8  # of principal components for a start
# A start by principal components: its standard deviation in terms of the root (in space, the cube root) of the number of rows, in
# units of the Cauchy penalty; where rows far out end, and the noise, in standard deviations.
_START_WIDTH, _WIDEST, _START_NOISE = 0.02, 3.0, 0.01
# Rows that are farther from the mean than _FAR_OUT times the median distance count as if they were at that distance; rows farther than
# _TOO_FAR times do not count. Otherwise bad rows far out would determine where all others start.
_FAR_OUT, _TOO_FAR, _MEAN_ROUNDS = 3.0, 9.0, 5
_BLOCK = 2**18  # entries of rows whose distances are taken at once
_PIVOTS = 100  # of pivot MDS; its authors see no gain from more
_NEAREST = 15  # neighbours at whose places a new row may start
# Mid-near pairs: partners of a row, partners in total, random rows of which each partner is the nearest, rows handled at a time.
_PARTNERS, _MOST_PARTNERS, _CANDIDATES, _MID_NEAR_ROWS = 10, 400_000, 6, 4096


def principal_start(X: FloatArray, n_components: int) -> FloatArray:
    """Coordinates of the rows along the directions of largest variance; zeros beyond the number of columns."""
    centred = X - X.mean(axis=0)
    n, m = centred.shape
    # The smaller of the two products has the same eigenvalues.
    gram = matmul(centred, centred.T) if n < m else matmul(centred.T, centred)
    values, top = largest_eigenvectors(gram, n_components)
    Y = top * np.sqrt(np.maximum(values, 0)) if n < m else matmul(centred, top.astype(X.dtype))
    return np.pad(Y, ((0, 0), (0, n_components - Y.shape[1]))).astype(X.dtype)


def rough_principal_start(X: Any, n_components: int, run: Run, *, directions: bool = False) -> FloatArray:
    """`principal_start` of dense or sparse rows, from a sample and by a few subspace iterations, which is precise enough for a start.

    With `directions`, only the directions of rows are used.
    """
    n = X.shape[0]
    sample = X if n <= SAMPLE else X[principal_sample(n, run)]
    mean, top = principal_axes(sample, n_components, run, directions=directions)
    return along_axes(X, mean, top, n_components, run, directions=directions)


def wide_start(rows: Any, n_components: int, metric: Metric, run: Run) -> FloatArray:
    """Principal components of the rows, scaled by `widened`."""
    directions = metric in ("cosine", "correlation")
    return widened(rough_principal_start(rows, n_components, run, directions=directions), run)


def widened(Y: FloatArray, run: Run) -> FloatArray:
    """Coordinates scaled such that distant parts stay apart, while connected strands can still find each other.

    Rows far out are moved inwards, because they would squeeze all others together.
    """
    spread = float(Y.std(axis=0).max())
    Y = _WIDEST * tanh(Y / (_WIDEST * (spread if spread > 0 else 1.0)))
    # Noise lets rows part that differ otherwise only, and those of one column leave their line.
    noise = run.stream("around").normal(Y.shape)
    return np.asarray(_START_WIDTH * power(len(Y), 1 / max(2, Y.shape[1])) * (Y + _START_NOISE * noise))


def principal_sample(n: int, run: Run) -> NDArray[np.int64]:
    """The row numbers, out of n and ascending, from which the principal components of a start are computed."""
    return np.sort(run.stream("principal").permutation(n)[:SAMPLE])


def principal_axes(
    sample: Any, n_components: int, run: Run, *, directions: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of rows, and approximate directions of their largest variance as columns; rows far out are moved inwards."""
    m = sample.shape[1]
    scale = _inverse_lengths(sample) if directions else np.ones(sample.shape[0])
    mean, weight = _mean_and_weights(sample, scale, run)
    Q = run.stream("directions").normal((m, min(m, n_components + _OVERSAMPLING)))
    for _ in range(_SUBSPACE_ITERATIONS):
        Q = qr(Q)[0]
        Z = (weight * weight)[:, None] * (scale[:, None] * _times(sample, Q, run) - matmul(mean, Q))
        Q = _times(sample.T, scale[:, None] * Z, run) - np.outer(mean, Z.sum(axis=0))
    Q = qr(Q)[0]
    Z = weight[:, None] * (scale[:, None] * _times(sample, Q, run) - matmul(mean, Q))
    top = matmul(Q, eigh(matmul(Z.T, Z))[1][:, ::-1][:, :n_components])
    largest = np.argmax(np.abs(top), axis=0)
    top *= np.sign(top[largest, np.arange(top.shape[1])])
    return mean, top


def _mean_and_weights(
    rows: Any, scale: NDArray[np.float64], run: Run
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of rows times `scale`, and the factor of each row's distance from it: 1 except for rows far out, and 0 for rows too far out."""
    weight = np.ones(len(scale))
    mean = _times(rows.T, (scale / len(scale))[:, None], run)[:, 0]
    for _ in range(_MEAN_ROUNDS):
        distance = _distances(rows, scale, mean, run)
        median = float(np.median(distance))
        most = _FAR_OUT * median
        if not 0 < most < float(distance.max()):
            break
        weight = np.where(distance > _TOO_FAR * median, 0.0, most / np.maximum(distance, most))
        share = weight / float(np.sum(weight))
        mean = _times(rows.T, (scale * share)[:, None], run)[:, 0]
    return mean, weight


def _distances(
    rows: Any, scale: NDArray[np.float64], mean: NDArray[np.float64], run: Run
) -> NDArray[np.float64]:
    """Distances of rows times `scale` from their mean."""
    if issparse(rows):
        along = scale * _times(rows, mean[:, None], run)[:, 0]
        squares = np.square(scale * _lengths(rows)) - 2 * along + float(np.sum(mean * mean))
        return np.sqrt(np.maximum(squares, 0))
    step = max(1, _BLOCK // rows.shape[1])
    blocks = (slice(first, first + step) for first in range(0, len(scale), step))
    return np.concatenate([_lengths(scale[block, None] * rows[block] - mean) for block in blocks])


def along_axes(
    X: Any,
    mean: NDArray[np.float64],
    top: NDArray[np.float64],
    n_components: int,
    run: Run,
    *,
    directions: bool = False,
) -> FloatArray:
    """Coordinates of rows along axes, each row on its own; zeros beyond the number of axes."""
    scale = _inverse_lengths(X) if directions else np.ones(X.shape[0])
    Y = scale[:, None] * _times(X, top, run) - matmul(mean, top)
    return np.pad(Y, ((0, 0), (0, n_components - Y.shape[1])))


def _times(X: Any, block: NDArray[np.float64], run: Run) -> NDArray[np.float64]:
    """The product of dense or sparse rows and a block in their precision."""
    if issparse(X):
        return np.asarray(X @ block.astype(X.dtype), dtype=np.float64)
    return np.asarray(matmul(X, block.astype(X.dtype), run.n_jobs))


def _lengths(X: Any) -> NDArray[np.float64]:
    """The Euclidean length of each row."""
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.asarray(squares, dtype=np.float64).ravel())


def _inverse_lengths(X: Any) -> NDArray[np.float64]:
    """1 divided by the Euclidean length of each row; 1 for rows of length zero."""
    length = _lengths(X)
    return 1 / np.where(length > 0, length, 1)


def check_multigrid(
    problem: Laplacian, n_components: int, run: Run, advice: str, bytes_a_tie: float = 130.0
) -> None:
    """Raise MemoryLimitError if a start by multigrid, with everything held at the same time, is forecast to need more than the limit."""
    need = 6e6 + bytes_a_tie * problem.weights.nnz + problem.n * (580.0 + 155.0 * block_width(n_components))
    run.check_memory(need, f"A spectral start of {problem.n} rows by multigrid", advice)


def spectral_start(graph: Graph, n_components: int, run: Run) -> FloatArray:
    """The spectral embedding of a graph with unit variance in each coordinate.

    This is the solution of the quadratic problem, precise enough for a start.
    """

    def ask(problem: Laplacian) -> None:
        """Multigrid, for long thin graphs, takes more than was forecast."""
        check_multigrid(problem, n_components, run, 'Give init="pca" or init="random", or raise max_memory.')

    Y = spectral_coordinates(graph, n_components, run, tol=1e-2, before_multigrid=ask)
    spread = Y.std(axis=0)
    return np.asarray((Y - Y.mean(axis=0)) / np.where(spread > 0, spread, 1))


def pivot_start(graph: Graph, n_components: int, run: Run) -> FloatArray:
    """Classical scaling of path lengths between all nodes and a sample of them (pivot MDS of Brandes and Pich 2006)."""
    pivots = np.sort(run.stream("pivots").permutation(graph.n)[:_PIVOTS])
    lengths = path_matrix(graph, run, pivots).T.astype(np.float64)
    reached = np.isfinite(lengths)
    lengths[~reached] = 1.5 * lengths[reached].max()  # other components stand beside, not infinitely far
    square = lengths * lengths
    C = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1, keepdims=True) + square.mean())
    Y = matmul(C, largest_eigenvectors(matmul(C.T, C), n_components)[1])
    return np.pad(Y / norm(lengths), ((0, 0), (0, n_components - Y.shape[1])))


def mid_near_partners(n: int) -> int:
    """How many partners each of n rows draws."""
    return max(1, min(_PARTNERS, _MOST_PARTNERS // n))


def mid_near_pairs(
    n: int, distances: Callable[[IntArray, IntArray], FloatArray], run: Run
) -> NDArray[np.int32]:
    """Pairs i < j of rows in which one row is the nearest of six random partners of the other (Wang et al. 2021).

    They are closer than random pairs but usually not neighbours, so they show the overall arrangement, which neighbours do not. Rows far
    out, to which all other rows are about equally far, have no such pairs; otherwise a few bad rows would connect everything.
    `distances` compares rows i (k,) with rows J (k × c) each.
    """
    each = mid_near_partners(n)
    stream = run.stream("mid-near")
    found, lengths = [], []
    for first in range(0, n, _MID_NEAR_ROWS):
        rows = np.repeat(np.arange(first, min(n, first + _MID_NEAR_ROWS)), each)
        drawn = stream.integers(n, (len(rows), _CANDIDATES), start=first * each * _CANDIDATES)
        length = distances(rows, drawn)
        length[drawn == rows[:, None]] = np.inf
        nearest = length.argmin(axis=1)[:, None]
        partner = np.take_along_axis(drawn, nearest, axis=1)[:, 0]
        found.append(np.minimum(rows, partner) * n + np.maximum(rows, partner))
        lengths.append(np.take_along_axis(length, nearest, axis=1)[:, 0])
    joined = np.concatenate(lengths)
    usual = joined <= _TOO_FAR * np.median(joined)
    pairs = np.stack(np.divmod(distinct(np.concatenate(found)[usual]), n), axis=1)
    return pairs[pairs[:, 0] != pairs[:, 1]].astype(np.int32)


def rows_compared(rows: Any, metric: Metric, run: Run) -> Callable[[IntArray, IntArray], FloatArray]:
    """The `distances` of `mid_near_pairs` for dense or sparse rows: between directions if the metric compares directions,
    otherwise Euclidean, which is cheap and close enough to other metrics.
    """
    compared = str(metric) if metric in ("cosine", "correlation") else "euclidean"
    if issparse(rows):
        return _sparse_rows_compared(prepare_sparse(rows, compared)[0])

    def distances(i: IntArray, J: IntArray) -> FloatArray:
        pairs = np.stack([np.repeat(i, J.shape[1]), J.ravel()], axis=1).astype(np.int32)
        return np.asarray(pair_distances(rows, pairs, compared, run.n_jobs)).reshape(J.shape)

    return distances


def _sparse_rows_compared(rows: Any) -> Callable[[IntArray, IntArray], FloatArray]:
    """Euclidean distances of sparse rows, some at a time, since differences hold the entries of both."""
    step = max(1, _BLOCK // (rows.nnz // rows.shape[0] + 1))

    def distances(i: IntArray, J: IntArray) -> FloatArray:
        first, second = np.repeat(i, J.shape[1]), J.ravel()
        blocks = (slice(k, k + step) for k in range(0, len(first), step))
        squares = [squared_row_norms(rows[first[block]] - rows[second[block]]) for block in blocks]
        return np.sqrt(np.concatenate(squares)).reshape(J.shape)

    return distances


def weighted_mean(Y: FloatArray, index: NDArray[np.int32], distance: FloatArray) -> NDArray[np.float64]:
    """Mean position of the neighbours (q × k) of each new row, in which nearer neighbours count more; summed neighbour by neighbour."""
    weight = 1 / (1e-12 + distance.astype(np.float64))
    weight /= weight.max(axis=1, keepdims=True)
    total: NDArray[np.float64] = np.zeros(len(weight))
    position: NDArray[np.float64] = np.zeros((len(weight), Y.shape[1]))
    for k in range(weight.shape[1]):
        total += weight[:, k]
        position += weight[:, k, None] * Y[index[:, k]]
    return position / total[:, None]


def neighbor_width(Y: FloatArray, lists: NDArray[np.int32], rows: IntArray | None = None) -> float:
    """The median distance on the map between `rows` (or all rows) and the nearest of their listed neighbours; 1 if that is zero."""
    own = np.arange(len(lists)) if rows is None else rows
    near = lists[own, :_NEAREST]
    square: NDArray[np.float64] = np.zeros(near.shape)
    for column in np.asarray(Y, dtype=np.float64).T:
        square += np.square(column[own, None] - column[near])
    found = float(np.sqrt(np.median(square[near >= 0]))) if near.size else 0.0
    return found if found > 0 else 1.0


def densest_neighbor(
    Y: NDArray[np.float64], index: NDArray[np.int32], weights: FloatArray, width: float
) -> NDArray[np.float64]:
    """For each new row, the place of the neighbour around which most of the weight (q × k) of all its neighbours is concentrated.

    If the neighbours of a row are in several places, its objective has a minimum in each, and the lowest minimum is often where there is
    space and not where most of its neighbours are. Weights decay with distance by the Cauchy kernel of the given width.
    """
    near = Y[index[:, :_NEAREST]]
    density: NDArray[np.float64] = np.zeros(near.shape[:2])
    for k in range(index.shape[1]):  # neighbour by neighbour: the same bytes for one row as for many
        square: NDArray[np.float64] = np.zeros(near.shape[:2])
        for column in range(Y.shape[1]):
            square += np.square(near[:, :, column] - Y[index[:, k], column, None])
        density += weights[:, k, None] / (1 + square / (width * width))
    return near[np.arange(len(near)), np.argmax(density, axis=1)]
