"""`knn`, the neighbour graph that every method starts from, and `knn_query`, the neighbours of new rows.

`neighbor_graph` and `nearest_rows` do the same for internal use: methods call them with a Table and their own `Run`.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import choice, integer, number
from ..data import as_matrix
from ..data.arrays import Matrix
from ..errors import DataWarning, InvalidParameterError
from ..run import Run, format_memory
from ..typing import FloatArray, Metric, RandomState
from . import search
from .formulas import Formula, blockwise_neighbors
from .graph import Graph, graph_of_lists
from .metrics import Preparation, check_metric_input, formula_of, is_metric, metric_name, plan_preparation
from .origin import Origin, Recall
from .precomputed import (
    neighbors_by_function,
    neighbors_from_distances,
    neighbors_from_lists,
)
from .search import Indices, Points, check_neighbor_count

# Rows, and rows for each neighbour: below, an exact search takes at most twice the time of an approximate one, or less.
_EXACT_UP_TO, _EXACT_A_NEIGHBOR = 30_000, 700
_POOR_RECALL = 0.9
# A map does not show whether the last hundredth of far neighbours was found; of the nearer half more are found than of all.
RECALL_OF_MAPS = 0.98


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
    """The graph that joins every row to its `n_neighbors` nearest rows, not counting itself.

    Rows of zeros under cosine, constant rows under correlation, and empty sets under jaccard have distance 0 to each other and 1 to every
    other row. Equal rows are neighbours of each other at distance 0.

    Parameters
    ----------
    X : array, sparse matrix, data frame, AnnData or Table of shape (n, m)
        The rows. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array. With
        metric="precomputed": an n × n matrix of distances (dense, or sparse with the known ones stored), or a pair (indices,
        distances) of n × k arrays. With a function as metric: any sequence of n items.
    n_neighbors : int, default=15
        Number of neighbours of each row.
    metric : str or callable, default="euclidean"
        "euclidean", "cosine", "manhattan", "chebyshev", "correlation", "hamming", "jaccard", another metric of the table in
        docs/data.md, "precomputed", or a symmetric function of two rows. Sparse data works with euclidean, cosine, manhattan,
        hellinger, jaccard and the other metrics of sets.
    method : {"auto", "exact", "approximate"}, default="auto"
        "auto" is exact up to 30 000 rows, or up to 700 rows for each neighbour if that is more, and approximate beyond. Sparse data is always
        searched exactly.
    recall : float, default=0.99
        The approximate search stops when it has found this share of the true neighbours, measured on sampled rows.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.
    random_state : int, numpy Generator or None, default=None
        The seed of the approximate search. The same seed gives the same bytes for any `n_jobs`.
    max_memory : int, str or None, default=None
        Memory that the search may use in addition to X, in bytes or as text such as "4GB"; method="auto" then takes the method that needs less.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    Graph
        Its lists are `knn_indices` and `knn_distances` (true distances, nearest first; ties in cyclic order of index). `origin`
        contains the seed, the time and, for an approximate search, the measured recall with its interval.

    Examples
    --------
    >>> import winkel as wk
    >>> graph = wk.graph.knn([[0.0], [1.0], [3.0], [7.0]], 2)
    >>> graph.knn_indices
    array([[1, 2],
           [0, 2],
           [1, 0],
           [2, 1]], dtype=int32)
    >>> graph.origin.method
    'exact'
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
    recall: float = RECALL_OF_MAPS,
) -> Graph:
    """`knn` with a `Run`, for methods. X is a Table, or the input for metric="precomputed" or a function."""
    start = time.perf_counter()
    n_neighbors = integer("n_neighbors", n_neighbors, 1)
    choice("method", method, ("auto", "exact", "approximate"))
    number("recall", recall, 0.0, 1.0, low_open=True)
    if callable(metric):
        index, distance = neighbors_by_function(X, n_neighbors, metric, run)
        origin = Origin("exact", getattr(metric, "__name__", "function"))
    elif metric == "precomputed" and isinstance(X, tuple):
        index, distance = neighbors_from_lists(X, n_neighbors)
        origin = Origin("lists", metric)
    elif metric == "precomputed":
        index, distance = neighbors_from_distances(X, n_neighbors, run)
        origin = Origin("exact", metric)
    else:
        index, distance, origin = _search(as_matrix(X), n_neighbors, metric_name(metric), method, recall, run)
    origin = replace(origin, n_neighbors=index.shape[1], seconds=time.perf_counter() - start)
    if is_metric(metric):
        return graph_of_lists(index, distance, origin)
    return Graph.from_knn(index, distance, origin, copy=False)


