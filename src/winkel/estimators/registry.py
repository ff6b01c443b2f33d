"""The registry of estimators. A class decorated with `estimator` is known to the command line, to `winkel.load`,
to the tests that run over all estimators, and to the reference.

Modules of this folder are imported when their class is first needed, so a map by one method does not wait for the others.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

_Class = TypeVar("_Class", bound=type)
_KNOWN: dict[str, Entry] = {}
_SHARED = (
    "registry",
    "base",
    "portable",
    "units",
    "outcome",
    "schema",
    "forces",
    "decoding",
)  # these hold no estimator


@dataclass(frozen=True)
class Command:
    """A name for the command line's `--method`: its summary, and the parameters that it sets."""

    name: str
    summary: str
    preset: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A registered class, and the names by which the command line knows it."""

    cls: Any
    commands: tuple[Command, ...]


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def estimator(name: str, summary: str, *more: Command) -> Callable[[_Class], _Class]:
    """Register an estimator class whose annotated fields are its parameters, as in a dataclass.

    The command line shows `name` and `summary`; `more` are further names that set parameters of their own. The
    parameters that every estimator has come last in the signature, and their documentation is added to that of the class.
    """

    def decorate(cls: _Class) -> _Class:
        made: Any = dataclass(eq=False, repr=False)(cls)
        _put_shared_last(made)
        made.__doc__ = _with_shared_parts(inspect.cleandoc(made.__doc__ or ""), made)
        _KNOWN[made.__name__] = Entry(made, (Command(name, summary), *more))
        return cls

    return decorate


def names() -> list[str]:
    """The names of all registered classes; imports every module of this folder."""
    for module in _modules():
        importlib.import_module(f".{module}", __package__)
    return sorted(_KNOWN)


def entry(name: str) -> Entry:
    """The entry of the class called `name`; KeyError if there is none."""
    if name not in _KNOWN and module_of(name) in _modules():
        importlib.import_module(f".{module_of(name)}", __package__)
    return _KNOWN[name]


def commands() -> dict[str, tuple[Any, Command]]:
    """Class and Command by the name that `--method` takes."""
    return {
        command.name: (_KNOWN[name].cls, command) for name in names() for command in _KNOWN[name].commands
    }


def module_of(name: str) -> str:
    """The module of this folder that holds the class `name`: AttractRepel lives in attract_repel."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)).lower()


def _modules() -> list[str]:
    package = importlib.import_module(__package__)
    return [m.name for m in pkgutil.iter_modules(package.__path__) if m.name not in _SHARED]


def _put_shared_last(cls: Any) -> None:
    shared = _shared_parameters(cls)
    given = inspect.signature(cls.__init__)
    order = sorted(given.parameters.values(), key=lambda p: (p.kind, p.name in shared))
    cls.__init__.__signature__ = given.replace(parameters=order)


def _shared_parameters(cls: Any) -> dict[str, str]:
    """Documentation of the parameters that every estimator has, by name."""
    for base in cls.__mro__:
        if "_SHARED_PARAMETERS" in base.__dict__:
            return dict(base._SHARED_PARAMETERS)
    return {}


def _with_shared_parts(text: str, cls: Any) -> str:
    """The docstring with the parts that all estimators share at the end of its sections."""
    for section, shared in (
        ("Parameters", _shared_parameters(cls)),
        ("Attributes", getattr(cls, "_SHARED_ATTRIBUTES", {})),
    ):
        missing = {n: doc for n, doc in shared.items() if not re.search(rf"(?m)^{re.escape(n)} ?:", text)}
        if not missing:
            continue
        body = "\n".join(missing.values())
        head = re.search(rf"(?m)^{section}\n-+\n", text)
        if head is None:
            text = f"{text}\n\n{section}\n{'-' * len(section)}\n{body}"
            continue
        following = re.search(r"\n\n(?=[A-Z][A-Za-z ]+\n-+\n)", text[head.end() :])
        end = head.end() + following.start() if following else len(text.rstrip())
        text = f"{text[:end].rstrip()}\n{body}{text[end:]}".rstrip() + "\n"
    return text
