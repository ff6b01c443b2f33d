"""Linear algebra and elementary functions whose bytes depend only on their input.

NumPy uses BLAS for products, LAPACK for decompositions and vector code for exponentials, and all of these choose their algorithm by the
processor. So the last digits differ from one machine to another, and iterations amplify the difference. If values decide
the bytes of a result, these functions are used instead. They compute in double precision, by default on one thread, in
an order that the source code fixes (`core/algebra.hpp`, `core/vecmath.hpp`).

Operations that NumPy does itself (sums, sorting, elementwise arithmetic and square roots, `einsum` without `optimize`) are the same on every
processor and need no replacement.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from . import _core

Matrix = NDArray[np.float64]

_FULL_UP_TO = 96  # rows of a matrix whose eigenvectors are all computed even if few are wanted
_SPARE, _DEPTH, _RESTARTS = 6, 4, 300  # of the block Krylov method for few eigenvectors
_SETTLED = 1e-13  # residual, in proportion to the largest eigenvalue
_BLAS_BUFFER = 48 * 2**20  # bytes that OpenBLAS asks for when a thread first uses it, and some more
_BLAS_STACK = 16 * 2**20
_BLAS = (
    threading.local()
)  # .ready: the process in which this thread has made a number of libraries allocate their buffers
_IMPORTED_IN = os.getpid()


def matmul(a: Any, b: Any, n_jobs: int = 1) -> Any:
    """a @ b for arrays of one or two dimensions, in double precision."""
    a, b = np.asarray(a), np.asarray(b)
    if not a.dtype == b.dtype == np.float32:
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    if b.ndim == 1 and a.flags.c_contiguous:
        rows = a[None] if a.ndim == 1 else a
        product = _core.each_product(rows[None], np.ascontiguousarray(b)[None, None], n_jobs)[0, :, 0]
        return product[0] if a.ndim == 1 else product
    left, right = a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b
    (left, turn_left), (right, turn_right) = _stored(left), _stored(right)
    product = _core.matrix_product(left, right, turn_left, turn_right, n_jobs)
    if a.ndim == 1:
        product = product[0]
    return product[..., 0] if b.ndim == 1 else product


def _stored(a: Any) -> tuple[Any, bool]:
    """The matrix as it lies in memory, and whether that is its transpose."""
    if a.flags.c_contiguous:
        return a, False
    return (a.T, True) if a.flags.f_contiguous else (np.ascontiguousarray(a), False)


def dot(a: Any, b: Any) -> float:
    """The inner product of two arrays of one shape."""
    return float(np.sum(np.multiply(a, b, dtype=np.float64)))


def norm(a: Any) -> float:
    """The square root of the sum of squares of all entries."""
    return float(np.sqrt(np.sum(np.square(a, dtype=np.float64))))


def eigh(a: Any, n_jobs: int = 1, *, largest: int | None = None) -> tuple[Matrix, Matrix]:
    """Ascending eigenvalues of a symmetric matrix, and its eigenvectors as columns; optionally only a number of the largest."""
    a = np.ascontiguousarray(a, dtype=np.float64)
    values, vectors = _core.symmetric_eigen(a, len(a) if largest is None else largest, n_jobs)
    return values, np.ascontiguousarray(vectors.T)


def largest_eigenvectors(a: Any, count: int) -> tuple[Matrix, Matrix]:
    """The `count` largest eigenvalues of a symmetric matrix without large negative ones, descending, and their eigenvectors."""
    a = np.asarray(a, dtype=np.float64)
    count = min(count, len(a))
    if len(a) <= max(_FULL_UP_TO, 4 * (count + _SPARE)):
        values, vectors = eigh(a)
        return values[::-1][:count].copy(), np.ascontiguousarray(vectors[:, ::-1][:, :count])
    return largest_of_operator(lambda x: np.asarray(matmul(a, x)), len(a), count)


def largest_of_operator(
    apply: Callable[[Matrix], Matrix],
    n: int,
    count: int,
    start: Matrix | None = None,
    *,
    settled: float = _SETTLED,
    restarts: int = _RESTARTS,
) -> tuple[Matrix, Matrix]:
    """The same for a matrix that is given by its product with a block of vectors: block Krylov, restarted with its best vectors.

    It ends when residuals are at most `settled` times the largest eigenvalue, or after a number of `restarts`.
    """
    width = min(count + _SPARE, n)
    block = np.asarray(_core.random_normal(0, 0, 0, n * width)).reshape(n, width)
    if start is not None:
        block[:, : start.shape[1]] = start[:, :width]
    values, vectors = np.zeros(count), block[:, :count]
    for _ in range(restarts):
        basis = qr(block)[0]
        parts, images = [basis], [apply(basis)]
        for _ in range(_DEPTH - 1):
            known = np.concatenate(parts, axis=1)
            if known.shape[1] + width > n:
                break
            new = images[-1]
            for _ in range(2):
                new = qr(new - matmul(known, matmul(known.T, new)))[0]
            parts.append(new)
            images.append(apply(new))
        basis, image = np.concatenate(parts, axis=1), np.concatenate(images, axis=1)
        inner = matmul(basis.T, image)
        found, turn = eigh((inner + inner.T) / 2)
        turn = turn[:, ::-1][:, :width]
        values, block = found[::-1][:count].copy(), matmul(basis, turn)
        vectors = np.ascontiguousarray(block[:, :count])
        residual = np.sqrt(np.sum(np.square(matmul(image, turn[:, :count]) - vectors * values), axis=0))
        if residual.max() <= settled * max(abs(found[-1]), abs(found[0])):
            break
    return values, vectors


def qr(a: Any) -> tuple[Matrix, Matrix]:
    """Orthonormal columns and the upper triangle whose product is `a`; if `a` is wider than tall, the columns are those of its first columns."""
    a = np.asarray(a, dtype=np.float64)
    n, p = a.shape
    if p > n:
        basis, triangle = qr(a[:, :n])
        return basis, np.concatenate([triangle, matmul(basis.T, a[:, n:])], axis=1)
    columns, triangle = _core.orthonormal_columns(np.ascontiguousarray(a.T))
    return np.ascontiguousarray(columns.T), triangle


def svd(a: Any) -> tuple[Matrix, Matrix, Matrix]:
    """Left singular vectors, descending singular values and right singular vectors (as rows), as many as the shorter side has."""
    a = np.asarray(a, dtype=np.float64)
    if a.shape[0] < a.shape[1]:
        left, strength, right = svd(a.T)
        return np.ascontiguousarray(right.T), strength, np.ascontiguousarray(left.T)
    basis, triangle = qr(a)
    turned, turns = _core.orthogonal_rows(np.ascontiguousarray(triangle.T))
    strength = np.sqrt(np.sum(np.square(turned), axis=1))
    order = np.argsort(-strength, kind="stable")
    strength, turned, right = strength[order], turned[order], turns[order]
    # A column of no length has no direction of its own: QR gives it one that is orthogonal to the others.
    tiny = strength <= 1e-14 * max(strength.max(initial=0.0), np.finfo(np.float64).tiny)
    left = np.divide(turned.T, np.where(tiny, 1.0, strength))
    if tiny.any():
        left[:, tiny] = 0.0
        complete, signs = qr(left)
        left = complete * np.where(np.diag(signs) < 0, -1.0, 1.0)
    return matmul(basis, left), strength, right


def pinv(a: Any) -> Matrix:
    """The pseudoinverse, like NumPy's with its default tolerance."""
    left, strength, right = svd(a)
    large = strength > 1e-15 * strength.max(initial=0.0)
    inverse = np.divide(1.0, strength, out=np.zeros_like(strength), where=large)
    return np.asarray(matmul(right.T * inverse, left.T))


