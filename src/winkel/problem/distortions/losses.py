"""Losses: distortions w·ℓ(δ, d) derived from original distances δ (Agrawal et al. 2021, section 4.2).

A loss is zero where d = δ and grows to both sides. `deviations` (δ) is a vector with one entry a pair; `weights` is an
optional number or vector. Where a loss has a kink at d = δ its derivative there is given as 0. The floor below which a
loss is continued by a parabola (see Distortion) is a millionth of the mean deviation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InvalidParameterError
from ...typing import FloatArray
from .base import DEFAULT_FLOOR, Formula, FusedPart, as_deviations, as_weights, check_number


@dataclass(frozen=True, eq=False)
class Loss(Formula):
    """w·ℓ(δ, d), with ℓ given by a subclass."""

    deviations: ArrayLike
    weights: ArrayLike = 1.0
    positive: ClassVar[bool] = False  # whether deviations of zero are refused

    def __post_init__(self) -> None:
        deviations = as_deviations(self.deviations, positive=self.positive)
        weights = as_weights(self.weights)
        if np.ndim(weights) == 1 and len(np.atleast_1d(weights)) != len(deviations):
            raise InvalidParameterError(
                f"weights must be a number or have one entry a deviation; got {np.size(weights)} weights and "
                f"{len(deviations)} deviations."
            )
        scale = float(deviations.mean()) if len(deviations) else 0.0
        object.__setattr__(self, "deviations", deviations)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "floor", 1e-6 * scale if scale > 0 else DEFAULT_FLOOR)

    @property
    def n_pairs(self) -> int:
        return len(np.asarray(self.deviations))

    def original(self, d: FloatArray) -> FloatArray:
        """The deviations in the precision of `d`."""
        return np.asarray(self.deviations, dtype=d.dtype)

    def fused(self) -> tuple[FusedPart, ...]:
        deviations = np.asarray(self.deviations)
        return (FusedPart(self.kernel, *self.parameters(), self.floor, self.weights, deviations),)


@dataclass(frozen=True, eq=False)
class Quadratic(Loss):
    """ℓ(δ, d) = (δ − d)²"""

    kernel: ClassVar[str] = "quadratic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        return r * r, 2 * r


@dataclass(frozen=True, eq=False)
class WeightedQuadratic(Quadratic):
    """ℓ(δ, d) = κ(δ)(δ − d)², with κ(δ) given as `weights`, and 1/δ² (Kamada and Kawai) when none are given"""

    weights: ArrayLike | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.weights is None:
            deviations = as_deviations(self.deviations, positive=True)
            object.__setattr__(self, "weights", 1.0 / deviations**2)
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class Cubic(Loss):
    """ℓ(δ, d) = |δ − d|³"""

    kernel: ClassVar[str] = "cubic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        return a * a * a, 3 * r * a


@dataclass(frozen=True, eq=False)
class Power(Loss):
    """ℓ(δ, d) = |δ − d|^exponent, with exponent ≥ 1"""

    exponent: float = 1.5
    kernel: ClassVar[str] = "power_loss"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "exponent", check_number("exponent", self.exponent, 1.0, closed=True))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        return a**self.exponent, self.exponent * np.sign(r) * a ** (self.exponent - 1)

    def parameters(self) -> tuple[float, float]:
        return (self.exponent, 0.0)


@dataclass(frozen=True, eq=False)
class Huber(Loss):
    """ℓ(δ, d) = (δ − d)² for |δ − d| ≤ τ, τ(2|δ − d| − τ) beyond, with τ = threshold > 0"""

    threshold: float = 1.0
    kernel: ClassVar[str] = "huber_loss"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", check_number("threshold", self.threshold, 0.0))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        c = np.minimum(a, d.dtype.type(self.threshold))
        return c * (2 * a - c), 2 * np.sign(r) * c

    def parameters(self) -> tuple[float, float]:
        return (self.threshold, 0.0)


@dataclass(frozen=True, eq=False)
class Absolute(Loss):
    """ℓ(δ, d) = |δ − d| (equation 4.5)"""

    kernel: ClassVar[str] = "absolute_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        return np.abs(r), np.sign(r)


@dataclass(frozen=True, eq=False)
class Logistic(Loss):
    """ℓ(δ, d) = log((1 + exp|δ − d|)/2)"""

    kernel: ClassVar[str] = "logistic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        m = np.expm1(-a)  # exp(a) is taken out of the logarithm, so that nothing overflows
        return a + np.log1p(0.5 * m), np.sign(r) / (2 + m)


@dataclass(frozen=True, eq=False)
class Fractional(Loss):
    """ℓ(δ, d) = max{δ/d, d/δ} − 1, for δ > 0"""

    kernel: ClassVar[str] = "fractional_loss"
    positive: ClassVar[bool] = True

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        deviation = self.original(d)
        r = d - deviation
        least = np.minimum(d, deviation)
        return np.abs(r) / least, np.sign(r) * np.maximum(d, deviation) / (d * least)


@dataclass(frozen=True, eq=False)
class SoftFractional(Loss):
    """ℓ(δ, d) = (1/γ) log((exp(γδ/d) + exp(γd/δ)) / (2 exp γ)), with γ = gamma > 0, for δ > 0"""

    gamma: float = 10.0
    kernel: ClassVar[str] = "soft_fractional_loss"
    positive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gamma", check_number("gamma", self.gamma, 0.0))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        deviation = self.original(d)
        r = d - deviation
        up, down = d / deviation, deviation / d
        m = np.expm1(-self.gamma * np.abs(up - down))  # the larger exponential is taken out of the logarithm
        above = np.abs(r) / np.minimum(d, deviation)
        lift = (np.maximum(up, down) - (1 + m) * np.minimum(up, down)) / (2 + m)
        return above + np.log1p(0.5 * m) / self.gamma, np.sign(r) * lift / d

    def parameters(self) -> tuple[float, float]:
        return (self.gamma, 0.0)
