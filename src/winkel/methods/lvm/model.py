"""The latent variable model of given pairs: its likelihood and the steps of EM (Saul 2020, eqs 6 and 18–21)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...run import Run
from .coarsening import Coarsening, Family, Ties
from .neighborhood import LEAST, Neighborhood, Vector, squared_scale

LEAST_GROWTH = 1e-3  # of a variance in one step, which keeps it positive whatever the rounding
SMALL = 200_000  # ordered pairs, about a millisecond of work
MOST_SWEEPS = 200  # products of the linear solver in one step


@dataclass(frozen=True, eq=False)
class SimilarPairs:
    """Pairs i < j, each once, with S_ij + S_ji and δ²."""

    pairs: NDArray[np.int32]
    weights: Vector
    squares: Vector


@dataclass(frozen=True, eq=False)
class Exceptions:
    """Pairs of the base family that are similar and therefore not dissimilar: for each entry the later entries, and in which directions."""

    start: NDArray[np.int64]
    entry: NDArray[np.int32]
    ways: NDArray[np.uint8]


class Model:
    """Similar and dissimilar pairs with balanced weights; lengths in the unit of the neighbourhood.

    Weights are 1 for each arc of the neighbourhood. The weights that coarse-graining adds sum to n, and the weights of dissimilar pairs
    have the same sum as those of similar pairs. `n_similar` and `n_dissimilar` count ordered pairs, as in the paper.
    """

    def __init__(self, neighborhood: Neighborhood, coarse: Coarsening, run: Run, *, single: bool) -> None:
        self.n = neighborhood.n
        self.coarse = coarse
        self._widest = neighborhood.widest
        self.tie_weight = neighborhood.n / coarse.ties.weight.sum() if len(coarse.ties.weight) else 0.0
        self.similar = similar_pairs(neighborhood, coarse.ties, self.tie_weight)
        exceptions = _exceptions(neighborhood, coarse.base)
        attraction = float(self.similar.weights.sum())
        n_except = int(_count_ways(exceptions.ways).sum())
        available = sum(float((f.mass * (f.totals - f.mass)).sum()) for f in coarse.families) - n_except
        self.factor = attraction / available if available > 0 else 0.0
        self.repulsion = self.factor * _repulsion(neighborhood.n, coarse, exceptions)
        both = np.concatenate([self.similar.pairs, self.similar.pairs[:, ::-1]])
        self.attraction = np.bincount(both[:, 0], np.tile(self.similar.weights, 2), neighborhood.n)
        self.n_similar = len(neighborhood.source) + len(coarse.ties.item)
        self.n_dissimilar = sum(f.n_pairs for f in coarse.families) - n_except
        # Threads that wait for each other a few times a millisecond are slower than one; the bytes are the same.
        self.n_jobs = 1 if self.n_similar + self.n_dissimilar < SMALL else run.n_jobs
        self._core = self._compiled(both, exceptions, single)

    def _compiled(
        self, both: NDArray[np.int32], exceptions: Exceptions, single: bool
    ) -> _core.LatentPairs32 | _core.LatentPairs64:
        # Items of a block stand together in memory: they meet one another, and so do their neighbours.
        items = self.coarse.base.items
        place = np.empty(self.n, np.int32)
        place[items] = np.arange(self.n, dtype=np.int32)
        both = place[both]
        order = np.lexsort((both[:, 1], both[:, 0]))
        indptr = np.searchsorted(both[order, 0], np.arange(self.n + 1)).astype(np.int64)
        kind = _core.LatentPairs32 if single else _core.LatentPairs64
        weights, squares = np.tile(self.similar.weights, 2)[order], np.tile(self.similar.squares, 2)[order]
        made = kind(items, indptr, np.ascontiguousarray(both[order, 1]), weights, squares)
        none = Exceptions(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint8))
        for family in self.coarse.families:
            excepted = exceptions if family is self.coarse.base else none
            made.add_family(
                place[family.items], family.bounds, family.reach, family.slack, family.mass,
                excepted.start, excepted.entry, excepted.ways,
            )  # fmt: skip
        made.balance(self.factor, self.repulsion)
        return made

    def evaluate(self, Y: Vector, variance: Vector) -> tuple[float, Vector]:
        """The log-likelihood (eq 6) and its derivatives with respect to the means."""
        value, gradient = self._core.gradient(Y, variance, self.n_jobs)
        return float(value), gradient

    def move_means(self, Y: Vector, variance: Vector, gradient: Vector, tol: float) -> tuple[Vector, int]:
        """The means after eq 20, and the linear solver's iterations.

        With μ_new = μ + x that system is L x = gradient. Conjugate gradients from x = 0 raise EM's lower bound at
        every iteration, so the likelihood never falls however early they stop.
        """
        step, sweeps = self._core.step(variance, gradient, tol, MOST_SWEEPS, self.n_jobs)
        return Y + step, int(sweeps)

    def move_variances(self, Y: Vector, variance: Vector) -> Vector:
        """The variances after eq 21."""
        slopes = self._core.variance_slopes(Y, variance, self.n_jobs)
        weight = Y.shape[1] * np.maximum(self.weight, np.finfo(float).tiny)
        growth: Vector = np.maximum(1.0 + variance * slopes / weight, LEAST_GROWTH)
        return variance * growth

    def starting_variance(self, n_components: int) -> Vector:
        """Half the squared longest arc of each item, shared by the dimensions (supplement, Implementation)."""
        widest: Vector = np.square(np.maximum(self._widest, LEAST))
        return widest / (2 * n_components)

    @property
    def weight(self) -> Vector:
        """Σ_j (S_ij + S_ji + D_ij + D_ji) of each item."""
        return np.asarray(self.attraction + self.repulsion)


def similar_pairs(neighborhood: Neighborhood, ties: Ties, tie_weight: float) -> SimilarPairs:
    """Arcs and ties as pairs i < j; weights of the same pair add up."""
    first = np.concatenate([neighborhood.source, ties.landmark])
    second = np.concatenate([neighborhood.target, ties.item])
    weights = np.concatenate([np.ones(len(neighborhood.source)), tie_weight * ties.weight])
    squares = np.concatenate([neighborhood.squares, squared_scale(ties.length)])
    pairs = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
    key = pairs[:, 0].astype(np.int64) * neighborhood.n + pairs[:, 1]
    _, index, inverse = np.unique(key, return_index=True, return_inverse=True)
    return SimilarPairs(pairs[index], np.bincount(inverse, weights).astype(np.float64), squares[index])


def _exceptions(neighborhood: Neighborhood, base: Family) -> Exceptions:
    entry = np.empty(neighborhood.n, np.int64)
    entry[base.items] = np.arange(neighborhood.n)
    block = base.block
    p, q = entry[neighborhood.source], entry[neighborhood.target]
    inside = block[p] == block[q]
    p, q = p[inside], q[inside]
    key, inverse = np.unique(np.minimum(p, q) * neighborhood.n + np.maximum(p, q), return_inverse=True)
    # An arc counts once, even if lists name a neighbour twice.
    ways = np.zeros(len(key), np.uint8)
    np.bitwise_or.at(ways, inverse, np.where(p < q, np.uint8(1), np.uint8(2)))
    start = np.searchsorted(key // neighborhood.n, np.arange(neighborhood.n + 1)).astype(np.int64)
    return Exceptions(start, (key % neighborhood.n).astype(np.int32), ways)


def _count_ways(ways: NDArray[np.uint8]) -> NDArray[np.int64]:
    return (ways & 1).astype(np.int64) + (ways >> 1)


def _repulsion(n: int, coarse: Coarsening, exceptions: Exceptions) -> Vector:
    """Σ_j (D_ij + D_ji) of each item, before balancing."""
    total = np.zeros(n)
    for family in coarse.families:
        total[family.items] += 2 * family.mass * (family.totals - family.mass)
    base, ways = coarse.base.items, _count_ways(exceptions.ways)
    earlier = np.repeat(np.arange(n), np.diff(exceptions.start))
    np.subtract.at(total, base[earlier], ways)
    np.subtract.at(total, base[exceptions.entry], ways)
    return total
