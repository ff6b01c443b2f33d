"""
The compiled core of winkel: kernels that know no Python objects but arrays.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray

def random_bits(
    seed: int, stream: int, start: int, n: int
) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C")]:
    """Draws start, ..., start + n - 1 of a stream as 64-bit words."""

def random_uniform(
    seed: int, stream: int, start: int, n: int
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """Uniform draws in [0, 1)."""

def random_normal(
    seed: int, stream: int, start: int, n: int
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """Standard normal draws."""

def random_integers(
    seed: int, stream: int, start: int, n: int, bound: int
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")]:
    """Uniform draws in {0, ..., bound - 1}; bound is at most 2**53."""

def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """The four words that Philox4x32-10 makes of a counter and a key."""
