"""Exact solutions of quadratic problems: the bottom eigenvectors of a symmetric matrix whose rows sum to zero.

    minimise (1/p) Σ w_ij ‖y_i − y_j‖²  subject to  (1/n) YᵀY = I, Yᵀ1 = 0        (Agrawal et al. 2021, eq. 3.1)

is solved by √n times the bottom eigenvectors, the constant one left out, of L with L_ij = −w_ij and L1 = 0.
Weights may be negative, so L need not be semidefinite.

Small matrices are solved densely. Large sparse matrices without negative weights are solved by the Laplacian
solvers of the graph stage. All others are solved by a block Krylov method, restarted with its best vectors: a block finds
repeated eigenvalues, which Lanczos from one vector misses. If the wanted eigenvalues are close together compared with
the others, the method multiplies with the inverse of the shifted matrix. Only the start block is random, from a fixed
seed, and linear algebra runs on one thread, so the bytes of a result do not vary.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import ArrayLike, NDArray

from ..algebra import eigh, matmul, one_blas_thread, qr, svd
from ..embedding import Status
from ..errors import InvalidInputError, InvalidParameterError, NotConvergedWarning
from ..graph import Graph
from ..graph.laplacian import EigenPairs, Laplacian, smallest_eigenvectors
from ..graph.spectral_layout import fix_signs
from ..run import Stream, resolve_n_jobs
from .base import SolverState

Matrix = NDArray[np.float64]
Apply = Callable[[Matrix], Matrix]

_DENSE_UP_TO = 1000
_SPARE = 6  # vectors beyond those wanted: the gap to the first one left out sets the speed
_DEPTH = 8  # products between restarts
_RESTARTS = 100
_TRIAL_RESTARTS = 12  # without an inverse, before one is thought worth its memory
_SHIFTS, _SHIFT_RESTARTS = 12, 6
_BELOW = 1e-12  # distance of a shift from an eigenvalue, relative to the largest
_LAPLACIAN_PRODUCTS = 3000
_INVERT_UP_TO = 5000  # items of a Laplacian: up to here the factor of its inverse is small whatever the graph
_TOL = 1e-8  # residual in proportion to the eigenvalue: the objective is then right to about its square
_DEPENDENT = 1e-14  # a new direction smaller than this part of its block is rounding
_ROUNDING = 1e-6  # times the median weight: an objective further below zero is rounding and nothing else
_EPS = float(np.finfo(np.float64).eps)


def check_components(n_components: int, most: int, why: str) -> None:
    """Raise unless `n_components` is an integer from 1 to `most`."""
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer):
        raise InvalidParameterError(f"n_components must be an integer; got {n_components!r}.")
    if not 1 <= n_components <= most:
        raise InvalidParameterError(
            f"n_components must lie between 1 and {most}, since {why}; got {n_components}."
        )


def _allowed(values: Matrix, top: float) -> Matrix:
    """Residual norms below which pairs count as found: relative, but not below the level of rounding."""
    return np.asarray(np.maximum(_TOL * np.abs(values), 64 * _EPS * top))


@dataclass
class _Subspace:
    """An orthonormal basis that grows block by block, and its image under the matrix."""

    basis: Matrix
    image: Matrix
    null: Matrix | None
    used: int = 0

    def orthonormal(self, block: Matrix) -> Matrix:
        """The part of a block that is new, as orthonormal columns; fewer columns if the block is linearly dependent."""
        size = float(np.linalg.norm(block, axis=0).max())
        block = self._remove(block)
        left, strength, _ = svd(block)
        new = left[:, strength > _DEPENDENT * size]
        # Dividing by a small strength brought old directions back in proportion: remove them once more.
        return qr(self._remove(new))[0] if new.shape[1] else new

    def _remove(self, block: Matrix) -> Matrix:
        known = self.basis[:, : self.used]
        for _ in range(2):
            if self.null is not None:
                block = block - np.outer(self.null, matmul(self.null, block))
            block = block - matmul(known, matmul(known.T, block))
        return block

    def append(self, block: Matrix, image: Matrix) -> None:
        """Add orthonormal columns and their image."""
        end = self.used + block.shape[1]
        self.basis[:, self.used : end] = block
        self.image[:, self.used : end] = image
        self.used = end

    def ritz(self, keep: int, count: int, top: float) -> EigenPairs:
        """The best approximations to the `keep` bottom eigenpairs within the subspace."""
        basis, image = self.basis[:, : self.used], self.image[:, : self.used]
        small = matmul(basis.T, image)
        values, turn = eigh((small + small.T) / 2)
        top = max(top, float(np.abs(values).max()))
        values, turn = values[:keep], turn[:, :keep]
        vectors = matmul(basis, turn)
        residual = np.linalg.norm(matmul(image, turn) - vectors * values, axis=0)[:count]
        excess = float((residual / _allowed(values[:count], top)).max()) if top > 0 else 0.0
        return EigenPairs(values, vectors, excess)


def _block_krylov(
    apply: Apply,
    n: int,
    count: int,
    null: Matrix | None,
    *,
    solve: Apply | None = None,
    start: Matrix | None = None,
    top: float = 0.0,
    restarts: int = _RESTARTS,
) -> EigenPairs:
    """The `count` bottom eigenpairs, from products with the matrix, or with `solve` an inverse of it."""
    width = min(count + _SPARE, n - (null is not None))
    block = Stream(0).normal((n, width))
    if start is not None:
        block[:, : start.shape[1]] = start[:, :width]
    while True:
        columns = min(width * _DEPTH, n - (null is not None))
        space = _Subspace(np.empty((n, columns)), np.empty((n, columns)), null)
        new = space.orthonormal(block)
        while new.shape[1] and space.used + new.shape[1] <= columns:
            image = apply(new)
            space.append(new, image)
            new = space.orthonormal(image if solve is None else solve(new))
        pairs = space.ritz(width, count, top)
        restarts -= 1
        if pairs.converged or restarts <= 0:
            return pairs
        block = pairs.vectors


def _dense(matrix: Matrix, count: int, null: Matrix | None) -> EigenPairs:
    if null is not None:
        # Lifting the null vector above the spectrum leaves the wanted vectors at the bottom, orthogonal to it.
        top = float(np.abs(matrix).sum(axis=1).max())
        matrix = matrix + 2 * top * np.outer(null, null)
    values, vectors = eigh(matrix)
    return EigenPairs(values[:count], vectors[:, :count], 0.0)


def bottom_of_dense(matrix: Matrix, count: int) -> EigenPairs:
    """The `count` bottom eigenpairs of a dense symmetric matrix, signs fixed."""
    with one_blas_thread():
        if len(matrix) <= _DENSE_UP_TO or 4 * count > len(matrix):
            found = _dense(matrix, count, None)
        else:
            found = _block_krylov(lambda x: np.asarray(matmul(matrix, x)), len(matrix), count, None)
    return _finished(found, count)


def bottom_of_operator(apply: Apply, n: int, count: int) -> EigenPairs:
    """The `count` bottom eigenpairs of a symmetric matrix that is given by its product with a block of vectors."""
    with one_blas_thread():
        return _finished(_block_krylov(apply, n, count, None), count)


def bottom_of_sparse(
    weights: sp.csr_array,
    diagonal: Matrix,
    null: Matrix,
    count: int,
    *,
    semidefinite: bool = False,
    n_jobs: int | None = None,
) -> EigenPairs:
    """The `count` bottom eigenpairs of diag(diagonal) − weights except its known unit null vector, signs fixed.

    `semidefinite` says that no eigenvalue is negative; without negative weights this is known.
    """
    positive = weights.nnz == 0 or float(weights.data.min()) >= 0
    matrix = sp.csr_array(sp.diags_array(diagonal) - weights)
    with one_blas_thread():
        if len(diagonal) <= _DENSE_UP_TO or 4 * count > len(diagonal):
            return _finished(_dense(matrix.toarray(), count, null), count)
        top = float(abs(matrix).sum(axis=1).max())
        found: EigenPairs | None = None
        if positive and len(diagonal) > _INVERT_UP_TO:
            problem = Laplacian(weights, diagonal, null, top, resolve_n_jobs(n_jobs))
            found = smallest_eigenvectors(
                problem, count, tol=_TOL, max_iter=_LAPLACIAN_PRODUCTS, seed=0, solver="auto"
            )
        elif not (positive or semidefinite):
            found = _block_krylov(
                lambda x: matrix @ x, len(diagonal), count, null, top=top, restarts=_TRIAL_RESTARTS
            )
        if found is None or not found.converged:
            found = _shift_invert(matrix, null, count, None if positive else found, top)
    return _finished(found, count)


def _shift_invert(
    matrix: sp.csr_array, null: Matrix, count: int, found: EigenPairs | None, top: float
) -> EigenPairs:
    """The bottom eigenpairs by inverses of shifted matrices.

    If nothing was found before, there is one shift just below zero, since the matrix is then semidefinite; otherwise the
    shift follows the first missing pair.
    """
    if found is None:
        # Below its eigenvalues the shifted matrix is positive definite: no pivoting, which fills the factor.
        return _inverse_krylov(matrix, -_BELOW * top, 0.0, null, count, None, top, _RESTARTS)
    for _ in range(_SHIFTS):
        residual = np.linalg.norm(matrix @ found.vectors - found.vectors * found.values, axis=0)[:count]
        first = int(np.argmax(residual / _allowed(found.values[:count], top) > 1))
        # Too close a shift would drown the other wanted vectors in the one it is close to.
        spread = float(found.values[-1] - found.values[first])
        shift = float(found.values[first]) - max(float(residual[first]), 0.01 * spread, _BELOW * top)
        found = _inverse_krylov(matrix, shift, 0.1, null, count, found.vectors, top, _SHIFT_RESTARTS)
        if found.converged:
            break
    return found


def _inverse_krylov(
    matrix: sp.csr_array,
    shift: float,
    pivoting: float,
    null: Matrix,
    count: int,
    start: Matrix | None,
    top: float,
    restarts: int,
) -> EigenPairs:
    shifted = sp.csc_array(matrix - shift * sp.eye_array(matrix.shape[0]))
    factor = spla.splu(
        shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=pivoting, options={"SymmetricMode": True}
    )
    return _block_krylov(
        lambda x: matrix @ x,
        len(null),
        count,
        null,
        solve=factor.solve,
        start=start,
        top=top,
        restarts=restarts,
    )


def _finished(found: EigenPairs, count: int) -> EigenPairs:
    if not found.converged:
        warnings.warn(
            f"eigenvectors of the quadratic problem have a residual {found.excess:.1f} times the tolerance "
            f"{_TOL:g} (relative to the eigenvalue). They are approximate: eigenvalues may be too close "
            "together to tell apart; with another n_components the cut may be in a wider gap.",
            NotConvergedWarning,
            stacklevel=3,
        )
    return EigenPairs(found.values[:count], fix_signs(found.vectors[:, :count]), found.excess)


def standardized(vectors: Matrix) -> Matrix:
    """√n times orthonormal vectors that are orthogonal to 1, their rounding errors removed."""
    centred = vectors - vectors.mean(axis=0)
    with one_blas_thread():
        basis, triangle = qr(centred)
    # QR may turn signs; the triangle is the identity up to rounding and those.
    return np.asarray(np.sqrt(len(vectors)) * basis * np.sign(np.diag(triangle)))


def exact_quadratic(
    edges: ArrayLike, weights: ArrayLike, n: int, n_components: int, *, semidefinite: bool = False
) -> tuple[Matrix, float]:
    """The standardized Y that minimises (1/p) Σ w_ij ‖y_i − y_j‖², and the minimum.

    Weights may be negative. Y is unique up to signs if the eigenvalues differ, and up to a rotation within
    equal eigenvalues; in each column the entry of largest magnitude is positive.
    """
    graph = Graph.from_edges(edges, weights, n=n, combine="sum")
    p = len(np.asarray(edges))
    if p == 0:
        raise InvalidInputError("a quadratic problem needs at least one edge; got none.")
    check_components(n_components, n - 1, f"there are {n} items and the constant vector is ruled out")
    found = bottom_of_graph(graph, n_components, semidefinite=semidefinite)
    return standardized(found.vectors), float(n / p * found.values.sum())


def bottom_of_graph(graph: Graph, count: int, *, semidefinite: bool = False) -> EigenPairs:
    """The `count` bottom eigenpairs, the constant vector left out, of L with L_ij = −w_ij and L1 = 0."""
    adjacency = sp.csr_array(graph.adjacency, dtype=np.float64)
    null = np.full(graph.n, 1 / np.sqrt(graph.n))
    degree = np.asarray(adjacency.sum(axis=1), np.float64)
    return bottom_of_sparse(adjacency, degree, null, count, semidefinite=semidefinite)


@dataclass(frozen=True)
class ExactQuadratic:
    """Solves a standardized quadratic problem in one step, by its eigenvectors."""

    weights: Matrix
    name = "eigenvectors"

    def init(self, problem: Any, Y0: Matrix) -> SolverState:
        """The start, judged."""
        return SolverState(0, Y0, problem.evaluate(Y0)[0], problem.residual(Y0))

    def step(self, problem: Any, state: SolverState) -> SolverState:
        """The exact solution."""
        Y, value = exact_quadratic(problem.edges, self.weights, *problem.shape)
        return SolverState(state.iteration + 1, Y, value, problem.residual(Y))

    def done(self, state: SolverState) -> Status | None:
        """Converged after the one step, unless rounding shows: where no weight is negative, no objective is."""
        if state.iteration == 0:
            return None
        least, usual = float(np.min(self.weights)), float(np.median(self.weights))
        if least >= 0 and not state.objective >= -_ROUNDING * usual:
            return Status(
                "stopped",
                f"The weights, at most {np.max(self.weights):.3g} and {usual:.3g} in the median, differ too much for eigenvectors in "
                f"double precision: the objective came out as {state.objective:.3g}, below zero. Clip the largest.",
            )
        return Status("converged", f"Solved exactly by eigenvectors, residual {state.residual:.3g}.")
