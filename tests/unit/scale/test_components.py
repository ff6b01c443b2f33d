"""Principal components by passes over shards, beside those of all rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.errors import InvalidParameterError
from winkel.run import Run
from winkel.scale import components
from winkel.scale.engine import LocalEngine


def rows(n=800, m=40, seed=0):
    """Rows far from the origin, whose variances fall off."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(m, m)))[0]
    return 50 + (rng.normal(size=(n, m)) * 0.8 ** np.arange(m)) @ turn


def exact(X, d):
    """Mean, directions and variances by NumPy's decomposition."""
    mean = X.mean(axis=0)
    _, strength, right = np.linalg.svd(X - mean, full_matrices=False)
    axes = right[:d].T
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(d)])
    return mean, axes, strength[:d] ** 2 / (len(X) - 1)


@pytest.fixture(params=["whole", "passes"])
def way(request, monkeypatch):
    """The covariance as a whole, and by products with blocks, also of few columns."""
    if request.param == "passes":
        monkeypatch.setattr(components, "_WHOLE_UP_TO", 1)
        monkeypatch.setattr(components, "_SETTLED", 1e-9)
    return request.param


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.usefixtures("way")
def test_components_are_those_of_all_rows_in_memory(kind):
    X = rows()
    source = wk.scale.pca(wk.scale.open_source(kind(X), rows_per_shard=130), 6)
    mean, axes, variance = exact(X, 6)
    found = source.components
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-7)
    np.testing.assert_allclose(found.axes, axes, atol=1e-5)
    assert found.total_variance == pytest.approx(X.var(axis=0, ddof=1).sum(), rel=1e-9)
    assert source.shape == (800, 6)
    assert source.n_shards == 7
    along = np.concatenate([part.values for part in source.shards()])
    np.testing.assert_allclose(along, (X - mean) @ axes, atol=1e-4)
    np.testing.assert_array_equal(along[:20], found.apply(kind(X)[:20]))


def test_few_passes_hold_nearly_all_variance():
    # A slow fall, where directions are hard to tell apart: it is the variance along them that counts.
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(1500, 700)) * (1 + np.arange(700)) ** -0.5).astype(np.float32)
    found = wk.scale.pca(wk.scale.open_source(X, rows_per_shard=400), 20).components
    best = exact(X.astype(np.float64), 20)[2]
    assert found.variance.sum() > 0.999 * best.sum()
    assert (found.variance <= best * (1 + 1e-6)).all()


@pytest.mark.usefixtures("way")
def test_any_number_of_threads_and_workers_gives_the_same_bytes(tmp_path, cluster):
    np.save(tmp_path / "rows.npy", rows())
    source = wk.scale.open_source(tmp_path / "rows.npy", rows_per_shard=100)
    expected = wk.scale.pca(source, 5, n_jobs=1).components.axes
    np.testing.assert_array_equal(wk.scale.pca(source, 5, n_jobs=2).components.axes, expected)
    np.testing.assert_array_equal(wk.scale.pca(source, 5, client=cluster(2)).components.axes, expected)


def test_a_fit_reduces_rows_first_when_it_is_asked_to(tmp_path, monkeypatch):
    X = wk.datasets.load_digits().X[:600] + 0.1 * np.random.default_rng(0).random((600, 64))
    mde = wk.MDE(random_state=0, max_iter=250)
    whole = wk.scale.fit(mde, wk.scale.pca(X, 10), rows_per_block=200).embedding_.copy()
    found = wk.scale.fit(mde, X, rows_per_block=200, pca=10, folder=tmp_path).embedding_.copy()
    np.testing.assert_array_equal(found, whole)
    # What the folder holds is not sought again.
    monkeypatch.setattr(components, "find_components", lambda *_: pytest.fail("sought again"))
    np.testing.assert_array_equal(
        wk.scale.fit(mde, X, rows_per_block=200, pca=10, folder=tmp_path).embedding_, whole
    )
    with pytest.raises(InvalidParameterError, match="differs in pca"):
        wk.scale.fit(mde, X, rows_per_block=200, pca=11, folder=tmp_path)


def test_odd_numbers_of_components_are_refused():
    for count in (0, 41, 2.5):
        with pytest.raises(InvalidParameterError, match="n_components"):
            wk.scale.pca(rows(), count)
    with pytest.raises(InvalidParameterError, match="pca must be None or"):
        wk.scale.fit(wk.MDE(), rows(), pca=41)


def test_equal_rows_have_no_variance():
    source = wk.scale.open_source(np.full((30, 4), 7.0), rows_per_shard=8)
    found = components.find_components(source, 2, LocalEngine(), Run())
    np.testing.assert_array_equal(found.variance, 0)
    assert np.isfinite(found.apply(np.full((3, 4), 7.0))).all()


def test_components_of_a_file_that_was_mended_are_found_anew(tmp_path):
    from winkel.scale.folder import Folder

    folder, run = Folder.opened(tmp_path / "work", {}), Run()
    np.save(tmp_path / "rows.npy", rows())
    source = wk.scale.open_source(tmp_path / "rows.npy")
    first = components.kept_components(folder, source, 3, LocalEngine(), run)
    np.save(tmp_path / "rows.npy", rows(seed=1))
    source = wk.scale.open_source(tmp_path / "rows.npy")
    found = components.kept_components(folder, source, 3, LocalEngine(), run)
    assert not np.allclose(found.axes, first.axes)
    np.testing.assert_array_equal(found.axes, wk.scale.pca(source, 3).components.axes)
    folder.keep_note("whole.json", {"result": "another"})
    np.save(tmp_path / "rows.npy", rows(seed=2))
    with pytest.raises(InvalidParameterError, match="differs in rows"):
        components.kept_components(folder, wk.scale.open_source(tmp_path / "rows.npy"), 3, LocalEngine(), run)
