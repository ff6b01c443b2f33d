"""A user's own distortion: an object with `value` and `derivative`, or a function of distances for autodiff."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import InvalidParameterError, missing_extra
from ...typing import FloatArray
from .base import DEFAULT_FLOOR, Distortion


class Custom(Distortion):
    """The distortion of an object with `value(d)` and `derivative(d)`, both elementwise on a vector of distances.

    The object may have a `floor` of its own; its methods are only called with distances that are at least so large.
    """

    def __init__(self, functions: Any) -> None:
        self.functions = functions
        self.floor = float(getattr(functions, "floor", DEFAULT_FLOOR))

    def formula(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, slope = self.functions.value(d), self.functions.derivative(d)
        return _checked(self.functions, "value", value, d), _checked(self.functions, "derivative", slope, d)

    def __repr__(self) -> str:
        return f"Custom({self.functions!r})"


class Autodiff(Distortion):
    """The distortion of a function that takes a torch vector of distances and gives one of distortions, elementwise."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def formula(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        try:
            import torch
        except ImportError:
            raise missing_extra("torch", "torch", "Differentiating a distortion given as a function") from None
        distance = torch.tensor(d, requires_grad=True)
        value = self.function(distance)
        if not isinstance(value, torch.Tensor) or value.shape != distance.shape:
            raise InvalidParameterError(
                f"The distortion function {self.function!r} must give one distortion a pair: a torch vector of "
                f"{len(d)} entries; got {type(value).__name__} of shape {tuple(getattr(value, 'shape', ()))}."
            )
        (slope,) = torch.autograd.grad(value.sum(), distance)
        return value.detach().numpy().astype(d.dtype), slope.numpy().astype(d.dtype)

    def __repr__(self) -> str:
        return f"Autodiff({self.function!r})"


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
        "distortion must be one of winkel.penalties or winkel.losses, an object with the methods value(d) and "
        f"derivative(d), or a function of a torch vector of distances; got {distortion!r}."
    )


def _checked(functions: object, method: str, result: Any, d: FloatArray) -> FloatArray:
    array = np.asarray(result, dtype=d.dtype)
    if array.shape != d.shape:
        raise InvalidParameterError(
            f"{type(functions).__name__}.{method}(d) must give one number a pair, an array of shape {d.shape}; "
            f"got shape {array.shape}."
        )
    return array
