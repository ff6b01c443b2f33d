"""`winkel compare`: several maps of the same data, judged alike."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Table
from .console import Console, Outcome
from .maps import Map, check_output, matched, per_point, read_map, table_of, write_columns
from .measure import judged, score_values
from .methods import Recipe, Resources, UsageError, find_method, public, read_settings, settings_of


def command(options: Namespace, console: Console) -> Outcome:
    """A table of scores, one column a map, best first by the area under R_NX."""
    public("measure")
    if options.output is not None:
        check_output(options.output)
    if not options.maps and not options.methods:
        raise UsageError("name map files, or methods with --methods a,b,c.")
    recipes = _recipes(options)
    table = table_of(options)
    maps = {_name(path): matched(table, read_map(path), path) for path in options.maps}
    if len(maps) < len(options.maps) or set(maps) & set(recipes):
        raise UsageError("two maps have the same name; rename a file.")
    seconds: dict[str, float] = {}
    for name, recipe in recipes.items():
        start = time.perf_counter()
        resources = Resources(options.seed, options.n_jobs, options.max_memory, console.progress)
        embedding = recipe.fit(table, resources).embedding
        seconds[name] = time.perf_counter() - start
        maps[name] = Map(embedding.Y, table.ids, table.labels, per_point(embedding))
        console.note(f"{name}: {embedding.status.word}, {seconds[name]:.1f} s")
    reports = {name: judged(options, table, found) for name, found in maps.items()}
    order = sorted(maps, key=lambda name: -_order(reports[name]))
    files = _write(options, {name: maps[name] for name in order}, reports, table)
    values = {
        "command": "compare",
        "input": options.input,
        "n_rows": table.shape[0],
        "maps": {
            name: {"seconds": seconds.get(name), "scores": score_values(reports[name])} for name in order
        },
        "files": files,
    }
    return Outcome(values, _text(order, reports))


def _recipes(options: Namespace) -> dict[str, Recipe]:
    """The methods with those settings that each of them has; every setting must be one of some method."""
    methods = [find_method(name) for name in dict.fromkeys(options.methods)]
    names = {text.partition("=")[0].strip().replace("-", "_") for text in options.set}
    known = {name for method in methods for name in settings_of(method)}
    if names - known:
        raise UsageError(f"no method that was named has a setting {sorted(names - known)[0]!r}.")
    return {
        method.name: read_settings(
            method,
            [
                text
                for text in options.set
                if text.partition("=")[0].strip().replace("-", "_") in settings_of(method)
            ],
        )
        for method in methods
    }


def _name(path: str) -> str:
    return Path(path).stem


def _order(report: Any) -> float:
    value = float(report.scores["rnx_auc"].value)
    return value if np.isfinite(value) else -np.inf


def _write(options: Namespace, maps: dict[str, Map], reports: dict[str, Any], table: Table) -> dict[str, str]:
    """Write the files; their names by what they are."""
    files = {}
    if options.output is not None:
        scores = list(dict.fromkeys(score for report in reports.values() for score in report.scores))
        columns = {"score": np.array(scores)} | {
            name: np.array([_value(reports[name], score) for score in scores]) for name in maps
        }
        write_columns(options.output, columns)
        files["scores"] = options.output
    if options.png is not None:
        from ..view.plots import plot_maps

        labels = next((found.labels for found in maps.values() if found.labels is not None), None)
        plot_maps({name: found.Y for name, found in maps.items()}, labels=labels, path=options.png)
        files["picture"] = options.png
    if options.html is not None:
        from .pages import write_page

        write_page(options.html, maps, table, {name: reports[name] for name in maps})
        files["page"] = options.html
    return files


def _value(report: Any, score: str) -> float:
    return float(report.scores[score].value) if score in report.scores else float("nan")


def _text(order: list[str], reports: dict[str, Any]) -> str:
    """Scores in rows and maps in columns; the best value of a row has a star."""
    scores = list(dict.fromkeys(score for name in order for score in reports[name].scores))
    lines = [["score", *order]]
    for score in scores:
        given = [_value(reports[name], score) for name in order]
        better = next(
            report.scores[score].higher_is_better for report in reports.values() if score in report.scores
        )
        best = (np.nanmax if better else np.nanmin)(given) if not np.isnan(given).all() else np.nan
        lines.append(
            [f"{score} ({'high' if better else 'low'} is good)"]
            + [f"{value:.4g}{'*' if value == best else ' '}" for value in given]
        )
    widths = [max(len(line[c]) for line in lines) for c in range(len(order) + 1)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(text.rjust(w) for text, w in zip(line[1:], widths[1:]))]
        ).rstrip()
        for line in lines
    )
