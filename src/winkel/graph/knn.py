"""`knn`, the neighbour graph that every method starts from."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import choice, integer, number
from ..data import as_matrix
from ..errors import DataWarning, InvalidParameterError
from ..resources import check_memory, format_memory
from ..run import Run
from ..typing import FloatArray, Metric, RandomState
from . import search
from .graph import Graph
from .metrics import Preparation, check_metric_input, metric_name, plan_preparation
from .origin import Origin, Recall
from .precomputed import from_distance_matrix, from_function, from_neighbors
from .search import Indices, Points, exact_sparse, query_sparse

# Rows, and rows for each neighbour: below, an exact search takes at most twice the time of an approximate one, or less.
_EXACT_UP_TO, _EXACT_A_NEIGHBOR = 30_000, 700
_POOR_RECALL = 0.9


def knn(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: Metric = "euclidean",
    method: str = "auto",
    recall: float = 0.99,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    max_memory: int | float | str | None = None,
    verbose: bool = False,
) -> Graph:
    """The graph that joins every row to its `n_neighbors` nearest rows, itself left out.

    Parameters
    ----------
    X : array, data frame, CSR matrix (euclidean and cosine), AnnData, or path's Table: n rows.
        With metric="precomputed": an n × n matrix of distances (dense, or sparse with the known ones stored), or a
        pair (indices, distances) of n × k arrays. With a function as metric: any sequence of n items.
    metric : "euclidean", "cosine", "manhattan", "chebyshev", "correlation", "hamming", "jaccard", "precomputed",
        or a symmetric function of two rows.
    method : "exact", "approximate" (dense data), or "auto": exact up to 30 000 rows, or 700 for each neighbour if
        that is more.
    recall : share of true neighbours at which the approximate search stops, measured on sampled rows.
    max_memory : bytes or text like "4GB" that the search may use beside X; "auto" then takes the leaner way.

    Returns
    -------
    Graph with `knn_indices` and `knn_distances` (true distances, nearest first; equal ones in cyclic order of index),
    and in `origin` the seed, the time and, for an approximate search, the measured recall with its interval.

    The same `random_state` gives the same bytes for any `n_jobs`. Rows of zeros under cosine, and constant rows under
    correlation, are at distance 0 from each other and 1 from every other row; so are empty sets under jaccard. Equal
    rows are each other's neighbours at distance 0; constant columns need no care.
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs, max_memory=max_memory, verbose=verbose)
    return neighbor_graph(X, n_neighbors, run, metric=metric, method=method, recall=recall)


def neighbor_graph(
    X: Any,
    n_neighbors: int,
    run: Run,
    *,
    metric: Metric = "euclidean",
    method: str = "auto",
    recall: float = 0.99,
) -> Graph:
    """`knn` within a run: what every method calls. X is a Table, or what metric="precomputed" or a function takes."""
    start = time.perf_counter()
    n_neighbors = integer("n_neighbors", n_neighbors, 1)
    choice("method", method, ("auto", "exact", "approximate"))
    number("recall", recall, 0.0, 1.0, low_open=True)
    limit, jobs, show = run.max_memory, run.n_jobs, run.progress
    if callable(metric):
        index, distance = from_function(X, n_neighbors, metric, limit, show)
        return _graph(index, distance, "exact", getattr(metric, "__name__", "function"), start)
    if metric == "precomputed":
        if isinstance(X, tuple):
            index, distance = from_neighbors(X, n_neighbors)
            return _graph(index, distance, "given", metric, start)
        index, distance = from_distance_matrix(X, n_neighbors, jobs)
        return _graph(index, distance, "exact", metric, start)
    name = metric_name(metric)
    values = as_matrix(X)
    check_metric_input(values, name)
    _check_k(n_neighbors, values.shape[0])
    if sp.issparse(values):
        if method == "approximate":
            raise InvalidParameterError(
                'sparse data is searched exactly; method="approximate" is for dense data. Use method="auto", or reduce '
                "the columns first, for example by sklearn.decomposition.TruncatedSVD."
            )
        index, distance = exact_sparse(values, n_neighbors, name, jobs, limit, show)
        return _graph(index, distance, "exact", name, start)
    plan = plan_preparation(values, name)
    how = _choose(values, n_neighbors, plan, method, jobs, limit)
    points = Points.of(values, plan, jobs)
    if how == "exact":
        index, distance = search.exact(points, n_neighbors, show)
        return _graph(index, distance, "exact", name, start)
    index, distance, reached = search.approximate(points, n_neighbors, run.seed, recall, show)
    _warn_if_poor(reached, recall)
    return _graph(index, distance, "approximate", name, start, run.seed, reached)


