"""Harmonic placement on a graph: some items have known positions or labels, and all others are at the mean of their neighbours.

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
    """A label for each item, and a score for each class.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The label of each item.
    scores : ndarray of shape (n, n_classes)
        Between 0 and 1, and 1 in sum over each row: the probability that a random walk along the weights meets that class first.
    classes : ndarray of shape (n_classes,)
        The labels of the columns of `scores`.
    reached : ndarray of bool, shape (n,)
        Whether a chain of edges connects the item to a labelled item. Other items keep the mark of an unknown label, and scores of 0.
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
    """The map in which the items `indices` have known positions and Σ w‖yᵢ − yⱼ‖² over the edges of the graph is smallest.

    This is quadratic placement: no item is outside the convex hull of the known positions and the targets of the pulls.

    Parameters
    ----------
    graph : Graph
        The graph of the items; weights must not be negative.
    indices : array of int, shape (k,)
        The items whose positions are known.
    positions : array of shape (k, n_components)
        Their positions.
    pulls : Pulls or None, default=None
        Positions to which further items are drawn.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    Embedding
        The map of all items.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.harmonic import place_items
    >>> path = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    >>> place_items(path, [0, 3], [[0.0], [3.0]]).Y[:, 0].round(6)
    array([0., 1., 2., 3.])
    """
    require_nonnegative_weights(graph, "placing items")
    anchors = Anchored(indices, positions)
    problem = _quadratic(graph, anchors, anchors.values.shape[1], pulls, n_jobs)
    return problem.solve(solver="linear")


def propagate_labels(
    graph: Graph, labels: ArrayLike, *, unknown: object = -1, n_jobs: int | None = None
) -> PropagatedLabels:
    """Labels for all items of a graph, from those of a few.

    The labelled items are anchored at the corners of a simplex, one corner for each class. Every other item gets the class of the
    nearest corner in the solution of the quadratic problem.

    Parameters
    ----------
    graph : Graph
        The graph of the items; weights must not be negative.
    labels : array of shape (n,)
        One entry for each item; `unknown` if the label has to be found.
    unknown : object, default=-1
        The mark of items without a label.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    PropagatedLabels
        Labels, and a score of each class for each item.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.harmonic import propagate_labels
    >>> path = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    >>> propagate_labels(path, [0, -1, -1, 1]).labels
    array([0, 0, 1, 1])
    """
    require_nonnegative_weights(graph, "propagating labels")
    found, known = _labelled(graph, labels, unknown)
    classes, corner = np.unique(found[known], return_inverse=True)
    items = np.flatnonzero(known)
    anchors = Anchored(items, np.eye(len(classes))[corner])
    whole = _quadratic(graph, anchors, len(classes), None, n_jobs)
    lost = unreachable(whole, graph.weights.astype(np.float64))
    scores = np.zeros((graph.n, len(classes)))
    scores[~lost] = _placed(graph, anchors, ~lost, n_jobs)
    free = ~lost & ~known
    found[free] = classes[np.argmax(scores[free], axis=1)]
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
        raise InvalidInputError("the graph has no edges, so nothing connects the items.")
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


def _labelled(graph: Graph, labels: ArrayLike, unknown: object) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A copy of the labels, and which of them are known."""
    marked = np.array(labels)
    if marked.shape != (graph.n,):
        raise InvalidInputError(
            f"labels must hold one entry for each item, {graph.n} of them; got shape {marked.shape}."
        )
    known = np.asarray(marked != unknown)
    if known.shape != marked.shape or not known.any():
        raise InvalidInputError(
            f"No item has a label: every entry is {unknown!r}, the mark of an unknown label. Label at least one item of "
            "each class, or set `unknown` to the mark that you use for the other items."
        )
    return marked, known
