"""The arrangement of a map's islands: each is moved as a whole to where the distances of the data want it.

Neighbours decide what an island looks like, but next to nothing about where it lies: wherever it is, its rows have the same neighbours.
So islands can be shifted and turned until the distances between their rows have the order that they have in the data.

    map ──> hills of its density ──> wanted distances between their rows ──> a shift and a turn of each hill ──> map
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import log, power, sin
from ...data.arrays import distinct
from ...problem import Problem
from ...problem.distortions import Weighted
from ...run import Run
from ...solvers import iterate
from ...solvers.lbfgs import LBFGS
from ...typing import FloatArray, IntArray

# An island is a hill of the map's density with at least this many rows, whose top is above the valley to the next hill by this logarithm.
_LEAST, CLARITY = 15, 1.0
# Rows that are arranged (others go with the nearest of them), pairs of these with a wanted distance, guards (rows of different islands, which
# must not meet) drawn from all rows and from each of a few islands (of many, one each), and iterations.
_ROWS, _PAIRS, _GUARDS, _ISLAND_GUARDS, _ITERATIONS = 10_000, 20_000, 300, 5, 60
_BLOCK = 2**16  # rows moved at a time
# Guards of different islands keep this many times the usual distance to a guard's neighbours, or what they have if that is less; how much
# this counts in comparison with wanted distances.
_GAP, _GAP_WEIGHT = 2.0, 30.0

Compared = Callable[[IntArray, IntArray], FloatArray]
Matrix = NDArray[np.float64]


def arranged(Y: FloatArray, compared: Compared, run: Run, clarity: float = CLARITY) -> FloatArray:
    """The map with its islands moved. `compared` gives distances of the data between rows i (k,) and rows J (k × c) each."""
    from scipy.spatial import cKDTree

    n = len(Y)
    rows = np.arange(n) if n <= _ROWS else np.sort(run.stream("arranged rows").permutation(n)[:_ROWS])
    places = Y[rows].astype(np.float64)
    tree = cKDTree(places)
    reach, near = tree.query(places, min(_LEAST, n - 1) + 1, workers=run.n_jobs)
    island = hills(near, reach[:, -1], Y.shape[1], clarity)
    if island.max() == 0:
        return Y
    usual = float(np.median(reach[:, min(5, n - 1)]))
    moves = _Moves(
        places,
        island,
        _order(places, island, lambda i, j: compared(rows[i], rows[j][:, None])[:, 0], run),
        _gaps(places, island, usual, run),
    )
    quiet = replace(run.quiet(), time_limit=None)  # so short that a limit would only change the map
    found = iterate(LBFGS(expects_convergence=False), moves, moves.none, quiet, max_iter=_ITERATIONS)
    if found.status.word == "interrupted":
        raise KeyboardInterrupt
    out = np.empty_like(Y)
    for first in range(0, n, _BLOCK):
        part = Y[first : first + _BLOCK].astype(np.float64)
        own = (
            island[first : first + _BLOCK]
            if n == len(rows)
            else island[tree.query(part, workers=run.n_jobs)[1]]
        )
        out[first : first + _BLOCK] = moves.made(found.state.Y, part, own)
    return out


def hills(near: IntArray, reach: FloatArray, m: int, clarity: float) -> IntArray:
    """The hill of density that each row is on, from its neighbours (itself first) and the distance to the last, in m dimensions.

    Unclear and small hills belong to the hill behind their highest saddle (persistence; Chazal et al. 2013).
    """
    n = len(near)
    rough = -m * log(np.maximum(reach, reach[reach > 0].min(initial=1.0)))
    height: Matrix = rough[near].mean(axis=1)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(-height, kind="stable")] = np.arange(n)
    # Each row points to the highest of its neighbours and itself; where the way ends is the top of its hill.
    up = near[np.arange(n), rank[near].argmin(axis=1)]
    up = np.where(rank[up] < rank, up, np.arange(n))
    while (up[up] != up).any():
        up = up[up]
    tops, hill = np.unique(up, return_inverse=True)
    parent, size = list(range(len(tops))), np.bincount(hill).tolist()

    def whole(h: int) -> int:
        while parent[h] != h:
            h = parent[h]
        return h

    for one, other, saddle in _saddles(hill, height, near):
        low, high = sorted((whole(one), whole(other)), key=lambda h: -rank[tops[h]])
        if low != high and (height[tops[low]] - saddle < clarity or min(size[low], size[high]) < _LEAST):
            parent[low] = high
            size[high] += size[low]
    wholes = np.array([whole(h) for h in range(len(tops))])
    return np.unique(wholes, return_inverse=True)[1][hill]


def _saddles(hill: IntArray, height: Matrix, near: IntArray) -> list[tuple[int, int, float]]:
    """Pairs of hills whose rows are neighbours, and the height of the best way between them; the highest first."""
    one, other = np.repeat(hill, near.shape[1]), hill[near].ravel()
    between = one != other
    pair = _numbers(np.stack([one, other], axis=1)[between], len(hill))
    saddle = np.minimum(height[:, None], height[near]).ravel()[between]
    order = np.argsort(-saddle, kind="stable")
    first = np.sort(np.unique(pair[order], return_index=True)[1])
    best = order[first]
    return list(
        zip(*(ends.tolist() for ends in np.divmod(pair[best], len(hill))), saddle[best].tolist(), strict=True)
    )


def _order(Y: Matrix, island: IntArray, compared: Compared, run: Run) -> Problem:
    """Random pairs of rows keep the distances that they have on the map, dealt out by the order of their distances in the data."""
    n = len(Y)
    drawn = run.stream("arranged pairs").integers(n, (_PAIRS, 2))
    pairs = np.stack(np.divmod(distinct(_numbers(drawn, n)), n), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    wanted = np.empty(len(pairs))
    wanted[np.argsort(compared(pairs[:, 0], pairs[:, 1]), kind="stable")] = np.sort(_lengths(Y, pairs))
    apart = island[pairs[:, 0]] != island[pairs[:, 1]]
    weight = float(np.mean(apart) / np.var(wanted))
    return Problem(
        pairs[apart],
        _Wish(weight, wanted[apart]),
        n_items=n,
        n_components=Y.shape[1],
        n_jobs=run.n_jobs,
    )


def _gaps(Y: Matrix, island: IntArray, usual: float, run: Run) -> Problem:
    """Some rows of different islands stay apart."""
    n, m = Y.shape
    order = run.stream("arranged guards").permutation(n)
    # The first rows of a random order, and the first ones of each island.
    by_island = order[np.argsort(island[order], kind="stable")]
    size = np.bincount(island)
    place = np.arange(n) - np.repeat(np.cumsum(size) - size, size)
    each = min(_ISLAND_GUARDS, max(1, _GUARDS // len(size)))
    guards = np.unique(np.concatenate([order[:_GUARDS], by_island[place < each]]))
    pairs = guards[np.stack(np.triu_indices(len(guards), 1), axis=1)]
    pairs = pairs[island[pairs[:, 0]] != island[pairs[:, 1]]]
    gap = _GAP * usual * float(power(n / len(guards), 1 / m))
    weight = _GAP_WEIGHT * len(pairs) / (len(guards) * gap * gap)
    return Problem(
        pairs,
        _Wish(weight, np.minimum(gap, _lengths(Y, pairs)), True),
        n_items=n,
        n_components=m,
        n_jobs=run.n_jobs,
    )


class _Wish(Weighted):
    """The square of what is missing to the wanted distance of each pair, or, if `at_least` that is wanted, of what is too little."""

    weights: Any
    wanted: Any
    at_least: bool = False

    def unweighted(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        missing = d - self.wanted
        if self.at_least:
            missing = np.minimum(missing, 0)
        return missing * missing, 2 * missing


def _numbers(pairs: IntArray, n: int) -> NDArray[np.int64]:
    """One number for each pair of n items, the smaller item first."""
    return np.asarray(pairs.min(axis=1) * n + pairs.max(axis=1))


def _lengths(Y: Matrix, pairs: IntArray) -> Matrix:
    offsets = Y[pairs[:, 0]] - Y[pairs[:, 1]]
    return np.asarray(np.sqrt((offsets * offsets).sum(axis=1)))


class _Moves:
    """The problem of the islands' moves: for each island a shift, and in the plane a turn, as a length along its rim."""

    n_threads = 1

    def __init__(self, Y: Matrix, island: IntArray, *terms: Problem) -> None:
        self.terms = terms
        self.island = island
        self.size = np.bincount(island)
        self.middle = self._sums(Y) / self.size[:, None]
        self.offsets = Y - self.middle[island]
        self.radius = float(np.sqrt(np.mean(self.offsets**2)))
        self.none = np.zeros((len(self.size), 3 if Y.shape[1] == 2 else Y.shape[1]))

    def evaluate(self, moves: FloatArray) -> tuple[float, FloatArray]:
        """The sum of the terms, and its gradient."""
        turned = self._turned(moves, self.offsets, self.island)
        Y = turned + (self.middle + moves[:, : turned.shape[1]])[self.island]
        found = [term.evaluate(Y) for term in self.terms]
        slope = np.add.reduce([gradient for _, gradient in found])
        gradient = self._sums(slope)
        if turned.shape[1] == 2:
            torque = turned[:, 0] * slope[:, 1] - turned[:, 1] * slope[:, 0]
            gradient = np.column_stack([gradient, np.bincount(self.island, torque) / self.radius])
        return sum(value for value, _ in found), gradient

    def project(self, moves: FloatArray) -> FloatArray:
        """Every move is allowed."""
        return moves.copy()

    def project_tangent(self, moves: FloatArray, gradient: FloatArray) -> FloatArray:
        """In every direction."""
        return gradient.copy()

    def made(self, moves: FloatArray, Y: Matrix, island: IntArray) -> Matrix:
        """The map after the moves."""
        turned = self._turned(moves, Y - self.middle[island], island)
        return np.asarray(turned + (self.middle + moves[:, : Y.shape[1]])[island])

    def _turned(self, moves: FloatArray, offsets: Matrix, island: IntArray) -> Matrix:
        if offsets.shape[1] != 2:
            return offsets
        angle = moves[:, 2] / self.radius
        s, c = np.asarray(sin(angle))[island], np.asarray(sin(angle + np.pi / 2))[island]
        x, y = offsets.T
        return np.stack([c * x - s * y, s * x + c * y], axis=1)

    def _sums(self, values: Matrix) -> Matrix:
        """The sum over each island, column by column."""
        return np.stack([np.bincount(self.island, column) for column in values.T], axis=1)
