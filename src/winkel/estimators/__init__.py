"""The scikit-learn surface: thin estimators that hold parameters, validate once, call a method and show its results.

Each is imported when first used: a map by one method does not wait for the others.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .attract_repel import AttractRepel
    from .kds import KDS
    from .kds_clustering import KDSClustering
    from .lvm import LVM
    from .mde import MDE
    from .tsm import TSM

__all__ = ["KDS", "LVM", "MDE", "TSM", "AttractRepel", "KDSClustering"]

_MODULES = {
    "AttractRepel": "attract_repel",
    "KDSClustering": "kds_clustering",
}  # others: the name in small letters


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULES.get(name, name.lower())}", __name__), name)