def knn_query(
    Q: Any, X: Any, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None
) -> tuple[Indices, FloatArray]:
    """Exact neighbours of the rows of `Q` among the rows of `X`: indices and distances, nearest first.

    Each row's result depends on that row alone, so a batch gives what its rows give one by one. When X is sparse it stays
    so and Q is made sparse too; when X is dense, Q is made dense.
    """
    return nearest_rows(Q, X, n_neighbors, Run.of(random_state=0, n_jobs=n_jobs), metric=metric)


def nearest_rows(
    Q: Any, X: Any, n_neighbors: int, run: Run, *, metric: str = "euclidean"
) -> tuple[Indices, FloatArray]:
    """`knn_query` within a run: Q and X are Tables."""
    n_neighbors = integer("n_neighbors", n_neighbors, 1)
    name = metric_name(metric)
    values = as_matrix(X)
    check_metric_input(values, name)
    queries = as_matrix(Q, name="Q", min_rows=1)
    if queries.shape[1] != values.shape[1]:
        raise InvalidParameterError(
            f"new rows must have the {values.shape[1]} columns of the fitted data; got {queries.shape[1]}."
        )
    n, jobs = values.shape[0], run.n_jobs
    if n_neighbors > n:
        raise InvalidParameterError(f"n_neighbors must lie in [1, {n}]; got {n_neighbors}.")
    common = np.result_type(values.dtype, queries.dtype)
    values, queries = values.astype(common, copy=False), queries.astype(common, copy=False)
    if sp.issparse(values):
        return query_sparse(values, sp.csr_matrix(queries), n_neighbors, name, jobs)
    if sp.issparse(queries):
        queries = queries.toarray()
    points = Points.of(values, plan_preparation(values, name), jobs)
    return search.query(points, queries, np.full(len(queries), -1), n_neighbors)


def _choose(X: FloatArray, k: int, plan: Preparation, method: str, n_jobs: int, limit: int | None) -> str:
    """ "exact" or "approximate", and a MemoryLimitError when what was asked for does not fit."""
    n, copies = len(X), plan.copies(X)
    need = {
        how: search.forecast(X, k, copies=copies, exactly=how == "exact", n_jobs=n_jobs)
        for how in ("exact", "approximate")
    }
    if method == "auto":
        method = (
            "exact"
            if n <= max(_EXACT_UP_TO, _EXACT_A_NEIGHBOR * k)
            or (limit is not None and need["approximate"] > limit)
            else "approximate"
        )
    advice = (
        f'method="exact" needs {format_memory(need["exact"])}.'
        if method == "approximate"
        else "Raise max_memory."
    )
    check_memory(need[method], limit, f"The {method} neighbour search of {n} rows", advice)
    return method


def _graph(
    index: Indices,
    distance: FloatArray,
    method: str,
    metric: str,
    start: float,
    seed: int | None = None,
    recall: Recall | None = None,
) -> Graph:
    seconds = time.perf_counter() - start
    origin = Origin(method, metric, index.shape[1], seed, recall, seconds)
    return Graph.from_knn(index, distance, origin, copy=False)


def _check_k(k: int, n: int) -> None:
    if k >= n:
        raise InvalidParameterError(
            f"n_neighbors={k} needs at least {k + 1} rows; got {n}. Use n_neighbors of at most {n - 1}."
        )


def _warn_if_poor(recall: Recall, target: float) -> None:
    if recall.high < min(_POOR_RECALL, target):
        warnings.warn(
            f"the approximate search found an estimated {recall.value:.0%} of the true neighbours (data of high "
            'intrinsic dimension is hard to search). For all of them use method="exact".',
            DataWarning,
            stacklevel=3,
        )
