"""Minimum-distortion embedding (Agrawal, Ali and Boyd 2021): `fit` a map, `place` new rows on it, or `extend` it by new rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse, vstack

from ...checks import array
from ...data import Table
from ...data.table import has_equal_rows
from ...embedding import Embedding, History, Status
from ...errors import DataWarning
from ...graph import Graph
from ...graph.graph import require_neighbor_lists
from ...graph.knn import count_items, nearest_rows
from ...problem import Anchored, Centered, Problem, Standardized, solve
from ...run import Run
from ...typing import FloatArray, IntArray
from ..starts import neighbor_width
from .distinct import Items, find_items
from .leanings import Leanings
from .lengths import flat_loss
from .neighbors import check_weights, list_length, repulsion_of_a_row
from .placement import Affinities, Surroundings, landmarks, place_by_distances, place_by_neighbors
from .plan import (
    FLAT,
    FOCUS_SETTINGS,
    ITERATIONS,
    Focus,
    Plan,
    Settings,
    Source,
    focus_of,
    make_plan,
    make_problem,
)
from .spectrum import plan_after

_BLOCK = 4096  # new rows placed at a time, which bounds the memory
_LISTED = 2  # times as many fitted rows as neighbours attract a new one at most


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted map, with everything needed to place new rows on it.

    `rows` are the rows that were embedded, each once; None if the map was not made from rows. `item_of` is, for each row of the map, its
    number in `rows`, or −1 for rows that were placed afterwards; None if all rows were embedded, in order.
    `repulsion` is the mean repulsive weight of a row.
    """

    settings: Settings
    result: Embedding
    rows: Table | None
    item_of: IntArray | None = None
    repulsion: float = 0.0
    problem: Problem | None = None
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def surroundings(self, run: Run) -> Surroundings:
        """The surroundings of new rows, computed when first needed and then kept."""
        if "surroundings" not in self._kept:
            assert self.rows is not None
            settings = self.settings
            forces = settings.forces if settings.preserve == "neighbors" and self.repulsion > 0 else None
            found = Surroundings.of(self.rows, self.places, str(settings.metric), self.n_listed, forces, run)
            graph, items = self.result.graph, self.items
            if forces is not None and forces.short_ranged and graph is not None:
                index, distance = require_neighbor_lists(graph, "transform")
                width = neighbor_width(self.result.Y, index, items)
                found = replace(found, reach=distance[items, -1], width=width)
            self._kept["surroundings"] = found
        return self._kept["surroundings"]

    @property
    def flat(self) -> bool:
        """Whether the map keeps lengths of paths along the data."""
        return self.result.settings.get("focus") == FLAT

    @property
    def affinities(self) -> Affinities | None:
        """How fitted rows attract new rows, if that depends on their distances; None if all attract equally."""
        graph, k = self.result.graph, self.n_neighbors
        if self.flat or not self.settings.forces.cauchy or graph is None or graph.knn_distances is None:
            return None
        n = len(self.places)
        listed = min(n, max(k, min(list_length(n, k), _LISTED * k)))
        return Affinities(k, listed, float(k))

    @property
    def n_neighbors(self) -> int:
        """Number of fitted rows with which a new row is compared: as many as a fitted row has neighbours."""
        graph = self.result.graph
        lists = None if graph is None or self.settings.preserve == "distances" else graph.knn_indices
        return 1 if lists is None else int(lists.shape[1])

    @property
    def n_listed(self) -> int:
        """Number of fitted rows that attract a new row."""
        affinities = self.affinities
        return self.n_neighbors if affinities is None else affinities.listed

    @property
    def items(self) -> IntArray:
        """The rows of the map that represent `rows`; of equal rows, the first."""
        if self.item_of is None:
            return np.arange(len(self.result.Y))
        numbers, first = np.unique(self.item_of, return_index=True)
        return first[numbers >= 0]

    @property
    def distance_scale(self) -> float:
        """The factor by which distances of the data are multiplied before they are preserved."""
        return float(self.result.settings.get("distance_scale", 1.0))

    @property
    def places(self) -> FloatArray:
        """Places of `rows` on the map."""
        return self.result.Y if self.item_of is None else self.result.Y[self.items]


