"""`indicatrix`: how far a map can be trusted at each of its points.

On maps of the Earth, Tissot drew what a small circle at each place becomes. Here, the small circle of a point is its
neighbourhood in the data, laid flat along its own two main directions; the linear fit from there to the map
gives an ellipse. In addition, each point has its false neighbours (shown near, but not near in the data) and its missing ones (near in the
data, but not shown near).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import array, integer, refuse
from ..data import Table, as_table
from ..errors import InvalidInputError, InvalidParameterError
from ..graph import Graph
from ..graph.graph import require_neighbor_lists
from ..graph.knn import nearest_rows, neighbor_graph
from ..graph.metrics import pair_distances
from ..run import Run
from ..typing import FloatArray, Metric, RandomState
from .faithfulness import html_table, require_pandas
from .sources import DenseRows, has_rows, map_neighbors, map_table, row_source

Lists = NDArray[np.int32]

_BLOCK = 4096  # neighbourhoods that are fitted at a time
_FLAT = 1e-9  # a direction with less than this share of the variance is none


@dataclass(frozen=True, eq=False)
class NeighborLists:
    """Neighbours of one kind for all rows: row i has `indices[indptr[i]:indptr[i + 1]]`, nearest first."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of entries of each row."""
        return np.diff(self.indptr)

    def __getitem__(self, i: int) -> NDArray[np.int32]:
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @classmethod
    def where(cls, index: NDArray[np.int32], chosen: NDArray[np.bool_]) -> NeighborLists:
        """The lists that contain the chosen entries of n × k lists."""
        return cls(np.append(0, np.cumsum(chosen.sum(axis=1))), index[chosen])


@dataclass(frozen=True, eq=False)
class Stretch:
    """The ellipse that a small circle of the data becomes at each point of the map.

    `axes` (n × d) are its half axes, longest first, scaled such that the median over the whole map is 1. Row a of `directions` (n × d × d)
    is the direction of axis a in the map. `angle` is the angle of the longest axis of a plane map, in [0, π) from the
    first coordinate; it is None in other dimensions.
    """

    axes: NDArray[np.float64]
    directions: NDArray[np.float64]
    angle: NDArray[np.float64] | None

    @property
    def area(self) -> NDArray[np.float64]:
        """How many times larger the map shows this place than the median one (as volume in more dimensions)."""
        return np.prod(self.axes, axis=1)

    @property
    def anisotropy(self) -> NDArray[np.float64]:
        """The longest axis divided by the shortest; infinite if the map is flat in a direction."""
        with np.errstate(divide="ignore"):
            ratio = np.divide(self.axes[:, 0], self.axes[:, -1])
        return np.where(self.axes[:, 0] > 0, ratio, 1.0)


