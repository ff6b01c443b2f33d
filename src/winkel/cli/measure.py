"""`winkel measure`: how faithful a map is to its data."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data import Table
from ..maps import Map, read_map, write_columns
from ..measures.faithfulness import Faithfulness, measure
from ..measures.indicatrix import indicatrix
from ..measures.registry import scores
from .console import Console, Outcome
from .inputs import check_output, matched, metric_of, table_of
from .methods import UsageError
from .shards import in_shards, is_folder, measured


def command(options: Namespace, console: Console) -> Outcome:
    """The scores of the map; with an output file, also those of every point."""
    check_scores(options.scores)
    if in_shards(options.input) or is_folder(options.map):
        report, shape = measured(options, console)
        return Outcome(_values(options, report, shape), str(report))
    if options.output is not None:
        check_output(options.output)
    table = table_of(options, console)
    found = matched(table, read_map(options.map), options.map)
    report = measure(
        table,
        found.Y,
        scores=options.scores,
        labels=found.labels if table.labels is None else table.labels,
        n_neighbors=options.n_neighbors,
        metric=metric_of(options),
        random_state=options.seed,
        n_jobs=options.n_jobs,
    )
    if options.output is not None:
        write_columns(options.output, _points(options, table, found, report))
        console.note(f"measures of every point: {options.output}")
    return Outcome(_values(options, report, found.Y.shape), str(report))


def _values(options: Namespace, report: Faithfulness, shape: tuple[int, ...]) -> dict[str, Any]:
    """The values for scripts about a map of this shape."""
    return {
        "command": "measure",
        "input": options.input,
        "map": options.map,
        "n_rows": shape[0],
        "n_components": shape[1],
        "n_neighbors": options.n_neighbors,
        "metric": metric_of(options),
        "seed": options.seed,
        "scores": score_values(report),
    }


def check_scores(names: list[str] | None) -> None:
    """Raise, before any work, unless these are names of scores."""
    known = scores()
    for name in names or ():
        if name not in known:
            raise UsageError(f"there is no score {name!r}; choose among {', '.join(known)}.")


def score_values(report: Any) -> dict[str, Mapping[str, Any]]:
    """The scores of a report as plain values."""
    return {
        name: {
            "value": score.value,
            "interval": None if score.interval is None else list(score.interval),
            "baseline": score.baseline,
            "higher_is_better": score.higher_is_better,
            "meaning": score.meaning,
        }
        for name, score in report.scores.items()
    }


def _points(options: Namespace, table: Table, found: Map, report: Any) -> dict[str, Any]:
    """Columns of a file with every point's id, reliability, neighbours that are false or missing, and own scores."""
    place = indicatrix(
        table,
        found.Y,
        n_neighbors=options.n_neighbors,
        metric=metric_of(options),
        random_state=options.seed,
        n_jobs=options.n_jobs,
    )
    ids = table.ids if table.ids is not None else found.ids
    return {
        "id": np.arange(len(found.Y)) if ids is None else ids,
        "reliability": place.reliability,
        "false_neighbors": place.false_neighbors.counts,
        "missing_neighbors": place.missing_neighbors.counts,
        **report.points,
    }
