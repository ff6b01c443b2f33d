"""Maps in all their forms, and map files: what is written is read back, and rows keep their names."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow.parquet
import pytest

import winkel as wk
from winkel.data import Table, read
from winkel.errors import InvalidInputError
from winkel.maps import Map, as_map, read_map, write_map

HOSTILE = np.array(["plain", "=1+1", "<b>&'\"", 'quo"te', "two\nlines", "ünï😀", "a,b;\tc", "in ner"])
SUFFIXES = (".csv", ".tsv", ".parquet", ".npz")


def a_map(dtype=np.float32, m=2):
    Y = np.random.default_rng(0).normal(size=(len(HOSTILE), m)).astype(dtype)
    return Map(Y, HOSTILE, HOSTILE[::-1].copy(), {"variance": np.abs(Y[:, 0])})


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_written_is_read_back(tmp_path, suffix, dtype):
    given = a_map(dtype)
    path = str(tmp_path / f"map{suffix}")
    write_map(path, given)
    back = read_map(path)
    np.testing.assert_array_equal(back.Y.astype(dtype), given.Y)
    assert back.ids.tolist() == HOSTILE.tolist()
    assert back.labels.tolist() == HOSTILE[::-1].tolist()
    assert [file.name for file in tmp_path.iterdir()] == [f"map{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_map_gives_the_same_bytes(tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        write_map(str(path), a_map())
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_without_names_are_counted(tmp_path, suffix):
    path = str(tmp_path / f"map{suffix}")
    write_map(path, Map(np.eye(4, 2)))
    back = read_map(path)
    assert back.ids.tolist() == [0, 1, 2, 3]
    assert back.labels is None


def test_columns_stand_in_a_fixed_order(tmp_path):
    write_map(str(tmp_path / "map.csv"), a_map(m=3))
    with open(tmp_path / "map.csv", encoding="utf-8", newline="") as file:
        header = next(csv.reader(file))
    assert header == ["id", "label", "y1", "y2", "y3", "variance"]
    write_map(str(tmp_path / "map.parquet"), a_map(m=3))
    assert pyarrow.parquet.read_schema(tmp_path / "map.parquet").names == header


def test_an_npz_holds_the_map_as_a_matrix(tmp_path):
    write_map(str(tmp_path / "map.npz"), a_map())
    with np.load(tmp_path / "map.npz", allow_pickle=False) as archive:
        assert set(archive.files) == {"Y", "id", "label", "variance"}
    assert read(tmp_path / "map.npz", key="Y").shape == (len(HOSTILE), 2)


def test_any_table_of_coordinates_is_a_map(tmp_path):
    np.save(tmp_path / "map.npy", np.eye(5, 2))
    (tmp_path / "map.csv").write_text("u,v\n1,2\n3,4\n")
    (tmp_path / "other.csv").write_text("id,u,v\nx,1,2\ny,3,4\n")
    assert read_map(str(tmp_path / "map.npy")).Y.shape == (5, 2)
    assert read_map(str(tmp_path / "map.csv")).Y.tolist() == [[1, 2], [3, 4]]
    assert read_map(str(tmp_path / "other.csv")).ids.tolist() == ["x", "y"]


@pytest.mark.parametrize("name", ["none.csv", "none.winkel", "none.npz", "none.parquet"])
def test_a_missing_map_is_named(tmp_path, name):
    with pytest.raises((InvalidInputError, FileNotFoundError), match=name):
        read_map(str(tmp_path / name))


@pytest.fixture(scope="module")
def fitted():
    return wk.TSM(2, max_iter=3, random_state=0).fit(np.random.default_rng(0).normal(size=(30, 4)))


@pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning")
@pytest.mark.parametrize(
    "form", ["estimator", "embedding", "model file", "map", "array", "list", "csv", "Path"]
)
def test_a_map_comes_in_many_forms(tmp_path, fitted, form):
    csv_file, model = tmp_path / "map.csv", tmp_path / "m.winkel"
    write_map(csv_file, Map(fitted.embedding_))
    fitted.save(model)
    source = {
        "estimator": fitted,
        "embedding": fitted.result_,
        "model file": str(model),
        "map": Map(fitted.embedding_),
        "array": fitted.embedding_,
        "list": fitted.embedding_.tolist(),
        "csv": str(csv_file),
        "Path": csv_file,
    }[form]
    found = as_map(source)
    np.testing.assert_array_equal(found.Y, fitted.embedding_)
    assert (found.embedding is not None) == (form in ("estimator", "embedding", "model file"))


def test_maps_of_other_packages():
    from sklearn.manifold import SpectralEmbedding

    X = np.random.default_rng(0).normal(size=(30, 4))
    other = SpectralEmbedding(2, random_state=0, n_neighbors=10).fit(X)
    np.testing.assert_array_equal(as_map(other).Y, other.embedding_)
    exact = wk.quadratic.pca(X)
    np.testing.assert_array_equal(as_map(exact).Y, exact.Y)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (wk.TSM(2), "second is a TSM that is not fitted"),
        (np.zeros(5), r"second must be an array .*; got shape \(5,\)"),
        (object(), "second must be an array .*; got a object"),
        ([["a", "b"]], "second must be an array .*; got a list"),
        (None, "second must be an array .*; got shape"),
    ],
)
def test_what_is_no_map_is_refused(source, message):
    with pytest.raises(InvalidInputError, match=message):
        as_map(source, "second")


def test_ids_and_labels_of_the_table_are_taken_over():
    table = Table(np.eye(3), ids=np.array(["x", "y", "z"]), labels=np.array([1, 2, 2]))
    there = Map(np.eye(3), columns={"variance": np.ones(3)}).named_by(table)
    assert there.ids.tolist() == ["x", "y", "z"]
    assert there.labels.tolist() == [1, 2, 2]
    assert list(there.columns) == ["variance"]
    turned = there.reordered(np.array([2, 0, 1]))
    assert turned.ids.tolist() == ["z", "x", "y"]
    assert turned.Y.tolist() == np.eye(3)[[2, 0, 1]].tolist()
    assert len(turned) == 3


def test_one_of_several_maps_of_an_h5ad_file_is_named_behind_it(tmp_path):
    anndata = pytest.importorskip("anndata")
    content = anndata.AnnData(np.zeros((5, 3), dtype=np.float32))
    content.obsm["X_umap"] = np.arange(10.0).reshape(5, 2)
    content.obsm["X_tsne"] = -content.obsm["X_umap"]
    file = tmp_path / "cells.h5ad"
    content.write(file)
    for name in ("obsm/X_tsne", "X_tsne"):
        np.testing.assert_array_equal(as_map(file / name).Y, content.obsm["X_tsne"])
    with pytest.raises(
        InvalidInputError, match=r"has 'X_tsne', 'X_umap'. '.*cells.h5ad/obsm/X_tsne' names one"
    ):
        as_map(str(file))
    with pytest.raises(InvalidInputError, match=r"holds no map 'X_pca'; obsm has 'X_tsne', 'X_umap'"):
        as_map(file / "X_pca")
