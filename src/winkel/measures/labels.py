"""Scores of how well known labels show in a map: nearest neighbours that vote, and clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..data import as_matrix
from ..errors import InvalidInputError
from ..random import Stream
from ..resources import resolve_seed
from ..typing import FloatArray, IntArray, RandomState
from .clustering import clustering_accuracy
from .nearest import nearest_in
from .sampling import sampled_rows, share_interval
from .score import Score

_TEST_SHARE, _MOST_TESTED = 0.2, 10_000
_STARTS = 3  # of k-means


def label_accuracy(
    Y: ArrayLike,
    labels: ArrayLike,
    *,
    n_neighbors: int = 15,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Score:
    """Share of test rows whose label leads among their nearest training rows in the map.

    A fifth of the rows (at most 10 000) is drawn for testing, the others vote; of labels with as many votes the one with
    the nearest voter leads.
    """
    values, codes = check_labels(Y, labels)
    n = len(values)
    order = Stream.named(resolve_seed(random_state), "test rows").permutation(n)
    n_test = min(_MOST_TESTED, max(1, round(_TEST_SHARE * n)))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    near = nearest_in(values[train], values[test], min(n_neighbors, len(train)), n_jobs)
    right = leading(codes[train][near], int(codes.max()) + 1) == codes[test]
    per_point = np.full(n, np.nan)
    per_point[test] = right
    return Score(
        "label_accuracy",
        float(right.mean()),
        (0.0, 1.0),
        True,
        f"Share of held-out rows that get their label from their {near.shape[1]} nearest rows in the map.",
        per_point=per_point,
        interval=share_interval(int(right.sum()), n_test),
        n_sampled=n_test,
    )


def leading(votes: IntArray, n_classes: int) -> IntArray:
    """The most frequent of each row's votes; of equally frequent ones the first to be met."""
    count = np.zeros((len(votes), n_classes))
    rows = np.arange(len(votes))
    for place, vote in enumerate(votes.T):
        count[rows, vote] += 1 + (votes.shape[1] - place) * 1e-9  # nearer voters decide ties, no more
    return count.argmax(axis=1)


def map_clustering_accuracy(
    Y: ArrayLike,
    labels: ArrayLike,
    *,
    sample: str | int | None = "auto",
    random_state: RandomState = None,
) -> Score:
    """Share of rows that k-means of the map, with as many clusters as labels, puts with their label's cluster."""
    from sklearn.cluster import KMeans

    values, codes = check_labels(Y, labels)
    seed = resolve_seed(random_state)
    rows = sampled_rows(len(values), sample, seed)
    n_clusters = min(len(np.unique(codes[rows])), len(np.unique(values[rows], axis=0)))
    with threadpool_limits(1):  # the same clusters for any number of threads
        clusters = KMeans(n_clusters, n_init=_STARTS, random_state=seed % 2**32).fit_predict(
            values[rows].astype(np.float64)
        )
    value = clustering_accuracy(codes[rows], clusters)
    sampled = len(rows) < len(values)
    return Score(
        "clustering_accuracy",
        value,
        (0.0, 1.0),
        True,
        "Share of rows that k-means of the map puts where most of their label are, as many clusters as labels.",
        interval=share_interval(round(value * len(rows)), len(rows)) if sampled else None,
        n_sampled=len(rows) if sampled else None,
    )


def check_labels(Y: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, NDArray[np.int64]]:
    """The map, and its labels as 0, 1, ..."""
    values = as_matrix(getattr(Y, "Y", Y), name="Y", allow_sparse=False)
    given = np.asarray(labels)
    if given.shape != (len(values),):
        raise InvalidInputError(
            f"labels must hold one entry for each of the {len(values)} rows; got shape {given.shape}."
        )
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise InvalidInputError("labels must not be NaN; leave those rows out of X, Y and labels.")
    return values, np.unique(given, return_inverse=True)[1].astype(np.int64)