def _search(
    X: Matrix, k: int, metric: str, method: str, recall: float, run: Run
) -> tuple[Indices, FloatArray, Origin]:
    """Neighbour lists of the rows of a validated matrix, and how they were found."""
    check_metric_input(X, metric)
    check_neighbor_count(k, X.shape[0])
    formula = formula_of(metric, sparse=sp.issparse(X))
    if formula is not None:
        return _search_by_formula(X, k, metric, method, recall, run, formula)
    if sp.issparse(X):
        if method == "approximate":
            raise InvalidParameterError(
                'sparse data is searched exactly; method="approximate" is for dense data. Use method="auto", or reduce '
                "the columns first, for example by sklearn.decomposition.TruncatedSVD."
            )
        return *search.exact_sparse(X, k, metric, run), Origin("exact", metric)
    plan = plan_preparation(X, metric)
    method = _choose(X, k, plan, method, run)
    points = Points.of(X, plan, run.n_jobs)
    if method == "exact":
        return *search.exact(points, k, run), Origin("exact", metric)
    index, distance, reached = search.approximate(points, k, recall, run)
    _warn_if_poor(reached, recall)
    return index, distance, Origin("approximate", metric, seed=run.seed, recall=reached)


def _search_by_formula(
    X: Matrix, k: int, metric: str, method: str, recall: float, run: Run, formula: Formula
) -> tuple[Indices, FloatArray, Origin]:
    """Neighbours by a metric of `FORMULAS`: by Euclidean search of transformed rows, or from all distances."""
    if formula.finish is not None:
        index, distance, origin = _search(formula.prepare(X)(X), k, "euclidean", method, recall, run)
        return index, formula.finish(distance), replace(origin, metric=metric)
    if method == "approximate":
        raise InvalidParameterError(
            f'neighbours by metric {metric!r} are searched exactly; use method="auto" or "exact".'
        )
    rows = np.arange(X.shape[0])
    return *blockwise_neighbors(X, X, rows, k, formula, run), Origin("exact", metric)


def knn_query(
    Q: Any,
    X: Any,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    n_jobs: int | None = None,
) -> tuple[Indices, FloatArray]:
    """The exact neighbours of the rows of `Q` among the rows of `X`.

    Each row's result depends on that row alone, so rows give the same result one by one as in a batch. If X is sparse, it stays
    sparse and Q is made sparse too; if X is dense, Q is made dense.

    Parameters
    ----------
    Q : array, sparse matrix, data frame, AnnData or Table of shape (q, m)
        The rows whose neighbours are searched.
    X : array, sparse matrix, data frame, AnnData or Table of shape (n, m)
        The rows among which neighbours are searched. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
    n_neighbors : int
        Number of neighbours of each row of Q, at most n.
    metric : str, default="euclidean"
        The name of a metric, as in `knn`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.

    Returns
    -------
    indices : ndarray of shape (q, n_neighbors)
        Rows of X, nearest first; among rows at equal distance, those with the smaller number come first.
    distances : ndarray of shape (q, n_neighbors)
        Their true distances.

    Examples
    --------
    >>> import winkel as wk
    >>> indices, distances = wk.graph.knn_query([[2.5]], [[0.0], [1.0], [3.0]], 2)
    >>> indices, distances
    (array([[2, 1]], dtype=int32), array([[0.5, 1.5]]))
    """
    return nearest_rows(Q, X, n_neighbors, Run.of(random_state=0, n_jobs=n_jobs), metric=metric)


