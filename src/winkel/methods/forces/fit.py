"""Maps by forces: from data to an Embedding (`fit`), and from new rows to their places on it (`place`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...checks import choice, positions, refuse
from ...data import Table
from ...embedding import Embedding
from ...errors import InvalidInputError
from ...graph import Graph, neighbor_graph
from ...graph.index import RowIndex
from ...graph.knn import count_items, search_memory, usable_neighbors
from ...graph.laplacian import block_width
from ...graph.metrics import metric_name
from ...problem.distortions.base import registered
from ...problem.grid import SLICE_BYTES
from ...run import Run
from ...solvers import digest, iterate
from ...typing import FloatArray, Metric
from ..labels import memberships_by_class
from ..starts import SAMPLE, principal_start, rough_principal_start, spectral_start
from .data_kernels import NewRows, Source, neighbor_lists, similarity_matrix
from .held import Fields
from .objectives.base import Objective, Sums
from .schedule import Schedule, scaled_start

INITS = ("auto", "pca", "spectral", "random")
_BLOCK = 1024  # new rows placed at a time, which bounds the memory
_SAMPLE = 4000  # rows by whose lists a forecast is made
_FEW, _FEW_ENTRIES = 1000, 2**20  # rows, and their entries, that say how many list each other


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a fit, checked."""

    n_components: int
    objective: Objective
    plan: Schedule
    pairs: str
    metric: Metric
    init: Any  # a name, or an array
    labels: NDArray[Any] | None = None  # of the rows, by which memberships lean,
    label_weight: float = 0.0  # and how far


def fit(data: Any, settings: Settings, run: Run) -> Embedding:
    """The Embedding of a Table of rows or similarities, or of a graph, distances or items, according to `settings`.

    The settings of the result contain the objective as it was used, and everything that `place` needs.
    """
    source, objective = prepare(data, settings.objective, settings.metric, run)
    sums = Sums(settings.pairs, settings.n_components, source.dtype)
    weights = objective.weights(source, run)
    if settings.labels is not None:
        weights = memberships_by_class(weights, settings.labels, settings.label_weight)
    problem = objective.problem(weights, sums, run)
    del weights  # the problem has what it needs of them
    how = getattr(problem, "how", "exact")
    plan = settings.plan.for_pairs(how)
    start = _start(source, objective, settings, plan, run)
    solver = objective.solver(plan, problem)
    labelled = None if settings.labels is None else {"labels": digest(settings.labels)}
    found = iterate(solver, problem, start, run, max_iter=plan.max_iter, fingerprint=labelled)
    Y = found.state.Y.astype(start.dtype, copy=False)
    return Embedding(
        Y=Y,
        objective=found.state.objective,
        residual=found.state.residual,
        history=found.history,
        status=found.status,
        seed=run.seed,
        settings={
            "method": "AttractRepel",
            "objective": objective.name,
            **asdict(objective),  # type: ignore[call-overload]
            **({} if source.table is None else objective.constants(problem, Y)),
            "pairs": how,
            "solver": solver.name,
            "max_iter": plan.max_iter,
            "learning_rate": plan.learning_rate,
            "exaggeration": plan.exaggeration,
        },
        graph=source.graph,
        frames=found.frames,
    )


def forecast(data: Any, settings: Settings, n_jobs: int) -> float:
    """The largest number of bytes that `fit` takes in addition to the data: a search, then weights with what the start needs, or with the solver's steps."""
    n, objective = count_items(data), settings.objective
    columns = data.shape[1] if isinstance(data, Table) else 0
    sparse = isinstance(data, Table) and sp.issparse(data.values)
    itemsize = data.dtype.itemsize if isinstance(data, Table) and not sparse else 8
    k = objective.neighbors(n)
    together = _listed_together(data, min(k, n - 1), settings.metric) if k and objective.joins_lists else 0.0
    weights = objective.memory(n, columns, 4 if sparse and k is None else itemsize, together)
    # That there will be a graph decides the start; which one does not.
    graph = None if k is None else Graph.from_edges([[0, 1]])
    source = Source(n, np.float64, data if isinstance(data, Table) else None, graph=graph)
    how = settings.init if isinstance(settings.init, str) else "random"
    how = objective.usual_start(source) if how == "auto" else how
    steps = 200.0 * n * settings.n_components  # what the solver remembers
    held = weights + steps
    if how == "pca":  # centred rows, of sparse ones their dense form beside
        start = (3 if sparse else 1.25) * itemsize * n * columns + 16.0 * min(n, columns) ** 2
        held = max(held, 0.75 * weights + start + steps)
    search = 0.0
    if k is not None:
        k = min(k, n - 1)
        if objective.grid_nodes or how == "spectral":
            # What the weights were made of is given back, and some of it is too small for what comes after.
            held = max(held, 0.2 * weights + _after_weights(data, k, settings, how, steps, itemsize))
        search = search_memory(data, k, settings.metric, n_jobs)
    return 6e6 + max(search, held)


