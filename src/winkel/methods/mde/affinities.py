"""How strongly neighbours attract each other in the default map: by their distances, at two scales.

A row gives half of its attraction to its nearest neighbours and half to a wider surrounding. The first half keeps the order of
the few nearest, which weights alike for all neighbours lose; the second half keeps the shape of what is farther away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...graph import Graph
from ...graph.graph import graph_of_lists
from ...run import Run
from ...typing import FloatArray

# Perplexities of the two scales, in terms of n_neighbors: 12 and 60 for the usual 15.
NEAR, WIDE = 0.8, 4.0
# Neighbours that are listed for them, in terms of n_neighbors, at least and at most; between, as many as make PAIRS entries in
# all: a search of few rows finds long lists as fast as short ones, one of many rows does not.
SHORTEST, LONGEST, PAIRS = 2, 10, 2_000_000
_SURROUNDING = 5  # a fifth of all rows is no surrounding any more


def list_length(n: int, n_neighbors: int) -> int:
    """How many neighbours of each of n rows the affinities want."""
    most = int(np.clip(PAIRS // n, SHORTEST * n_neighbors, LONGEST * n_neighbors))
    return min(most, n // _SURROUNDING)


def has_full_lists(graph: Graph) -> bool:
    """Whether the graph lists as many neighbours, with their distances, for every row."""
    return (
        graph.knn_indices is not None
        and graph.knn_distances is not None
        and graph.knn_indices.shape[1] > 0
        and bool(np.isfinite(graph.knn_distances[:, -1]).all())
    )


def affinities(graph: Graph, n_neighbors: int, run: Run) -> tuple[NDArray[np.int32], FloatArray]:
    """Pairs i < j of rows of which one lists the other, and what each of the two gives to the other, summed; one on average.

    All rows give as much in all: the mean of two Gaussians of its distances, whose perplexities (Hinton and Roweis 2002)
    are `NEAR` and `WIDE` times `n_neighbors`; a list shorter than that is weighed evenly.
    """
    index, distance = graph.knn_indices, graph.knn_distances
    assert index is not None
    assert distance is not None
    lists, gifts = np.ascontiguousarray(index), given(distance, n_neighbors, run)
    # Of a pair that lists each other the core keeps the smaller entry: of the negatives, the larger.
    pairs, directions, smaller = _core.symmetrize_knn(lists, gifts, run.n_jobs)
    np.negative(gifts, out=gifts)
    larger = -np.asarray(_core.symmetrize_knn(lists, gifts, run.n_jobs)[2])
    del gifts
    weights = np.where(directions == 2, smaller + larger, larger).astype(np.float64)
    weights /= weights.mean()
    return pairs, weights


def given(distance: FloatArray, n_neighbors: int, run: Run) -> FloatArray:
    """What each row gives to those that it lists, by their distances: one in all, each row by itself."""
    lengths = np.ascontiguousarray(distance)
    near = _core.calibrate_perplexity(lengths, max(1.0, NEAR * n_neighbors), run.n_jobs)
    wide = _core.calibrate_perplexity(lengths, WIDE * n_neighbors, run.n_jobs)
    near += wide
    near *= near.dtype.type(0.5)
    return np.asarray(near)


def shortened(graph: Graph, n_neighbors: int) -> Graph:
    """The graph of the first `n_neighbors` of each list."""
    index, distance = graph.knn_indices, graph.knn_distances
    if index is None or distance is None or index.shape[1] <= n_neighbors:
        return graph
    origin = replace(graph.origin, n_neighbors=n_neighbors)
    return graph_of_lists(index[:, :n_neighbors], distance[:, :n_neighbors], origin)
