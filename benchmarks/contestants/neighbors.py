"""Contestants of the entry "neighbors": each returns n×k indices and distances, the row itself left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import Task

if TYPE_CHECKING:
    import numpy as np

    Arrays = dict[str, np.ndarray]
    Call = Callable[[np.ndarray], Arrays]


def without_self(indices: np.ndarray, distances: np.ndarray) -> Arrays:
    """The lists without the row itself; a row missing from its own list (duplicates) loses its last."""
    import numpy as np

    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(indices), -1)
    return {"indices": indices[~own].reshape(shape), "distances": distances[~own].reshape(shape)}


def _winkel(task: Task, method: str) -> Call:
    import winkel as wk

    knn = wk.graph.knn

    def call(X: np.ndarray) -> Arrays:
        graph = knn(X, task.n_neighbors, method=method, n_jobs=task.threads, random_state=task.seed)
        return {"indices": graph.knn_indices, "distances": graph.knn_distances}

    return call


def winkel_approximate(task: Task) -> Call:
    return _winkel(task, "approximate")


def winkel_exact(task: Task) -> Call:
    return _winkel(task, "exact")


def winkel_auto(task: Task) -> Call:
    return _winkel(task, "auto")


def _pynndescent(task: Task, max_candidates: int | None) -> Call:
    from pynndescent import NNDescent

    def call(X: np.ndarray) -> Arrays:
        index = NNDescent(
            X,
            n_neighbors=task.n_neighbors + 1,
            max_candidates=max_candidates,
            n_jobs=task.threads,
            random_state=task.seed,
        )
        return without_self(*index.neighbor_graph)

    return call


def pynndescent(task: Task) -> Call:
    return _pynndescent(task, None)


def pynndescent_60(task: Task) -> Call:
    """With the max_candidates that UMAP and PyMDE give pynndescent; UMAP also sets trees and iterations."""
    return _pynndescent(task, 60)


def pymde_approximate(task: Task) -> Call:
    """PyMDE's compiled NN-descent, as its `preserve_neighbors` calls it from 10 000 items on."""
    import pymde  # noqa: F401  (its import is part of using it)
    from pymde._native import nn_descent

    def call(X: np.ndarray) -> Arrays:
        return without_self(*nn_descent(X, task.n_neighbors, seed=task.seed))

    return call


def pymde_exact(task: Task) -> Call:
    """PyMDE's compiled brute force, as its `preserve_neighbors` calls it below 10 000 items."""
    import numpy as np
    import pymde  # noqa: F401  (its import is part of using it)
    from pymde._native import knn_l2

    def call(X: np.ndarray) -> Arrays:
        indices, squares = knn_l2(X, task.n_neighbors)
        return without_self(indices, np.sqrt(np.maximum(squares, 0)))

    return call


def _hnswlib(task: Task, ef: int) -> Call:
    import hnswlib as library
    import numpy as np

    def call(X: np.ndarray) -> Arrays:
        index = library.Index(space="l2", dim=X.shape[1])
        index.init_index(max_elements=len(X), M=16, ef_construction=200, random_seed=task.seed)
        index.add_items(X, num_threads=task.threads)
        index.set_ef(ef)
        indices, squares = index.knn_query(X, k=task.n_neighbors + 1, num_threads=task.threads)
        return without_self(indices.astype(np.int64), np.sqrt(squares))

    return call


def hnswlib_100(task: Task) -> Call:
    return _hnswlib(task, 100)


def hnswlib_200(task: Task) -> Call:
    return _hnswlib(task, 200)


def faiss_flat(task: Task) -> Call:
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(task.threads)

    def call(X: np.ndarray) -> Arrays:
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        squares, indices = index.search(X, task.n_neighbors + 1)
        return without_self(indices, np.sqrt(np.maximum(squares, 0)))

    return call


def sklearn_brute(task: Task) -> Call:
    from sklearn.neighbors import NearestNeighbors

    def call(X: np.ndarray) -> Arrays:
        search = NearestNeighbors(n_neighbors=task.n_neighbors, algorithm="brute", n_jobs=task.threads).fit(X)
        distances, indices = search.kneighbors()  # without a query the row itself is left out
        return {"indices": indices, "distances": distances}

    return call
