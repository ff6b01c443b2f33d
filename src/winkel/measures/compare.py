"""`compare`: several maps of the same data, aligned, scored, timed and compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data import Table
from ..data.table import labelled
from ..errors import InvalidInputError, InvalidParameterError
from ..graph import Graph
from ..graph.knn import neighbor_graph
from ..run import Run
from ..typing import FloatArray, Metric, RandomState
from .context import Context, Measured
from .faithfulness import Faithfulness, html_table, measure_maps, require_pandas, table_lines
from .fits import Data, cut_graph, fit_map, fresh, takes_graph
from .similarity import align, similarity
from .sources import map_table


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several maps of the same data: what `winkel.compare` returns. It prints as a table.

    Attributes
    ----------
    maps : mapping of str to ndarray
        The maps by name, each rotated and scaled to match the first map with the same number of dimensions.
    reports : mapping of str to Faithfulness
        The report on each map, on the same rows.
    seconds : mapping of str to float or None
        Seconds that each map took; None for maps that were passed finished. Maps that started from the shared neighbour graph did
        not search for neighbours; that search took `graph_seconds` once.
    graph_seconds : float or None
        Seconds for the shared neighbour graph, if there is one.
    similarity : ndarray of shape (n_maps, n_maps)
        How similar each two maps are, from 0 to 1 (`winkel.similarity`).
    labels : ndarray or None
        The labels that were passed.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> found = wk.compare(X, {"first": X[:, 20:22], "second": X[:, 30:32]})
    >>> found.names
    ('first', 'second')
    >>> found.similarity.shape
    (2, 2)
    """

    maps: Mapping[str, FloatArray]
    reports: Mapping[str, Faithfulness]
    seconds: Mapping[str, float | None]
    graph_seconds: float | None
    similarity: NDArray[np.float64]
    labels: NDArray[Any] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the maps, in the order in which they were passed."""
        return tuple(self.maps)

    def __str__(self) -> str:
        lines = table_lines(self._scores())
        if self.graph_seconds is not None:
            lines.append(f"one shared neighbour graph, {self.graph_seconds:.2f} s more")
        return "\n".join([*lines, "", *table_lines(self._similarities())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table("scores", self._scores()) + html_table("similarity", self._similarities())

    def _scores(self) -> list[tuple[str, ...]]:
        """One row per score, one column per map."""
        first = next(iter(self.reports.values()))
        columns = [["map", "seconds", *first.scores]]
        for name, report in self.reports.items():
            took = self.seconds[name]
            values = [f"{report.scores[s].value:.4g}" for s in first.scores]
            columns.append([name, "finished" if took is None else f"{took:.2f}", *values])
        beside = [score.baseline for score in first.scores.values()]
        if any(value is not None for value in beside):
            values = ["" if value is None else f"{value:.4g}" for value in beside]
            columns.append([f"PCA in {first.n_components}", "", *values])
        return list(zip(*columns))

    def _similarities(self) -> list[list[str]]:
        rows = [["similarity", *self.names]]
        return rows + [[name, *(f"{v:.3f}" for v in line)] for name, line in zip(self.names, self.similarity)]

    def to_frame(self) -> Any:
        """The scores as a pandas DataFrame, one row per map."""
        rows = [
            {"seconds": self.seconds[name], **{s: score.value for s, score in report.scores.items()}}
            for name, report in self.reports.items()
        ]
        return require_pandas().DataFrame(rows, index=list(self.reports))


def compare(
    X: Any,
    maps: Mapping[str, Any],
    *,
    scores: Sequence[str | Callable[[Context], Any]] | None = None,
    labels: ArrayLike | None = None,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Comparison:
    """Several maps of the same data: aligned, scored on the same rows, timed, and their similarity to each other.

    Parameters
    ----------
    X : array, data frame, sparse matrix, AnnData or sequence of items
        The data, as for `winkel.measure`. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
    maps : mapping of str to estimator or map
        For each name an estimator or a finished map. An estimator is anything with `fit_transform`; a copy of it is fitted, and yours
        stays as it is. A finished map may come from anywhere: an array, an Embedding, a file. Estimators that can start from a
        `winkel.Graph` with this `metric` share one search for neighbours.
    scores : list of str and callables, or None, default=None
        Names of registered scores and functions of your own, as for `winkel.measure`; None computes all.
    labels : array of length n, str or None, default=None
        One label per row, or the name of a column, as for `winkel.measure`; adds the scores of labels.
    n_neighbors : int, default=15
        Size of the neighbourhoods that are compared.
    metric : str or callable, default="euclidean"
        The distance in the data.
    sample : "auto", int or None, default="auto"
        Which rows are measured, as for `winkel.measure`.
    random_state : int, numpy Generator or None, default=0
        The seed of the estimators and of all samples.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    Comparison
        The maps, their reports, times and similarities; it prints as a table.

    Examples
    --------
    >>> import winkel as wk
    >>> from sklearn.decomposition import PCA
    >>> X = wk.datasets.load_digits().X[:300]
    >>> found = wk.compare(X, {"MDE": wk.MDE(max_iter=20), "PCA": PCA(2), "mine": X[:, 20:22]})
    >>> found.reports["MDE"]["trustworthiness"].value > found.reports["mine"]["trustworthiness"].value
    True
    """
    if not isinstance(maps, Mapping) or not maps:
        raise InvalidParameterError(
            f"maps must name at least one estimator or finished map; got {type(maps).__name__} {maps!r}."
        )
    X, labels = labelled(X, labels)
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    data = Data.of(X, metric)
    measured = Measured(
        data.checked, run.quiet(), n_neighbors=n_neighbors, metric=metric, sample=sample, labels=labels
    )
    graph = _graph(data, maps, metric, run)
    tables: dict[str, Table] = {}
    seconds: dict[str, float | None] = {}
    for name, wanted in run.progress(maps.items(), "maps", len(maps)):
        tables[name], seconds[name] = _make(wanted, data, graph, metric, run)
        if tables[name].shape[0] != measured.n:
            raise InvalidInputError(
                f"the map {name!r} has {tables[name].shape[0]} rows; the data has {measured.n}."
            )
    reports = measure_maps(measured, tables, scores)
    return Comparison(
        MappingProxyType(_aligned(tables)),
        MappingProxyType(reports),
        MappingProxyType(seconds),
        None if graph is None else graph.origin.seconds,
        _alike(list(tables.values())),
        None if labels is None else np.asarray(labels),
    )


def _graph(data: Data, maps: Mapping[str, Any], metric: Metric, run: Run) -> Graph | None:
    """The neighbour graph for all estimators that take one, with the largest number of neighbours that any of them needs."""
    wanted = [min(each.n_neighbors, data.n - 1) for each in maps.values() if _takes(each, metric)]
    return neighbor_graph(data.checked, max(wanted), run.quiet(), metric=metric) if wanted else None


def _takes(wanted: Any, metric: Metric) -> bool:
    return hasattr(wanted, "fit_transform") and takes_graph(wanted, metric)


def _make(
    wanted: Any, data: Data, graph: Graph | None, metric: Metric, run: Run
) -> tuple[Table, float | None]:
    """The places of a finished map; or the places that an estimator finds, and the seconds it took."""
    if not hasattr(wanted, "fit_transform"):
        return map_table(wanted, "a finished map"), None
    shared = graph is not None and _takes(wanted, metric)
    X = cut_graph(graph, wanted.n_neighbors) if graph is not None and shared else data.for_estimator(wanted)
    fitted = fit_map(fresh(wanted, run.seed), X)
    return map_table(fitted.Y), fitted.seconds


def _alike(tables: list[Table]) -> NDArray[np.float64]:
    found = np.eye(len(tables))
    for a, first in enumerate(tables):
        for b, second in enumerate(tables[:a]):
            found[a, b] = found[b, a] = similarity(second, first)
    return found


def _aligned(tables: Mapping[str, Table]) -> dict[str, FloatArray]:
    first: dict[int, Table] = {}
    turned = {}
    for name, table in tables.items():
        goal = first.setdefault(table.shape[1], table)
        turned[name] = table.values if goal is table else align(table, goal, scale=True)
    return turned
