from __future__ import annotations

import numpy as np
import pytest

from winkel.errors import InvalidParameterError
from winkel.run import Stream
from winkel.solvers.trace import hutch_plus_plus


def matrix(eigenvalues, seed=0):
    n = len(eigenvalues)
    rng = np.random.Generator(np.random.Philox(key=seed))
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return (q * eigenvalues) @ q.T


def estimate(A, seed, products=12):
    return hutch_plus_plus(lambda v: A @ v, len(A), Stream(seed), products)[0]


@pytest.mark.parametrize("rank", [1, 4])
def test_exact_for_low_rank(rank):
    A = matrix(np.r_[np.arange(1.0, rank + 1), np.zeros(60 - rank)])
    assert estimate(A, 3) == pytest.approx(rank * (rank + 1) / 2, rel=1e-10)


def test_exact_for_a_matrix_of_zeros_and_one_smaller_than_the_sketch():
    assert estimate(np.zeros((9, 9)), 0) == 0
    A = matrix(np.array([1.0, -2.0]))
    assert estimate(A, 0) == pytest.approx(-1.0)


def test_error_is_that_of_the_rest_and_falls_with_products():
    A = matrix(1 / np.arange(1.0, 201) ** 1.5)
    trace = np.trace(A)
    few, many = (
        np.array([estimate(A, seed, products) for seed in range(60)]) - trace for products in (12, 60)
    )
    # The estimate is unbiased given the span, whose variance is at most 2‖rest‖²_F / k for signs.
    tail = np.sqrt(2 * np.sum(np.arange(5.0, 201) ** -3.0) / 4)
    assert np.sqrt(np.mean(few**2)) < 2 * tail
    assert abs(few.mean()) < 3 * few.std() / np.sqrt(60)
    assert np.abs(many).mean() < 0.3 * np.abs(few).mean()


def test_frobenius_norm_is_estimated_too():
    A = matrix(np.linspace(-1, 1, 300))
    norm = hutch_plus_plus(lambda v: A @ v, 300, Stream(1))[1]
    assert norm == pytest.approx(np.linalg.norm(A), rel=0.2)


def test_counts_its_products():
    A, calls = matrix(np.arange(1.0, 31)), []
    hutch_plus_plus(lambda v: calls.append(1) or A @ v, 30, Stream(0), 10)
    assert len(calls) <= 10
    with pytest.raises(InvalidParameterError, match="integer of at least 3"):
        hutch_plus_plus(lambda v: v, 3, Stream(0), 2)
