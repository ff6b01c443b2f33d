"""The constraint that the mean of all points is the origin."""

from __future__ import annotations

from dataclasses import dataclass

from ...typing import FloatArray
from .base import Constraint, centered, random_normal


@dataclass(frozen=True)
class Centered(Constraint):
    """Yᵀ1 = 0: only takes away the freedom to shift the whole embedding."""

    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        return centered(random_normal(n, m, seed))

    def project(self, Y: FloatArray) -> FloatArray:
        return centered(Y)

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        return centered(G)
