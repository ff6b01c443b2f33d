"""Neighbour lists by shards, beside those of all rows in memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import winkel as wk
from winkel import _core
from winkel.run import Run
from winkel.scale import cells, lists
from winkel.scale.engine import LocalEngine
from winkel.scale.folder import Folder


def made(tmp_path, X, block, monkeypatch=None, cell=None):
    if cell is not None:
        monkeypatch.setattr(cells, "CELL_ROWS", cell)
    layout, folder = cells.Layout(len(X), block), Folder.opened(tmp_path / "work", {})
    cells.make_rows(
        folder, wk.scale.open_source(X, rows_per_shard=333), layout, "euclidean", LocalEngine(2), Run()
    )
    return folder, layout, np.array(folder.map("order"))


def clusters(n, seed=0):
    rng = np.random.default_rng(seed)
    centres, axes = rng.normal(size=(12, 20)), rng.normal(size=(12, 5, 20))
    of = rng.integers(0, 12, n)
    X = (
        centres[of]
        + 0.3 * np.einsum("ij,ijk->ik", rng.normal(size=(n, 5)), axes[of])
        + 0.05 * rng.normal(size=(n, 20))
    )
    return (X + 100).astype(np.float32)


def test_rows_are_all_there_in_the_order_of_cells(tmp_path, monkeypatch):
    X = clusters(2000)
    folder, _, order = made(tmp_path, X, 300, monkeypatch, 64)
    assert sorted(order.tolist()) == list(range(len(X)))
    moved = np.array(folder.map("rows"))
    np.testing.assert_allclose(np.diff(moved, axis=0), np.diff(X[order], axis=0), atol=1e-4)
    assert len(folder.map("cells")) - 1 == 2000 // 64
    # Rows of a cell are nearer to each other than rows of others are.
    start = np.array(folder.map("cells"))
    within = np.mean([moved[a:b].var(axis=0).sum() for a, b in itertools.pairwise(start) if b > a])
    assert within < 0.5 * moved.var(axis=0).sum()


def test_exact_lists_are_those_of_all_rows_in_memory(tmp_path):
    X = clusters(700)
    folder, layout, order = made(tmp_path, X, 150)
    lists.exact_lists(folder, layout, 9, LocalEngine(1), Run())
    found = wk.graph.knn(X, 9, method="exact")
    np.testing.assert_array_equal(order[np.array(folder.map("neighbors"))], found.knn_indices[order])
    np.testing.assert_allclose(np.array(folder.map("distances")), found.knn_distances[order], rtol=1e-3)


def test_approximate_lists_reach_their_recall_and_tell_it(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "PROBES", 4)
    X = clusters(6000)
    folder, layout, order = made(tmp_path, X, 1000, monkeypatch, 64)
    recall = lists.find_lists(folder, layout, 10, LocalEngine(2), Run(n_jobs=2))
    truth = wk.graph.knn(X, 10, method="exact")
    reach = truth.knn_distances[order][:, -1:] * (1 + 1e-3)
    share = (np.array(folder.map("distances")) <= reach).mean()
    assert share > 0.97
    assert recall.low - 0.01 <= share <= recall.high + 0.01
    index = order[np.array(folder.map("neighbors"))]
    true = np.linalg.norm(X[order][:, None] - X[index], axis=2)
    np.testing.assert_allclose(np.array(folder.map("distances")), true, rtol=1e-3)
    assert not list(folder.path.glob("lists-*"))
    # Asked for once more, they are there.
    assert lists.find_lists(folder, layout, 10, LocalEngine(1), Run()) == recall


def test_a_round_compares_with_neighbours_of_neighbours():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 4)).astype(np.float32)
    given = np.argsort(rng.random((50, 50)), axis=1)[:, :6].astype(np.int32)
    given[7, 3] = -1
    index, distance = _core.join_lists(x, given, 5, 40, 4, 5, 2)
    for i in range(5, 40):
        near = [j for j in given[i, :4] if j >= 0]
        candidates = sorted({*given[i].tolist(), *given[near, :4].ravel().tolist()} - {i, -1})
        length = np.linalg.norm((x[i] - x[candidates]).astype(np.float64), axis=1)
        best = np.argsort(length)[:5]
        np.testing.assert_array_equal(index[i - 5], np.array(candidates)[best])
        np.testing.assert_allclose(distance[i - 5], length[best], rtol=1e-6)


def test_lists_of_rows_that_are_all_equal_fill_up(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "_PIECE", 40)
    folder, layout, _ = made(tmp_path, np.ones((500, 3), np.float32), 100, monkeypatch, 32)
    lists.find_lists(folder, layout, 8, LocalEngine(1), Run())
    index = np.array(folder.map("neighbors"))
    assert (index >= 0).all()
    assert all(len({*row.tolist(), i}) == 9 for i, row in enumerate(index))


def test_a_search_of_cells_finds_the_nearest_rows_there():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(90, 5)).astype(np.float32)
    start, probes = np.array([0, 20, 20, 65, 90]), rng.integers(-1, 4, (30, 2)).astype(np.int32)
    norms = (x**2).sum(axis=1)
    found = _core.search_cells(x, norms, start, 10, probes, 6, 1)
    np.testing.assert_array_equal(found, _core.search_cells(x, norms, start, 10, probes, 6, 2))
    for q in range(30):
        named = {c for c in probes[q].tolist() if c >= 0}
        there = np.array([j for c in named for j in range(start[c], start[c + 1]) if j != 10 + q], dtype=int)
        nearest = there[np.argsort(np.linalg.norm(x[10 + q] - x[there], axis=1))][:6]
        assert found[q].tolist() == [*nearest.tolist(), *[-1] * (6 - len(nearest))]


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_directions_are_of_length_one(tmp_path, metric):
    X = clusters(300)
    layout, folder = cells.Layout(len(X), 100), Folder.opened(tmp_path / "work", {})
    cells.make_rows(folder, wk.scale.open_source(X), layout, metric, LocalEngine(1), Run())
    np.testing.assert_allclose(np.linalg.norm(folder.map("rows"), axis=1), 1, rtol=1e-5)
