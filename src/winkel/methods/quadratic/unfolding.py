"""Maximum variance unfolding: the Gram matrix of largest variance that keeps the distances of neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import one_blas_thread
from ...checks import choice, integer, number
from ...errors import InvalidInputError, NotConvergedWarning
from ...graph import Graph
from ...graph.graph import read_only
from ...run import Run
from ...solvers.eigen import check_components
from ...typing import Metric
from .result import Quadratic, solve_all_pairs
from .semidefinite import RELATIONS, MaxVariance, solve_max_variance
from .squared_distances import connected_graph

Matrix = NDArray[np.float64]

_LEAST_SQUARE = 1e-8  # of the mean squared distance: duplicates are kept this close


@dataclass(frozen=True)
class Unfolding(Quadratic):
    """A Quadratic whose weights are the Gram matrix of an unfolding, with the proof that it is the best.

    Attributes
    ----------
    gram : ndarray of shape (n, n)
        Centred, positive semidefinite; weights are its entries.
    graph : Graph
        The neighbours whose distances are kept.
    tensions : ndarray
        The dual variable of each edge of `graph`: the force in a rod of that length if all items are pulled apart. L of
        these weights has no eigenvalue below 1 except that of the constant vector, and `gram` is spanned by the eigenvectors of
        eigenvalue 1, so it also solves the quadratic problem of the tensions.
    violation : float
        Largest deviation of a squared distance, relative to the mean squared distance.
    gap : float
        Upper bound on the relative distance of the variance (minus the penalty of violations) from the optimum.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> wk.quadratic.mvu(digits.X[:30], n_neighbors=8).gap < 1e-5
    True
    """

    gram: Matrix = field(kw_only=True, repr=False)
    graph: Graph = field(kw_only=True)
    tensions: Matrix = field(kw_only=True, repr=False)
    violation: float = field(kw_only=True)
    gap: float = field(kw_only=True)


def mvu(
    X: Any,
    n_components: int = 2,
    *,
    n_neighbors: int = 4,
    metric: Metric = "euclidean",
    distances: str = "equal",
    tol: float = 1e-5,
    max_iter: int = 100,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> Unfolding:
    """Maximum variance unfolding: weights w_ij = G_ij, where G has the largest trace that keeps the distances of neighbours.

        maximise tr G  subject to  G ⪰ 0, G1 = 0, G_ii − 2 G_ij + G_jj = δ_ij² for neighbours (i, j)

    The semidefinite program is solved by a primal-dual interior-point method. Time grows with the cube and memory with the
    square of the number of edges, so this is for a few hundred items and a few thousand edges. `to_textbook()` returns the
    unfolded coordinates.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Graph
        Rows, from which the exact neighbour graph is made, or a graph with distances. It must be connected.
    n_components : int, default=2
        Dimension of the map.
    n_neighbors : int, default=4
        Number of neighbours of each row.
    metric : str or callable, default="euclidean"
        The metric of `winkel.graph.knn`.
    distances : {"equal", "at_most"}, default="equal"
        With "equal", distances are kept, as above. With "at_most", they may not grow (≤, the dual of the fastest mixing Markov process),
        which always has a solution. With "equal", deviations are allowed at a cost so high that on average they are about a millionth of a
        squared distance (`violation` is the largest). Many graphs determine parts of G so tightly that tensions would otherwise grow without
        limit.
    tol : float, default=1e-5
        The gap at which to stop.
    max_iter : int, default=100
        Largest number of iterations.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB".

    Returns
    -------
    Unfolding
        The weights, the exact solution, and the proof that the Gram matrix is the best.

    Examples
    --------
    >>> import winkel as wk
    >>> path = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]], distances=[1.0, 2.0, 3.0])
    >>> unfolded = wk.quadratic.mvu(path, 1).to_textbook()[:, 0]  # a chain is pulled straight
    >>> abs(unfolded[1:] - unfolded[:-1]).round(3)
    array([1., 2., 3.])
    """
    choice("distances", distances, RELATIONS)
    tol = number("tol", tol, 0.0, 1.0, low_open=True, high_open=True)
    max_iter = integer("max_iter", max_iter, 1)
    run = Run.of(random_state=0, n_jobs=n_jobs, max_memory=max_memory)
    graph = connected_graph(X, n_neighbors, metric, run, "maximum variance unfolding")
    n, p = graph.n, graph.n_edges
    check_components(n_components, n - 1, f"{n} points span at most {n - 1} dimensions")
    run.check_memory(
        8.0 * (4 * p**2 + 16 * n**2),
        f"maximum variance unfolding with {p} edges",
        "Give fewer n_neighbors or fewer items.",
    )
    squares = np.square(graph.edge_distances, dtype=np.float64)
    unit = float(squares.mean())
    if unit == 0:
        raise InvalidInputError("all distances between neighbours are zero: there is nothing to unfold.")
    with one_blas_thread():
        scaled = np.maximum(squares / unit, _LEAST_SQUARE)
        best = solve_max_variance(graph.edges, scaled, n, distances, tol, max_iter)
        _warn(best, tol, max_iter)
        gram = best.gram * unit
        base = solve_all_pairs(
            "mvu", n, lambda start, stop: gram[start:stop], n_components, run, "the unfolding"
        )
    return Unfolding(
        base.method,
        base.Y,
        base.eigenvalues,
        base.weighted,
        gram=read_only(gram),
        graph=graph,
        tensions=read_only(best.tensions),
        violation=best.violation,
        gap=best.gap,
    )


def _warn(best: MaxVariance, tol: float, max_iter: int) -> None:
    if best.gap > tol:
        warnings.warn(
            f"maximum variance unfolding stopped after {best.n_iter} of at most {max_iter} iterations with a gap "
            f"of {best.gap:.1e} to the largest variance and distances off by {best.violation:.1e}; tol={tol:g}. "
            'Give a larger max_iter or tol, or distances="at_most".',
            NotConvergedWarning,
            stacklevel=3,
        )
