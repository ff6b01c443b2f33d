"""Scores from sampled rows against all, shard by shard: those of `winkel.measure` on the same sample."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.scale import measuring

DIGITS = wk.datasets.load_digits()
X, LABELS = DIGITS.X[:1300].astype(np.float32), DIGITS.y[:1300]
Y = np.ascontiguousarray(
    X[:, [20, 42]] + 0.01 * X[:, [30, 33]] + 1e-3 * np.random.default_rng(0).random((1300, 2))
)
BY_ROWS = {"angular_deviation", "jaccard", "norm_error", "tearing", "merging"}  # need all rows in memory


@pytest.fixture
def blockwise(monkeypatch):
    """Distances of few rows are held at a time, so that there are several passes."""
    monkeypatch.setattr(measuring, "_BYTES", 4 * 1300 * 80)


def compare(found, expected, names, close=0.0):
    assert set(found.scores) == set(names)
    for name in names:
        one, other = found[name], expected[name]
        assert one.value == pytest.approx(other.value, abs=close), name
        assert one.n_sampled == other.n_sampled
        if other.interval is not None:
            assert one.interval == pytest.approx(other.interval, abs=close)
        if other.per_point is not None:
            np.testing.assert_allclose(one.per_point, other.per_point, atol=close)
        if other.baseline is not None:
            assert one.baseline == pytest.approx(other.baseline, abs=max(close, 1e-4))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.usefixtures("blockwise")
def test_scores_are_those_in_memory_on_the_same_sample(kind):
    # Whole numbers, of which single precision holds every squared distance: equal distances are equal in both.
    source = wk.scale.open_source(kind(X), rows_per_shard=200)
    asked = {"labels": LABELS, "sample": 150, "random_state": 5}
    expected = wk.measure(X, Y, **asked)
    found = wk.scale.measure(source, Y, **asked)
    np.testing.assert_array_equal(found.rows, expected.rows)
    compare(found, expected, set(expected.scores) - BY_ROWS, close=1e-12)
    np.testing.assert_allclose(found.curves["rnx"], expected.curves["rnx"], atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan", "chebyshev"])
@pytest.mark.usefixtures("blockwise")
def test_other_numbers_and_metrics_agree_within_rounding(metric):
    rows = 1000 + np.random.default_rng(1).normal(size=(700, 9)) * np.arange(1, 10)
    shown = rows[:, 7:] + 0.3 * rows[:, 4:6]
    asked = {"metric": metric, "sample": 100, "baseline": False}
    expected = wk.measure(rows, shown, **asked)
    found = wk.scale.measure(wk.scale.open_source(rows, rows_per_shard=130), shown, **asked)
    compare(found, expected, set(expected.scores) - BY_ROWS, close=2e-4)


def test_all_rows_of_small_data_are_counted():
    report = wk.scale.measure(X[:300], Y[:300], scores=["trustworthiness"])
    assert report["trustworthiness"].exact
    assert report["trustworthiness"].value == wk.measure(X[:300], Y[:300])["trustworthiness"].value
    assert measuring._sample_of(10_000, "auto") == "auto"
    assert measuring._sample_of(200_000, "auto") == 1000
    assert measuring._sample_of(4_000_000, "auto") == 250
    assert measuring._sample_of(10**9, "auto") == 100
    assert measuring._sample_of(10**9, 700) == 700


def test_neighbours_of_all_rows_add_tearing_and_merging():
    lists = wk.scale.knn(X, 15)
    source = wk.scale.open_source(X, rows_per_shard=400)
    names = ["tearing", "merging"]
    found = wk.scale.measure(source, Y, scores=names, sample=200, graph=lists, baseline=False)
    expected = wk.measure(X, Y, scores=names, sample=200, graph=lists.to_graph(), baseline=False)
    compare(found, expected, names)
    assert found.notes == expected.notes


def test_any_number_of_threads_gives_the_same_scores():
    reports = [wk.scale.measure(X, Y, sample=64, n_jobs=n_jobs).to_json() for n_jobs in (1, 2)]
    assert reports[0] == reports[1]


def test_maps_come_from_files_and_folders(tmp_path):
    mde = wk.MDE(random_state=0, max_iter=60).fit(X[:500])
    expected = wk.scale.measure(X[:500], mde, sample=50, scores=["stress"])["stress"].value
    for k, part in enumerate((slice(0, 300), slice(300, 500))):
        pq.write_table(pa.table({f"c{j}": X[part, j] for j in range(64)}), tmp_path / f"part{k}.parquet")
    out = wk.scale.transform(mde, tmp_path / "part*.parquet", tmp_path / "out")
    for map in (out, out / "part*.parquet", wk.scale.transform(mde, X[:500], tmp_path / "map.parquet")):
        found = wk.scale.measure(tmp_path / "part*.parquet", map, sample=50, scores=["stress"])
        assert found["stress"].value == pytest.approx(expected, rel=1e-9)


def test_what_cannot_be_measured_says_why():
    with pytest.raises(InvalidParameterError, match="all rows in memory"):
        wk.scale.measure(X, Y, scores=["norm_error"])
    with pytest.raises(InvalidParameterError, match=r"pass graph=winkel\.scale\.knn"):
        wk.scale.measure(X, Y, scores=["tearing"])
    with pytest.raises(InvalidParameterError, match="metric"):
        wk.scale.measure(X, Y, metric="canberra")
    with pytest.raises(InvalidInputError, match="one row for each of the 1300 rows"):
        wk.scale.measure(X, Y[:50])
    rows = np.where(np.arange(1300)[:, None] < 700, 1, 1e30) * X
    source = wk.scale.open_source(rows, rows_per_shard=500)
    with pytest.raises(InvalidInputError, match="range of single precision"):
        wk.scale.measure(source, Y, sample=20)


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**90])
def test_the_unit_of_the_data_does_not_matter(unit):
    source = wk.scale.open_source(X.astype(np.float64) * unit, rows_per_shard=500)
    names = ["trustworthiness", "rnx_auc", "stress"]
    expected = wk.measure(X, Y, sample=50, scores=names)
    compare(wk.scale.measure(source, Y, sample=50, scores=names), expected, names, close=1e-4)
