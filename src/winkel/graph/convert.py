"""Edges of matrices and of networkx graphs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InvalidInputError, InvalidParameterError


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
            "the adjacency matrix must be symmetric, since edges have no direction; this one is not. "
            "Symmetrise it first, for example (A + A.T) / 2, or A.maximum(A.T) for a sparse matrix and "
            "np.maximum(A, A.T) for a dense one."
        )


def edges_of_adjacency(adjacency: Any, entries: str) -> tuple[NDArray[np.int64], NDArray[Any], int]:
    """Pairs i < j, their entries, and the number of nodes of a symmetric matrix."""
    if entries not in ("weights", "distances"):
        raise InvalidParameterError(f'entries must be "weights" or "distances"; got {entries!r}.')
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
