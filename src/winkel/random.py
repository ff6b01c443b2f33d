"""Counter-based random numbers in Python, the same ones that the compiled core draws."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import _core


@dataclass(frozen=True)
class Stream:
    """An endless sequence of random numbers: number i is a function of (seed, stream, i) and of nothing else.

    Nothing advances: draws with `start=k` begin at number k, whatever was drawn before, so that any part
    can be drawn by anyone in any order, and a run that goes on needs to know only where it was. The methods
    are different readings of the same sequence: to be independent, draws must not share both stream and
    numbers.
    """

    seed: int
    stream: int = 0

    @classmethod
    def named(cls, seed: int, name: str) -> Stream:
        """The stream of `seed` for a purpose such as "init": purposes do not disturb one another."""
        return cls(seed, int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little"))

    def bits(self, shape: int | tuple[int, ...], *, start: int = 0) -> NDArray[np.uint64]:
        """Random 64-bit words."""
        return _core.random_bits(self.seed, self.stream, start, _size(shape)).reshape(shape)

    def uniform(self, shape: int | tuple[int, ...], *, start: int = 0) -> NDArray[np.float64]:
        """Uniform draws in [0, 1)."""
        return _core.random_uniform(self.seed, self.stream, start, _size(shape)).reshape(shape)

    def normal(self, shape: int | tuple[int, ...], *, start: int = 0) -> NDArray[np.float64]:
        """Standard normal draws."""
        return _core.random_normal(self.seed, self.stream, start, _size(shape)).reshape(shape)

    def integers(self, bound: int, shape: int | tuple[int, ...], *, start: int = 0) -> NDArray[np.int64]:
        """Uniform draws in {0, ..., bound - 1}."""
        return _core.random_integers(self.seed, self.stream, start, _size(shape), bound).reshape(shape)

    def permutation(self, n: int, *, start: int = 0) -> NDArray[np.int64]:
        """A random order of 0, ..., n - 1, from n numbers of the stream."""
        return np.argsort(self.bits(n, start=start), kind="stable").astype(np.int64, copy=False)


def _size(shape: int | tuple[int, ...]) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)
