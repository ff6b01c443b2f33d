"""Kernels on the map (k_y of squared distances) and on the data (k_x of rows)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ... import _core
from ...errors import InvalidInputError, InvalidParameterError

Matrix = NDArray[np.float64]

KERNELS_Y = ("linear", "cauchy", "umap", "gaussian")
DENSE_KERNELS_X = ("linear", "centered_linear", "rbf", "precomputed")
KERNELS_X = (*DENSE_KERNELS_X, "perplexity", "fuzzy")
FLOOR = 1e-3  # squared distance below which −log(1 − k) goes on straight, where UMAP's code adds 0.001


@dataclass(frozen=True)
class MapKernel:
    """k_y(s) of the squared distance s of two points of the map.

    "cauchy" 1/(1 + s) · "umap" 1/(1 + a s^b), first = a, second = b · "gaussian" exp(−γ s), first = γ
    """

    name: str
    first: float = 1.0
    second: float = 1.0

    def value(self, s: Matrix) -> Matrix:
        """k_y(s)."""
        if self.name == "gaussian":
            return np.asarray(np.exp(-self.first * s))
        return np.asarray(1 / (1 + self.first * s**self.second))

    def slope(self, s: Matrix) -> Matrix:
        """dk_y/ds; at s = 0 what UMAP's kernel, whose slope is infinite there, has very near zero."""
        if self.name == "gaussian":
            return np.asarray(-self.first * np.exp(-self.first * s))
        s = np.maximum(s, 1e-24)
        return np.asarray(-self.first * self.second * s ** (self.second - 1) * self.value(s) ** 2)

    def curve(self, form: str) -> _core.Curve:
        """The compiled form of a function of this kernel: "kernel", "square", "neg_log", "apart" or "logit"."""
        return _core.Curve(self.name, form, self.first, self.second, FLOOR)

    @property
    def width(self) -> float:
        """The distance at which the kernel has fallen to a half, at most one."""
        half = np.log(2) / self.first if self.name == "gaussian" else self.first ** (-1 / self.second)
        return float(min(1.0, np.sqrt(half)))


def map_kernel(name: str, min_dist: float, spread: float) -> MapKernel:
    """The kernel on the map that `name` stands for."""
    if name == "umap":
        return MapKernel("umap", *fit_umap_curve(float(min_dist), float(spread)))
    if name in ("cauchy", "gaussian"):
        return MapKernel(name)
    raise InvalidParameterError(
        f'kernel_y must be "cauchy", "umap" or "gaussian" for this objective; got {name!r}. '
        'The linear kernel on the map is objective="pca"; classical LLE is winkel.quadratic.lle.'
    )


@lru_cache(maxsize=64)
def fit_umap_curve(min_dist: float, spread: float) -> tuple[float, float]:
    """(a, b) for which 1/(1 + a d^{2b}) is nearest to 1 up to `min_dist` and exp(−(d − min_dist)/spread) beyond."""
    if not (np.isfinite(min_dist) and np.isfinite(spread) and spread > 0 and 0 <= min_dist <= 3 * spread):
        raise InvalidParameterError(
            f"spread must be positive and min_dist lie in [0, 3·spread]; got spread={spread!r}, min_dist={min_dist!r}."
        )
    from scipy.optimize import curve_fit

    d = np.linspace(0, 3 * spread, 300)
    goal = np.where(d <= min_dist, 1.0, np.exp(-(d - min_dist) / spread))
    (a, b), _ = curve_fit(lambda x, p, q: 1 / (1 + p * x ** (2 * q)), d, goal, p0=(1.0, 1.0))
    return float(a), float(b)


def gram(X: Any, name: str, gamma: float | None = None) -> Matrix:
    """K_X, n × n: inner products of rows ("linear"), of centred rows ("centered_linear"), exp(−γ d²) ("rbf", γ = 1 over the
    mean squared distance when None), or X itself, a symmetric matrix of similarities ("precomputed")."""
    if name == "precomputed":
        return similarity_matrix(X)
    rows = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    if name not in DENSE_KERNELS_X:
        raise InvalidParameterError(
            f"kernel_x must be one of {', '.join(map(repr, DENSE_KERNELS_X))} here; got {name!r}."
        )
    if name != "linear":
        rows = rows - rows.mean(axis=0)
    with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
        inner = rows @ rows.T
    inner = (inner + inner.T) / 2
    if name != "rbf":
        return inner
    square = np.diag(inner)
    distances = np.maximum(square[:, None] + square[None, :] - 2 * inner, 0)
    np.fill_diagonal(distances, 0)
    return np.asarray(np.exp(-rbf_gamma(rows, gamma) * distances))


def rbf_gamma(rows: Any, gamma: float | None) -> float:
    """γ as given, or 1 over the mean squared distance of two rows."""
    if gamma is not None:
        if not (gamma > 0 and np.isfinite(gamma)):
            raise InvalidParameterError(f"gamma must be None or a positive number; got {gamma!r}.")
        return float(gamma)
    mean = 2 * float(np.sum(np.var(rows, axis=0, dtype=np.float64)))
    return 1 / mean if mean > 0 else 1.0


def similarity_matrix(K: Any) -> Matrix:
    """A given symmetric matrix of similarities, checked."""
    S = np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise InvalidInputError(f"a matrix of similarities must be square; got shape {S.shape}.")
    if not np.isfinite(S).all():
        raise InvalidInputError("a matrix of similarities must be finite.")
    if not np.allclose(S, S.T, rtol=1e-6, atol=1e-8 * float(np.abs(S).max(initial=0.0))):
        raise InvalidInputError(
            "a matrix of similarities must be symmetric, and it is not. Use (K + K.T) / 2 if that is what is meant."
        )
    return np.asarray((S + S.T) / 2)
