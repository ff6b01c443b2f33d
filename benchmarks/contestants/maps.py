"""Contestants of the entry "maps": whole pipelines from the data to a map of two dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import Task

if TYPE_CHECKING:
    import numpy as np

    Arrays = dict[str, np.ndarray]
    Call = Callable[[np.ndarray], Arrays]


def _winkel(name: str, **settings: object) -> Call:
    import winkel as wk

    estimator = getattr(wk, name)

    def call(X: np.ndarray) -> Arrays:
        return {"Y": estimator(**settings).fit_transform(X)}

    return call


def winkel_mde(task: Task) -> Call:
    return _winkel("MDE", n_neighbors=task.n_neighbors, n_jobs=task.threads, random_state=task.seed)


def winkel_mde_sampled(task: Task) -> Call:
    """With sampled dissimilar pairs, as in PyMDE."""
    return _winkel(
        "MDE", repulsive="log", n_neighbors=task.n_neighbors, n_jobs=task.threads, random_state=task.seed
    )


def winkel_lvm(task: Task) -> Call:
    """With the paper's settings: 9 neighbours, 1 step, one level, 400 iterations."""
    return _winkel("LVM", levels=1, n_jobs=task.threads, random_state=task.seed)


def winkel_tsne(task: Task) -> Call:
    return _winkel("AttractRepel", objective="tsne", n_jobs=task.threads, random_state=task.seed)


def winkel_lle(task: Task) -> Call:
    return _winkel("AttractRepel", objective="lle", n_jobs=task.threads, random_state=task.seed)


def winkel_umap(task: Task) -> Call:
    return _winkel("AttractRepel", objective="umap", n_jobs=task.threads, random_state=task.seed)


def pymde(task: Task) -> Call:
    import pymde as library
    import torch

    torch.set_num_threads(task.threads)

    def call(X: np.ndarray) -> Arrays:
        library.seed(task.seed)
        problem = library.preserve_neighbors(X, embedding_dim=2, n_neighbors=task.n_neighbors)
        return {"Y": problem.embed().numpy()}

    return call


def _umap(task: Task, seed: int | None) -> Call:
    from umap import UMAP

    def call(X: np.ndarray) -> Arrays:
        n_jobs = task.threads if seed is None else 1  # UMAP itself falls back to one thread, with a warning
        return {"Y": UMAP(n_neighbors=task.n_neighbors, n_jobs=n_jobs, random_state=seed).fit_transform(X)}

    return call


def umap(task: Task) -> Call:
    """Without a seed: the only way in which UMAP uses more than one thread."""
    return _umap(task, None)


def umap_seeded(task: Task) -> Call:
    return _umap(task, task.seed)


def _pacmap(seed: int | None) -> Call:
    from pacmap import PaCMAP

    def call(X: np.ndarray) -> Arrays:
        return {"Y": PaCMAP(n_components=2, random_state=seed).fit_transform(X)}

    return call


def pacmap(task: Task) -> Call:
    """Without a seed PaCMAP also searches neighbours on all threads; the rest is threaded either way."""
    return _pacmap(None)


def pacmap_seeded(task: Task) -> Call:
    return _pacmap(task.seed)


def opentsne(task: Task) -> Call:
    import numpy as np
    from openTSNE import TSNE

    def call(X: np.ndarray) -> Arrays:
        return {"Y": np.asarray(TSNE(n_jobs=task.threads, random_state=task.seed).fit(X))}

    return call


def trimap(task: Task) -> Call:
    import numpy as np
    from trimap import TRIMAP

    def call(X: np.ndarray) -> Arrays:
        np.random.seed(task.seed)  # noqa: NPY002 (TriMap draws from NumPy's global generator)
        return {"Y": TRIMAP(verbose=False).fit_transform(np.asarray(X, dtype=np.float32))}

    return call
