"""Spectral embedding: smooth functions on a graph as coordinates, with components side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..algebra import norm, one_blas_thread, power
from ..checks import choice, flag, integer, number
from ..errors import NotConvergedWarning
from ..run import Run
from ..typing import RandomState
from .graph import Graph
from .laplacian import SOLVERS, Laplacian, laplacian_parts, require_nonnegative_weights, smallest_eigenvectors

Matrix = NDArray[np.float64]
_GAP = 0.1  # free share of a cell's side


def _check(graph: Graph, n_components: int, tol: float, max_iter: int, solver: str) -> None:
    integer("n_components", n_components, 1)
    integer("max_iter", max_iter, 1)
    number("tol", tol, 0.0, 1.0, low_open=True, high_open=True)
    choice("solver", solver, SOLVERS)
    require_nonnegative_weights(graph, "spectral_embedding")


def _blocks(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes in order of their component, and where each component begins; edges of weight zero do not connect."""
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
    return Laplacian(own, diagonal, null / norm(null), top, n_jobs)


def fix_signs(vectors: Matrix) -> Matrix:
    """The vectors, with signs such that the entry of largest magnitude in each column is positive."""
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
    """The first nontrivial eigenvectors of the graph Laplacian.

    For a connected graph these are unit vectors, orthogonal to each other and to the trivial eigenvector, in order of ascending eigenvalue;
    in each, the entry of largest magnitude is positive.

    For a graph that is not connected, the eigenvectors of eigenvalue zero would only separate the components. So each
    component is embedded by its own eigenvectors and fitted, without distortion, into a square (a cube in more dimensions)
    whose area is its number of points; the squares are placed side by side, largest first. A component of s points has s − 1
    vectors; further coordinates are zero. The whole map is centred, and scaled such that its widest coordinate has unit norm.

    Parameters
    ----------
    graph : Graph
        The graph, without negative weights.
    n_components : int, default=2
        Number of eigenvectors.
    normalized : bool, default=True
        Whether to use the normalized Laplacian.
    solver : {"auto", "chebyshev", "amg", "lanczos", "dense"}, default="auto"
        "chebyshev" is a polynomial filter, "amg" is LOBPCG with algebraic multigrid (needs pyamg), "lanczos" is ARPACK;
        "auto" starts with the filter and switches to "amg" if it does not converge soon. Small graphs are always solved densely.
    tol : float, default=0.001
        Largest residual of each eigenpair, relative to its eigenvalue.
    max_iter : int, default=5000
        Largest number of products with the Laplacian; if they are not enough, there is a NotConvergedWarning.
    random_state : int, numpy Generator or None, default=None
        The seed of the first block of vectors. The same seed gives the same bytes for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.

    Returns
    -------
    ndarray of shape (n, n_components)
        The coordinates.

    Examples
    --------
    >>> import winkel as wk
    >>> path = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    >>> Y = wk.graph.spectral_embedding(path, 1, normalized=False)
    >>> (abs(Y.ravel()) * 2**0.5).round(2)  # cos(π/8) and sin(π/8)
    array([0.92, 0.38, 0.38, 0.92])
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs)
    return spectral_coordinates(
        graph, n_components, run, normalized=normalized, solver=solver, tol=tol, max_iter=max_iter
    )


def spectral_coordinates(
    graph: Graph,
    n_components: int,
    run: Run,
    *,
    normalized: bool = True,
    solver: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 5000,
    before_multigrid: Callable[[Laplacian], None] | None = None,
) -> Matrix:
    """`spectral_embedding` with a `Run`, for methods; see `smallest_eigenvectors` for `before_multigrid`."""
    _check(graph, n_components, tol, max_iter, solver)
    order, starts = _blocks(graph)
    weights, degree = laplacian_parts(graph, flag("normalized", normalized))
    if len(starts) > 2:
        weights, degree = sp.csr_array(weights[order][:, order]), degree[order]
    Y = np.zeros((graph.n, n_components))
    worst = 0.0
    # One thread of linear algebra: its sums must not depend on how many there are.
    with one_blas_thread():
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist()):
            wanted = min(n_components, end - begin - 1)
            if wanted == 0:
                continue
            problem = _component(weights, degree, slice(begin, end), normalized, run.n_jobs)
            found = smallest_eigenvectors(
                problem, wanted, tol=tol, max_iter=max_iter, seed=run.seed, solver=solver,
                before_multigrid=before_multigrid,
            )  # fmt: skip
            worst = max(worst, found.excess)
            Y[begin:end, :wanted] = fix_signs(found.vectors[:, :wanted])
    if worst > 1:
        _warn_not_converged(worst, tol, max_iter, solver)
    if len(starts) > 2:
        Y = _lay_out(Y, starts)
    out = np.empty_like(Y)
    out[order] = Y
    return out


def _warn_not_converged(worst: float, tol: float, max_iter: int, solver: str) -> None:
    warnings.warn(
        f"spectral_embedding stopped at max_iter={max_iter} products with a residual {worst:.1f} times "
        f"what tol={tol:g} allows. The vectors are approximate; give a larger max_iter or tol"
        + ("." if solver in ("amg", "dense") else ', or solver="amg", which is better for long thin graphs.'),
        NotConvergedWarning,
        stacklevel=4,
    )


def _lay_out(Y: Matrix, starts: NDArray[np.int64]) -> Matrix:
    """The components side by side, centred and of unit width."""
    sides = cell_sides(np.diff(starts), Y.shape[1])
    fit_into_cells(Y, starts, pack_cells(sides, Y.shape[1]), sides)
    Y -= Y.mean(axis=0)
    width = float(np.linalg.norm(Y, axis=0).max())
    return Y / width if width > 0 else Y


def cell_sides(sizes: NDArray[np.int64], n_components: int) -> NDArray[np.float64]:
    """Side of the cube for each component; its volume is the number of points."""
    volumes = np.asarray(sizes, np.float64)
    return np.asarray(np.sqrt(volumes) if n_components == 2 else power(volumes, 1.0 / n_components))


def pack_cells(sides: NDArray[np.float64], n_components: int) -> NDArray[np.float64]:
    """Centres of cells with these sides (descending) that do not overlap, one centre per row.

    In one dimension the cells form a line. Otherwise they fill rows of about equal length, like text,
    in the first two coordinates; the other coordinates are zero.
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
