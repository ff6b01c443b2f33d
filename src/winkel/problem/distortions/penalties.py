"""Penalties: distortions w·p(d) derived from weights w (Agrawal et al. 2021, section 4.1).

With a positive weight, an increasing p attracts; with a negative weight, it repels. Linear, Quadratic,
Cubic, Power, Huber, Logistic and Log1p are meant to attract. InvPower, Log and LogRatio are barriers, meant
to repel (p → −∞ as d → 0, p → 0 as d → ∞). Cauchy repels without a barrier. PushAndPull combines one that attracts with one that repels.
`weights` is a number for all pairs or a vector with one entry per pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import number, positive
from ...errors import InvalidParameterError
from ...typing import FloatArray, IntArray
from .base import (
    HEAVIEST,
    Distortion,
    FusedPart,
    Weighted,
    as_distortion,
    as_weights,
    register,
)

__all__ = [
    "Cauchy",
    "Cubic",
    "Huber",
    "InvPower",
    "Linear",
    "Log",
    "Log1p",
    "LogRatio",
    "Logistic",
    "Penalty",
    "Power",
    "PushAndPull",
    "Quadratic",
]

# Beyond this exponent a barrier's force at the floor would overflow single precision.
LARGEST_BARRIER_EXPONENT = 5.0


class Penalty(Weighted):
    """w·p(d), with p defined by a subclass, which is registered under its name.

    A subclass defines p and its derivative, elementwise, for d > 0. Weights, a smooth continuation at d = 0, forces and
    placement of new points are added. ``MDE(attractive="name")`` finds the class by its name in snake case. Annotated
    fields are further parameters. ``role = "repulsive"`` makes it a choice for ``MDE(repulsive="name")`` instead. Such a p should
    also increase with d, like any penalty, because its weights are negative.

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each. Negative weights repel.

    Examples
    --------
    >>> import numpy as np
    >>> import winkel as wk
    >>> class Arctan(wk.penalties.Penalty):
    ...     "p(d) = scale · arctan(d² / scale)"
    ...     scale: float = 1.0
    ...     def value(self, d):
    ...         return self.scale * np.arctan(d**2 / self.scale)
    ...     def derivative(self, d):
    ...         return 2 * d / (1 + (d**2 / self.scale) ** 2)
    >>> problem = wk.Problem([[0, 1], [1, 2]], Arctan(weights=[1.0, 2.0]), n_components=1)
    >>> round(problem.average_distortion([[0.0], [1.0], [1.0]]), 4)
    0.3927
    """

    weights: ArrayLike = 1.0
    role: ClassVar[str] = "attractive"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register("penalties", cls)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights, HEAVIEST))


class Linear(Penalty):
    """p(d) = d

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Linear().value([0.5, 2.0])
    array([0.5, 2. ])
    """

    kernel: ClassVar[str | None] = "power"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        return d, np.ones_like(d)

    def parameters(self) -> tuple[float, float]:
        return (1.0, 0.0)


class Quadratic(Penalty):
    """p(d) = d²

    Problems with only this penalty have exact solutions: by eigenvectors under Standardized(), by a linear system under
    Anchored().

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Quadratic([1.0, 3.0]).value([2.0, 2.0])
    array([ 4., 12.])
    """

    kernel: ClassVar[str | None] = "power"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        return d * d, 2 * d

    def parameters(self) -> tuple[float, float]:
        return (2.0, 0.0)


class Cubic(Penalty):
    """p(d) = d³

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Cubic().derivative([1.0, 2.0])
    array([ 3., 12.])
    """

    kernel: ClassVar[str | None] = "power"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        return d * d * d, 3 * d * d

    def parameters(self) -> tuple[float, float]:
        return (3.0, 0.0)


class _WithExponent(Penalty):
    """A penalty of d^exponent."""

    exponent: float = 1.0
    largest: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        exponent = number("exponent", self.exponent, 0.0, self.largest, low_open=True)
        object.__setattr__(self, "exponent", exponent)

    def parameters(self) -> tuple[float, float]:
        return (self.exponent, 0.0)


class Power(_WithExponent):
    """p(d) = d^exponent

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.
    exponent : float, default=1.5
        Positive.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Power(exponent=0.5).value([4.0, 9.0])
    array([2., 3.])
    """

    exponent: float = 1.5
    kernel: ClassVar[str | None] = "power"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**self.exponent
        return u, self.exponent * u / d


class Huber(Penalty):
    """p(d) = d² for d < τ, τ(2d − τ) for d ≥ τ

    Quadratic for close pairs, linear for distant ones, which may stay where they are (equation 4.2).

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.
    threshold : float, default=0.5
        τ, positive.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Huber(threshold=1.0).value([0.5, 3.0])
    array([0.25, 5.  ])
    """

    threshold: float = 0.5
    kernel: ClassVar[str | None] = "huber_penalty"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", positive("threshold", self.threshold))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        c = np.minimum(d, d.dtype.type(self.threshold))
        return c * (2 * d - c), 2 * c

    def parameters(self) -> tuple[float, float]:
        return (self.threshold, 0.0)


class Logistic(Penalty):
    """p(d) = log(1 + exp(α(d − τ)))

    Pairs closer than the threshold attract little.

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.
    threshold : float, default=0.0
        τ, zero or positive.
    alpha : float, default=3.0
        α, positive; the larger, the sharper the threshold.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Logistic(threshold=1.0).value([1.0]).round(4)
    array([0.6931])
    """

    threshold: float = 0.0
    alpha: float = 3.0
    kernel: ClassVar[str | None] = "logistic_penalty"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", number("threshold", self.threshold, 0.0))
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        z = self.alpha * (d - d.dtype.type(self.threshold))
        e = np.exp(-np.abs(z))  # never overflows
        return np.maximum(z, 0) + np.log1p(e), self.alpha * np.where(z > 0, 1, e) / (1 + e)

    def parameters(self) -> tuple[float, float]:
        return (self.threshold, self.alpha)


class Log1p(_WithExponent):
    """p(d) = log(1 + d^exponent)

    Attraction that becomes weak for distant pairs, so that clusters form. With exponent 2 it is the attraction of t-SNE (equation 4.3).

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each.
    exponent : float, default=1.5
        Positive.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Log1p(exponent=2.0).value([0.0, 1.0]).round(4)
    array([0.    , 0.6931])
    """

    exponent: float = 1.5
    kernel: ClassVar[str | None] = "log1p"

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**self.exponent
        return np.log1p(u), self.exponent * u / (d * (1 + u))


class InvPower(_WithExponent):
    """p(d) = −1/d^exponent

    A barrier: with negative weights, points never meet.

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each; negative weights repel.
    exponent : float, default=1.0
        Positive, at most 5.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.InvPower(weights=-1.0).value([0.5, 2.0])
    array([2. , 0.5])
    """

    exponent: float = 1.0
    role: ClassVar[str] = "repulsive"
    kernel: ClassVar[str | None] = "inv_power"
    largest: ClassVar[float | None] = LARGEST_BARRIER_EXPONENT

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**-self.exponent
        return -u, self.exponent * u / d


class Cauchy(_WithExponent):
    """p(d) = −1/(1 + d²)^exponent

    Repels only close points, and without a barrier: it is finite at d = 0. With exponent 1 over all pairs, it is the
    repulsion of t-SNE before normalization.

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each; negative weights repel.
    exponent : float, default=1.0
        Positive, at most 5.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Cauchy(weights=-1.0).value([0.0, 1.0])
    array([1. , 0.5])
    """

    exponent: float = 1.0
    role: ClassVar[str] = "repulsive"
    kernel: ClassVar[str | None] = "cauchy"
    largest: ClassVar[float | None] = LARGEST_BARRIER_EXPONENT

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        t = 1 + d * d
        u = t**-self.exponent
        return -u, 2 * self.exponent * d * u / t


class Log(_WithExponent):
    """p(d) = log(1 − exp(−d^exponent))

    A barrier that acts only on close points (equation 4.4).

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each; negative weights repel.
    exponent : float, default=1.0
        Positive, at most 5.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.Log(weights=-1.0).value([0.1, 3.0]).round(4)
    array([2.3522, 0.0511])
    """

    exponent: float = 1.0
    role: ClassVar[str] = "repulsive"
    kernel: ClassVar[str | None] = "log"
    largest: ClassVar[float | None] = LARGEST_BARRIER_EXPONENT

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**self.exponent
        e, rest = np.exp(-u), -np.expm1(-u)
        # Two forms of the same logarithm, each exact to rounding on its side of u = log 2.
        value = np.where(u < np.log(2), np.log(rest), np.log1p(-np.minimum(e, 0.5)))
        return value, self.exponent * (u / d) * e / rest


class LogRatio(_WithExponent):
    """p(d) = log(d^exponent / (1 + d^exponent))

    A barrier whose force falls off as a power of the distance.

    Parameters
    ----------
    weights : float or array of shape (n_pairs,), default=1.0
        One weight for all pairs, or one for each; negative weights repel.
    exponent : float, default=2.0
        Positive, at most 5.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.penalties.LogRatio(weights=-1.0).value([1.0]).round(4)
    array([0.6931])
    """

    exponent: float = 2.0
    role: ClassVar[str] = "repulsive"
    kernel: ClassVar[str | None] = "log_ratio"
    largest: ClassVar[float | None] = LARGEST_BARRIER_EXPONENT

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        u = d**self.exponent
        return -np.log1p(1 / u), self.exponent / (d * (1 + u))


class PushAndPull(Distortion):
    """f(d) = w·attractive(d) where w ≥ 0, w·repulsive(d) where w < 0

    Equation 4.1. The weights of the two penalties multiply those given here.

    Parameters
    ----------
    weights : array of shape (n_pairs,)
        Positive for pairs that attract, negative for pairs that repel.
    attractive : penalty, default=Log1p
        A class (used with its defaults), an object with one weight for all pairs, or a distortion of your own.
    repulsive : penalty, default=Log
        Like `attractive`.

    Examples
    --------
    >>> import winkel as wk
    >>> both = wk.penalties.PushAndPull([1.0, -1.0], wk.penalties.Quadratic, wk.penalties.InvPower)
    >>> both.value([2.0, 2.0])
    array([4. , 0.5])
    """

    def __init__(self, weights: ArrayLike, attractive: Any = Log1p, repulsive: Any = Log) -> None:
        array = as_weights(weights, HEAVIEST, keep_single=True)
        if isinstance(array, float):
            raise InvalidParameterError(
                f"PushAndPull needs a vector of weights, one entry per pair, which says which pairs attract; got {array}."
            )
        self.weights: FloatArray = array
        self.attractive = _template("attractive", attractive)
        self.repulsive = _template("repulsive", repulsive)
        self.floor = max(self.attractive.floor, self.repulsive.floor)
        attracts = array >= 0
        self._groups = _groups_of(((self.attractive, attracts), (self.repulsive, ~attracts)))

    @property
    def n_pairs(self) -> int:
        return len(self.weights)

    def take(self, pairs: IntArray, n_pairs: int) -> PushAndPull:
        return PushAndPull(self.weights[pairs], self.attractive, self.repulsive)

    def in_single_precision(self) -> PushAndPull:
        parts = (*self.attractive.fused(), *self.repulsive.fused())
        if any(np.ndim(part.weights) > 0 or part.weights != 1 for part in parts):
            return self  # products of weights are rounded once
        weights = self.weights.astype(np.float32)
        weights.flags.writeable = False
        return PushAndPull(weights, self.attractive, self.repulsive)

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
            weights = self.weights[pairs]
            if one[0].weights != 1:
                weights = one[0].weights * weights.astype(np.float64, copy=False)
            numbers = None if isinstance(pairs, slice) else pairs
            parts.append(replace(one[0], weights=weights, pairs=numbers, floor=self.floor))
        return tuple(parts)

    def __repr__(self) -> str:
        return f"PushAndPull(weights={self.weights!r}, attractive={self.attractive!r}, repulsive={self.repulsive!r})"


def _groups_of(
    groups: Iterable[tuple[Distortion, NDArray[np.bool_]]],
) -> tuple[tuple[Distortion, IntArray | slice], ...]:
    """The distortions that have pairs, each with the numbers of its pairs; a slice if all pairs belong to one distortion."""
    numbered = ((one, slice(None) if chosen.all() else np.flatnonzero(chosen)) for one, chosen in groups)
    return tuple((one, pairs) for one, pairs in numbered if isinstance(pairs, slice) or len(pairs))


def _template(side: str, penalty: Distortion | Callable[[], Distortion] | object) -> Distortion:
    made = as_distortion(penalty() if isinstance(penalty, type) else penalty)
    if made.n_pairs is not None:
        raise InvalidParameterError(
            f"The {side} penalty must have one weight for all pairs, since PushAndPull's own weights name the pairs; "
            f"got {made.n_pairs} weights. Multiply them into PushAndPull's weights instead."
        )
    return made
