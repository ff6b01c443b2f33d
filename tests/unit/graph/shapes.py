"""Small graphs whose properties are known, shared by the tests of this folder."""

from __future__ import annotations

import numpy as np

from winkel import Graph


def path(n: int) -> Graph:
    """0 – 1 – … – n−1."""
    return Graph.from_edges(np.column_stack([np.arange(n - 1), np.arange(1, n)]), n=n)


def cycle(n: int) -> Graph:
    """A closed path."""
    return Graph.from_edges(np.column_stack([np.arange(n), (np.arange(n) + 1) % n]), n=n)


def grid(rows: int, columns: int) -> Graph:
    """Nodes at the points of a rectangle, joined to the next in each direction."""
    at = np.arange(rows * columns).reshape(rows, columns)
    down = np.column_stack([at[:-1].ravel(), at[1:].ravel()])
    right = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    return Graph.from_edges(np.concatenate([down, right]), n=rows * columns)


def neighbor_lists(X: np.ndarray, k: int, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Exact Euclidean neighbour lists, the row itself left out, ties by index."""
    d = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    np.fill_diagonal(d, np.inf)
    order = np.argsort(d, axis=1, kind="stable")[:, :k]
    return order.astype(np.int32), np.take_along_axis(d, order, axis=1).astype(dtype)


def knn_graph(n: int, k: int, seed: int, dimension: int = 3) -> Graph:
    """Neighbour graph of normal points."""
    X = np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, dimension))
    return Graph.from_knn(*neighbor_lists(X, k))


def together(*graphs: Graph, isolated: int = 0) -> Graph:
    """The graphs side by side, and some nodes without edges."""
    edges, weights, n = [], [], 0
    for graph in graphs:
        edges.append(graph.edges + n)
        weights.append(graph.weights)
        n += graph.n
    return Graph.from_edges(np.concatenate(edges), np.concatenate(weights), n=n + isolated)
