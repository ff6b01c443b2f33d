"""`combine`: one graph from the neighbour graphs of several tables of the same items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..checks import array, choice, refuse
from ..data.arrays import distinct
from ..errors import InvalidInputError
from ..typing import FloatArray
from .graph import Graph
from .origin import Origin

_WAYS = ("union", "intersection")


def combine(graphs: Sequence[Graph], how: str | Sequence[float] = "union") -> Graph:
    """One graph from several graphs on the same items, such as the neighbour graphs of several tables.

    The weights of each graph are first divided by their mean, so that no graph counts more because its weights are larger. Distances are
    divided by their mean too, because distances from different tables are not comparable.

    Parameters
    ----------
    graphs : list of Graph
        Two or more graphs, whose nodes are the same items in the same order.
    how : {"union", "intersection"} or list of float, default="union"
        "union" contains the pairs of every graph, with the mean of their weights (0 for a graph without the pair), so that neighbours in
        several tables attract more. "intersection" contains only pairs that are in all graphs, with the geometric mean. A list of numbers, one
        for each graph, gives the union with a weighted mean.

    Returns
    -------
    Graph
        If all graphs have distances, each pair has the mean of its distances. The graph has no neighbour lists; methods that only need
        weights, such as `winkel.MDE`, do not need them.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> upper, lower = (wk.graph.knn(part, 10) for part in (digits.X[:, :32], digits.X[:, 32:]))
    >>> wk.MDE(max_iter=20, random_state=0).fit(wk.graph.combine([upper, lower])).embedding_.shape
    (1797, 2)
    """
    if len(graphs) < 2 or not all(isinstance(graph, Graph) for graph in graphs):
        refuse("graphs", "a list of two or more graphs", graphs)
    n = graphs[0].n
    if any(graph.n != n for graph in graphs):
        sizes = ", ".join(str(graph.n) for graph in graphs)
        raise InvalidInputError(f"graphs to combine must have the same items; these have {sizes} nodes.")
    if isinstance(how, str):
        choice("how", how, _WAYS, also="a list of numbers, one for each graph")
        shares = np.full(len(graphs), 1 / len(graphs))
    else:
        given = array("how", how, (len(graphs),), low=0.0)
        if not given.sum() > 0:
            refuse("how", "numbers, at least one of them above 0", how)
        shares = given / given.sum()
    return _combined(graphs, shares, how == "intersection")


def _combined(graphs: Sequence[Graph], shares: FloatArray, intersect: bool) -> Graph:
    n, count = graphs[0].n, len(graphs)
    keys = [graph.edges[:, 0].astype(np.int64) * n + graph.edges[:, 1] for graph in graphs]
    pairs = distinct(np.concatenate(keys))
    weights, present = np.zeros((count, len(pairs))), np.zeros((count, len(pairs)), dtype=bool)
    lengths = np.zeros((count, len(pairs)))
    measured = all(graph.has_distances for graph in graphs)
    for each, (graph, key) in enumerate(zip(graphs, keys)):
        place = np.searchsorted(pairs, key)
        present[each, place] = True
        weights[each, place] = _over_mean(graph.weights)
        if measured:
            lengths[each, place] = _over_mean(graph.edge_distances)
    if intersect:
        kept = present.all(axis=0)
        if not kept.any():
            raise InvalidInputError(
                'no pair is in all graphs, so their intersection is empty; use how="union", or more neighbours.'
            )
        if weights.min() < 0:
            raise InvalidInputError('negative weights have no geometric mean; use how="union".')
        joined = np.exp(np.sum(np.log(np.maximum(weights[:, kept], 1e-300)) * shares[:, None], axis=0))
    else:
        kept = (present & (shares > 0)[:, None]).any(axis=0)
        joined = np.sum(weights[:, kept] * shares[:, None], axis=0)
    ends = np.column_stack(np.divmod(pairs[kept], n)).astype(np.int32)
    mean = lengths[:, kept].sum(axis=0) / np.maximum(present[:, kept].sum(axis=0), 1) if measured else None
    return Graph.from_edges(ends, joined, mean, n=n, origin=Origin("combined"))


def _over_mean(values: FloatArray) -> FloatArray:
    mean = float(np.mean(values, dtype=np.float64)) if len(values) else 1.0
    return values.astype(np.float64) / (abs(mean) or 1.0)
