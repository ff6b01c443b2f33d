"""Neighbour lists of a source: exact ones are those in memory, approximate ones tell their recall, files hold both."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.scale import cells, lists

from .test_lists import clusters

X = clusters(900)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_exact_lists_are_those_in_memory(tmp_path, metric):
    rows = X - 100
    found = wk.scale.knn(rows, 9, tmp_path / "lists", metric=metric, rows_per_block=250)
    graph, truth = found.to_graph(), wk.graph.knn(rows, 9, metric=metric, method="exact")
    np.testing.assert_allclose(graph.knn_distances, truth.knn_distances, rtol=1e-4)
    same = graph.knn_indices == truth.knn_indices
    assert same.mean() > 0.999  # of rows as near as single precision tells, either may come first
    everywhere, distance = wk.graph.knn_query(rows, rows, len(rows), metric=metric)
    by_row = np.take_along_axis(distance, np.argsort(everywhere, axis=1), axis=1)
    listed = np.take_along_axis(by_row, graph.knn_indices.astype(np.int64), axis=1)
    np.testing.assert_allclose(listed, truth.knn_distances, rtol=1e-4)
    assert graph.origin.method == "exact"
    assert graph.origin.recall is None
    # One file for each block, rows in the order of the source.
    assert found.n_shards == 4
    table = pq.read_table(tmp_path / "lists" / "lists-00001.parquet")
    assert table.column("row").to_pylist() == list(range(250, 500))
    assert table.column("neighbors").to_pylist()[3] == graph.knn_indices[253].tolist()
    assert not (tmp_path / "lists" / "work").exists()


def test_approximate_lists_tell_their_recall(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "CELL_ROWS", 64)
    monkeypatch.setattr(cells, "PROBES", 4)
    rows = clusters(6000)
    found = wk.scale.knn(rows, 10, method="approximate", rows_per_block=1000)
    truth = wk.graph.knn(rows, 10, method="exact")
    graph, told = found.to_graph(), found.origin.recall
    share = (graph.knn_distances <= truth.knn_distances[:, -1:] * (1 + 1e-3)).mean()
    assert share > 0.97
    assert told.low - 0.01 <= share <= told.high + 0.01
    # A lower wish ends the rounds earlier.
    monkeypatch.setattr(lists, "_GAIN", 0.0)
    rounds = []
    one = lists._round
    monkeypatch.setattr(lists, "_round", lambda *arguments: rounds.append(arguments[2]) or one(*arguments))
    wk.scale.knn(rows, 10, method="approximate", recall=0.5, rows_per_block=1000)
    assert rounds == [0]
    folder = found.path
    assert folder.exists()
    del found
    assert not folder.exists()


def test_files_have_the_same_bytes_whoever_works(tmp_path, monkeypatch, cluster):
    monkeypatch.setattr(cells, "CELL_ROWS", 64)
    np.save(tmp_path / "rows.npy", X)
    asked = {"method": "approximate", "rows_per_block": 128}
    wk.scale.knn(tmp_path / "rows.npy", 8, tmp_path / "one", n_jobs=1, **asked)
    expected = content(tmp_path / "one")
    assert len(expected) == 8
    wk.scale.knn(tmp_path / "rows.npy", 8, tmp_path / "threads", n_jobs=2, **asked)
    assert content(tmp_path / "threads") == expected
    wk.scale.knn(tmp_path / "rows.npy", 8, tmp_path / "two", client=cluster(2), **asked)
    assert content(tmp_path / "two") == expected


def test_a_search_that_ended_early_goes_on(tmp_path, monkeypatch):
    whole = wk.scale.knn(X, 8, rows_per_block=200)
    task = lists._compare

    def failing(number, *arguments):
        if number == 2:
            raise KeyboardInterrupt
        return task(number, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(lists, "_compare", failing)
        with pytest.raises(KeyboardInterrupt):
            wk.scale.knn(X, 8, tmp_path, rows_per_block=200)
    with pytest.raises(InvalidInputError, match="unfinished search"):
        wk.scale.NeighborLists.open(tmp_path)
    done = []
    monkeypatch.setattr(lists, "_compare", lambda number, *rest: done.append(number) or task(number, *rest))
    wk.scale.knn(X, 8, tmp_path, rows_per_block=200)
    assert done == [2, 3, 4]
    assert content(tmp_path) == content(whole.path)
    # What is there is taken, and what is of others refused.
    done.clear()
    assert wk.scale.knn(X, 8, tmp_path, rows_per_block=200).to_graph() == whole.to_graph()
    assert done == []
    with pytest.raises(InvalidParameterError, match="other data or settings"):
        wk.scale.knn(X, 9, tmp_path, rows_per_block=200)


def test_broken_lists_are_named(tmp_path):
    wk.scale.knn(X, 8, tmp_path, rows_per_block=500)
    (tmp_path / "lists-00001.parquet").write_bytes(b"nothing")
    found = wk.scale.NeighborLists.open(tmp_path)
    assert len(found.shard(0)[0]) == 500
    with pytest.raises(InvalidInputError, match=r"lists-00001\.parquet"):
        found.to_graph()
    (tmp_path / "lists.json").write_text("{")
    with pytest.raises(InvalidInputError, match=r"lists\.json"):
        wk.scale.NeighborLists.open(tmp_path)


def test_odd_wishes_are_refused():
    for parameters, what in (
        ({"metric": "manhattan"}, "metric"),
        ({"method": "fast"}, "method"),
        ({"recall": 0.0}, "recall"),
        ({"n_neighbors": 900}, "needs at least 901 rows"),
    ):
        with pytest.raises(InvalidParameterError, match=what):
            wk.scale.knn(X, **parameters)
