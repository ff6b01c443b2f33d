"""PCA and kernel PCA: weights are inner products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from ...algebra import one_blas_thread
from ...checks import choice, integer, number, optional, positive
from ...data import as_matrix
from ...errors import InvalidInputError
from ...graph.spectral_layout import fix_signs
from ...run import Run
from ...solvers.eigen import bottom_of_dense, bottom_of_operator, check_components, standardized
from .result import BLOCK, AllPairs, Quadratic, require_positive, solve_all_pairs

Matrix = NDArray[np.float64]

_SVD_UP_TO = 10**9  # n d min(n, d): below this the singular vectors of X itself, to full precision
_GRAM_UP_TO = 4000  # rows of the smaller Gram matrix; above it only products with X are made
_GRAM_NOISE = 1e-7  # singular values below this part of the first drown in the rounding of a Gram matrix
_EPS = float(np.finfo(np.float64).eps)
_KERNELS = ("linear", "rbf", "polynomial", "precomputed")


@dataclass(frozen=True)
class _Centred:
    """X minus its column means, without a centred copy: dense in blocks of rows, sparse by correction."""

    X: Any
    means: Matrix

    @classmethod
    def of(cls, X: Any) -> _Centred:
        return cls(X, np.asarray(X.mean(axis=0, dtype=np.float64)).ravel())

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.X.shape
        return int(n), int(d)

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Centred dense blocks of rows."""
        for start in range(0, self.shape[0], BLOCK):
            rows = slice(start, min(start + BLOCK, self.shape[0]))
            block = self.X[rows]
            yield rows, (block.toarray() if sp.issparse(block) else block) - self.means

    def times(self, V: Matrix) -> Matrix:
        """Centred X times V."""
        if sp.issparse(self.X):
            return np.asarray(self.X @ V - self.means @ V)
        out = np.empty((self.shape[0], V.shape[1]))
        for rows, block in self.blocks():
            out[rows] = block @ V
        return out

    def transposed_times(self, U: Matrix) -> Matrix:
        """Centred Xᵀ times U."""
        if sp.issparse(self.X):
            return np.asarray(self.X.T @ U - np.outer(self.means, U.sum(axis=0)))
        out = np.zeros((self.shape[1], U.shape[1]))
        for rows, block in self.blocks():
            out += block.T @ U[rows]
        return out

    def covariance(self) -> Matrix:
        """XᵀX of the centred X, d × d."""
        if sp.issparse(self.X):
            X = self.X.astype(np.float64)
            return np.asarray((X.T @ X).toarray() - self.shape[0] * np.outer(self.means, self.means))
        out = np.zeros((self.shape[1], self.shape[1]))
        for _, block in self.blocks():
            out += block.T @ block
        return out

    def similarity(self, start: int, stop: int) -> Matrix:
        """Inner products of centred rows start to stop with all."""
        own = self.X[start:stop].astype(np.float64)
        if sp.issparse(self.X):
            along = self.X @ self.means
            inner = (own @ self.X.T).toarray() - along
            return np.asarray(inner - along[start:stop, None] + self.means @ self.means)
        return np.ascontiguousarray(self.times((own - self.means).T).T)


def pca(X: Any, n_components: int = 2, *, max_memory: int | float | str | None = None) -> Quadratic:
    """Principal components: weights w_ij = x_iᵀx_j of the centred rows, for all pairs (so L = −XXᵀ).

    `to_textbook()` returns the scores, which are the projections onto the axes of largest variance; `−eigenvalues / (n − 1)` are the
    variances.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        The rows; sparse rows are centred implicitly.
    n_components : int, default=2
        Dimension of the map, up to the rank of the centred X.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB".

    Returns
    -------
    Quadratic
        The weights and the exact solution.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> pca = wk.quadratic.pca(digits.X)
    >>> pca.to_textbook().shape
    (1797, 2)
    >>> (-pca.eigenvalues / (pca.n - 1)).round()
    array([179., 164.])
    """
    run = Run.of(random_state=0, max_memory=max_memory)
    centred = _Centred.of(as_matrix(X))
    n, d = centred.shape
    check_components(n_components, min(n - 1, d), f"X is {n} × {d} and its rows are centred")
    small = min(n, d)
    direct = n * d * small <= _SVD_UP_TO
    run.check_memory(
        16.0 * n * d if direct else 16.0 * small**2 if small <= _GRAM_UP_TO else 16.0 * n * 64,
        f"pca of {n} × {d} values",
        "Give fewer rows or columns or a larger max_memory.",
    )
    with one_blas_thread():
        if direct:
            left, strength, noise = *_singular(centred, n_components), max(n, d) * _EPS
        else:
            left, strength, noise = *_through_gram(centred, n_components), _GRAM_NOISE
    require_positive(strength, noise, "X")
    pairs = AllPairs(n, centred.similarity, np.zeros(n), 0.0)
    return Quadratic("pca", standardized(fix_signs(left)), -(strength**2), pairs)


