"""The constraint that the embedding is centred with uncorrelated features of unit variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import _core
from ...errors import InvalidParameterError
from ...typing import FloatArray
from .base import Constraint, centered, random_normal


@dataclass(frozen=True)
class Standardized(Constraint):
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
        values, vectors, mean = _spectrum(Z)
        if not values[0] > 1e-10 * values[-1]:
            scale = 1e-3 * np.sqrt(values[-1] / n) if values[-1] > 0 else 1.0
            Z = Z + (scale * random_normal(n, m, 0)).astype(Z.dtype)
            values, vectors, mean = _spectrum(Z)
        root = (vectors * np.sqrt(n / values)) @ vectors.T
        return np.asarray(_core.multiply(Z, mean, np.ascontiguousarray(root)))

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """G less its mean and Y·sym(YᵀG)/n.

        Equation 5.10 has GᵀY for the symmetric part; both agree for gradients of pairwise distortions, where YᵀG is
        symmetric, and this form is the nearest tangent for any G.
        """
        G = np.ascontiguousarray(centered(G))
        Y = np.ascontiguousarray(Y)
        cross = _core.gram(Y, G) / len(Y)
        zero = np.zeros(Y.shape[1])
        return np.asarray(G - _core.multiply(Y, zero, np.ascontiguousarray(0.5 * (cross + cross.T))))


def _spectrum(Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Eigenvalues (ascending) and eigenvectors of the centred ZᵀZ, and the mean of the rows."""
    mean = np.asarray(_core.column_sums(Z)) / len(Z)
    gram = _core.gram(Z, Z) - len(Z) * np.outer(mean, mean)
    values, vectors = np.linalg.eigh(gram)
    return values, vectors, mean
