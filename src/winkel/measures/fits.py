"""Maps made again: fresh copies of an estimator with other seeds, on one neighbour graph where it takes one.

Nothing here knows winkel's own estimators: anything with `fit_transform` will do. One that can start from a
`winkel.Graph` says so by a true attribute `accepts_graph`, and then shares the search for neighbours.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInputError, InvalidParameterError
from ..graph import Graph, knn
from ..graph.graph import require_neighbor_lists
from ..typing import FloatArray, Metric


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A map and the seconds it took."""

    Y: FloatArray
    seconds: float


def check_estimator(estimator: Any) -> None:
    """Raise unless this is something that makes maps."""
    if isinstance(estimator, type) or not callable(getattr(estimator, "fit_transform", None)):
        raise InvalidParameterError(
            f"an estimator must be an object with fit_transform, such as winkel.MDE(); got {estimator!r}."
        )


def fresh(estimator: Any, seed: int, **parameters: Any) -> Any:
    """An unfitted copy with this seed and these parameters."""
    from sklearn.base import clone

    copy = clone(estimator)
    known = copy.get_params(deep=False)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise InvalidParameterError(
            f"{type(estimator).__name__} has no parameter {unknown[0]!r}; it has {', '.join(known)}."
        )
    # scikit-learn's own seeds have 32 bits.
    changes = {**({"random_state": seed % 2**32} if "random_state" in known else {}), **parameters}
    return copy.set_params(**changes) if changes else copy


def fit_map(estimator: Any, X: Any) -> FittedMap:
    """The map that a fresh estimator makes of X."""
    start = time.perf_counter()
    Y = np.asarray(estimator.fit_transform(X))
    seconds = time.perf_counter() - start
    if Y.ndim != 2 or not np.isfinite(Y).all():
        raise InvalidInputError(f"{estimator!r} made no map of finite numbers; got shape {Y.shape}.")
    return FittedMap(Y, seconds)


def takes_graph(estimator: Any, metric: Metric | None = None) -> bool:
    """Whether the estimator can start from a graph of neighbours (under `metric`, where one is named)."""
    if not getattr(estimator, "accepts_graph", False):
        return False
    return metric is None or estimator.metric == metric


def shared_graph(
    estimator: Any, X: Any, *, k: int | None = None, seed: int = 0, n_jobs: int | None = None
) -> Graph | None:
    """The neighbour graph of X that this estimator would make, with k neighbours; None if it takes none."""
    if not takes_graph(estimator):
        return None
    if isinstance(X, Graph):
        return X
    n = len(X) if not hasattr(X, "shape") else X.shape[0]
    k = min(k or estimator.n_neighbors, n - 1)
    return knn(X, k, metric=estimator.metric, random_state=seed, n_jobs=n_jobs)


def cut_graph(graph: Graph, k: int) -> Graph:
    """The same graph with the k nearest neighbours of each row only."""
    index, distance = require_neighbor_lists(graph, "a shared search for neighbours")
    if k >= index.shape[1]:
        return graph
    return Graph.from_knn(index[:, :k], distance[:, :k], graph.origin)


def progress(steps: Iterable[Any], what: str, verbose: bool, total: int | None = None) -> Iterator[Any]:
    """The steps, with a bar on the screen (tqdm, where it is installed) if asked for."""
    if verbose:
        try:
            from tqdm.auto import tqdm

            steps = tqdm(steps, desc=what, total=total, leave=False)
        except ImportError:
            print(f"winkel: {what}", file=sys.stderr)
    yield from steps


def check_repeats(name: str, value: int, least: int = 1) -> int:
    """A number of repetitions."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidParameterError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return int(value)


def pick_rows(X: Any, rows: Any) -> Any:
    """Some rows of data of whatever kind."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def count_rows(X: Any) -> int:
    """How many rows or items X has."""
    if isinstance(X, Graph):
        return X.n
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
