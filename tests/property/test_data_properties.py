"""Random matrices: bad places are named right, all forms agree, a second pass changes nothing."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from winkel.data import arrays, as_matrix
from winkel.data.profile import profile
from winkel.errors import InvalidInputError

DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64")
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=8)


def finite(dtype):
    """Values of a dtype that as_matrix accepts."""
    if np.dtype(dtype).kind == "f":
        limit = 2.0**15
        return st.floats(-limit, limit, width=8 * np.dtype(dtype).itemsize)
    return hnp.from_dtype(np.dtype(dtype))


def matrices(dtypes=DTYPES):
    return st.sampled_from(dtypes).flatmap(lambda dtype: hnp.arrays(dtype, SHAPES, elements=finite(dtype)))


@settings(deadline=None)
@given(X=matrices(("float32", "float64")), data=st.data())
def test_the_first_bad_place_is_named(X, data):
    places = data.draw(st.lists(st.integers(0, X.size - 1), min_size=1, max_size=4, unique=True))
    bad = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    X = X.copy()
    X.flat[places] = bad
    i, j = divmod(min(places), X.shape[1])
    count = "" if len(places) == 1 else f", and {len(places)} values in all are not finite"
    message = re.escape(f"at row {i}, column {j} (counted from 0){count}. ")
    # Small blocks too, so that the place is right when it lies beyond the first block.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BLOCK_VALUES", data.draw(st.sampled_from([1, 7, 2**18])))
        for form in (X, np.asfortranarray(X), sp.csr_array(X), sp.csc_matrix(X)):
            with pytest.raises(InvalidInputError, match=message):
                as_matrix(form)


@settings(deadline=None)
@given(X=matrices())
def test_as_matrix_is_idempotent_and_leaves_its_input_alone(X):
    before = X.copy()
    once = as_matrix(X)
    assert as_matrix(once) is once
    np.testing.assert_array_equal(X, before)
    sparse = as_matrix(sp.coo_array(X.astype(np.float64)))
    assert as_matrix(sparse) is sparse


@settings(deadline=None)
@given(X=matrices())
def test_values_are_kept_exactly_unless_no_float_holds_them(X):
    result = as_matrix(X)
    if X.dtype == np.int64 and np.abs(X.astype(np.float64)).max() > 2**53:
        np.testing.assert_array_equal(result, X.astype(np.float64))
    else:
        np.testing.assert_array_equal(result.astype(np.float64), X.astype(np.float64))
        assert all(int(a) == int(b) for a, b in zip(result.flat, X.flat) if X.dtype.kind != "f")


@settings(deadline=None)
@given(X=matrices())
def test_frames_lists_and_sparse_matrices_of_the_same_numbers_agree(X):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = as_matrix(X)
    columns = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    for form in (pd.DataFrame(X), pd.DataFrame(columns), np.asfortranarray(X), X.astype(object)):
        np.testing.assert_array_equal(as_matrix(form), expected)
    if X.dtype != np.float16:  # polars and SciPy hold no half precision
        np.testing.assert_array_equal(as_matrix(pl.DataFrame(columns)), expected)
        np.testing.assert_array_equal(as_matrix(sp.csr_array(X)).toarray(), expected)
    np.testing.assert_array_equal(as_matrix(X.tolist()), expected)


@settings(deadline=None)
@given(X=hnp.arrays("float32", SHAPES, elements=st.sampled_from([0.0, -0.0, 1.0])))
def test_profile_agrees_with_plain_counts_dense_and_sparse(X):
    found = profile(X)
    assert found == profile(as_matrix(sp.csr_array(X)))
    assert found.duplicate_rows == len(X) - len({tuple(row) for row in X.tolist()})
    assert found.constant_columns == sum(len(set(column)) == 1 for column in X.T.tolist())
    assert found.constant_rows == sum(len(set(row)) == 1 for row in X.tolist())
    assert found.zero_rows == sum(not any(row) for row in X.tolist())