def solve_positive(a: Any, b: Any) -> Matrix | None:
    """x with a x = b for a symmetric positive definite matrix; None if it is not positive."""
    b = np.asarray(b, dtype=np.float64)
    right = np.ascontiguousarray(b[:, None] if b.ndim == 1 else b)
    x, positive = _core.solve_positive(np.ascontiguousarray(a, dtype=np.float64), right)
    if not positive:
        return None
    return x[:, 0] if b.ndim == 1 else x


def each_product(a: Any, b: Any, n_jobs: int = 1) -> Matrix:
    """a @ bᵀ for each pair of matrices of two stacks, n × p × k and n × q × k."""
    a = np.ascontiguousarray(a)
    b = a if b is a else np.ascontiguousarray(b)
    if not a.dtype == b.dtype == np.float32:
        same = b is a
        a = a.astype(np.float64, copy=False)
        b = a if same else b.astype(np.float64, copy=False)
    return np.asarray(_core.each_product(a, b, n_jobs))


def each_solution(a: Any, b: Any, n_jobs: int = 1) -> Matrix:
    """x with a x = b for each symmetric positive definite matrix of a stack, n × k × k, and its right side, n × k."""
    a, b = np.ascontiguousarray(a, dtype=np.float64), np.ascontiguousarray(b, dtype=np.float64)
    x = np.asarray(_core.each_solution(a, b, n_jobs))
    rest = np.flatnonzero(np.isnan(x[:, 0])) if x.size else ()
    for i in rest:  # not positive by rounding: by eigenvectors
        x[i] = matmul(pinv(a[i]), b[i])
    return x


