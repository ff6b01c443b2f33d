"""Map files: what is written is read back, and rows keep their names."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow.parquet
import pytest

from winkel.cli.maps import Map, check_output, matched, read_map, split_columns, write_map
from winkel.cli.methods import UsageError
from winkel.data import Table, read
from winkel.errors import InvalidInputError

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


def test_an_unknown_output_is_refused_before_the_work():
    for name in ("map", "map.xlsx", "map.npy", "map.csv.gz"):
        with pytest.raises(UsageError, match=r"use one of \.parquet, \.csv, \.tsv, \.npz"):
            check_output(name)


def test_rows_are_matched_by_id():
    table = Table(np.eye(3), ids=np.array(["x", "y", "z"]))
    found = Map(np.array([[3.0], [1.0], [2.0]]), np.array(["z", "x", "y"]), np.array(["c", "a", "b"]))
    there = matched(table, found, "map.csv")
    assert there.Y.ravel().tolist() == [1, 2, 3]
    assert there.labels.tolist() == ["a", "b", "c"]


def test_ids_that_only_count_are_no_ids():
    table = Table(np.eye(3), ids=np.array(["x", "y", "z"]))
    found = Map(np.eye(3), np.array([0, 1, 2]))
    assert matched(table, found, "map.csv") is found


@pytest.mark.parametrize(
    ("ids", "message"),
    [(["x", "y", "w"], "no row with the id 'z'"), (["x", "y", "y"], "no row with the id 'z'")],
)
def test_other_ids_are_refused(ids, message):
    table = Table(np.eye(3), ids=np.array(["x", "y", "z"]))
    with pytest.raises(InvalidInputError, match=message):
        matched(table, Map(np.eye(3), np.array(ids)), "map.csv")


def test_a_map_of_other_rows_is_refused():
    with pytest.raises(InvalidInputError, match=r"has 3 rows, but the map .m\.csv. has 2"):
        matched(Table(np.eye(3)), Map(np.eye(2)), "m.csv")


def test_columns_are_listed_with_commas():
    assert split_columns(None) is None
    assert split_columns(["a,b", '"c,d"']) == ["a", "b", "c,d"]
