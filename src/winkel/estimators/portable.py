"""Parameters that are objects, as plain values for a model file: only winkel's own, named in a table, never code."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from ..errors import ModelFileError
from ..problem import Anchored, Centered, Standardized, losses, penalties

_MARK = "winkel object"
_KNOWN: dict[str, Any] = {
    f"{module.__name__.rsplit('.', 1)[1]}.{name}": item
    for module, base in ((penalties, penalties.Penalty), (losses, losses.Loss))
    for name, item in vars(module).items()
    if isinstance(item, type) and issubclass(item, base) and hasattr(item, "kernel")
} | {f"constraints.{item.__name__}": item for item in (Anchored, Centered, Standardized)}
_NAMES = {item: name for name, item in _KNOWN.items()}


def to_portable(value: Any) -> Any:
    """`value`, or the plain form of a penalty, loss or constraint of winkel (the class, or an object of it)."""
    if isinstance(value, type):
        return {_MARK: _NAMES[value], "given": None} if value in _NAMES else value
    if type(value) not in _NAMES:
        return value
    names = [item.name for item in fields(value)] if is_dataclass(value) else ["indices", "values"]
    return {_MARK: _NAMES[type(value)], "given": {name: getattr(value, name) for name in names}}


def from_portable(value: Any) -> Any:
    """What `to_portable` was given."""
    if not isinstance(value, dict) or _MARK not in value:
        return value
    known = _KNOWN.get(value[_MARK])
    if known is None:
        raise ModelFileError(f"The file names {value[_MARK]!r}, which this version does not know.")
    return known if value["given"] is None else known(**value["given"])
