"""Two maps of the same rows: `align` rotates one to match the other, `similarity` says how similar they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algebra import one_blas_thread
from ..checks import choice, integer
from ..data import Table
from ..errors import InvalidInputError
from ..graph.graph import require_neighbor_lists
from ..graph.knn import neighbor_graph
from ..run import Run
from ..typing import FloatArray, RandomState
from .sources import map_table

Matrix = NDArray[np.float64]
KINDS = ("procrustes", "distances", "neighbors")


def align(map: Any, target: Any, *, shift: bool = True, scale: bool = False) -> FloatArray:
    """The map, rotated or reflected to match `target` as closely as possible, row by row in the sense of least squares.

    This is the orthogonal Procrustes problem (Agrawal et al. 2021, section 2.4.5): Q = VUᵀ for the singular value
    decomposition UΣVᵀ of targetᵀY.

    Parameters
    ----------
    map : array, fitted estimator, Embedding or path
        The map to rotate.
    target : array, fitted estimator, Embedding or path
        A map of the same rows in the same number of dimensions.
    shift : bool, default=True
        Whether to rotate about the means and to move the map to the mean of `target`. For two centred maps, this changes nothing.
    scale : bool, default=False
        Whether to scale the map by the best factor too.

    Returns
    -------
    ndarray of shape (n, n_components)
        The aligned map, in the precision of `map`.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> target = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    >>> turned = target @ np.array([[0.0, -1.0], [1.0, 0.0]]) + 5
    >>> np.allclose(wk.align(turned, target), target)
    True
    """
    table, goal = map_table(map, min_rows=1), map_table(target, "target", min_rows=1).values
    if table.shape != goal.shape:
        raise InvalidInputError(
            "map and target must be maps of the same rows in the same number of dimensions; "
            f"got shapes {table.shape} and {goal.shape}."
        )
    source, goal = table.values.astype(np.float64), goal.astype(np.float64)
    middle, there = _mean(source, shift), _mean(goal, shift)
    moved = source - middle
    with one_blas_thread():  # the same bytes for any number of threads
        U, singular, Vt = np.linalg.svd((goal - there).T @ moved)
        turned = moved @ (Vt.T @ U.T)
    if scale:
        square = float(np.sum(moved * moved))
        turned *= float(singular.sum()) / square if square > 0 else 1.0
    return (turned + there).astype(table.dtype)


def _mean(Y: Matrix, shift: bool) -> Matrix:
    return Y.mean(axis=0) if shift else np.zeros(Y.shape[1])


def similarity(
    map1: Any,
    map2: Any,
    *,
    kind: str = "procrustes",
    n_neighbors: int = 15,
    max_rows: int = 2000,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> float:
    """How similar two maps of the same rows are, from 0 to 1 for equal maps.

    The similarity is symmetric, and does not change if either map is moved, scaled, rotated or mirrored (Draganov and
    Dohn 2023, section 6.1). The maps may have different numbers of dimensions. A map whose rows are all in one place is
    similar only to another such map.

    Parameters
    ----------
    map1, map2 : array, fitted estimator, Embedding or path
        The two maps.
    kind : {"procrustes", "distances", "neighbors"}, default="procrustes"
        "procrustes" is the share of structure that the maps have in common when one is rotated to match the other: the sum
        of the singular values of Y1ᵀY2 divided by ‖Y1‖‖Y2‖, both centred. It depends mostly on the overall shape.
        "distances" is the distance correlation (Székely, Rizzo and Bakirov 2007): the cosine between the two matrices of
        distances, centred by rows and columns. It depends on all scales.
        "neighbors" is the mean share of the `n_neighbors` nearest rows that both maps have in common. It depends on the local structure.
    n_neighbors : int, default=15
        Size of a neighbourhood for "neighbors".
    max_rows : int, default=2000
        If there are more rows, "distances" is computed on this many random rows.
    random_state : int, numpy Generator or None, default=0
        The seed of that sample.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    float
        The similarity.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> round(wk.similarity(X[:, 20:22], 3 * X[:, 20:22] + 1), 6)
    1.0
    >>> wk.similarity(X[:, 20:22], X[:, 40:42]) < 1
    True
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs)
    choice("kind", kind, KINDS)
    first, second = _centred("map1", map1), _centred("map2", map2)
    if len(first) != len(second):
        raise InvalidInputError(
            f"map1 and map2 must be maps of the same rows; got {len(first)} and {len(second)} rows."
        )
    if not first.any() or not second.any():
        return float(not first.any() and not second.any())
    with one_blas_thread():  # the same bytes for any number of threads
        if kind == "procrustes":
            value = float(np.linalg.svd(first.T @ second, compute_uv=False).sum())
        elif kind == "distances":
            rows = _drawn_rows(len(first), integer("max_rows", max_rows, 2), run)
            value = _distance_correlation(first[rows], second[rows])
        else:
            value = _shared_neighbors(first, second, integer("n_neighbors", n_neighbors, 1), run)
    return min(max(value, 0.0), 1.0)


def _centred(name: str, map: Any) -> Matrix:
    """The map with mean zero and unit norm; zero when all rows lie in one place."""
    array = np.array(map_table(map, name, min_rows=1).values, dtype=np.float64)
    largest = float(np.abs(array).max())
    if largest == 0:
        return array
    array /= largest  # so that no square overflows or vanishes
    array -= array.mean(axis=0)
    norm = float(np.sqrt(np.sum(array * array)))
    # What is left of a map in one place is the rounding of its mean.
    return array / norm if norm > 1e-14 * np.sqrt(array.size) else np.zeros_like(array)


def _drawn_rows(n: int, most: int, run: Run) -> NDArray[np.int64]:
    if n <= most:
        return np.arange(n)
    return np.sort(run.stream("similarity").permutation(n)[:most])


def _distance_correlation(first: Matrix, second: Matrix) -> float:
    A, B = _centred_distances(first), _centred_distances(second)
    scale = float(np.sqrt(np.sum(A * A)) * np.sqrt(np.sum(B * B)))
    if scale == 0:
        return float(not A.any() and not B.any())
    # The mean product of the centred matrices is never negative (it is a squared distance covariance).
    return float(np.sqrt(max(float(np.sum(A * B)), 0.0) / scale))


def _centred_distances(Y: Matrix) -> Matrix:
    square = np.zeros((len(Y), len(Y)))
    for column in Y.T:
        difference = column[:, None] - column[None, :]
        square += difference * difference
    D: Matrix = np.sqrt(square)
    return D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean()


def _shared_neighbors(first: Matrix, second: Matrix, n_neighbors: int, run: Run) -> float:
    n = len(first)
    k = min(n_neighbors, n - 1)
    lists = []
    for Y in (first, second):
        graph = neighbor_graph(Table(Y, validated=True), k, run, method="exact")
        index, _ = require_neighbor_lists(graph, "similarity")
        lists.append(np.sort(np.arange(n)[:, None] * n + index.astype(np.int64), axis=None))
    return len(np.intersect1d(lists[0], lists[1], assume_unique=True)) / (n * k)
