"""winkel: low-dimensional maps of high-dimensional data, and how far each can be trusted.

Names are imported when first used, so that `import winkel` takes a few milliseconds. `_NAMES` says in which module each
name is; estimators come from the registry. The stub `__init__.pyi` is generated from both (`make stubs`).
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_MODULES = {  # name: the module it stands for
    "data": "data",
    "datasets": "data.datasets",
    "errors": "errors",
    "graph": "graph",
    "objectives": "methods.forces.objectives",
    "quadratic": "methods.quadratic",
    "scale": "scale",
    "scverse": "scverse",
}
_NAMES = {
    "Anchored": "problem",
    "Centered": "problem",
    "Constraint": "problem",
    "Embedding": "embedding",
    "Graph": "graph",
    "Problem": "problem",
    "Pulls": "problem",
    "Standardized": "problem",
    "align": "measures.similarity",
    "animate": "view",
    "explore": "view",
    "forces": "methods.forces",
    "gradient_agreement": "methods.forces",
    "load": "embedding",
    "locally_linear_extension": "methods.tsm",
    "place_items": "methods.harmonic",
    "propagate_labels": "methods.harmonic",
    "plot": "view",
    "plot_decoded": "view",
    "preserve_distances": "methods.mde",
    "preserve_neighbors": "methods.mde",
    "compare": "measures.compare",
    "explain": "measures.explain",
    "indicatrix": "measures.indicatrix",
    "measure": "measures.faithfulness",
    "null_test": "measures.null_test",
    "score": "measures.scores",
    "scores": "measures.registry",
    "series": "sequence",
    "spectrum": "spectra",
    "stability": "measures.stability",
    "tune": "measures.tune",
    "similarity": "measures.similarity",
    "losses": "problem",
    "penalties": "problem",
    "write_html": "view",
}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return ["__version__", *_MODULES, *_NAMES, *_estimators()]
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    if name in _NAMES:
        value = getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    else:
        value = _estimator(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_MODULES, *_NAMES, *_estimators()])


def _estimator(name: str) -> object:
    """The estimator of this package called `name`."""
    missing = AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name.startswith("_"):
        raise missing
    try:
        cls: type = importlib.import_module(".estimators.registry", __name__).entry(name).cls
    except KeyError:
        raise missing from None
    if not _is_own(cls):
        raise missing
    return cls


def _estimators() -> list[str]:
    """The names of all estimators of this package; imports them."""
    registry = importlib.import_module(".estimators.registry", __name__)
    return [name for name in registry.names() if _is_own(registry.entry(name).cls)]


def _is_own(cls: type) -> bool:
    """Whether a registered class is part of this package, and not a user's."""
    return cls.__module__.startswith(f"{__name__}.")