def fit(
    data: Any,
    settings: Settings,
    run: Run,
    sample_weight: ArrayLike | None = None,
    leanings: Leanings | None = None,
) -> Model:
    """The map of rows (a Table), or of a Graph, distances or items.

    Equal rows are one item and share a place; rows of weight zero are placed after the fit, like new rows.
    """
    return next(fit_along(data, settings, (settings.focus,), run, sample_weight, leanings))


def fit_along(
    data: Any,
    settings: Settings,
    places: Iterable[str | float],
    run: Run,
    sample_weight: ArrayLike | None = None,
    leanings: Leanings | None = None,
) -> Iterator[Model]:
    """Maps of the same data for several values of `focus`, between shape and neighbours, with one search for neighbours.

    Each map but the first starts from the map before it.
    """
    n = count_items(data)
    if not isinstance(settings.init, str):
        settings = replace(settings, init=_positions(settings.init, (n, settings.n_components)))
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, n, zero=_merges(data, settings))
    items = _items(data, weights, settings)
    rows, watched = data, run
    if items is not None:
        if not isinstance(settings.init, str):
            settings = replace(settings, init=settings.init[items.rows])
        rows, weights, watched = data.rows(items.rows), items.weights, items.watched(run)
        leanings = None if leanings is None or len(items.rows) == 1 else leanings.of_items(items)
    one = items is not None and len(items.rows) == 1
    source = None if one else Source.of(rows, settings, watched, weights)
    model, places = None, tuple(places)
    for number, place in enumerate(places, 1):
        asked = replace(settings, focus=place)
        if source is None:
            model = _one_place(rows, asked, run)
        else:
            planned = _planned(source, asked, watched, leanings, model)
            if number == len(places):
                source = source.without_lists()
            planned = planned.slimmed()
            model = _embed(source, planned, watched)
        yield model if items is None else _with_all_rows(model, items, data, run)


def place(model: Model, rows: Table, run: Run) -> FloatArray:
    """Places of new rows among the fitted rows; a row that equals a fitted row gets that row's place."""
    settings, Y = model.settings, model.places
    if len(Y) == 1:  # a map of equal rows has one place
        return np.repeat(Y, rows.shape[0], axis=0)
    index, distance = _neighbors(model, rows, run, wide=True)
    placed: FloatArray = Y[index[:, 0]]
    new, affinities, around = np.flatnonzero(distance[:, 0] > 0), model.affinities, model.surroundings(run)
    for start in range(0, len(new), _BLOCK):
        part = new[start : start + _BLOCK]
        if model.flat:
            lengths = distance[part] * model.distance_scale
            placed[part] = place_by_distances(Y, index[part], lengths, flat_loss, run)
        elif settings.preserve == "neighbors":
            weights = None
            if affinities is not None and around.reach is not None:
                weights = affinities.weights(distance[part], around.reach[index[part]], run)
            placed[part] = place_by_neighbors(
                Y, index[part], distance[part], settings.forces, model.repulsion, run,
                weights=weights, held=around.held, width=around.width,
            )  # fmt: skip
        else:
            placed[part] = _place_by_landmarks(model, rows.rows(part), run)
    return placed


def extend(model: Model, rows: Table, run: Run) -> Model:
    """The map with new rows at its end; their places are found together, while all others are fixed.

    The objective is the sum over the pairs that contain a new row.
    """
    assert model.rows is not None
    settings, n = model.settings, model.rows.shape[0]
    settings = replace(settings, focus=model.result.settings.get("focus", settings.focus))
    joined, Y = _stacked(model.rows, rows), np.concatenate([model.places, place(model, rows, run)])
    equal = _items(joined, None, settings, in_order=True)
    items = _joined_items(model, equal, rows.shape[0])
    if equal is not None:
        joined, Y = joined.rows(equal.rows), Y[equal.rows]
    if len(Y) == n:
        return _with_copies(model, items)
    source = Source.of(joined, settings, run)
    fixed = Anchored(np.arange(n), Y[:n])
    problem = make_problem(source, settings, fixed, run, model.distance_scale).problem
    # Pairs of fitted rows no longer change.
    problem = problem.restricted(np.flatnonzero((problem.edges >= n).any(axis=1)))
    result = solve(problem, Y, settings.solving(ITERATIONS), items.watched(run))
    result = _with_scale(result, settings, model.distance_scale)
    kept = {key: model.result.settings[key] for key in FOCUS_SETTINGS if key in model.result.settings}
    result = replace(result, settings={**result.settings, **kept})
    Y = items.spread(result.Y)
    Y[items.absent] = model.result.Y[items.absent]
    graph = _of_rows(source.graph, items, _lists(model.result.graph, items.absent))
    return replace(
        model,
        result=replace(result, Y=Y, graph=graph, frames=items.frames(result.frames)),
        rows=joined,
        item_of=None if items.trivial else items.of,
        problem=problem,
    )


