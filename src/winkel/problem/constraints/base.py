"""The contract of a constraint."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ... import _core
from ...random import Stream
from ...typing import FloatArray


class Constraint(ABC):
    """A set of allowed embeddings. Arrays are n × m, float32 or float64, and results keep the precision."""

    def check(self, n: int, m: int) -> None:
        """Raise InvalidParameterError when no embedding of n items in m dimensions is allowed."""

    @abstractmethod
    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        """An allowed random embedding (float64) that depends on nothing but its arguments."""

    @abstractmethod
    def project(self, Y: FloatArray) -> FloatArray:
        """The allowed embedding nearest to Y, as a new array."""

    @abstractmethod
    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """The direction nearest to G in which an allowed Y stays allowed to first order, as a new array."""


def random_normal(n: int, m: int, seed: int) -> FloatArray:
    """Standard normal positions, a pure function of its arguments."""
    return Stream.named(seed, "constraint").normal((n, m))


def centered(Y: FloatArray) -> FloatArray:
    """Y less the mean of its rows, in the precision of Y."""
    mean = _core.column_sums(np.ascontiguousarray(Y)) / len(Y)
    return np.asarray(Y - mean.astype(Y.dtype))
