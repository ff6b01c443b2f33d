"""read: every format gives the same numbers; damage and ambiguity are told with their place."""

import gzip
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.data import read
from winkel.errors import InvalidInputError, InvalidParameterError, MissingDependencyError, MissingFileError

X = np.array([[0.5, 1.0], [2.0, -3.25], [1e-3, 4.0]])


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_npy(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, X.astype(np.float32))
    assert read(path).values.dtype == np.float32
    np.testing.assert_array_equal(read(str(path)).values, X.astype(np.float32))
    with pytest.raises(InvalidParameterError, match="without named columns"):
        read(path, label="y")
    with pytest.raises(InvalidParameterError, match=r"key picks an array of an .npz file"):
        read(path, key="X")


def test_npz_picks_the_matrix(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=X, other=np.eye(4), y=np.array(["u", "v", "w"]), number=np.arange(3))
    table = read(path, label="y", id="number")
    np.testing.assert_array_equal(table.values, X)
    assert table.labels.tolist() == ["u", "v", "w"]
    np.testing.assert_array_equal(table.ids, [0, 1, 2])
    assert read(path, key="other").shape == (4, 4)
    with pytest.raises(InvalidParameterError, match=r"key='Z' names no array .*'X', 'other', 'y', 'number'"):
        read(path, key="Z")
    with pytest.raises(
        InvalidInputError, match=r"label='y' .*shape \(3,\); one value for each of the 4 rows"
    ):
        read(path, key="other", label="y")
    np.savez(path, data=X, y=np.arange(3))
    np.testing.assert_array_equal(read(path).values, X)
    np.savez(path, a=X, b=X)
    with pytest.raises(InvalidInputError, match=r"has 2 matrices \('a', 'b'\).*key="):
        read(path)
    np.savez(path, y=np.arange(3))
    with pytest.raises(InvalidInputError, match="has no matrix"):
        read(path)


def test_npz_of_scipy(tmp_path):
    path = tmp_path / "s.npz"
    sp.save_npz(path, sp.csc_matrix(X))
    table = read(path)
    assert table.values.format == "csr"
    np.testing.assert_array_equal(table.values.toarray(), X)


def test_nothing_is_unpickled(tmp_path):
    np.save(tmp_path / "o.npy", np.array([[1, "a"], [2, None]], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInputError, match="Python objects"):
        read(tmp_path / "o.npy")
    np.savez(tmp_path / "o.npz", X=np.array([[1, "a"], [2, None]], dtype=object))
    with pytest.raises(InvalidInputError, match=r"'X' of .* cannot be read"):
        read(tmp_path / "o.npz")


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.parquet", "a.h5ad", "a.csv.gz"])
@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01", b"PK\x03\x04 broken", b"\xff\xfe garbage"])
def test_damaged_files(tmp_path, name, content):
    for package, needed in (("pyarrow", "a.parquet"), ("anndata", "a.h5ad")):
        if name == needed:
            pytest.importorskip(package)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match="a\\."):
        read(tmp_path / name)


def test_a_bad_value_is_named_with_the_file(tmp_path):
    np.save(tmp_path / "bad.npy", np.array([[1, 2], [np.nan, 3]]))
    with pytest.raises(InvalidInputError, match=r"'bad\.npy' has NaN .* row 1, column 0"):
        read(tmp_path / "bad.npy")
    np.save(tmp_path / "one.npy", np.ones((1, 3)))
    with pytest.raises(InvalidInputError, match=r"'one\.npy' has 1 sample\(s\)"):
        read(tmp_path / "one.npy")
    assert read(tmp_path / "one.npy", min_rows=1).shape == (1, 3)


def test_missing_files_and_unknown_suffixes(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist") as caught:
        read(tmp_path / "none.csv")
    assert isinstance(caught.value, MissingFileError)
    with pytest.raises(MissingFileError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(InvalidInputError, match=r"suffix '\.xlsx'.*Known suffixes: \.csv, "):
        read(write(tmp_path / "a.xlsx", "x"))
    with pytest.raises(InvalidInputError, match=r"suffix ''"):
        read(write(tmp_path / "plain", "x"))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "CSV"])
