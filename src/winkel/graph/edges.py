"""Edges and neighbour lists, checked: from pairs, matrices, networkx graphs and n × k arrays; and pairs drawn at random."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..checks import choice, integer
from ..errors import InvalidInputError, InvalidParameterError
from ..run import Run, resolve_n_jobs
from ..typing import FloatArray, IntArray

Combine = Literal["error", "sum", "mean", "max", "min"]
_COMBINE = ("error", "sum", "mean", "max", "min")
MAX_NODES = 2**31 - 1
MAX_EDGES = 2**30 - 1
_LIST_FAULTS = {  # what the core finds wrong with neighbour lists
    1: "an index is outside [0, n) (-1 marks a missing neighbour)",
    2: "the row is listed as its own neighbour",
    3: "distances are not in ascending order",
    4: "missing neighbours must come last, with index -1 and distance inf",
    5: "a distance is negative or not finite",
    6: "a neighbour is listed twice",
}


class EdgeArrays(NamedTuple):
    """Sorted unique pairs with their weights and, if there are any, distances."""

    edges: NDArray[np.int32]
    weights: FloatArray
    distances: FloatArray | None


def _check_pairs(edges: ArrayLike, n: int | None) -> tuple[NDArray[np.int64], int]:
    pairs = np.asarray(edges)
    if pairs.size == 0:
        pairs = np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidInputError(
            f"edges must be an array of shape (p, 2), one pair of node numbers per row; got shape {pairs.shape}."
        )
    if not np.issubdtype(pairs.dtype, np.integer):
        raise InvalidInputError(
            f"edges must be integers (node numbers counted from 0); got dtype {pairs.dtype}. "
            "Convert with edges.astype(int) if the values are whole numbers."
        )
    if len(pairs) > MAX_EDGES:
        raise InvalidInputError(f"at most {MAX_EDGES} edges are supported; got {len(pairs)}.")
    if n is None and len(pairs) == 0:
        raise InvalidParameterError("n, the number of nodes, is needed when there are no edges.")
    if len(pairs) and pairs.min() < 0:
        row = int(np.flatnonzero((pairs < 0).any(axis=1))[0])
        raise InvalidInputError(
            f"node numbers must not be negative; edge {row} is {tuple(pairs[row].tolist())}."
        )
    size = integer("n, the number of nodes,", int(pairs.max()) + 1 if n is None else n, 1, MAX_NODES)
    if len(pairs) and pairs.max() >= size:
        row = int(np.flatnonzero((pairs >= size).any(axis=1))[0])
        raise InvalidInputError(
            f"node numbers must be less than n={size}; edge {row} is {tuple(pairs[row].tolist())}. "
            "Node numbers count from 0; give a larger n if there are more nodes."
        )
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(loops):
        raise InvalidInputError(
            f"edges must join two different nodes; {len(loops)} of {len(pairs)} join a node to itself, "
            f"first edge {int(loops[0])}: {tuple(pairs[loops[0]].tolist())}. "
            "Drop them: edges[edges[:, 0] != edges[:, 1]]."
        )
    return pairs.astype(np.int64, copy=False), size


def _check_values(values: ArrayLike | None, p: int, name: str, *, signed: bool) -> FloatArray | None:
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (p,):
        raise InvalidInputError(
            f"{name} must hold one number per edge, shape ({p},); got shape {array.shape}."
        )
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise InvalidInputError(f"{name} must be real numbers; got dtype {array.dtype}.")
    # A copy, even of the right type: the graph must not change when the caller's array does.
    array = array.astype(np.float32 if array.dtype == np.float32 else np.float64)
    bad = ~np.isfinite(array)
    if not signed:
        bad |= array < 0
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        kind = "finite" if signed else "finite and not negative"
        raise InvalidInputError(
            f"{name} must be {kind}; {int(bad.sum())} of {p} are not, first {array[first]} at edge {first}."
        )
    return array


def _merge(values: FloatArray, starts: NDArray[np.int64], combine: str) -> FloatArray:
    if combine == "sum":
        merged = np.add.reduceat(values, starts, dtype=np.float64)
    elif combine == "mean":
        counts = np.diff(np.append(starts, len(values)))
        merged = np.add.reduceat(values, starts, dtype=np.float64) / counts
    else:
        merged = (np.maximum if combine == "max" else np.minimum).reduceat(values, starts)
    return np.asarray(merged, dtype=values.dtype)


def _require_equal(
    edges: NDArray[np.int64], starts: NDArray[np.int64], values: FloatArray, name: str
) -> None:
    low = np.minimum.reduceat(values, starts)
    high = np.maximum.reduceat(values, starts)
    if (low != high).any():
        first = int(np.flatnonzero(low != high)[0])
        pair = tuple(edges[starts[first]].tolist())
        raise InvalidInputError(
            f"the pair {pair} appears more than once, with different {name}, {low[first]} and {high[first]}. "
            'Give each pair once, or say how to merge weights: combine="sum", "mean", "max" or "min" '
            "(the smallest distance is then kept)."
        )


def canonical_edges(
    edges: ArrayLike,
    weights: ArrayLike | None,
    distances: ArrayLike | None,
    n: int | None,
    combine: Combine,
) -> tuple[EdgeArrays, int]:
    """Sorted unique pairs i < j with weights (1 unless said otherwise) and distances, and the number of nodes."""
    choice("combine", combine, _COMBINE)
    pairs, size = _check_pairs(edges, n)
    p = len(pairs)
    w = _check_values(weights, p, "weights", signed=True)
    w = np.ones(p, np.float32) if w is None else w
    d = _check_values(distances, p, "distances", signed=False)
    pairs = np.stack([pairs.min(axis=1), pairs.max(axis=1)], axis=1) if p else pairs
    key = pairs[:, 0] * size + pairs[:, 1]
    if (np.diff(key) <= 0).any():
        order = np.argsort(key, kind="stable")
        key, pairs, w = key[order], pairs[order], w[order]
        d = None if d is None else d[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    if len(starts) < p:
        if combine == "error":
            _require_equal(pairs, starts, w, "weights")
            if d is not None:
                _require_equal(pairs, starts, d, "distances")
        # Without weights of their own, pairs that come twice are one edge, unless asked to be counted.
        w = _merge(w, starts, combine)
        d = None if d is None else _merge(d, starts, "min")
        pairs = pairs[starts]
    return EdgeArrays(pairs.astype(np.int32), w, d), size


def _check_symmetric(matrix: sp.coo_array) -> None:
    """Raise unless every stored entry (i, j) is matched by an equal one at (j, i)."""
    rows, columns = matrix.row, matrix.col
    forward, backward = np.lexsort((columns, rows)), np.lexsort((rows, columns))
    same = (
        np.array_equal(rows[forward], columns[backward])
        and np.array_equal(columns[forward], rows[backward])
        and np.array_equal(matrix.data[forward], matrix.data[backward])
    )
    if not same:
        raise InvalidInputError(
            "the adjacency matrix must be symmetric, because edges have no direction; this one is not. "
            "Symmetrise it first, for example (A + A.T) / 2, or A.maximum(A.T) for a sparse matrix and "
            "np.maximum(A, A.T) for a dense one."
        )


def edges_of_adjacency(adjacency: Any, entries: str) -> tuple[NDArray[np.int64], NDArray[Any], int]:
    """Pairs i < j, their entries, and the number of nodes of a symmetric matrix."""
    choice("entries", entries, ("weights", "distances"))
    if sp.issparse(adjacency):
        matrix = sp.coo_array(adjacency)
        matrix.sum_duplicates()
        if entries == "weights":
            matrix.eliminate_zeros()
    else:
        dense = np.asarray(adjacency)
        if dense.ndim != 2 or not (np.issubdtype(dense.dtype, np.number) or dense.dtype == bool):
            raise InvalidInputError(
                "the adjacency must be a square matrix of numbers, dense or scipy.sparse; "
                f"got shape {dense.shape}, dtype {dense.dtype}."
            )
        matrix = sp.coo_array(dense)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(f"the adjacency matrix must be square; got shape {matrix.shape}.")
    if not np.isfinite(matrix.data).all():
        raise InvalidInputError(
            "the adjacency matrix must hold finite numbers; leave out entries without an edge."
        )
    rows, columns = matrix.row, matrix.col
    if (rows == columns).any():
        raise InvalidInputError(
            "the diagonal of the adjacency matrix must be empty; "
            f"{int((rows == columns).sum())} entries are on it. Clear it: A.setdiag(0); A.eliminate_zeros() "
            "for a sparse matrix, np.fill_diagonal(A, 0) for a dense one."
        )
    _check_symmetric(matrix)
    upper = rows < columns
    pairs = np.stack([rows[upper], columns[upper]], axis=1).astype(np.int64)
    return pairs, matrix.data[upper], matrix.shape[0]


def edges_of_networkx(
    graph: Any, weight: str | None, distance: str | None
) -> tuple[NDArray[np.int64], list[float] | None, list[float] | None, tuple[Hashable, ...]]:
    """Pairs, weights, distances and node names of an undirected networkx graph."""
    if not (hasattr(graph, "is_directed") and hasattr(graph, "edges") and hasattr(graph, "nodes")):
        raise InvalidInputError(f"expected a networkx graph; got {type(graph).__name__}.")
    if graph.is_directed():
        raise InvalidInputError(
            "edges have no direction here, and this networkx graph is directed. "
            "Use graph.to_undirected() first."
        )
    labels = tuple(graph.nodes)
    place = {label: i for i, label in enumerate(labels)}
    listed = list(graph.edges(data=True))
    pairs = np.array([(place[a], place[b]) for a, b, _ in listed], np.int64).reshape(-1, 2)
    weights = None if weight is None else [data.get(weight, 1.0) for _, _, data in listed]
    if distance is None:
        return pairs, weights, None, labels
    missing = [(a, b) for a, b, data in listed if distance not in data]
    if missing:
        raise InvalidInputError(
            f"{len(missing)} of {len(listed)} edges have no attribute {distance!r}, first {missing[0]!r}."
        )
    return pairs, weights, [data[distance] for _, _, data in listed], labels


def check_neighbor_lists(
    indices: ArrayLike, distances: ArrayLike, copy: bool
) -> tuple[NDArray[np.int32], FloatArray]:
    """The lists as int32 and float32 or float64, C-contiguous; their own memory if `copy`."""
    index, length = np.asarray(indices), np.asarray(distances)
    if index.ndim != 2 or index.shape != length.shape or index.shape[0] == 0:
        raise InvalidInputError(
            "neighbour indices and distances must have the same shape (n, k) with n at least 1; "
            f"got {index.shape} and {length.shape}."
        )
    if not np.issubdtype(index.dtype, np.integer):
        raise InvalidInputError(f"neighbour indices must be integers; got dtype {index.dtype}.")
    if not np.issubdtype(length.dtype, np.number) or np.iscomplexobj(length):
        raise InvalidInputError(f"neighbour distances must be real numbers; got dtype {length.dtype}.")
    if index.size and (index.min() < -1 or index.max() >= len(index)):
        raise InvalidInputError(
            f"neighbour indices must lie in [0, {len(index)}), or be -1 for a missing neighbour; "
            f"got values from {index.min()} to {index.max()}."
        )
    kind = np.float32 if length.dtype == np.float32 else np.float64
    make = np.array if copy else np.asarray
    index, length = make(index, dtype=np.int32, order="C"), make(length, dtype=kind, order="C")
    fault, row = _core.check_knn(index, length, resolve_n_jobs(None))
    if fault:
        raise InvalidInputError(
            f"neighbour lists are not valid at row {row}: {_LIST_FAULTS[fault]}; "
            f"got indices {index[row, :8].tolist()}… and distances {length[row, :8].tolist()}…."
        )
    return index, length


def check_rows(rows: ArrayLike, n: int) -> IntArray:
    """Different node numbers below n, from a list of node numbers or from a mask."""
    keep = np.asarray(rows)
    if keep.dtype == bool:
        if keep.shape != (n,):
            raise InvalidInputError(f"a mask of rows must have shape ({n},); got {keep.shape}.")
        keep = np.flatnonzero(keep)
    if keep.ndim != 1 or len(keep) == 0 or not np.issubdtype(keep.dtype, np.integer):
        raise InvalidInputError(
            "rows must be a non-empty vector of node numbers or a Boolean mask; "
            f"got dtype {keep.dtype}, shape {keep.shape}."
        )
    if keep.min() < 0 or keep.max() >= n or len(np.unique(keep)) < len(keep):
        raise InvalidInputError(f"rows must be different node numbers in [0, {n}); got {keep[:8].tolist()}….")
    return keep


def random_pairs(n: int, count: int, run: Run, *, avoid: IntArray | None = None) -> NDArray[np.int32]:
    """`count` different pairs i < j of n items, sorted; drawn uniformly from all pairs except those in `avoid` (sorted pairs i < j)."""
    barred = np.empty(0, dtype=np.int64) if avoid is None else avoid[:, 0].astype(np.int64) * n + avoid[:, 1]
    free = n * (n - 1) // 2 - len(barred)
    if not 0 <= count <= free:
        raise InvalidParameterError(
            f"{count} pairs were requested, but with {n} items there are only {free} to choose from."
        )
    if count <= free // 2:
        return _core.sample_pairs(n, count, run.seed, barred, run.n_jobs)
    # Most pairs are wanted, so they can all be listed: leave some out.
    i, j = np.triu_indices(n, 1)
    every = np.delete(np.arange(len(i)), np.searchsorted(i.astype(np.int64) * n + j, barred))
    if count < free:
        every = every[np.sort(run.stream("random pairs").permutation(free)[:count])]
    return np.stack([i[every], j[every]], axis=1).astype(np.int32)
