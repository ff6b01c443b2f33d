"""`tune`: parameters chosen without labels, by how faithful and how stable their maps are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameterError
from ..graph import Graph
from ..random import Stream
from ..resources import resolve_n_jobs, resolve_seed
from ..typing import FloatArray, Metric, RandomState
from .fits import check_estimator, check_repeats, cut_graph, fit_map, fresh, progress, shared_graph
from .nearest import map_neighbors
from .neighbors import check_count, check_map, rank_maps
from .rows import RowSource, row_source
from .sampling import sampled_rows
from .stability import other_seed
from .trust import table_lines

_RESAMPLES = 1000
_CLOSE = 0.05  # candidates that win at least this share of resamples cannot be told from the best


@dataclass(frozen=True, eq=False)
class Candidate:
    """One choice of parameters and the means over its maps: area under R_NX, agreement of neighbours, and both.

    `wins` is the share of resamples of rows and runs in which it was the best.
    """

    parameters: Mapping[str, Any]
    faithfulness: float
    stability: float
    score: float
    wins: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Tuning:
    """Candidates from the best to the worst.

    `best` are the parameters of the first, `confidence` how often it stays the best when rows and runs are drawn again,
    and `alike` those that cannot be told from it: all that win at least one resample in twenty.
    """

    candidates: tuple[Candidate, ...]
    n_runs: int
    n_measured: int
    shared_graph: bool

    @property
    def best(self) -> Mapping[str, Any]:
        """The recommended parameters."""
        return self.candidates[0].parameters

    @property
    def confidence(self) -> float:
        """Share of resamples in which the recommendation stays."""
        return self.candidates[0].wins

    @property
    def alike(self) -> tuple[Mapping[str, Any], ...]:
        """The parameters that cannot be told from the best."""
        return tuple(c.parameters for i, c in enumerate(self.candidates) if i == 0 or c.wins >= _CLOSE)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("parameters", "score", "faithfulness", "stability", "wins", "seconds")
        ]
        for c in self.candidates:
            text = ", ".join(f"{name}={value!r}" for name, value in c.parameters.items())
            numbers = (f"{v:.3f}" for v in (c.score, c.faithfulness, c.stability))
            rows.append((text, *numbers, f"{c.wins:.0%}", f"{c.seconds:.2f}"))
        others = len(self.alike) - 1
        doubt = "no other comes close" if others == 0 else f"{others} more cannot be told from it"
        return "\n".join(
            [
                *table_lines(rows),
                f"recommended: {dict(self.best)}, best in {self.confidence:.0%} of resamples of {self.n_measured} rows and "
                f"{self.n_runs} runs; {doubt}",
            ]
        )

    __repr__ = __str__


def tune(
    estimator: Any,
    X: Any,
    grid: Mapping[str, Sequence[Any]],
    *,
    n_runs: int = 3,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = 1000,
    stability_weight: float = 0.5,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Tuning:
    """The parameters of `grid` whose maps of X are the most faithful and stable, without any labels.

    Each choice is mapped from `n_runs` seeds. Faithfulness is the area under R_NX, which sees all sizes of neighbourhoods
    and favours none of the choices of n_neighbors; stability is the share of a point's `n_neighbors` nearest in the map on
    which two runs agree. The score weighs both. Rows and runs are then drawn again, with replacement, 1 000 times: how
    often the best stays the best is the confidence in the recommendation.

    Estimators that can start from a `winkel.Graph` share one search for the largest n_neighbors, whose lists are cut for
    the smaller ones.
    """
    check_estimator(estimator)
    choices = _choices(grid)
    runs, seed, jobs = check_repeats("n_runs", n_runs, 2), resolve_seed(random_state), resolve_n_jobs(n_jobs)
    if not 0 <= stability_weight <= 1:
        raise InvalidParameterError(f"stability_weight must lie in [0, 1]; got {stability_weight!r}.")
    source = row_source(X, metric, jobs)
    k = check_count(n_neighbors, source.n)
    rows = sampled_rows(source.n, sample, seed)
    graph = _largest_graph(estimator, X, choices, seed, n_jobs)
    faithful, stable, seconds = [], [], []
    for choice in progress(choices, "choices of parameters", verbose, len(choices)):
        maps, took = _maps(estimator, X, graph, choice, runs, seed)
        faithful.append(_faithfulness(source, maps, rows, k, jobs))
        stable.append(_agreement(maps, rows, k, n_jobs))
        seconds.append(took)
    weights = (1 - stability_weight, stability_weight)
    return _ranked(choices, np.array(faithful), np.array(stable), seconds, weights, seed, graph is not None)


def _choices(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    if not isinstance(grid, Mapping) or not grid:
        raise InvalidParameterError(
            f"grid must give lists of values by parameter, such as {{'n_neighbors': [5, 15, 50]}}; got {grid!r}."
        )
    for name, values in grid.items():
        if isinstance(values, str) or not len(values):
            raise InvalidParameterError(f"grid[{name!r}] must be a list of values; got {values!r}.")
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def _largest_graph(
    estimator: Any, X: Any, choices: list[dict[str, Any]], seed: int, n_jobs: int | None
) -> Graph | None:
    """One graph for all, unless a choice changes what a graph is."""
    if any("metric" in choice for choice in choices) or not all(
        getattr(fresh(estimator, seed, **choice), "accepts_graph", False) for choice in choices
    ):
        return None
    largest = max(choice.get("n_neighbors", estimator.n_neighbors) for choice in choices)
    return shared_graph(estimator, X, k=largest, seed=seed, n_jobs=n_jobs)


def _maps(
    estimator: Any, X: Any, graph: Graph | None, choice: Mapping[str, Any], n_runs: int, seed: int
) -> tuple[list[FloatArray], float]:
    k = choice.get("n_neighbors", getattr(estimator, "n_neighbors", None))
    data = X if graph is None or k is None else cut_graph(graph, k)
    seeds = [seed, *(other_seed(seed, r) for r in range(n_runs - 1))]
    fitted = [fit_map(fresh(estimator, s, **choice), data) for s in seeds]
    return [f.Y for f in fitted], float(np.mean([f.seconds for f in fitted]))


def _faithfulness(
    source: RowSource, maps: list[FloatArray], rows: NDArray[np.int64], k: int, jobs: int
) -> NDArray[np.float64]:
    """Area under R_NX of each run and row."""
    shown = [check_map(Y, source.n, jobs) for Y in maps]
    return np.array([ranks.rnx_auc for ranks in rank_maps(source, shown, rows, k, n_jobs=jobs)])


def _agreement(
    maps: list[FloatArray], rows: NDArray[np.int64], k: int, n_jobs: int | None
) -> NDArray[np.float64]:
    """Mean share of neighbours on which each run agrees with the others, by run and row."""
    lists = [map_neighbors(np.ascontiguousarray(Y), k, n_jobs)[rows] for Y in maps]
    shared = np.zeros((len(maps), len(rows)))
    for a, b in itertools.combinations(range(len(maps)), 2):
        same = (lists[a][:, :, None] == lists[b][:, None, :]).any(axis=2).mean(axis=1)
        shared[a] += same
        shared[b] += same
    return shared / (len(maps) - 1)


def _ranked(
    choices: list[dict[str, Any]],
    faithful: NDArray[np.float64],
    stable: NDArray[np.float64],
    seconds: list[float],
    weights: tuple[float, float],
    seed: int,
    shared: bool,
) -> Tuning:
    """Candidates in order of score; arrays are choices × runs × rows."""
    score = weights[0] * faithful + weights[1] * stable
    _, n_runs, n_rows = score.shape
    stream = Stream.named(seed, "resamples")
    wins = np.zeros(len(choices))
    for r in range(_RESAMPLES):
        start = r * (n_runs + n_rows)
        drawn_runs = stream.integers(n_runs, n_runs, start=start)
        drawn_rows = stream.integers(n_rows, n_rows, start=start + n_runs)
        means = score[:, drawn_runs].mean(axis=1)[:, drawn_rows].mean(axis=1)
        wins[int(means.argmax())] += 1
    means = score.mean(axis=(1, 2))
    candidates = [
        Candidate(
            choices[c], float(faithful[c].mean()), float(stable[c].mean()), float(means[c]),
            float(wins[c] / _RESAMPLES), seconds[c],
        )
        for c in np.argsort(-means, kind="stable").tolist()
    ]  # fmt: skip
    return Tuning(tuple(candidates), n_runs, n_rows, shared)
