"""Sources of every kind hold the same rows, and name the place of a bad value."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError, MissingFileError

X = wk.datasets.load_digits().X[:500].astype(np.float32)
KINDS = (
    "npy", "zarr", "zarr-sparse", "h5ad", "h5ad-sparse", "h5ad-obsm", "backed", "annotated", "sparse", "zarr-array", "dask-array",
    "dask-columns", "dask-frame",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _quietly_written():
    """zarr and anndata tell of their own future when they write."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def annotated(values):
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(values)
    data.obsm["X_half"] = np.asarray(values[:, :32].todense() if sp.issparse(values) else values[:, :32])
    return data


def opened(kind, folder, values=X):
    """The source of the rows in one of the kinds."""
    size = {} if kind.startswith("dask") else {"rows_per_shard": 120}
    if kind == "npy":
        np.save(folder / "rows.npy", values)
        return wk.scale.open_source(folder / "rows.npy", **size)
    if kind.startswith("h5ad") or kind == "backed":
        path = folder / "rows.h5ad"
        annotated(sp.csr_matrix(values) if kind == "h5ad-sparse" else values).write_h5ad(path)
        if kind == "backed":
            import anndata

            return wk.scale.open_source(anndata.read_h5ad(path, backed="r"), **size)
        key = "obsm/X_half" if kind == "h5ad-obsm" else None
        return wk.scale.open_source(path, key=key, **size)
    if kind == "annotated":
        return wk.scale.open_source(annotated(values), **size)
    if kind == "sparse":
        return wk.scale.open_source(sp.csc_matrix(values), **size)
    if kind.startswith("zarr"):
        zarr = pytest.importorskip("zarr")
        path = folder / "rows.zarr"
        if kind == "zarr-sparse":
            annotated(sp.csr_matrix(values)).write_zarr(path)
            return wk.scale.open_source(path, **size)
        array = zarr.open(str(path), mode="w", shape=values.shape, chunks=(50, 20), dtype=values.dtype)
        array[:] = values
        return wk.scale.open_source(path if kind == "zarr" else array, **size)
    if kind == "dask-frame":
        pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
        frame = pd.DataFrame(values, columns=[f"c{j}" for j in range(values.shape[1])])
        return wk.scale.open_source(dd.from_pandas(frame, npartitions=5))
    da = pytest.importorskip("dask.array")
    return wk.scale.open_source(da.from_array(values, chunks=(120, 30 if kind == "dask-columns" else 64)))


def dense(table):
    return table.values.toarray() if sp.issparse(table.values) else table.values


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_holds_the_same_rows(tmp_path, kind):
    source = opened(kind, tmp_path)
    expected = X[:, :32] if kind == "h5ad-obsm" else X
    assert source.shape == expected.shape
    assert source.n_shards == 5
    np.testing.assert_array_equal(np.concatenate([dense(part) for part in source.shards()]), expected)
    rows = [0, 119, 120, 499]
    np.testing.assert_array_equal(dense(source.rows(rows)), expected[rows])
    assert source.identity == pickle.loads(pickle.dumps(source)).identity
    there = pickle.loads(pickle.dumps(source))  # as another process gets it
    np.testing.assert_array_equal(dense(there.shard(4)), expected[source.starts[4] :])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "h5ad-obsm"])
def test_a_bad_value_is_named_by_its_place_row_and_column(tmp_path, kind):
    bad = X.copy()
    bad[310, 7] = np.nan
    source = opened(kind, tmp_path, bad)
    place = {
        "npy": r"rows\.npy",
        "zarr": r"rows\.zarr",
        "h5ad": r"rows\.h5ad",
        "dask": "partition [23] of the dask",
    }
    named = place.get(kind.partition("-")[0], "") if kind not in ("zarr-array", "backed") else ""
    with pytest.raises(InvalidInputError, match=rf"{named}.*has NaN .* row 310.*, column 7"):
        list(source.shards())