def _singular(centred: _Centred, count: int) -> tuple[Matrix, Matrix]:
    values = np.empty(centred.shape)
    for rows, block in centred.blocks():
        values[rows] = block
    left, strength, _ = scipy.linalg.svd(values, full_matrices=False, overwrite_a=True, check_finite=False)
    return left[:, :count], strength[:count]


def _through_gram(centred: _Centred, count: int) -> tuple[Matrix, Matrix]:
    """Left singular vectors and singular values by the smaller Gram matrix, made better by one product."""
    n, d = centred.shape
    if d <= n and d <= _GRAM_UP_TO:
        axes = bottom_of_dense(-centred.covariance(), count).vectors
    elif n <= _GRAM_UP_TO:
        gram = np.concatenate([centred.similarity(i, min(i + BLOCK, n)) for i in range(0, n, BLOCK)])
        axes = centred.transposed_times(bottom_of_dense(-gram, count).vectors)
    elif d <= n:
        axes = bottom_of_operator(lambda V: -centred.transposed_times(centred.times(V)), d, count).vectors
    else:
        scores = bottom_of_operator(lambda U: -centred.times(centred.transposed_times(U)), n, count).vectors
        axes = centred.transposed_times(scores)
    left, strength, _ = np.linalg.svd(centred.times(np.linalg.qr(axes)[0]), full_matrices=False)
    return left, strength


def kernel_pca(
    X: Any,
    n_components: int = 2,
    *,
    kernel: str = "rbf",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
    max_memory: int | float | str | None = None,
) -> Quadratic:
    """Kernel principal components: weights are the double-centred kernel matrix, for all pairs.

    `to_textbook()` returns the scores.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        The rows; with kernel="precomputed", the symmetric n × n matrix of another kernel.
    n_components : int, default=2
        Dimension of the map, up to the number of positive eigenvalues.
    kernel : {"linear", "rbf", "polynomial", "precomputed"}, default="rbf"
        "linear" is xᵀy, "rbf" is exp(−gamma ‖x − y‖²), "polynomial" is (gamma xᵀy + coef0)^degree.
    gamma : float or None, default=None
        Parameter of the kernel; None is 1 divided by the number of columns.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB".

    Returns
    -------
    Quadratic
        The weights and the exact solution.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> wk.quadratic.kernel_pca(digits.X[:200], gamma=0.001).to_textbook().shape
    (200, 2)
    """
    run = Run.of(random_state=0, max_memory=max_memory)
    choice("kernel", kernel, _KERNELS)
    values = as_matrix(X, allow_sparse=kernel != "precomputed")
    n = int(values.shape[0])
    check_components(n_components, n - 1, f"there are {n} items and the kernel is centred")
    if kernel == "precomputed":
        require_symmetric(values, "the kernel matrix")
        similarity = _rows_of(values)
    else:
        similarity = _kernel_rows(values, kernel, _check_kernel(values, gamma, degree, coef0), degree, coef0)
    with one_blas_thread():
        return solve_all_pairs("kernel_pca", n, similarity, n_components, run, "the centred kernel")


def _check_kernel(X: Any, gamma: float | None, degree: int, coef0: float) -> float:
    """Gamma, after a check of all parameters."""
    integer("degree", degree, 1)
    number("coef0", coef0)
    width = optional(positive, "gamma", gamma)
    return 1.0 / X.shape[1] if width is None else float(width)


def _kernel_rows(
    X: Any, kernel: str, gamma: float, degree: int, coef0: float
) -> Callable[[int, int], Matrix]:
    values = X.astype(np.float64)
    norms = np.asarray((values.multiply(values) if sp.issparse(X) else values**2).sum(axis=1)).ravel()

    def similarity(start: int, stop: int) -> Matrix:
        products = values[start:stop] @ values.T
        inner: Matrix = products.toarray() if sp.issparse(products) else products
        if kernel == "linear":
            return inner
        if kernel == "polynomial":
            return np.asarray((gamma * inner + coef0) ** degree)
        squares = norms[start:stop, None] + norms - 2 * inner
        # A row is at distance zero from itself, whatever rounding says.
        squares[np.arange(stop - start), np.arange(start, stop)] = 0.0
        return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))

    return similarity


def _rows_of(values: Any) -> Callable[[int, int], Matrix]:
    return lambda start, stop: values[start:stop].astype(np.float64)


def require_symmetric(values: Any, what: str) -> None:
    """Raise unless a matrix is square and symmetric up to rounding."""
    n, m = values.shape
    if n != m:
        raise InvalidInputError(f"{what} must be square; got shape {n} × {m}.")
    allowed = 64 * float(np.finfo(values.dtype).eps) * float(max(values.max(), -values.min()))
    for start in range(0, n, BLOCK):
        apart = np.abs(values[start : start + BLOCK] - values[:, start : start + BLOCK].T)
        if apart.max() > allowed:
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            raise InvalidInputError(
                f"{what} must be symmetric; entry ({start + i}, {j}) is {values[start + i, j]} but "
                f"({j}, {start + i}) is {values[j, start + i]}. If this is intended, use (A + A.T) / 2."
            )
