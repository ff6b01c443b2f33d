"""`measure`: the scores of a map next to those of principal components, as one report."""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data import Table
from ..data.archive import atomic_file
from ..data.table import labelled
from ..errors import InvalidParameterError, MissingDependencyError
from ..graph import Graph
from ..run import Run, telling_of_memory
from ..typing import FloatArray, Metric, RandomState
from .context import Context, Measured
from .registry import Score, ScoreDefinition, chosen_scores
from .sources import map_table

_HEADLINE = ("trustworthiness", "continuity", "rnx_auc")


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How far a map can be trusted: the result of `winkel.measure`.

    It prints as a table; `report["trustworthiness"]` is one Score.

    Attributes
    ----------
    n, n_components : int
        Rows and dimensions of the map.
    n_neighbors : int
        Size of the neighbourhoods that were compared.
    metric : str
        The distance in the data.
    seed : int
        The seed of all samples.
    rows : ndarray
        The rows that were measured: all, or a sample.
    scores : mapping of str to Score
        Every score by name, with its meaning, its range and that of principal components in `baseline`.
    points : mapping of str to ndarray
        The scores that exist for single rows: one value per row, NaN for rows that were not measured.
    curves : mapping of str to ndarray
        "K" and R_NX(K) of the map ("rnx") and of principal components ("rnx_baseline"), and curves of other scores, such as
        the distribution of a problem's distortions.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:300]
    >>> report = wk.measure(X, X[:, 20:22])
    >>> report.n, report.n_components
    (300, 2)
    >>> report["stress"].range
    (0.0, 1.0)
    """

    n: int
    n_components: int
    n_neighbors: int
    metric: str
    seed: int
    rows: NDArray[np.int64]
    scores: Mapping[str, Score]
    points: Mapping[str, FloatArray]
    curves: Mapping[str, FloatArray]

    def __getitem__(self, name: str) -> Score:
        return self.scores[name]

    @property
    def summary(self) -> str:
        """One line with the most important scores."""
        shown = [name for name in _HEADLINE if name in self.scores] or list(self.scores)[:3]
        parts = [f"{name.replace('_', ' ')} {_with_baseline(self.scores[name])}" for name in shown]
        return f"{', '.join(parts)} ({len(self.rows)} of {self.n} rows)"

    def __str__(self) -> str:
        return "\n".join([self._head, *table_lines(self._table()), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._head, self._table()) + "".join(f"<p>{html.escape(s)}</p>" for s in self.notes)

    @property
    def notes(self) -> list[str]:
        """Sentences that some scores add to their number."""
        return [str(score.detail) for score in self.scores.values() if score.detail is not None]

    @property
    def _head(self) -> str:
        return f"{self.n} rows in {self.n_components} dimensions, {self.n_neighbors} neighbours, {self.metric} distances"

    def _table(self) -> list[tuple[str, ...]]:
        table: list[tuple[str, ...]] = [("score", "map", "interval", "PCA", "best", "what it means")]
        for score in self.scores.values():
            between = "exact"
            if score.interval is not None:
                between = f"{_number(score.interval[0])} – {_number(score.interval[1])}"
            beside = "" if score.baseline is None else _number(score.baseline)
            table.append(
                (score.name, _number(score.value), between, beside, _number(score.best), score.meaning)
            )
        return table

    def to_frame(self) -> Any:
        """The scores as a pandas DataFrame, one row per score."""
        pandas = require_pandas()
        return pandas.DataFrame(self._records()).set_index("score")

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The scores and curves as JSON text; with `path`, it is also written to that file."""
        meta = {
            "n": self.n,
            "n_components": self.n_components,
            "n_neighbors": self.n_neighbors,
            "metric": self.metric,
            "seed": self.seed,
            "n_measured": len(self.rows),
            "scores": self._records(),
            "curves": {name: [_plain(v) for v in curve.tolist()] for name, curve in self.curves.items()},
        }
        text = json.dumps(meta, indent=1, allow_nan=False)
        if path is not None:
            with atomic_file(path) as file:
                file.write(text.encode())
        return text

    def _records(self) -> list[dict[str, Any]]:
        return [
            {
                "score": s.name,
                "value": _plain(s.value),
                "low": None if s.interval is None else _plain(s.interval[0]),
                "high": None if s.interval is None else _plain(s.interval[1]),
                "baseline": None if s.baseline is None else _plain(s.baseline),
                "worst": _plain(s.worst),
                "best": _plain(s.best),
                "higher_is_better": s.higher_is_better,
                "exact": s.exact,
                "n_sampled": s.n_sampled,
                "meaning": s.meaning,
                "note": None if s.detail is None else str(s.detail),
            }
            for s in self.scores.values()
        ]


