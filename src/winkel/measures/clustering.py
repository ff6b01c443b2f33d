"""`clustering_accuracy`: how well clusters agree with known classes, whatever the clusters are called."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInputError
from ..typing import IntArray


def clustering_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Share of rows in the right cluster when clusters are matched to classes, one to one, as well as can be.

    The matching that keeps most rows is an assignment problem, which the Hungarian method solves. A cluster beyond the
    number of classes (or a class beyond the number of clusters) has no partner, and its rows count as wrong.
    """
    classes, found = _codes("labels", labels), _codes("clusters", clusters)
    if classes.shape != found.shape:
        raise InvalidInputError(
            f"labels and clusters must have one entry a row each; got {len(classes)} and {len(found)} entries."
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
            f"{name} must be a vector with one entry a row, at least one; got shape {array.shape}."
        )
    return np.unique(array, return_inverse=True)[1]
