"""The constraint that the embedding is centred with uncorrelated features of unit variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ... import _core
from ...errors import InvalidParameterError
from ...typing import FloatArray
from .base import ThreadedConstraint, random_normal

_BLAS_FROM = 16  # dimensions from which an eigenproblem could be given to several threads, at a loss


@dataclass(frozen=True)
class Standardized(ThreadedConstraint):
    """(1/n) YᵀY = I and Yᵀ1 = 0: forces the points to spread out."""

    def check(self, n: int, m: int) -> None:
        if n <= m:
            raise InvalidParameterError(
                f"A standardized embedding in {m} dimensions needs more than {m} items; got {n}. "
                "Use fewer components or Centered()."
            )

    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        return self.project(random_normal(n, m, seed))

    def project(self, Y: FloatArray) -> FloatArray:
        """√n UVᵀ for the centred Y = UΣVᵀ (equation 6.5), by the eigenvectors of the m × m matrix YᵀY.

        A Y without full rank has many nearest points; a small fixed displacement then chooses one of them.
        """
        Z = np.ascontiguousarray(Y)
        n, m = Z.shape
        values, vectors, mean = _spectrum(Z, self.n_threads)
        if not values[0] > 1e-10 * values[-1]:
            scale = 1e-3 * np.sqrt(values[-1] / n) if values[-1] > 0 else 1.0
            Z = Z + (scale * random_normal(n, m, 0)).astype(Z.dtype)
            values, vectors, mean = _spectrum(Z, self.n_threads)
        root = (vectors * np.sqrt(n / values)) @ vectors.T
        return np.asarray(_core.multiply(Z, mean, np.ascontiguousarray(root), self.n_threads))

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """G less its mean and Y·sym(YᵀG)/n.

        Equation 5.10 has GᵀY for the symmetric part; both agree for gradients of pairwise distortions,
        where YᵀG is symmetric, and this form is the nearest tangent for any G.
        """
        G, Y = np.ascontiguousarray(G), np.ascontiguousarray(Y)
        mean = _core.column_sums(G, self.n_threads) / len(G)
        # Y is centred, so that its product with G is that with G less its mean.
        cross = _core.gram(Y, G, self.n_threads) / len(Y)
        symmetric = np.ascontiguousarray(0.5 * (cross + cross.T))
        return np.asarray(_core.subtract_product(G, mean, Y, symmetric, self.n_threads))


def _spectrum(Z: FloatArray, n_threads: int) -> tuple[NDArray[np.float64], ...]:
    """Eigenvalues (ascending) and eigenvectors of the centred ZᵀZ, and the mean of the rows."""
    mean = np.asarray(_core.column_sums(Z, n_threads)) / len(Z)
    gram = _core.gram(Z, Z, n_threads) - len(Z) * np.outer(mean, mean)
    if len(gram) < _BLAS_FROM:
        values, vectors = np.linalg.eigh(gram)
    else:
        with threadpool_limits(1, user_api="blas"):
            values, vectors = np.linalg.eigh(gram)
    return values, vectors, mean
