"""The index of rows that new ones are compared with again and again, against the exact search."""

import numpy as np
import pytest

from winkel.data import Table
from winkel.graph import index as module
from winkel.graph.index import RowIndex
from winkel.graph.knn import nearest_rows
from winkel.run import Run

RUN = Run(n_jobs=2)


def table(X):
    return Table(np.ascontiguousarray(X), validated=True)


@pytest.fixture(scope="module")
def rows():
    """Rows near a surface of few dimensions in many."""
    random = np.random.default_rng(0)
    flat = random.normal(size=(1300, 12)) @ random.normal(size=(12, 200))
    return (flat + 0.3 * random.normal(size=flat.shape)).astype(np.float32)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_ROWS", 500)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_finds_nearly_all_true_neighbors_with_their_true_distances(rows, metric):
    fitted, new = table(rows[:1200]), table(rows[1200:])
    made = RowIndex.of(fitted, metric, 10, RUN)
    assert made.sketch is not None
    assert made.recall >= module.RECALL
    found, distance = made.nearest(new, 10, RUN)
    true, exact = nearest_rows(new, fitted, 10, RUN, metric=metric)
    assert (distance <= exact[:, -1:] * (1 + 1e-6)).mean() > 0.97
    same = found == true
    np.testing.assert_array_equal(distance[same], exact[same])


def test_a_row_depends_on_itself_alone_and_equal_rows_are_found(rows):
    made = RowIndex.of(table(rows), "euclidean", 10, RUN)
    found, distance = made.nearest(table(rows[:40]), 10, RUN)
    np.testing.assert_array_equal(found[:, 0], np.arange(40))
    assert (distance[:, 0] == 0).all()
    one = made.nearest(table(rows[7:8]), 10, Run(n_jobs=1))
    np.testing.assert_array_equal(one[0][0], found[7])
    np.testing.assert_array_equal(one[1][0], distance[7])
    again = RowIndex.of(table(rows), "euclidean", 10, Run(n_jobs=1)).nearest(table(rows[:40]), 10, RUN)
    np.testing.assert_array_equal(again[0], found)


def test_is_exact_where_a_sketch_does_not_pay_or_does_not_work(rows):
    noise = np.random.default_rng(1).normal(size=(600, 300)).astype(np.float32)  # nothing for a sketch to see
    for values, metric in (
        (rows[:400], "euclidean"),
        (rows[:, :50], "euclidean"),
        (rows, "manhattan"),
        (np.abs(rows), "canberra"),
        (noise, "euclidean"),
    ):
        made = RowIndex.of(table(values), metric, 5, RUN)
        assert made.sketch is None
        assert made.recall == 1
        found, _ = made.nearest(table(values[:30]), 5, RUN)
        np.testing.assert_array_equal(
            found, nearest_rows(table(values[:30]), table(values), 5, RUN, metric=metric)[0]
        )
