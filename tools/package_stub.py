"""Writes the stub of the package, `src/winkel/__init__.pyi`, to standard output: `make stubs` calls this.

The names are those of `winkel.__all__`: the tables in `src/winkel/__init__.py`, and the registered estimators.
"""

from __future__ import annotations

import winkel
from winkel.estimators import registry


def module_of(name: str) -> str:
    """The module, within winkel, that the name is imported from."""
    if name in winkel._NAMES:
        return winkel._NAMES[name]
    return registry.entry(name).cls.__module__.removeprefix("winkel.")


def lines() -> list[str]:
    """An import for each public name, and the version."""
    found = []
    for name in winkel.__all__:
        if name in winkel._MODULES:
            parent = winkel._MODULES[name].rpartition(".")[0]
            found.append(f"from .{parent} import {name} as {name}")
        elif name != "__version__":
            found.append(f"from .{module_of(name)} import {name} as {name}")
    return [*sorted(found), "", "__version__: str", "__all__: list[str]"]


if __name__ == "__main__":
    print("\n".join(lines()))
