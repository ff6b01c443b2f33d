"""`tune`: parameters chosen without labels, by the faithfulness and the stability of their maps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import integer, number, optional
from ..data import Table
from ..data.table import labelled
from ..errors import InvalidParameterError
from ..graph import Graph
from ..run import Run
from ..typing import FloatArray, Metric, RandomState
from .context import Context, Measured
from .faithfulness import html_table, possible_scores, table_lines
from .fits import Data, check_estimator, cut_graph, fit_map, fresh, other_seed, shared_graph, takes_graph
from .registry import Score, ScoreDefinition
from .sources import map_neighbors, map_table

_RESAMPLES = 1000
_CLOSE = 0.05  # candidates that win at least this share of resamples cannot be distinguished from the best


@dataclass(frozen=True, eq=False)
class Candidate:
    """One choice of parameters, and averages over its maps.

    Attributes
    ----------
    parameters : mapping of str to object
        The choice.
    faithfulness : float
        The score by which parameters are chosen, on average over the maps.
    stability : float
        Agreement of neighbours between runs.
    score : float
        The weighted mean of both, by which candidates are ordered.
    wins : float
        Share of resamples of rows and runs in which this choice was the best.
    seconds : float
        Seconds that one map took.
    """

    parameters: Mapping[str, Any]
    faithfulness: float
    stability: float
    score: float
    wins: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Tuning:
    """Choices of parameters, from the best to the worst: the result of `winkel.tune`. It prints as a table.

    Attributes
    ----------
    candidates : tuple of Candidate
        All choices, the best first.
    score_name : str
        The score by which they were compared.
    n_runs, n_measured : int
        Number of maps of each choice, and number of rows on which they were measured.
    shared_graph : bool
        Whether all maps started from one neighbour graph.
    best : mapping of str to object
        The recommended parameters.
    confidence : float
        How often these parameters stay the best when rows and runs are resampled.
    alike : tuple of mappings
        Parameters that cannot be distinguished from the best: all that win at least one resample in twenty.

    Examples
    --------
    >>> import winkel as wk
    >>> from sklearn.decomposition import PCA
    >>> X = wk.datasets.load_digits().X[:200]
    >>> found = wk.tune(PCA(2), X, {"whiten": [False, True]}, score="stress", n_runs=2)
    >>> found.score_name, len(found.candidates)
    ('stress', 2)
    """

    candidates: tuple[Candidate, ...]
    score_name: str
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
        """The parameters that cannot be distinguished from the best."""
        return tuple(c.parameters for i, c in enumerate(self.candidates) if i == 0 or c.wins >= _CLOSE)

    def __str__(self) -> str:
        return "\n".join([*table_lines(self._table()), self._summary])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._summary, self._table())

    @property
    def _summary(self) -> str:
        others = len(self.alike) - 1
        doubt = "no other comes close" if others == 0 else f"{others} more cannot be distinguished from it"
        return (
            f"recommended: {dict(self.best)}, best in {self.confidence:.0%} of resamples of {self.n_measured} rows and "
            f"{self.n_runs} runs; {doubt}"
        )

    def _table(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [
            ("parameters", "score", self.score_name, "stability", "wins", "seconds")
        ]
        for c in self.candidates:
            text = ", ".join(f"{name}={value!r}" for name, value in c.parameters.items())
            numbers = (f"{v:.3f}" for v in (c.score, c.faithfulness, c.stability))
            rows.append((text, *numbers, f"{c.wins:.0%}", f"{c.seconds:.2f}"))
        return rows


def tune(
    estimator: Any,
    X: Any,
    grid: Mapping[str, Sequence[Any]],
    *,
    score: str | Callable[[Context], Any] = "rnx_auc",
    labels: ArrayLike | None = None,
    n_runs: int = 3,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = 1000,
    stability_weight: float | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Tuning:
    """The parameters whose maps are the most faithful and stable, chosen without labels.

    For each choice of parameters, maps are made from `n_runs` seeds. Faithfulness is the area under R_NX, which covers all sizes of
    neighbourhoods and so does not favour any n_neighbors, or another score. Stability is the share of a point's `n_neighbors`
    nearest points in the map on which two runs agree. Choices are ordered by a weighted mean of both. Rows and runs are then resampled with
    replacement 1 000 times; the confidence in the recommendation is how often the best choice stays the best.

    Fits of an estimator that can start from a `winkel.Graph` share one search for the largest n_neighbors; smaller values use the first
    part of its lists.

    Parameters
    ----------
    estimator : estimator
        Anything with `fit_transform` and scikit-learn's parameters.
    X : array, data frame, sparse matrix, AnnData or sequence of items
        The data. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
    grid : mapping of str to list
        For each parameter, the values to try; all combinations are tried.
    score : str or callable, default="rnx_auc"
        The score to choose by: the name of a registered score, or a function of your own (`winkel.score`).
    labels : array of length n, str or None, default=None
        Labels, for a score that needs them, or the name of a column, as for `winkel.measure`.
    n_runs : int, default=3
        Number of maps of each choice, from different seeds; at least 2.
    n_neighbors : int, default=15
        Size of the neighbourhoods that are compared.
    metric : str or callable, default="euclidean"
        The distance in the data.
    sample : "auto", int or None, default=1000
        How many rows are measured, as for `winkel.measure`.
    stability_weight : float or None, default=None
        Weight of stability relative to the score, from 0 to 1; None is 0.5, or 0 for a score without a finite range.
    random_state : int, numpy Generator or None, default=0
        The seed of the first map, from which the seeds of the others follow.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    Tuning
        The choices in order, the recommendation and its confidence; it prints as a table.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> found = wk.tune(wk.MDE(max_iter=20), X, {"n_neighbors": [5, 15]}, n_runs=2)
    >>> sorted(found.best)
    ['n_neighbors']
    >>> 0 <= found.confidence <= 1
    True
    """
    check_estimator(estimator)
    choices = _choices(grid)
    n_runs = integer("n_runs", n_runs, 2)
    X, labels = labelled(X, labels)
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    data = Data.of(X, metric)
    measured = Measured(
        data.checked, run.quiet(), n_neighbors=n_neighbors, metric=metric, sample=sample, labels=labels
    )
    definition = possible_scores(measured, [score])[0]
    weight = _stability_weight(stability_weight, definition)
    graph = _largest_graph(estimator, data, choices, run)
    trials = []
    for choice in run.progress(choices, "choices of parameters", len(choices)):
        maps, seconds = _maps(estimator, data, graph, choice, n_runs, run)
        trials.append(
            _Trial(choice, *_scores(measured, maps, definition), _agreement(maps, measured, run), seconds)
        )
    return _ranked(trials, definition, weight, run, graph is not None)


@dataclass(frozen=True, eq=False)
class _Trial:
    """The results for one choice; arrays are runs × rows, or runs × 1 for a score without values per row."""

    parameters: Mapping[str, Any]
    value: float
    goodness: NDArray[np.float64]
    agreement: NDArray[np.float64]
    seconds: float


def _choices(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    if not isinstance(grid, Mapping) or not grid:
        raise InvalidParameterError(
            f"grid must give lists of values by parameter, such as {{'n_neighbors': [5, 15, 50]}}; got {grid!r}."
        )
    for name, values in grid.items():
        if isinstance(values, str) or not len(values):
            raise InvalidParameterError(f"grid[{name!r}] must be a list of values; got {values!r}.")
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def _stability_weight(wanted: float | None, definition: ScoreDefinition) -> float:
    finite = all(map(math.isfinite, definition.range))
    weight = optional(number, "stability_weight", wanted, 0.0, 1.0)
    if weight is None:
        return 0.5 if finite else 0.0
    if weight > 0 and not finite:
        raise InvalidParameterError(
            f"the score {definition.name!r} has no finite range, so it cannot be weighed against stability; use "
            "stability_weight=0, or register it with a range."
        )
    return float(weight)


def _largest_graph(estimator: Any, data: Data, choices: list[dict[str, Any]], run: Run) -> Graph | None:
    """One neighbour graph for all choices, unless a choice changes a parameter on which the graph depends."""
    if any("metric" in choice for choice in choices) or not all(
        takes_graph(fresh(estimator, run.seed, **choice)) for choice in choices
    ):
        return None
    largest = max(fresh(estimator, run.seed, **choice).n_neighbors for choice in choices)
    return shared_graph(estimator, data, run, largest)


def _maps(
    estimator: Any, data: Data, graph: Graph | None, choice: Mapping[str, Any], n_runs: int, run: Run
) -> tuple[list[Table], float]:
    """The maps of one choice, and the seconds that one takes."""
    k = getattr(fresh(estimator, run.seed, **choice), "n_neighbors", None)
    X = data.for_estimator(estimator) if graph is None or k is None else cut_graph(graph, k)
    seeds = [run.seed, *(other_seed(run, r) for r in range(n_runs - 1))]
    fitted = [fit_map(fresh(estimator, seed, **choice), X) for seed in seeds]
    return [map_table(f.Y) for f in fitted], float(np.mean([f.seconds for f in fitted]))


def _scores(
    measured: Measured, maps: list[Table], definition: ScoreDefinition
) -> tuple[float, NDArray[np.float64]]:
    """The mean score of the maps, and the goodness of each run and row, where 1 is the best of a finite range."""
    contexts = measured.contexts(maps, definition.needs, baseline=False)
    found = [definition.evaluate(context) for context in contexts]
    points = [score.per_point for score in found]
    values = np.array([[score.value] for score in found])
    if all(per_point is not None for per_point in points):
        by_row = np.array([np.asarray(per_point)[measured.rows] for per_point in points])
        # Only values of all rows whose mean is the score itself can be drawn again.
        if np.isfinite(by_row).all() and np.allclose(by_row.mean(axis=1), values[:, 0]):
            values = by_row
    return float(np.mean([score.value for score in found])), _goodness(values, found[0])


def _goodness(values: NDArray[np.float64], score: Score) -> NDArray[np.float64]:
    low, high = score.range
    if not (math.isfinite(low) and math.isfinite(high)):
        return values if score.higher_is_better else -values
    upward = values if score.higher_is_better else low + high - values
    return upward / max(abs(low), abs(high))


def _agreement(maps: list[Table], measured: Measured, run: Run) -> NDArray[np.float64]:
    """Mean share of neighbours on which each run agrees with the others, by run and row."""
    k, rows = measured.n_neighbors, measured.rows
    lists = [map_neighbors(table.values, k, run)[rows] for table in maps]
    shared = np.zeros((len(maps), len(rows)))
    for a, b in itertools.combinations(range(len(maps)), 2):
        same = (lists[a][:, :, None] == lists[b][:, None, :]).any(axis=2).mean(axis=1)
        shared[a] += same
        shared[b] += same
    return shared / (len(maps) - 1)


def _ranked(
    trials: Sequence[_Trial], definition: ScoreDefinition, weight: float, run: Run, shared: bool
) -> Tuning:
    """Candidates in order of score."""
    score = np.array([(1 - weight) * t.goodness + weight * t.agreement for t in trials])
    _, n_runs, n_rows = score.shape
    wins = _wins(score, run)
    means = score.mean(axis=(1, 2))
    candidates = [
        Candidate(
            trials[c].parameters, trials[c].value, float(trials[c].agreement.mean()), float(means[c]),
            float(wins[c]), trials[c].seconds,
        )
        for c in np.argsort(-means, kind="stable").tolist()
    ]  # fmt: skip
    return Tuning(tuple(candidates), definition.name, n_runs, n_rows, shared)


def _wins(score: FloatArray, run: Run) -> NDArray[np.float64]:
    """Share of resamples of runs and rows in which each of the choices × runs × rows is the best."""
    n_choices, n_runs, n_rows = score.shape
    stream = run.stream("resamples")
    wins = np.zeros(n_choices)
    for r in range(_RESAMPLES):
        start = r * (n_runs + n_rows)
        drawn_runs = stream.integers(n_runs, n_runs, start=start)
        drawn_rows = stream.integers(n_rows, n_rows, start=start + n_runs)
        means = score[:, drawn_runs].mean(axis=1)[:, drawn_rows].mean(axis=1)
        wins[int(means.argmax())] += 1
    return wins / _RESAMPLES
