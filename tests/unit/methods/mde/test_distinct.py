from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.data import as_table, table
from winkel.data.table import has_equal_rows, hash_rows
from winkel.methods.mde.distinct import Items, find_items


def rows(n=50, m=4, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


def test_rows_that_all_differ_are_items_as_they_stand():
    assert find_items(as_table(rows())) is None
    assert find_items(as_table(rows()), np.ones(50)) is None
    assert find_items(as_table(rows(m=200))) is None
    assert not has_equal_rows(rows(m=200))
    assert has_equal_rows(np.vstack([rows(m=200), rows(1, m=200)]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("m", [3, 200])
def test_equal_rows_are_one_item(dtype, form, m):
    X = np.round(rows(40, m), 1).astype(dtype)
    X = np.vstack([X, X[[5, 7]], X[5:6]])
    items = find_items(as_table(form(X)))
    expected, inverse = np.unique(X, axis=0, return_inverse=True)
    assert len(items.rows) == len(expected)
    # Rows are of one item exactly where they are equal.
    np.testing.assert_array_equal(items.of[:, None] == items.of, inverse.ravel()[:, None] == inverse.ravel())
    np.testing.assert_array_equal(X[items.rows[items.of]], X)
    assert (items.rows[items.of] <= np.arange(43)).all()  # the first of equals stands for them
    np.testing.assert_array_equal(items.weights, np.bincount(items.of))


def test_zeros_of_either_sign_are_equal():
    items = find_items(as_table(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0]])))
    np.testing.assert_array_equal(items.of[:2], items.of[0])


def test_items_do_not_depend_on_the_order_of_rows():
    X, weights = rows(), np.random.default_rng(1).integers(0, 4, size=50).astype(float)
    order = np.random.default_rng(2).permutation(50)
    one = find_items(as_table(X), weights)
    other = find_items(as_table(X[order]), weights[order])
    np.testing.assert_array_equal(X[one.rows], X[order][other.rows])
    np.testing.assert_array_equal(one.weights, other.weights)
    repeated = X.repeat(weights.astype(int), axis=0)
    third = find_items(as_table(repeated))
    np.testing.assert_array_equal(X[one.rows], repeated[third.rows])
    np.testing.assert_array_equal(one.weights, third.weights)


def test_rows_of_weight_zero_are_of_no_item_and_the_others_stay_in_order():
    weights = np.ones(50)
    weights[[0, 9]] = 0
    items = find_items(as_table(rows()), weights)
    np.testing.assert_array_equal(items.rows, np.delete(np.arange(50), [0, 9]))
    np.testing.assert_array_equal(items.absent, [0, 9])
    values = items.spread(np.arange(96.0).reshape(48, 2))
    np.testing.assert_array_equal(values[[0, 9]], 0)
    np.testing.assert_array_equal(values[1], [0, 1])


def test_in_order():
    X = np.vstack([rows(5), rows(2)])
    items = find_items(as_table(X), in_order=True)
    np.testing.assert_array_equal(items.rows, np.arange(5))
    np.testing.assert_array_equal(items.of, [0, 1, 2, 3, 4, 0, 1])


def test_rows_that_share_a_code_by_chance_stay_apart(monkeypatch):
    monkeypatch.setattr(table, "hash_rows", lambda values, n=None: np.zeros(values.shape[0], dtype=np.uint64))
    X = np.vstack([rows(4), rows(1)])
    items = find_items(as_table(X))
    assert len(items.rows) == 4
    np.testing.assert_array_equal(X[items.rows[items.of]], X)


def test_codes_of_few_columns_and_of_sparse_rows():
    X = np.round(rows(30, 100), 0)
    np.testing.assert_array_equal(hash_rows(X), hash_rows(sp.csr_matrix(X)))
    assert len(np.unique(hash_rows(X, 64))) == 30
    changed = X.copy()
    changed[:, 17] += 1
    assert (hash_rows(changed) != hash_rows(X)).all()


def test_whole_numbers_have_different_codes():
    X = np.stack(np.meshgrid(np.arange(300.0), np.arange(300.0)), axis=-1).reshape(-1, 2)
    for dtype in (np.float32, np.float64):
        assert len(np.unique(hash_rows(X.astype(dtype)))) == len(X)


def test_numbered_items():
    items = Items.numbered(np.array([0, 1, -1, 1, 2]))
    np.testing.assert_array_equal(items.rows, [0, 1, 4])
    np.testing.assert_array_equal(items.weights, [1, 2, 1])
    assert not items.trivial
    assert Items.numbered(np.arange(4)).trivial
