"""Landmarks stand for all rows, for every estimator; the others are placed by shards, and lazily where Dask holds them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winkel as wk
from tests import estimators
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.run import Run
from winkel.scale.landmarks import CHOICES, draw_landmarks

X = wk.datasets.load_digits().X[:500].astype(np.float32)
pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


@pytest.fixture(scope="module")
def mde():
    return wk.scale.fit_landmarks(wk.MDE(random_state=0, max_iter=60), X, 150)


@pytest.fixture(scope="module")
def expected(mde):
    return mde.transform(X)


@pytest.mark.parametrize("choice", CHOICES)
def test_landmarks_are_different_rows_the_same_for_the_same_seed(choice):
    source = wk.scale.open_source(X, rows_per_shard=90)
    found = draw_landmarks(source, 120, choice, Run(seed=3))
    assert len(np.unique(found)) == 120
    assert (np.diff(found) > 0).all()
    np.testing.assert_array_equal(found, draw_landmarks(source, 120, choice, Run(seed=3, n_jobs=2)))
    whole = draw_landmarks(wk.scale.open_source(X), 120, choice, Run(seed=3))
    np.testing.assert_array_equal(found, whole)  # wherever shards begin
    assert not np.array_equal(found, draw_landmarks(source, 120, choice, Run(seed=4)))
    np.testing.assert_array_equal(draw_landmarks(source, 500, choice, Run()), np.arange(500))


def test_rare_rows_are_landmarks_where_the_choice_looks_for_them():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(2000, 3)).astype(np.float32)
    data[:10] *= 50
    source = wk.scale.open_source(data, rows_per_shard=300)
    rare = {
        choice: [(draw_landmarks(source, 450, choice, Run(seed=seed)) < 10).sum() for seed in (0, 1)]
        for choice in CHOICES
    }
    assert min(rare["density"]) > max(rare["uniform"])
    assert rare["kmeans++"] == [10, 10]


def test_landmarks_of_kmeans_cover_the_rows():
    source = wk.scale.open_source(X, rows_per_shard=120)
    reach = {}
    for choice in ("uniform", "kmeans++"):
        chosen = draw_landmarks(source, 60, choice, Run(seed=0))
        reach[choice] = wk.graph.knn_query(X, X[chosen], 1)[1].max()
    assert reach["kmeans++"] < reach["uniform"]


def test_equal_rows_can_all_be_landmarks():
    source = wk.scale.open_source(np.repeat(X[:3], 30, axis=0))
    for choice in CHOICES:
        assert len(np.unique(draw_landmarks(source, 50, choice, Run()))) == 50


@pytest.mark.parametrize("name", sorted(estimators.instances()))
@pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning")
def test_every_estimator_takes_landmarks(name):
    cls, parameters = estimators.instances()[name]
    rows = estimators.rows(90)
    fitted = wk.scale.fit_landmarks(estimators.make(cls, **parameters), rows, 60)
    placed = wk.scale.transform(fitted, wk.scale.open_source(rows, rows_per_shard=25))
    np.testing.assert_array_equal(placed, fitted.transform(rows))
    assert len(fitted.embedding_) == len(fitted.source_rows_) == 60


def test_dask_arrays_are_placed_lazily(mde, expected, monkeypatch):
    da = pytest.importorskip("dask.array")
    for chunks in ((120, 64), (120, 30)):
        array = da.from_array(X, chunks=chunks)
        with monkeypatch.context() as patch:
            patch.setattr(type(mde), "transform", lambda *_: pytest.fail("placed too early"))
            placed = wk.scale.transform(mde, array)
        assert placed.chunks == ((120, 120, 120, 120, 20), (2,))
        assert placed.dtype == expected.dtype
        np.testing.assert_array_equal(placed.compute(scheduler="synchronous"), expected)
    unknown = da.from_array(X, chunks=(120, 64))
    placed = wk.scale.transform(mde, unknown[unknown[:, 20] > 8])
    np.testing.assert_array_equal(placed.compute(scheduler="synchronous"), expected[X[:, 20] > 8])


def test_dask_frames_are_placed_lazily_with_index_and_partitions(expected, mde, monkeypatch):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    index = pd.Index(np.arange(1000, 1500) * 3, name="cell")
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(64)], index=index)
    frame = dd.from_pandas(table, npartitions=4)
    with monkeypatch.context() as patch:
        patch.setattr(type(mde), "transform", lambda *_: pytest.fail("placed too early"))
        placed = wk.scale.transform(mde, frame)
    assert placed.divisions == frame.divisions
    assert placed.npartitions == 4
    found = placed.compute(scheduler="synchronous")
    assert list(found.columns) == ["y1", "y2"]
    assert found.index.equals(index)
    assert found.index.name == "cell"
    np.testing.assert_array_equal(found.to_numpy(), expected)
    # A partition without rows stays one.
    few = wk.scale.transform(mde, frame[frame["c20"] > 8])
    assert few.npartitions == 4
    np.testing.assert_array_equal(few.compute(scheduler="synchronous").to_numpy(), expected[X[:, 20] > 8])


def test_a_model_of_a_frame_takes_its_own_columns_of_another(monkeypatch):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = pd.DataFrame(X[:200, 20:30], columns=[f"c{j}" for j in range(10)])
    fitted = wk.scale.fit_landmarks(
        wk.MDE(random_state=0, max_iter=20), dd.from_pandas(table, npartitions=3), 80
    )
    assert list(fitted.feature_names_in_) == list(table.columns)
    wider = dd.from_pandas(table.assign(text="x")[["text", *table.columns[::-1]]], npartitions=2)
    found = wk.scale.transform(fitted, wider).compute(scheduler="synchronous")
    np.testing.assert_array_equal(found.to_numpy(), fitted.transform(table))


def test_parquet_files_in_give_parquet_files_out(tmp_path, mde, expected):
    for k, part in enumerate((slice(0, 300), slice(300, 500))):
        table = pa.table({f"c{j}": X[part, j] for j in range(64)})
        pq.write_table(table, tmp_path / f"part{k}.parquet", row_group_size=128)
    out = wk.scale.transform(mde, tmp_path / "part*.parquet", tmp_path / "out")
    assert sorted(path.name for path in out.iterdir()) == ["part0.parquet", "part1.parquet"]
    tables = [pq.ParquetFile(out / f"part{k}.parquet") for k in (0, 1)]
    assert [table.num_row_groups for table in tables] == [3, 2]
    found = np.concatenate([table.read().to_pandas().to_numpy() for table in tables])
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(InvalidParameterError, match="A folder is for parquet files"):
        wk.scale.transform(mde, X, tmp_path / "other")
    with pytest.raises(InvalidParameterError, match="another folder than"):
        wk.scale.transform(mde, tmp_path / "part*.parquet", tmp_path)
    for name in ("more-a", "more-b"):
        (tmp_path / name).mkdir()
        pq.write_table(table.slice(0, 5), tmp_path / name / "part0.parquet")
    with pytest.raises(InvalidParameterError, match="the same name"):
        wk.scale.transform(mde, tmp_path / "more-*" / "part0.parquet", tmp_path / "third")


def test_workers_place_rows_to_the_same_bytes(tmp_path, mde, expected, cluster):
    np.save(tmp_path / "rows.npy", X)
    source = wk.scale.open_source(tmp_path / "rows.npy", rows_per_shard=60)
    np.testing.assert_array_equal(
        wk.scale.transform(mde, source, client=cluster(2, processes=True)), expected
    )
    assert mde.n_jobs is None


def test_odd_wishes_are_refused(mde):
    with pytest.raises(InvalidParameterError, match="choice must be one of"):
        wk.scale.fit_landmarks(wk.MDE(), X, choice="spread")
    with pytest.raises(InvalidInputError, match="more than the 500 rows"):
        wk.scale.fit_landmarks(wk.MDE(), X, 501)
    with pytest.raises(InvalidParameterError, match="fit and transform; got int"):
        wk.scale.fit_landmarks(3, X)
    with pytest.raises(InvalidParameterError, match="must be fitted"):
        wk.scale.transform(wk.MDE(), X)
