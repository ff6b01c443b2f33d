"""The trace of a matrix that is given only by its products: Hutch++ (Meyer, Musco, Musco and Woodruff 2020, algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..algebra import matmul, svd
from ..checks import integer
from ..run import Stream

Matrix = NDArray[np.float64]


def hutch_plus_plus(
    product: Callable[[Matrix], Matrix], n: int, stream: Stream, products: int = 12
) -> tuple[float, float]:
    """Estimates of the trace and of the Frobenius norm of a symmetric n × n matrix.

    `product` multiplies the matrix by one vector; it is called at most `products` times. The trace on the
    span Q of a third of the products is taken exactly, and only that of the rest is estimated, from random
    signs: the error falls as 1/products, and a matrix of rank up to products / 3 has none.
    """
    integer("products", products, 3)
    k = min(products // 3, n)
    signs = np.where(stream.bits((n, 2 * k)) >> np.uint64(63), 1.0, -1.0)

    def apply(block: Matrix) -> Matrix:
        return np.stack([product(np.ascontiguousarray(column)) for column in block.T], axis=1)

    sketch = apply(signs[:, :k])
    Q = _basis(sketch)
    rest = signs[:, k:] - matmul(Q, matmul(Q.T, signs[:, k:]))
    on_span = float(np.sum(Q * apply(Q))) if Q.shape[1] else 0.0
    beyond = float(np.sum(rest * apply(rest))) / k
    return on_span + beyond, float(np.sqrt(np.sum(sketch**2) / k))


def _basis(block: Matrix) -> Matrix:
    """Orthonormal columns that span the columns of a block, fewer where these depend on one another."""
    left, strength, _ = svd(block)
    return np.asarray(left[:, strength > 1e-12 * max(strength[0], np.finfo(np.float64).tiny)])
