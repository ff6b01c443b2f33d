"""
The compiled core of winkel: kernels that know no Python objects but arrays.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

@overload
def matrix_product(
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    turn_a: bool,
    turn_b: bool,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]: ...
@overload
def matrix_product(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    turn_a: bool,
    turn_b: bool,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """The product of two matrices, each transposed or not, in double."""

def symmetric_eigen(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    count: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    The largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors as rows.
    """

def orthonormal_columns(
    columns: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    The QR decomposition of the matrix with these columns, given and returned as rows, and its triangle.
    """

def orthogonal_rows(
    rows: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """Rows turned in pairs until all are orthogonal, and the rotation."""

def solve_positive(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")], bool]:
    """
    The solution for a symmetric positive matrix, and whether it is positive.
    """

@overload
def each_product(
    a: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    b: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C")]: ...
@overload
def each_product(
    a: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    b: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C")]:
    """The product of each matrix of a with the transpose of that of b."""

def each_solution(
    a: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """
    The solution for each symmetric positive matrix; NaN where it is not positive.
    """

def exp(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """
    The exponential of each number, zero below -708 and no more than that of 708.
    """

def log(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """The logarithm of each number, all positive and normal."""

def arccos(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """The angle of each cosine, from -1 to 1."""

def cos_turns(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """The cosine of each number of full turns."""

class RadialTable:
    """
    A radial function by cubic polynomials of the squared distance, a cell a row.
    """

    def __init__(
        self,
        first_binade: int,
        bits: int,
        floor: float,
        coefficients: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def __call__(
        self,
        squares: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    ]:
        """Values k(d) and pulls k'(d) / d at squared distances."""

class ExactSearch:
    """Exact neighbours among n points, task by task."""

    def __init__(
        self,
        x: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        metric: int,
        width: int,
    ) -> None: ...
    @property
    def n_tasks(self) -> int: ...
    def run(self, begin: int, end: int, threads: int) -> None:
        """Works through tasks begin, ..., end - 1."""

    def result(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
    ]: ...

class NeighborDescent:
    """Approximate neighbours among n points, round by round."""

    def __init__(
        self,
        x: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sketch: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        metric: int,
        width: int,
        n_candidates: int,
        leaf_size: int,
        seed: int,
        threads: int,
    ) -> None: ...
    def grow_tree(self, threads: int) -> None:
        """Compares all pairs within the leaves of one more tree."""

    def round(self, threads: int) -> int:
        """One round of nn-descent; how many list entries are new after it."""

    def finish(self) -> None:
        """Frees what trees and rounds need: none can follow, and only peek can."""

    def peek(
        self,
        rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")]:
        """Present neighbours of some rows."""

def search_queries(
    q: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    q_norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x_norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    metric: int,
    width: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]:
    """Nearest points of x for each row of q, by the search distance."""

class SparseSearch:
    """Exact neighbours among sparse points, a range of rows at a time."""

    def __init__(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_features: int,
        norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: int,
    ) -> None: ...
    def run(self, first: int, last: int, threads: int) -> None:
        """Searches for rows first, ..., last - 1."""

    def result(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
    ]: ...

def project(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    directions: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]:
    """The product of x and 64 directions."""

class LatentPairs32:
    """
    Similar and dissimilar pairs of a latent variable model, with what EM needs of them.
    """

    def __init__(
        self,
        order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        squares: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def add_family(
        self,
        items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        reach: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        slack: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        mass: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        except_from: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        except_: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        ways: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None:
        """
        Blocks of points whose pairs are dissimilar, with the pairs that are not.
        """

    def balance(
        self,
        factor: float,
        repulsion: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None:
        """Set the factor of all dissimilar weights, and their sum at each point."""

    def gradient(
        self,
        Y: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        variance: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]]:
        """The log-likelihood and its derivatives by the means."""

    def variance_slopes(
        self,
        Y: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        variance: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
        """Twice the derivatives of the log-likelihood by the variances."""

    def step(
        self,
        variance: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        gradient: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        tol: float,
        max_iter: int,
        threads: int,
    ) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")], int]:
        """The step of the means, and the iterations that the linear solver made."""

class LatentPairs64:
    """
    Similar and dissimilar pairs of a latent variable model, with what EM needs of them.
    """

    def __init__(
        self,
        order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        squares: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def add_family(
        self,
        items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        reach: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        slack: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        mass: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        except_from: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        except_: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        ways: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None:
        """
        Blocks of points whose pairs are dissimilar, with the pairs that are not.
        """

    def balance(
        self,
        factor: float,
        repulsion: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None:
        """Set the factor of all dissimilar weights, and their sum at each point."""

    def gradient(
        self,
        Y: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        variance: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]]:
        """The log-likelihood and its derivatives by the means."""

    def variance_slopes(
        self,
        Y: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        variance: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
        """Twice the derivatives of the log-likelihood by the variances."""

    def step(
        self,
        variance: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        gradient: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        tol: float,
        max_iter: int,
        threads: int,
    ) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")], int]:
        """The step of the means, and the iterations that the linear solver made."""

def place_latent(
    items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    reach: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    factor: float,
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    variance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    from_: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    similar: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    block: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    own_reach: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    except_from: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    except_: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ways: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    start_variance: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    max_iter: int,
    tol: float,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]:
    """Means and variances of new points, each by EM against the fitted ones."""

@overload
def refine_neighbors(
    q: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    candidates: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def refine_neighbors(
    q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    candidates: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    The k nearest of the candidates of each row by true distance, nearest first.
    """

@overload
def direct_neighbors(
    q: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def direct_neighbors(
    q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    The k nearest points of x for each row of q, by true distances to all of them.
    """

@overload
def nearest_columns(
    distances: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def nearest_columns(
    distances: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    The k smallest entries of each row of a matrix of distances, own column left out.
    """

@overload
def refine_neighbors_sparse(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_features: int,
    candidates: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def refine_neighbors_sparse(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_features: int,
    candidates: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """refine_neighbors for a CSR matrix among its own rows."""

@overload
def direct_neighbors_sparse(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_features: int,
    which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def direct_neighbors_sparse(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_features: int,
    which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """direct_neighbors for chosen rows of a CSR matrix."""

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

@overload
def sum_directions(
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    n_jobs: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    object,
]: ...
@overload
def sum_directions(
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    n_jobs: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    object,
]:
    """Sorted edges, number of directions and sum of the values of each."""

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

def neighbor_groups(
    indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]:
    """
    The group of each node: leaders taken in order, each with those tied to it most strongly.
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

def remainder_apply(
    indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_jobs: int,
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """
    Writes x - W x into `out`, in single precision; columns in whole groups of 16.
    """

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

def instruction_sets() -> list[str]:
    """
    Names of the instruction sets that this processor and build have, the highest last.
    """

def instruction_set() -> str:
    """
    The instruction set in use: the highest one, or what WINKEL_ISA named when the library was loaded.
    """

def use_instruction_set(name: str) -> None:
    """
    Runs kernels in the form for this instruction set from now on: for tests of one against another.
    """

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
def column_range(
    a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
]: ...
@overload
def column_range(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]:
    """
    Smallest and largest entry of each column; NaN where an entry is not finite.
    """

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

@overload
def metric_distances(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    kind: int,
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")]: ...
@overload
def metric_distances(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    kind: int,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """True distance of each pair of rows."""

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
        threads: int,
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
        threads: int,
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

def map_pieces(
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    k: int,
    factor: float,
    threads: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]:
    """
    Smallest row of each row's piece: rows are linked when nearer than `factor` times the larger of their distances to the k-th neighbour.
    """

class AnchorGroup:
    """
    Anchors of new points under one distortion: one row for all, or one a point.
    """

    def __init__(
        self,
        kernel: str,
        first: float,
        second: float,
        floor: float,
        anchors: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        deviations: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ]
        | None,
        table: RadialTable | None = None,
    ) -> None: ...

class NearPoints:
    """
    Points in space by cells, and what those within a reach add to the Cauchy potential.
    """

    def __init__(
        self,
        points: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        reach: float,
    ) -> None: ...

class HeldPotential:
    """
    A potential in the plane or in space, by the coefficients of its splines; its weight for all rows or for each.
    """

    def __init__(
        self,
        held: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)],
        origin: Sequence[float],
        spacing: float,
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        near: NearPoints | None = None,
    ) -> None: ...

def place_rows(
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    starts: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    groups: Sequence[AnchorGroup],
    max_iter: int,
    tol: float,
    threads: int,
    potential: HeldPotential | None = None,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """
    Positions of new points, each minimising its own distortion against anchors Y and the potential, from where it starts.
    """

@overload
def local_weights(
    rows: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    fitted: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    near: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ridge: float,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]: ...
@overload
def local_weights(
    rows: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    fitted: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    near: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ridge: float,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """
    Weights of the near fitted rows whose sum comes closest to each row; NaN where rounding leaves no positive matrix.
    """

@overload
def sparse_local_weights(
    rows: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
    fitted: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
    n_features: int,
    near: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ridge: float,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]: ...
@overload
def sparse_local_weights(
    rows: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
    fitted: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
    n_features: int,
    near: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ridge: float,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """The same for CSR rows, given as (indptr, indices, values)."""

def similar_pairs(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    limit: float,
    first: int,
    max_pairs: int,
    threads: int,
) -> tuple[
    int,
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
]:
    """
    How many pairs i < j, first <= j, of rows of unit norm have a cosine above the limit, and i, j and cosine of each; with more than max_pairs the search stops and no pairs are given.
    """

def similarity_rows(
    i: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    j: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    cosine: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tau: float,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
]:
    """
    indptr, indices and values of the symmetric matrix r_i r_j (cosine - tau).
    """

class SimilarMatrix:
    """
    A symmetric matrix S of similarities, from compressed rows of ascending columns.
    """

    def __init__(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def residual_product(
        self,
        left: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        right: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        v: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    ]:
        """
        (L - Z) v for L = left right^T, which is symmetric, and Z = S where that is not zero, min(0, L) elsewhere; and the sums of max(0, L) and its square where S is zero, of L, its square and (S - L)^2 where it is not.
        """

    def support_product(
        self,
        v: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
        """The sum of v_j over the entries of S in each row."""

class FieldRules:
    """When a box of points may stand for its points."""

    def __init__(
        self,
        nodes: int,
        leaf: int,
        separation: float,
        softening: float,
        reach: float,
        grain: float,
        grain_slope: float,
    ) -> None: ...

@overload
def radial_sums(
    kernel: str,
    exponent: float,
    floor: float,
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    threads: int,
    table: RadialTable | None = None,
) -> tuple[
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def radial_sums(
    kernel: str,
    exponent: float,
    floor: float,
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    threads: int,
    table: RadialTable | None = None,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    Exact potentials and forces of a radial kernel, by its name or a table, at all points or at some rows.
    """

@overload
def field_sums(
    kernel: str,
    exponent: float,
    floor: float,
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rules: FieldRules,
    threads: int,
    table: RadialTable | None = None,
) -> tuple[
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def field_sums(
    kernel: str,
    exponent: float,
    floor: float,
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rules: FieldRules,
    threads: int,
    table: RadialTable | None = None,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    Potentials and forces of a radial kernel at all points, by the tree, for two or three columns.
    """

class Curve:
    """A function of the squared distance of two points, by kernel and form."""

    def __init__(self, kernel: str, form: str, first: float, second: float, floor: float) -> None: ...

@overload
def curve_values(
    curve: Curve,
    squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
]: ...
@overload
def curve_values(
    curve: Curve,
    squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]:
    """Values and slopes of a curve at squared distances."""

@overload
def listed_forces(
    curve: Curve,
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    with_value: bool,
    threads: int,
) -> tuple[float, Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]]: ...
@overload
def listed_forces(
    curve: Curve,
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    with_value: bool,
    threads: int,
) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]]:
    """
    Sum of w f over listed pairs (0 without value), and forces sum_j w f' (y_i - y_j) of every row.
    """

@overload
def all_forces(
    curve: Curve,
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def all_forces(
    curve: Curve,
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    Exact potentials sum_j q f and forces sum_j q f' (y_i - y_j) over all others.
    """

@overload
def sampled_forces(
    curve: Curve,
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    draws: int,
    seed: int,
    round: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def sampled_forces(
    curve: Curve,
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    draws: int,
    seed: int,
    round: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """What all_forces gives, estimated from random others of every row."""

@overload
def calibrate_perplexity(
    distances: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    perplexity: float,
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]: ...
@overload
def calibrate_perplexity(
    distances: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    perplexity: float,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """Conditional probabilities of neighbours at a perplexity, row by row."""

@overload
def calibrate_fuzzy(
    distances: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    target: float,
    least: float,
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]: ...
@overload
def calibrate_fuzzy(
    distances: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    target: float,
    least: float,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """Local fuzzy memberships of neighbours with a given sum, row by row."""

class DistanceRows:
    """Search distances of any rows to all of n points."""

    def __init__(
        self,
        x: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        metric: int,
    ) -> None: ...
    def rows(
        self,
        q: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        origins: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        threads: int,
    ) -> None:
        """
        Distances of rows q to all points; origins are their numbers if they are points, else -1.
        """

@overload
def rank_rows(
    d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def rank_rows(
    d: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None:
    """
    Ranks of all points in each row of distances: 1, 2, ..., and 0 for the row itself.
    """

@overload
def exact_ranks(
    d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    q: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    targets: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    kind: int,
    offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    slope: float,
    threads: int,
) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")]: ...
@overload
def exact_ranks(
    d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    targets: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    kind: int,
    offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    slope: float,
    threads: int,
) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C")]:
    """
    Ranks of the targets among all points by true distance, of which d are search distances.
    """

@overload
def exact_nearest(
    d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    q: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    kind: int,
    k: int,
    offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    slope: float,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]: ...
@overload
def exact_nearest(
    d: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    origins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    kind: int,
    k: int,
    offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    slope: float,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    The k nearest points by true distance, of which d are search distances.
    """

def corank(
    first: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    second: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
]:
    """
    For each row the sum of weights[larger rank], and how many points have which larger rank.
    """

def distance_moments(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    root_x: bool,
    root_y: bool,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """Sums of x², xy and y² of each row of distances."""

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

def sample_pairs(
    n: int,
    count: int,
    seed: int,
    barred: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")]:
    """
    Random pairs i < j without repeats, sorted, none of them barred (sorted keys i·n + j).
    """

class Shard:
    """
    Pairs of consecutive rows of a map with any others, as compressed rows.
    """

    def __init__(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indices: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        first: int,
        items: int,
    ) -> None: ...
    @overload
    def pull(
        self,
        distortion: str,
        first: float,
        second: float,
        floor: float,
        Y: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        scale: float,
        threads: int,
    ) -> tuple[float, Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]]: ...
    @overload
    def pull(
        self,
        distortion: str,
        first: float,
        second: float,
        floor: float,
        Y: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        scale: float,
        threads: int,
    ) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]]:
        """
        Half the sum over entries of w f(d), and for the shard's rows the gradient of scale times the sum over pairs.
        """

def search_cells(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    cells: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: int,
    probes: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    width: int,
    threads: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")]:
    """
    Nearest rows of the cells that each of some consecutive rows names (-1: none), by single precision.
    """

def join_lists(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    lists: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    first: int,
    last: int,
    reach: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]:
    """
    The k nearest of each row's neighbours and of the first neighbours of its first ones, for some rows.
    """

@overload
def code_simplex(
    rows: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    atoms: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    gram: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    locality: float,
    method: int,
    tolerance: float,
    max_rounds: int,
    start_indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    start_indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    start_values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int = 1,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
]: ...
@overload
def code_simplex(
    rows: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    atoms: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    gram: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    locality: float,
    method: int,
    tolerance: float,
    max_rounds: int,
    start_indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    start_indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    start_values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int = 1,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
]:
    """
    Codes of rows on the simplex: indptr, indices, values, and each row's objective, gap and rounds.
    """

@overload
def weighted_row_sums(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]: ...
@overload
def weighted_row_sums(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """For every list of rows the weighted sum of those rows less the center."""

def code_products(
    products: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gram: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    locality: float,
    method: int,
    tolerance: float,
    max_rounds: int,
    start_indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    start_indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    start_values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int = 1,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
]:
    """
    The same of rows that are known by their products with the atoms and their squared norms.
    """

def project_simplex(
    points: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """The nearest point of the probability simplex to each row."""

@overload
def query_sparse(
    q: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
    x: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
    n_features: int,
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def query_sparse(
    q: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
    x: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
    n_features: int,
    kind: int,
    k: int,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    The k nearest rows of x for each row of q; both CSR, given as (indptr, indices, values).
    """

@overload
def grid_spread(
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    x: float,
    y: float,
    spacing: float,
    rows: int,
    cols: int,
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]: ...
@overload
def grid_spread(
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    x: float,
    y: float,
    spacing: float,
    rows: int,
    cols: int,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """Charges of points spread on a grid by quintic B-splines."""

@overload
def grid_read(
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    held: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    x: float,
    y: float,
    spacing: float,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def grid_read(
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    held: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    x: float,
    y: float,
    spacing: float,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    Value and gradient at points of the quintic spline with coefficients `held`.
    """

@overload
def grid_halve(
    fine: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")]: ...
@overload
def grid_halve(
    fine: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]:
    """Charges as a grid of twice the spacing holds them."""

@overload
def grid_double(
    coarse: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    fine: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def grid_double(
    coarse: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    fine: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None:
    """Adds the potential of the grid of twice the spacing to that of `fine`."""

@overload
def volume_spread(
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    origin: Sequence[float],
    spacing: float,
    nodes: Sequence[int],
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C")]: ...
@overload
def volume_spread(
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    charges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    origin: Sequence[float],
    spacing: float,
    nodes: Sequence[int],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C")]:
    """Charges of points in space spread on a grid by quintic B-splines."""

@overload
def volume_read(
    Y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    held: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    origin: Sequence[float],
    spacing: float,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")],
]: ...
@overload
def volume_read(
    Y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    held: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    origin: Sequence[float],
    spacing: float,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")],
]:
    """
    Value and gradient at points in space of the quintic spline with coefficients `held`.
    """

@overload
def volume_halve(
    fine: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    axis: int,
    threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C")]: ...
@overload
def volume_halve(
    fine: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    axis: int,
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C")]:
    """Charges as a grid of twice the spacing along an axis holds them."""

@overload
def volume_double(
    coarse: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    fine: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
    axis: int,
    threads: int,
) -> None: ...
@overload
def volume_double(
    coarse: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    fine: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    axis: int,
    threads: int,
) -> None:
    """
    Adds the potential of the grid of twice the spacing along an axis to that of `fine`.
    """
