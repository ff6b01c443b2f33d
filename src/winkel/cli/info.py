"""`winkel info`: versions, threads, memory and optional packages."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from argparse import Namespace
from typing import Any

from .. import __version__
from ..run import format_memory, resolve_n_jobs
from .console import Console, Outcome
from .methods import methods

_PACKAGES = ("numpy", "scipy", "scikit-learn")
_EXTRAS = {
    "amg": ("pyamg",),
    "anndata": ("anndata",),
    "notebook": ("anywidget",),
    "parquet": ("pyarrow",),
    "plot": ("matplotlib",),
    "progress": ("tqdm",),
    "server": ("starlette", "uvicorn"),
    "torch": ("torch",),
}


def command(options: Namespace, console: Console) -> Outcome:
    """The installed packages, and the resources of this computer."""
    values = _values()
    lines = [f"winkel {values['winkel']}", f"python {values['python']} on {values['platform']}"]
    lines += [f"{name} {version}" for name, version in values["packages"].items()]
    lines.append(f"methods {', '.join(values['methods'])}")
    lines.append(f"threads {values['threads']}")
    if values["memory"] is not None:
        lines.append(f"memory {format_memory(values['memory'])}")
    for extra, packages in values["extras"].items():
        there = all(packages.values())
        named = ", ".join(f"{name} {version}" for name, version in packages.items())
        lines.append(
            f"extra {extra}: " + (named if there else f'not installed (pip install "winkel[{extra}]")')
        )
    return Outcome({"command": "info", **values}, "\n".join(lines))


def _values() -> dict[str, Any]:
    return {
        "winkel": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "methods": list(methods()),
        "threads": resolve_n_jobs(None),
        "memory": _memory(),
        "extras": {
            extra: {package: _version(package) for package in packages} for extra, packages in _EXTRAS.items()
        },
    }


def _memory() -> int | None:
    """Bytes of memory of this computer, if the system tells."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
