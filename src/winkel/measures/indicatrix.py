"""`indicatrix`: how far a map can be trusted at each of its points.

Tissot drew on maps of the Earth what became of a small circle at each place. Here a point's small circle is its
neighbourhood in the data, laid flat along its own two main directions; the straight line fit from there to the map
gives an ellipse. Beside it stands who is shown near without being so, and who is near without being shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data import as_matrix
from ..errors import InvalidInputError, InvalidParameterError, MissingDependencyError
from ..graph import Graph, knn, knn_query
from ..graph.graph import require_neighbor_lists
from ..graph.metrics import pair_distances
from ..resources import resolve_n_jobs
from ..typing import FloatArray, Metric
from .nearest import map_neighbors
from .rows import PointRows, row_source

_BLOCK = 4096  # neighbourhoods that are fitted at a time
_FLAT = 1e-9  # a direction with less than this share of the variance is none


@dataclass(frozen=True, eq=False)
class NeighborLists:
    """Some rows' neighbours of one kind: row i has `indices[indptr[i]:indptr[i + 1]]`, nearest first."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many each row has."""
        return np.diff(self.indptr)

    def __getitem__(self, i: int) -> NDArray[np.int32]:
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @classmethod
    def where(cls, index: NDArray[np.int32], chosen: NDArray[np.bool_]) -> NeighborLists:
        """The chosen entries of n × k lists."""
        return cls(np.append(0, np.cumsum(chosen.sum(axis=1))), index[chosen])


@dataclass(frozen=True, eq=False)
class Stretch:
    """The ellipse that the map makes of a small circle at each point.

    `axes` (n × d) are its half axes, longest first, 1 being the middle one of the whole map; `directions` (n × d × d)
    hold in row a the direction of axis a in the map; `angle` is that of the longest in a plane map, in [0, π) from the
    first coordinate; None in other dimensions.
    """

    axes: NDArray[np.float64]
    directions: NDArray[np.float64]
    angle: NDArray[np.float64] | None

    @property
    def area(self) -> NDArray[np.float64]:
        """How many times larger the map shows this place than the middle one (volume in more dimensions)."""
        return np.prod(self.axes, axis=1)

    @property
    def anisotropy(self) -> NDArray[np.float64]:
        """The longest axis over the shortest; infinite where the map is flat in a direction."""
        with np.errstate(divide="ignore"):
            ratio = np.divide(self.axes[:, 0], self.axes[:, -1])
        return np.where(self.axes[:, 0] > 0, ratio, 1.0)


@dataclass(frozen=True, eq=False)
class Indicatrix:
    """How far a map can be trusted at each point; one entry a row in all of these.

    reliability : from 0 to 1, the mean of two shares: of the neighbours shown, how many are near in the data; of the
        neighbours in the data, how many are shown near.
    false_neighbors, missing_neighbors : the others of the two, `.counts` and lists by `[i]`.
    rank_error : by how many doublings ranks in the map and in the data differ, on average over the point's neighbours in
        either; ranks beyond `tolerance * n_neighbors` count as the next one.
    stretch : the ellipse of the local linear fit.
    variance : what was given, such as the LVM's `variance_`.
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
            f"{len(self)} points, {self.n_neighbors} neighbours: reliability {middle:.2f} in the middle, below {low:.2f} at "
            f"the least reliable tenth, above {high:.2f} at the best; {self.false_neighbors.counts.mean():.1f} false and "
            f"{self.missing_neighbors.counts.mean():.1f} missing neighbours a point"
        )

    __repr__ = __str__

    def to_frame(self) -> Any:
        """One row a point, as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError(
                "to_frame needs the optional package 'pandas', which is not installed. Install it with: pip install pandas."
            ) from error
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
        return pd.DataFrame(columns)


