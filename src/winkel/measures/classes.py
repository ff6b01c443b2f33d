"""How well a map shows known classes: by a vote of nearest neighbours, and by clusters."""

from __future__ import annotations

import warnings
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..data.frames import is_missing, plain_column
from ..errors import DataWarning, InvalidInputError
from ..run import Run
from ..typing import FloatArray, IntArray
from .registry import Value
from .sampling import share_interval
from .sources import Rows, nearest_in_map

Codes = NDArray[np.int64]

_TEST_SHARE, _MOST_TESTED = 0.2, 10_000
_STARTS = 3  # of k-means


def class_codes(labels: ArrayLike, n: int) -> Codes:
    """The labels of n rows as 0, 1, ..., and −1 where they are unknown: NaN, empty, or of integers below 0, as in a fit."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise InvalidInputError(
            f"labels must hold one entry for each of the {n} rows; got shape {given.shape}."
        )
    if given.dtype.kind == "O":
        odd = [value for value in given if not (isinstance(value, str | Number) or is_missing(value))]
        if odd:
            raise InvalidInputError(
                f"labels must be numbers or text; got an entry of type {type(odd[0]).__name__}."
            )
    classes = plain_column(given)
    unknown = _unknown(classes)
    if unknown.all():
        raise InvalidInputError("labels are unknown (−1, NaN or empty) for all rows; some must be known.")
    codes = np.full(n, -1, dtype=np.int64)
    codes[~unknown] = np.unique(classes[~unknown], return_inverse=True)[1]
    if unknown.any():
        warnings.warn(
            f"{unknown.sum()} of {n} rows have an unknown label (−1, NaN or empty); scores of labels leave them out. If such "
            "a value is a class of its own, give it a name.",
            DataWarning,
            stacklevel=5,
        )
    return codes


def _unknown(classes: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels mean that the class is not known."""
    if classes.dtype.kind == "f":
        return np.isnan(classes)
    if classes.dtype.kind == "i":
        return classes < 0
    return np.isin(classes, ("", "nan")) if classes.dtype.kind in "UT" else np.zeros(len(classes), dtype=bool)


def voting_accuracy(Y: FloatArray, codes: Codes, k: int, run: Run) -> Value:
    """Share of test rows whose class is the most frequent among their k nearest training rows in the map.

    A fifth of the rows whose class is known (at most 10 000) is drawn for testing, and the others vote. If classes have equally many
    votes, the one with the nearest voter wins.
    """
    known = np.flatnonzero(codes >= 0)
    n = len(known)
    if n < 2:
        raise InvalidInputError("labels are known for one row only; label_accuracy needs two.")
    order = known[run.stream("test rows").permutation(n)]
    n_test = min(_MOST_TESTED, max(1, round(_TEST_SHARE * n)))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    voters = nearest_in_map(Y[train], Y[test], min(k, len(train)), run)
    right = leading(codes[train][voters], int(codes.max()) + 1) == codes[test]
    per_point = np.full(len(Y), np.nan)
    per_point[test] = right
    return Value(float(right.mean()), per_point, share_interval(int(right.sum()), n_test), n_test)


def leading(votes: IntArray, n_classes: int) -> IntArray:
    """The most frequent of each row's votes; of equally frequent ones the first to be met."""
    count = np.zeros((len(votes), n_classes))
    rows = np.arange(len(votes))
    for place, vote in enumerate(votes.T):
        count[rows, vote] += 1 + (votes.shape[1] - place) * 1e-9  # nearer voters decide ties, no more
    return count.argmax(axis=1)


def kmeans_accuracy(Y: FloatArray, codes: Codes, rows: Rows, run: Run) -> Value:
    """Share of rows that k-means of the map, with as many clusters as classes, puts into the cluster of their class."""
    from sklearn.cluster import KMeans

    rows = rows[codes[rows] >= 0] if (codes[rows] >= 0).any() else np.flatnonzero(codes >= 0)
    n_clusters = min(len(np.unique(codes[rows])), len(np.unique(Y[rows], axis=0)))
    with threadpool_limits(1):  # the same clusters for any number of threads
        kmeans = KMeans(n_clusters, n_init=_STARTS, random_state=run.seed % 2**32)
        clusters = kmeans.fit_predict(Y[rows].astype(np.float64))
    value = clustering_accuracy(codes[rows], clusters)
    if len(rows) == np.count_nonzero(codes >= 0):
        return Value(value)
    interval = share_interval(round(value * len(rows)), len(rows))
    return Value(value, interval=interval, n_sampled=len(rows))


def clustering_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Share of rows in the right cluster under the best one-to-one matching of clusters and classes.

    The best matching is an assignment problem, which the Hungarian method solves. If there are more clusters than
    classes (or more classes than clusters), the rows of those without a partner count as wrong.
    """
    classes, found = _codes("labels", labels), _codes("clusters", clusters)
    if classes.shape != found.shape:
        raise InvalidInputError(
            f"labels and clusters must have one entry per row each; got {len(classes)} and {len(found)} entries."
        )
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((int(classes.max()) + 1, int(found.max()) + 1), dtype=np.int64)
    np.add.at(table, (classes, found), 1)
    return float(table[linear_sum_assignment(table, maximize=True)].sum()) / len(classes)


def _codes(name: str, values: ArrayLike) -> IntArray:
    """0, 1, ... for the different values of a vector."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInputError(
            f"{name} must be a vector with one entry per row, at least one; got shape {array.shape}."
        )
    return np.unique(array, return_inverse=True)[1]
