"""How far the maps of a page can be trusted: scores, reliability of each point and seams, computed by default.

Everything uses lists of 15 neighbours, which a fitted map already has. If the data is large, scores come from a sample, so
that all of this takes less time than the map.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...data import Table, as_table
from ...errors import InvalidInputError
from ...graph.knn import neighbor_graph
from ...maps import as_map
from ...measures.faithfulness import Faithfulness, measure
from ...measures.indicatrix import reliability_of
from ...measures.sources import has_rows
from ...measures.tearing import Seams
from ...run import Run
from ...typing import FloatArray, Metric
from ..plots import seams_of
from .inputs import PageMap

_NEIGHBORS = 15
_FEWEST_ROWS = 20
_ALL_ROWS, _DISTANCES = 3000, 7e7  # rows up to which all are measured, and distances of a sample beyond
_LEAST_SAMPLE, _MOST_SAMPLE = 200, 1000
_SCORES = (
    "trustworthiness",
    "continuity",
    "neighbor_recall",
    "rnx_auc",
    "distance_correlation",
    "tearing",
    "merging",
)


@dataclass
class Judged:
    """The results for each map, by its name."""

    scores: dict[str, Faithfulness] = field(default_factory=dict)
    reliability: dict[str, FloatArray] = field(default_factory=dict)
    seams: dict[str, Seams] = field(default_factory=dict)


def judge(
    sources: dict[str, Any], shown: tuple[PageMap, ...], data: Any, metric: Metric, trust: bool | None
) -> Judged:
    """How far each map can be trusted, from `data` or from the rows that its estimator keeps; seams of every map with a graph."""
    found = Judged()
    for page_map in shown:
        source, name = sources[page_map.name], page_map.name
        rows = None if trust is False else _rows_of(source, data, metric)
        own = getattr(source, "metric", "euclidean") if data is None else metric
        if rows is not None and rows.shape[0] == page_map.n and page_map.n >= _FEWEST_ROWS:
            _measure(found, page_map, rows, own)
        elif trust:
            raise InvalidInputError(
                f"trust=True needs the data of the map {name!r}, at least {_FEWEST_ROWS} rows: pass data, or the fitted "
                "estimator if it keeps its rows."
            )
        elif page_map.Y.shape[1] == 2:
            seams = seams_of(replace(as_map(source, name), Y=page_map.Y), None)  # as it is turned
            if seams is not None:
                found.seams[name] = seams
    return found


def _rows_of(source: Any, data: Any, metric: Metric) -> Table | None:
    """The rows that a map is of: `data`, or those that a fitted estimator keeps."""
    if data is not None:
        return as_table(data, name="data") if has_rows(metric) else None
    rows: Table | None = source.fitted_rows() if hasattr(source, "fitted_rows") else None
    return rows if has_rows(getattr(source, "metric", "euclidean")) else None


def _measure(found: Judged, shown: PageMap, rows: Table, metric: Metric) -> None:
    n, run = shown.n, Run.of(random_state=0)
    k = min(_NEIGHBORS, (n - 1) // 2)
    graph = shown.graph
    lists = None if graph is None else graph.knn_indices
    if lists is None or lists.shape[1] < k or (lists[:, :k] < 0).any():
        graph = neighbor_graph(rows, k, run, metric=metric)
        lists = graph.knn_indices
    sample = None if n <= _ALL_ROWS else int(np.clip(_DISTANCES / n, _LEAST_SAMPLE, _MOST_SAMPLE))
    report = measure(
        rows, shown.Y, scores=_SCORES, n_neighbors=k, metric=metric, sample=sample, graph=graph, random_state=0
    )  # fmt: skip
    assert lists is not None
    found.scores[shown.name] = report
    found.reliability[shown.name] = reliability_of(shown.Y, lists[:, :k], max(1, k // 3), run)
    if shown.Y.shape[1] == 2:
        found.seams[shown.name] = report["tearing"].detail.seams(shown.Y)
