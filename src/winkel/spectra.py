"""`spectrum`: maps from the overall shape to the neighbours of each row, side by side or along a slider."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import number
from .data import as_table
from .data.table import labelled
from .embedding import Embedding
from .errors import InvalidParameterError
from .estimators.mde import MDE, fit_along
from .graph import Graph
from .measures.context import Context, Measured
from .measures.faithfulness import Faithfulness, html_table, measure_maps, table_lines
from .measures.similarity import align
from .measures.sources import has_rows, map_table
from .methods.mde.spectrum import PLACES
from .run import Run
from .typing import FloatArray, RandomState
from .view.explorer import write_html
from .view.plots import plot, require_matplotlib, save_figure

SCORES = ("neighbor_recall", "rnx_auc", "distance_correlation", "tearing")
_ENDS = {0.0: "shape", 1.0: "neighbors"}


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Maps along the line from shape to neighbours: the result of `winkel.spectrum`.

    Its length is the number of maps; iteration goes over their Embeddings, beginning with the least repulsion.

    Attributes
    ----------
    focus : tuple of float
        The place of each map, from 0 (shape) to 1 (neighbors).
    models : tuple of MDE
        The fitted estimators, whose `transform` places new rows. Their maps are not aligned.
    results : tuple of Embedding
        The aligned maps, each rotated to match the one before.
    reports : tuple of Faithfulness
        The report of `winkel.measure` on each map.
    labels : ndarray or None
        The labels that were passed, for colours.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:150]
    >>> found = wk.spectrum(X, model=wk.MDE(max_iter=30))
    >>> len(found), found.focus
    (5, (0.0, 0.25, 0.5, 0.75, 1.0))
    >>> found.scores["neighbor_recall"].shape
    (5,)
    """

    focus: tuple[float, ...]
    models: tuple[MDE, ...]
    results: tuple[Embedding, ...]
    reports: tuple[Faithfulness, ...]
    labels: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Embedding]:
        return iter(self.results)

    def __getitem__(self, index: int) -> Embedding:
        return self.results[index]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the maps: their place on the line, with the word for it at both ends."""
        return tuple(f"{place:g} {_ENDS[place]}" if place in _ENDS else f"{place:g}" for place in self.focus)

    @property
    def maps(self) -> tuple[FloatArray, ...]:
        """The places of the rows on each map, aligned."""
        return tuple(result.Y for result in self.results)

    @property
    def scores(self) -> Mapping[str, NDArray[np.float64]]:
        """The values of each score for all maps, by the name of the score."""
        names = self.reports[0].scores
        return MappingProxyType(
            {name: np.array([report[name].value for report in self.reports]) for name in names}
        )

    def __str__(self) -> str:
        return "\n".join(table_lines(self._table()))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table("maps from shape to neighbours", self._table())

    def _table(self) -> list[list[str]]:
        rows = [["focus", *self.scores]]
        for name, report in zip(self.names, self.reports):
            rows.append([name, *(f"{score.value:.3f}" for score in report.scores.values())])
        return rows

    def plot(self, *, path: str | os.PathLike[str] | None = None, **looks: Any) -> Any:
        """The matplotlib figure with all maps in a row and their scores below; other parameters are those of `winkel.plot`.

        With `path`, it is also written to that file.
        """
        plt = require_matplotlib()
        looks = {"labels": self.labels, **looks}
        figure, axes = plt.subplots(
            1, len(self), figsize=(3.2 * len(self), 3.9), layout="constrained", squeeze=False
        )
        for ax, name, result, report in zip(axes[0], self.names, self.results, self.reports):
            plot(result, title=f"focus {name}", ax=ax, **looks)
            if (legend := ax.get_legend()) is not None and ax is not axes[0, -1]:
                legend.remove()  # one is enough
            lines = (f"{score.replace('_', ' ')} {report[score].value:.3f}" for score in report.scores)
            ax.text(0.5, -0.02, "\n".join(lines), transform=ax.transAxes, ha="center", va="top", fontsize=8)
        if path is not None:
            save_figure(figure, Path(path))
        return figure

    def write_html(self, path: str | os.PathLike[str], **contents: Any) -> Path:
        """Write an explorer page with a slider from shape to neighbours, with `winkel.write_html`; other parameters are passed on."""
        maps = dict(zip(self.names, self.results))
        scores = dict(zip(self.names, self.reports))
        return write_html(path, maps, **{"labels": self.labels, "scores": scores, **contents})


def spectrum(
    X: Any,
    *,
    model: MDE | None = None,
    places: Sequence[float] = PLACES,
    scores: Sequence[str | Callable[[Context], Any]] = SCORES,
    labels: ArrayLike | None = None,
    n_neighbors: int = 15,
    sample: str | int | None = 500,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Spectrum:
    """Maps of the same data from "shape" to "neighbors", aligned and scored.

    The maps are those of `winkel.MDE(focus=place)`, with one shared search for neighbours. The repulsion grows from map to map, and each map but
    the first starts from the one before, so that all five take less than three times as long as one.

    Parameters
    ----------
    X : array, data frame, sparse matrix, AnnData, distances or sequence of items
        The data, as for `winkel.MDE` and `winkel.measure`. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
    model : MDE or None, default=None
        An unfitted estimator whose other parameters are used, with the default forces; None is `MDE()`.
    places : sequence of float, default=(0.0, 0.25, 0.5, 0.75, 1.0)
        The values of `focus`, from 0 (shape) to 1 (neighbors), in ascending order.
    scores : sequence of str and callables, default=("neighbor_recall", "rnx_auc", "distance_correlation", "tearing")
        Names of registered scores and functions of your own, as for `winkel.measure`.
    labels : array of length n, str or None, default=None
        One label per row, or the name of a column, as for `winkel.measure`, for colours and the scores of labels. The fits do not use them.
    n_neighbors : int, default=15
        Size of the neighbourhoods that the scores compare.
    sample : "auto", int or None, default=500
        How many rows are measured, each compared with all others, as for `winkel.measure`.
    random_state : int, numpy Generator or None, default=0
        The seed; the same seed gives the same bytes for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    Spectrum
        The `maps` and their `scores`; `plot` draws them in a row, `write_html` writes a page with a slider.

    See Also
    --------
    compare : Maps by different methods, side by side.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> found = wk.spectrum(digits.X[:300], labels=digits.y[:300], model=wk.MDE(max_iter=60))
    >>> recall = found.scores["neighbor_recall"]
    >>> bool(recall[-1] > recall[0])
    True
    >>> path = found.write_html("spectrum.html")
    """
    model = MDE() if model is None else model
    _check_model(model, X)
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    X, labels = labelled(X, labels)
    data = as_table(X) if has_rows(model.metric) else X
    measured = Measured(
        data, run.quiet(), n_neighbors=n_neighbors, metric=model.metric, sample=sample, labels=labels
    )
    changes = {"random_state": run.seed, "n_jobs": n_jobs, "verbose": verbose}
    models = fit_along(model, data, _check_places(places), **changes)
    results = [model.result_ for model in models]
    for k in range(1, len(results)):
        results[k] = replace(results[k], Y=align(results[k].Y, results[k - 1].Y))
    tables = {str(k): map_table(result) for k, result in enumerate(results)}
    reports = measure_maps(measured, tables, list(scores), baseline=False)
    return Spectrum(
        tuple(float(place) for place in places),
        tuple(models),
        tuple(results),
        tuple(reports.values()),
        None if labels is None else np.asarray(labels),
    )


def _check_model(model: MDE, X: Any) -> None:
    if not isinstance(model, MDE) or model.preserve != "neighbors":
        raise InvalidParameterError('model must be a winkel.MDE with preserve="neighbors".')
    if isinstance(X, Graph):
        raise InvalidParameterError(
            "X must be rows, distances or items, with which maps are compared; got a Graph. Fit winkel.MDE(focus=...) to it instead."
        )


def _check_places(places: Sequence[float]) -> list[float]:
    found = [number("places", place, 0.0, 1.0) for place in places]
    if not found or any(b <= a for a, b in pairwise(found)):
        raise InvalidParameterError(
            f"places must be ascending numbers from 0 (shape) to 1 (neighbors); got {places!r}."
        )
    return found
