"""The list of cases that stands for all combinations."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from ..pairwise import pairwise


@pytest.mark.parametrize("sizes", [(2,), (2, 3), (9, 7, 2, 2), (3, 3, 3), (4, 1, 2)])
def test_every_pair_of_values_is_there_and_few_cases_are(sizes):
    factors = [[f"{name}{i}" for i in range(size)] for name, size in zip("abcd", sizes)]
    cases = pairwise(*factors)
    for (i, one), (j, other) in combinations(enumerate(factors), 2):
        assert {(case[i], case[j]) for case in cases} == set(product(one, other))
    two_largest = sorted([1, *sizes])[-2:]
    assert len(cases) <= 1.5 * two_largest[0] * two_largest[1]
