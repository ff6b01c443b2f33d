"""Rows in shards: a source is validated part by part, landmarks stand for all, and placing by shards changes no byte."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.maps import read_map

X = wk.datasets.load_digits().X[:500].astype(np.float32)


@pytest.fixture
def files(tmp_path):
    """The rows as an .npy file and as two parquet files of several row groups."""
    np.save(tmp_path / "rows.npy", X)
    columns = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    for k, part in enumerate((slice(0, 300), slice(300, 500))):
        table = pa.table({name: values[part] for name, values in columns.items()})
        pq.write_table(table, tmp_path / f"part{k}.parquet", row_group_size=128)
    return tmp_path


@pytest.mark.parametrize("pattern", ["rows.npy", "part*.parquet"])
def test_shards_hold_all_rows_in_order(files, pattern):
    source = wk.scale.open_source(files / pattern)
    assert source.shape == X.shape
    assert source.n_shards == {"rows.npy": 1, "part*.parquet": 5}[pattern]
    np.testing.assert_array_equal(np.concatenate([part.values for part in source.shards()]), X)
    rows = [0, 127, 128, 299, 300, 499]
    np.testing.assert_array_equal(source.rows(rows).values, X[rows])


def test_the_size_of_a_shard_depends_on_the_rows_alone():
    wide = wk.scale.open_source(np.broadcast_to(np.float32(0), (100, 2**20)))
    assert wide.n_shards == 7  # 16 rows of 4 MiB make 64 MiB


def test_a_bad_value_is_named_with_its_file_and_rows(files):
    bad = X.copy()
    bad[310, 7] = np.nan
    np.save(files / "bad.npy", bad)
    source = wk.scale.open_source(files / "bad.npy", rows_per_shard=100)
    with pytest.raises(InvalidInputError, match=r"bad\.npy \(rows 300 to 399\) has NaN .* row 310, column 7"):
        list(source.shards())


def test_odd_sources_are_refused(files):
    with pytest.raises(InvalidInputError, match="rows and columns"):
        wk.scale.open_source(np.zeros(5))
    with pytest.raises(InvalidParameterError, match="row groups"):
        wk.scale.open_source(files / "part0.parquet", rows_per_shard=10)
    for wrong in ({"columns": ["z"]}, {"drop": ["z"]}):
        with pytest.raises(InvalidParameterError, match=r"part0\.parquet has no column 'z'"):
            wk.scale.open_source(files / "part0.parquet", **wrong)
    names = [f"c{j}" for j in range(X.shape[1])]
    with pytest.raises(InvalidInputError, match="All columns"):
        wk.scale.open_source(files / "part0.parquet", drop=names)
    with pytest.raises(InvalidParameterError, match="drop is for parquet"):
        wk.scale.open_source(X, drop=["c0"])
    for taker in (wk.TSNE().fit, wk.graph.knn, wk.data.as_table):
        with pytest.raises(InvalidInputError, match="fit_landmarks and transform"):
            taker(wk.scale.open_source(X))
    (files / "broken.npy").write_bytes(b"nothing")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        wk.scale.open_source(files / "broken.npy")
    with pytest.raises(InvalidParameterError, match="ascending"):
        wk.scale.open_source(X).rows([3, 2])


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_placing_by_shards_has_the_bytes_of_placing_at_once(files, suffix):
    mde = wk.scale.fit_landmarks(wk.MDE(random_state=0), files / "rows.npy", 200)
    assert len(np.unique(mde.source_rows_)) == len(mde.embedding_) == 200
    source = wk.scale.open_source(files / "part*.parquet")
    out = wk.scale.transform(mde, source, files / f"map{suffix}")
    whole = mde.transform(X)
    if suffix == ".npy":
        written = np.load(out)
    else:
        table = pq.read_table(out)
        written = np.column_stack([table.column(name).to_numpy() for name in ("y1", "y2")])
    np.testing.assert_array_equal(written, whole)
    if suffix == ".parquet":  # whatever reads map files reads this one
        np.testing.assert_array_equal(read_map(out).Y, whole)
    np.testing.assert_array_equal(whole[mde.source_rows_], mde.embedding_)


def test_nothing_is_left_when_placing_fails(files):
    mde = wk.scale.fit_landmarks(wk.MDE(random_state=0), X, 100)
    bad = X.copy()
    bad[-1, 0] = np.inf
    source = wk.scale.open_source(bad, rows_per_shard=200)
    with pytest.raises(InvalidInputError, match="infinity"):
        wk.scale.transform(mde, source, files / "map.npy")
    assert not list(files.glob("*map*"))
