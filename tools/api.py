"""The public names of winkel with their parameters and defaults, a line each: what tests/unit/test_api.py compares.

python tools/api.py > tests/reference/api.txt
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any

import winkel as wk


def lines() -> Iterator[str]:
    """Every public name, of the package and of its public modules, in order."""
    for name in sorted(wk.__all__):
        item = getattr(wk, name)
        if isinstance(item, types.ModuleType):
            for inner in sorted(getattr(item, "__all__", ())):
                yield from _lines(f"{name}.{inner}", getattr(item, inner))
        elif name != "__version__":
            yield from _lines(name, item)


def _lines(name: str, item: Any) -> Iterator[str]:
    yield f"{name}{_parameters(item)}"
    if inspect.isclass(item) and not issubclass(item, Exception):
        for method in sorted(vars(item)):
            value = inspect.getattr_static(item, method)
            if not method.startswith("_") and isinstance(
                value, types.FunctionType | classmethod | staticmethod | property
            ):
                yield f"{name}.{method}{_parameters(getattr(item, method))}"


def _parameters(item: Any) -> str:
    """The parameters of something that can be called, without annotations; nothing for all else."""
    try:
        signature = inspect.signature(item)
    except (TypeError, ValueError):
        return ""
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


if __name__ == "__main__":
    print("\n".join(lines()))
