"""The contract of a distortion, what all distortions share (smooth continuation at zero, weights, checks), users' own, and names."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

from ...checks import choice, frozen, refuse
from ...errors import InvalidParameterError, missing_extra
from ...typing import FloatArray, IntArray

DEFAULT_FLOOR = 1e-5
HEAVIEST = 1e30  # weight of a pair, with squares of distances still a number in single precision


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
    """Elementwise f(d) and f'(d) of a vector of distances, one entry per pair.

    Many formulas have no finite value or slope at d = 0. Below a small `floor`, every distortion is
    therefore continued by the parabola f(floor) + f'(floor) (d² − floor²) / (2 floor), which has the same
    value and slope at the floor. So f is a finite and smooth function of the points: the
    force f'(d)/d · (yᵢ − yⱼ) goes to zero as two points meet, and coincident points never give NaN.
    """

    floor: float = DEFAULT_FLOOR

    @property
    def n_pairs(self) -> int | None:
        """Number of pairs for which it holds data; None if it works for any number of pairs."""
        return None

    @abstractmethod
    def formula(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Value and derivative for distances that are all at least `floor`."""

    def fused(self) -> tuple[FusedPart, ...]:
        """The fused form of all pairs; empty if there is none."""
        return ()

    def take(self, pairs: IntArray, n_pairs: int) -> Distortion:
        """The same distortion for some of its `n_pairs` pairs, given by ascending pair numbers."""
        return self if self.n_pairs is None and fits_any_pairs(self) else Restricted(self, pairs, n_pairs)

    def in_single_precision(self) -> Distortion:
        """The distortion with data of pairs in single precision, where that changes no map in single precision; itself where it would."""
        return self

    def value_and_derivative(self, d: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """f(d) and f'(d), entry by entry."""
        distance = _as_distances(d)
        floor = distance.dtype.type(self.floor)
        value, slope = self.formula(np.maximum(distance, floor))
        below = np.minimum(distance, floor)
        if np.any(below < floor):
            value = value + 0.5 * slope * np.where(
                distance < floor, (below - floor) * (below + floor) / floor, 0
            )
            slope = slope * (below / floor)
        return value, slope

    def value(self, d: ArrayLike) -> FloatArray:
        """f(d), entry by entry."""
        return self.value_and_derivative(d)[0]

    def derivative(self, d: ArrayLike) -> FloatArray:
        """f'(d), entry by entry."""
        return self.value_and_derivative(d)[1]


@dataclass_transform(frozen_default=True, eq_default=False)
class Weighted(Distortion):
    """One formula times a weight for each pair.

    Annotated fields of a subclass are its parameters, as in a frozen dataclass. A subclass defines its formula for a weight
    of 1 as `value(d)` and `derivative(d)`, or both at once as `unweighted(d)`; d is never below the floor. If the compiled
    core has the same formula, `kernel` and `parameters` name it.
    """

    kernel: ClassVar[str | None] = None
    weights: Any  # after construction a float64 vector, or a float for all pairs

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _adopt_formula(cls)
        dataclass(frozen=True, eq=False)(cls)

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
        if self.kernel is None:
            return ()
        return (FusedPart(self.kernel, *self.parameters(), self.floor, self.weights),)

    def take(self, pairs: IntArray, n_pairs: int) -> Distortion:
        values = {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]
        vectors = {
            name: np.asarray(value)[pairs] for name, value in values.items() if np.shape(value) == (n_pairs,)
        }
        return self._changed(**vectors)

    def scaled(self, factor: float | FloatArray) -> Self:
        """The same distortion with its weights multiplied by `factor`: one number, or one for each pair."""
        return self._changed(weights=factor * self.weights)

    def _changed(self, **values: Any) -> Self:
        changed: Self = replace(self, **values)  # type: ignore[type-var]
        # The floor may depend on all pairs; a part keeps it, so that the parts add up to the whole.
        object.__setattr__(changed, "floor", self.floor)
        return changed


class Restricted(Distortion):
    """`distortion`, which was made for `n_all` pairs, restricted to some of them (`pairs`, ascending pair numbers)."""

    def __init__(self, distortion: Distortion, pairs: IntArray, n_all: int) -> None:
        self.distortion = distortion
        self.pairs = pairs
        self.n_all = n_all
        self.floor = distortion.floor

    @property
    def n_pairs(self) -> int:
        return len(self.pairs)

    def formula(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Only the distortion knows which data it holds for which pair, so it is asked about all; the others stand at 1.
        every = np.full(self.n_all, max(1.0, self.floor), dtype=d.dtype)
        every[self.pairs] = d
        value, slope = self.distortion.formula(every)
        return value[self.pairs], slope[self.pairs]

    def take(self, pairs: IntArray, n_pairs: int) -> Restricted:
        return Restricted(self.distortion, self.pairs[pairs], self.n_all)

    def __repr__(self) -> str:
        return f"Restricted({self.distortion!r}, {len(self.pairs)} of {self.n_all} pairs)"


def fits_any_pairs(distortion: Distortion) -> bool:
    """Whether the distortion holds no data of single pairs, so that it gives one number when called for one pair."""
    try:
        return np.shape(distortion.formula(np.ones(1))[0]) == (1,)
    except Exception:  # whatever a user's code raises when its data and the distances do not fit
        return False


def checked_formula(owner: object, method: str, result: Any, d: FloatArray) -> FloatArray:
    """The result of a user's method for the distances d, checked to be one number per pair."""
    array = np.asarray(result, dtype=d.dtype)
    if array.shape != d.shape:
        raise InvalidParameterError(
            f"{type(owner).__name__}.{method}(d) must give one number per pair, an array of shape {d.shape}; "
            f"got shape {array.shape}."
        )
    return array


def _adopt_formula(cls: Any) -> None:
    """Read `value` and `derivative` written in the body of `cls` as its formula for a weight of 1.

    They become `unweighted`, and the methods of these names are again the inherited ones, which apply weights and the floor.
    """
    own = cls.__dict__
    value, derivative = own.get("value"), own.get("derivative")
    if value is not None or derivative is not None:
        if value is None or derivative is None:
            raise InvalidParameterError(f"{cls.__name__} must define both value(d) and derivative(d).")

        def unweighted(self: Any, d: FloatArray) -> tuple[FloatArray, FloatArray]:
            v, s = value(self, d), derivative(self, d)
            return checked_formula(self, "value", v, d), checked_formula(self, "derivative", s, d)

        cls.unweighted = unweighted
        del cls.value, cls.derivative
    if "unweighted" in cls.__dict__ and "kernel" not in cls.__dict__:
        cls.kernel = None  # the kernel of a class above has another formula


def _as_distances(d: ArrayLike) -> FloatArray:
    array = np.asarray(d)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def as_weights(weights: ArrayLike, most: float = np.inf, *, keep_single: bool = False) -> FloatArray | float:
    """Weights as one float for all pairs or as a read-only float64 vector, checked to be finite and at most `most` in magnitude.

    With `keep_single`, weights in single precision stay so.
    """
    array = np.asarray(weights)
    if not (keep_single and array.dtype == np.float32 and array.ndim):
        array = array.astype(np.float64, copy=False)
    if array.ndim > 1:
        raise InvalidParameterError(
            f"weights must be a number or a vector with one entry per pair; got an array of shape {array.shape}."
        )
    check_finite("weights", array)
    largest = max(-float(array.min(initial=0.0)), float(array.max(initial=0.0)))
    if largest > most:
        raise InvalidParameterError(
            f"weights must be at most {most:g} in size, so that sums over pairs are finite; the largest is {largest:.3g}. "
            "Only their ratios count: divide all of them by it, or clip those that are too large."
        )
    return float(array) if array.ndim == 0 else frozen(array)


def as_deviations(deviations: ArrayLike, *, positive: bool) -> FloatArray:
    """Original distances as a read-only float64 vector, checked to be finite and of the allowed sign."""
    array = np.array(deviations, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidParameterError(
            f"deviations must be a vector with one entry per pair; got an array of shape {array.shape}."
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


class _Own(Weighted):
    """The common part of users' distortions, in which only the user's code knows which data belongs to which pair."""

    def take(self, pairs: IntArray, n_pairs: int) -> Distortion:
        own = np.ndim(self.weights) == 0 and fits_any_pairs(self)
        return self if own else Restricted(self, pairs, n_pairs)


class Custom(_Own):
    """The distortion of an object with `value(d)` and `derivative(d)`, both elementwise on a vector of distances.

    The object may have its own `floor`; its methods are only called with distances of at least
    this size. If it holds data of pairs, it may have `take(pairs)`, which returns the same object for some of the pairs.
    """

    functions: Any
    weights: ArrayLike = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights))
        object.__setattr__(self, "floor", float(getattr(self.functions, "floor", DEFAULT_FLOOR)))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, slope = self.functions.value(d), self.functions.derivative(d)
        return (
            checked_formula(self.functions, "value", value, d),
            checked_formula(self.functions, "derivative", slope, d),
        )

    def take(self, pairs: IntArray, n_pairs: int) -> Distortion:
        if not callable(getattr(self.functions, "take", None)):
            return super().take(pairs, n_pairs)
        weights = np.asarray(self.weights)
        return Custom(self.functions.take(pairs), weights[pairs] if weights.ndim else weights)


class Autodiff(_Own):
    """The distortion of a function that takes a torch vector of distances and returns a vector of distortions, elementwise."""

    function: Callable[[Any], Any]
    weights: ArrayLike = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights))

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        try:
            import torch
        except ImportError:
            raise missing_extra(
                "torch", "torch", "Differentiating a distortion given as a function"
            ) from None
        distance = torch.tensor(d, requires_grad=True)
        value = self.function(distance)
        if not isinstance(value, torch.Tensor) or value.shape != distance.shape:
            raise InvalidParameterError(
                f"The distortion function {self.function!r} must give one distortion per pair: a torch vector of "
                f"{len(d)} entries; got {type(value).__name__} of shape {tuple(getattr(value, 'shape', ()))}."
            )
        (slope,) = torch.autograd.grad(value.sum(), distance)
        return value.detach().numpy().astype(d.dtype), slope.numpy().astype(d.dtype)