def exp(x: Any) -> Any:
    """The exponential, zero where it is less than 1e-307, in the shape and precision of x."""
    return _each(_core.exp, x)


def log(x: Any) -> Any:
    """The natural logarithm of positive numbers."""
    return _each(_core.log, x)


def arccos(x: Any) -> Any:
    """The angle of a cosine from −1 to 1."""
    return _each(_core.arccos, x)


def sin(x: Any) -> Any:
    """The sine of an angle of a few turns."""
    return _each(_core.cos_turns, np.asarray(x) / (2 * np.pi) - 0.25)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    fall = exp(-2 * np.abs(x))
    return np.copysign((1 - fall) / (1 + fall), x)


def power(x: Any, exponent: float) -> Any:
    """Positive numbers to a power."""
    return exp(exponent * log(x))


def _each(function: Callable[[Matrix], Matrix], x: Any) -> Any:
    x = np.asarray(x)
    kind = x.dtype if x.dtype == np.float32 else np.dtype(np.float64)
    out = function(np.ascontiguousarray(x, dtype=np.float64).ravel()).reshape(x.shape)
    return out.astype(kind, copy=False) if x.ndim else kind.type(out)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread, so that n_jobs changes no bytes, and with the memory that it needs, or a MemoryError.

    OpenBLAS ends the process if it cannot get memory. It allocates memory when a thread first uses it, and keeps it. So here it is made to
    allocate at once, after a check that the same amount of memory is free.
    """
    controller = ThreadpoolController().select(user_api="blas")
    state = (os.getpid(), len(controller))
    new = getattr(_BLAS, "ready", None) != state
    if new:
        room = len(controller) * _BLAS_BUFFER
        if os.getpid() != _IMPORTED_IN:  # in a forked child its threads start again
            each = _BLAS_STACK + _BLAS_BUFFER
            room += sum(library.num_threads - 1 for library in controller.lib_controllers) * each
        np.empty(room, dtype=np.uint8)
    with controller.limit(limits=1):
        if new:
            block = np.ones((256, 256), order="F")
            np.dot(block, block)
            if "scipy.linalg.blas" in sys.modules:  # SciPy brings another one
                sys.modules["scipy.linalg.blas"].dgemm(1.0, block, block)
            _BLAS.ready = state
        yield
