"""The instances that tests of all estimators run over: every registered class, small and quick.

A new estimator is here as soon as it registers; `VARIANTS` names further parameters worth testing.
"""

from __future__ import annotations

import numpy as np

from winkel.estimators import registry

# Small settings for quick fits, for whichever of them a class has.
QUICK = {"max_iter": 12, "n_neighbors": 6, "n_atoms": 12, "n_clusters": 3, "random_state": 0}

VARIANTS: dict[str, dict[str, dict[str, object]]] = {
    "MDE": {
        "": {},
        "log": {"repulsive": "log"},
        "distances": {"preserve": "distances"},
        "standardized": {"constraint": "standardized"},
    },
    "LVM": {"": {}, "coarse": {"levels": 2}},
    "TSM": {"": {"n_components": 4}, "landmarks": {"n_landmarks": 40}, "relu": {"placement": "relu"}},
    "KDS": {"": {}, "minibatch": {"training": "minibatch"}},
    "AttractRepel": {name: {"objective": name} for name in ("lle", "two_kernel_pca", "pca")},
}


def make(name: str, **parameters: object):
    """An estimator of the registered class `name`, quick unless parameters say otherwise."""
    cls = registry.entry(name).cls
    known = cls._get_param_names()
    return cls(**{k: v for k, v in QUICK.items() if k in known} | parameters)


def instances() -> dict[str, tuple[str, dict[str, object]]]:
    """Class name and parameters by a short id."""
    found = {}
    for name in registry.names():
        for variant, parameters in VARIANTS.get(name, {"": {}}).items():
            found[f"{name}-{variant}" if variant else name] = (name, parameters)
    return found


def rows(n: int = 60, m: int = 5, seed: int = 0, dtype: type = np.float64) -> np.ndarray:
    """Three loose clusters, away from the origin."""
    rng = np.random.Generator(np.random.Philox(key=seed))
    centers = 4 + 3 * np.random.Generator(np.random.Philox(key=99)).normal(size=(3, m))
    return (centers[np.arange(n) % 3] + rng.normal(size=(n, m))).astype(dtype)
