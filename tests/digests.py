"""Digests of what winkel makes of its built-in data, so that processes, processors and versions can be compared.

    python -m tests.digests                     # all of them, as JSON
    python -m tests.digests --write             # into tests/reference/digests.json: after a change that moves bytes

A case gives the arrays that its digest is of. Every registered estimator is a case, with each of its `VARIANTS`.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp

import winkel as wk

from . import estimators

FILE = Path(__file__).parent / "reference" / "digests.json"

METRICS = ("euclidean", "cosine", "manhattan", "chebyshev", "correlation", "hamming", "jaccard")
# What depends on the processor still, and is not committed: docs/runtime.md says why.
PROCESSOR_DEPENDENT: set[str] = set()
NUMPY_HAS = np._core._multiarray_umath.__cpu_features__

FITTED, NEW = 240, 12  # rows of the built-in digits


def digits(stop: int, start: int = 0) -> np.ndarray:
    return wk.datasets.load_digits().X[start:stop]


def _graph(graph: Any) -> Iterator[np.ndarray]:
    matrix = graph.distances
    yield from (matrix.indptr, matrix.indices, matrix.data)


def _exact(metric: str, n_jobs: int) -> Iterator[np.ndarray]:
    X = digits(FITTED)
    yield from _graph(
        wk.graph.knn(X > 8 if metric == "jaccard" else X / np.float32(3), 7, metric=metric, n_jobs=n_jobs)
    )


def _approximate(metric: str, n_jobs: int) -> Iterator[np.ndarray]:
    X = digits(900) / np.float32(3)
    yield from _graph(wk.graph.knn(X, 7, metric=metric, method="approximate", random_state=0, n_jobs=n_jobs))


def _sparse(metric: str, n_jobs: int) -> Iterator[np.ndarray]:
    X = sp.csr_array(digits(FITTED) / np.float32(3))
    yield from _graph(wk.graph.knn(X, 7, metric=metric, n_jobs=n_jobs))


@functools.cache
def _report(n_jobs: int) -> Any:
    X = digits(FITTED)
    return wk.measure(X, X[:, [20, 43]] + X[:, [34, 37]] / 17, n_jobs=n_jobs)


def _score(name: str, n_jobs: int) -> Iterator[np.ndarray]:
    score = _report(n_jobs)[name]
    yield np.array([score.value, np.nan if score.baseline is None else score.baseline])
    if score.per_point is not None:
        yield score.per_point


def _fitted(name: str, parameters: dict[str, object], n_jobs: int) -> Iterator[np.ndarray]:
    model = estimators.make(name, n_jobs=n_jobs, **parameters)
    model.fit(digits(FITTED))
    yield model.embedding_
    if hasattr(model, "transform"):
        yield model.transform(digits(FITTED + NEW, FITTED))


def cases() -> dict[str, Callable[[int], Iterator[np.ndarray]]]:
    """What is made, by name, as a function of the number of threads."""
    made: dict[str, Callable[[int], Iterator[np.ndarray]]] = {}
    for score in _report(1).scores:
        made[f"measure-{score}"] = lambda n_jobs, score=score: _score(score, n_jobs)
    for metric in METRICS:
        made[f"knn-exact-{metric}"] = lambda n_jobs, metric=metric: _exact(metric, n_jobs)
    for metric in ("euclidean", "cosine", "manhattan"):
        made[f"knn-approximate-{metric}"] = lambda n_jobs, metric=metric: _approximate(metric, n_jobs)
    for metric in ("euclidean", "cosine"):
        made[f"knn-sparse-{metric}"] = lambda n_jobs, metric=metric: _sparse(metric, n_jobs)
    for key, (name, parameters) in estimators.instances().items():
        made[key] = lambda n_jobs, name=name, parameters=parameters: _fitted(name, parameters, n_jobs)
    return made


def digest(arrays: Iterator[np.ndarray]) -> str:
    """Sixteen hexadecimal digits of the shapes, types and bytes of arrays."""
    total = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        total.update(f"{array.shape}{array.dtype.str}".encode())
        total.update(array.tobytes())
    return total.hexdigest()[:16]


def digests(n_jobs: int = 1) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few iterations
        return {name: digest(make(n_jobs)) for name, make in cases().items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name} instead of printing")
    given = parser.parse_args()
    found = digests(given.n_jobs)
    if given.write:
        kept = {name: value for name, value in found.items() if name not in PROCESSOR_DEPENDENT}
        kept["versions"] = {"numpy": np.__version__, "scipy": scipy.__version__}
        FILE.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n")
    else:
        sys.stdout.write(json.dumps(found, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
