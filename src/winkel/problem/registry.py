"""Names of penalties, losses, constraints and objectives: a class is known by its name from the moment it is defined.

`Penalty`, `Loss`, `Constraint` and `Objective` register every subclass, so a name is all that `MDE(attractive="log1p")`,
`AttractRepel(objective="tsne")` or a model file needs, and a user's own class is found like winkel's.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from typing import Any

from ..checks import choice
from ..errors import InvalidParameterError

KINDS = ("penalties", "losses", "constraints", "objectives")
_KNOWN: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}


def register(kind: str, cls: type) -> None:
    """Make `cls` known by its name in snake case. Names that begin with an underscore stay private."""
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
    """The name by which a model file holds an object of this class, or None if it is not registered."""
    name = snake_case(cls.__name__)
    return next((f"{kind}.{name}" for kind in KINDS if _KNOWN[kind].get(name) is cls), None)


def class_of(portable: str) -> Any | None:
    """The class that `portable_name` named, or None if nothing of that name is registered."""
    kind, _, name = portable.partition(".")
    return _KNOWN.get(kind, {}).get(name)


def parameters_of(thing: Any) -> dict[str, Any]:
    """The arguments with which an equal object can be made: a dataclass's fields, or attributes named as arguments."""
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