def _after_weights(data: Any, k: int, settings: Settings, start: str, steps: float, itemsize: int) -> float:
    """Bytes of lists, of pairs with their weights, and of the larger of two further parts: a spectral start, or steps with sums on a grid.

    The start holds the edges of the graph, its matrix in two forms (as stored and as used in products), and blocks of vectors. The grid is the
    largest that is used.
    """
    n, d = count_items(data), settings.n_components
    pairs = 2.0 * data.n_edges if isinstance(data, Graph) else n * _pairs_a_row(data, k, settings.metric)
    spectral = 40.0 * pairs + 11.0 * n * k + 80.0 * n * block_width(d) if start == "spectral" else 0.0
    # Of a node its charge, its spectrum and parts of the transforms of the kernel; and slices that are transformed at a time.
    node = 30.0 if itemsize == 8 else 17.0
    grid = node * settings.objective.grid_nodes * n + 3.0 * SLICE_BYTES if d == 2 else 0.0
    return (4.0 + itemsize) * (n * k + pairs) + max(spectral, steps + grid)


def _sample(data: Table, count: int) -> Table:
    """Rows at even steps."""
    return data.rows((2 * np.arange(count) + 1) * data.shape[0] // (2 * count))


def _pairs_a_row(data: Any, k: int, metric: Metric) -> float:
    """Number of other rows that a row lists or is listed by. It is below 2k if rows list each other; a sample shows by how much."""
    if not isinstance(data, Table) or metric == "precomputed":
        return 2.0 * k
    some = _sample(data, min(data.shape[0], _FEW, max(4 * k, _FEW_ENTRIES // max(1, data.shape[1]))))
    k_some = min(k, some.shape[0] - 1)
    graph = neighbor_graph(some, k_some, Run.of(random_state=0, n_jobs=1), metric=metric)
    return 2.0 * graph.n_edges / graph.n * k / k_some


def _listed_together(data: Any, k: int, metric: Metric) -> float:
    """Number of other rows with which a row shares a list of k neighbours.

    It is small on a surface, where neighbours of a row are neighbours of each other, and large in many dimensions. It grows
    with the number of rows; two samples show how fast.
    """
    if not isinstance(data, Table) or metric == "precomputed":
        return 0.8 * k * k  # about what rows of many dimensions have
    n, run = data.shape[0], Run.of(random_state=0, n_jobs=1)

    def found(count: int) -> float:
        some = _sample(data, count)
        lists, _ = neighbor_lists(neighbor_graph(some, min(k, count - 1), run, metric=metric))
        ends = np.arange(0, lists.size + 1, lists.shape[1])
        listed = sp.csr_array((np.ones(lists.size, np.int32), lists.ravel(), ends), shape=(count, count))
        return float((listed.T @ listed).nnz) / count

    if n <= _SAMPLE:
        return found(n)
    half, whole = found(_SAMPLE // 2), found(_SAMPLE)
    return 1.06 * (whole + max(whole - half, 0.0) * math.log2(n / _SAMPLE))


def prepare(data: Any, objective: Objective, metric: Metric, run: Run) -> tuple[Source, Objective]:
    """The data with the neighbour graph that the objective needs, and the objective with parameters that this data allows."""
    own_way = callable(metric) or metric == "precomputed" or metric_name(metric) != "euclidean"
    if own_way and not objective.uses_metric:
        kernel = objective.kernel_x
        refuse("metric", f'"euclidean" with kernel_x={kernel!r}, which compares rows in its own way', metric)
    source = _source(data, objective)
    objective = objective.resolved(source)
    k = objective.neighbors(source.n)
    if k is None:
        return source, objective
    if isinstance(data, Graph):
        return replace(source, graph=data), objective
    graph = neighbor_graph(data, usable_neighbors(k, source.n), run, metric=metric)
    return replace(source, graph=graph), objective


@dataclass(frozen=True, eq=False)
class Model:
    """A map and its rows, prepared for placing new rows: an index of the rows and fields of their places."""

    result: Embedding
    objective: Objective
    index: RowIndex
    fields: Fields

    @classmethod
    def of(cls, result: Embedding, fitted: Table, metric: str, run: Run) -> Model:
        """The model of a map of `fitted`."""
        objective = objective_of(result.settings)
        k = objective.listed(fitted.shape[0], result.graph)
        graph = result.graph
        # A map that rows were taken from has lists of all that there were.
        lists = None if graph is None or graph.n != len(result.Y) else graph.knn_indices
        fields = Fields(result.Y, lists, run.n_jobs)
        return cls(result, objective, RowIndex.of(fitted, metric, k, run), fields)


def place(model: Model, new: Table, run: Run) -> FloatArray:
    """Places of new rows among fitted rows, which stay where they are; each row on its own.

    A row that equals a fitted row gets that row's place (among equal fitted rows, that of the first).
    """
    result, objective, fitted = model.result, model.objective, model.index.rows
    Y, k = result.Y, objective.listed(fitted.shape[0], result.graph)
    constants = dict(result.settings)
    placed = np.empty((new.shape[0], Y.shape[1]), Y.dtype)
    for first in range(0, new.shape[0], _BLOCK):
        block = new.rows(slice(first, first + _BLOCK))
        index, distance = model.index.nearest(block, k, run)
        placed[first : first + _BLOCK] = Y[index[:, 0]]
        other = np.flatnonzero(distance[:, 0] > 0)
        if len(other):
            listed = index[other], distance[other]
            rows = NewRows(block.values[other], fitted.values, *listed, result.graph, model.fields)
            placed[first + other] = objective.place(rows, Y, constants, run)
    return placed


def objective_of(settings: Mapping[str, Any]) -> Objective:
    """The objective that the settings of a map record."""
    cls = registered("objectives")[settings["objective"]]
    made: Objective = cls(**{item.name: settings[item.name] for item in fields(cls)})
    return made


def _source(data: Any, objective: Objective) -> Source:
    """The Source of the objective, still without a graph."""
    if objective.kernel_x == "precomputed" and not isinstance(data, Graph):
        K = similarity_matrix(data.values if isinstance(data, Table) else data)
        return Source(len(K), np.float64, similarities=K)
    if isinstance(data, Graph):
        source = Source(data.n, np.float64)
    else:
        precision = np.float32 if getattr(data, "dtype", None) == np.float32 else np.float64
        source = Source(count_items(data), precision, data if isinstance(data, Table) else None)
    if source.table is None and not objective.uses_metric:
        raise InvalidInputError(
            f"kernel_x={objective.kernel_x!r} needs rows; for a graph, distances or a function use "
            '"perplexity" or "fuzzy".'
        )
    return source


def _lists_alone(graph: Graph) -> Graph:
    """A neighbour graph with the same lists; edges and matrices of the old graph can then be freed, because forces only need the lists."""
    index, distances = graph.knn_indices, graph.knn_distances
    return graph if index is None else Graph.from_knn(index, distances, graph.origin, copy=False)


def _start(source: Source, objective: Objective, settings: Settings, plan: Schedule, run: Run) -> FloatArray:
    """The starting positions, in the precision of the data."""
    shape = (source.n, settings.n_components)
    if not isinstance(settings.init, str):
        return positions("init", settings.init, shape, dtype=source.dtype)
    how = choice("init", settings.init, INITS, also="an array")
    if how == "auto":
        how = objective.usual_start(source)
    if how == "random":
        Y: FloatArray = run.stream("init").normal(shape)
    elif how == "spectral":
        if source.graph is None:
            refuse("init", '"pca", "random" or an array where there is no neighbour graph', how)
        Y = spectral_start(_lists_alone(source.graph), settings.n_components, run)
    else:
        if source.table is None:
            refuse("init", '"spectral", "random" or an array where there are no rows', how)
        rows = source.table.values
        if source.n > SAMPLE:
            Y = rough_principal_start(rows, settings.n_components, run)
        else:
            Y = principal_start(rows.toarray() if sp.issparse(rows) else rows, settings.n_components)
    return scaled_start(Y, plan.start_spread + plan.row_spread * source.n**0.5, run).astype(source.dtype)
