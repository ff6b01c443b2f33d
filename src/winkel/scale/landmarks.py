"""`fit_landmarks`: an estimator fitted to some rows of a Source, chosen so that they stand for all."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from ..checks import choice, integer
from ..data import Table
from ..errors import InvalidInputError
from ..graph.knn import nearest_rows
from ..run import Run, Stream
from ..typing import IntArray
from .source import Source, open_source

_HOW = ("uniform", "spread")
_POOL = 4  # rows looked at for each landmark, where landmarks are to be spread
EstimatorT = TypeVar("EstimatorT")


def fit_landmarks(
    estimator: EstimatorT, source: Any, n_landmarks: int = 10_000, *, how: str = "uniform"
) -> EstimatorT:
    """A copy of `estimator`, fitted to landmarks: rows of `source` that stand for all.

    Its `transform` then places every other row (`winkel.scale.transform` does so by shards). `landmarks_` lists the rows.

    Parameters
    ----------
    estimator : estimator
        Any estimator of winkel with `transform`; its `random_state` also decides which rows are chosen.
    source : Source, path, glob or array
        The rows; see `open_source`.
    n_landmarks : int, default=10000
        How many rows to fit.
    how : {"uniform", "spread"}, default="uniform"
        "uniform" draws rows with equal chances, so that dense regions have more landmarks. "spread" draws four times as many, and
        keeps rows with chances that grow with the distance to their neighbours among them, so that rare rows are there too.

    Returns
    -------
    estimator
        The copy, fitted.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X
    >>> mde = wk.scale.fit_landmarks(wk.MDE(random_state=0), X, 300)
    >>> mde.embedding_.shape, wk.scale.transform(mde, X).shape
    ((300, 2), (1797, 2))
    """
    choice("how", how, _HOW)
    rows = open_source(source)
    count = integer("n_landmarks", n_landmarks, 2)
    if count > rows.shape[0]:
        raise InvalidInputError(f"n_landmarks={count} is more than the {rows.shape[0]} rows of the source.")
    model: Any = clone(estimator)
    run = Run.of(random_state=model.random_state, n_jobs=model.n_jobs)
    chosen = draw_landmarks(rows, count, how, run)
    model.set_params(random_state=run.seed)
    fitted: EstimatorT = model.fit(rows.rows(chosen))
    fitted.landmarks_ = chosen  # type: ignore[attr-defined]
    return fitted


def draw_landmarks(source: Source, count: int, how: str, run: Run) -> IntArray:
    """The numbers of the rows to fit, ascending."""
    n = source.shape[0]
    order = run.stream("landmarks").permutation(n)
    if how == "uniform" or n <= count:
        return np.sort(order[:count])
    pool = np.sort(order[: _POOL * count])
    return pool[_far_from_others(source.rows(pool), count, run)]


def _far_from_others(table: Table, count: int, run: Run) -> IntArray:
    """Rows of the table drawn without replacement, with chances in proportion to the distance to the fifth neighbour."""
    _, distance = nearest_rows(table, table, 6, run)
    weight = distance[:, -1].astype(np.float64)
    weight = np.where(weight > 0, weight, weight[weight > 0].min(initial=1.0))
    # Keys u^(1/w), the largest of which are a weighted sample without replacement (Efraimidis and Spirakis 2006), as logarithms.
    uniform: Any = Stream.named(run.seed, "spread landmarks").uniform(len(weight))
    keys = np.log(np.maximum(uniform, 2.0**-53)) / weight
    return np.sort(np.argsort(-keys, kind="stable")[:count])
