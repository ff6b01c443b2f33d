"""Graph: which nodes are neighbours. Every method starts from one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInputError, InvalidParameterError
from ..run import resolve_n_jobs
from ..typing import FloatArray, MaybeNone
from .edges import (
    Combine,
    EdgeArrays,
    canonical_edges,
    check_neighbor_lists,
    check_rows,
    edges_of_adjacency,
    edges_of_networkx,
)
from .origin import Origin, labels_from_meta, labels_to_meta


class Graph:
    """An immutable weighted undirected graph on the nodes 0, …, n − 1.

    A graph is made by `from_edges`, `from_adjacency`, `from_networkx`, or from neighbour lists by `from_knn` (as
    `winkel.graph.knn` does). A neighbour graph also keeps its directed lists, `knn_indices` and
    `knn_distances`. Its edges join i and j if either lists the other, and the weight of an edge is its number of
    directions, 1 or 2.

    Weights say how strongly two nodes are connected; distances say how long the edge between them is. Without distances
    every edge has length 1 and `has_distances` is False. All arrays are read-only; derived arrays are computed when
    first used and then kept.

    Attributes
    ----------
    n, n_edges : int
        Number of nodes and of edges.
    edges : ndarray of shape (n_edges, 2)
        The edges as pairs i < j, in lexicographic order, each once.
    weights, edge_distances : ndarray of shape (n_edges,)
        Weight and length of each edge.
    has_distances : bool
        Whether the graph has distances of its own.
    knn_indices, knn_distances : ndarray of shape (n, k) or None
        The neighbour lists, nearest first, −1 and inf for a missing neighbour; None unless a neighbour graph.
    adjacency, distances : scipy.sparse.csr_array of shape (n, n)
        Symmetric matrices of weights and of edge lengths.
    degree : ndarray of shape (n,)
        Number of edges at each node.
    origin : Origin
        How the graph was made.
    node_labels : tuple or None
        Names of the nodes, if the graph was made from something that had names.

    Examples
    --------
    >>> import winkel as wk
    >>> graph = wk.Graph.from_edges([[0, 1], [2, 1], [3, 4]], weights=[1.0, 2.0, 1.0])
    >>> graph
    Graph(n=5, n_edges=3, from edges)
    >>> n_parts, part = graph.components()
    >>> n_parts, part.tolist()
    (2, [0, 0, 0, 1, 1])
    """

    __slots__ = ("_cache", "_n", "_node_labels", "_origin", "_source")

    _n: int
    _source: EdgeArrays | tuple[NDArray[np.int32], FloatArray]  # edges, or the neighbour lists
    _origin: Origin
    _node_labels: tuple[Hashable, ...] | None
    _cache: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError(
            "Make a graph with Graph.from_edges, from_adjacency, from_networkx or winkel.graph.knn."
        )

    @classmethod
    def _make(
        cls,
        n: int,
        source: EdgeArrays | tuple[NDArray[np.int32], FloatArray],
        origin: Origin,
        node_labels: tuple[Hashable, ...] | None = None,
    ) -> Graph:
        graph = object.__new__(cls)
        if isinstance(source, EdgeArrays):
            lengths = None if source.distances is None else read_only(source.distances)
            source = EdgeArrays(read_only(source.edges), read_only(source.weights), lengths)
        else:
            source = (read_only(source[0]), read_only(source[1]))
        values: dict[str, Any] = {
            "_n": n,
            "_source": source,
            "_origin": origin,
            "_node_labels": node_labels,
            "_cache": {},
        }
        for name, value in values.items():
            object.__setattr__(graph, name, value)
        return graph

    # -------------------------------------------------------------------------------- made from

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike,
        weights: ArrayLike | None = None,
        distances: ArrayLike | None = None,
        n: int | None = None,
        *,
        combine: Combine = "error",
        origin: Origin | None = None,
    ) -> Graph:
        """The graph of pairs of node numbers, in either order.

        Parameters
        ----------
        edges : array of int, shape (p, 2)
            The pairs.
        weights : array of shape (p,) or None, default=None
            Their weights, which may be negative; None sets all weights to 1.
        distances : array of shape (p,) or None, default=None
            Their lengths.
        n : int or None, default=None
            Number of nodes; None takes the largest node number + 1.
        combine : {"error", "sum", "mean", "max", "min"}, default="error"
            What to do with the weights of a pair that appears more than once, in either direction. "error" makes one edge of it if
            its weights and distances agree, and refuses it if they do not. With the other choices, the smallest distance is kept.
        origin : Origin or None, default=None
            How the graph was made.
        """
        arrays, size = canonical_edges(edges, weights, distances, n, combine)
        return cls._make(size, arrays, origin or Origin("edges"))

    @classmethod
    def from_knn(
        cls,
        indices: ArrayLike,
        distances: ArrayLike,
        origin: Origin | None = None,
        *,
        copy: bool = True,
    ) -> Graph:
        """The neighbour graph of n × k lists, nearest first, without the row itself.

        Parameters
        ----------
        indices, distances : array of shape (n, k)
            The lists. A row with fewer than k neighbours is filled up with index −1 and distance inf. An edge that is listed in both
            directions gets the smaller of the two distances.
        origin : Origin or None, default=None
            How the lists were made.
        copy : bool, default=True
            False uses the arrays themselves if their types fit; they must not be changed afterwards.
        """
        lists = check_neighbor_lists(indices, distances, copy)
        n, k = lists[0].shape
        return cls._make(n, lists, origin or Origin("knn", n_neighbors=k))

    @classmethod
    def from_adjacency(cls, adjacency: Any, *, entries: str = "weights") -> Graph:
        """The graph of a symmetric matrix whose nonzero entries are the edges.

        Parameters
        ----------
        adjacency : array or sparse matrix of shape (n, n)
            The matrix, with an empty diagonal.
        entries : {"weights", "distances"}, default="weights"
            What its entries mean. With "distances", all weights are 1, and stored zeros of a sparse matrix are edges of
            length zero.
        """
        pairs, values, n = edges_of_adjacency(adjacency, entries)
        weights, distances = (values, None) if entries == "weights" else (None, values)
        return cls.from_edges(pairs, weights, distances, n=n, origin=Origin("adjacency"))

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        weight: str | None = "weight",
        distance: str | None = None,
        combine: Combine = "error",
    ) -> Graph:
        """The graph of an undirected networkx graph; nodes are numbered in their order there.

        Parameters
        ----------
        graph : networkx.Graph
            The graph. The names of its nodes are kept in `node_labels`.
        weight : str or None, default="weight"
            The edge attribute that holds weights; an edge without it has weight 1.
        distance : str or None, default=None
            The edge attribute that holds distances, which every edge must have.
        combine : {"error", "sum", "mean", "max", "min"}, default="error"
            What to do with parallel edges; see `from_edges`.
        """
        pairs, weights, distances, labels = edges_of_networkx(graph, weight, distance)
        arrays, n = canonical_edges(pairs, weights, distances, len(labels), combine)
        return cls._make(n, arrays, Origin("networkx"), labels)

    # -------------------------------------------------------------------------------- contents

    def _cached(self, name: str, make: Any) -> Any:
        if name not in self._cache:
            self._cache[name] = make()
        return self._cache[name]

    @property
    def _arrays(self) -> EdgeArrays:
        if isinstance(self._source, EdgeArrays):
            return self._source
        lists = self._source

        def symmetrized() -> EdgeArrays:
            pairs, weights, lengths = _core.symmetrize_knn(*lists, resolve_n_jobs(None))
            return EdgeArrays(read_only(pairs), read_only(weights), read_only(np.asarray(lengths)))

        arrays: EdgeArrays = self._cached("arrays", symmetrized)
        return arrays

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self._n

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self._arrays.edges)

    @property
    def edges(self) -> NDArray[np.int32]:
        """The edges as pairs i < j, p × 2, in lexicographic order, each once."""
        return self._arrays.edges

    @property
    def weights(self) -> FloatArray:
        """Weight of each edge; in a neighbour graph the number of directions, 1 or 2."""
        return self._arrays.weights

    @property
    def has_distances(self) -> bool:
        """Whether the graph has distances of its own; if not, every edge has length 1."""
        return not isinstance(self._source, EdgeArrays) or self._source.distances is not None

    @property
    def edge_distances(self) -> FloatArray:
        """Length of each edge."""
        lengths = self._arrays.distances
        if lengths is not None:
            return lengths
        ones: FloatArray = self._cached("ones", lambda: read_only(np.ones(self.n_edges, np.float32)))
        return ones

    @property
    def knn_indices(self) -> NDArray[np.int32] | MaybeNone:
        """Neighbours of each row, n × k, nearest first, −1 for none; None if not a neighbour graph."""
        return None if isinstance(self._source, EdgeArrays) else self._source[0]

    @property
    def knn_distances(self) -> FloatArray | MaybeNone:
        """Distances to `knn_indices`, inf for a missing neighbour; None if not a neighbour graph."""
        return None if isinstance(self._source, EdgeArrays) else self._source[1]

    @property
    def origin(self) -> Origin:
        """Where the graph came from."""
        return self._origin

    @property
    def node_labels(self) -> tuple[Hashable, ...] | None:
        """Names of the nodes, if the graph was made from something that had names."""
        return self._node_labels

    @property
    def _rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Row starts, columns and edge numbers of the symmetric sparse matrices of this graph."""

        def rows() -> tuple[NDArray[Any], ...]:
            return tuple(map(read_only, _core.rows_of_edges(self.edges, self.n)))

        found: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]] = self._cached("rows", rows)
        return found

    def _matrix(self, values: FloatArray) -> sp.csr_array:
        indptr, indices, edge = self._rows
        matrix = sp.csr_array((read_only(values[edge]), indices, indptr), shape=(self.n, self.n), copy=False)
        matrix.has_canonical_format = True
        return matrix

    @property
    def adjacency(self) -> sp.csr_array:
        """Symmetric sparse matrix of weights."""
        return self._cached("adjacency", lambda: self._matrix(self.weights))

    @property
    def distances(self) -> sp.csr_array:
        """Symmetric sparse matrix of edge lengths; stored zeros are edges between duplicates."""
        return self._cached("distances", lambda: self._matrix(self.edge_distances))

    @property
    def degree(self) -> NDArray[np.int64]:
        """Number of edges at each node."""
        degree: NDArray[np.int64] = self._cached(
            "degree", lambda: read_only(np.diff(self._rows[0]).astype(np.int64))
        )
        return degree

    # -------------------------------------------------------------------------------- derived

    def components(self) -> tuple[int, NDArray[np.int32]]:
        """Number of connected components, and the component of each node; 0 is the largest."""
        from .structure import connected_components

        found: tuple[int, NDArray[np.int32]] = self._cached("components", lambda: connected_components(self))
        return found

    def minimum_spanning_tree(self) -> Graph:
        """The shortest set of edges that connects the same nodes as this graph: one tree for each component."""
        from .structure import minimum_spanning_tree

        tree: Graph = self._cached("tree", lambda: minimum_spanning_tree(self))
        return tree

    def subgraph(self, rows: ArrayLike) -> Graph:
        """The graph on part of the nodes.

        Parameters
        ----------
        rows : array of int or bool
            Different node numbers, in the order in which the new graph numbers them; or a mask of all nodes.
        """
        keep = check_rows(rows, self.n)
        labels = None if self._node_labels is None else tuple(self._node_labels[i] for i in keep.tolist())
        place = np.full(self.n, -1, np.int32)
        place[keep] = np.arange(len(keep), dtype=np.int32)
        if isinstance(self._source, EdgeArrays):
            ends = place[self.edges]
            inside = (ends >= 0).all(axis=1)
            lengths = None if self._source.distances is None else self._source.distances[inside]
            arrays, n = canonical_edges(ends[inside], self.weights[inside], lengths, len(keep), "error")
            return self._make(n, arrays, self._origin, labels)
        indices, distances = self._source[0][keep], self._source[1][keep].copy()
        # An extra place takes the lookups of missing neighbours.
        indices = np.append(place, np.int32(-1))[indices]
        distances[indices < 0] = np.inf
        order = np.argsort(indices < 0, axis=1, kind="stable")
        lists = (np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1))
        return self._make(len(keep), lists, self._origin, labels)

    # -------------------------------------------------------------------------------- saving

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain values and named arrays from which `from_arrays` makes an equal graph."""
        meta = {"n": self._n, "origin": self._origin.to_meta(), "labels": labels_to_meta(self._node_labels)}
        return meta, self._stored()

    def _stored(self) -> dict[str, NDArray[Any]]:
        if not isinstance(self._source, EdgeArrays):
            return {"knn_indices": self._source[0], "knn_distances": self._source[1]}
        arrays: dict[str, NDArray[Any]] = {"edges": self._source.edges, "weights": self._source.weights}
        if self._source.distances is not None:
            arrays["distances"] = self._source.distances
        return arrays

    @classmethod
    def from_arrays(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Graph:
        """The graph that `to_arrays` described; it is checked like any other input."""
        try:
            origin, labels = Origin.from_meta(meta["origin"]), labels_from_meta(meta["labels"])
            if "knn_indices" in arrays:
                graph = cls.from_knn(arrays["knn_indices"], arrays["knn_distances"], origin)
            else:
                lengths = arrays.get("distances")
                graph = cls.from_edges(
                    arrays["edges"], arrays["weights"], lengths, n=meta["n"], origin=origin
                )
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"these arrays do not describe a graph: {error}.") from error
        if graph.n != meta["n"] or (labels is not None and len(labels) != graph.n):
            raise InvalidInputError("these arrays do not describe a graph: numbers of nodes differ.")
        return cls._make(graph.n, graph._source, origin, labels)

    # -------------------------------------------------------------------------------- the object

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        mine, theirs = self._stored(), other._stored()
        same = (
            self._n == other._n and self._node_labels == other._node_labels and mine.keys() == theirs.keys()
        )
        return same and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def __repr__(self) -> str:
        origin = self._origin
        parts = [f"n={self._n}"]
        if isinstance(self._source, EdgeArrays):
            parts.append(f"n_edges={self.n_edges}")
        else:
            parts.append(f"n_neighbors={self._source[0].shape[1]}")
            # Counting the edges of neighbour lists is work, which a glance at the object should not start.
            if "arrays" in self._cache:
                parts.append(f"n_edges={self.n_edges}")
        words = [origin.method, *([origin.metric] if origin.metric else [])]
        return f"Graph({', '.join(parts)}, from {' '.join(words)})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Graph cannot be changed; make a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Graph cannot be changed; make a new one.")

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (Graph._make, (self._n, self._source, self._origin, self._node_labels))


def graph_of_lists(indices: NDArray[np.int32], distances: FloatArray, origin: Origin) -> Graph:
    """`Graph.from_knn` for lists that winkel made itself: they are neither copied nor checked again."""
    return Graph._make(len(indices), (indices, distances), origin)


def require_neighbor_lists(graph: Graph, purpose: str) -> tuple[NDArray[np.int32], FloatArray]:
    """The neighbour lists of `graph`, or an error that says what needs them."""
    if graph.knn_indices is None or graph.knn_distances is None:
        raise InvalidParameterError(
            f"{purpose} needs a neighbour graph, with directed neighbour lists; got {graph!r}. "
            "Make one with winkel.graph.knn(X, n_neighbors) or Graph.from_knn(indices, distances)."
        )
    return graph.knn_indices, graph.knn_distances


def component_roots(graph: Graph) -> NDArray[np.int32]:
    """The first node of each node's component; of a neighbour graph from its lists, whose edges take more memory than the lists."""
    lists = graph.knn_indices
    if lists is None:
        return np.asarray(_core.component_roots(graph.edges, graph.n))
    ends = np.empty((*lists.shape, 2), dtype=np.int32)
    ends[..., 0] = np.arange(graph.n, dtype=np.int32)[:, None]
    ends[..., 1] = lists
    np.copyto(ends[..., 1], ends[..., 0], where=lists < 0)  # for a missing neighbour, the row itself
    return np.asarray(_core.component_roots(ends.reshape(-1, 2), graph.n))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of `array` (C-contiguous) that cannot be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
