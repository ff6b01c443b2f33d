"""Which rows are similar: the sparse matrix S of thresholded similarities (Saul 2023, eq 3).

    S_ij = max(0, x_i·x_j − τ‖x_i‖‖x_j‖)

It is found by comparing rows in tiles and keeping entries above the threshold, so memory grows with the number of entries of S,
not with the number of all pairs. Products are float32.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from ... import _core
from ...algebra import arccos, sin
from ...checks import number
from ...data import Table, as_matrix
from ...errors import DataWarning, MemoryLimitError
from ...graph import nearest_rows
from ...run import Run, format_memory
from ...typing import FloatArray, IntArray, RandomState
from ..rows import Rows, column_sums, products_of_rows, row_norms, scaled_rows, stacked

Matrix = NDArray[np.float64]
Float32 = NDArray[np.float32]

_SAMPLE = 2000  # rows whose angles with all others stand for all pairs
_BINS = 180
_LOWEST, _HIGHEST = 0.01, 0.999  # where "auto" may put the threshold
_PAIR_BYTES = 28  # a pair in the list of the join and twice in S
_MANY_ISOLATED = 0.05  # beyond this share of the rows the threshold is too high
_PRODUCTS = 2**20  # products of sparse rows that are held at a time
_STEP = 0.9  # virtual inputs stand this part of the threshold's angle apart


@dataclass(frozen=True)
class AngleHistogram:
    """Angles in degrees between nearest neighbours and between all other pairs (Saul 2023, fig 2).

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins, in degrees.
    nearest : ndarray of shape (n_bins,)
        Density of the angles between nearest neighbours.
    others : ndarray of shape (n_bins,)
        Density of the angles between all other pairs.
    threshold : float
        The cosine above which pairs are similar, such that the share `sparsity` of pairs is not.
    sparsity : float
        Share of pairs that are not similar.
    kept : float
        Share of nearest neighbours that are still similar.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.tsm import angle_histogram
    >>> shown = angle_histogram(wk.datasets.load_digits().X, sparsity=0.99)
    >>> round(shown.threshold, 2), bool(shown.kept > 0.9)
    (0.93, True)
    """

    edges: Matrix
    nearest: Matrix
    others: Matrix
    threshold: float
    sparsity: float
    kept: float


@dataclass(frozen=True)
class Similarities:
    """S in compressed rows (diagonal included), for the rows that were given and `n_virtual` more at the end.

    `total` is Σ_ij (x_i·x_j − τ‖x_i‖‖x_j‖) over the rows, the right side of eq 18. `isolated` are the rows that are similar to no other
    row; virtual inputs lead to each of them.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Float32
    threshold: float
    total: float
    n_virtual: int
    isolated: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of rows, including virtual ones."""
        return len(self.indptr) - 1

    @property
    def density(self) -> float:
        """Share of the entries of S that are not zero."""
        return len(self.indices) / self.n**2

    def dense(self) -> Matrix:
        """S as an array of n × n, for references on small data."""
        S = np.zeros((self.n, self.n))
        S[np.repeat(np.arange(self.n), np.diff(self.indptr)), self.indices] = self.values
        return S


def directions(X: Rows, norms: Matrix) -> Rows:
    """Rows scaled to unit norm, as they are compared; rows of zeros stay zero."""
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    unit = scaled_rows(X, scale)
    return unit if issparse(X) else np.ascontiguousarray(unit, dtype=np.float32)


def angle_histogram(X: Any, *, sparsity: float = 0.99, random_state: RandomState = 0) -> AngleHistogram:
    """The AngleHistogram of rows, by which `TSM` chooses its threshold.

    Up to 2 000 random rows are compared with all others. Rows of zeros have no angle and are left out.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Rows, not centred.
    sparsity : float, default=0.99
        Share of pairs that should not be similar.
    random_state : int, numpy Generator or None, default=0
        Seed of the random rows.

    Returns
    -------
    AngleHistogram
        Densities of angles, and the threshold.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.tsm import angle_histogram
    >>> angle_histogram(wk.datasets.load_digits().X[:200]).edges[:3]
    array([0., 1., 2.])
    """
    rows = as_matrix(X)
    number("sparsity", sparsity, 0.0, 1.0, low_open=True, high_open=True)
    return find_angles(rows[row_norms(rows) > 0], sparsity, Run.of(random_state=random_state))


def find_angles(X: Rows, sparsity: float, run: Run) -> AngleHistogram:
    """`angle_histogram` of rows, none of them zero, within a run."""
    unit = directions(X, row_norms(X))
    rows = np.sort(run.stream("angles").permutation(X.shape[0])[:_SAMPLE])
    counts = np.zeros(_BINS)
    edges = np.linspace(0.0, 180.0, _BINS + 1)
    fine = np.zeros(1 << 16)  # cosines, finely enough for the quantile
    nearest = np.empty(len(rows))
    for start in range(0, len(rows), 64):
        part = rows[start : start + 64]
        cosine = np.clip(products_of_rows(unit[part], unit), -1.0, 1.0)
        cosine[np.arange(len(part)), part] = np.nan
        others = cosine[~np.isnan(cosine)]
        nearest[start : start + 64] = np.nanmax(cosine, axis=1)
        bins = ((others + 1.0) * 0.5 * (len(fine) - 1)).astype(np.int64)
        fine += np.bincount(bins, minlength=len(fine))
        counts += _counted(others)
    threshold = _quantile(fine, sparsity)
    closest = _counted(nearest)
    others = np.maximum(counts - closest, 0.0)
    kept = float(np.mean(nearest > threshold))
    return AngleHistogram(edges, _density(closest), _density(others), threshold, sparsity, kept)


def _quantile(fine: Matrix, sparsity: float) -> float:
    """The cosine that the share `sparsity` of the counted cosines does not exceed, kept within (0, 1)."""
    place = int(np.searchsorted(np.cumsum(fine), sparsity * fine.sum()))
    cosine = (min(place, len(fine) - 1) + 0.5) / (len(fine) - 1) * 2.0 - 1.0
    return float(np.clip(cosine, _LOWEST, _HIGHEST))


def _counted(cosines: FloatArray) -> Matrix:
    """How many of the angles lie in each degree; `np.histogram` would sort them all."""
    degrees = np.degrees(arccos(cosines)).astype(np.int64)
    return np.bincount(np.minimum(degrees, _BINS - 1), minlength=_BINS).astype(np.float64)


def _density(counts: Matrix) -> Matrix:
    total = counts.sum()
    return counts * (len(counts) / 180.0) / total if total > 0 else counts


def similarities(X: Rows, threshold: float, run: Run) -> tuple[Similarities, Rows]:
    """S of rows, none of them zero, and the rows with virtual inputs below them.

    Virtual inputs lead from every isolated row to its nearest one, in steps of less than the threshold's angle (step 1
    of the algorithm). The memory limit of `run` caps the bytes of S.
    """
    n = X.shape[0]
    norms = row_norms(X)
    pairs = similar_pairs(X, norms, threshold, run)
    seen = np.zeros(n, dtype=bool)
    seen[pairs[0]] = seen[pairs[1]] = True
    isolated = np.flatnonzero(~seen)
    if len(isolated) and n > 1:
        _warn_if_many(len(isolated), n, threshold)
        X = stacked([X, virtual_inputs(X, norms, isolated, threshold, run)])
        norms = row_norms(X)
        more = similar_pairs(X, norms, threshold, run, first=n)
        i, j, cosine = (np.concatenate(both) for both in zip(pairs, more))
        pairs = (i, j, cosine)
    indptr, indices, values = _core.similarity_rows(*pairs, norms, threshold)
    total = float(np.sum(np.square(column_sums(X)))) - threshold * float(norms.sum()) ** 2
    return Similarities(indptr, indices, values, threshold, total, X.shape[0] - n, isolated), X


def similar_pairs(
    X: Rows, norms: Matrix, threshold: float, run: Run, *, first: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.int32], Float32]:
    """Pairs i < j, first ≤ j, of rows with a cosine above the threshold, and the cosines.

    Raises an error if there are more pairs than the memory limit of `run` allows.
    """
    n, limit = X.shape[0], run.max_memory
    most = n * (n - 1) // 2 if limit is None else limit // _PAIR_BYTES
    unit = directions(X, norms)
    if issparse(X):
        count, i, j, cosine = _sparse_pairs(unit, threshold, first, most)
    else:
        count, i, j, cosine = _core.similar_pairs(unit, threshold, first, most, run.n_jobs)
    if count > most:
        raise MemoryLimitError(
            f"More than {most} pairs of {n} rows have a cosine above threshold={threshold:.4g}, which needs more than "
            f"max_memory={format_memory(limit or 0)}. Raise the threshold or the sparsity, use n_landmarks, or raise "
            "max_memory."
        )
    return i, j, cosine


def _sparse_pairs(
    unit: Rows, threshold: float, first: int, most: int
) -> tuple[int, NDArray[np.int32], NDArray[np.int32], Float32]:
    """The pairs above the threshold, as the core finds them for dense rows: by products of some rows at a time with all rows."""
    n = unit.shape[0]
    turned = unit.T.tocsr()
    step = max(1, _PRODUCTS // n)
    parts, count = [], 0
    for start in range(0, n, step):
        some = (unit[start : start + step] @ turned).tocoo()
        i = some.row + start
        kept = (some.data > threshold) & (some.col > i) & (some.col >= first)
        i, j, cosine = i[kept], some.col[kept], some.data[kept]
        order = np.lexsort((j, i))
        parts.append((i[order], j[order], cosine[order]))
        count += len(order)
        if count > most:
            break
    i, j, cosine = (np.concatenate(column) for column in zip(*parts))
    return count, i.astype(np.int32), j.astype(np.int32), cosine.astype(np.float32)


def virtual_inputs(X: Rows, norms: Matrix, isolated: NDArray[np.int64], threshold: float, run: Run) -> Rows:
    """Inputs on the arcs from isolated rows to their nearest rows, with norms that change evenly along the arc."""
    rows = Table(X, validated=True)
    index, distance = nearest_rows(rows.rows(isolated), rows, 2, run, metric="cosine")
    own = index[:, 0] == isolated
    nearest = np.where(own, index[:, 1], index[:, 0])
    angle = arccos(np.clip(1.0 - np.where(own, distance[:, 1], distance[:, 0]), -1.0, 1.0))
    apart = _STEP * float(arccos(threshold))
    if issparse(X):
        return _sparse_arcs(X, norms, isolated, nearest, angle, apart)
    made = [np.empty((0, X.shape[1]))]
    for i, j, between in zip(isolated, nearest, angle):
        steps = int(np.ceil(between / apart))
        if steps < 2 or sin(between) < 1e-6:  # opposite directions have no arc of their own
            continue
        t = np.arange(1, steps)[:, None] / steps
        a, b = X[i].astype(np.float64) / norms[i], X[j].astype(np.float64) / norms[j]
        arc = (sin((1.0 - t) * between) * a + sin(t * between) * b) / sin(between)
        made.append(arc * ((1.0 - t) * norms[i] + t * norms[j]))
    return np.concatenate(made).astype(X.dtype)


def _sparse_arcs(
    X: Rows, norms: Matrix, isolated: IntArray, nearest: IntArray, angle: FloatArray, apart: float
) -> Rows:
    """`virtual_inputs` of sparse rows: each is a sum of two rows."""
    shares, ends = [np.empty((0, 2))], [np.empty((0, 2), dtype=np.int64)]
    for i, j, between in zip(isolated, nearest, angle):
        steps = int(np.ceil(between / apart))
        if steps < 2 or sin(between) < 1e-6:
            continue
        t = np.arange(1, steps) / steps
        share = np.column_stack([sin((1.0 - t) * between) / norms[i], sin(t * between) / norms[j]])
        shares.append(share * (((1.0 - t) * norms[i] + t * norms[j]) / sin(between))[:, None])
        ends.append(np.tile([i, j], (steps - 1, 1)))
    share, end = np.concatenate(shares), np.concatenate(ends)
    starts = np.arange(0, 2 * len(share) + 1, 2)
    made = csr_matrix((share.ravel(), end.ravel(), starts), shape=(len(share), X.shape[0])) @ X
    made.sort_indices()
    return made.astype(X.dtype)


def _warn_if_many(isolated: int, n: int, threshold: float) -> None:
    if isolated > _MANY_ISOLATED * n:
        warnings.warn(
            f"{isolated} of {n} rows are similar to no other row at threshold={threshold:.4g}: virtual inputs connect them to "
            "their nearest rows. A lower threshold (or sparsity) would suit these data better.",
            DataWarning,
            stacklevel=2,
        )
