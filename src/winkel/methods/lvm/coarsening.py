"""Coarse-graining of the dissimilar pairs, at any number of levels (Saul 2020, eqs 25–26 and 40–42).

A family is a set of blocks; within a block, all pairs are dissimilar. One level replaces each block by the
block of its landmarks and, for each landmark, the block of the items that it represents. No pair is ever listed:
a block consists of its items with three numbers each, which determine the weights and length scales of all its pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run import Run, Stream
from .landmarks import Indices, Nearest
from .neighborhood import CALIBRATION, Neighborhood, Vector

SMALLEST = 8  # blocks of fewer items stay whole
MOST_PAIRS = 20_000_000  # ordered dissimilar pairs that levels="auto" allows
UNEVEN = 1.4  # pairs within blocks of random landmarks, compared with blocks of equal size
DEEPEST = 8


@dataclass(frozen=True, eq=False)
class Family:
    """Blocks of items; the ordered pair i, j of a block has weight mass_i mass_j and scale Δ_ij = reach_i + slack_j.

    `member` is the entry that represents each point (−1 for none).
    """

    items: NDArray[np.int32]
    bounds: Indices
    reach: Vector
    slack: Vector
    mass: Vector
    member: Indices

    @property
    def block(self) -> Indices:
        """The block of each entry."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    @property
    def n_pairs(self) -> int:
        """Number of ordered pairs."""
        sizes = np.diff(self.bounds)
        return int((sizes * (sizes - 1)).sum())

    @property
    def totals(self) -> Vector:
        """Mass of the block of each entry."""
        block = self.block
        return np.bincount(block, self.mass, len(self.bounds) - 1).astype(np.float64)[block]


@dataclass(frozen=True, eq=False)
class Ties:
    """Similarities that coarse-graining adds: landmarks, the items they represent, weights, and distances."""

    landmark: NDArray[np.int32]
    item: NDArray[np.int32]
    weight: Vector
    length: Vector


@dataclass(frozen=True, eq=False)
class Division:
    """How items of a block find their smaller block: the landmarks of each block, and the block to which each landmark leads.

    `alone` is the smaller block of a block that has no landmarks.
    """

    landmarks: NDArray[np.int32]
    bounds: Indices
    leads_to: Indices
    alone: Indices


@dataclass(frozen=True, eq=False)
class Coarsening:
    """Families of dissimilar pairs, of which the last has the smallest blocks of items; ties; and how items find those blocks."""

    families: tuple[Family, ...]
    ties: Ties
    divisions: tuple[Division, ...]

    @property
    def base(self) -> Family:
        """The family of single items."""
        return self.families[-1]


def coarsen(neighborhood: Neighborhood, levels: int, nearest: Nearest, run: Run) -> Coarsening:
    """The families of dissimilar pairs after `levels` rounds of coarse-graining."""
    n = neighborhood.n
    whole = np.array([0, n], dtype=np.int64)
    families = [
        Family(np.arange(n, dtype=np.int32), whole, neighborhood.reach, np.zeros(n), np.ones(n), np.arange(n))
    ]
    ties: list[Ties] = []
    divisions: list[Division] = []
    for level in range(levels):
        finer: list[Family] = []
        for number, family in enumerate(families):
            stream = run.stream(f"landmarks {level} {number}")
            above, below, added, division = _split(family, neighborhood.unit, nearest, stream)
            finer += [above, below] if len(above.items) else [below]
            ties.append(added)
        divisions.append(division)  # that of the last family, the items themselves
        families = finer
    return Coarsening(tuple(families), _joined(ties), tuple(divisions))


