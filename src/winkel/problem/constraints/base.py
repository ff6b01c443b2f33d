"""The contract of a constraint."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from ... import _core
from ...random import Stream
from ...typing import FloatArray


class Constraint(ABC):
    """A set of allowed embeddings. Arrays are n × m, float32 or float64, and results keep the precision."""

    def with_threads(self, n_threads: int) -> Self:
        """The same constraint, worked on by so many threads: itself, where it makes no use of them."""
        return self

    def check(self, n: int, m: int) -> None:  # noqa: B027 (most constraints allow some embedding of any size)
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


class ThreadedConstraint(Constraint):
    """A constraint whose projections are work for several threads; the results have the same bytes for any number."""

    n_threads = 1  # of the problem it is used in

    def with_threads(self, n_threads: int) -> Self:
        other = copy.copy(self)
        object.__setattr__(other, "n_threads", n_threads)
        return other


def centered(Y: FloatArray, n_threads: int) -> FloatArray:
    """Y less the mean of its rows, in the precision of Y."""
    Z = np.ascontiguousarray(Y)
    return np.asarray(_core.subtract_row(Z, _core.column_sums(Z, n_threads) / len(Z), n_threads))
