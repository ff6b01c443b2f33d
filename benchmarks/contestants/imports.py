"""Contestants of the entry "imports": one import each, and nothing to call."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from . import Task


def _importer(module: str) -> Callable[[Task], None]:
    def contestant(task: Task) -> None:
        importlib.import_module(module)

    return contestant


def winkel_ready(task: Task) -> None:
    """winkel imports its parts at first use, so its bare import says little: this gets at them."""
    import winkel

    _ = winkel.graph.knn, winkel.MDE


winkel = _importer("winkel")
numpy = _importer("numpy")
sklearn_base = _importer("sklearn.base")
umap = _importer("umap")
pymde = _importer("pymde")
pacmap = _importer("pacmap")
opentsne = _importer("openTSNE")
