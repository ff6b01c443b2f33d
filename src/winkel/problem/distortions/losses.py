"""Losses: distortions w·ℓ(δ, d) derived from original distances δ (Agrawal et al. 2021, section 4.2).

A loss is zero where d = δ and grows to both sides. `deviations` (δ) is a vector with one entry a pair;
`weights` is an optional number or vector. Where a loss has a kink at d = δ its derivative there is given as
0. The floor below which a loss is continued by a parabola (see Distortion) is a millionth of the mean
deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...checks import number, positive, refuse
from ...errors import InvalidParameterError
from ...typing import FloatArray
from ..registry import class_named, register, registered
from .base import DEFAULT_FLOOR, Distortion, FusedPart, Weighted, as_deviations, as_weights
from .custom import as_distortion


class Loss(Weighted):
    """w·ℓ(δ, d), with ℓ given by a subclass."""

    deviations: ArrayLike
    weights: ArrayLike = 1.0
    positive: ClassVar[bool] = False  # whether deviations of zero are refused

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register("losses", cls)

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
        return tuple(replace(part, deviations=np.asarray(self.deviations)) for part in super().fused())


class Quadratic(Loss):
    """ℓ(δ, d) = (δ − d)²"""

    kernel: ClassVar[str | None] = "quadratic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        return r * r, 2 * r


class WeightedQuadratic(Quadratic):
    """ℓ(δ, d) = κ(δ)(δ − d)², with κ(δ) given as `weights`, and 1/δ² (Kamada and Kawai) when none are given"""

    weights: ArrayLike | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.weights is None:
            deviations = as_deviations(self.deviations, positive=True)
            object.__setattr__(self, "weights", 1.0 / deviations**2)
        super().__post_init__()


class Cubic(Loss):
    """ℓ(δ, d) = |δ − d|³"""

    kernel: ClassVar[str | None] = "cubic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        return a * a * a, 3 * r * a


class Power(Loss):
    """ℓ(δ, d) = |δ − d|^exponent, with exponent ≥ 1"""

    exponent: float = 1.5
    kernel: ClassVar[str | None] = "power_loss"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "exponent", number("exponent", self.exponent, 1.0))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        return a**self.exponent, self.exponent * np.sign(r) * a ** (self.exponent - 1)

    def parameters(self) -> tuple[float, float]:
        return (self.exponent, 0.0)


class Huber(Loss):
    """ℓ(δ, d) = (δ − d)² for |δ − d| ≤ τ, τ(2|δ − d| − τ) beyond, with τ = threshold > 0"""

    threshold: float = 1.0
    kernel: ClassVar[str | None] = "huber_loss"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", positive("threshold", self.threshold))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        c = np.minimum(a, d.dtype.type(self.threshold))
        return c * (2 * a - c), 2 * np.sign(r) * c

    def parameters(self) -> tuple[float, float]:
        return (self.threshold, 0.0)


class Absolute(Loss):
    """ℓ(δ, d) = |δ − d| (equation 4.5)"""

    kernel: ClassVar[str | None] = "absolute_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        return np.abs(r), np.sign(r)


class Logistic(Loss):
    """ℓ(δ, d) = log((1 + exp|δ − d|)/2)"""

    kernel: ClassVar[str | None] = "logistic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        m = np.expm1(-a)  # exp(a) is taken out of the logarithm, so that nothing overflows
        return a + np.log1p(0.5 * m), np.sign(r) / (2 + m)


class Fractional(Loss):
    """ℓ(δ, d) = max{δ/d, d/δ} − 1, for δ > 0"""

    kernel: ClassVar[str | None] = "fractional_loss"
    positive: ClassVar[bool] = True

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        deviation = self.original(d)
        r = d - deviation
        least = np.minimum(d, deviation)
        return np.abs(r) / least, np.sign(r) * np.maximum(d, deviation) / (d * least)


class SoftFractional(Loss):
    """ℓ(δ, d) = (1/γ) log((exp(γδ/d) + exp(γd/δ)) / (2 exp γ)), with γ = gamma > 0, for δ > 0"""

    gamma: float = 10.0
    kernel: ClassVar[str | None] = "soft_fractional_loss"
    positive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gamma", positive("gamma", self.gamma))

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


def as_loss(loss: object) -> Callable[[FloatArray], Distortion]:
    """What makes a distortion of original distances: that of a loss by name, or of a class or function of them."""
    if isinstance(loss, str):
        cls: Callable[[FloatArray], Distortion] = class_named(
            "loss", loss, registered("losses"), "what makes a distortion of distances"
        )
        return cls
    if not callable(loss):
        refuse("loss", "the name of a loss, or what makes a distortion of distances", loss)
    return lambda deviations: as_distortion(loss(deviations))
