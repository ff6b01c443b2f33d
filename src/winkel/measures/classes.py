"""How well known classes show in a map: nearest neighbours that vote, and clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..errors import InvalidInputError
from ..run import Run
from ..typing import FloatArray, IntArray
from .registry import Value
from .sampling import share_interval
from .sources import Rows, nearest_in_map

Codes = NDArray[np.int64]

_TEST_SHARE, _MOST_TESTED = 0.2, 10_000
_STARTS = 3  # of k-means


def class_codes(labels: ArrayLike, n: int) -> Codes:
    """The labels of n rows as 0, 1, ..."""
    classes = np.asarray(labels)
    if classes.shape != (n,):
        raise InvalidInputError(
            f"labels must hold one entry for each of the {n} rows; got shape {classes.shape}."
        )
    if classes.dtype.kind == "f" and np.isnan(classes).any():
        raise InvalidInputError(
            "labels must not be NaN; leave those rows out of the data, the map and labels."
        )
    try:
        return np.unique(classes, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise InvalidInputError(
            f"labels must be numbers or text, all of one kind, so that they can be put in order ({error})."
        ) from None


def voting_accuracy(Y: FloatArray, codes: Codes, k: int, run: Run) -> Value:
    """Share of test rows whose class leads among their k nearest training rows in the map.

    A fifth of the rows (at most 10 000) is drawn for testing, the others vote; of classes with as many votes the one with
    the nearest voter leads.
    """
    n = len(Y)
    order = run.stream("test rows").permutation(n)
    n_test = min(_MOST_TESTED, max(1, round(_TEST_SHARE * n)))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    voters = nearest_in_map(Y[train], Y[test], min(k, len(train)), run)
    right = leading(codes[train][voters], int(codes.max()) + 1) == codes[test]
    per_point = np.full(n, np.nan)
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
    """Share of rows that k-means of the map, with as many clusters as classes, puts with their class's cluster."""
    from sklearn.cluster import KMeans

    n_clusters = min(len(np.unique(codes[rows])), len(np.unique(Y[rows], axis=0)))
    with threadpool_limits(1):  # the same clusters for any number of threads
        kmeans = KMeans(n_clusters, n_init=_STARTS, random_state=run.seed % 2**32)
        clusters = kmeans.fit_predict(Y[rows].astype(np.float64))
    value = clustering_accuracy(codes[rows], clusters)
    if len(rows) == len(Y):
        return Value(value)
    interval = share_interval(round(value * len(rows)), len(rows))
    return Value(value, interval=interval, n_sampled=len(rows))


def clustering_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Share of rows in the right cluster when clusters are matched to classes, one to one, as well as can be.

    The matching that keeps most rows is an assignment problem, which the Hungarian method solves. A cluster beyond the
    number of classes (or a class beyond the number of clusters) has no partner, and its rows count as wrong.
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
