"""`Context`: every quantity that a score can use about one map of the data, each computed at most once.

`Measured` holds what all maps of one call have in common: the data, the rows that are measured, and all quantities that depend on the
data alone. A `Context` adds one map to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import integer, refuse
from ..data import Table, as_table
from ..data.arrays import Matrix
from ..errors import InvalidInputError
from ..graph import Graph
from ..graph.graph import require_neighbor_lists
from ..graph.knn import neighbor_graph
from ..run import Run
from ..typing import FloatArray, IntArray, Metric
from .angles import Angles, Directions, angles_between, nearest_by_angle
from .baseline import principal_map
from .classes import class_codes
from .ranks import PASSED, CoRanks, DataPairs, PairDistances, compare_rows, data_pairs
from .registry import ScoreDefinition
from .sampling import sampled_rows
from .sources import DenseRows, Indices, Rows, RowSource, has_rows, row_source
from .tearing import data_pieces, map_pieces

_SLOW_ROWS, _SLOW_SAMPLE = 2000, 300  # of distances that are not computed by the core
_INPUTS = {  # what a quantity needs of the call
    "X": "rows of data (not only distances)",
    "norms": "rows of data (not only distances)",
    "angles": "rows of data (not only distances)",
    "labels": "labels",
    "problem": "a problem",
}
_OF_THE_GRAPH = ("links", "data_pieces")


class Measured:
    """The data and the settings of one call, shared by all maps that are measured in it.

    `X` is data of any kind that `winkel.graph.knn` takes; a Table is not checked again. `graph` is a neighbour graph of
    the data, which saves the search.
    """

    def __init__(
        self,
        X: Any,
        run: Run,
        *,
        n_neighbors: int,
        metric: Metric,
        sample: str | int | None = "auto",
        labels: ArrayLike | None = None,
        problem: Any = None,
        graph: Graph | None = None,
    ) -> None:
        rows_known = has_rows(metric) and not isinstance(X, Graph)
        self.table: Table | None = as_table(X) if rows_known else None
        self._data = X if self.table is None else self.table
        self._hold(
            row_source(self._data, metric, run), run, n_neighbors, metric, sample, labels, problem, graph
        )

    def _hold(
        self,
        source: RowSource,
        run: Run,
        n_neighbors: int,
        metric: Metric,
        sample: str | int | None,
        labels: ArrayLike | None,
        problem: Any,
        graph: Graph | None,
    ) -> None:
        """Store the rows and the settings of the call."""
        self.source = source
        self.run, self.metric, self.sample = run, metric, sample
        self.n = self.source.n
        self.n_neighbors = _checked_neighbors(n_neighbors, self.n)
        self.rows: Rows = self._measured_rows()
        self.labels = None if labels is None else class_codes(labels, self.n)
        self.problem = problem
        self.lists = None if graph is None else _lists(graph, self.n, self.n_neighbors)
        self._needs: frozenset[str] = frozenset()
        self._contexts: list[Context] = []
        self._found: dict[str, Any] = {}

    def contexts(
        self, maps: Iterable[Table], needs: Iterable[str], *, baseline: bool = True
    ) -> list[Context]:
        """The Context of each map; the quantities they need are computed for all of them together.

        With `baseline`, and if the data has rows, each also has the map of principal components in the same number of dimensions.
        """
        own = [Context(self, place, table) for place, table in enumerate(maps)]
        self._contexts, self._needs, self._found = list(own), frozenset(needs), {}
        if baseline and self.has_principal_map:
            for d in sorted({context.Y.shape[1] for context in own}):
                beside = Context(self, len(self._contexts), self.principal_map(d))
                self._contexts.append(beside)
                for context in own:
                    if context.Y.shape[1] == d:
                        context.baseline = beside
        return own

    @property
    def has_principal_map(self) -> bool:
        """Whether the data has rows, so that there are principal components."""
        return self.table is not None

    def principal_map(self, n_components: int) -> Table:
        """The map of the data by principal components."""
        assert self.table is not None
        return Table(principal_map(self.table.values, n_components), validated=True)

    def missing(self, definition: ScoreDefinition) -> str | None:
        """In words, the things that a score needs and this call does not have."""
        for need in definition.needs:
            if (
                need in _OF_THE_GRAPH
                and self.lists is None
                and callable(self.metric)
                and len(self.rows) < self.n
            ):
                return "the neighbours of all rows, which take too long to find with a function as metric; pass graph"
            there = {"labels": self.labels, "problem": self.problem}.get(need, self.table)
            if need in _INPUTS and there is None:
                return _INPUTS[need]
        return None

    def passed(self, name: str) -> Any:
        """A quantity of the pass over the rows, computed together with all others that are needed."""
        if name not in self._found:
            wanted = {name} | {need for need in self._needs if need in PASSED and need not in self._found}
            maps = [context.places for context in self._contexts]
            found = compare_rows(self.source, maps, self.rows, self.n_neighbors, wanted, self.run, self.lists)
            self._found |= {each: getattr(found, each) for each in wanted}
        return self._found[name]

    @cached_property
    def pairs(self) -> DataPairs:
        """Pairs of rows with their distances in the data."""
        return data_pairs(self.source, self.sample, self.run.seed)

    @cached_property
    def links(self) -> Indices:
        """The nearest rows in the data of all rows: from the graph that was passed, or from a search."""
        if self.lists is not None:
            return self.lists[:, : self.n_neighbors]
        if len(self.rows) == self.n:
            return self.passed("data_neighbors")
        graph = neighbor_graph(self._data, self.n_neighbors, self.run.quiet(), metric=self.metric)
        return require_neighbor_lists(graph, "measure")[0]

    @cached_property
    def data_pieces(self) -> NDArray[np.int32]:
        """The piece of the data's neighbour graph that each row belongs to, 0 for the largest."""
        return data_pieces(self.links)

    @cached_property
    def directions(self) -> Directions:
        """The rows of the data with their norms."""
        if self.table is None:
            raise InvalidInputError(f"norms and angles need {_INPUTS['X']}.")
        return Directions.of(self.table.values)

    @cached_property
    def angle_neighbors(self) -> tuple[IntArray, NDArray[np.float64], NDArray[np.bool_]]:
        """The measured rows' nearest by angle, the angles to them, and where those are defined."""
        of = self.directions
        others = nearest_by_angle(of.values, self.rows, self.n_neighbors, self.run)
        defined = (of.norm[self.rows] > 0)[:, None] & (of.norm[others] > 0)
        return others, angles_between(of, self.rows, others), defined

    def _measured_rows(self) -> Rows:
        sample = self.sample
        if sample == "auto" and not isinstance(self.source, DenseRows) and self.n > _SLOW_ROWS:
            sample = _SLOW_SAMPLE
        return sampled_rows(self.n, sample, self.run.seed)


