"""The clusters a person sees in a map, and how clearly: hills of density and the valleys between them.

The density at a point follows from the distance to its k-th neighbour in the map. Going down from the highest point, each
hill grows until it meets a higher one; how far its top stands above that saddle, as a logarithm of density, is its
clarity (topological persistence; Chazal et al. 2013). Islands without a bridge are infinitely clear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError
from ..typing import FloatArray, IntArray
from .nearest import map_neighbors


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each point, counted from the largest on, and the clarity of each cluster."""

    labels: IntArray
    clarity: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.clarity)


def density_clusters(
    Y: FloatArray, n_neighbors: int, min_clarity: float, n_jobs: int | None = None
) -> Clusters:
    """The hills of a map's density that stand out by at least `min_clarity`, each with all points that lead up to it.

    The highest hill is as clear as the clearest of the others; alone it has clarity 0. Hills of fewer points than
    `n_neighbors` are not seen.
    """
    density, near = _density(Y, n_neighbors, n_jobs)
    order = np.argsort(-density, kind="stable")
    links = _links(near, density, order)
    clarity = _persistence(order, links, density, n_neighbors)
    labels = _grow(order, links, density, clarity, min_clarity)
    tops, labels, counts = np.unique(labels, return_inverse=True, return_counts=True)
    place = np.empty(len(tops), np.int64)
    by_size = np.argsort(-counts, kind="stable")
    place[by_size] = np.arange(len(tops))
    values = np.array([clarity[top] for top in tops])[by_size]
    return Clusters(place[labels], _first_like_second(values))


def given_clarity(
    Y: FloatArray, clusters: ArrayLike, n_neighbors: int, n_jobs: int | None = None
) -> Clusters:
    """The clarity of given clusters: how far their top stands above the highest crossing to any other."""
    names = np.asarray(clusters)
    if names.shape != (len(Y),):
        raise InvalidInputError(
            f"clusters must hold one entry for each of the {len(Y)} rows; got shape {names.shape}."
        )
    density, near = _density(Y, n_neighbors, n_jobs)
    labels = np.unique(names, return_inverse=True)[1]
    i, j = np.repeat(np.arange(len(Y)), near.shape[1]), near.ravel()
    crossing = labels[i] != labels[j]
    i, j = i[crossing], j[crossing]
    saddle = np.full(labels.max() + 1, -math.inf)
    height = np.minimum(density[i], density[j])
    np.maximum.at(saddle, labels[i], height)
    np.maximum.at(saddle, labels[j], height)
    clarity = np.empty(len(saddle))
    for c in range(len(saddle)):
        inside = labels == c
        top = min(density[inside].max(), density[~inside].max()) if not inside.all() else -math.inf
        clarity[c] = max(0.0, top - saddle[c]) if top > -math.inf else 0.0
    return Clusters(labels, clarity)


def _density(Y: FloatArray, k: int, n_jobs: int | None) -> tuple[NDArray[np.float64], IntArray]:
    """Logarithm of the density at each point, smoothed over its neighbours, and those."""
    near = map_neighbors(Y, k, n_jobs).astype(np.int64)
    reach = np.sqrt(np.sum((Y[near[:, -1]].astype(np.float64) - Y) ** 2, axis=1))
    positive = reach[reach > 0]
    floor = positive.min() if len(positive) else 1.0  # points with k others in the same place
    rough = -Y.shape[1] * np.log(np.maximum(reach, floor))
    return (rough + rough[near].sum(axis=1)) / (k + 1), near


def _links(near: IntArray, density: NDArray[np.float64], order: IntArray) -> list[list[int]]:
    """For each point the neighbours, in either direction, that come before it in the order of density."""
    n, k = near.shape
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    i, j = np.repeat(np.arange(n), k), near.ravel()
    low, high = np.where(rank[i] > rank[j], i, j), np.where(rank[i] > rank[j], j, i)
    pairs = np.unique(low * n + high)
    found: list[list[int]] = [[] for _ in range(n)]
    for a, b in zip((pairs // n).tolist(), (pairs % n).tolist()):
        found[a].append(b)
    return found


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def _persistence(
    order: IntArray, links: list[list[int]], density: NDArray[np.float64], min_size: int
) -> dict[int, float]:
    """For each top how far it stands above the saddle to a higher hill; infinite for the highest of each island."""
    parent, size = list(range(len(order))), [1] * len(order)
    height = density.tolist()
    clarity: dict[int, float] = {}
    for i in order.tolist():
        roots = sorted({_root(parent, j) for j in links[i]}, key=lambda top: (-height[top], top))
        if not roots:
            clarity[i] = math.inf
            continue
        for lower in roots[1:]:
            clarity[lower] = height[lower] - height[i] if size[lower] >= min_size else 0.0
            parent[lower] = roots[0]
            size[roots[0]] += size[lower]
        parent[i] = roots[0]
        size[roots[0]] += 1
    return clarity


def _grow(
    order: IntArray,
    links: list[list[int]],
    density: NDArray[np.float64],
    clarity: dict[int, float],
    least: float,
) -> IntArray:
    """The top of each point's hill when hills of less clarity are part of their neighbour."""
    parent = list(range(len(order)))
    height = density.tolist()
    for i in order.tolist():
        roots = sorted({_root(parent, j) for j in links[i]}, key=lambda top: (-height[top], top))
        if roots:
            parent[i] = roots[0]
            for lower in roots[1:]:
                if clarity[lower] < least:
                    parent[lower] = roots[0]
    return np.array([_root(parent, i) for i in range(len(order))])


def _first_like_second(clarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """With a single infinite value, which the highest hill always has, that becomes the largest of the others."""
    endless = np.isinf(clarity)
    if endless.sum() != 1:
        return clarity
    others = clarity[~endless]
    return np.where(endless, others.max() if len(others) else 0.0, clarity)
