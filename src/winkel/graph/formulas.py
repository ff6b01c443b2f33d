"""Metrics for which the core has no search of its own: one table, `FORMULAS`.

Some are Euclidean distances of transformed rows (hellinger, haversine, mahalanobis, seuclidean): the transformed rows are searched,
exactly or approximately, and their distances transformed back. The others are computed block by block between all pairs of rows
(canberra, braycurtis, minkowski), or from the number of columns that two rows share (dice and other metrics of sets), which works
for sparse rows as well. Manhattan and jaccard distances of sparse rows are computed in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from .. import _core
from ..algebra import one_blas_thread
from ..data.arrays import Matrix
from ..errors import InvalidInputError
from ..run import Run
from ..typing import FloatArray

Distances = NDArray[np.float64]
Prepare = Callable[
    [Matrix], Callable[[Matrix], Matrix]
]  # of the fitted rows: what is done with them, and with new ones
Between = Callable[[Any, Any], Distances]

_NUMBERS = 2**22  # distances in one block


@dataclass(frozen=True)
class Formula:
    """One metric: distances between all rows of two sets, after `prepare` has transformed the rows.

    If there is a `finish`, the distance is `finish` (an increasing function) applied to the Euclidean distance.
    """

    between: Between
    prepare: Prepare
    sparse: bool = False
    dense: bool = True  # whether dense rows go this way too
    finish: Callable[[Any], Any] | None = None


# ------------------------------------------------------------------------------------------------------------- search


def blockwise_neighbors(
    Q: Matrix, X: Matrix, origins: NDArray[np.int64], k: int, formula: Formula, run: Run
) -> tuple[NDArray[np.int32], FloatArray]:
    """For each row of Q, the k nearest rows of X by a formula; `origins` are the row numbers of Q in X, or -1."""
    index, distance = np.empty((len(origins), k), np.int32), np.empty((len(origins), k))
    for part, D in distance_blocks(Q, X, formula, run):
        index[part], distance[part] = _core.nearest_columns(D, origins[part], k, run.n_jobs)
    return index, distance


def distance_blocks(Q: Matrix, X: Matrix, formula: Formula, run: Run) -> Iterator[tuple[slice, Distances]]:
    """Distances of the rows of Q to all of X, some rows at a time."""
    prepare = formula.prepare(X)
    queries, points = prepare(Q), prepare(X)
    n, step = Q.shape[0], max(1, _NUMBERS // max(1, X.shape[0]))
    for start in run.progress(range(0, n, step), "distances by formula"):
        part = slice(start, min(start + step, n))
        yield part, np.ascontiguousarray(formula.between(queries[part], points), dtype=np.float64)


def formula_pairs(X: Matrix, pairs: NDArray[np.int32], formula: Formula) -> Distances:
    """Distance of each pair of rows of X."""
    rows = formula.prepare(X)(X)
    first, back = np.unique(pairs[:, 0], return_inverse=True)
    found = np.empty(len(pairs))
    step = max(1, _NUMBERS // max(1, X.shape[0]))
    for start in range(0, len(first), step):
        D = formula.between(rows[first[start : start + step]], rows)
        here = np.flatnonzero((back >= start) & (back < start + step))
        found[here] = D[back[here] - start, pairs[here, 1]]
    return found


# ---------------------------------------------------------------------------------------------------- forms of the rows


def _wide(fitted: Matrix) -> Callable[[Matrix], Matrix]:
    return lambda X: X.astype(np.float64)


def _sets(fitted: Matrix) -> Callable[[Matrix], Matrix]:
    """1 for columns that are not 0, as float32, in which sums of up to 2**24 ones are exact."""

    def members(X: Matrix) -> Matrix:
        if not sp.issparse(X):
            return (X != 0).astype(np.float32)
        kept = sp.csr_matrix((X.data != 0, X.indices, X.indptr), shape=X.shape, dtype=np.float32)
        kept.eliminate_zeros()
        return kept

    return members


def _root_shares(fitted: Matrix) -> Callable[[Matrix], Matrix]:
    """Roots of each row's shares, and a column that is 1 for rows of zeros."""

    def roots(X: Matrix) -> Matrix:
        values = X.data if sp.issparse(X) else X
        if values.size and values.min() < 0:
            raise InvalidInputError(
                "metric 'hellinger' compares shares of a whole: no value may be negative."
            )
        total = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        empty = (total == 0).astype(np.float64)[:, None]
        if sp.issparse(X):
            shares = sp.csr_matrix(
                X.astype(np.float64).multiply(1 / np.where(total > 0, total, 1.0)[:, None])
            )
            return sp.csr_matrix(sp.hstack([shares.sqrt(), sp.csr_matrix(empty)]))
        return np.ascontiguousarray(np.hstack([np.sqrt(X / np.where(total > 0, total, 1.0)[:, None]), empty]))

    return roots


def _on_the_sphere(fitted: Matrix) -> Callable[[Matrix], Matrix]:
    """Latitude and longitude, in radians, as points of the unit sphere."""

    def points(X: Matrix) -> Matrix:
        if X.shape[1] != 2 or (len(X) and np.abs(X[:, 0]).max() > np.pi / 2 + 1e-6):
            raise InvalidInputError(
                "metric 'haversine' takes two columns, latitude and longitude in radians, latitudes within ±π/2. "
                "For degrees pass np.radians(X)."
            )
        latitude, longitude = X.astype(np.float64).T
        level = np.cos(latitude)
        return np.column_stack([level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)])

    return points