def test_the_map_of_a_source_is_the_same_whatever_its_kind(tmp_path):
    mde = wk.MDE(random_state=0, max_iter=3)
    expected = wk.scale.fit(mde, opened("npy", tmp_path), rows_per_block=100).embedding_.copy()
    for kind in ("zarr", "h5ad-sparse", "dask-array"):
        found = wk.scale.fit(mde, opened(kind, tmp_path), rows_per_block=100).embedding_
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["npy", "zarr-array", "sparse", "dask-array", "dask-frame"])
def test_other_values_are_another_source(tmp_path, kind):
    other = X.copy()
    other[3, 3] += 1
    first = opened(kind, tmp_path).identity
    assert opened(kind, tmp_path, other).identity != first


def test_shards_of_a_zarr_array_are_whole_chunks(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr("winkel.scale.source.SHARD_BYTES", 130 * 64 * 4)
    array = zarr.open(str(tmp_path / "rows.zarr"), mode="w", shape=X.shape, chunks=(50, 20), dtype=X.dtype)
    array[:] = X
    assert wk.scale.open_source(tmp_path / "rows.zarr").starts.tolist() == [0, 100, 200, 300, 400, 500]


def test_odd_stores_are_refused(tmp_path):
    annotated(sp.csc_matrix(X)).write_h5ad(tmp_path / "columns.h5ad")
    with pytest.raises(InvalidInputError, match="csc_matrix; rows can be read from"):
        wk.scale.open_source(tmp_path / "columns.h5ad")
    with pytest.raises(InvalidParameterError, match=r"'obsm/X_pca' is not in .*obsm/X_half"):
        wk.scale.open_source(tmp_path / "columns.h5ad", key="X_pca")
    (tmp_path / "broken.h5ad").write_bytes(b"nothing")
    with pytest.raises(InvalidInputError, match="cannot be read as h5ad"):
        wk.scale.open_source(tmp_path / "broken.h5ad")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(InvalidInputError, match="cannot be read as zarr"):
        wk.scale.open_source(tmp_path / "empty.zarr")
    with pytest.raises(MissingFileError):
        wk.scale.open_source(tmp_path / "nothing.zarr")
    with pytest.raises(InvalidParameterError, match="key names an array"):
        wk.scale.open_source(X, key="X")
    with pytest.raises(InvalidParameterError, match="columns is for"):
        wk.scale.open_source(X, columns=["a"])


def test_odd_dask_data_is_refused():
    da, dd, pd = (pytest.importorskip(name) for name in ("dask.array", "dask.dataframe", "pandas"))
    with pytest.raises(InvalidInputError, match="rows and columns"):
        wk.scale.open_source(da.zeros(5))
    unknown = da.from_array(X, chunks=(100, 64))
    with pytest.raises(InvalidInputError, match="compute_chunk_sizes"):
        wk.scale.open_source(unknown[unknown[:, 10] > 3])
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=2)
    with pytest.raises(InvalidParameterError, match="no column 'z'"):
        wk.scale.open_source(frame, columns=["z"])
    with pytest.raises(InvalidParameterError, match="those of Dask its partitions"):
        wk.scale.open_source(frame, rows_per_shard=2)
    with pytest.raises(InvalidInputError, match="without numbers"):
        wk.scale.open_source(frame).shard(0)
    assert wk.scale.open_source(frame, drop=["b"]).shard(0).columns == ("a",)
    assert wk.scale.open_source(frame[frame.a > 1], columns=["a"]).shape == (
        1,
        1,
    )  # an empty partition is no shard


def test_data_that_workers_hold_is_read_from_them(cluster):
    da, client = pytest.importorskip("dask.array"), cluster(2)
    source = wk.scale.open_source(da.from_array(X, chunks=(120, 64)).persist())
    np.testing.assert_array_equal(source.shard(1).values, X[120:240])
    far = client.submit(lambda source: source.shard(1).values, source, pure=False).result(timeout=60)
    np.testing.assert_array_equal(far, X[120:240])