def _joined_items(model: Model, equal: Items | None, n_new: int) -> Items:
    """The items of the map together with the added rows; `equal` says which rows are equal."""
    n = len(model.items)
    before = np.arange(n) if model.item_of is None else model.item_of
    return Items.numbered(
        np.concatenate([before, np.arange(n, n + n_new) if equal is None else equal.of[n:]])
    )


def _with_copies(model: Model, items: Items) -> Model:
    """The map with more rows, all of which equal fitted ones."""
    rows = np.where(items.of < 0, np.arange(len(items.of)), items.rows[items.of])
    graph = model.result.graph
    if graph is not None and graph.knn_indices is not None:
        graph = Graph.from_knn(*_lists(graph, rows), graph.origin)
    result = replace(model.result, Y=model.result.Y[rows], graph=graph, frames=None)
    return replace(model, result=result, item_of=items.of)


def _lists(graph: Graph | None, rows: IntArray) -> tuple[Any, Any]:
    """Neighbours of rows, and their distances; none without a neighbour graph."""
    if graph is None or graph.knn_indices is None or graph.knn_distances is None:
        return np.empty((len(rows), 0), dtype=np.int32), np.empty((len(rows), 0))
    return graph.knn_indices[rows], graph.knn_distances[rows]


def _items(
    data: Any, weights: FloatArray | None, settings: Settings, *, in_order: bool = False
) -> Items | None:
    """The items of a table; None if each row is an item of weight one."""
    if not _merges(data, settings):
        return None
    plain = weights is None or bool((weights == 1).all())
    if plain and not has_equal_rows(data.values):
        return None
    return find_items(data, weights, in_order=in_order)


def _merges(data: Any, settings: Settings) -> bool:
    """Whether equal rows are one item; some constraints treat rows individually."""
    return isinstance(data, Table) and type(settings.constraint) in (Centered, Standardized)


def _positions(init: FloatArray, shape: tuple[int, int]) -> FloatArray:
    return array("init", init, shape, dtype=np.float64 if init.dtype == np.float64 else np.float32)


@dataclass(frozen=True)
class _Planned:
    """A map that is to be made, and the mean repulsive weight of a row on it."""

    plan: Plan
    settings: Settings
    focus: Focus
    repulsion: float

    def slimmed(self) -> _Planned:
        """The same map in less memory, if it is one in single precision in which all pairs repel: its many pairs are gone through as a whole."""
        plan = self.plan
        if plan.problem.background is None or plan.start.dtype != np.float32:
            return self
        return replace(self, plan=replace(plan, problem=plan.problem.in_single_precision()))


def _planned(
    source: Source,
    settings: Settings,
    run: Run,
    leanings: Leanings | None = None,
    before: Model | None = None,
) -> _Planned:
    """The plan of the map of `source`; with `before`, starting from the map of another focus."""
    focus = focus_of(source, settings, run, may_lie_flat=leanings is None)
    if settings.preserve == "neighbors" and settings.forces.cauchy:
        settings = replace(settings, focus=focus.value)
    if before is None:
        plan = make_plan(source, settings, run)
    else:
        plan = plan_after(source, settings, before.result.Y, float(before.settings.focus), focus, run)
    if leanings is not None:
        plan = replace(plan, problem=leanings.lean(plan.problem, source.graph))
    repulsion = 0.0
    if settings.preserve == "neighbors" and source.graph is not None and not focus.flat:
        repulsion = repulsion_of_a_row(plan.problem, source.graph)
    return _Planned(plan, settings, focus, repulsion)


