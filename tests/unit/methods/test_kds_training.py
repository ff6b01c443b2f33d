"""Starts, the dictionary step, batches, and the table of errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.methods.kds import Coder, encode, error_by_atoms
from winkel.methods.kds.coding import weighted_sums
from winkel.methods.kds.dictionary import reseed, spread_rows, start_atoms
from winkel.methods.kds.training import ArrayBatches, StreamBatches, Training, first_rows, train
from winkel.run import Run

X = load_digits().data[:300]


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def test_spread_rows_meet_every_far_cluster():
    centers = 1000.0 * np.eye(8)
    rows = np.repeat(centers, 40, axis=0) + rng().normal(size=(320, 8))
    for seed in range(10):
        assert set(spread_rows(rows, 8, Run(seed=seed)) // 40) == set(range(8))


def test_spread_rows_prefer_distance_by_its_square():
    # From 0 the rows 1 and 3 have odds 1 : 9.
    rows = np.array([[0.0], [1.0], [3.0]])
    second = [spread_rows(rows, 2, Run(seed=seed)) for seed in range(1000)]
    second = [pair[1] for pair in second if pair[0] == 0]
    assert np.mean(np.array(second) == 2) == pytest.approx(0.9, abs=0.05)  # three deviations


def test_starts_are_rows_and_depend_on_the_seed():
    for init in ("kmeans++", "random"):
        start = start_atoms(X, 30, init, Run(seed=0))
        assert len(np.unique(start, axis=0)) == 30
        assert all((row == X).all(axis=1).any() for row in start)
        assert start.tobytes() != start_atoms(X, 30, init, Run(seed=1)).tobytes()
    twins = np.repeat(X[:3], 10, axis=0)
    assert len(np.unique(start_atoms(twins, 6, "kmeans++", Run(seed=0)), axis=0)) == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weighted_sums(dtype):
    rows = X.astype(dtype)
    codes = encode(rows, X[:25], Coder(0.1)).matrix
    center = X.mean(axis=0)
    expected = codes.toarray().T @ (rows - center)
    sums = weighted_sums(codes, rows, center, Run())
    np.testing.assert_allclose(sums, expected, atol=1e-8)
    assert weighted_sums(codes, rows, center, Run(n_jobs=3)).tobytes() == sums.tobytes()


def test_reseeding_takes_the_worst_rows_and_nothing_for_perfect_codes():
    objective = np.zeros(300)
    objective[[7, 30]] = [1.0, 2.0]
    moved = reseed(X[:10], np.array([2, 5, 6]), X, objective)
    np.testing.assert_array_equal(moved[2], X[30])
    np.testing.assert_array_equal(moved[5], X[7])
    np.testing.assert_array_equal(moved[[0, 6]], X[[0, 6]])


def test_array_batches_hold_every_row_once_in_a_new_order():
    batches = ArrayBatches(np.arange(103.0)[:, None], 25, Run())
    walks = [np.concatenate(list(batches.epoch(number))).ravel() for number in range(3)]
    for walk in walks:
        np.testing.assert_array_equal(np.sort(walk), np.arange(103))
    assert walks[0].tolist() != walks[1].tolist() != walks[2].tolist()
    assert [len(batch) for batch in batches.epoch(0)] == [25, 25, 25, 25, 3]
    assert len(first_rows(batches, 30)) == 50


def test_streams_are_checked():
    with pytest.raises(InvalidInputError, match="only be iterated once"):
        StreamBatches(iter([X]))
    assert sum(len(batch) for batch in StreamBatches([X, X[:5]]).epoch(3)) == 305


def test_minibatches_of_everything_are_one_turn():
    # One batch with all rows and nothing remembered: the closed form for its codes, as by turns.
    turns, batch = (
        train(X, Training(20, Coder(0.5), method, X[:20], batch_size=300, max_iter=1, tol=0.0), Run())
        for method in ("alternating", "minibatch")
    )
    np.testing.assert_allclose(batch.atoms, turns.atoms, atol=1e-8)


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_error_falls_with_atoms_and_prints_as_a_table():
    table = error_by_atoms(X, (2, 10, 40), locality=0.1, random_state=0)
    assert (np.diff(table.error) < 0).all()
    assert (np.diff(table.objective) < 0).all()
    assert table.error[0] < 1
    lines = str(table).splitlines()
    assert len(lines) == 4
    assert lines[0].split()[:3] == ["atoms", "objective", "error"]
    assert lines[2].split()[0] == "10"
    with pytest.raises(InvalidParameterError, match=r"n_atoms must be an integer in \[1, 300\]; got 301"):
        error_by_atoms(X, (301,))