def indicatrix(
    X: Any,
    Y: ArrayLike,
    X_new: Any = None,
    Y_new: ArrayLike | None = None,
    *,
    n_neighbors: int = 15,
    tolerance: int = 3,
    metric: Metric = "euclidean",
    graph: Graph | None = None,
    variance: ArrayLike | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> Indicatrix:
    """How far the map Y of the data X can be trusted at each point, or at new rows placed among them.

    Parameters
    ----------
    X_new, Y_new : new rows and their places in the map; they are judged by their neighbours among X and Y.
    n_neighbors : size k of a point's neighbourhood.
    tolerance : a neighbour shown is false when it is not among the `tolerance * k` nearest in the data, and one in the data
        is missing when it is not among as many in the map.
    graph : a neighbour graph of X with at least `tolerance * k` neighbours, to spare the search. Beyond 30 000 rows that
        search is approximate (`random_state`).
    variance : one number a point to be kept beside, such as the LVM's `variance_`.
    """
    flat = as_matrix(getattr(Y, "Y", Y), name="Y", allow_sparse=False)
    n = len(flat)
    k, wide = _sizes(n_neighbors, tolerance, n, X_new is not None)
    if X_new is None:
        data = _data_lists(X, wide, metric, graph, n, random_state, n_jobs)
        shown = map_neighbors(flat, wide, n_jobs)
        places = flat
    else:
        data, shown, places = _new_lists(X, flat, X_new, Y_new, wide, metric, n_jobs)
    near_in_data, near_in_map = _member(shown[:, :k], data), _member(data[:, :k], shown)
    stretch = _stretch(X, X_new, flat, places, data[:, :k], metric, resolve_n_jobs(n_jobs))
    return Indicatrix(
        k,
        tolerance,
        (near_in_data.mean(axis=1) + near_in_map.mean(axis=1)) / 2,
        NeighborLists.where(shown[:, :k], ~near_in_data),
        NeighborLists.where(data[:, :k], ~near_in_map),
        _rank_error(data, shown, k),
        stretch,
        None if variance is None else _checked_variance(variance, len(places)),
    )


def _sizes(n_neighbors: int, tolerance: int, n: int, new: bool) -> tuple[int, int]:
    for name, value in (("n_neighbors", n_neighbors), ("tolerance", tolerance)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InvalidParameterError(f"{name} must be a positive integer; got {value!r}.")
    others = n if new else n - 1
    if n_neighbors > others:
        raise InvalidParameterError(
            f"n_neighbors must be at most {others}, the number of other rows; got {n_neighbors}."
        )
    return int(n_neighbors), int(min(others, n_neighbors * tolerance))


def _data_lists(
    X: Any, wide: int, metric: Metric, graph: Graph | None, n: int, seed: int | None, n_jobs: int | None
) -> NDArray[np.int32]:
    graph = graph or knn(X, wide, metric=metric, random_state=seed, n_jobs=n_jobs)
    index, _ = require_neighbor_lists(graph, "indicatrix")
    if len(index) != n:
        raise InvalidInputError(f"X and Y must have the same rows; got {len(index)} and {n}.")
    if index.shape[1] < wide or (index[:, :wide] < 0).any():
        raise InvalidInputError(
            f"the graph must list tolerance * n_neighbors = {wide} neighbours of every row; its lists have "
            f"{index.shape[1]} places. Make it with winkel.graph.knn(X, {wide}), or leave graph away."
        )
    return index[:, :wide]


def _new_lists(
    X: Any, flat: FloatArray, X_new: Any, Y_new: ArrayLike | None, wide: int, metric: Metric, n_jobs: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:  # fmt: skip
    if callable(metric) or metric == "precomputed":
        raise InvalidParameterError(
            "new rows can be judged under a named metric only, by which they can be compared with X."
        )
    if Y_new is None:
        raise InvalidParameterError("X_new needs Y_new, the places of the new rows in the map.")
    places = as_matrix(getattr(Y_new, "Y", Y_new), name="Y_new", min_rows=1, allow_sparse=False)
    data, _ = knn_query(X_new, X, wide, metric=metric, n_jobs=n_jobs)
    if len(data) != len(places) or places.shape[1] != flat.shape[1]:
        raise InvalidInputError(
            f"X_new and Y_new must have the same rows, and Y_new the {flat.shape[1]} columns of Y; "
            f"got {len(data)} rows and shape {places.shape}."
        )
    return data, knn_query(places, flat, wide, n_jobs=n_jobs)[0], places


def _member(some: NDArray[np.int32], lists: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which entries of `some` are in the same row's list."""
    ordered = np.sort(lists, axis=1)
    found = np.empty(some.shape, bool)
    for start in range(0, len(some), _BLOCK):
        part = slice(start, start + _BLOCK)
        found[part] = (some[part, :, None] == ordered[part, None, :]).any(axis=2)
    return found


def _rank_error(data: NDArray[np.int32], shown: NDArray[np.int32], k: int) -> NDArray[np.float64]:
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


def _place(some: NDArray[np.int32], lists: NDArray[np.int32]) -> NDArray[np.float64]:
    """Place, from 1 on, of entries in the same row's list; one beyond its end for those that are not there."""
    same = some[:, :, None] == lists[:, None, :]
    return np.where(same.any(axis=2), same.argmax(axis=2), lists.shape[1]) + 1.0


def _stretch(
    X: Any,
    X_new: Any,
    flat: FloatArray,
    places: FloatArray,
    near: NDArray[np.int32],
    metric: Metric,
    n_jobs: int,
) -> Stretch:
    d = flat.shape[1]
    axes, directions = np.empty((len(near), d)), np.empty((len(near), d, d))
    for part, square in _squared_distances(X, X_new, near, metric, n_jobs):
        # Inner products of the neighbours as seen from the point; half the squares of its own distances remain.
        own = square[:, 0, 1:]
        gram = 0.5 * (own[:, :, None] + own[:, None, :] - square[:, 1:, 1:])
        values, vectors = np.linalg.eigh(gram)
        size = np.zeros((len(gram), d))
        main = min(d, gram.shape[1])
        size[:, :main] = np.maximum(values[:, ::-1][:, :main], 0)
        size[size <= _FLAT * np.maximum(size[:, :1], np.finfo(float).tiny)] = 0
        basis = np.zeros((len(gram), gram.shape[1], d))
        basis[:, :, :main] = vectors[:, :, ::-1][:, :, :main]
        moved = flat[near[part]].astype(np.float64) - places[part].astype(np.float64)[:, None, :]
        # Coordinates along the main directions are basis · √size, so least squares is basisᵀ · moved / √size.
        root = np.sqrt(size)
        fit = np.einsum("pka,pkd->pad", basis, moved) * np.divide(
            1.0, root, out=np.zeros_like(root), where=root > 0
        )[:, :, None]  # fmt: skip
        _, axes[part], directions[part] = np.linalg.svd(fit)
    flat_nowhere = axes[(axes > 0).all(axis=1)]
    middle = float(np.median(np.exp(np.log(flat_nowhere).mean(axis=1)))) if len(flat_nowhere) else 1.0
    angle = np.arctan2(directions[:, 0, 1], directions[:, 0, 0]) % np.pi if d == 2 else None
    return Stretch(axes / middle, directions, angle)


def _squared_distances(
    X: Any, X_new: Any, near: NDArray[np.int32], metric: Metric, n_jobs: int
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Blocks of (1 + k) × (1 + k) squared distances within each neighbourhood, the point itself first."""
    source = row_source(X, metric, n_jobs)
    values, first = _stacked(source, X_new), source.n
    k = near.shape[1]
    for start in range(0, len(near), _BLOCK):
        part = slice(start, min(start + _BLOCK, len(near)))
        centre = np.arange(part.start, part.stop, dtype=np.int32) + (first if X_new is not None else 0)
        group = np.column_stack([centre.astype(np.int32), near[part]])
        a, b = np.triu_indices(k + 1, 1)
        pairs = np.ascontiguousarray(np.stack([group[:, a], group[:, b]], axis=2).reshape(-1, 2))
        far = source.pairs(pairs) if values is None else pair_distances(values, pairs, str(metric), n_jobs)
        square = np.zeros((len(group), k + 1, k + 1))
        square[:, a, b] = square[:, b, a] = far.reshape(len(group), -1).astype(np.float64) ** 2
        yield part, square


def _stacked(source: Any, X_new: Any) -> FloatArray | None:
    """Fitted and new rows in one dense array; None where there are no new ones."""
    if X_new is None:
        return None
    if not isinstance(source, PointRows):
        raise InvalidInputError("the stretch at new rows needs dense rows; pass X.toarray() if it fits.")
    return np.concatenate(
        [source.points.X, as_matrix(X_new, name="X_new", min_rows=1).astype(source.points.X.dtype)]
    )


def _checked_variance(variance: ArrayLike, n: int) -> FloatArray:
    values = np.asarray(variance, dtype=np.float64)
    if values.shape != (n,):
        raise InvalidInputError(f"variance must hold one number a point, {n}; got shape {values.shape}.")
    return values