def nearest_rows(
    Q: Any, X: Any, n_neighbors: int, run: Run, *, metric: str = "euclidean"
) -> tuple[Indices, FloatArray]:
    """`knn_query` with a `Run`, for methods. Q and X are Tables."""
    name = metric_name(metric)
    values = as_matrix(X)
    check_metric_input(values, name)
    queries = as_matrix(Q, name="Q", min_rows=1)
    if queries.shape[1] != values.shape[1]:
        raise InvalidParameterError(
            f"new rows must have the {values.shape[1]} columns of the fitted data; got {queries.shape[1]}."
        )
    n_neighbors = integer("n_neighbors", n_neighbors, 1, values.shape[0])
    common = np.result_type(values.dtype, queries.dtype)
    values, queries = values.astype(common, copy=False), queries.astype(common, copy=False)
    if sp.issparse(values):
        queries = sp.csr_matrix(queries)
    elif sp.issparse(queries):
        queries = queries.toarray()
    formula = formula_of(name, sparse=sp.issparse(values))
    if formula is not None and formula.finish is None:
        origins = np.full(queries.shape[0], -1)
        return blockwise_neighbors(queries, values, origins, n_neighbors, formula, run.quiet())
    if formula is not None:
        prepare = formula.prepare(values)
        index, distance = _nearest(prepare(values), prepare(queries), n_neighbors, "euclidean", run)
        return index, np.asarray(formula.finish(distance))  # type: ignore[misc]
    return _nearest(values, queries, n_neighbors, name, run)


def _nearest(values: Matrix, queries: Matrix, k: int, name: str, run: Run) -> tuple[Indices, FloatArray]:
    """Neighbours of queries by a metric that the core has."""
    if sp.issparse(values):
        return search.query_sparse(values, queries, k, name, run)
    points = Points.of(values, plan_preparation(values, name), run.n_jobs)
    return search.query(points, queries, np.full(len(queries), -1), k)


def usable_neighbors(n_neighbors: int, n: int) -> int:
    """`n_neighbors`, or fewer if n rows are too few, with a warning.

    If there are too few rows, half of the other rows are used, because a map of rows that are all neighbours of each other
    would show nothing.
    """
    n_neighbors = integer("n_neighbors", n_neighbors, 1)
    if n_neighbors < n:
        return n_neighbors
    usable = max(1, (n - 1) // 2)
    warnings.warn(
        f"n_neighbors={n_neighbors}, but there are only {n} rows; n_neighbors={usable} is used.",
        DataWarning,
        stacklevel=4,
    )
    return usable


def count_items(data: Any) -> int:
    """The number of rows or items of anything from which a neighbour graph can be made, or of a graph."""
    if isinstance(data, Graph):
        return data.n
    first = data[0] if isinstance(data, tuple) else data
    return int(first.shape[0]) if hasattr(first, "shape") else len(first)


def search_memory(data: Any, k: int, metric: Metric, n_jobs: int) -> float:
    """Forecast of the bytes for finding k neighbours of every row of a Table; for other data, the bytes of lists and distances."""
    n = count_items(data)
    if isinstance(data, Graph):
        return 0.0
    if callable(metric) or metric == "precomputed":
        return 24.0 * n * k + (8.0 * n * n if callable(metric) else 0.0)
    X, name = as_matrix(data), metric_name(metric)
    formula = formula_of(name, sparse=sp.issparse(X))
    if formula is not None:
        return 24.0 * n * k + 16.0 * X.shape[1] * n
    if sp.issparse(X):
        return search.forecast_sparse(X, k, name, n_jobs)
    exactly = n <= max(_EXACT_UP_TO, _EXACT_A_NEIGHBOR * k)
    return search.forecast(X, k, copies=plan_preparation(X, name).copies(X), exactly=exactly, n_jobs=n_jobs)


def _choose(X: FloatArray, k: int, plan: Preparation, method: str, run: Run) -> str:
    """ "exact" or "approximate", and a MemoryLimitError when what was asked for does not fit."""
    n, copies, limit = len(X), plan.copies(X), run.max_memory
    need = {
        how: search.forecast(X, k, copies=copies, exactly=how == "exact", n_jobs=run.n_jobs)
        for how in ("exact", "approximate")
    }
    if method == "auto":
        small = n <= max(_EXACT_UP_TO, _EXACT_A_NEIGHBOR * k)
        leaner = limit is not None and need["approximate"] > limit
        method = "exact" if small or leaner else "approximate"
    advice = (
        f'method="exact" needs {format_memory(need["exact"])}.'
        if method == "approximate"
        else "Raise max_memory."
    )
    run.check_memory(need[method], f"The {method} neighbour search of {n} rows", advice)
    return method


def _warn_if_poor(recall: Recall, target: float) -> None:
    if recall.high < min(_POOR_RECALL, target):
        warnings.warn(
            f"the approximate search found an estimated {recall.value:.0%} of the true neighbours (data of high "
            'intrinsic dimension is hard to search). To find all of them, use method="exact".',
            DataWarning,
            stacklevel=5,
        )