def n_landmarks(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of landmarks that gives the fewest pairs: size^{2/3} / 2^{1/3} (eq 40)."""
    count = np.rint(sizes ** (2 / 3) / 2 ** (1 / 3)).astype(np.int64)
    return np.where(sizes < SMALLEST, 0, count)


def _split(
    family: Family, unit: float, nearest: Nearest, stream: Stream
) -> tuple[Family, Family, Ties, Division]:
    """The family of landmarks, that of the items they stand for, the ties between them, and the way down."""
    block, count = family.block, n_landmarks(np.diff(family.bounds))
    order = np.lexsort((stream.bits(len(block)), block))
    chosen = np.zeros(len(block), dtype=bool)
    chosen[order[np.arange(len(block)) - family.bounds[block] < count[block]]] = True
    landmark, distance = nearest.assign(family, chosen)
    split = count[block] > 0
    chosen |= split & (landmark == np.arange(len(block)))  # those that no landmark reaches
    length = distance / unit
    tied = split & ~chosen
    ties = Ties(family.items[landmark[tied]], family.items[tied], family.mass[tied], length[tied])
    group = np.where(split, landmark, family.bounds[block])
    below, leader = _regrouped(family, group)
    above = _landmark_family(family, chosen, landmark, split, length / CALIBRATION)
    return above, below, ties, _division(family, chosen, leader)


def _regrouped(family: Family, group: Indices) -> tuple[Family, Indices]:
    """The same entries in smaller blocks, those of one group together, and the first entry's group of each block."""
    order = np.argsort(group, kind="stable")
    leader, begins = np.unique(group[order], return_index=True)
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    below = Family(
        family.items[order],
        np.append(begins, len(order)).astype(np.int64),
        family.reach[order],
        family.slack[order],
        family.mass[order],
        np.where(family.member >= 0, position[family.member], -1),
    )
    return below, leader


def _landmark_family(
    family: Family, chosen: NDArray[np.bool_], landmark: Indices, split: NDArray[np.bool_], delta: Vector
) -> Family:
    """Eqs 25 and 26 for all pairs of landmarks at once: Δ_ij = max(a_α + δ_iα) + max(b_β + δ_jβ)."""
    marks = np.flatnonzero(chosen)
    number = np.full(len(chosen), -1, np.int64)
    number[marks] = np.arange(len(marks))
    owner = number[landmark[split]]
    reach, slack, mass = np.zeros(len(marks)), np.zeros(len(marks)), np.zeros(len(marks))
    np.maximum.at(reach, owner, (family.reach + delta)[split])
    np.maximum.at(slack, owner, (family.slack + delta)[split])
    np.add.at(mass, owner, family.mass[split])
    sizes = np.bincount(family.block[marks], minlength=len(family.bounds) - 1)
    bounds = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
    member = np.where(family.member >= 0, number[landmark[family.member]], -1)
    return Family(family.items[marks], bounds, reach, slack, mass, member)


def _division(family: Family, chosen: NDArray[np.bool_], leader: Indices) -> Division:
    marks = np.flatnonzero(chosen)
    sizes = np.bincount(family.block[marks], minlength=len(family.bounds) - 1)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    leads_to = np.searchsorted(leader, marks)
    alone = np.where(sizes == 0, np.searchsorted(leader, family.bounds[:-1]), -1)
    return Division(family.items[marks], bounds, leads_to, alone)


def _joined(ties: list[Ties]) -> Ties:
    if not ties:
        none = np.zeros(0, np.int32)
        return Ties(none, none, np.zeros(0), np.zeros(0))
    return Ties(
        np.concatenate([t.landmark for t in ties]),
        np.concatenate([t.item for t in ties]),
        np.concatenate([t.weight for t in ties]),
        np.concatenate([t.length for t in ties]),
    )


def expected_pairs(n: float, levels: int) -> float:
    """Expected number of ordered dissimilar pairs of n items after a number of levels, if landmarks divide items like random ones."""
    if levels == 0 or n < SMALLEST:
        return n * max(n - 1, 0)
    marks = n ** (2 / 3) / 2 ** (1 / 3)
    return expected_pairs(marks, levels - 1) + UNEVEN * marks * expected_pairs(n / marks, levels - 1)


def enough_levels(n: int) -> int:
    """The smallest number of levels after which n items have few enough pairs."""
    return next((k for k in range(DEEPEST) if expected_pairs(n, k) <= MOST_PAIRS), DEEPEST)
