"""
The compiled core of winkel: kernels that know no Python objects but arrays.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

@overload
def column_sums(
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
@overload
def column_sums(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """Sum of each column, in double."""

@overload
def gram(
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]: ...
@overload
def gram(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """The product of a transposed and b, in double."""

@overload
def multiply(
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    w: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]: ...
@overload
def multiply(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    w: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """The product of a - shift and w."""

@overload
def subtract_product(
    base: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    w: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]: ...
@overload
def subtract_product(
    base: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    w: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """base less a row and the product of a and w."""

@overload
def subtract_row(
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]: ...
@overload
def subtract_row(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """a less a row."""

@overload
def dots(
    left: Sequence[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ],
    right: Sequence[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]: ...
@overload
def dots(
    left: Sequence[
        Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ],
    right: Sequence[
        Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """Inner products of every array of left with every of right."""

@overload
def combine(
    coefficients: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arrays: Sequence[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]: ...
@overload
def combine(
    coefficients: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arrays: Sequence[
        Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """Sum of coefficient times array."""

class PairPlan32:
    """
    Pairs packed for one fused pass that gives the sum of distortions and its gradient.
    """

    def __init__(self, items: int, components: int) -> None: ...
    def add(
        self,
        distortion: str,
        first: float,
        second: float,
        floor: float,
        edges: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        common_weight: float,
        deviations: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
    ) -> None:
        """
        Adds pairs with a distortion by its name, or with factors given at each evaluation ("factors").
        """

    def evaluate(
        self,
        Y: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        scale: float,
        factors: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        gradient: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        threads: int,
    ) -> float:
        """Sum of the distortions; writes the gradient of scale times it."""

class PairPlan64:
    """
    Pairs packed for one fused pass that gives the sum of distortions and its gradient.
    """

    def __init__(self, items: int, components: int) -> None: ...
    def add(
        self,
        distortion: str,
        first: float,
        second: float,
        floor: float,
        edges: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        common_weight: float,
        deviations: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
    ) -> None:
        """
        Adds pairs with a distortion by its name, or with factors given at each evaluation ("factors").
        """

    def evaluate(
        self,
        Y: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        scale: float,
        factors: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        gradient: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        threads: int,
    ) -> float:
        """Sum of the distortions; writes the gradient of scale times it."""

@overload
def pair_distances(
    edges: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")]: ...
@overload
def pair_distances(
    edges: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """Euclidean distance of each pair of rows."""

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
