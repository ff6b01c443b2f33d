"""Graph Laplacians, and the smallest eigenvectors of the Laplacian of a connected graph.

There are four ways to the same vectors. `dense` is the reference for small graphs. `chebyshev` filters a block of vectors
by polynomials of the Laplacian; it is the fastest on neighbour graphs of data, whose spectral gap is not
small. `amg` is LOBPCG with an algebraic multigrid preconditioner (pyamg), for long thin graphs where
polynomials would need too high a degree. `lanczos` is ARPACK. `auto` starts with `chebyshev` and switches to `amg`, if
pyamg is installed, when the filter does not converge soon.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from .. import _core
from ..algebra import eigh, matmul, qr
from ..checks import flag
from ..errors import InvalidInputError, missing_extra
from .graph import Graph

Matrix = NDArray[np.float64]

SOLVERS = ("auto", "dense", "chebyshev", "amg", "lanczos")
_DENSE_BELOW = 400
_LANES = 8  # the compiled product works on this many columns at once
_SPARE = 5  # vectors beyond those wanted: the gap to the first one left out sets the speed
_GAIN = 1e6  # amplification of one filter: more would make the block's columns dependent
_AUTO_PRODUCTS = 200  # after this number of products with a block, multigrid is probably faster
_EPS = float(np.finfo(np.float64).eps)


def require_nonnegative_weights(graph: Graph, purpose: str) -> None:
    """Raise if an edge has a negative weight."""
    if graph.n_edges and graph.weights.min() < 0:
        below = np.flatnonzero(graph.weights < 0)
        edge = tuple(graph.edges[below[0]].tolist())
        raise InvalidInputError(
            f"{purpose} needs weights that are not negative; {len(below)} of {graph.n_edges} are, "
            f"first {graph.weights[below[0]]} on edge {edge}. Leave those edges out: "
            "keep = g.weights > 0; Graph.from_edges(g.edges[keep], g.weights[keep], n=g.n)."
        )


def laplacian_parts(graph: Graph, normalized: bool) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """W of the Laplacian diag(d) − W, without stored zeros, and the weighted degrees, in double precision.

    If normalized, d is 1 for nodes with an edge; otherwise d is the weighted degree.
    """
    weights = graph.adjacency.astype(np.float64)
    weights.eliminate_zeros()
    degree = np.asarray(weights.sum(axis=1), np.float64)
    if not normalized:
        return weights, degree
    root = np.sqrt(degree)
    scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    weights.data *= np.repeat(scale, np.diff(weights.indptr)) * scale[weights.indices]
    return weights, degree


def laplacian(graph: Graph, normalized: bool = False) -> sp.csr_array:
    """The Laplacian D − W of the graph's weights, or I − D^(−1/2) W D^(−1/2).

    Parameters
    ----------
    graph : Graph
        The graph, without negative weights.
    normalized : bool, default=False
        Whether to return the second form.

    Returns
    -------
    scipy.sparse.csr_array of shape (n, n)
        Symmetric, in double precision; a node without edges has an empty row in both forms.

    Examples
    --------
    >>> import winkel as wk
    >>> path = wk.Graph.from_edges([[0, 1], [1, 2]])
    >>> wk.graph.laplacian(path).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """
    normalized = flag("normalized", normalized)
    require_nonnegative_weights(graph, "the Laplacian")
    weights, degree = laplacian_parts(graph, normalized)
    diagonal = (degree > 0).astype(np.float64) if normalized else degree
    return sp.csr_array(sp.diags_array(diagonal) - weights)


def _aligned(shape: tuple[int, ...]) -> Matrix:
    """An empty array whose rows of eight numbers each fill one cache line."""
    size = 8 * math.prod(shape)
    buffer = np.empty(size + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + size].view(np.float64).reshape(shape)


@dataclass(frozen=True)
class Laplacian:
    """diag(d) − W of a connected graph, its known null vector (unit norm), and a bound on its eigenvalues."""

    weights: sp.csr_array
    diagonal: Matrix
    null: Matrix
    top: float
    n_jobs: int

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.diagonal)

    @property
    def matrix(self) -> sp.csr_array:
        """The Laplacian as one sparse matrix."""
        return sp.csr_array(sp.diags_array(self.diagonal) - self.weights)

    def apply(self, x: Matrix) -> Matrix:
        """The Laplacian times a block of vectors."""
        out = _aligned(x.shape)
        w = self.weights
        _core.laplacian_apply(w.indptr, w.indices, w.data, self.diagonal, self.n_jobs, x, out)
        return out

    def filter(self, x: Matrix, degree: int, low: float, cut: float) -> None:
        """Replace a block of vectors by its part below `cut`, amplified towards `low`."""
        w, work = self.weights, _aligned(x.shape)
        _core.chebyshev_filter(
            w.indptr, w.indices, w.data, self.diagonal, degree, low, cut, self.top, self.n_jobs, x, work
        )


@dataclass(frozen=True)
class EigenPairs:
    """Ascending eigenvalues, unit eigenvectors in columns, and the largest residual divided by its tolerance."""

    values: Matrix
    vectors: Matrix
    excess: float

    @property
    def converged(self) -> bool:
        """Whether every wanted pair has reached the tolerance."""
        return self.excess <= 1.0


def _tolerance(problem: Laplacian, values: Matrix, tol: float) -> Matrix:
    """Allowed residual norms: relative to the eigenvalue, but not below what rounding leaves."""
    return np.asarray(np.maximum(tol * np.abs(values), 64 * _EPS * problem.top))


def _ritz(problem: Laplacian, block: Matrix, wanted: int, tol: float) -> EigenPairs:
    """The best approximations within the span of a block, which must have a multiple of 8 columns."""
    block = block - np.outer(problem.null, matmul(problem.null, block))
    basis = _aligned(block.shape)
    basis[:] = qr(block)[0]
    image = problem.apply(basis)
    values, turn = eigh(matmul(basis.T, image, problem.n_jobs))
    vectors = _aligned(block.shape)
    vectors[:] = matmul(basis, turn, problem.n_jobs)
    residual = np.linalg.norm(matmul(image, turn, problem.n_jobs) - vectors * values, axis=0)[:wanted]
    return EigenPairs(values, vectors, float((residual / _tolerance(problem, values[:wanted], tol)).max()))


def _random_block(problem: Laplacian, width: int, seed: int) -> Matrix:
    return np.asarray(_core.random_normal(seed, 0, 0, problem.n * width).reshape(problem.n, width))


def block_width(wanted: int) -> int:
    """Number of vectors in the block that is used to find `wanted` eigenvectors."""
    return _LANES * math.ceil((wanted + _SPARE) / _LANES)


def _plan_filter(top: float, pairs: EigenPairs, wanted: int) -> tuple[int, float, float]:
    """Degree, lower end and cut of the next filter, from the current block."""
    cut = min(float(pairs.values[-1]), 0.99 * top)
    low = min(float(pairs.values[0]), 0.5 * cut)
    last = min(float(pairs.values[wanted - 1]), 0.9 * cut)
    half, middle = (top - cut) / 2, (top + cut) / 2
    enough = math.acosh(2 * pairs.excess + 1) / math.acosh((middle - last) / half)
    safe = math.acosh(_GAIN) / math.acosh((middle - low) / half)
    return max(2, math.ceil(min(enough, safe))), low, cut


def _chebyshev(problem: Laplacian, block: Matrix, wanted: int, tol: float, products: int) -> EigenPairs:
    """Filtered subspace iteration: repeatedly amplify eigenvectors below the block's largest Ritz value."""
    pairs = _ritz(problem, block, wanted, tol)
    used = 1
    while not pairs.converged and used < products:
        degree, low, cut = _plan_filter(problem.top, pairs, wanted)
        degree = min(degree, products - used)
        problem.filter(pairs.vectors, degree, low, cut)
        used += degree + 1
        pairs = _ritz(problem, pairs.vectors, wanted, tol)
    return pairs


