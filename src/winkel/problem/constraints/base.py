"""The contract of a constraint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ... import _core
from ...random import Stream
from ...typing import FloatArray

_THREADS: ContextVar[int] = ContextVar("threads", default=1)


def threads() -> int:
    """The number of threads for the projections, which have no parameter for it: that of the problem at work."""
    return _THREADS.get()


@contextmanager
def working_threads(count: int) -> Iterator[None]:
    """Within it `threads()` is `count`."""
    token = _THREADS.set(count)
    try:
        yield
    finally:
        _THREADS.reset(token)


class Constraint(ABC):
    """A set of allowed embeddings. Arrays are n × m, float32 or float64, and results keep the precision."""

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


def centered(Y: FloatArray) -> FloatArray:
    """Y less the mean of its rows, in the precision of Y."""
    Z = np.ascontiguousarray(Y)
    return np.asarray(_core.subtract_row(Z, _core.column_sums(Z, threads()) / len(Z), threads()))
