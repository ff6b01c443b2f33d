"""Few cases instead of all combinations: each value of each factor meets each value of every other one at least once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairwise(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Cases, one value of each factor, that hold every pair of values of two factors. Chosen greedily, always the same."""
    sizes = [range(len(factor)) for factor in factors]
    open_pairs = {
        ((a, i), (b, j)) for a, b in combinations(range(len(factors)), 2) for i in sizes[a] for j in sizes[b]
    }
    cases = []
    while open_pairs:
        case = max(product(*sizes), key=lambda case: len(_pairs(case) & open_pairs))
        open_pairs -= _pairs(case)
        cases.append(tuple(factor[i] for factor, i in zip(factors, case, strict=True)))
    return cases


def _pairs(case: tuple[int, ...]) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    return set(combinations(enumerate(case), 2))
