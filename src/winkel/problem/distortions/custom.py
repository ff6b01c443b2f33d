"""A user's own distortion: an object with `value` and `derivative`, or a function of distances for autodiff."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InvalidParameterError, missing_extra
from ...typing import FloatArray, IntArray
from .base import DEFAULT_FLOOR, Distortion, Restricted, Weighted, as_weights, checked_formula, fits_any_pairs


class _Own(Weighted):
    """What the two forms share: only the user's code knows which data it holds for which pair."""

    def take(self, pairs: IntArray, n_pairs: int) -> Distortion:
        own = np.ndim(self.weights) == 0 and fits_any_pairs(self)
        return self if own else Restricted(self, pairs, n_pairs)


class Custom(_Own):
    """The distortion of an object with `value(d)` and `derivative(d)`, both elementwise on a vector of distances.

    The object may have a `floor` of its own; its methods are only called with distances that are at least
    so large. If it holds data of pairs it may have `take(pairs)`, which gives the same object for some of them.
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
    """The distortion of a function that takes a torch vector of distances and gives one of distortions, elementwise."""

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
                f"The distortion function {self.function!r} must give one distortion a pair: a torch vector of "
                f"{len(d)} entries; got {type(value).__name__} of shape {tuple(getattr(value, 'shape', ()))}."
            )
        (slope,) = torch.autograd.grad(value.sum(), distance)
        return value.detach().numpy().astype(d.dtype), slope.numpy().astype(d.dtype)


def as_distortion(distortion: object) -> Distortion:
    """`distortion` as a Distortion: as it is, an object with `value` and `derivative`, or a function for autodiff."""
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