def test_text_with_and_without_header(tmp_path, suffix):
    lines = ["0.5,1", "2,-3.25", "1e-3, 4.0"]
    bare = "\n".join(lines)
    for text, columns in (
        (bare, ("0", "1")),
        ("width,depth\n" + bare + "\n", ("width", "depth")),
        ("\ufeffwidth,depth\r\n\r\n" + "\r\n".join(lines), ("width", "depth")),
        ('"width, all","line\nbreak"\n' + bare, ("width, all", "line\nbreak")),
    ):
        content = text.replace(",", "\t") if suffix == "tsv" else text
        table = read(write(tmp_path / f"a.{suffix}", content))
        np.testing.assert_array_equal(table.values, X)
        assert table.columns == tuple(c.replace(",", "\t") if suffix == "tsv" else c for c in columns)


def test_compressed_text(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wt") as stream:
        stream.write("a,b\n1,2\n3,4\n")
    table = read(tmp_path / "a.csv.gz")
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    assert table.columns == ("a", "b")


def test_one_column_of_text(tmp_path):
    np.testing.assert_array_equal(read(write(tmp_path / "a.csv", "v\n1\n2\n")).values, [[1], [2]])


def test_columns_of_words_must_be_named(tmp_path):
    path = write(tmp_path / "a.csv", 'name,a,b,kind,code\nx,1,2,"red, dark",007\ny,3,4,blue,010\n')
    with pytest.raises(
        InvalidInputError, match=r"2 columns without numbers: 'name' \(text\), 'kind' \(text\)"
    ):
        read(path)
    table = read(path, label="kind", id="name", columns=["a", "b"])
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    assert table.labels.tolist() == ["red, dark", "blue"]
    assert table.ids.tolist() == ["x", "y"]
    assert read(path, columns=["b", "a"], label="code").labels.tolist() == ["007", "010"]
    assert read(path, columns=["b"], label="a").labels.dtype == np.int64
    with pytest.raises(InvalidParameterError, match="label='none' does not name one column"):
        read(path, label="none")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (",0,1\nr0,1.5,2\nr1,3.5,4\n", ("0", "1")),  # the names that pandas gives, beside its index
        ("r0,1.5,2\nr1,3.5,4\n", ("1", "2")),
        ("id,1990,2000\nr0,1.5,2\nr1,3.5,4\n", None),
    ],
)
def test_headers_are_told_from_data(tmp_path, text, columns):
    path = write(tmp_path / "a.csv", text)
    if (
        columns is None
    ):  # names that are numbers beside a column of words could be data: then the name is wanted
        with pytest.raises(InvalidParameterError, match="id='id' does not name one column"):
            read(path, id="id")
        return
    table = read(path, id=0)
    np.testing.assert_array_equal(table.values, [[1.5, 2], [3.5, 4]])
    assert table.ids.tolist() == ["r0", "r1"]
    assert table.columns == columns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3,x\n", r"row 1 \(counted from 0; line 3 of the file\), column 1 \('b'\) holds 'x'"),
        ("a,b\n1,2\n\n3,\n", r"row 1 \(counted from 0; line 4 of the file\), column 1 \('b'\) is empty"),
        ("a,b\n1,2\n3,1_000\n", r"column 1 \('b'\) holds '1_000'"),
        ("a,b\n1,2\n3,4,5\n", r"row 1 .*line 3.* has 3 values, but 2 columns are expected"),
        ("1,2\n3\n", r"row 1 .*line 2.* has 1 values, but 2 columns are expected"),
        ("a,b\n1,2\n3,nan\n", r"NaN .* at row 1, column 1 \('b'\)"),
        ("a,b\n1,2\n-inf,3\n", r"-infinity at row 1, column 0 \('a'\)"),
        ("a,b\n", r"no rows of values, only a header"),
        ("", r"no rows of values\."),
        ("\n\n", r"no rows of values\."),
        ("a,b\n1,2\n", r"has 1 sample\(s\) "),
    ],
)
def test_bad_cells_are_named(tmp_path, text, message):
    with pytest.raises(InvalidInputError, match=message):
        read(write(tmp_path / "a.csv", text))


