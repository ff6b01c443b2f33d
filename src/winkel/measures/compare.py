"""`compare`: several maps of the same data, aligned, scored, timed and held against each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data import as_matrix
from ..errors import InvalidInputError, InvalidParameterError, MissingDependencyError
from ..graph import Graph, knn
from ..resources import resolve_n_jobs, resolve_seed
from ..typing import FloatArray, Metric, RandomState
from .align import align
from .fits import cut_graph, fit_map, fresh, progress, takes_graph
from .neighbors import check_count, check_map
from .rows import row_source
from .similarity import similarity
from .trust import Faithfulness, measure_maps, table_lines


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several maps of the same data.

    maps : by name, each turned and scaled onto the first that has as many dimensions.
    reports : the Faithfulness of each, on the same rows.
    seconds : what each took to make; None for maps that were given. Those that started from the shared neighbour graph did
        not search for neighbours, which took `graph_seconds` once.
    similarity : how alike each two are, from 0 to 1 (`winkel.similarity`).
    """

    maps: Mapping[str, FloatArray]
    reports: Mapping[str, Faithfulness]
    seconds: Mapping[str, float | None]
    graph_seconds: float | None
    similarity: NDArray[np.float64]
    labels: NDArray[Any] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The maps in the order given."""
        return tuple(self.maps)

    def __str__(self) -> str:
        scores = list(next(iter(self.reports.values())).scores)
        head = ["map", "seconds", *scores]
        rows = [head]
        for name, report in self.reports.items():
            took = self.seconds[name]
            values = [f"{report.scores[s].value:.4g}" for s in scores]
            rows.append([name, "given" if took is None else f"{took:.2f}", *values])
        base = next(iter(self.reports.values()))
        if base.scores[scores[0]].baseline is not None:
            values = [f"{base.scores[s].baseline or math.nan:.4g}" for s in scores]
            rows.append([f"PCA in {base.n_components}", "", *values])
        lines = table_lines(list(zip(*rows)))  # maps side by side read better than scores do
        if self.graph_seconds is not None:
            lines.append(f"one neighbour graph for all that take one, {self.graph_seconds:.2f} s more")
        alike = [["similarity", *self.names]]
        alike += [
            [name, *(f"{v:.3f}" for v in line)] for name, line in zip(self.names, self.similarity.tolist())
        ]
        return "\n".join([*lines, "", *table_lines(alike)])

    __repr__ = __str__

    def to_frame(self) -> Any:
        """The scores as a pandas DataFrame, one row a map."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError(
                "to_frame needs the optional package 'pandas', which is not installed. Install it with: pip install pandas."
            ) from error
        rows = [
            {"seconds": self.seconds[name], **{s: score.value for s, score in report.scores.items()}}
            for name, report in self.reports.items()
        ]
        return pd.DataFrame(rows, index=list(self.reports))


def compare(
    X: Any,
    maps: Mapping[str, Any],
    *,
    labels: ArrayLike | None = None,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Comparison:
    """Several maps of the data X: aligned, scored on the same rows, timed, and how alike they are.

    `maps` gives each by name: an estimator, which is fitted (anything with `fit_transform`; a copy, yours stays as it is),
    or a finished map, from wherever it came. Estimators that can start from a `winkel.Graph` under `metric` share one
    search for neighbours. Other parameters are those of `winkel.measure`.
    """
    if not isinstance(maps, Mapping) or not maps:
        raise InvalidParameterError(
            f"maps must name at least one estimator or finished map; got {type(maps).__name__} {maps!r}."
        )
    jobs, seed = resolve_n_jobs(n_jobs), resolve_seed(random_state)
    source = row_source(X, metric, jobs)
    k = check_count(n_neighbors, source.n)
    graph, graph_seconds = _graph(X, maps, metric, source.n, seed, n_jobs)
    made: dict[str, FloatArray] = {}
    seconds: dict[str, float | None] = {}
    for name, given in progress(maps.items(), "maps", verbose, len(maps)):
        made[name], seconds[name] = _make(given, X, graph, metric, seed)
        if len(made[name]) != source.n:
            raise InvalidInputError(f"the map {name!r} has {len(made[name])} rows; the data has {source.n}.")
    values = as_matrix(X) if not callable(metric) and metric != "precomputed" else None
    points = {name: check_map(Y, source.n, jobs) for name, Y in made.items()}
    reports = measure_maps(source, points, values, k, sample, seed, labels=labels, n_jobs=jobs)
    alike = np.eye(len(made))
    for a, first in enumerate(made.values()):
        for b, second in enumerate(made.values()):
            if a < b:
                alike[a, b] = alike[b, a] = similarity(first, second)
    given_labels = None if labels is None else np.asarray(labels)
    return Comparison(
        MappingProxyType(_aligned(made)), MappingProxyType(reports), MappingProxyType(seconds), graph_seconds, alike,
        given_labels,
    )  # fmt: skip


def _graph(
    X: Any, maps: Mapping[str, Any], metric: Metric, n: int, seed: int, n_jobs: int | None
) -> tuple[Graph | None, float | None]:
    """The neighbour graph for all estimators that take one, with as many neighbours as the largest wants."""
    wanted = [min(given.n_neighbors, n - 1) for given in maps.values() if _takes(given, metric)]
    if not wanted:
        return None, None
    graph = knn(X, max(wanted), metric=metric, random_state=seed, n_jobs=n_jobs)
    return graph, graph.origin.seconds


def _takes(given: Any, metric: Metric) -> bool:
    return hasattr(given, "fit_transform") and takes_graph(given, metric)


def _make(
    given: Any, X: Any, graph: Graph | None, metric: Metric, seed: int
) -> tuple[FloatArray, float | None]:
    if not hasattr(given, "fit_transform"):
        return as_matrix(getattr(given, "Y", given), name="a finished map", allow_sparse=False), None
    data = X if graph is None or not _takes(given, metric) else cut_graph(graph, given.n_neighbors)
    fitted = fit_map(fresh(given, seed), data)
    return fitted.Y, fitted.seconds


def _aligned(maps: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    first: dict[int, FloatArray] = {}
    turned = {}
    for name, Y in maps.items():
        goal = first.setdefault(Y.shape[1], Y)
        turned[name] = Y if goal is Y else align(Y, goal, scale=True)
    return turned
