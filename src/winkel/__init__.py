"""winkel: low-dimensional maps of high-dimensional data, and how far each can be trusted.

Names are imported when first used, so that `import winkel` costs little more than `import numpy`.
The list of names is the stub `__init__.pyi`; `_NAMES` says where each one lives.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_MODULES = {  # name: the module it stands for
    "data": "data",
    "datasets": "data.datasets",
    "errors": "errors",
    "graph": "graph",
    "quadratic": "methods.quadratic",
}
_NAMES = {
    "Anchored": "problem",
    "AttractRepel": "estimators",
    "Centered": "problem",
    "Constraint": "problem",
    "Embedding": "embedding",
    "Graph": "graph",
    "LVM": "estimators",
    "KDS": "estimators",
    "KDSClustering": "estimators",
    "MDE": "estimators",
    "Problem": "problem",
    "Pulls": "problem",
    "Standardized": "problem",
    "TSM": "estimators",
    "align": "measures.align",
    "animate": "view",
    "explore": "view",
    "forces": "methods.forces",
    "gradient_agreement": "methods.forces",
    "load": "embedding",
    "locally_linear_extension": "methods.tsm",
    "plot": "view",
    "preserve_distances": "methods.recipes",
    "preserve_neighbors": "methods.recipes",
    "compare": "measures.compare",
    "indicatrix": "measures.indicatrix",
    "measure": "measures.trust",
    "null_test": "measures.chance",
    "stability": "measures.stability",
    "tune": "measures.tune",
    "similarity": "measures.similarity",
    "losses": "problem",
    "penalties": "problem",
    "write_html": "view",
}

__all__ = ["__version__", *_MODULES, *_NAMES]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    if name in _NAMES:
        value = getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'winkel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
