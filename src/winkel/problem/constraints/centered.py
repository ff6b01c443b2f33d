"""The constraint that the mean of all points is the origin."""

from __future__ import annotations

from dataclasses import dataclass

from ...typing import FloatArray
from .base import ThreadedConstraint, centered, random_normal


@dataclass(frozen=True)
class Centered(ThreadedConstraint):
    """Yᵀ1 = 0: only takes away the freedom to shift the whole embedding."""

    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        return centered(random_normal(n, m, seed), self.n_threads)

    def project(self, Y: FloatArray) -> FloatArray:
        return centered(Y, self.n_threads)

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        return centered(G, self.n_threads)
