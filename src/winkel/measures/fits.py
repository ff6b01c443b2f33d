"""Repeated fits: fresh copies of an estimator with other seeds, on one neighbour graph if the estimator takes one.

Nothing here depends on winkel's own estimators: anything with `fit_transform` works. An estimator whose attribute `graph_suffices`
is true makes the same map from a `winkel.Graph` as from the rows, so its fits share one search for neighbours. An estimator whose
attribute `accepts_table` is true takes a validated `Table` and does not validate it again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Table, as_table
from ..data.annotated import is_anndata
from ..errors import InvalidInputError, InvalidParameterError
from ..graph import Graph
from ..graph.graph import require_neighbor_lists
from ..graph.knn import neighbor_graph
from ..run import Run
from ..typing import FloatArray, IntArray, Metric
from .sources import has_rows


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A map and the seconds it took."""

    Y: FloatArray
    seconds: float


@dataclass(frozen=True, eq=False)
class Data:
    """The data of a call that fits estimators: as it was passed, and as a Table if it has rows."""

    source: Any
    table: Table | None

    @classmethod
    def of(cls, X: Any, metric: Metric) -> Data:
        """The data, validated once if it has rows under this metric."""
        return cls(X, as_table(X) if has_rows(metric) and not isinstance(X, Graph) else None)

    @classmethod
    def for_fits(cls, X: Any, estimator: Any) -> Data:
        """The data that an estimator is fitted to, validated once if the estimator reads rows."""
        own = getattr(estimator, "accepts_table", False)
        return cls.of(X, getattr(estimator, "metric", "euclidean") if own else "precomputed")

    @property
    def checked(self) -> Any:
        """The Table, or the data as it was passed."""
        return self.source if self.table is None else self.table

    @property
    def n(self) -> int:
        """Number of rows or items."""
        if self.table is not None:
            return self.table.shape[0]
        X = self.source
        return X.n if isinstance(X, Graph) else int(X.shape[0]) if hasattr(X, "shape") else len(X)

    def for_estimator(self, estimator: Any) -> Any:
        """The data to fit the estimator to: the Table if it takes one, otherwise the data as passed, or the numbers of a Table or AnnData."""
        if getattr(estimator, "accepts_table", False):
            return self.checked
        X = self.source
        return as_table(X).values if isinstance(X, Table) or is_anndata(X) else X

    def rows(self, index: IntArray) -> Data:
        """The data of these rows."""
        X = self.source
        if isinstance(X, Table):
            part: Any = X.rows(index)
        elif hasattr(X, "iloc"):
            part = X.iloc[index]
        else:
            part = X[index] if hasattr(X, "shape") else [X[i] for i in index]
        return Data(part, None if self.table is None else self.table.rows(index))


def check_estimator(estimator: Any) -> None:
    """Raise unless this object can make maps."""
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
    """The map that a fresh copy of the estimator makes of X, checked."""
    start = time.perf_counter()
    Y = np.asarray(estimator.fit_transform(X))
    seconds = time.perf_counter() - start
    if Y.ndim != 2 or not np.isfinite(Y).all():
        raise InvalidInputError(f"{estimator!r} did not return a map of finite numbers; got shape {Y.shape}.")
    return FittedMap(np.ascontiguousarray(Y), seconds)


def takes_graph(estimator: Any, metric: Metric | None = None) -> bool:
    """Whether a neighbour graph (with `metric`, if one is named) is enough for the estimator to make its map."""
    if not getattr(estimator, "graph_suffices", False):
        return False
    return metric is None or estimator.metric == metric


def shared_graph(estimator: Any, data: Data, run: Run, k: int | None = None) -> Graph | None:
    """The neighbour graph that this estimator would make, with k neighbours; None if it takes none."""
    if not takes_graph(estimator):
        return None
    if isinstance(data.source, Graph):
        return data.source
    k = min(k or estimator.n_neighbors, data.n - 1)
    return neighbor_graph(data.checked, k, run.quiet(), metric=estimator.metric)


def cut_graph(graph: Graph, k: int) -> Graph:
    """The same graph with the k nearest neighbours of each row only."""
    index, distance = require_neighbor_lists(graph, "a shared search for neighbours")
    if k >= index.shape[1]:
        return graph
    return Graph.from_knn(index[:, :k], distance[:, :k], graph.origin)


def other_seed(run: Run, repeat: int) -> int:
    """The seed of a repeated map."""
    return int(run.stream("seeds").bits(1, start=repeat)[0] >> np.uint64(1))
