"""pandas, polars, Arrow and AnnData objects: equal values, names kept, columns without numbers named."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.data import as_matrix, as_table
from winkel.errors import InvalidInputError, InvalidParameterError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
anndata = pytest.importorskip("anndata")

COLUMNS = {"height": [1.5, 2.5, 3.5], "count": [1, 2, 3], "flag": [True, False, True]}
VALUES = np.array([[1.5, 1, 1], [2.5, 2, 0], [3.5, 3, 1]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_mixed_columns(make):
    table = as_table(make(COLUMNS))
    assert table.values.dtype == np.float64
    assert table.values.flags.c_contiguous
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.columns == ("height", "count", "flag")
    assert table.ids is None
    assert table.labels is None


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_label_id_and_feature_columns_are_picked_by_name_or_position(make):
    frame = make({"name": ["x", "y", "z"], **COLUMNS, "class": [3, 1, 2]})
    table = as_table(frame, label="class", id=0)
    np.testing.assert_array_equal(table.labels, [3, 1, 2])
    assert table.ids.tolist() == ["x", "y", "z"]
    assert table.columns == ("height", "count", "flag")
    picked = as_table(frame, columns=["count", 1], label=-1)
    np.testing.assert_array_equal(picked.values, VALUES[:, [1, 0]])
    assert picked.columns == ("count", "height")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_without_numbers_are_named(make):
    with pytest.raises(
        InvalidInputError, match=r"X has 1 column without numbers: 'town' \(.*\)\. Name such a column"
    ):
        as_matrix(make({"height": [1.0, 2.0], "town": ["Ulm", "Bonn"]}))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_values_are_named_by_row_and_column(make):
    with pytest.raises(InvalidInputError, match=r"NaN \(a missing value\) at row 1, column 1 \('b'\)"):
        as_matrix(make({"a": [1.0, 2.0], "b": [1.0, None]}))


def test_wrong_picks_are_refused():
    frame = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["a", "b", "b"])
    with pytest.raises(
        InvalidParameterError, match="label='z' does not name one column: X has 'a', 'b', 'b'"
    ):
        as_table(frame, label="z")
    with pytest.raises(InvalidParameterError, match="2 columns of that name"):
        as_table(frame, columns=["b"])
    with pytest.raises(InvalidParameterError, match="id=3 is not a position: X has 3 columns, 0 to 2"):
        as_table(frame, id=3)
    with pytest.raises(InvalidInputError, match=r"X has 0 feature\(s\)"):
        as_table(frame, columns=[])


def test_pandas_index_becomes_ids_unless_it_only_counts():
    assert as_table(pd.DataFrame({"a": [1, 2]})).ids is None
    np.testing.assert_array_equal(as_table(pd.DataFrame({"a": [1, 2, 3]})[1:]).ids, [1, 2])
    named = as_table(pd.DataFrame({"a": [1, 2]}, index=["p", "q"])).ids
    assert named.tolist() == ["p", "q"]
    assert named.dtype.kind == "U"  # no Python objects, so that it can be saved without pickle
    with pytest.raises(InvalidInputError, match=r"row 1 \(id 'q'\), column 0 \('a'\)"):
        as_matrix(pd.DataFrame({"a": [1, np.inf]}, index=["p", "q"]))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("Int8", "float32"),
        ("Int64", "float32"),
        ("boolean", "float32"),
        ("Float32", "float32"),
        ("Float64", "float64"),
        ("float[pyarrow]", "float32"),
        ("int64[pyarrow]", "float32"),
        ("Sparse[float64]", "float64"),
        ("object", "float32"),
    ],
)
def test_pandas_extension_types(dtype, expected):
    frame = pd.DataFrame({"a": [1, 0, 1], "b": [0, 1, 1]}).astype(dtype)
    result = as_matrix(frame)
    assert result.dtype == np.dtype(expected)
    dense = result.toarray() if sp.issparse(result) else result
    np.testing.assert_array_equal(dense, [[1, 0], [0, 1], [1, 1]])


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_missing_values_in_pandas_extension_types(dtype):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, None], dtype=dtype)})
    with pytest.raises(InvalidInputError, match=r"row 1, column 1 \('b'\)"):
        as_matrix(frame)


def test_pandas_columns_that_hold_no_numbers():
    frame = pd.DataFrame(
        {
            "a": [1, 2],
            "kind": pd.Categorical([1, 2]),
            "text": pd.array(["x", "y"], dtype="string"),
            "day": pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "z": [1j, 2j],
        }
    )
    with pytest.raises(
        InvalidInputError, match=r"4 columns without numbers: 'kind' \(category\), 'text' \(string\), 'day'"
    ):
        as_matrix(frame)
    table = as_table(frame[["a", "kind", "text"]], label="kind", id="text")
    np.testing.assert_array_equal(table.labels, [1, 2])
    assert table.ids.tolist() == ["x", "y"]


def test_a_text_cell_among_numbers_is_named():
    with pytest.raises(
        InvalidInputError, match=r"Column 'b': .*row 2 \(counted from 0\) it has 'oops' of type str"
    ):
        as_matrix(pd.DataFrame({"a": [1.0, 2, 3], "b": [1, 2, "oops"]}))


def test_sparse_pandas_frames_are_not_densified():
    result = as_matrix(pd.DataFrame.sparse.from_spmatrix(sp.eye_array(50, format="csr")))
    assert sp.issparse(result)
    assert result.nnz == 50
    filled_with_one = pd.DataFrame({"a": pd.arrays.SparseArray([1.0, 2.0, 1.0], fill_value=1.0)})
    np.testing.assert_array_equal(as_matrix(filled_with_one), [[1], [2], [1]])


def test_polars_types():
    frame = pl.DataFrame(
        {"a": [1, 2], "b": [Decimal("1.5"), Decimal("2.5")]}, schema={"a": pl.UInt8, "b": pl.Decimal(10, 2)}
    )
    np.testing.assert_array_equal(as_matrix(frame), [[1, 1.5], [2, 2.5]])
    with pytest.raises(InvalidInputError, match=r"row 1, column 0 \('a'\)"):
        as_matrix(pl.DataFrame({"a": [1, None]}))
    with pytest.raises(InvalidInputError, match=r"Column 'a': X has no value \(None\) at row 1"):
        as_matrix(pl.DataFrame({"a": [True, None]}))
    with pytest.raises(InvalidInputError, match=r"'a' \(Categorical"):
        as_matrix(pl.DataFrame({"a": ["x", "y"]}, schema={"a": pl.Categorical}))
    with pytest.raises(InvalidInputError, match=r"call \.collect\(\)"):
        as_matrix(pl.LazyFrame({"a": [1, 2]}))


@pytest.mark.parametrize("series", [pd.Series([1, 2]), pl.Series([1, 2])])
def test_a_single_column_is_refused(series):
    with pytest.raises(InvalidInputError, match=r"Series of length 2.*\.to_frame\(\)"):
        as_matrix(series)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_anndata(make):
    obs = pd.DataFrame({"type": pd.Categorical(["T", "B", "T"]), "code": [7, 8, 9]}, index=["c1", "c2", "c3"])
    data = anndata.AnnData(
        make(VALUES.astype(np.float32)), obs=obs, var=pd.DataFrame(index=["g1", "g2", "g3"])
    )
    table = as_table(data, label="type")
    dense = table.values.toarray() if sp.issparse(table.values) else table.values
    np.testing.assert_array_equal(dense, VALUES)
    assert sp.issparse(table.values) == (make is not np.asarray)
    assert table.ids.tolist() == ["c1", "c2", "c3"]
    assert table.columns == ("g1", "g2", "g3")
    assert table.labels.tolist() == ["T", "B", "T"]
    view = as_table(data[1:], columns=["g2"], id="code")
    assert view.shape == (2, 1)
    np.testing.assert_array_equal(view.ids, [8, 9])
    with pytest.raises(
        InvalidParameterError, match=r"label='age' does not name one column: X.obs has 'type', 'code'"
    ):
        as_table(data, label="age")


def test_anndata_on_disk_and_without_values(tmp_path):
    anndata.AnnData(VALUES.astype(np.float32)).write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    np.testing.assert_array_equal(as_matrix(backed), VALUES)
    backed.file.close()
    with pytest.raises(InvalidInputError, match=r"without X\..*obsm"):
        as_matrix(anndata.AnnData(obs=pd.DataFrame(index=["a", "b"])))


def test_optional_packages_are_not_imported():
    code = (
        "import sys, numpy, winkel.data as d; d.as_matrix(numpy.eye(3)); "
        "print([p for p in ('pandas', 'polars', 'pyarrow', 'anndata', 'sklearn') if p in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
