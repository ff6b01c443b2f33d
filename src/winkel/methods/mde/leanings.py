"""Optional changes of the attractions: labels that draw rows together, and densities that the map should show.

Both multiply the weights of attracting pairs, in any problem of the plan; the sum of the weights stays the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import number
from ...errors import InvalidInputError, InvalidParameterError
from ...graph import Graph
from ...problem import Problem, penalties
from ...typing import FloatArray, IntArray
from ..labels import known_labels, read_labels, unknown_label
from .distinct import Items

_WIDEST = 10.0  # a local radius this many times the usual one, or a part of it, counts as that


@dataclass(frozen=True, eq=False)
class Leanings:
    """`labels` are a class (whole numbers, −1 unknown) or a number (NaN unknown) for each row; None if there are no labels."""

    label_weight: float = 0.0
    labels: NDArray[Any] | None = None
    density: float = 0.0

    @classmethod
    def of(cls, label_weight: Any, density: Any, y: Any, n: int, preserve: str) -> Leanings | None:
        """The leanings for the parameters, checked; None if there are none."""
        weight, dense = number("label_weight", label_weight, 0.0, 1.0), number("density", density, 0.0, 1.0)
        if weight == 0 and dense == 0:
            return None
        if preserve != "neighbors":
            name = "label_weight" if weight else "density"
            raise InvalidParameterError(
                f'{name} only works with preserve="neighbors"; leave it at 0 with preserve={preserve!r}.'
            )
        if weight and y is None:
            raise InvalidParameterError(
                f"label_weight={weight:g} needs labels: call fit(X, y), where -1 or NaN marks rows whose label is unknown."
            )
        return cls(weight, read_labels(y, n) if weight else None, dense)

    def of_items(self, items: Items) -> Leanings:
        """The leanings of items: the label of their equal rows, or unknown if these have different labels."""
        if self.labels is None:
            return self
        present = items.of >= 0
        known = known_labels(self.labels)
        first = np.full(len(items.rows), -1)
        rows = np.flatnonzero(present & known)[::-1]
        first[items.of[rows]] = rows  # the first known of each item
        labels = np.where(first >= 0, self.labels[first], unknown_label(self.labels))
        several = np.zeros(len(items.rows), dtype=bool)
        np.logical_or.at(several, items.of[rows], self.labels[rows] != labels[items.of[rows]])
        labels[several] = unknown_label(self.labels)
        return replace(self, labels=labels)

    def lean(self, problem: Problem, graph: Graph | None) -> Problem:
        """The problem with its attractions changed accordingly."""
        pulls = problem.distortion
        if not isinstance(pulls, penalties.PushAndPull):
            raise InvalidParameterError(
                "label_weight and density need pairs that attract and pairs that repel."
            )
        attract = np.flatnonzero(pulls.weights > 0)
        factor = np.ones(len(attract))
        edges = problem.edges[attract]
        if self.labels is not None:
            factor *= label_factors(self.labels, edges, self.label_weight)
        if self.density:
            factor *= density_factors(graph, edges, self.density)
        weights = np.array(pulls.weights, dtype=np.float64)
        before = float(np.sum(weights[attract]))
        after = float(np.sum(weights[attract] * factor))
        if after <= 0:
            raise InvalidInputError(
                "no two neighbours have the same label, so that label_weight=1 leaves no attraction."
            )
        weights[attract] *= factor * (before / after)
        return problem.with_distortion(penalties.PushAndPull(weights, pulls.attractive, pulls.repulsive))


def label_factors(labels: NDArray[Any], edges: IntArray, weight: float) -> FloatArray:
    """The factor of a pair's attraction: 1 for the same class, 1 − weight for different classes, and 1 if a label is unknown.

    For numbers, exp(−(Δ/s)²) interpolates between the two, where s is their standard deviation.
    """
    known = known_labels(labels)
    both = known[edges].all(axis=1)
    a, b = labels[edges[:, 0]], labels[edges[:, 1]]
    if labels.dtype.kind == "f":
        scale = float(np.std(labels[known])) if known.any() else 0.0
        with np.errstate(invalid="ignore"):
            alike = np.exp(-(((a - b) / (scale or 1.0)) ** 2))
    else:
        alike = (a == b).astype(np.float64)
    return np.where(both, 1 - weight * (1 - np.where(both, alike, 1.0)), 1.0)


def density_factors(graph: Graph | None, edges: IntArray, strength: float) -> FloatArray:
    """The factor of a pair's attraction such that rows in sparse regions are also far apart in the map.

    It is (r_i r_j)^(−strength), where r is the mean distance to the neighbours in the data, divided by its geometric mean.
    """
    if graph is None or not graph.has_distances:
        raise InvalidInputError("density needs distances between neighbours, and this graph has none.")
    radius = local_radii(graph)
    positive = radius[radius > 0]
    usual = float(np.exp(np.mean(np.log(positive)))) if len(positive) else 1.0
    relative = np.clip(radius / usual, 1 / _WIDEST, _WIDEST)
    return np.asarray((relative[edges[:, 0]] * relative[edges[:, 1]]) ** -strength)


def local_radii(graph: Graph) -> FloatArray:
    """The mean distance of each row to its neighbours."""
    if graph.knn_indices is not None and graph.knn_distances is not None:
        there = graph.knn_indices >= 0
        total = np.where(there, graph.knn_distances, 0.0).astype(np.float64).sum(axis=1)
        return total / np.maximum(there.sum(axis=1), 1)
    total = np.asarray(graph.distances.sum(axis=1), dtype=np.float64).ravel()
    return total / np.maximum(graph.degree, 1)