def as_distortion(distortion: object) -> Distortion:
    """`distortion` as a Distortion; it may be one already, an object with `value` and `derivative`, or a function for autodiff."""
    if isinstance(distortion, Distortion):
        return distortion
    if not isinstance(distortion, type):
        if callable(getattr(distortion, "value", None)) and callable(getattr(distortion, "derivative", None)):
            return Custom(distortion)
        if callable(distortion):
            return Autodiff(distortion)
    raise InvalidParameterError(
        "distortion must be one of winkel.penalties or winkel.losses, an object with the methods value(d) "
        f"and derivative(d), or a function of a torch vector of distances; got {distortion!r}."
    )


def as_penalty(role: str, penalty: object) -> Distortion:
    """The penalty for the parameter `role` ("attractive" or "repulsive"); `penalty` is a name, a class or a penalty."""
    if isinstance(penalty, str):
        known = {name: cls for name, cls in registered("penalties").items() if cls.role == role}
        penalty = class_named(role, penalty, known, "a penalty")
    return as_distortion(penalty() if isinstance(penalty, type) else penalty)


def scaled(distortion: Distortion, factor: float | FloatArray) -> Distortion:
    """`distortion` times one factor, or times one factor for each pair."""
    weighted = distortion if isinstance(distortion, Weighted) else Custom(distortion)
    return weighted.scaled(factor)


