"""`fit_landmarks`: an estimator fitted to some rows of a Source, chosen to represent all rows."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..algebra import log
from ..checks import choice as one_of
from ..checks import integer
from ..data import Table
from ..errors import InvalidInputError, InvalidParameterError
from ..graph.knn import nearest_rows
from ..run import Run
from ..typing import IntArray
from .source import Source, open_source

CHOICES = ("uniform", "kmeans++", "density")
_POOL = 4  # rows looked at for each landmark, where sparse regions are to have more of them
_SHARES = (16, 8, 4, 2, 1)  # parts of the landmarks that are drawn after each pass of k-means++, as one over
EstimatorT = TypeVar("EstimatorT")


def fit_landmarks(
    estimator: EstimatorT, source: Any, n_landmarks: int = 10_000, *, choice: str = "uniform"
) -> EstimatorT:
    """A copy of `estimator`, fitted to landmarks: rows of `source` that represent all rows.

    Its `transform` then places every other row (`winkel.scale.transform` does so by shards). `source_rows_` lists the landmarks.

    Parameters
    ----------
    estimator : estimator
        Any estimator of winkel; its `random_state` also decides which rows are chosen.
    source : Source, path, glob, array or anything that `open_source` takes
        The rows.
    n_landmarks : int, default=10000
        Number of landmarks.
    choice : {"uniform", "kmeans++", "density"}, default="uniform"
        "uniform" draws rows with equal probability, so that dense regions have more landmarks. "kmeans++" draws them in five rounds, with
        probabilities that grow with the squared distance to the nearest row drawn before. Such landmarks cover the whole data, including
        rare rows; each round but the last is a pass over all rows. "density" is between the other two: it draws four times as many rows as
        needed, and keeps rows with probabilities that grow with the distance to their neighbours among the drawn rows.

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
    one_of("choice", choice, CHOICES)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "transform")):
        raise InvalidParameterError(
            f"Landmarks are for estimators that place new rows, with fit and transform; got {type(estimator).__name__}."
        )
    rows = open_source(source)
    count = integer("n_landmarks", n_landmarks, 2)
    if count > rows.shape[0]:
        raise InvalidInputError(f"n_landmarks={count} is more than the {rows.shape[0]} rows of the source.")
    model: Any = clone(estimator)
    run = Run.of(random_state=model.random_state, n_jobs=model.n_jobs)
    chosen = draw_landmarks(rows, count, choice, run)
    model.set_params(random_state=run.seed)
    fitted: EstimatorT = model.fit(rows.rows(chosen))
    fitted.source_rows_ = chosen  # type: ignore[attr-defined]
    return fitted


def draw_landmarks(source: Source, count: int, choice: str, run: Run) -> IntArray:
    """The row numbers of the landmarks, ascending."""
    n = source.shape[0]
    order = run.stream("landmarks").permutation(n)
    if choice == "uniform" or n <= count:
        return np.sort(order[:count])
    if choice == "kmeans++":
        return _spread_out(source, order, count, run)
    pool = np.sort(order[: _POOL * count])
    return pool[_far_from_others(source.rows(pool), count, run)]


def _spread_out(source: Source, order: IntArray, count: int, run: Run) -> IntArray:
    """Rows drawn in rounds by their squared distance to those drawn before (Bahmani et al. 2012)."""
    n = source.shape[0]
    new = np.sort(order[: max(1, count // _SHARES[0])])
    chosen, square = new, np.full(n, np.inf)
    for share in _SHARES[1:]:
        _bring_up_to_date(square, source, new, run)
        wanted = max(1, count // share) if share > 1 else count
        new = np.sort(_drawn(square, chosen, wanted - len(chosen), run, f"k-means++ 1/{share}"))
        chosen = np.concatenate([chosen, new])
    return np.sort(chosen)


def _bring_up_to_date(square: NDArray[np.float64], source: Source, new: IntArray, run: Run) -> None:
    """Update the squared distances of all rows to the nearest drawn row, after `new` rows were drawn."""
    points = source.rows(new)
    for k in range(source.n_shards):
        part = square[source.starts[k] : source.starts[k + 1]]
        distance = nearest_rows(source.shard(k), points, 1, run)[1][:, 0].astype(np.float64)
        np.minimum(part, distance * distance, out=part)


def _drawn(weight: NDArray[np.float64], taken: IntArray, count: int, run: Run, purpose: str) -> IntArray:
    """`count` rows that are not taken, drawn by weight without replacement; rows without weight only if there are no others left."""
    keys = _keys(weight, run, purpose)
    keys[taken] = np.nan  # which is last
    return np.argsort(keys, kind="stable")[:count]


def _keys(weight: NDArray[np.float64], run: Run, purpose: str) -> NDArray[np.float64]:
    """Keys −log(u)/w, the smallest of which are a weighted sample without replacement (Efraimidis and Spirakis 2006)."""
    uniform = np.maximum(run.stream(purpose).uniform(len(weight)), 2.0**-53)
    with np.errstate(divide="ignore"):
        return np.asarray(-log(uniform) / weight)


def _far_from_others(table: Table, count: int, run: Run) -> IntArray:
    """Rows of the table drawn without replacement, with chances in proportion to the distance to the fifth neighbour."""
    _, distance = nearest_rows(table, table, 6, run)
    weight = distance[:, -1].astype(np.float64)
    weight = np.where(weight > 0, weight, weight[weight > 0].min(initial=1.0))
    return np.sort(np.argsort(_keys(weight, run, "spread landmarks"), kind="stable")[:count])
