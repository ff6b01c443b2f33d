"""The clusters that a person sees in a map, and how clear they are: hills of density and the valleys between them.

The density at a point follows from the distance to its k-th neighbour in the map. Going down from the highest point, each
hill grows until it meets a higher one. The clarity of a hill is how far its top is above that saddle, as a logarithm of density
(topological persistence; Chazal et al. 2013). Between islands without a bridge, the depth of the saddle follows from the width of the
gap: it is the density of neighbours that far away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.arrays import distinct
from ..errors import InvalidInputError
from ..run import Run
from ..typing import FloatArray, IntArray
from .sources import map_neighbors, nearest_in_map


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each point, 0 being the largest, and the clarity and mass of each cluster.

    The mass is the number of points on the smaller side of the valley that sets the cluster apart.
    """

    labels: IntArray
    clarity: NDArray[np.float64]
    mass: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.clarity)


def density_clusters(Y: FloatArray, n_neighbors: int, min_clarity: float, run: Run) -> Clusters:
    """The hills of a map's density with a clarity of at least `min_clarity`, each with all points that lead up to it.

    The highest hill gets the clarity of the clearest other hill; if it is the only one, its clarity is 0. Hills of fewer points than
    `n_neighbors` are not detected.
    """
    density, neighbors = _density(Y, n_neighbors, run)
    order = np.argsort(-density, kind="stable")
    links = _links(neighbors, density, order)
    hills = Hills(len(Y), density.tolist(), n_neighbors)
    for i in order.tolist():
        hills.reach(i, links[i])
    for low, high, gap in _bridges(Y, hills, run):
        hills.meet(low, high, -Y.shape[1] * math.log(gap) if gap > 0 else math.inf)
    clarity = hills.clarity
    labels = hills.clusters(min_clarity)
    tops, labels, counts = np.unique(labels, return_inverse=True, return_counts=True)
    place = np.empty(len(tops), np.int64)
    by_size = np.argsort(-counts, kind="stable")
    place[by_size] = np.arange(len(tops))
    values = np.array([clarity[top] for top in tops])[by_size]
    mass = np.array([hills.mass.get(top, len(Y)) for top in tops], float)[by_size]
    return Clusters(place[labels], *_first_like_second(values, mass))


def labelled_clarity(Y: FloatArray, clusters: ArrayLike, n_neighbors: int, run: Run) -> Clusters:
    """The clarity of known clusters: how far their top is above the highest saddle to any other cluster."""
    names = np.asarray(clusters)
    if names.shape != (len(Y),):
        raise InvalidInputError(
            f"clusters must hold one entry for each of the {len(Y)} rows; got shape {names.shape}."
        )
    density, neighbors = _density(Y, n_neighbors, run)
    labels = np.unique(names, return_inverse=True)[1]
    i, j = np.repeat(np.arange(len(Y)), neighbors.shape[1]), neighbors.ravel()
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
    size = np.bincount(labels)
    return Clusters(labels, clarity, np.minimum(size, len(Y) - size).astype(float))


def _density(Y: FloatArray, k: int, run: Run) -> tuple[NDArray[np.float64], IntArray]:
    """Logarithm of the density at each point, smoothed over its neighbours, and those."""
    neighbors = map_neighbors(Y, k, run).astype(np.int64)
    reach = np.sqrt(np.sum((Y[neighbors[:, -1]].astype(np.float64) - Y) ** 2, axis=1))
    positive = reach[reach > 0]
    floor = positive.min() if len(positive) else 1.0  # points with k others in the same place
    rough = -Y.shape[1] * np.log(np.maximum(reach, floor))
    return (rough + rough[neighbors].sum(axis=1)) / (k + 1), neighbors


