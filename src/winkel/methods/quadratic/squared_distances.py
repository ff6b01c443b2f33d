"""Classical multidimensional scaling and Isomap: weights are double-centred squared distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data import as_matrix
from ...errors import InvalidInputError
from ...graph import Graph, neighbor_graph, path_matrix
from ...run import Run
from ...solvers.eigen import check_components
from ...typing import FloatArray, Metric
from .inner_products import require_symmetric
from .result import Quadratic, solve_all_pairs

Matrix = NDArray[np.float64]


def classical_mds(
    distances: Any, n_components: int = 2, *, max_memory: int | float | str | None = None
) -> Quadratic:
    """Classical multidimensional scaling: weights w = −½ J D² J of the squared distances, for all pairs.

    `to_textbook()` returns coordinates whose distances approximate the given distances. If these are distances of points in
    `n_components` dimensions, it returns those points, up to a rotation.

    Parameters
    ----------
    distances : array of shape (n, n)
        A symmetric matrix of distances with a zero diagonal.
    n_components : int, default=2
        Dimension of the map, up to the number of positive eigenvalues.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB".

    Returns
    -------
    Quadratic
        The weights and the exact solution.

    Examples
    --------
    >>> import numpy as np
    >>> import winkel as wk
    >>> corners = np.array([[0, 0], [0, 3], [4, 0], [4, 3]])
    >>> distances = np.linalg.norm(corners[:, None] - corners, axis=2)
    >>> Y = wk.quadratic.classical_mds(distances).to_textbook()
    >>> np.allclose(np.linalg.norm(Y[:, None] - Y, axis=2), distances)
    True
    """
    run = Run.of(random_state=0, max_memory=max_memory)
    D = as_matrix(distances, name="distances", allow_sparse=False)
    require_symmetric(D, "the matrix of distances")
    if D.min() < 0 or np.diagonal(D).any():
        raise InvalidInputError(
            f"distances must not be negative and their diagonal must be zero; the smallest is {D.min()} and "
            f"the diagonal has {np.count_nonzero(np.diagonal(D))} nonzero entries."
        )
    check_components(n_components, len(D) - 1, f"{len(D)} points span at most {len(D) - 1} dimensions")
    return solve_all_pairs(
        "classical_mds", len(D), _minus_half_squares(D), n_components, run, "the matrix of distances"
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

    `to_textbook()` returns the coordinates.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Graph
        Rows, from which the exact neighbour graph is made, or a graph with distances. It must be connected.
    n_components : int, default=2
        Dimension of the map.
    n_neighbors : int, default=15
        Number of neighbours of each row.
    metric : str or callable, default="euclidean"
        The metric of `winkel.graph.knn`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB".

    Returns
    -------
    Quadratic
        The weights and the exact solution.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> wk.quadratic.isomap(digits.X[:300], n_neighbors=25).to_textbook().shape
    (300, 2)
    """
    run = Run.of(random_state=0, n_jobs=n_jobs, max_memory=max_memory)
    graph = connected_graph(X, n_neighbors, metric, run, "isomap")
    check_components(n_components, graph.n - 1, f"{graph.n} points span at most {graph.n - 1} dimensions")
    run.check_memory(
        16.0 * graph.n**2, f"isomap of {graph.n} items", "Give fewer items or a larger max_memory."
    )
    paths = path_matrix(graph, run)
    # A path and its way back add the same lengths in another order: the smaller sum stands for both.
    paths = np.minimum(paths, paths.T)
    return solve_all_pairs(
        "isomap", graph.n, _minus_half_squares(paths), n_components, run, "the matrix of path lengths"
    )


def connected_graph(X: Any, n_neighbors: int, metric: Metric, run: Run, method: str) -> Graph:
    """X if it is a graph, or the exact neighbour graph of rows; an error if it is in pieces."""
    graph = X if isinstance(X, Graph) else neighbor_graph(X, n_neighbors, run, metric=metric, method="exact")
    count, labels = graph.components()
    if count > 1:
        sizes = np.bincount(labels)
        raise InvalidInputError(
            f"{method} needs a connected graph; this one has {count} components, the largest of {sizes[0]} of "
            f"{graph.n} items, so paths between them have no length. Give a larger n_neighbors, or one "
            "component: graph.subgraph(graph.components()[1] == 0)."
        )
    return graph


def _minus_half_squares(distances: FloatArray) -> Callable[[int, int], Matrix]:
    return lambda start, stop: -0.5 * np.square(distances[start:stop], dtype=np.float64)
