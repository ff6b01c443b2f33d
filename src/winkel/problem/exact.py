"""Quadratic problems, which have an exact solution: by a linear system if items are anchored, otherwise by eigenvectors.

    minimise (1/p) [Σ wᵢⱼ‖yᵢ − yⱼ‖² + Σ ωᵢ‖yᵢ − tᵢ‖²],  wᵢⱼ ≥ 0,  with anchored yᵢ        (Agrawal et al. 2021, chapter 3)

With L the Laplacian of the weights, f the free and a the anchored items, the minimiser solves
(L_ff + diag ω) Y_f = −L_fa Y_a + ω T, with one sparse positive definite matrix for all coordinates. Small systems
are factorised. Large systems are solved by conjugate gradients, preconditioned by algebraic multigrid if pyamg is
installed, otherwise by the diagonal.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from .. import _core
from ..algebra import one_blas_thread
from ..errors import InvalidInputError, InvalidParameterError
from ..graph.laplacian import seeded_global_state
from ..solvers.linear import ConjugateGradients, Factorisation
from ..typing import FloatArray
from .constraints import Anchored, Standardized
from .problem import Problem

Matrix = NDArray[np.float64]

FACTORISE_UP_TO = 5000  # free items; up to this number, the factor of any graph is small
MULTIGRID_FROM = 20_000  # free items; below, the diagonal is quicker than setting up a hierarchy


def quadratic_weights(problem: Problem) -> Matrix | None:
    """The weights of a problem whose distortions are all w·d²; None for other problems."""
    weights, parts = np.empty(problem.n_pairs), problem.distortion.fused()
    for part in parts:
        if part.kernel != "power" or part.first != 2.0:
            return None
        weights[slice(None) if part.pairs is None else part.pairs] = part.weights
    return weights if parts else None


def is_linear(problem: Problem) -> bool:
    """Whether the problem is an anchored quadratic problem without negative weights."""
    if not isinstance(problem.constraint, Anchored):
        return False
    weights = quadratic_weights(problem)
    return weights is not None and bool((weights >= 0).all())


def has_eigenvectors(problem: Problem) -> bool:
    """Whether eigenvectors solve the problem: quadratic penalties under Standardized(), without pulls."""
    standardized = isinstance(problem.constraint, Standardized) and problem.pulls is None
    return standardized and quadratic_weights(problem) is not None


def unreachable(problem: Problem, weights: Matrix) -> NDArray[np.bool_]:
    """Which items are not connected to an anchor or a pull by a chain of positive weights, so that their place is not determined."""
    roots = np.asarray(_core.component_roots(problem.edges[weights > 0].astype(np.int32), problem.n_items))
    tied = np.zeros(problem.n_items, bool)
    if isinstance(problem.constraint, Anchored):
        tied[roots[problem.constraint.indices]] = True
    if problem.pulls is not None:
        pulling = np.broadcast_to(problem.pulls.weights > 0, problem.pulls.indices.shape)
        tied[roots[problem.pulls.indices[pulling]]] = True
    return np.asarray(~tied[roots])


def linear_solver(system: AnchoredSystem) -> Factorisation | ConjugateGradients:
    """The linear solver that suits the size of a system."""
    return Factorisation() if len(system.free) <= FACTORISE_UP_TO else ConjugateGradients()


class AnchoredSystem:
    """The linear system of an anchored quadratic problem: `matrix` Y_free = `right`."""

    def __init__(self, problem: Problem) -> None:
        weights, anchors = quadratic_weights(problem), problem.constraint
        if weights is None or (weights < 0).any() or not isinstance(anchors, Anchored):
            raise InvalidParameterError(
                'solver="linear" is for quadratic penalties with weights that are not negative and '
                f"Anchored(indices, values); got {problem.distortion!r:.80} and {problem.constraint!r}. "
                'Use solver="auto".'
            )
        lost = unreachable(problem, weights)
        if lost.any():
            raise InvalidInputError(
                f"{int(lost.sum())} of {problem.n_items} items cannot be placed: no chain of positive weights "
                f"leads from them to an anchor or a pull, first item {int(np.argmax(lost))}. Anchor or pull an item in "
                'each component, leave these items out, or use solver="lbfgs", which lets each such component '
                "shrink to a point wherever it starts."
            )
        self._problem = problem
        self._anchors = anchors
        self.n_pairs = problem.n_pairs
        self.free = np.delete(np.arange(problem.n_items), anchors.indices)
        self.matrix, self.right = self._assemble(problem, weights)

    @cached_property
    def start(self) -> Matrix:
        """The starting embedding, with all free items at the mean of the anchors, so that no place is preferred."""
        mean = self._anchors.values.mean(axis=0)
        return self.whole(np.broadcast_to(mean, (len(self.free), len(mean))))

    @cached_property
    def scale(self) -> Matrix:
        """The square of the remainder at the start, for each coordinate."""
        remainder = self.right - self.matrix @ self.start[self.free]
        return np.asarray(np.sum(remainder * remainder, axis=0))

    def _assemble(self, problem: Problem, weights: Matrix) -> tuple[sp.csr_array, Matrix]:
        n, (i, j) = problem.n_items, problem.edges.T
        W = sp.csr_array((np.r_[weights, weights], (np.r_[i, j], np.r_[j, i])), shape=(n, n))
        diagonal = np.asarray(W.sum(axis=1), np.float64)
        fixed = problem.project(np.zeros(problem.shape))
        right = np.asarray(W @ fixed)
        if problem.pulls is not None:
            strength = np.broadcast_to(problem.pulls.weights, problem.pulls.indices.shape)
            diagonal[problem.pulls.indices] += strength
            right[problem.pulls.indices] += strength[:, None] * problem.pulls.targets
        L = sp.csr_array(sp.diags_array(diagonal) - W)
        return sp.csr_array(L[self.free][:, self.free]), right[self.free]

    def whole(self, free: FloatArray) -> Matrix:
        """The embedding with the free items placed."""
        Y = np.zeros(self._problem.shape)
        Y[self.free] = free
        return np.asarray(self._problem.project(Y))

    def value(self, Y: Matrix) -> float:
        """The average distortion."""
        return self._problem.evaluate(Y)[0]

    def factorised(self) -> Matrix:
        """The solution by a sparse factorisation, refined once."""
        with one_blas_thread():
            factor = spla.splu(
                sp.csc_array(self.matrix), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}
            )
            found = factor.solve(self.right)
            return np.asarray(found + factor.solve(self.right - self.matrix @ found))

    @cached_property
    def precondition(self) -> Callable[[Matrix], Matrix]:
        """An approximate inverse of the matrix, for blocks of vectors."""
        if len(self.free) >= MULTIGRID_FROM and importlib.util.find_spec("pyamg") is not None:
            import pyamg

            with seeded_global_state(0), one_blas_thread():
                hierarchy = pyamg.smoothed_aggregation_solver(self.matrix)
            cycle = hierarchy.aspreconditioner()
            return lambda R: np.stack([cycle @ column for column in R.T], axis=1)
        inverse = 1 / self.matrix.diagonal()[:, None]
        return lambda R: inverse * R
