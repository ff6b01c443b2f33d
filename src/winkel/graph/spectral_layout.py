"""Spectral embedding: the smooth functions on a graph as coordinates, components side by side."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..errors import InvalidParameterError, NotConvergedWarning
from ..resources import resolve_n_jobs, resolve_seed
from ..typing import RandomState
from .graph import Graph
from .laplacian import SOLVERS, Laplacian, laplacian_parts, require_nonnegative_weights, smallest_eigenvectors

Matrix = NDArray[np.float64]


def _check(graph: Graph, n_components: int, tol: float, max_iter: int, solver: str) -> None:
    for name, value in (("n_components", n_components), ("max_iter", max_iter)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InvalidParameterError(f"{name} must be a positive integer; got {value!r}.")
    if not isinstance(tol, int | float | np.number) or not 0 < tol < 1:
        raise InvalidParameterError(f"tol must lie between 0 and 1; got {tol!r}.")
    if solver not in SOLVERS:
        raise InvalidParameterError(f"solver must be one of {', '.join(map(repr, SOLVERS))}; got {solver!r}.")
    require_nonnegative_weights(graph, "spectral_embedding")


def _blocks(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes in order of their component, and where each begins; a weight of zero ties nothing."""
    tied = graph
    if graph.n_edges and graph.weights.min() == 0:
        tied = Graph.from_edges(graph.edges[graph.weights > 0], n=graph.n)
    count, labels = tied.components()
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count + 1))
    return order, starts


def _component(
    weights: sp.csr_array, degree: Matrix, rows: slice, normalized: bool, n_jobs: int
) -> Laplacian:
    """The Laplacian of the nodes `rows`, which no edge leaves."""
    begin, end = weights.indptr[rows.start], weights.indptr[rows.stop]
    size = rows.stop - rows.start
    indptr = (weights.indptr[rows.start : rows.stop + 1] - begin).astype(np.int32)
    indices = (weights.indices[begin:end] - rows.start).astype(np.int32)
    own = sp.csr_array((weights.data[begin:end], indices, indptr), shape=(size, size))
    if normalized:
        # d is 1 here; the null vector is the root of the weighted degree.
        null, diagonal, top = np.sqrt(degree[rows]), np.ones(size), 2.0
    else:
        null, diagonal = np.ones(size), degree[rows].copy()
        # Anderson and Morley: no eigenvalue exceeds the largest sum of degrees over an edge.
        ends = np.repeat(diagonal, np.diff(indptr)) + diagonal[indices]
        top = float(ends.max())
    return Laplacian(own, diagonal, null / np.linalg.norm(null), top, n_jobs)