@contextmanager
def seeded_global_state(seed: int) -> Iterator[None]:
    """Fix NumPy's global random state, from which pyamg draws, and restore it afterwards."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _amg(problem: Laplacian, block: Matrix, wanted: int, tol: float, max_iter: int, seed: int) -> EigenPairs:
    """LOBPCG preconditioned by smoothed aggregation, from `block`."""
    try:
        import pyamg
    except ModuleNotFoundError:
        raise missing_extra("pyamg", "amg", 'solver="amg"') from None
    matrix = problem.matrix
    with seeded_global_state(seed):
        # The Laplacian is singular; a shift far below the eigenvalues makes the coarsest solve safe.
        shifted = sp.csr_array(matrix + 1e-10 * problem.top * sp.eye_array(problem.n))
        hierarchy = pyamg.smoothed_aggregation_solver(shifted, B=problem.null[:, None])
    preconditioner = hierarchy.aspreconditioner()
    pairs = _ritz(problem, block, wanted, tol)
    used = 0
    while not pairs.converged and used < max_iter:
        steps = min(20, max_iter - used)
        with warnings.catch_warnings():
            # Each round is short on purpose; whether the residuals are small enough is decided here.
            warnings.simplefilter("ignore")
            _, vectors = spla.lobpcg(
                matrix,
                pairs.vectors,
                M=preconditioner,
                Y=problem.null[:, None],
                tol=0.5 * float(_tolerance(problem, pairs.values[:wanted], tol).min()),
                maxiter=steps,
                largest=False,
            )
        used += steps
        pairs = _ritz(problem, np.ascontiguousarray(vectors), wanted, tol)
    return pairs


def _arpack(
    problem: Laplacian, known: Matrix, start: Matrix, count: int, accuracy: float, max_iter: int
) -> Matrix:
    """The smallest eigenvectors orthogonal to the known ones, by Lanczos on top·I − L; fewer if it fails."""
    matrix, top = problem.matrix, problem.top

    def flipped(x: Matrix) -> Matrix:
        return np.asarray(top * x - matrix @ x - 2 * top * (known @ (known.T @ x)))

    operator = spla.LinearOperator(matrix.shape, matvec=flipped, dtype=np.float64)
    try:
        return np.asarray(
            spla.eigsh(operator, k=count, v0=start, tol=accuracy, maxiter=max_iter, which="LA")[1]
        )
    except spla.ArpackNoConvergence as failure:
        return np.asarray(failure.eigenvectors)


def _lanczos(problem: Laplacian, block: Matrix, wanted: int, tol: float, max_iter: int) -> EigenPairs:
    """ARPACK with decreasing tolerance until the residuals are small enough, followed by a search for missed eigenvectors.

    Lanczos from one vector finds one vector of each eigenspace, so repeated eigenvalues are missed. A further
    search, orthogonal to the vectors found so far, must not find a smaller eigenvalue.
    """
    null, accuracy = problem.null[:, None], tol
    pairs, start = _ritz(problem, block, wanted, tol), block[:, 0]
    for _ in range(4):
        # ARPACK measures against `top`; the tolerance here is relative to the eigenvalue, known afterwards.
        accuracy = max(1e-2 * accuracy, 4 * _EPS)
        found = _arpack(problem, null, start, wanted, accuracy, max_iter)
        pairs = _ritz(problem, np.concatenate([found, block], axis=1)[:, : block.shape[1]], wanted, tol)
        if pairs.converged or found.shape[1] < wanted:
            break
        start = pairs.vectors[:, :wanted].sum(axis=1)
    accuracy = max(1e-2 * accuracy, 4 * _EPS)
    for again in range(1, wanted + 1):
        known = pairs.vectors[:, :wanted]
        extra = _arpack(
            problem, np.concatenate([null, known], axis=1), block[:, again], 1, accuracy, max_iter
        )
        last = float(pairs.values[wanted - 1])
        if extra.shape[1] == 0 or float(extra[:, 0] @ (problem.matrix @ extra[:, 0])) > (1 - tol) * last:
            break
        full = np.concatenate([known, extra, block], axis=1)[:, : block.shape[1]]
        pairs = _ritz(problem, full, wanted, tol)
    return pairs


def _dense(problem: Laplacian, wanted: int) -> EigenPairs:
    # Lifting the null vector above the spectrum leaves the wanted vectors at the bottom, orthogonal to it.
    lifted = problem.matrix.toarray() + 2 * problem.top * np.outer(problem.null, problem.null)
    values, vectors = eigh(lifted)
    return EigenPairs(values[:wanted], vectors[:, :wanted], 0.0)


def smallest_eigenvectors(
    problem: Laplacian,
    wanted: int,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    solver: str,
    before_multigrid: Callable[[Laplacian], None] | None = None,
) -> EigenPairs:
    """The `wanted` smallest eigenvectors after the null vector, in the first columns of the result's vectors.

    "auto" calls `before_multigrid` before it switches to multigrid; that function may raise an error if multigrid would need too much memory.
    """
    width = block_width(wanted)
    if solver == "dense" or problem.n <= max(_DENSE_BELOW, 4 * width):
        return _dense(problem, wanted)
    block = _random_block(problem, width, seed)
    if solver == "amg":
        return _amg(problem, block, wanted, tol, max_iter, seed)
    if solver == "lanczos":
        return _lanczos(problem, block, wanted, tol, max_iter)
    multigrid = solver == "auto" and importlib.util.find_spec("pyamg") is not None
    products = min(max_iter, _AUTO_PRODUCTS) if multigrid else max_iter
    pairs = _chebyshev(problem, block, wanted, tol, products)
    if multigrid and not pairs.converged and products < max_iter:
        if before_multigrid is not None:
            before_multigrid(problem)
        pairs = _amg(problem, pairs.vectors, wanted, tol, max_iter - products, seed)
    return pairs
