"""
The compiled core of winkel: kernels that know no Python objects but arrays.
"""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

@overload
def check_knn(
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    distances: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    n_jobs: int,
) -> tuple[int, int]: ...
@overload
def check_knn(
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    distances: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    n_jobs: int,
) -> tuple[int, int]:
    """
    Kind of fault (0: none) and row of the first neighbour list that is not valid.
    """

@overload
def symmetrize_knn(
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    distances: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    n_jobs: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    object,
]: ...
@overload
def symmetrize_knn(
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    distances: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    n_jobs: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    object,
]:
    """Sorted edges, number of directions and smaller distance of each."""

def rows_of_edges(
    edges: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    n: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
]:
    """
    Row starts, columns and edge numbers of the symmetric sparse matrix of sorted edges.
    """

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
    """Uniform draws in {0, ..., bound - 1}."""
