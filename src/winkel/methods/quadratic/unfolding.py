"""Maximum variance unfolding: the Gram matrix of largest variance that keeps the distances of neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...errors import InvalidInputError, InvalidParameterError, NotConvergedWarning
from ...graph import Graph
from ...graph.edges import read_only
from ...resources import check_memory, parse_memory
from ...solvers.eigen import check_components
from ...typing import Metric
from .distances import connected_graph
from .interior import RELATIONS, MaxVariance, solve_max_variance
from .result import Quadratic, solve_all_pairs

Matrix = NDArray[np.float64]

_LEAST_SQUARE = 1e-8  # of the mean squared distance: duplicates are kept this close


@dataclass(frozen=True)
class Unfolding(Quadratic):
    """A Quadratic whose weights are the Gram matrix of an unfolding, with the proof that it is the best.

    gram       n × n, centred, positive semidefinite; weights are its entries
    graph      the neighbours whose distances it keeps
    tensions   the dual variable of each edge of `graph`, the force in a rod of that length when all items are
               pulled apart. L of these weights has no eigenvalue below 1 beside the constant vector's, and `gram`
               lies in the eigenvectors of eigenvalue 1: it solves the quadratic problem of the tensions too
    violation  largest deviation of a squared distance, relative to the mean squared distance
    gap        upper bound on what the variance (less the price of violations) lacks to the best, relative to it
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
    """Maximum variance unfolding: weights w_ij = G_ij, G of largest trace that keeps neighbours' distances.

        maximise tr G  subject to  G ⪰ 0, G1 = 0, G_ii − 2 G_ij + G_jj = δ_ij² for neighbours (i, j)

    `X` is data, from which the exact graph of `n_neighbors` is made, or a connected Graph with distances.
    `distances`: "equal" as above, or "at_most" (≤, the dual of the fastest mixing Markov process), which always
    has a solution. With "equal" deviations are priced, so high that on average they are about a millionth of a
    squared distance (`violation` is the largest): many graphs determine parts of G so tightly that without a
    price tensions would grow without end.

    The semidefinite program is solved by a primal-dual interior-point method until the gap is `tol`. Time grows
    with the cube, memory with the square of the number of edges: some hundred items, a few thousand edges.
    `to_textbook()` gives the unfolded coordinates.
    """
    _check(distances, tol, max_iter)
    graph = connected_graph(X, n_neighbors, metric, n_jobs, "maximum variance unfolding")
    n, p = graph.n, graph.n_edges
    check_components(n_components, n - 1, f"{n} points span at most {n - 1} dimensions")
    check_memory(
        8.0 * (4 * p**2 + 16 * n**2),
        parse_memory(max_memory),
        f"maximum variance unfolding with {p} edges",
        "Give fewer n_neighbors or fewer items.",
    )
    squares = np.square(graph.edge_distances, dtype=np.float64)
    unit = float(squares.mean())
    if unit == 0:
        raise InvalidInputError("all distances between neighbours are zero: there is nothing to unfold.")
    with threadpool_limits(1, user_api="blas"):
        scaled = np.maximum(squares / unit, _LEAST_SQUARE)
        best = solve_max_variance(graph.edges, scaled, n, distances, tol, max_iter)
        _warn(best, tol, max_iter)
        gram = best.gram * unit
        base = solve_all_pairs(
            "mvu", n, lambda start, stop: gram[start:stop], n_components, max_memory, "the unfolding"
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


def _check(distances: str, tol: float, max_iter: int) -> None:
    if distances not in RELATIONS:
        raise InvalidParameterError(
            f"distances must be one of {', '.join(map(repr, RELATIONS))}; got {distances!r}."
        )
    if isinstance(tol, bool) or not isinstance(tol, int | float | np.number) or not 0 < tol < 1:
        raise InvalidParameterError(f"tol must lie between 0 and 1; got {tol!r}.")
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise InvalidParameterError(f"max_iter must be a positive integer; got {max_iter!r}.")


def _warn(best: MaxVariance, tol: float, max_iter: int) -> None:
    if best.gap > tol:
        warnings.warn(
            f"maximum variance unfolding stopped after {best.n_iter} of at most {max_iter} iterations with a gap "
            f"of {best.gap:.1e} to the largest variance and distances off by {best.violation:.1e}; tol={tol:g}. "
            'Give a larger max_iter or tol, or distances="at_most".',
            NotConvergedWarning,
            stacklevel=3,
        )
