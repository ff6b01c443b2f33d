"""Classical multidimensional scaling and Isomap: weights are double-centred squared distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data import as_matrix
from ...errors import InvalidInputError
from ...graph import Graph, knn, shortest_paths
from ...resources import check_memory, parse_memory
from ...solvers.eigen import check_components
from ...typing import FloatArray, Metric
from .gram import require_symmetric
from .result import Quadratic, solve_all_pairs

Matrix = NDArray[np.float64]


def _minus_half_squares(distances: FloatArray) -> Callable[[int, int], Matrix]:
    return lambda start, stop: -0.5 * np.square(distances[start:stop], dtype=np.float64)


def classical_mds(
    distances: Any, n_components: int = 2, *, max_memory: int | float | str | None = None
) -> Quadratic:
    """Classical multidimensional scaling: weights w = −½ J D² J of the squared distances, for all pairs.

    `distances` is a symmetric n × n matrix with a zero diagonal. `to_textbook()` gives the coordinates whose
    distances approximate them; where they are distances of points in n_components dimensions it gives the
    points back, turned. n_components may be up to the number of positive eigenvalues.
    """
    D = as_matrix(distances, name="distances", allow_sparse=False)
    require_symmetric(D, "the matrix of distances")
    if D.min() < 0 or np.diagonal(D).any():
        raise InvalidInputError(
            f"distances must not be negative and their diagonal must be zero; the smallest is {D.min()} and "
            f"the diagonal has {np.count_nonzero(np.diagonal(D))} nonzero entries."
        )
    check_components(n_components, len(D) - 1, f"{len(D)} points span at most {len(D) - 1} dimensions")
    return solve_all_pairs(
        "classical_mds", len(D), _minus_half_squares(D), n_components, max_memory, "the matrix of distances"
    )


def isomap(
    X: Any,
    n_components: int = 2,
    *,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> Quadratic:
    """Isomap: classical multidimensional scaling of the lengths of shortest paths in a neighbour graph.

    `X` is data, from which the exact graph of `n_neighbors` is made, or a Graph with distances. The graph
    must be connected. `to_textbook()` gives the coordinates.
    """
    graph = connected_graph(X, n_neighbors, metric, n_jobs, "isomap")
    check_components(n_components, graph.n - 1, f"{graph.n} points span at most {graph.n - 1} dimensions")
    check_memory(
        16.0 * graph.n**2,
        parse_memory(max_memory),
        f"isomap of {graph.n} items",
        "Give fewer items or a larger max_memory.",
    )
    paths = shortest_paths(graph, n_jobs=n_jobs)
    # A path and its way back add the same lengths in another order: the smaller sum stands for both.
    paths = np.minimum(paths, paths.T)
    return solve_all_pairs(
        "isomap", graph.n, _minus_half_squares(paths), n_components, max_memory, "the matrix of path lengths"
    )


def connected_graph(X: Any, n_neighbors: int, metric: Metric, n_jobs: int | None, method: str) -> Graph:
    """The graph given, or the exact neighbour graph of data; an error if it is in pieces."""
    graph = X if isinstance(X, Graph) else knn(X, n_neighbors, metric=metric, method="exact", n_jobs=n_jobs)
    count, labels = graph.components()
    if count > 1:
        sizes = np.bincount(labels)
        raise InvalidInputError(
            f"{method} needs a connected graph; this one has {count} components, the largest of {sizes[0]} of "
            f"{graph.n} items, so paths between them have no length. Give a larger n_neighbors, or one "
            "component: graph.subgraph(graph.components()[1] == 0)."
        )
    return graph
