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

def component_roots(
    edges: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    n: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]:
    """Smallest node of each node's component."""

def spanning_forest(
    edges: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n: int,
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")]:
    """
    Numbers of the edges that Kruskal's algorithm keeps when offered them in this order.
    """

def neighborhood_arcs(
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    tree: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    n_steps: int,
    n_jobs: int,
) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C")]:
    """
    1 for each entry of the lists that is on the tree or mutually reachable, else 0.
    """

@overload
def path_matrix(
    indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    lengths: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limit: float,
    n_jobs: int,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def path_matrix(
    indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    lengths: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limit: float,
    n_jobs: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """Writes the distances from each source to every node into `out`."""

def path_pairs(
    indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    lengths: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limit: float,
    share: float,
    seed: int,
    n_jobs: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]:
    """
    Pairs and distances of paths from the sources, each pair kept with probability `share`.
    """

def laplacian_apply(
    indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_jobs: int,
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """Writes (diag - W) x into `out`."""

def chebyshev_filter(
    indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    degree: int,
    low: float,
    cut: float,
    top: float,
    n_jobs: int,
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    work: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """
    Replaces x by p(diag - W) x with the Chebyshev polynomial that is 1 at `low` and small on [cut, top].
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
