"""What `winkel info` prints."""

from __future__ import annotations

import importlib.metadata
import os
import platform

from .. import __version__
from ..resources import format_memory, resolve_n_jobs

_PACKAGES = ("numpy", "scipy", "scikit-learn")
_EXTRAS = {
    "amg": "pyamg",
    "anndata": "anndata",
    "parquet": "pyarrow",
    "plot": "matplotlib",
    "progress": "tqdm",
    "torch": "torch",
}


def info() -> str:
    """Versions, threads, memory and optional packages, a line each."""
    lines = [f"winkel {__version__}", f"python {platform.python_version()} on {platform.platform()}"]
    lines += [f"{name} {_version(name)}" for name in _PACKAGES]
    lines.append(f"threads {resolve_n_jobs(None)}")
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        lines.append(f"memory {format_memory(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'))}")
    for extra, package in _EXTRAS.items():
        version = _version(package)
        lines.append(
            f"extra {extra}: "
            + (f"{package} {version}" if version else f'not installed (pip install "winkel[{extra}]")')
        )
    return "\n".join(lines)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
