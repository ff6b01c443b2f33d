"""`winkel compare`: several maps of the same data, measured in the same way."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Table
from ..maps import Map, of_embedding, read_map, write_columns
from ..measures.compare import compare
from .console import Console, Outcome
from .inputs import check_output, matched, metric_of, table_of
from .measure import check_scores, score_values
from .methods import Recipe, UsageError, find_method, read_settings, setting_name, shared_parameters


def command(options: Namespace, console: Console) -> Outcome:
    """The scores of all maps, and their similarities."""
    _check(options)
    recipes = _recipes(options)
    table = table_of(options, console)
    maps = {Path(path).stem: matched(table, read_map(path), path) for path in options.maps}
    if len(maps) < len(options.maps) or set(maps) & set(recipes):
        raise UsageError("two maps have the same name; rename a file.")
    seconds: dict[str, float | None] = dict.fromkeys(maps)
    for name, recipe in recipes.items():
        start = time.perf_counter()
        maps[name] = _made(options, console, recipe, table)
        seconds[name] = time.perf_counter() - start
        console.note(f"{name}: {seconds[name]:.1f} s")
    found = compare(
        table,
        {name: each.Y for name, each in maps.items()},
        scores=options.scores,
        labels=_labels(table, maps),
        n_neighbors=options.n_neighbors,
        metric=metric_of(options),
        random_state=options.seed,
        n_jobs=options.n_jobs,
    )
    files = _write(options, maps, found, table)
    for what, path in files.items():
        console.note(f"{what}: {path}")
    values = {
        "command": "compare",
        "input": options.input,
        "n_rows": table.shape[0],
        "maps": {
            name: {"seconds": seconds[name], "scores": score_values(report)}
            for name, report in found.reports.items()
        },
        "similarity": found.similarity.tolist(),
        "files": files,
    }
    return Outcome(values, str(replace(found, seconds=seconds)))


def _check(options: Namespace) -> None:
    """Raise, before the work, if there is nothing to compare or an output could not be written."""
    if not options.maps and not options.methods:
        raise UsageError("name map files, or methods with --methods a,b,c.")
    check_scores(options.scores)
    if options.output is not None:
        check_output(options.output)


def _recipes(options: Namespace) -> dict[str, Recipe]:
    """The methods, each with the settings that it has; every setting must belong to at least one method."""
    methods = {name: find_method(name) for name in options.methods}
    known = {name: method.settings for name, method in methods.items()}
    for text in options.set:
        if not any(setting_name(text) in settings for settings in known.values()):
            raise UsageError(f"none of the named methods has a setting {setting_name(text)!r}.")
    return {
        name: read_settings(method, [text for text in options.set if setting_name(text) in known[name]])
        for name, method in methods.items()
    }


def _made(options: Namespace, console: Console, recipe: Recipe, table: Table) -> Map:
    fitted = recipe.fit(table, shared_parameters(options, console))
    return of_embedding(fitted.embedding).named_by(table)


def _labels(table: Table, maps: Mapping[str, Map]) -> Any:
    """The labels of the table, or those in a map file."""
    brought = (found.labels for found in maps.values() if found.labels is not None)
    return next(brought, None) if table.labels is None else table.labels


def _write(options: Namespace, maps: Mapping[str, Map], found: Any, table: Table) -> dict[str, str]:
    """Write the files; their names by what they are."""
    files = {}
    if options.output is not None:
        reports = found.reports
        scores = list(dict.fromkeys(score for report in reports.values() for score in report.scores))
        columns = {"score": np.array(scores)} | {
            name: np.array([_value(report, score) for score in scores]) for name, report in reports.items()
        }
        write_columns(options.output, columns)
        files["scores"] = options.output
    if options.png is not None:
        from ..view.plots import plot_maps

        plot_maps(found.maps, labels=_labels(table, maps), path=options.png)
        files["picture"] = options.png
    if options.html is not None:
        from .pages import write_page

        write_page(
            options.html,
            maps,
            table,
            metric=metric_of(options),
            n_jobs=options.n_jobs,
            scores=found.reports,
            label=options.label,
        )
        files["page"] = options.html
    return files


def _value(report: Any, score: str) -> float:
    return float(report.scores[score].value) if score in report.scores else float("nan")
