"""Parameters that are objects, as plain values for a model file: only registered classes, by name, never code."""

from __future__ import annotations

from typing import Any

from ..errors import ModelFileError
from ..problem.distortions.base import class_of, parameters_of, portable_name

_MARK = "winkel object"


def to_portable(value: Any) -> Any:
    """`value`, or the plain form of a registered penalty, loss or constraint (the class, or an object of it)."""
    name = portable_name(value if isinstance(value, type) else type(value))
    if name is None:
        return value
    return {_MARK: name, "parameters": None if isinstance(value, type) else parameters_of(value)}


def from_portable(value: Any) -> Any:
    """What `to_portable` was given."""
    if not isinstance(value, dict) or _MARK not in value:
        return value
    cls = class_of(value[_MARK])
    if cls is None:
        raise ModelFileError(
            f"The file names {value[_MARK]!r}, which is not registered here. If it is a class of your own, import the "
            "file that defines it first."
        )
    return cls if value["parameters"] is None else cls(**value["parameters"])