@dataclass(frozen=True, eq=False)
class Indicatrix:
    """How far a map can be trusted at each point: the result of `winkel.indicatrix`. It prints as a sentence.

    Attributes
    ----------
    n_neighbors, tolerance : int
        Size k of a neighbourhood, and the factor t such that the t·k nearest rows still count as near.
    reliability : ndarray of shape (n,)
        From 0 to 1, the mean of two shares: how many of the neighbours in the map are near in the data, and how many of the neighbours in the
        data are shown near.
    false_neighbors, missing_neighbors : NeighborLists
        Neighbours in the map that are not near in the data, and neighbours in the data that are not shown near. `.counts` are their
        numbers, and `[i]` is the list of point i.
    rank_error : ndarray of shape (n,)
        By how many doublings the ranks in the map and in the data differ, on average over the point's neighbours in either;
        ranks beyond `tolerance * n_neighbors` count as the next one.
    stretch : Stretch
        The ellipse of the local linear fit.
    variance : ndarray of shape (n,) or None
        The numbers that were passed as `variance`, such as the LVM's `variance_`.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:300]
    >>> points = wk.indicatrix(X, X[:, 20:22])
    >>> len(points), bool(points.reliability.max() <= 1)
    (300, True)
    """

    n_neighbors: int
    tolerance: int
    reliability: NDArray[np.float64]
    false_neighbors: NeighborLists
    missing_neighbors: NeighborLists
    rank_error: NDArray[np.float64]
    stretch: Stretch
    variance: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.reliability)

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.reliability, [0.1, 0.5, 0.9])
        return (
            f"{len(self)} points, {self.n_neighbors} neighbours: median reliability {middle:.2f}, below {low:.2f} for the least "
            f"reliable tenth, above {high:.2f} for the most reliable tenth; {self.false_neighbors.counts.mean():.1f} false and "
            f"{self.missing_neighbors.counts.mean():.1f} missing neighbours per point"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        share = (0.1, 0.5, 0.9)
        columns = {
            "reliability": self.reliability,
            "false neighbours": self.false_neighbors.counts,
            "missing neighbours": self.missing_neighbors.counts,
            "rank error (doublings)": self.rank_error,
            "area": self.stretch.area,
            "anisotropy": self.stretch.anisotropy,
        }
        rows: list[tuple[str, ...]] = [("of each point", "a tenth is below", "middle", "a tenth is above")]
        rows += [(name, *(f"{q:.3g}" for q in np.quantile(v, share))) for name, v in columns.items()]
        return html_table(f"{len(self)} points, {self.n_neighbors} neighbours", rows)

    def to_frame(self) -> Any:
        """One row per point, as a pandas DataFrame."""
        columns: dict[str, Any] = {
            "reliability": self.reliability,
            "false_neighbors": self.false_neighbors.counts,
            "missing_neighbors": self.missing_neighbors.counts,
            "rank_error": self.rank_error,
        }
        columns |= {f"axis_{a + 1}": axis for a, axis in enumerate(self.stretch.axes.T)}
        if self.stretch.angle is not None:
            columns["angle"] = self.stretch.angle
        if self.variance is not None:
            columns["variance"] = self.variance
        return require_pandas().DataFrame(columns)


def indicatrix(
    X: Any,
    map: Any,
    X_new: Any = None,
    Y_new: Any = None,
    *,
    n_neighbors: int = 15,
    tolerance: int = 3,
    metric: Metric = "euclidean",
    graph: Graph | None = None,
    variance: ArrayLike | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Indicatrix:
    """How far a map can be trusted at each point, or at new rows that were placed on it.

    Parameters
    ----------
    X : array, data frame, sparse matrix, AnnData or sequence of items
        The data, as for `winkel.graph.knn`. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
    map : array, fitted estimator, Embedding or path
        The map of the same rows.
    X_new : array, data frame, sparse matrix or None, default=None
        New rows, which are then evaluated instead of the rows of X, by their neighbours in X and in the map.
    Y_new : array or None, default=None
        The places of the new rows in the map.
    n_neighbors : int, default=15
        Size k of a point's neighbourhood.
    tolerance : int, default=3
        A neighbour in the map is false if it is not among the `tolerance * k` nearest rows in the data. A neighbour in the data is
        missing if it is not among the `tolerance * k` nearest points in the map.
    metric : str or callable, default="euclidean"
        The distance in the data.
    graph : Graph or None, default=None
        A neighbour graph of X with at least `tolerance * k` neighbours, to save the search.
    variance : array of length n or None, default=None
        One number per point to keep with the result, such as the LVM's `variance_`.
    random_state : int, numpy Generator or None, default=0
        The seed of the search for neighbours, which is approximate beyond 30 000 rows.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    Indicatrix
        For each point its reliability, its false and missing neighbours, and the ellipse of its stretch.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:300]
    >>> mde = wk.MDE(max_iter=20, random_state=0).fit(X)
    >>> points = wk.indicatrix(X, mde)
    >>> points.reliability.shape
    (300,)
    >>> points.false_neighbors[0].dtype
    dtype('int32')
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs)
    flat = map_table(map)
    n = flat.shape[0]
    k, wide = _sizes(n_neighbors, tolerance, n, X_new is not None)
    data = as_table(X) if has_rows(metric) and not isinstance(X, Graph) else X
    if X_new is None:
        new = None
        lists = _data_lists(data, wide, metric, graph, n, run)
        shown, places = map_neighbors(flat.values, wide, run), flat.values
    else:
        new, there = _new_rows(X_new, Y_new, flat, metric)
        lists = nearest_rows(new, data, wide, run, metric=str(metric))[0]
        shown, places = nearest_rows(there, flat, wide, run)[0], there.values
    in_data, in_map = _member(shown[:, :k], lists), _member(lists[:, :k], shown)
    return Indicatrix(
        k,
        tolerance,
        (in_data.mean(axis=1) + in_map.mean(axis=1)) / 2,
        NeighborLists.where(shown[:, :k], ~in_data),
        NeighborLists.where(lists[:, :k], ~in_map),
        _rank_error(lists, shown, k),
        _stretch(flat.values, places, lists[:, :k], _squared_distances(data, new, lists[:, :k], metric, run)),
        None if variance is None else array("variance", variance, (len(places),)),
    )


def reliability_of(Y: FloatArray, lists: Lists, n_neighbors: int, run: Run) -> NDArray[np.float64]:
    """`Indicatrix.reliability` of each point, from its nearest rows in the data; all rows in `lists` count as near."""
    shown = map_neighbors(np.ascontiguousarray(Y), lists.shape[1], run)
    in_data, in_map = _member(shown[:, :n_neighbors], lists), _member(lists[:, :n_neighbors], shown)
    return np.asarray((in_data.mean(axis=1) + in_map.mean(axis=1)) / 2)


def _sizes(n_neighbors: int, tolerance: int, n: int, new: bool) -> tuple[int, int]:
    """Number of neighbours, and of those within the tolerance."""
    k, tolerance = integer("n_neighbors", n_neighbors, 1), integer("tolerance", tolerance, 1)
    others = n if new else n - 1
    if k > others:
        refuse("n_neighbors", f"at most {others}, the number of other rows", k)
    return k, min(others, k * tolerance)


def _data_lists(data: Any, wide: int, metric: Metric, graph: Graph | None, n: int, run: Run) -> Lists:
    """The `wide` nearest rows in the data."""
    graph = graph or neighbor_graph(data, wide, run, metric=metric)
    index, _ = require_neighbor_lists(graph, "indicatrix")
    if len(index) != n:
        raise InvalidInputError(f"X and map must have the same rows; got {len(index)} and {n}.")
    if index.shape[1] < wide or (index[:, :wide] < 0).any():
        raise InvalidInputError(
            f"the graph must list tolerance * n_neighbors = {wide} neighbours of every row; its lists have "
            f"{index.shape[1]} places. Make it with winkel.graph.knn(X, {wide}), or omit graph."
        )
    return index[:, :wide]


def _new_rows(X_new: Any, Y_new: Any, flat: Table, metric: Metric) -> tuple[Table, Table]:
    """The new rows and their places in the map."""
    if not has_rows(metric):
        raise InvalidParameterError(
            "new rows can only be evaluated under a named metric, so that they can be compared with X."
        )
    if Y_new is None:
        raise InvalidParameterError("X_new needs Y_new, the places of the new rows in the map.")
    new, places = as_table(X_new, name="X_new", min_rows=1), map_table(Y_new, "Y_new", min_rows=1)
    if new.shape[0] != places.shape[0] or places.shape[1] != flat.shape[1]:
        raise InvalidInputError(
            f"X_new and Y_new must have the same rows, and Y_new the {flat.shape[1]} columns of the map; "
            f"got {new.shape[0]} rows and shape {places.shape}."
        )
    return new, places


def _member(entries: Lists, lists: Lists) -> NDArray[np.bool_]:
    """Which entries are in the same row's list."""
    ordered = np.sort(lists, axis=1)
    found = np.empty(entries.shape, bool)
    for start in range(0, len(entries), _BLOCK):
        part = slice(start, start + _BLOCK)
        found[part] = (entries[part, :, None] == ordered[part, None, :]).any(axis=2)
    return found


def _rank_error(data: Lists, shown: Lists, k: int) -> NDArray[np.float64]:
    """Mean of |log2(rank in the data / rank in the map)| over the neighbours in either."""
    total = np.zeros(len(data))
    count = np.full(len(data), float(k))
    own = np.log2(np.arange(1, k + 1))
    for start in range(0, len(data), _BLOCK):
        part = slice(start, start + _BLOCK)
        a, b = data[part], shown[part]
        total[part] = np.abs(np.log2(_place(a[:, :k], b)) - own).sum(axis=1)
        there = _place(b[:, :k], a)
        beyond = there > k  # the others were counted from the data's side
        total[part] += np.where(beyond, np.abs(np.log2(there) - own), 0).sum(axis=1)
        count[part] += beyond.sum(axis=1)
    return total / count


def _place(entries: Lists, lists: Lists) -> NDArray[np.float64]:
    """Position, counted from 1, of entries in the list of the same row; one beyond its end for entries that are not in the list."""
    same = entries[:, :, None] == lists[:, None, :]
    return np.where(same.any(axis=2), same.argmax(axis=2), lists.shape[1]) + 1.0


def _stretch(
    flat: FloatArray,
    places: FloatArray,
    neighbors: Lists,
    squared_distances: Iterator[tuple[slice, NDArray[np.float64]]],
) -> Stretch:
    d = flat.shape[1]
    axes, directions = np.empty((len(neighbors), d)), np.empty((len(neighbors), d, d))
    for part, square in squared_distances:
        moved = flat[neighbors[part]].astype(np.float64) - places[part].astype(np.float64)[:, None, :]
        _, axes[part], directions[part] = np.linalg.svd(_linear_fit(square, moved))
    flat_nowhere = axes[(axes > 0).all(axis=1)]
    middle = float(np.median(np.exp(np.log(flat_nowhere).mean(axis=1)))) if len(flat_nowhere) else 1.0
    angle = np.arctan2(directions[:, 0, 1], directions[:, 0, 0]) % np.pi if d == 2 else None
    return Stretch(axes / middle, directions, angle)


def _linear_fit(square: NDArray[np.float64], moved: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each neighbourhood, the d × d matrix that maps its main directions in the data to the map, by least squares."""
    # Inner products of the neighbours as seen from the point; half the squares of its own distances remain.
    own = square[:, 0, 1:]
    gram = 0.5 * (own[:, :, None] + own[:, None, :] - square[:, 1:, 1:])
    values, vectors = np.linalg.eigh(gram)
    k, d = gram.shape[1], moved.shape[2]
    size = np.zeros((len(gram), d))
    main = min(d, k)
    size[:, :main] = np.maximum(values[:, ::-1][:, :main], 0)
    size[size <= _FLAT * np.maximum(size[:, :1], np.finfo(float).tiny)] = 0
    basis = np.zeros((len(gram), k, d))
    basis[:, :, :main] = vectors[:, :, ::-1][:, :, :main]
    # Coordinates along the main directions are basis · √size, so least squares is basisᵀ · moved / √size.
    root = np.sqrt(size)
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    return np.einsum("pka,pkd->pad", basis, moved) * inverse[:, :, None]


def _squared_distances(
    data: Any, new: Table | None, neighbors: Lists, metric: Metric, run: Run
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Blocks of (1 + k) × (1 + k) squared distances within each neighbourhood, the point itself first."""
    source = row_source(data, metric, run)
    stacked = None if new is None else _stacked(source, new)
    first, k = source.n if new is not None else 0, neighbors.shape[1]
    a, b = np.triu_indices(k + 1, 1)
    for start in range(0, len(neighbors), _BLOCK):
        part = slice(start, min(start + _BLOCK, len(neighbors)))
        centre = np.arange(part.start, part.stop, dtype=np.int32) + first
        group = np.column_stack([centre.astype(np.int32), neighbors[part]])
        pairs = np.ascontiguousarray(np.stack([group[:, a], group[:, b]], axis=2).reshape(-1, 2))
        if stacked is None:
            distance = source.pairs(pairs)
        else:
            distance = pair_distances(stacked, pairs, str(metric), run.n_jobs)
        square = np.zeros((len(group), k + 1, k + 1))
        square[:, a, b] = square[:, b, a] = distance.reshape(len(group), -1).astype(np.float64) ** 2
        yield part, square


def _stacked(source: Any, new: Table) -> FloatArray:
    """Fitted and new rows in one dense array."""
    if not isinstance(source, DenseRows):
        raise InvalidInputError("the stretch at new rows needs dense rows; pass X.toarray() if it fits.")
    X = source.points.X
    return np.concatenate([X, new.values.astype(X.dtype)])