class Context:
    """The quantities that a score can use about one map; each is computed when it is first read, and only once.

    Arrays of neighbours, ranks and angles have one row for each of the measured rows (`rows`), which are all rows of small
    data and a sample of large data.

    Attributes
    ----------
    n, n_neighbors : int
        Number of rows, and size of a neighbourhood.
    rows : ndarray
        The measured rows.
    n_sampled : int or None
        How many they are, if they are a sample.
    sample : "auto", int or None
        What the caller asked for.
    Y : ndarray of shape (n, n_components)
        The map.
    X : ndarray or CSR matrix
        The rows of the data; only if there are rows, and not only distances.
    labels : ndarray
        Classes 0, 1, ... of all rows, −1 for unknown ones; only if labels were passed.
    problem : Problem
        Only if a problem was passed.
    baseline : Context or None
        The context of the map by principal components.
    run : Run
        The seed (`run.seed`, `run.stream(name)`) and the number of threads (`run.n_jobs`).
    data_neighbors, map_neighbors : ndarray of shape (n_measured, n_neighbors)
        Nearest rows in the data and in the map, nearest first.
    ranks_in_data : ndarray of shape (n_measured, n_neighbors)
        The ranks, counted from 1, that a row's neighbours in the map have in the data.
    ranks_in_map : ndarray of shape (n_measured, n_neighbors)
        The ranks that a row's neighbours in the data have in the map.
    co_ranks : CoRanks
        Ranks of all rows in data and map, counted by the larger of the two.
    distance_sums : ndarray of shape (n_measured, 3)
        Sums over all rows of data², data·map and map², for the distances from each measured row.
    distances : PairDistances
        Distances of pairs of rows, all or a sample: `distances.data` and `distances.map`.
    norms : tuple of ndarray
        Norms of the rows in the data and in the map.
    angles : Angles
        Angles between each measured row and its nearest by angle in the data: `angles.data` and `angles.map`.
    links : ndarray of shape (n, n_neighbors)
        The nearest rows in the data of all rows, measured or not.
    pieces, data_pieces : ndarray of shape (n,)
        The piece of the map, and of the data's neighbour graph, that each row belongs to; 0 is the largest.
    """

    def __init__(self, measured: Measured, place: int, table: Table) -> None:
        self._measured, self._place, self.table = measured, place, table
        self.n, self.n_neighbors, self.run = measured.n, measured.n_neighbors, measured.run
        self.rows, self.sample = measured.rows, measured.sample
        self.Y: FloatArray = table.values
        self.baseline: Context | None = None
        if len(self.Y) != self.n:
            raise InvalidInputError(
                f"map must have one row for each of the {self.n} rows of X; it has {len(self.Y)}."
            )

    @property
    def n_sampled(self) -> int | None:
        """Number of measured rows if they are a sample, otherwise None."""
        return None if len(self.rows) == self.n else len(self.rows)

    @property
    def X(self) -> Matrix:
        """The rows of the data."""
        return self._input("X", self._measured.table).values

    @property
    def labels(self) -> NDArray[np.int64]:
        """Classes of all rows as 0, 1, ..."""
        return self._input("labels", self._measured.labels)

    @property
    def problem(self) -> Any:
        """The problem that was passed."""
        return self._input("problem", self._measured.problem)

    @cached_property
    def places(self) -> DenseRows:
        """The map, as a source of which any row can be compared with all."""
        return DenseRows(self.Y, "euclidean", self.run.n_jobs)

    @property
    def data_neighbors(self) -> Indices:
        """Nearest rows in the data of each measured row."""
        return self._measured.passed("data_neighbors")

    def pair_distances(self, others: Indices) -> NDArray[np.float64]:
        """Distances in the data of each measured row to the rows listed for it."""
        first = np.repeat(self.rows, others.shape[1])
        pairs = np.ascontiguousarray(np.column_stack([first, others.ravel()]), dtype=np.int32)
        return np.asarray(self._measured.source.pairs(pairs), dtype=np.float64).reshape(others.shape)

    @property
    def map_neighbors(self) -> Indices:
        """Nearest rows in the map of each measured row."""
        return self._measured.passed("map_neighbors")[self._place]

    @property
    def ranks_in_data(self) -> Indices:
        """Ranks in the data of the neighbours in the map."""
        return self._measured.passed("ranks_in_data")[self._place]

    @property
    def ranks_in_map(self) -> Indices:
        """Ranks in the map of the neighbours in the data."""
        return self._measured.passed("ranks_in_map")[self._place]

    @property
    def co_ranks(self) -> CoRanks:
        """Ranks of all rows in data and map, counted."""
        return self._measured.passed("co_ranks")[self._place]

    @property
    def distance_sums(self) -> NDArray[np.float64]:
        """Sums of squares and products of the distances from each measured row."""
        return self._measured.passed("distance_sums")[self._place]

    @cached_property
    def distances(self) -> PairDistances:
        """Distances of pairs of rows in data and map."""
        sample = self._measured.pairs
        return PairDistances(sample, self.places.pairs(sample.pairs))

    @property
    def links(self) -> Indices:
        """Nearest rows in the data of all rows."""
        return self._measured.links

    @cached_property
    def pieces(self) -> NDArray[np.int32]:
        """The piece of the map of each row."""
        return map_pieces(self.Y, self.run.n_jobs)

    @property
    def data_pieces(self) -> NDArray[np.int32]:
        """The piece of the data's neighbour graph of each row."""
        return self._measured.data_pieces

    @cached_property
    def directions(self) -> Directions:
        """The rows of the map with their norms."""
        return Directions.of(self.Y)

    @property
    def norms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Norms of all rows in the data and in the map."""
        return self._measured.directions.norm, self.directions.norm

    @cached_property
    def angles(self) -> Angles:
        """Angles between each measured row and its nearest by angle in the data."""
        others, angles, defined = self._measured.angle_neighbors
        return Angles(others, angles, angles_between(self.directions, self.rows, others), defined)

    def _input(self, name: str, value: Any) -> Any:
        if value is None:
            raise InvalidInputError(f"this score needs {_INPUTS[name]}.")
        return value


def _checked_neighbors(n_neighbors: int, n: int) -> int:
    """`n_neighbors`, for which trustworthiness must be defined: fewer than half of n."""
    k = integer("n_neighbors", n_neighbors, 1)
    if not k < n / 2:
        refuse("n_neighbors", f"less than half of the {n} rows", n_neighbors)
    return k


def _lists(graph: Graph, n: int, k: int) -> Indices:
    index, _ = require_neighbor_lists(graph, "measure")
    if graph.n != n:
        raise InvalidInputError(f"the graph has {graph.n} nodes; X has {n} rows.")
    if index.shape[1] < k or (index[:, :k] < 0).any():
        raise InvalidInputError(
            f"the graph must list {k} neighbours of every row; its lists have {index.shape[1]} places. Make it with "
            "winkel.graph.knn(X, n_neighbors), or omit graph."
        )
    return index