@telling_of_memory("Measuring the map", "Give fewer rows, or name fewer scores.")
def measure(
    X: Any,
    map: Any,
    *,
    scores: Sequence[str | Callable[[Context], Any]] | None = None,
    labels: ArrayLike | None = None,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    baseline: bool = True,
    problem: Any = None,
    graph: Graph | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Faithfulness:
    """How faithful a map is to its data: all scores, each next to that of principal components in the same number of dimensions.

    Parameters
    ----------
    X : array, data frame, sparse matrix, AnnData or sequence of items
        The data, as for `winkel.graph.knn`: rows, or distances with metric="precomputed", or any items with a function as
        metric. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
        The baseline and the scores of angles and norms need rows.
    map : array, fitted estimator, Embedding or path
        The map of the same rows, from winkel or elsewhere. A path names a map file or a model file.
    scores : list of str and callables, or None, default=None
        Names of registered scores (`winkel.scores`) and functions of your own, see `winkel.score`. None computes all scores that
        are possible with the given data, labels and problem.
    labels : array of length n, str or None, default=None
        One label per row, or the name of a column: of an AnnData object's `obs`, of a data frame (the column is then not a feature), or
        one that a table keeps. Labels add the scores "label_accuracy" and "clustering_accuracy". Rows whose label is −1, NaN or empty count
        as unknown and are left out of these scores.
    n_neighbors : int, default=15
        Size of the neighbourhoods that are compared, less than half of n.
    metric : str or callable, default="euclidean"
        The distance in the data.
    sample : "auto", int or None, default="auto"
        How many rows are measured; each measured row is compared with all n rows. "auto" measures all rows up to 10 000, and a random 1 000
        beyond. None measures all rows, and a number measures that many random rows.
    baseline : bool, default=True
        Whether to compute the scores of principal components as well.
    problem : Problem or None, default=None
        A `winkel.Problem`; adds its "average_distortion" at the map, and the distribution of distortions to `curves`.
    graph : Graph or None, default=None
        A neighbour graph of X. Its lists are then used as the neighbours in the data, which saves the search.
    random_state : int, numpy Generator or None, default=0
        The seed of all samples; the same seed gives the same numbers for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    Faithfulness
        The report: `scores`, `points` and `curves`; it prints as a table.

    See Also
    --------
    indicatrix : The same question for each point.
    compare : Several maps side by side.
    score : Add a score of your own.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> mde = wk.MDE(max_iter=20, random_state=0).fit(digits.X[:300])
    >>> report = wk.measure(digits.X[:300], mde, labels=digits.y[:300])
    >>> report["trustworthiness"].value > report["trustworthiness"].baseline
    True
    >>> list(wk.measure(digits.X[:300], mde, scores=["continuity", "stress"]).scores)
    ['continuity', 'stress']
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs)
    X, labels = labelled(X, labels)
    measured = Measured(
        X,
        run,
        n_neighbors=n_neighbors,
        metric=metric,
        sample=sample,
        labels=labels,
        problem=problem,
        graph=graph,
    )
    return measure_maps(measured, {"map": map_table(map)}, scores, baseline=baseline)["map"]


def measure_maps(
    measured: Measured,
    maps: Mapping[str, Table],
    scores: Iterable[str | Callable[[Context], Any]] | None = None,
    *,
    baseline: bool = True,
) -> dict[str, Faithfulness]:
    """One report for each of several maps of the same data, on the same rows; quantities of the data are computed once."""
    definitions = possible_scores(measured, scores)
    needs = {need for definition in definitions for need in definition.needs}
    contexts = measured.contexts(maps.values(), needs, baseline=baseline)
    reports: dict[str, Faithfulness] = {}
    beside: dict[Context | None, dict[str, Score]] = {None: {}}
    for name, context in zip(maps, contexts):
        found = {d.name: d.evaluate(context) for d in definitions}
        principal = context.baseline
        if principal is not None and principal not in beside:
            beside[principal] = {d.name: d.evaluate(principal) for d in definitions if d.baseline}
        reports[name] = _report(measured, context, found, beside[principal])
    return reports


def possible_scores(
    measured: Measured, scores: Iterable[str | Callable[[Context], Any]] | None
) -> list[ScoreDefinition]:
    """The requested scores; for None, all scores for which the call has everything they need."""
    definitions = chosen_scores(scores)
    missing = {definition.name: measured.missing(definition) for definition in definitions}
    if scores is None:
        return [definition for definition in definitions if missing[definition.name] is None]
    for name, what in missing.items():
        if what is not None:
            raise InvalidParameterError(f"the score {name!r} needs {what}.")
    return definitions


def _report(
    measured: Measured, context: Context, found: Mapping[str, Score], beside: Mapping[str, Score]
) -> Faithfulness:
    scores: dict[str, Score] = {}
    curves: dict[str, FloatArray] = {}
    for name, score in found.items():
        scores[name] = replace(score, baseline=beside[name].value) if name in beside else score
        for curve in score.curves:
            curves |= {curve.x_name: curve.x, curve.name: curve.y}
        for curve in beside[name].curves if name in beside else ():
            curves[f"{curve.name}_baseline"] = curve.y
    points = {name: s.per_point for name, s in scores.items() if s.per_point is not None}
    metric = measured.metric
    name = str(getattr(metric, "__name__", "function")) if callable(metric) else metric
    return Faithfulness(
        measured.n, context.Y.shape[1], measured.n_neighbors, name, measured.run.seed, measured.rows,
        MappingProxyType(scores), MappingProxyType(points), MappingProxyType(curves),
    )  # fmt: skip


def _with_baseline(score: Score) -> str:
    text = f"{score.value:.3f}"
    return text if score.baseline is None else f"{text} (PCA {score.baseline:.3f})"


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else ("∞" if value > 0 else "−∞")


def _plain(value: float) -> float | None:
    """A number that JSON has."""
    return float(value) if math.isfinite(value) else None


# ------------------------------------------------------------------------------------------- tables of all reports


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Text in columns; the first row is the header."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return ["  ".join(text.ljust(w) for text, w in zip(row, widths)).rstrip() for row in rows]


def html_table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """The same table for a notebook, with all text escaped."""

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

    head, body = line(rows[0], "th"), "".join(line(row, "td") for row in rows[1:])
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead>{head}</thead><tbody>{body}</tbody></table>"
    )


def require_pandas() -> Any:
    """pandas, or an error that says how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingDependencyError(
            "to_frame needs the optional package 'pandas', which is not installed. Install it with: pip install pandas; "
            "to_json and the attributes need no further package."
        ) from error
    return pandas