def as_loss(loss: object) -> Callable[[FloatArray], Distortion]:
    """A function that makes a distortion from original distances; `loss` is a name, a class or such a function."""
    if isinstance(loss, str):
        cls: Callable[[FloatArray], Distortion] = class_named(
            "loss", loss, registered("losses"), "a function that makes a distortion from distances"
        )
        return cls
    if not callable(loss):
        refuse("loss", "the name of a loss, or a function that makes a distortion from distances", loss)
    return lambda deviations: as_distortion(loss(deviations))


# -------------------------------------------------------------------------------------------------- names

# A class is known by its name from the moment it is defined: `Penalty`, `Loss`, `Constraint` and `Objective` register every
# subclass, so a name is all that `MDE(attractive="log1p")`, `AttractRepel(objective="tsne")` or a model file needs.
KINDS = ("penalties", "losses", "constraints", "objectives")
_KNOWN: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}


def register(kind: str, cls: type) -> None:
    """Register `cls` under its name in snake case. Names that begin with an underscore stay private."""
    name = snake_case(cls.__name__)
    if name.startswith("_"):
        return
    before = _KNOWN[kind].get(name)
    if before is not None and _is_own(before) and not _is_own(cls):
        raise InvalidParameterError(
            f"{name!r} already stands for winkel's {before.__name__}; give your class another name."
        )
    _KNOWN[kind][name] = cls


def registered(kind: str) -> dict[str, Any]:
    """The classes of a kind by their names."""
    return dict(_KNOWN[kind])


def class_named(parameter: str, name: str, known: dict[str, Any], also: str) -> Any:
    """The class among `known` that `name` stands for; `parameter` and `also` are for the message."""
    return known[choice(parameter, name, known, also=also)]


def portable_name(cls: type) -> str | None:
    """The name under which a model file stores an object of this class, or None if the class is not registered."""
    name = snake_case(cls.__name__)
    return next((f"{kind}.{name}" for kind in KINDS if _KNOWN[kind].get(name) is cls), None)


def class_of(portable: str) -> Any | None:
    """The class with this `portable_name`, or None if nothing is registered under that name."""
    kind, _, name = portable.partition(".")
    return _KNOWN.get(kind, {}).get(name)


def parameters_of(thing: Any) -> dict[str, Any]:
    """The arguments that make an equal object: the fields of a dataclass, or attributes with the names of arguments."""
    names = (
        [item.name for item in fields(thing) if item.init]
        if is_dataclass(thing)
        else [name for name in inspect.signature(type(thing).__init__).parameters if name != "self"]
    )
    return {name: getattr(thing, name) for name in names if name not in ("args", "kwargs")}


def needs_arguments(cls: Any) -> bool:
    """Whether an object of the class cannot be made without arguments."""
    try:
        inspect.signature(cls).bind()
    except TypeError:
        return True
    return False


def snake_case(name: str) -> str:
    """InvPower as inv_power."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _is_own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "winkel"