def fix_signs(vectors: Matrix) -> Matrix:
    """The vectors with the entry of largest magnitude in each column made positive."""
    largest = np.argmax(np.abs(vectors), axis=0)
    return vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def spectral_embedding(
    graph: Graph,
    n_components: int = 2,
    *,
    normalized: bool = True,
    solver: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 5000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Matrix:
    """The eigenvectors of the graph Laplacian next to the trivial one, n × n_components.

    In a connected graph: unit vectors, orthogonal to one another and to the trivial one, by ascending
    eigenvalue; in each the entry of largest magnitude is positive. `tol` bounds the residual of each pair in
    proportion to its eigenvalue; `max_iter` bounds the products with the Laplacian, and a NotConvergedWarning
    says when it was reached.

    A graph that is not connected has no single answer: the eigenvectors next to zero only tell components
    apart. Each component is embedded by its own eigenvectors and fitted, in its proportions, into a square
    (a cube in more dimensions) whose area is its number of points; the squares stand side by side, largest
    first. A component of s points has s − 1 vectors; further coordinates are zero. The whole is centred, and
    scaled so that its widest coordinate has unit norm.

    `solver` is one of "auto", "chebyshev" (polynomial filter), "amg" (LOBPCG with algebraic multigrid, needs
    pyamg), "lanczos" and "dense"; small graphs are always solved densely. The result is the same for any
    number of threads.
    """
    _check(graph, n_components, tol, max_iter, solver)
    seed, jobs = resolve_seed(random_state), resolve_n_jobs(n_jobs)
    order, starts = _blocks(graph)
    weights, degree = laplacian_parts(graph, normalized)
    if len(starts) > 2:
        weights, degree = sp.csr_array(weights[order][:, order]), degree[order]
    Y = np.zeros((graph.n, n_components))
    worst = 0.0
    # One thread of linear algebra: its sums must not depend on how many there are.
    with threadpool_limits(1, user_api="blas"):
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist()):
            wanted = min(n_components, end - begin - 1)
            if wanted == 0:
                continue
            problem = _component(weights, degree, slice(begin, end), normalized, jobs)
            found = smallest_eigenvectors(
                problem, wanted, tol=tol, max_iter=max_iter, seed=seed, solver=solver
            )
            worst = max(worst, found.excess)
            Y[begin:end, :wanted] = fix_signs(found.vectors[:, :wanted])
    if worst > 1:
        warnings.warn(
            f"spectral_embedding stopped at max_iter={max_iter} products with a residual {worst:.1f} times "
            f"what tol={tol:g} allows. The vectors are approximate; give a larger max_iter or tol"
            + ("." if solver in ("amg", "dense") else ', or solver="amg", which suits long thin graphs.'),
            NotConvergedWarning,
            stacklevel=2,
        )
    if len(starts) > 2:
        Y = _lay_out(Y, starts)
    out = np.empty_like(Y)
    out[order] = Y
    return out


def _lay_out(Y: Matrix, starts: NDArray[np.int64]) -> Matrix:
    """The components side by side, centred and of unit width."""
    sides = cell_sides(np.diff(starts), Y.shape[1])
    fit_into_cells(Y, starts, pack_cells(sides, Y.shape[1]), sides)
    Y -= Y.mean(axis=0)
    norm = float(np.linalg.norm(Y, axis=0).max())
    return Y / norm if norm > 0 else Y


_GAP = 0.1  # free share of a cell's side


def cell_sides(sizes: NDArray[np.int64], n_components: int) -> NDArray[np.float64]:
    """Side of the cube for each component: its volume is the number of points."""
    return np.asarray(np.asarray(sizes, np.float64) ** (1.0 / n_components))


def pack_cells(sides: NDArray[np.float64], n_components: int) -> NDArray[np.float64]:
    """Centres of cells of the given sides (descending), one a row, that do not overlap.

    In one dimension the cells stand in a line. Otherwise they fill rows of about equal length, as text does,
    in the first two coordinates; the others are zero.
    """
    centres = np.zeros((len(sides), n_components))
    steps = sides * (1 + _GAP)
    if n_components == 1:
        centres[:, 0] = np.cumsum(steps) - steps / 2
        return centres
    length = max(float(np.sqrt((steps**2).sum())), float(steps[0]))
    across, down, height = 0.0, 0.0, float(steps[0])
    for c, step in enumerate(steps.tolist()):
        if across > 0 and across + step > length * (1 + 1e-12):
            across, down, height = 0.0, down + height, step
        centres[c, :2] = across + step / 2, down + step / 2
        across += step
    return centres


def fit_into_cells(
    Y: NDArray[np.float64],
    starts: NDArray[np.int64],
    centres: NDArray[np.float64],
    sides: NDArray[np.float64],
) -> None:
    """Shift and scale, in place, the rows starts[c]:starts[c+1] of Y to fill the c-th cell."""
    low = np.minimum.reduceat(Y, starts[:-1], axis=0)
    high = np.maximum.reduceat(Y, starts[:-1], axis=0)
    extent = (high - low).max(axis=1)
    scale = np.divide(sides, extent, out=np.zeros_like(sides), where=extent > 0)
    sizes = np.diff(starts)
    Y -= np.repeat((low + high) / 2, sizes, axis=0)
    Y *= np.repeat(scale, sizes)[:, None]
    Y += np.repeat(centres, sizes, axis=0)
