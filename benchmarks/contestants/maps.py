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
    return _winkel(
        "MDE", n_neighbors=task.n_neighbors, metric=task.metric, n_jobs=task.threads, random_state=task.seed
    )


def winkel_mde_in_space(task: Task) -> Call:
    """In three dimensions."""
    return _winkel(
        "MDE", n_components=3, n_neighbors=task.n_neighbors, n_jobs=task.threads, random_state=task.seed
    )


def winkel_mde_sampled(task: Task) -> Call:
    """With sampled dissimilar pairs, as in PyMDE."""
    return _winkel(
        "MDE", repulsive="log", n_neighbors=task.n_neighbors, n_jobs=task.threads, random_state=task.seed
    )


def winkel_lvm(task: Task) -> Call:
    """With the paper's settings: 9 neighbours, 1 step, one level, 400 iterations."""
    return _winkel("LVM", levels=1, n_jobs=task.threads, random_state=task.seed)


def _forces(task: Task, objective: str) -> Call:
    return _winkel(
        "AttractRepel",
        objective=objective,
        metric=task.metric,
        n_jobs=task.threads,
        random_state=task.seed,
    )


def winkel_tsne(task: Task) -> Call:
    return _forces(task, "tsne")


def winkel_lle(task: Task) -> Call:
    return _forces(task, "lle")


def winkel_umap(task: Task) -> Call:
    return _forces(task, "umap")


def pymde(task: Task) -> Call:
    import pymde as library
    import torch

    task.needs_rows()

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
        model = UMAP(n_neighbors=task.n_neighbors, metric=task.metric, n_jobs=n_jobs, random_state=seed)
        return {"Y": model.fit_transform(X)}

    return call


def umap(task: Task) -> Call:
    """Without a seed: the only way in which UMAP uses more than one thread."""
    return _umap(task, None)


def umap_seeded(task: Task) -> Call:
    return _umap(task, task.seed)


def _pacmap(task: Task, seed: int | None) -> Call:
    from pacmap import PaCMAP

    task.needs_rows()

    def call(X: np.ndarray) -> Arrays:
        return {"Y": PaCMAP(n_components=2, random_state=seed).fit_transform(X)}

    return call


def pacmap(task: Task) -> Call:
    """Without a seed PaCMAP also searches neighbours on all threads; the rest is threaded either way."""
    return _pacmap(task, None)


def pacmap_seeded(task: Task) -> Call:
    return _pacmap(task, task.seed)


def opentsne(task: Task) -> Call:
    import numpy as np
    from openTSNE import TSNE

    def call(X: np.ndarray) -> Arrays:
        start = {"initialization": "spectral"} if task.metric == "precomputed" else {}
        model = TSNE(metric=task.metric, n_jobs=task.threads, random_state=task.seed, **start)
        return {"Y": np.asarray(model.fit(X))}

    return call


def trimap(task: Task) -> Call:
    import numpy as np
    from trimap import TRIMAP

    task.needs_rows()

    def call(X: np.ndarray) -> Arrays:
        np.random.seed(task.seed)  # noqa: NPY002 (TriMap draws from NumPy's global generator)
        return {"Y": TRIMAP(verbose=False).fit_transform(np.asarray(X, dtype=np.float32))}

    return call


def phate(task: Task) -> Call:
    import numpy as np
    from phate import PHATE

    def call(X: np.ndarray) -> Arrays:
        distances = {"knn_dist": "precomputed_distance"} if task.metric == "precomputed" else {}
        model = PHATE(n_jobs=task.threads, random_state=task.seed, verbose=0, **distances)
        return {"Y": np.asarray(model.fit_transform(np.asarray(X)))}

    return call


def torchdr_umap(task: Task) -> Call:
    """TorchDR's UMAP, on the processor."""
    import numpy as np
    import torch
    from torchdr import UMAP

    task.needs_rows()
    torch.set_num_threads(task.threads)

    def call(X: np.ndarray) -> Arrays:
        model = UMAP(n_neighbors=task.n_neighbors, random_state=task.seed, backend=None, device="cpu")
        Y = model.fit_transform(torch.from_numpy(np.array(X, dtype=np.float32)))
        return {"Y": Y.detach().numpy()}

    return call


def _scikit_learn(task: Task, name: str, precomputed: dict[str, object] | None, **settings: object) -> Call:
    """A class of sklearn.manifold; `precomputed` are its settings for a matrix of distances, None where it takes none."""
    import numpy as np
    from sklearn import manifold

    if precomputed is None:
        task.needs_rows()
    else:
        settings |= precomputed if task.metric == "precomputed" else {}

    def call(X: np.ndarray) -> Arrays:
        return {"Y": getattr(manifold, name)(n_components=2, **settings).fit_transform(np.asarray(X))}

    return call


def sklearn_isomap(task: Task) -> Call:
    return _scikit_learn(
        task, "Isomap", {"metric": "precomputed"}, n_neighbors=task.n_neighbors, n_jobs=task.threads
    )


def sklearn_lle(task: Task) -> Call:
    return _scikit_learn(
        task,
        "LocallyLinearEmbedding",
        None,
        n_neighbors=task.n_neighbors,
        n_jobs=task.threads,
        random_state=task.seed,
    )


def sklearn_mds(task: Task) -> Call:
    """One start and its own number of iterations."""
    precomputed = {"metric": "precomputed"}
    return _scikit_learn(
        task, "MDS", precomputed, n_init=1, init="random", n_jobs=task.threads, random_state=task.seed
    )


def sklearn_spectral(task: Task) -> Call:
    return _scikit_learn(
        task,
        "SpectralEmbedding",
        None,
        affinity="nearest_neighbors",
        n_neighbors=task.n_neighbors,
        n_jobs=task.threads,
        random_state=task.seed,
    )


def sklearn_tsne(task: Task) -> Call:
    precomputed = {"metric": "precomputed", "init": "random"}
    return _scikit_learn(task, "TSNE", precomputed, n_jobs=task.threads, random_state=task.seed)