def _embed(source: Source, planned: _Planned, run: Run) -> Model:
    """The map that was planned."""
    plan, settings = planned.plan, planned.settings
    result = solve(plan.problem, plan.start, plan.solving, run, plan.stages)
    result = _with_scale(result, settings, plan.scale)
    if settings.preserve == "neighbors" and settings.forces.cauchy:
        result = replace(result, settings={**result.settings, **planned.focus.settings})
    return Model(
        settings=settings,
        result=replace(result, graph=source.graph),
        rows=source.data if isinstance(source.data, Table) else None,
        repulsion=planned.repulsion,
        problem=plan.problem,
    )


def _with_scale(result: Embedding, settings: Settings, scale: float) -> Embedding:
    """The result, with the factor by which distances were multiplied if they were preserved."""
    if settings.preserve != "distances" and settings.focus != FLAT:
        return result
    return replace(result, settings={**result.settings, "distance_scale": scale})


def _one_place(row: Table, settings: Settings, run: Run) -> Model:
    """The map of rows that are all equal."""
    warnings.warn("all rows are equal, so the map shows them in one place.", DataWarning, stacklevel=5)
    columns = {"iteration": [0], "objective": [0.0], "residual": [0.0], "seconds": [0.0]}
    result = Embedding(
        Y=np.zeros((1, settings.n_components), dtype=row.dtype),
        objective=0.0,
        residual=0.0,
        history=History({name: np.array(column) for name, column in columns.items()}),
        status=Status("converged", "All rows are equal, so there is nothing to distinguish."),
        seed=run.seed,
        settings={"method": "MDE", "n_components": settings.n_components, "n_pairs": 0},
    )
    return Model(settings, result, row)


def _with_all_rows(model: Model, items: Items, data: Table, run: Run) -> Model:
    """The model of items, converted to all rows of the data."""
    result, absent = model.result, items.absent
    Y, lists = items.spread(result.Y), _lists(None, absent)
    if len(absent):
        others = data.rows(absent)
        Y[absent] = place(model, others, run)
        if result.graph is not None:
            index, distance = _neighbors(model, others, run)
            lists = items.rows[index], distance
    graph = _of_rows(result.graph, items, lists)
    return replace(
        model,
        result=replace(result, Y=Y, graph=graph, frames=items.frames(result.frames)),
        item_of=items.of,
    )


def _of_rows(graph: Graph | None, items: Items, absent: tuple[Any, Any]) -> Graph | None:
    """The neighbour graph of all rows from that of items: a row has the neighbours of its item, and `absent` rows have their own."""
    if items.trivial or graph is None or graph.knn_indices is None or graph.knn_distances is None:
        return graph
    index = items.rows[graph.knn_indices[items.of]].astype(np.int32)
    distance = np.array(graph.knn_distances[items.of])
    rows, k = items.absent, absent[0].shape[1]
    index[rows], distance[rows] = -1, np.inf
    index[rows, :k], distance[rows, :k] = absent
    return Graph.from_knn(index, distance, graph.origin, copy=False)


def _neighbors(
    model: Model, rows: Table, run: Run, *, wide: bool = False
) -> tuple[NDArray[np.int32], FloatArray]:
    """The fitted rows nearest to new rows, as many as a fitted row has neighbours; with `wide`, all that attract them."""
    k = model.n_listed if wide else model.n_neighbors
    return model.surroundings(run).index.nearest(rows, k, run)


def _place_by_landmarks(model: Model, rows: Table, run: Run) -> FloatArray:
    assert model.rows is not None
    marks = landmarks(model.rows.shape[0], run)
    index, distance = nearest_rows(
        rows, model.rows.rows(marks), len(marks), run, metric=str(model.settings.metric)
    )
    distances = np.empty(index.shape)
    np.put_along_axis(distances, index.astype(np.int64), distance.astype(np.float64), axis=1)
    distances *= model.distance_scale
    return place_by_distances(model.places, marks, distances, model.settings.loss, run)


def _stacked(above: Table, below: Table) -> Table:
    """The rows of both, dense or sparse like the first."""
    first, second = above.values, below.values
    if issparse(first):
        values = vstack([first, csr_matrix(second)], format="csr")
    else:
        values = np.concatenate([first, second.toarray() if issparse(second) else second])
    return Table(values, validated=True)
