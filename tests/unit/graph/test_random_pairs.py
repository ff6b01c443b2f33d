from __future__ import annotations

import numpy as np
import pytest

from winkel.errors import InvalidParameterError
from winkel.graph.edges import random_pairs as drawn
from winkel.run import Run


def random_pairs(n, count, seed, *, avoid=None, n_jobs=1):
    return drawn(n, count, Run(seed=seed, n_jobs=n_jobs), avoid=avoid)


def keys(pairs, n):
    return pairs[:, 0].astype(np.int64) * n + pairs[:, 1]


def every_pair(n):
    return np.stack(np.triu_indices(n, 1), axis=1)


@pytest.mark.parametrize("count", [0, 1, 10, 300, 800, 990])
def test_pairs_are_different_ordered_and_none_is_barred(count):
    n = 50
    avoid = every_pair(n)[::5]  # 245 of 1225 pairs
    if count > 980:
        with pytest.raises(InvalidParameterError, match="980"):
            random_pairs(n, count, 0, avoid=avoid)
        return
    pairs = random_pairs(n, count, 3, avoid=avoid)
    assert pairs.shape == (count, 2)
    assert pairs.dtype == np.int32
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert (np.diff(keys(pairs, n)) > 0).all()
    assert not np.isin(keys(pairs, n), keys(avoid, n)).any()


def test_all_free_pairs_when_all_are_wanted():
    avoid = every_pair(9)[3:20]
    np.testing.assert_array_equal(
        random_pairs(9, 19, 1, avoid=avoid), np.delete(every_pair(9), np.arange(3, 20), axis=0)
    )
    np.testing.assert_array_equal(random_pairs(4, 6, 1), every_pair(4))


@pytest.mark.parametrize("count", [20, 70])  # sampled with rejection, and by leaving out
def test_uniform_over_the_free_pairs(count):
    n, draws = 15, 3000
    avoid = every_pair(n)[::7]
    free = 105 - len(avoid)
    seen = np.zeros(n * n)
    for seed in range(draws):
        seen[keys(random_pairs(n, count, seed, avoid=avoid), n)] += 1
    counts = np.delete(seen[keys(every_pair(n), n)], np.arange(0, 105, 7))
    expected = draws * count / free
    # Each pair is chosen with probability p, so its count has variance draws·p(1−p); the sum of squares of the
    # normed deviations has mean `free` and a standard deviation near √(2·free).
    statistic = np.sum((counts - expected) ** 2) / (expected * (1 - count / free))
    assert abs(statistic - free) < 5 * np.sqrt(2 * free)


def test_items_are_hit_alike_when_there_are_many():
    n, count = 3000, 60_000
    times = np.bincount(random_pairs(n, count, 5).ravel(), minlength=n)
    expected = 2 * count / n
    assert abs(np.sum((times - expected) ** 2 / expected) - n) < 5 * np.sqrt(2 * n)


@pytest.mark.parametrize("count", [200, 20_000])
def test_same_bytes_for_any_threads_and_other_seeds_differ(count):
    n = 400
    first = random_pairs(n, count, 9, n_jobs=1)
    for jobs in (2, 3):
        assert random_pairs(n, count, 9, n_jobs=jobs).tobytes() == first.tobytes()
    assert random_pairs(n, count, 10).tobytes() != first.tobytes()


@pytest.mark.parametrize("count", [-1, 7])
def test_impossible_counts(count):
    with pytest.raises(InvalidParameterError, match="4 items there are only 6"):
        random_pairs(4, count, 0)
