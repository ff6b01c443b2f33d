"""as_table and as_matrix: what arrays, lists and sparse matrices become, and what is refused."""

from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.data import Table, as_matrix, as_table
from winkel.errors import InvalidInputError, InvalidParameterError

NUMBERS = np.array([[0, 1, 2], [3, 0, 5]])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bool", "float32"),
        ("int8", "float32"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("uint16", "float32"),
        ("int32", "float32"),
        ("int64", "float32"),
        ("uint64", "float32"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
        ("longdouble", "float64"),
        (">f4", "float32"),
        (">f8", "float64"),
        (">i4", "float32"),
    ],
)
def test_dtypes(dtype, expected):
    given = NUMBERS.astype(dtype)
    result = as_matrix(given)
    assert result.dtype == np.dtype(expected)
    assert result.dtype.isnative
    np.testing.assert_array_equal(result, given)


@pytest.mark.parametrize("value", [2**24 + 1, -(2**24) - 1])
def test_integers_that_float32_cannot_hold_become_float64(value):
    result = as_matrix(np.array([[value, 0], [1, 2]]))
    assert result.dtype == np.float64
    assert result[0, 0] == value
    assert as_matrix(np.array([[np.sign(value) * 2**24, 0], [1, 2]])).dtype == np.float32


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_is_copied_when_nothing_must_change(dtype):
    X = NUMBERS.astype(dtype)
    assert as_matrix(X) is X
    S = sp.csr_array(X)
    assert as_matrix(S) is S
    table = as_table(X)
    assert as_table(table) is table


def test_read_only_and_memory_mapped_data_is_used_in_place(tmp_path):
    X = NUMBERS.astype(np.float32)
    X.flags.writeable = False
    assert as_matrix(X) is X
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(as_matrix(mapped), mapped)


def test_other_layouts_become_c_contiguous():
    X = np.arange(24.0).reshape(4, 6)
    unaligned = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(4, 6)
    for given in (np.asfortranarray(X), X[::-1], X[:, ::2], X.T, unaligned, X.view(np.recarray)):
        result = as_matrix(given)
        assert type(result) is np.ndarray
        assert result.flags.c_contiguous
        assert result.flags.aligned
        np.testing.assert_array_equal(result, given)


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        ([[1, 2], [3, 4]], "float32"),
        (((1, 2.5), (3, 4)), "float64"),
        ([np.array([1, 2]), np.array([3, 4])], "float32"),
        (np.array([[1, 2], [3, True]], dtype=object), "float32"),
        (np.array([[1, 2], [3, 2**30]], dtype=object), "float64"),
        (np.array([[1, 2.5], [Decimal("0.5"), np.int8(4)]], dtype=object), "float64"),
    ],
)
def test_lists_and_arrays_of_python_numbers(given, dtype):
    result = as_matrix(given)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result, np.array(given, dtype=np.float64))


