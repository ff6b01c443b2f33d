"""Tables as people have them: text columns, other separators, scales; h5ad and npy files out."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

import winkel as wk
from winkel.maps import read_map

from .data import call, call_json, rows, write_table

pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
FEW = ("--set", "max_iter=5", "--set", "n_neighbors=5")


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv")


def read_back(path, **wishes):
    return wk.data.read(path, **wishes)


def test_numeric_takes_columns_of_numbers_and_says_which_are_left(tmp_path, capsys, table):
    code, _, err = call(capsys, "embed", table, "-o", tmp_path / "m.csv", "--numeric", *FEW)
    assert code == 0
    assert "left out, because they hold no numbers: name, kind" in err
    assert "60 rows × 5 columns" in err
    code, _, err = call(capsys, "embed", table, "-o", tmp_path / "m.csv", *FEW)
    assert code == 1
    assert "2 columns without numbers: 'name' (text), 'kind' (text)" in err


def test_drop_leaves_columns_out(tmp_path, capsys, table):
    arguments = ("embed", table, "-o", tmp_path / "m.csv", "--drop", "name,kind", "--drop", "f0", *FEW)
    code, values = call_json(capsys, *arguments)
    assert (code, values["n_columns"]) == (0, 4)


def test_a_column_misspelt_is_told_with_the_one_alike(tmp_path, capsys, table):
    code, _, err = call(capsys, "embed", table, "-o", tmp_path / "m.csv", "--label", "knd", "--numeric")
    assert code == 2
    assert "Did you mean 'kind'?" in err


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_separators_are_recognised(tmp_path, capsys, monkeypatch, delimiter):
    path = write_table(tmp_path / "other.csv", delimiter=delimiter)
    table = wk.data.read(path, id="name", label="kind")
    np.testing.assert_array_equal(table.values.astype(np.float32), rows()[0])
    with open(path, "rb") as file:
        content = file.read()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    code, values = call_json(capsys, "embed", "-", "-o", tmp_path / "m.csv", "--numeric", *FEW)
    assert (code, values["n_columns"]) == (0, 5)


def test_one_column_and_ragged_files_keep_the_usual_separator(tmp_path):
    (tmp_path / "one.csv").write_text("x\n1\n2\n3\n")
    assert wk.data.read(tmp_path / "one.csv").shape == (3, 1)
    (tmp_path / "ragged.csv").write_text("x,y\n1,2\n3\n4,5\n")
    with pytest.raises(wk.errors.InvalidInputError, match="has 1 values, but 2 columns are expected"):
        wk.data.read(tmp_path / "ragged.csv")


def test_scales():
    X = np.array([[1.0, 5, 0, 7], [2, 5, 0, 7], [3, 5, 0, 7], [4, 5, 0, 7], [100, 5, 1, 7.1]])
    table = wk.data.as_table(X)
    standard = wk.data.scaled(table, "standard").values
    np.testing.assert_allclose(standard, (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1), atol=1e-12)
    assert not standard[:, 1].any()
    robust = wk.data.scaled(table, "robust").values
    np.testing.assert_allclose(robust[:, 0], (X[:, 0] - 3) / (2 / 1.3489795), rtol=1e-6)
    np.testing.assert_allclose(robust[:, 2], X[:, 2] / X[:, 2].std())  # quartiles are equal
    assert wk.data.scaled(table, "none") is table


def test_scale_of_the_command_line(tmp_path, capsys, table):
    out = tmp_path / "m.npy"
    assert call(capsys, "embed", table, "-o", out, "--numeric", "--scale", "standard", *FEW)[0] == 0
    X = wk.data.scaled(wk.data.read(table, numeric=True), "standard")
    np.testing.assert_array_equal(
        np.load(out), wk.MDE(max_iter=5, n_neighbors=5, random_state=0).fit_transform(X)
    )
    np.testing.assert_array_equal(read_map(out).Y, np.load(out))


def test_onehot_and_gower():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [0.0, 1.0, 4.0], "kind": ["a", "b", "a"], "y": [1.0, 1.0, 1.0]})
    table = wk.data.as_table(frame, encode="onehot")
    assert table.columns == ("x", "kind=a", "kind=b", "y")
    np.testing.assert_array_equal(table.values, [[0, 1, 0, 1], [1, 0, 1, 1], [4, 1, 0, 1]])
    gower = wk.data.as_table(frame, encode="gower").values
    # Gower (1971): the mean over columns of |x − y|/range, and of 1 where categories differ; a constant column adds 0.
    expected = np.array(
        [[0, (0.25 + 1) / 3, 1 / 3], [(0.25 + 1) / 3, 0, (0.75 + 1) / 3], [1 / 3, (0.75 + 1) / 3, 0]]
    )
    np.testing.assert_allclose(np.abs(gower[:, None] - gower[None]).sum(axis=2), expected, atol=1e-12)
    with pytest.raises(wk.errors.InvalidParameterError, match="only one of the two"):
        wk.data.as_table(frame, encode="gower", numeric=True)
    many = pd.DataFrame({"x": np.arange(90.0), "name": [f"row {i}" for i in range(90)]})
    with pytest.raises(wk.errors.InvalidInputError, match="90 different values in 90 rows, too many"):
        wk.data.as_table(many, encode="onehot")
    dates = pd.DataFrame({"x": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(wk.errors.InvalidInputError, match="without numbers: 'day'"):
        wk.data.as_table(dates, encode="onehot")


def test_gower_on_the_command_line_is_manhattan(tmp_path, capsys, table):
    arguments = ("embed", table, "-o", tmp_path / "m.npy", "--id", "name", "--encode", "gower")
    code, values = call_json(capsys, *arguments, *FEW)
    assert (code, values["settings"]["metric"], values["n_columns"]) == (0, "manhattan", 8)
    assert call(capsys, *arguments, "--set", "metric=cosine")[0] == 2
    assert call(capsys, *arguments, "--method", "pca")[0] == 2
    assert call(capsys, *arguments, "--scale", "standard")[0] == 2


def test_kept_columns_go_into_the_map_and_the_page(tmp_path, capsys, table):
    out, page = tmp_path / "m.csv", tmp_path / "m.html"
    code, _, _ = call(
        capsys, "embed", table, "-o", out, "--id", "name", "--keep", "kind,f4", "--html", page, *FEW
    )
    assert code == 0
    header = out.read_text().splitlines()[0].split(",")
    assert header[-2:] == ["kind", "f4"]
    kept = wk.data.read(out, columns=["y1"], keep=["kind", "f4"], id="id").kept
    np.testing.assert_allclose(kept["f4"], rows()[0][:, 4])
    assert page.stat().st_size > 1000
    assert wk.data.read(table, id="name", keep=["kind"]).rows([2, 1]).kept["kind"].tolist()[1] == "b"


def test_the_last_line_says_what_was_found(tmp_path, capsys, table):
    code, _, err = call(capsys, "embed", table, "-o", tmp_path / "m.csv", "--numeric")
    assert code == 0
    last = err.strip().splitlines()[-1]
    assert last.startswith("found: trustworthiness 0.")
    assert "PCA" in last
    assert "residual" not in err


def test_h5ad_in_and_out(tmp_path, capsys):
    anndata = pytest.importorskip("anndata")
    X, which = rows()
    adata = anndata.AnnData(np.ones((60, 3), dtype=np.float32))
    adata.obsm["X_pca"], adata.obs["kind"] = X, which.astype(str)
    adata.layers["counts"] = adata.X + 1
    adata.write_h5ad(tmp_path / "in.h5ad")
    out = tmp_path / "out.h5ad"
    arguments = ("embed", tmp_path / "in.h5ad", "--key", "obsm/X_pca", "--label", "kind", "-o", out, *FEW)
    assert call(capsys, *arguments)[0] == 0
    found = anndata.read_h5ad(out)
    expected = wk.MDE(max_iter=5, n_neighbors=5, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(found.obsm["X_mde"], expected)
    np.testing.assert_array_equal(found.layers["counts"], adata.layers["counts"])
    assert found.obs["kind"].tolist() == which.astype(str).tolist()
    assert found.uns["mde"]["seed"] == 0
    code, _, err = call(capsys, "embed", tmp_path / "in.h5ad", "--key", "obsp/d", "-o", out)
    assert code == 2
    assert "obsm/NAME or layers/NAME" in err
    code, _, err = call(capsys, "embed", tmp_path / "in.h5ad", "--key", "obsm/X_pac", "-o", out)
    assert code == 2
    assert "'X_pca'" in err


def test_a_table_becomes_an_h5ad_file(tmp_path, capsys, table):
    anndata = pytest.importorskip("anndata")
    out = tmp_path / "out.h5ad"
    arguments = (
        "embed",
        table,
        "--id",
        "name",
        "--label",
        "kind",
        "-o",
        out,
        "--method",
        "lvm",
        "--set",
        "max_iter=5",
    )
    assert call(capsys, *arguments)[0] == 0
    found = anndata.read_h5ad(out)
    assert found.obs_names[1] == "row 1"
    assert list(found.var_names) == [f"f{j}" for j in range(5)]
    assert {"label", "lvm_variance"} <= set(found.obs)
    assert found.obsm["X_lvm"].shape == (60, 2)
