"""`measure`: every score of a map beside that of principal components, as one report."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data import as_matrix
from ..errors import InvalidInputError, MissingDependencyError
from ..graph import Graph
from ..graph.graph import require_neighbor_lists
from ..resources import resolve_n_jobs, resolve_seed
from ..typing import FloatArray, Metric, RandomState
from .angles import norm_error
from .baseline import principal_map
from .directions import angle_scores
from .distances import correlate_maps
from .labels import label_accuracy, map_clustering_accuracy
from .neighbors import MapRanks, check_count, check_map, rank_maps
from .rows import Indices, PointRows, Rows, RowSource, row_source
from .sampling import sampled_rows
from .score import Score

RANKED = ("trustworthiness", "continuity", "neighbor_recall", "rnx_auc")
_CURVE_POINTS = 200
_SLOW_ROWS, _SLOW_SAMPLE = 2000, 300  # of distances that are not computed by the core


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How far a map can be trusted.

    `scores` holds every Score by name, each with its meaning, its range and the value of principal components in
    `baseline`. `points` has the scores that exist for single rows, one value a row (NaN for rows that were not sampled).
    `curves` has "K" and R_NX(K) of the map ("rnx") and of principal components ("rnx_baseline") at some sizes K of the
    neighbourhood, and the distribution of distortions where a Problem was given.
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
        """One line with the scores that say most."""
        shown = [name for name in ("trustworthiness", "continuity", "rnx_auc") if name in self.scores]
        parts = [f"{name.replace('_', ' ')} {_with_baseline(self.scores[name])}" for name in shown]
        return f"{', '.join(parts)} ({len(self.rows)} of {self.n} rows)"

    def __str__(self) -> str:
        head = f"{self.n} rows in {self.n_components} dimensions, {self.n_neighbors} neighbours, {self.metric} distances"
        table = [("score", "map", "interval", "PCA", "best", "what it means")]
        for score in self.scores.values():
            best = score.range[1] if score.higher_is_better else score.range[0]
            table.append(
                (
                    score.name,
                    _number(score.value),
                    "exact"
                    if score.interval is None
                    else f"{_number(score.interval[0])} – {_number(score.interval[1])}",
                    "" if score.baseline is None else _number(score.baseline),
                    _number(best),
                    score.meaning,
                )
            )
        return "\n".join([head, *table_lines(table)])

    __repr__ = __str__

    def to_frame(self) -> Any:
        """The scores as a pandas DataFrame, one row a score."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError(
                "to_frame needs the optional package 'pandas', which is not installed. Install it with: pip install pandas; "
                "to_json and the attribute scores need nothing."
            ) from error
        return pd.DataFrame(self._records()).set_index("score")

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The scores and curves as JSON text; with `path` written there too."""
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
            part = f"{os.fspath(path)}.part"
            with open(part, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(part, path)
        return text

    def _records(self) -> list[dict[str, Any]]:
        return [
            {
                "score": s.name,
                "value": _plain(s.value),
                "low": None if s.interval is None else _plain(s.interval[0]),
                "high": None if s.interval is None else _plain(s.interval[1]),
                "baseline": None if s.baseline is None else _plain(s.baseline),
                "worst": _plain(s.range[0] if s.higher_is_better else s.range[1]),
                "best": _plain(s.range[1] if s.higher_is_better else s.range[0]),
                "higher_is_better": s.higher_is_better,
                "exact": s.exact,
                "n_sampled": s.n_sampled,
                "meaning": s.meaning,
            }
            for s in self.scores.values()
        ]


def measure(
    X: Any,
    Y: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    random_state: RandomState = None,
    problem: Any = None,
    graph: Graph | None = None,
    n_jobs: int | None = None,
) -> Faithfulness:
    """How faithful the map Y is to the data X, in all scores, beside principal components of the same dimension.

    Parameters
    ----------
    X : the data, as for `winkel.graph.knn`: rows (dense or sparse), or distances with metric="precomputed", or any items
        with a function as metric. The baseline and the scores of angles and norms need rows.
    Y : the map, an array of n rows or anything with such an attribute `Y`.
    labels : one a row; adds "label_accuracy" and "clustering_accuracy".
    n_neighbors : size of the neighbourhoods that are compared, less than half of n.
    sample : "auto" counts all rows up to 10 000 and draws 1 000 beyond, each still held against all n rows; None counts
        all, a number draws so many.
    problem : a `winkel.Problem`, whose distortions at Y are added ("average_distortion", and their distribution in `curves`).
    graph : a neighbour graph of X, whose lists are then taken for the data's neighbours instead of being searched.

    The same `random_state` gives the same numbers for any `n_jobs`.
    """
    jobs, seed = resolve_n_jobs(n_jobs), resolve_seed(random_state)
    source = row_source(X, metric, jobs)
    shown = check_map(Y, source.n, jobs)
    k = check_count(n_neighbors, source.n)
    values = as_matrix(X) if _has_rows(metric) else None
    reports = measure_maps(
        source, {"map": shown}, values, k, sample, seed, labels=labels, lists=_lists(graph, source.n, k), n_jobs=jobs
    )  # fmt: skip
    report = replace(reports["map"], metric=_name(metric))
    return report if problem is None else _with_problem(report, problem, shown.points.X)


def measure_maps(
    source: RowSource,
    maps: Mapping[str, PointRows],
    values: Any,
    k: int,
    sample: str | int | None,
    seed: int,
    *,
    labels: ArrayLike | None = None,
    lists: Indices | None = None,
    n_jobs: int,
) -> dict[str, Faithfulness]:
    """One report for each of several maps of the same data, on the same rows, the data ranked once.

    `values` are the rows of the data, or None where only distances are known.
    """
    rows = _measured_rows(source, sample, seed)
    shown = dict(maps)
    base: dict[int, str] = {}
    if values is not None:
        for d in sorted({m.points.X.shape[1] for m in maps.values()}):
            base[d] = f"principal components in {d} dimensions"
            shown[base[d]] = check_map(principal_map(values, d), source.n, n_jobs)
    ranks = dict(
        zip(shown, rank_maps(source, list(shown.values()), rows, k, lists=lists, n_jobs=n_jobs), strict=True)
    )
    correlation = dict(zip(shown, correlate_maps(source, list(shown.values()), sample, seed), strict=True))
    found = {
        name: [*(ranks[name].score(kind) for kind in RANKED), correlation[name], ranks[name].score("stress")]
        for name in shown
    }
    if values is not None:
        flat = {name: points.points.X for name, points in shown.items()}
        for name, pair in angle_scores(values, flat, rows, k, n_jobs).items():
            found[name] += [*pair, norm_error(values, flat[name])]
    if labels is not None:
        for name, points in shown.items():
            found[name] += _label_scores(points.points.X, labels, k, sample, seed, n_jobs)
    scores = {name: {score.name: score for score in some} for name, some in found.items()}
    reports = {}
    for name, points in maps.items():
        n_components = points.points.X.shape[1]
        beside = base.get(n_components)
        reports[name] = _report(
            scores[name],
            ranks[name],
            scores.get(beside or ""),
            ranks.get(beside or ""),
            n_components,
            k,
            seed,
        )
    return reports


def _measured_rows(source: RowSource, sample: str | int | None, seed: int) -> Rows:
    if sample == "auto" and not isinstance(source, PointRows) and source.n > _SLOW_ROWS:
        sample = _SLOW_SAMPLE
    return sampled_rows(source.n, sample, seed)


def _label_scores(
    Y: FloatArray, labels: ArrayLike, k: int, sample: str | int | None, seed: int, n_jobs: int
) -> list[Score]:
    return [
        label_accuracy(Y, labels, n_neighbors=k, random_state=seed, n_jobs=n_jobs),
        map_clustering_accuracy(Y, labels, sample=sample, random_state=seed),
    ]


def _report(
    scores: Mapping[str, Score],
    ranks: MapRanks,
    base_scores: Mapping[str, Score] | None,
    base_ranks: MapRanks | None,
    n_components: int,
    k: int,
    seed: int,
) -> Faithfulness:
    if base_scores is not None:
        scores = {name: replace(s, baseline=base_scores[name].value) for name, s in scores.items()}
    K = np.unique(np.geomspace(1, ranks.n - 2, _CURVE_POINTS).astype(np.int64))
    curves: dict[str, FloatArray] = {"K": K.astype(np.float64), "rnx": ranks.curve()[K - 1]}
    if base_ranks is not None:
        curves["rnx_baseline"] = base_ranks.curve()[K - 1]
    points = {name: s.per_point for name, s in scores.items() if s.per_point is not None}
    return Faithfulness(
        ranks.n, n_components, k, "euclidean", seed, ranks.rows,
        MappingProxyType(dict(scores)), MappingProxyType(points), MappingProxyType(curves),
    )  # fmt: skip


def _with_problem(report: Faithfulness, problem: Any, Y: FloatArray) -> Faithfulness:
    levels, share = problem.distortion_cdf(Y)
    score = Score(
        "average_distortion",
        float(problem.average_distortion(Y)),
        (-math.inf, math.inf),
        False,
        "What the problem asks to be small: the mean distortion of its pairs.",
    )
    some = np.unique(np.linspace(0, len(levels) - 1, _CURVE_POINTS).astype(np.int64))
    curves = {**report.curves, "distortion": np.asarray(levels)[some], "distortion_cdf": np.asarray(share)[some]}  # fmt: skip
    scores = {**report.scores, score.name: score}
    return replace(report, scores=MappingProxyType(scores), curves=MappingProxyType(curves))


def _has_rows(metric: Metric) -> bool:
    return not callable(metric) and metric != "precomputed"


def _name(metric: Metric) -> str:
    return str(getattr(metric, "__name__", "function")) if callable(metric) else metric


def _lists(graph: Graph | None, n: int, k: int) -> Indices | None:
    if graph is None:
        return None
    index, _ = require_neighbor_lists(graph, "measure")
    if graph.n != n:
        raise InvalidInputError(f"the graph has {graph.n} nodes; X has {n} rows.")
    if index.shape[1] < k or (index[:, :k] < 0).any():
        raise InvalidInputError(
            f"the graph must list {k} neighbours of every row; its lists have {index.shape[1]} places. Make it with "
            "winkel.graph.knn(X, n_neighbors), or leave graph away."
        )
    return index


def _with_baseline(score: Score) -> str:
    text = f"{score.value:.3f}"
    return text if score.baseline is None else f"{text} (PCA {score.baseline:.3f})"


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else ("∞" if value > 0 else "−∞")


def _plain(value: float) -> float | None:
    """A number that JSON has."""
    return float(value) if math.isfinite(value) else None


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Text in columns, the first row being the head."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return ["  ".join(text.ljust(w) for text, w in zip(row, widths)).rstrip() for row in rows]
