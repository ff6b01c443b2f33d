"""Tables, maps and outputs that a command names."""

from __future__ import annotations

import numpy as np
import pytest

from winkel.cli.inputs import check_output, matched, split_columns
from winkel.cli.methods import UsageError
from winkel.data import Table
from winkel.errors import InvalidInputError
from winkel.maps import Map


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
