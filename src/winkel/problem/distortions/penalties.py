"""Penalties: distortions w·p(d) derived from weights w (Agrawal et al. 2021, section 4.1).

A positive weight makes an increasing p attractive, a negative weight makes it repulsive. Linear, Quadratic,
Cubic, Power, Huber, Logistic and Log1p are meant to attract; InvPower, Log and LogRatio are barriers meant
to repel (p → −∞ as d → 0, p → 0 as d → ∞), and Cauchy repels without a barrier; PushAndPull joins one of each. `weights` is a number for all
pairs or a vector with one entry a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InvalidParameterError
from ...typing import FloatArray, IntArray
from .base import Distortion, Formula, FusedPart, as_weights, check_number
from .custom import as_distortion

# Beyond this exponent a barrier's force at the floor would overflow single precision.
LARGEST_BARRIER_EXPONENT = 5.0


@dataclass(frozen=True, eq=False)
class Penalty(Formula):
    """w·p(d), with p given by a subclass."""

    weights: ArrayLike = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights))


@dataclass(frozen=True, eq=False)
class Linear(Penalty):
    """p(d) = d"""

    kernel: ClassVar[str] = "power"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        return d, np.ones_like(d)

    def parameters(self) -> tuple[float, float]:
        return (1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Quadratic(Penalty):
    """p(d) = d²"""

    kernel: ClassVar[str] = "power"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        return d * d, 2 * d

    def parameters(self) -> tuple[float, float]:
        return (2.0, 0.0)


@dataclass(frozen=True, eq=False)
class Cubic(Penalty):
    """p(d) = d³"""

    kernel: ClassVar[str] = "power"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        return d * d * d, 3 * d * d

    def parameters(self) -> tuple[float, float]:
        return (3.0, 0.0)


@dataclass(frozen=True, eq=False)
class _WithExponent(Penalty):
    """A penalty of d^exponent."""

    exponent: float = 1.0
    largest: ClassVar[float] = np.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "exponent", check_number("exponent", self.exponent, 0.0, self.largest))

    def parameters(self) -> tuple[float, float]:
        return (self.exponent, 0.0)


@dataclass(frozen=True, eq=False)
class Power(_WithExponent):
    """p(d) = d^exponent, with exponent > 0"""

    exponent: float = 1.5
    kernel: ClassVar[str] = "power"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**self.exponent
        return u, self.exponent * u / d


@dataclass(frozen=True, eq=False)
class Huber(Penalty):
    """p(d) = d² for d < τ, τ(2d − τ) for d ≥ τ, with τ = threshold > 0 (equation 4.2)"""

    threshold: float = 0.5
    kernel: ClassVar[str] = "huber_penalty"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", check_number("threshold", self.threshold, 0.0))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        c = np.minimum(d, d.dtype.type(self.threshold))
        return c * (2 * d - c), 2 * c

    def parameters(self) -> tuple[float, float]:
        return (self.threshold, 0.0)


@dataclass(frozen=True, eq=False)
class Logistic(Penalty):
    """p(d) = log(1 + exp(α(d − τ))), with α = alpha > 0 and τ = threshold ≥ 0"""

    threshold: float = 0.0
    alpha: float = 3.0
    kernel: ClassVar[str] = "logistic_penalty"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", check_number("threshold", self.threshold, 0.0, closed=True))
        object.__setattr__(self, "alpha", check_number("alpha", self.alpha, 0.0))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        z = self.alpha * (d - d.dtype.type(self.threshold))
        e = np.exp(-np.abs(z))  # never overflows
        return np.maximum(z, 0) + np.log1p(e), self.alpha * np.where(z > 0, 1, e) / (1 + e)

    def parameters(self) -> tuple[float, float]:
        return (self.threshold, self.alpha)


@dataclass(frozen=True, eq=False)
class Log1p(_WithExponent):
    """p(d) = log(1 + d^exponent), with exponent > 0 (equation 4.3)"""

    exponent: float = 1.5
    kernel: ClassVar[str] = "log1p"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**self.exponent
        return np.log1p(u), self.exponent * u / (d * (1 + u))


@dataclass(frozen=True, eq=False)
class InvPower(_WithExponent):
    """p(d) = −1/d^exponent, with 0 < exponent ≤ 5; a barrier for negative weights"""

    exponent: float = 1.0
    kernel: ClassVar[str] = "inv_power"
    largest: ClassVar[float] = LARGEST_BARRIER_EXPONENT

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**-self.exponent
        return -u, self.exponent * u / d


@dataclass(frozen=True, eq=False)
class Cauchy(_WithExponent):
    """p(d) = −1/(1 + d²)^exponent, with 0 < exponent ≤ 5; repels with negative weights, and is finite at d = 0"""

    exponent: float = 1.0
    kernel: ClassVar[str] = "cauchy"
    largest: ClassVar[float] = LARGEST_BARRIER_EXPONENT

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        t = 1 + d * d
        u = t**-self.exponent
        return -u, 2 * self.exponent * d * u / t


@dataclass(frozen=True, eq=False)
class Log(_WithExponent):
    """p(d) = log(1 − exp(−d^exponent)), with 0 < exponent ≤ 5; a barrier for negative weights (equation 4.4)"""

    exponent: float = 1.0
    kernel: ClassVar[str] = "log"
    largest: ClassVar[float] = LARGEST_BARRIER_EXPONENT

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**self.exponent
        e, rest = np.exp(-u), -np.expm1(-u)
        # Two forms of the same logarithm, each exact to rounding on its side of u = log 2.
        value = np.where(u < np.log(2), np.log(rest), np.log1p(-np.minimum(e, 0.5)))
        return value, self.exponent * (u / d) * e / rest


@dataclass(frozen=True, eq=False)
class LogRatio(_WithExponent):
    """p(d) = log(d^exponent / (1 + d^exponent)), with 0 < exponent ≤ 5; a barrier for negative weights"""

    exponent: float = 2.0
    kernel: ClassVar[str] = "log_ratio"
    largest: ClassVar[float] = LARGEST_BARRIER_EXPONENT

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**self.exponent
        return -np.log1p(1 / u), self.exponent / (d * (1 + u))


class PushAndPull(Distortion):
    """f(d) = w·attractive(d) where w ≥ 0, w·repulsive(d) where w < 0 (equation 4.1)

    `attractive` and `repulsive` are penalties with one weight for all pairs (`Log1p(exponent=1.5)`, or the
    class for its defaults), or a user's own distortion. Their weights multiply those given here.
    """

    def __init__(self, weights: ArrayLike, attractive: Any = Log1p, repulsive: Any = Log) -> None:
        array = as_weights(weights)
        if isinstance(array, float):
            raise InvalidParameterError(
                f"PushAndPull needs a vector of weights, one entry a pair, to tell which pairs attract; got {array}."
            )
        self.weights: FloatArray = array
        self.attractive = _template("attractive", attractive)
        self.repulsive = _template("repulsive", repulsive)
        self.floor = max(self.attractive.floor, self.repulsive.floor)
        self._groups = (
            (self.attractive, np.flatnonzero(array >= 0)),
            (self.repulsive, np.flatnonzero(array < 0)),
        )

    @property
    def n_pairs(self) -> int:
        return len(self.weights)

    def take(self, pairs: IntArray) -> PushAndPull:
        return PushAndPull(self.weights[pairs], self.attractive, self.repulsive)

    def formula(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, slope = np.empty_like(d), np.empty_like(d)
        for distortion, pairs in self._groups:
            v, s = distortion.formula(d[pairs])
            weights = self.weights[pairs].astype(d.dtype)
            value[pairs], slope[pairs] = weights * v, weights * s
        return value, slope

    def fused(self) -> tuple[FusedPart, ...]:
        parts = []
        for distortion, pairs in self._groups:
            one = distortion.fused()
            if not one:
                return ()
            parts.append(
                replace(one[0], weights=one[0].weights * self.weights[pairs], pairs=pairs, floor=self.floor)
            )
        return tuple(part for part in parts if part.pairs is not None and len(part.pairs))

    def __repr__(self) -> str:
        return f"PushAndPull(weights={self.weights!r}, attractive={self.attractive!r}, repulsive={self.repulsive!r})"


def _template(side: str, penalty: Distortion | Callable[[], Distortion] | object) -> Distortion:
    made = as_distortion(penalty() if isinstance(penalty, type) else penalty)
    if made.n_pairs is not None:
        raise InvalidParameterError(
            f"The {side} penalty must have one weight for all pairs, since PushAndPull's own weights name the pairs; "
            f"got {made.n_pairs} weights. Multiply them into PushAndPull's weights instead."
        )
    return made
