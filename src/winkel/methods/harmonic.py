"""Harmonic placement on a graph: items with given positions or labels, all others at the weighted mean of their neighbours.

Both are anchored quadratic problems (Agrawal et al. 2021, section 2.4.2), solved as linear systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..embedding import Embedding
from ..errors import InvalidInputError
from ..graph import Graph
from ..graph.laplacian import require_nonnegative_weights
from ..problem import Anchored, Problem, Pulls, penalties
from ..problem.exact import unreachable


@dataclass(frozen=True, eq=False)
class PropagatedLabels:
    """A label for each item, and how much each class speaks for it.

    `scores` (n × classes) are between 0 and 1 and sum to 1 in each row: the chance that a random walk along
    the weights meets that class first. Items that no chain of edges ties to a labelled one are not `reached`:
    they keep the mark of an unknown label, and their scores are 0.
    """

    labels: NDArray[Any]
    scores: NDArray[np.float64]
    classes: NDArray[Any]
    reached: NDArray[np.bool_]


def place_items(
    graph: Graph,
    indices: ArrayLike,
    positions: ArrayLike,
    *,
    pulls: Pulls | None = None,
    n_jobs: int | None = None,
) -> Embedding:
    """The map in which the named items have the given positions and Σ w‖yᵢ − yⱼ‖² over the graph's edges is smallest.

    This is quadratic placement: no item lies outside the hull of the given positions and the pulls' targets.
    """
    require_nonnegative_weights(graph, "placing items")
    anchors = Anchored(indices, positions)
    problem = _quadratic(graph, anchors, anchors.values.shape[1], pulls, n_jobs)
    return problem.solve(solver="linear")


def propagate_labels(
    graph: Graph, labels: ArrayLike, *, unknown: object = -1, n_jobs: int | None = None
) -> PropagatedLabels:
    """Labels for all items of a graph, from those of some.

    `labels` has one entry an item, which is `unknown` where the label is to be found. The known ones are
    anchors at the corners of a simplex, a corner a class; each other item takes the class whose corner it is
    nearest to in the quadratic problem.
    """
    require_nonnegative_weights(graph, "propagating labels")
    given, known = _known(graph, labels, unknown)
    classes, corner = np.unique(given[known], return_inverse=True)
    items = np.flatnonzero(known)
    anchors = Anchored(items, np.eye(len(classes))[corner])
    whole = _quadratic(graph, anchors, len(classes), None, n_jobs)
    lost = unreachable(whole, graph.weights.astype(np.float64))
    scores = np.zeros((graph.n, len(classes)))
    scores[~lost] = _placed(graph, anchors, ~lost, n_jobs)
    found = given.copy()
    found[~lost] = classes[np.argmax(scores[~lost], axis=1)]
    found[known] = given[known]
    for array in (found, scores, classes, lost):
        array.flags.writeable = False
    return PropagatedLabels(found, scores, classes, ~lost)


def _placed(
    graph: Graph, anchors: Anchored, keep: NDArray[np.bool_], n_jobs: int | None
) -> NDArray[np.float64]:
    """Positions of the kept items, which are whole components, without the others."""
    if not keep.all():
        number = np.cumsum(keep) - 1
        inside = keep[graph.edges[:, 0]]
        if not inside.any():
            return np.asarray(anchors.values)  # labelled items alone, none of which has an edge
        graph = Graph.from_edges(number[graph.edges[inside]], graph.weights[inside], n=int(keep.sum()))
        anchors = Anchored(number[anchors.indices], anchors.values)
    problem = _quadratic(graph, anchors, anchors.values.shape[1], None, n_jobs)
    return np.clip(problem.solve(solver="linear").Y, 0.0, 1.0)


def _quadratic(
    graph: Graph, anchors: Anchored, n_components: int, pulls: Pulls | None, n_jobs: int | None
) -> Problem:
    if graph.n_edges == 0:
        raise InvalidInputError("the graph has no edges, so nothing ties the items to one another.")
    weights = graph.weights.astype(np.float64)
    return Problem(
        graph.edges,
        penalties.Quadratic(weights),
        n_items=graph.n,
        n_components=n_components,
        constraint=anchors,
        pulls=pulls,
        n_jobs=n_jobs,
    )


def _known(graph: Graph, labels: ArrayLike, unknown: object) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    given = np.array(labels)
    if given.shape != (graph.n,):
        raise InvalidInputError(
            f"labels must hold one entry an item, {graph.n} of them; got shape {given.shape}."
        )
    known = np.asarray(given != unknown)
    if known.shape != given.shape or not known.any():
        raise InvalidInputError(
            f"No item has a label: every entry is {unknown!r}, the mark of an unknown one. Label at least one item of "
            "each class, or say by `unknown` which mark stands for the others."
        )
    return given, known
