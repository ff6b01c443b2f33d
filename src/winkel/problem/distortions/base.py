"""The contract of a distortion, and what all of them share: smooth continuation at zero, weights, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InvalidParameterError
from ...typing import FloatArray, IntArray

DEFAULT_FLOOR = 1e-5


@dataclass(frozen=True)
class FusedPart:
    """Pairs that share one fused kernel: its name and parameters, and the data of each pair."""

    kernel: str
    first: float
    second: float
    floor: float
    weights: FloatArray | float
    deviations: FloatArray | None = None
    pairs: IntArray | None = None  # which pairs these are; None is all of them


class Distortion(ABC):
    """Elementwise f(d) and f'(d) of a vector of distances, one entry a pair.

    Many formulas have no finite value or slope at d = 0. Below a small `floor` every distortion is therefore continued
    by the parabola f(floor) + f'(floor) (d² − floor²) / (2 floor), which has the same value and slope at the floor. So
    f is finite and smooth as a function of the points themselves: the force f'(d)/d · (yᵢ − yⱼ) fades to zero as two
    points meet, and coincident points never give NaN.
    """

    floor: float = DEFAULT_FLOOR

    @property
    def n_pairs(self) -> int | None:
        """Number of pairs it holds data for; None when any number will do."""
        return None

    @abstractmethod
    def formula(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Value and derivative for distances that are all at least `floor`."""

    def fused(self) -> tuple[FusedPart, ...]:
        """The fused form of all pairs, or nothing when there is none."""
        return ()

    def value_and_derivative(self, d: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """f(d) and f'(d), entry by entry."""
        distance = _as_distances(d)
        floor = distance.dtype.type(self.floor)
        value, slope = self.formula(np.maximum(distance, floor))
        below = np.minimum(distance, floor)
        if np.any(below < floor):
            value = value + 0.5 * slope * np.where(distance < floor, (below - floor) * (below + floor) / floor, 0)
            slope = slope * (below / floor)
        return value, slope

    def value(self, d: ArrayLike) -> FloatArray:
        """f(d), entry by entry."""
        return self.value_and_derivative(d)[0]

    def derivative(self, d: ArrayLike) -> FloatArray:
        """f'(d), entry by entry."""
        return self.value_and_derivative(d)[1]


class Formula(Distortion):
    """A built-in distortion: one formula times a weight for each pair."""

    kernel: ClassVar[str]
    weights: Any  # after construction a float64 vector, or a float for all pairs

    @property
    def n_pairs(self) -> int | None:
        return None if np.ndim(self.weights) == 0 else len(self.weights)

    @abstractmethod
    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The formula and its derivative, for weights of 1."""

    def parameters(self) -> tuple[float, float]:
        """The two parameters of the fused kernel."""
        return (0.0, 0.0)

    def formula(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, slope = self.unweighted(d)
        weights = np.asarray(self.weights, dtype=d.dtype)
        return weights * value, weights * slope

    def fused(self) -> tuple[FusedPart, ...]:
        return (FusedPart(self.kernel, *self.parameters(), self.floor, self.weights),)


def _as_distances(d: ArrayLike) -> FloatArray:
    array = np.asarray(d)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def as_weights(weights: ArrayLike) -> FloatArray | float:
    """Weights as a float for all pairs or a read-only float64 vector, checked to be finite."""
    array = np.array(weights, dtype=np.float64)
    if array.ndim > 1:
        raise InvalidParameterError(
            f"weights must be a number or a vector with one entry a pair; got an array of shape {array.shape}."
        )
    check_finite("weights", array)
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array


def as_deviations(deviations: ArrayLike, *, positive: bool) -> FloatArray:
    """Original distances as a read-only float64 vector, checked to be finite and of the allowed sign."""
    array = np.array(deviations, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidParameterError(
            f"deviations must be a vector with one entry a pair; got an array of shape {array.shape}."
        )
    check_finite("deviations", array)
    wrong = array <= 0 if positive else array < 0
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InvalidParameterError(
            f"deviations must be {'positive' if positive else 'zero or positive'}; entry {k} is {array[k]} "
            f"({int(wrong.sum())} such entries). Drop these pairs or raise their deviations."
        )
    array.flags.writeable = False
    return array


def check_finite(name: str, array: FloatArray) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        k = int(np.argmin(finite))
        raise InvalidParameterError(f"{name} must be finite; entry {k} is {np.ravel(array)[k]}.")


def check_number(name: str, value: float, low: float, high: float = np.inf, *, closed: bool = False) -> float:
    """`value` as a float, checked to lie in (low, high], or [low, high] when `closed`."""
    number = float(value)
    if not ((low <= number if closed else low < number) and number <= high and np.isfinite(number)):
        interval = f"{'[' if closed else '('}{low:g}, {high:g}{')' if np.isinf(high) else ']'}"
        raise InvalidParameterError(f"{name} must be a number in {interval}; got {value!r}.")
    return number
