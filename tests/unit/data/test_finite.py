"""The finite check: it finds the first bad value across block borders, and what it calls places."""

import math

import numpy as np
import pytest

from winkel.data import arrays
from winkel.data.arrays import Labels, check_finite, check_magnitude, magnitude, overflow_limit
from winkel.errors import InvalidInputError


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_VALUES", 6)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("columns", [1, 3, 7])
def test_first_bad_value_in_every_place(columns):
    for place in range(5 * columns):
        X = np.zeros((5, columns))
        X.flat[place] = np.nan
        X.flat[-1] = np.inf if place < 5 * columns - 1 else np.nan
        i, j = divmod(place, columns)
        with pytest.raises(InvalidInputError, match=rf"X has NaN .* at row {i}, column {j} \(counted"):
            check_finite(X, Labels().cell, "X")


@pytest.mark.usefixtures("small_blocks")
def test_magnitude():
    X = np.arange(-20.0, 10.0).reshape(10, 3)
    assert magnitude(X) == 20.0
    assert magnitude(-X) == 20.0
    assert magnitude(np.zeros((0, 3))) == 0.0
    assert magnitude(np.zeros((3, 0))) == 0.0
    X[9, 2] = np.nan
    assert math.isnan(magnitude(X))
    X[9, 2] = -np.inf
    assert math.isinf(magnitude(X))


def test_overflow_limit_is_where_squared_distances_stop_being_finite():
    for dtype in (np.float32, np.float64):
        limit = overflow_limit(np.dtype(dtype), 10)
        row = np.full(10, limit * 0.999, dtype=dtype)
        assert np.isfinite(((row - -row) ** 2).sum())
        with np.errstate(over="ignore"):
            assert np.isinf((((row - -row) * dtype(1.01)) ** 2).sum())


def test_values_within_the_limit_pass():
    X = np.array([[3.0, -4.0]])
    check_magnitude(X, 4.0, X.dtype, Labels().cell, "X")
    with pytest.raises(InvalidInputError, match=r"column 1.*: -4"):
        check_magnitude(X, 3.5, X.dtype, Labels().cell, "X")


def test_labels_name_cells():
    assert Labels().cell(2, 1) == "row 2, column 1"
    labels = Labels("X", np.array(["p", "q"]), ("a", "b"))
    assert labels.cell(1, 0) == "row 1 (id 'q'), column 0 ('a')"
    assert Labels("X", np.array([7, 8])).row(1) == "row 1 (id 8)"
