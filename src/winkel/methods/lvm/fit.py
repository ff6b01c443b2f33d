"""From data or a neighbour graph to a map with variances."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...data import Table, as_table
from ...embedding import Embedding
from ...errors import DataWarning, InvalidInputError
from ...graph import Graph, neighbor_graph, spectral_coordinates
from ...graph.knn import count_items, search_memory
from ...graph.laplacian import Laplacian, block_width
from ...graph.precomputed import distances_by_function
from ...run import Run
from ...solvers import iterate
from ...solvers.em import EM
from ...typing import FloatArray, Metric
from ..starts import check_multigrid
from .coarsening import coarsen, enough_levels
from .landmarks import ByMatrix, ByPaths, ByRows, Nearest
from .model import Model
from .neighborhood import Vector, find_neighborhood
from .place import Surroundings

STARTS = ("spectral", "random")
COMPONENTS = ("place", "error")
START = 0.05  # spread of the first means, in typical arcs: all within reach of one another, none in one place


@dataclass(frozen=True, eq=False)
class Settings:
    """What was asked for; `levels` None takes as many as the number of items needs."""

    n_components: int
    n_neighbors: int
    metric: Metric
    n_steps: int
    levels: int | None
    tied_variance: bool
    momentum: float
    m_step_tol: float
    max_iter: int
    init: str | FloatArray
    components: str


@dataclass(frozen=True, eq=False)
class Fit:
    """The map, with variances and components as its blocks, and the surroundings of new rows."""

    embedding: Embedding
    surroundings: Surroundings


def fit(data: Any, settings: Settings, run: Run) -> Fit:
    """The latent variable model of a Table of rows, a Graph, distances, or items that a metric can compare.

    The map is in the unit of the data, and in single precision if rows or the distances of neighbours are.
    """
    kind = _precision(data, settings.metric)
    data, metric = _comparable(data, settings.metric, run)
    graph = (
        data if isinstance(data, Graph) else neighbor_graph(data, settings.n_neighbors, run, metric=metric)
    )
    component = _components(graph, settings.components)
    neighborhood = find_neighborhood(graph, settings.n_steps, run)
    levels = enough_levels(graph.n) if settings.levels is None else settings.levels
    coarse = coarsen(neighborhood, levels, _nearest(data, metric, graph, run), run)
    model = Model(neighborhood, coarse, run, single=kind == np.float32)
    solver = EM(settings.momentum, settings.tied_variance, settings.m_step_tol)
    start = _start(settings, model, neighborhood.unit, run)
    found = iterate(solver, model, start, run, max_iter=settings.max_iter)
    embedding = Embedding(
        Y=(found.state.Y * neighborhood.unit).astype(kind),
        objective=found.state.objective,
        residual=found.state.residual,
        history=found.history,
        status=found.status,
        seed=run.seed,
        settings={
            "method": "lvm",
            "levels": levels,
            "n_similar": model.n_similar,
            "n_dissimilar": model.n_dissimilar,
        },
        blocks={"variance": found.state.variance * neighborhood.unit**2, "component": component},
        graph=graph,
        frames=found.frames,
    )
    return Fit(embedding, Surroundings.of(model, neighborhood.unit))


def _comparable(data: Any, metric: Metric, run: Run) -> tuple[Any, Metric]:
    """The data with distances by a function, or given ones, as one validated matrix."""
    if isinstance(data, Graph):
        return data, metric
    if callable(metric):
        # All distances once: landmarks need more of them than the neighbour lists hold.
        distances = distances_by_function(data, metric, run.quiet())
        return as_table(distances, name="the matrix of distances"), "precomputed"
    if metric == "precomputed" and not isinstance(data, tuple) and not issparse(data):
        return as_table(data, name="the matrix of distances", allow_sparse=False), metric
    return data, metric


def _components(graph: Graph, allowed: str) -> NDArray[np.int32]:
    """The component of each item; several are told, or refused."""
    count, labels = graph.components()
    if count == 1:
        return labels
    outside = int((labels > 0).sum())
    what = f"The neighbour graph has {count} components; {outside} of {graph.n} items are outside the largest"
    if allowed == "error":
        raise InvalidInputError(f'{what}. Increase n_neighbors, drop these items, or set components="place".')
    warnings.warn(
        f"{what}. They are placed too, but distances between the components mean little "
        "(component_ says which is which). A larger n_neighbors may join them.",
        DataWarning,
        stacklevel=4,
    )
    return labels


def _nearest(data: Any, metric: Metric, graph: Graph, run: Run) -> Nearest:
    """How landmarks are found: by paths where only some distances are known."""
    if isinstance(data, Table):
        if metric == "precomputed":
            return ByMatrix(data.values)
        return ByRows(data, str(metric), run)
    return ByPaths(graph)


def _precision(data: Any, metric: Metric) -> type[np.floating[Any]]:
    """That of rows or distances, or of the distances of neighbour lists; double for distances by a function."""
    if callable(metric) and not isinstance(data, Graph):
        return np.float64
    source = data.knn_distances if isinstance(data, Graph) else data
    return np.float32 if getattr(source, "dtype", None) == np.float32 else np.float64


def _start(settings: Settings, model: Model, unit: float, run: Run) -> Vector:
    """Means to begin with, in the model's unit."""
    n, m = model.n, settings.n_components
    if not isinstance(settings.init, str):
        if settings.init.shape != (n, m):
            raise InvalidInputError(f"init must have shape ({n}, {m}); got {settings.init.shape}.")
        return np.asarray(settings.init / unit)
    if settings.init == "random":
        return START * run.stream("lvm start").normal((n, m))
    graph = Graph.from_edges(model.similar.pairs, model.similar.weights, n=n)

    def ask(problem: Laplacian) -> None:
        """Multigrid takes more than was forecast where rows have many neighbours."""
        advice = 'Give init="random" or fewer neighbours, or raise max_memory.'
        check_multigrid(problem, m, run, advice, bytes_a_tie=180.0)

    Y = spectral_coordinates(graph, m, run, normalized=False, before_multigrid=ask)
    return START * np.sqrt(n) * Y


def forecast(
    data: Any, n_neighbors: int, n_components: int, n_steps: int, metric: Metric, n_jobs: int
) -> float:
    """The largest number of bytes that a fit takes in addition to the data; pairs of blocks take none, so items and similar pairs decide.

    The start holds blocks of vectors, whose width grows by steps. Bytes of an arc, of an item and of a vector were measured
    (tests/fire/memory.py). Whether it needs multigrid shows only there; what that takes is asked for then.
    """
    n = count_items(data)
    arcs = 2 * data.n_edges if isinstance(data, Graph) else n * min(n_neighbors, n - 1) ** n_steps
    held = 91.0 * arcs + n * (1235.0 + 160.0 * block_width(n_components))
    return 6e6 + max(search_memory(data, min(n_neighbors, n - 1), metric, n_jobs), held)
