"""Losses: distortions w·ℓ(δ, d) derived from original distances δ (Agrawal et al. 2021, section 4.2).

A loss is zero at d = δ and grows on both sides. `deviations` (δ) is a vector with one entry per pair;
`weights` is an optional number or vector. If a loss has a kink at d = δ, its derivative there is defined as
0. The floor below which a loss is continued by a parabola (see Distortion) is a millionth of the mean
deviation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...checks import number, positive
from ...errors import InvalidParameterError
from ...typing import FloatArray
from .base import (
    DEFAULT_FLOOR,
    FusedPart,
    Weighted,
    as_deviations,
    as_weights,
    register,
)

__all__ = [
    "Absolute",
    "Cubic",
    "Fractional",
    "Huber",
    "Logistic",
    "Loss",
    "Power",
    "Quadratic",
    "SoftFractional",
    "WeightedQuadratic",
]


class Loss(Weighted):
    """w·ℓ(δ, d), with ℓ defined by a subclass, which is registered under its name.

    A subclass defines ℓ and its derivative with respect to d, elementwise, with `self.deviations` for δ. Weights, a smooth continuation at
    d = 0 and restriction to some of the pairs are added. ``MDE(preserve="distances", loss="name")`` finds the class by its name in snake
    case. Annotated fields are further parameters.

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> class Relative(wk.losses.Loss):
    ...     "ℓ(δ, d) = ((d − δ)/δ)²"
    ...     positive = True
    ...     def value(self, d):
    ...         return ((d - self.deviations) / self.deviations) ** 2
    ...     def derivative(self, d):
    ...         return 2 * (d - self.deviations) / self.deviations**2
    >>> Relative([1.0, 2.0]).value([2.0, 2.0])
    array([1., 0.])
    """

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
                f"weights must be a number or have one entry per deviation; got {np.size(weights)} weights and "
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
    """ℓ(δ, d) = (δ − d)²

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.Quadratic([1.0, 2.0]).value([3.0, 3.0])
    array([4., 1.])
    """

    kernel: ClassVar[str | None] = "quadratic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        return r * r, 2 * r


class WeightedQuadratic(Quadratic):
    """ℓ(δ, d) = κ(δ)(δ − d)²

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair; positive if no weights are given.
    weights : float, array of shape (n_pairs,) or None, default=None
        κ(δ); None takes 1/δ² (Kamada and Kawai).

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.WeightedQuadratic([1.0, 2.0]).value([3.0, 3.0])
    array([4.  , 0.25])
    """

    weights: ArrayLike | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.weights is None:
            deviations = as_deviations(self.deviations, positive=True)
            object.__setattr__(self, "weights", 1.0 / deviations**2)
        super().__post_init__()


class Cubic(Loss):
    """ℓ(δ, d) = |δ − d|³

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.Cubic([1.0]).value([3.0])
    array([8.])
    """

    kernel: ClassVar[str | None] = "cubic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        return a * a * a, 3 * r * a


class Power(Loss):
    """ℓ(δ, d) = |δ − d|^exponent

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.
    exponent : float, default=1.5
        At least 1.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.Power([1.0], exponent=1.5).value([5.0])
    array([8.])
    """

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
    """ℓ(δ, d) = (δ − d)² for |δ − d| ≤ τ, τ(2|δ − d| − τ) beyond

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.
    threshold : float, default=1.0
        τ, positive.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.Huber([1.0, 1.0]).value([1.5, 4.0])
    array([0.25, 5.  ])
    """

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
    """ℓ(δ, d) = |δ − d|

    Robust: the cost of a distance that cannot be kept grows only linearly (equation 4.5).

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.Absolute([1.0, 4.0]).value([3.0, 3.0])
    array([2., 1.])
    """

    kernel: ClassVar[str | None] = "absolute_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        return np.abs(r), np.sign(r)


class Logistic(Loss):
    """ℓ(δ, d) = log((1 + exp|δ − d|)/2)

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.Logistic([1.0]).value([3.0]).round(4)
    array([1.4338])
    """

    kernel: ClassVar[str | None] = "logistic_loss"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        r = d - self.original(d)
        a = np.abs(r)
        m = np.expm1(-a)  # exp(a) is taken out of the logarithm, so that nothing overflows
        return a + np.log1p(0.5 * m), np.sign(r) / (2 + m)


class Fractional(Loss):
    """ℓ(δ, d) = max{δ/d, d/δ} − 1

    Measures ratios: twice the distance costs as much as half the distance.

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair, positive.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.Fractional([1.0, 4.0]).value([2.0, 2.0])
    array([1., 1.])
    """

    kernel: ClassVar[str | None] = "fractional_loss"
    positive: ClassVar[bool] = True

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        deviation = self.original(d)
        r = d - deviation
        least = np.minimum(d, deviation)
        return np.abs(r) / least, np.sign(r) * np.maximum(d, deviation) / (d * least)


class SoftFractional(Loss):
    """ℓ(δ, d) = (1/γ) log((exp(γδ/d) + exp(γd/δ)) / (2 exp γ))

    A smooth Fractional.

    Parameters
    ----------
    deviations : array of shape (n_pairs,)
        δ, the original distance of each pair, positive.
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.
    gamma : float, default=10.0
        γ, positive; the larger, the closer to Fractional.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.losses.SoftFractional([1.0]).value([2.0]).round(4)
    array([0.9307])
    """

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