def test_extra_cells_beside_a_label_column_are_noticed(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,c\n1,2,x\n3,4,y,5\n")
    with pytest.raises(InvalidInputError, match=r"row 1 .* has 4 values, but 3 columns"):
        read(path, label="c")


def test_a_bad_cell_far_down_is_found(tmp_path):
    lines = ["a,b,c"] + [f"{i},{i + 1},{i + 2}" for i in range(500)]
    lines[400] = "1,?,2"
    with pytest.raises(
        InvalidInputError,
        match=r"row 399 \(counted from 0; line 401 of the file\), column 1 \('b'\) holds '\?'",
    ):
        read(write(tmp_path / "a.csv", "\n".join(lines)))


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,2\n3,\xe9\n")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        read(tmp_path / "a.csv")


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "t": ["u", "v", "w"]}, index=["p", "q", "r"])
    frame.to_parquet(tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", label="t")
    np.testing.assert_array_equal(table.values, X)
    assert table.ids.tolist() == ["p", "q", "r"]
    assert table.labels.tolist() == ["u", "v", "w"]
    assert table.columns == ("a", "b")
    with pytest.raises(InvalidInputError, match="'t' "):
        read(tmp_path / "a.parquet")


def test_h5ad(tmp_path):
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    obs = pd.DataFrame({"t": ["u", "v", "w"]}, index=["p", "q", "r"])
    anndata.AnnData(sp.csr_matrix(X), obs=obs).write_h5ad(tmp_path / "a.h5ad")
    table = read(tmp_path / "a.h5ad", label="t")
    np.testing.assert_array_equal(table.values.toarray(), X)
    assert table.ids.tolist() == ["p", "q", "r"]
    assert table.labels.tolist() == ["u", "v", "w"]


@pytest.mark.parametrize(
    ("name", "package", "extra"), [("a.parquet", "pyarrow", "parquet"), ("a.h5ad", "anndata", "anndata")]
)
def test_missing_packages_are_told_with_the_command(tmp_path, monkeypatch, name, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"'{package}'.*pip install \"winkel\[{extra}\]\""):
        read(write(tmp_path / name, "x"))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_numbers_with_a_decimal_comma(tmp_path, delimiter):
    lines = ["name;weight;size;share", '"a;1,5";3,14;-,5;0,25', "b;2;1,5e3;,75", "c; 0,1 ;7,;1"]
    (tmp_path / "table.csv").write_text("\n".join(lines).replace(";", delimiter), encoding="utf-8")
    table = wk.data.read(tmp_path / "table.csv", id="name", label="share")
    assert table.columns == ("weight", "size")
    np.testing.assert_allclose(table.values, [[3.14, -0.5], [2, 1500], [0.1, 7]], rtol=1e-6)
    np.testing.assert_array_equal(table.labels, [0.25, 0.75, 1.0])
    assert table.ids.tolist() == [f"a{delimiter}1,5", "b", "c"]
    assert repr(table) == "<Table of 3 rows × 2 columns, float64, with ids, labels>"
    lines[3] = "c;0,1;7,x;1"
    (tmp_path / "table.csv").write_text("\n".join(lines).replace(";", delimiter), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="column 2 \\('size'\\) holds '7,x', which is not a number"):
        wk.data.read(tmp_path / "table.csv", id="name", label="share")


def test_a_point_beside_commas_says_that_commas_are_not_decimal(tmp_path):
    (tmp_path / "table.csv").write_text("place;x;y\n1,5;1.5;2\n3,25;2.5;4\n", encoding="utf-8")
    table = wk.data.read(tmp_path / "table.csv", id="place")
    assert table.ids.tolist() == ["1,5", "3,25"]
    np.testing.assert_allclose(table.values, [[1.5, 2], [2.5, 4]])
