"""Kernels on the map: k_y of the squared distance of two points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...algebra import dot, exp, log, matmul, power, solve_positive
from ...checks import number, positive

Matrix = NDArray[np.float64]

# Names of kernels, and the parameters of an objective that each reads.
MAP_KERNELS: dict[str, tuple[str, ...]] = {
    "cauchy": (),
    "umap": ("min_dist", "spread"),
    "gaussian": (),
    "student": ("dof",),
}
FLOOR = 1e-3  # squared distance below which −log(1 − k) is continued linearly; UMAP's code adds 0.001 instead


@dataclass(frozen=True)
class MapKernel:
    """k_y(s) of the squared distance s of two points of the map.

    "cauchy" 1/(1 + s) · "umap" 1/(1 + a s^b), first = a, second = b · "gaussian" exp(−γ s), first = γ ·
    "student" (1 + s/ν)^−ν, first = ν
    """

    name: str
    first: float = 1.0
    second: float = 1.0

    def value(self, s: Matrix) -> Matrix:
        """k_y(s)."""
        if self.name == "gaussian":
            return np.asarray(exp(-self.first * s))
        if self.name == "student":
            return np.asarray(power(1 + s / self.first, -self.first))
        return np.asarray(1 / (1 + self.first * s**self.second))

    def slope(self, s: Matrix) -> Matrix:
        """dk_y/ds; at s = 0, where the slope of UMAP's kernel is infinite, its value very close to zero."""
        if self.name == "gaussian":
            return np.asarray(-self.first * exp(-self.first * s))
        if self.name == "student":
            return np.asarray(-self.value(s) / (1 + s / self.first))
        s = np.maximum(s, 1e-24)
        return np.asarray(-self.first * self.second * s ** (self.second - 1) * self.value(s) ** 2)

    def curve(self, form: str) -> _core.Curve:
        """The compiled form of a function of this kernel: "kernel", "square", "neg_log", "apart" or "logit"."""
        return _core.Curve(self.name, form, self.first, self.second, FLOOR)

    @property
    def width(self) -> float:
        """The distance at which the kernel has fallen to one half; at most one."""
        if self.name == "student":
            half = self.first * (power(2.0, 1 / self.first) - 1)
        elif self.name == "gaussian":
            half = log(2.0) / self.first
        else:
            half = power(self.first, -1 / self.second)
        return float(min(1.0, np.sqrt(half)))

    @property
    def widening(self) -> float:
        """Approximately how many times wider a map is than with Cauchy's kernel, because of heavier tails: 8^(1/ν − 1), at most 64."""
        return 8.0 ** min(max(1 / self.first - 1, 0.0), 2.0) if self.name == "student" else 1.0

    @property
    def stretch(self) -> float:
        """The factor c for which 1 + a s^b is 1 + (c² s)^b, or 1 + s/ν is 1 + c² s."""
        if self.name == "student":
            return float(power(self.first, -0.5))
        return float(power(self.first, 0.5 / self.second)) if self.name != "gaussian" else 1.0


def map_kernel(name: str, min_dist: float = 0.1, spread: float = 1.0, dof: float = 1.0) -> MapKernel:
    """The kernel on the map with this `name`; `min_dist` and `spread` are parameters of UMAP's, `dof` of Student's."""
    if name == "umap":
        return MapKernel("umap", *fit_umap_curve(float(min_dist), float(spread)))
    return MapKernel(name, float(dof)) if name == "student" else MapKernel(name)


@lru_cache(maxsize=64)
def fit_umap_curve(min_dist: float, spread: float) -> tuple[float, float]:
    """(a, b) for which 1/(1 + a d^{2b}) is closest to 1 up to `min_dist` and exp(−(d − min_dist)/spread) beyond."""
    positive("spread", spread)
    number("min_dist", min_dist, 0.0, 3 * spread)
    d = np.linspace(0, 3 * spread, 300)[1:]  # at 0 the curve is 1 whatever a and b are
    goal = np.where(d <= min_dist, 1.0, exp(-(d - min_dist) / spread))
    squares = log(d * d)
    # Levenberg and Marquardt in (log a, b): a stays positive.
    at, damping = np.array([0.0, 1.0]), 1e-3
    rest, slopes = _umap_residual(at, squares, goal)
    for _ in range(200):
        normal, pull = matmul(slopes.T, slopes), matmul(slopes.T, rest)
        step = solve_positive(normal + damping * np.diag(np.diag(normal)) + 1e-300 * np.eye(2), pull)
        tried = at - (np.zeros(2) if step is None else step)
        new_rest, new_slopes = _umap_residual(tried, squares, goal)
        if dot(new_rest, new_rest) < dot(rest, rest):
            settled = float(np.max(np.abs(tried - at))) < 1e-13
            at, rest, slopes, damping = tried, new_rest, new_slopes, damping / 10
            if settled:
                break
        elif damping > 1e12:
            break
        else:
            damping *= 10
    return float(exp(at[0])), float(at[1])


def _umap_residual(at: Matrix, squares: Matrix, goal: Matrix) -> tuple[Matrix, Matrix]:
    """1/(1 + a d^{2b}) less its goal, and its slopes in log a and b; `squares` are logarithms of d²."""
    u = exp(at[0] + at[1] * squares)
    slope = -u / (1 + u) ** 2
    return 1 / (1 + u) - goal, np.stack([slope, slope * squares], axis=1)
