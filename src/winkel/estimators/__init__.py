"""The scikit-learn interface: estimators that hold parameters, validate the input once, call a method and keep its result.

    MDE  LVM  TSM  KDS  KDSClustering  AttractRepel  TSNE  UMAP      one file each
    registry.py   `estimator`, the decorator that makes a class known everywhere
    base.py       Embedder: run parameters, results, features, files
    forces.py     ForceEmbedder: what AttractRepel, TSNE and UMAP share, and parameter names of other packages
    portable.py   parameters that are objects, stored in model files

Each is imported when first used: a map by one method does not wait for the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .registry import Command, estimator

if TYPE_CHECKING:
    from .attract_repel import AttractRepel
    from .base import Embedder, GraphEmbedder
    from .kds import KDS
    from .kds_clustering import KDSClustering
    from .lvm import LVM
    from .mde import MDE
    from .tsm import TSM
    from .tsne import TSNE
    from .umap import UMAP

__all__ = [
    "KDS",
    "LVM",
    "MDE",
    "TSM",
    "TSNE",
    "UMAP",
    "AttractRepel",
    "Command",
    "Embedder",
    "GraphEmbedder",
    "KDSClustering",
    "estimator",
]


def __getattr__(name: str) -> object:
    from . import registry

    if name in ("Embedder", "GraphEmbedder"):
        from . import base

        return getattr(base, name)
    try:
        return registry.entry(name).cls
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