def test_a_forced_dtype():
    assert as_matrix(NUMBERS, dtype="float64").dtype == np.float64
    assert as_matrix(NUMBERS.astype(np.float64), dtype=np.float32).dtype == np.float32
    assert as_matrix(sp.csr_matrix(NUMBERS), dtype="float64").dtype == np.float64
    with pytest.raises(InvalidParameterError, match="float32 or float64; got 'int32'"):
        as_matrix(NUMBERS, dtype="int32")
    with pytest.raises(InvalidParameterError, match="got 'no such type'"):
        as_matrix(NUMBERS, dtype="no such type")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((0, 3)), r"X has 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 2 is required"),
        (np.zeros((1, 3)), r"X has 1 sample\(s\) \(shape=\(1, 3\)\) while a minimum of 2 is required"),
        (np.zeros((3, 0)), r"X has 0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        ([], r"two dimensions.*it has 1"),
        ([1.0, 2.0], r"two dimensions.*it has 1.*reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), r"two dimensions.*it has 3: \(2, 2, 2\)"),
        (3.5, r"two dimensions.*it has 0"),
        (None, r"two dimensions.*it has 0"),
        ({"a": [1, 2]}, r"two dimensions.*it has 0"),
        (np.ones((2, 2), dtype=complex), r"complex numbers"),
        (np.ones((2, 2), dtype="M8[D]"), r"dates"),
        (np.ones((2, 2), dtype="m8[s]"), r"time differences"),
        (np.zeros((2, 2), dtype=[("a", "f8")]), r"records"),
        (np.ma.masked_array(np.ones((2, 2)), mask=[[0, 1], [0, 0]]), r"masked array"),
        ([[1, 2], [3]], r"row 1 \(counted from 0\) has 1 values, and row 0 has 2"),
        ([[1, 2], [3, "four"]], r"row 1, column 1 \(counted from 0\) it has 'four' of type str"),
        (np.array([["1", "2"], ["3", "4"]]), r"row 0, column 0 \(counted from 0\) it has '1' of type str"),
        (np.array([[b"1"], [b"2"]]), r"row 0, column 0 .*of type bytes"),
        ([[1, None], [3, 4]], r"no value \(None\) at row 0, column 1"),
        ([[1, 2j], [object(), 4]], r"row 0, column 1 .*2j of type complex"),
        ([[1, 2], [10**400, 4]], r"row 1, column 0 .*of type int"),
        ("data.csv", r"'data.csv'.*winkel.data.read"),
        (sp.csr_matrix((2, 2), dtype=complex), r"sparse matrix of complex128"),
        (sp.coo_array(np.ones(3)), r"two dimensions.*it has 1"),
    ],
)
def test_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        as_matrix(given)


def test_sizes_that_are_allowed_can_be_set():
    assert as_matrix(np.zeros((1, 3)), min_rows=1).shape == (1, 3)
    assert as_matrix(np.zeros((0, 3)), min_rows=0).shape == (0, 3)
    assert as_matrix(sp.csr_array((0, 3)), min_rows=0).shape == (0, 3)
    with pytest.raises(InvalidInputError, match=r"Y has 3 feature\(s\) .*a minimum of 4 is required"):
        as_matrix(np.zeros((5, 3)), name="Y", min_columns=4)


def test_values_that_are_not_finite_are_named_and_counted():
    X = np.zeros((4, 3))
    X[2, 1] = np.nan
    with pytest.raises(
        InvalidInputError, match=r"X has NaN \(a missing value\) at row 2, column 1 \(counted from 0\)\. "
    ):
        as_matrix(X)
    X[3, 0] = np.inf
    X[3, 2] = -np.inf
    with pytest.raises(InvalidInputError, match=r"row 2, column 1 \(counted from 0\), and 3 values in all"):
        as_matrix(X)
    with pytest.raises(InvalidInputError, match="has -infinity at row 0, column 0"):
        as_matrix(X[3:, ::-1].copy(), min_rows=1)
    with pytest.raises(InvalidInputError, match="NaN"):
        as_matrix(np.array([[np.float16("nan")], [1]], dtype=np.float16))


@pytest.mark.skipif(
    np.finfo(np.longdouble).maxexp <= 1024, reason="long double is no wider than float64 here"
)
def test_extended_precision_beyond_float64_is_named():
    with pytest.raises(InvalidInputError, match="has infinity at row 0, column 1"):
        as_matrix(np.array([[1, np.longdouble(2) ** 2000], [1, 2]]))


def test_large_values():
    """Squared distances up to 4·m·x² must stay finite: float32 moves to float64, then there is an error."""
    safe = np.full((2, 4), 4e18, dtype=np.float32)
    safe[1] *= -1
    assert as_matrix(safe).dtype == np.float32
    assert np.isfinite(((safe[0] - safe[1]) ** 2).sum())
    large = safe * np.float32(1.5)
    assert as_matrix(large).dtype == np.float64
    np.testing.assert_array_equal(as_matrix(large), large)
    assert as_matrix(sp.csr_matrix(large)).dtype == np.float64
    with pytest.raises(
        InvalidInputError, match=r"X is too large at row 0, column 0 .*one of 8 such values.*float32"
    ):
        as_matrix(large, dtype="float32")
    with pytest.raises(InvalidInputError, match=r"too large at row 1, column 2 .*: -1e\+200\. .*float64"):
        as_matrix(np.array([[1.0, 2, 3], [4, 5, -1e200]]))
    with pytest.raises(InvalidInputError, match=r"too large at row 0, column 1 .*: 1e\+300"):
        as_matrix(np.array([[1.0, 1e300], [4, 5]]), dtype="float32")