def _whitened(fitted: Matrix) -> Callable[[Matrix], Matrix]:
    """Rows in coordinates in which the fitted rows have the identity as covariance."""
    wide = fitted.astype(np.float64)
    with one_blas_thread():
        variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(wide.T)))
    if not variance[0] > variance[-1] * 1e-12:
        raise InvalidInputError(
            "metric 'mahalanobis' needs columns whose covariance can be inverted. Here some column is constant or depends on "
            "others, or there are more columns than rows. Drop columns, or take principal components first."
        )
    turn = axes / np.sqrt(variance)

    def turned(X: Matrix) -> Matrix:
        # Column by column: a matrix product rounds a row alone other than among others.
        return sum(
            (X[:, j, None].astype(np.float64) * turn[j] for j in range(1, len(turn))), X[:, 0, None] * turn[0]
        )

    return turned


def _standardized(fitted: Matrix) -> Callable[[Matrix], Matrix]:
    """Columns divided by their standard deviation in the fitted rows; constant columns are unchanged."""
    deviation = fitted.astype(np.float64).std(axis=0, ddof=1)
    deviation = np.where(deviation > 0, deviation, 1.0)
    return lambda X: np.ascontiguousarray(X.astype(np.float64) / deviation)


# -------------------------------------------------------------------------------------------------------- distances


def _euclidean_then(finish: Callable[[Any], Any]) -> Between:
    def between(A: Matrix, B: Matrix) -> Distances:
        if sp.issparse(A):
            a, b = (np.asarray(M.multiply(M).sum(axis=1)).ravel() for M in (A, B))
            square = a[:, None] + b - 2 * (A @ B.T).toarray()
            return np.asarray(finish(np.sqrt(np.maximum(square, 0))))
        return np.asarray(finish(cdist(A, B)))

    return between


def _by_scipy(metric: str, **parameters: Any) -> Between:
    return lambda A, B: np.nan_to_num(cdist(A, B, metric, **parameters), nan=0.0)  # 0/0 of rows of zeros


def minkowski(p: float) -> Formula:
    """The p-th root of the sum of the p-th powers of differences."""
    return Formula(_by_scipy("minkowski", p=p), _wide)


def _sparse_manhattan(A: Matrix, B: Matrix) -> Distances:
    from sklearn.metrics.pairwise import manhattan_distances

    return np.asarray(manhattan_distances(A, B), dtype=np.float64)


def _of_counts(rule: Callable[[Any, Any, Any, int], Any]) -> Between:
    """A metric of sets as a function of a (the number of columns in both sets), b and c (in only one of them), and the number m of columns.

    Equal sets have distance 0, as in UMAP, even if the formula says otherwise.
    """

    def between(A: Matrix, B: Matrix) -> Distances:
        both = A @ B.T
        a = np.asarray(both.toarray() if sp.issparse(both) else both, dtype=np.float64)
        b = np.asarray(A.sum(axis=1), dtype=np.float64).reshape(-1, 1) - a
        c = np.asarray(B.sum(axis=1), dtype=np.float64).reshape(1, -1) - a
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray(rule(a, b, c, A.shape[1]), dtype=np.float64)
        return np.where((b == 0) & (c == 0), 0.0, found)

    return between


def _sets_by(rule: Callable[[Any, Any, Any, int], Any], *, dense: bool = True) -> Formula:
    return Formula(_of_counts(rule), _sets, sparse=True, dense=dense)


def _reduced(prepare: Prepare, finish: Callable[[Any], Any], *, sparse: bool = False) -> Formula:
    return Formula(_euclidean_then(finish), prepare, sparse=sparse, finish=finish)


def _half_root(d: Any) -> Any:
    return d * np.sqrt(0.5)


def _arc(chord: Any) -> Any:
    return 2 * np.arcsin(np.minimum(1.0, chord / 2))


def _same(d: Any) -> Any:
    return d


def _yule(a: Any, b: Any, c: Any, m: int) -> Any:
    return np.where(b * c == 0, 0.0, 2 * b * c / (a * (m - a - b - c) + b * c))


FORMULAS: dict[str, Formula] = {
    "hellinger": _reduced(_root_shares, _half_root, sparse=True),
    "haversine": _reduced(_on_the_sphere, _arc),
    "mahalanobis": _reduced(_whitened, _same),
    "seuclidean": _reduced(_standardized, _same),
    "canberra": Formula(_by_scipy("canberra"), _wide),
    "braycurtis": Formula(_by_scipy("braycurtis"), _wide),
    "minkowski": minkowski(2.0),
    "dice": _sets_by(lambda a, b, c, m: (b + c) / (2 * a + b + c)),
    "russellrao": _sets_by(lambda a, b, c, m: (m - a) / m),
    "rogerstanimoto": _sets_by(lambda a, b, c, m: 2 * (b + c) / (m + b + c)),
    "sokalmichener": _sets_by(lambda a, b, c, m: 2 * (b + c) / (m + b + c)),
    "sokalsneath": _sets_by(lambda a, b, c, m: 2 * (b + c) / (a + 2 * (b + c))),
    "yule": _sets_by(_yule),
    "kulsinski": _sets_by(lambda a, b, c, m: (b + c - a + m) / (b + c + m)),
    "matching": _sets_by(lambda a, b, c, m: (b + c) / m),
    "manhattan": Formula(_sparse_manhattan, _wide, sparse=True, dense=False),
    "jaccard": _sets_by(lambda a, b, c, m: (b + c) / (a + b + c), dense=False),
}