def _links(neighbors: IntArray, density: NDArray[np.float64], order: IntArray) -> list[list[int]]:
    """For each point, its neighbours (in either direction) that are denser, that is, earlier in the order of density."""
    n, k = neighbors.shape
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    i, j = np.repeat(np.arange(n), k), neighbors.ravel()
    low, high = np.where(rank[i] > rank[j], i, j), np.where(rank[i] > rank[j], j, i)
    pairs = distinct(low * n + high)
    found: list[list[int]] = [[] for _ in range(n)]
    for a, b in zip((pairs // n).tolist(), (pairs % n).tolist()):
        found[a].append(b)
    return found


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


class Hills:
    """Hills that grow as the water level falls: to which top each point belongs, and how clear each top was when its hill met a higher one."""

    def __init__(self, n: int, height: list[float], min_size: int) -> None:
        self.parent, self.size, self.height, self.min_size = list(range(n)), [1] * n, height, min_size
        self.clarity: dict[int, float] = {}
        self.mass: dict[int, int] = {}
        # Tops that were met, and a point of the hill that swallowed them.
        self.meetings: list[tuple[int, int]] = []
        self.up: list[int] = list(range(n))  # the way to each point's own top, before any hills met

    def reach(self, i: int, higher: list[int]) -> None:
        """Point i emerges from the water, next to these higher points."""
        tops = sorted({_root(self.parent, j) for j in higher}, key=lambda top: (-self.height[top], top))
        if not tops:
            self.clarity[i] = math.inf
            return
        self.up[i] = max(higher, key=lambda j: (self.height[j], -j))
        for low in tops[1:]:
            self._join(low, tops[0], self.height[i])
        self.parent[i] = tops[0]
        self.size[tops[0]] += 1

    def meet(self, a: int, b: int, saddle: float) -> None:
        """Join two islands, each named by any of its points, at this height."""
        tops = sorted(
            (_root(self.parent, a), _root(self.parent, b)), key=lambda top: (-self.height[top], top)
        )
        if tops[0] != tops[1]:
            self._join(tops[1], tops[0], saddle)

    def _join(self, low: int, high: int, saddle: float) -> None:
        seen = self.size[low] >= self.min_size
        self.clarity[low] = max(0.0, self.height[low] - saddle) if seen else 0.0
        self.mass[low] = min(self.size[low], self.size[high])
        self.parent[low] = high
        self.size[high] += self.size[low]
        self.meetings.append((low, high))

    def clusters(self, least: float) -> IntArray:
        """The top of each point's hill, if hills of less clarity count as part of the hill that they met."""
        parent = list(self.up)
        for low, high in self.meetings:
            if self.clarity[low] < least:
                parent[low] = high
        return np.array([_root(parent, i) for i in range(len(parent))])


def _bridges(Y: FloatArray, hills: Hills, run: Run) -> list[tuple[int, int, float]]:
    """The shortest gaps that join all islands, shortest first (Borůvka's tree)."""
    island = np.array([_root(hills.parent, i) for i in range(len(Y))])
    found: set[tuple[float, int, int]] = set()
    while len(names := np.unique(island)) > 1:
        gaps = [_gap(Y, island == name, run) for name in names]
        found.update(gaps)
        for _, a, b in sorted(gaps):
            island[island == max(island[a], island[b])] = min(island[a], island[b])
    return [(a, b, gap) for gap, a, b in sorted(found)]


def _gap(Y: FloatArray, inside: NDArray[np.bool_], run: Run) -> tuple[float, int, int]:
    """The shortest way from these points to any other: its length and its two ends, the smaller number first."""
    mine, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    ends = others[nearest_in_map(Y[others], Y[mine], 1, run)[:, 0]]
    length = np.sqrt(np.sum((Y[mine].astype(np.float64) - Y[ends]) ** 2, axis=1))
    best = int(length.argmin())
    a, b = sorted((int(mine[best]), int(ends[best])))
    return float(length[best]), a, b


def _first_like_second(
    clarity: NDArray[np.float64], mass: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the highest hill, which has no higher one to meet, the clarity of the clearest other hill."""
    first = np.isinf(clarity)
    if not (~first).any():
        return np.zeros_like(clarity), mass
    other = int(np.argmax(np.where(first, -1, clarity)))
    return np.where(first, clarity[other], clarity), np.where(first, mass[other], mass)