@pytest.mark.parametrize("form", ["coo", "csc", "bsr", "lil", "dok", "dia", "csr"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_every_sparse_form_becomes_csr(form, kind):
    given = getattr(sp, f"{form}_{kind}")(NUMBERS.astype(np.float64))
    result = as_matrix(given)
    assert result.format == "csr"
    assert isinstance(result, sp.sparray) == (kind == "array")
    assert result.has_canonical_format
    np.testing.assert_array_equal(result.toarray(), NUMBERS)


def test_repeated_and_unsorted_entries_are_put_in_order_without_touching_the_original():
    data, indices = np.array([100, 1, 100, 7], dtype=np.int8), np.array([2, 0, 2, 1], dtype=np.int32)
    given = sp.csr_array((data, indices, np.array([0, 3, 4], dtype=np.int32)), shape=(2, 3))
    result = as_matrix(given)
    np.testing.assert_array_equal(
        result.toarray(), [[1, 0, 200], [0, 7, 0]]
    )  # 200 does not wrap around in int8
    np.testing.assert_array_equal(result.indices, [0, 2, 1])
    np.testing.assert_array_equal(given.data, [100, 1, 100, 7])
    np.testing.assert_array_equal(given.indices, [2, 0, 2, 1])


def test_spare_room_at_the_end_of_csr_arrays_is_ignored():
    given = sp.csr_array(np.eye(3))
    given.data = np.append(given.data, np.nan)
    given.indices = np.append(given.indices, np.int32(99))
    np.testing.assert_array_equal(as_matrix(given).toarray(), np.eye(3))


def test_bad_values_in_sparse_matrices_are_named_by_row_and_column():
    dense = np.zeros((5, 6))
    dense[1, 2], dense[3, 4], dense[4, 0] = 1.0, np.nan, np.inf
    for given in (sp.csr_matrix(dense), sp.csc_array(dense), sp.coo_matrix(dense)):
        with pytest.raises(InvalidInputError, match=r"NaN.* at row 3, column 4 .* and 2 values in all"):
            as_matrix(given)


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 9], [0, 1, 2]),
        ([0, -1], [0, 1, 2]),
        ([0, 1], [0, 2, 1]),
        ([0, 1], [1, 1, 2]),
        ([0, 1], [0, 1, 3]),
    ],
)
def test_broken_sparse_matrices_are_refused(indices, indptr):
    for form in ("csr", "csc"):
        given = getattr(sp, f"{form}_matrix")(np.eye(2))
        given.indices, given.indptr = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
        with pytest.raises(InvalidInputError, match=f"broken {form.upper()} matrix"):
            as_matrix(given)


def test_sparse_can_be_refused():
    with pytest.raises(InvalidInputError, match=r"Y is sparse.*toarray"):
        as_matrix(sp.csr_matrix(NUMBERS), name="Y", allow_sparse=False)


def test_picking_columns_needs_names():
    with pytest.raises(InvalidParameterError, match=r"X is a ndarray. Slice it instead"):
        as_table(NUMBERS, label=0)


def test_table_checks_the_lengths_of_its_names():
    assert Table(np.zeros((3, 2)), columns=("a", "b")).shape == (3, 2)
    with pytest.raises(InvalidInputError, match=r"ids has 2 entries; 3 are needed"):
        Table(np.zeros((3, 2)), ids=np.arange(2))
    with pytest.raises(InvalidInputError, match=r"columns has 3 entries; 2 are needed"):
        Table(np.zeros((3, 2)), columns=("a", "b", "c"))
