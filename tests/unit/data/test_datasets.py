"""Loaders on the real files: shapes, and one known fact of each. Files that are absent are skipped."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.data import as_matrix
from winkel.data.fetch import find
from winkel.data.profile import profile


def real(filename):
    """Skips a test when the file is neither in WINKEL_DATA nor in the cache; nothing is downloaded."""
    if find(filename) is None:
        pytest.skip(f"{filename} is neither in WINKEL_DATA nor in the cache")


def test_digits():
    data = wk.datasets.load_digits()
    assert data.X.shape == (1797, 64)
    assert data.X.max() == 16
    np.testing.assert_array_equal(np.unique(data.y), np.arange(10))


def test_mnist():
    real("mnist70k.npz")
    data = wk.datasets.load_mnist()
    assert data.X.shape == (70000, 784)
    assert data.X.dtype == np.uint8
    np.testing.assert_array_equal(data.y[:5], [5, 0, 4, 1, 9])
    np.testing.assert_array_equal(data.y[60000:60005], [7, 2, 1, 0, 4])
    np.testing.assert_array_equal(
        np.bincount(data.y), [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
    )
    found = profile(as_matrix(data.X))
    assert (found.constant_columns, found.duplicate_rows, found.zero_rows) == (65, 0, 0)


def test_fashion_mnist():
    real("fashion_mnist70k.npz")
    data = wk.datasets.load_fashion_mnist()
    assert data.X.shape == (70000, 784)
    np.testing.assert_array_equal(np.bincount(data.y), np.full(10, 7000))
    assert data.label_names[9] == "Ankle boot"


def test_words_word2vec():
    real("words_word2vec_gnews_300d_26k.npz")
    data = wk.datasets.load_words("word2vec")
    assert data.X.shape == (26423, 300)
    assert len(data.ids) == 26423
    np.testing.assert_allclose(np.linalg.norm(data.X.astype(np.float32), axis=1), 1, atol=2e-3)


@pytest.mark.parametrize(("size", "n"), [("30k", 30078), ("100k", 100000)])
def test_words_glove(size, n):
    real(f"words_glove6b_100d_{size}.npz")
    data = wk.datasets.load_words("glove", size=size)
    assert data.X.shape == (n, 100)
    assert data.ids[:3].tolist() == ["the", ",", "."]


def test_analogies():
    real("questions-words.txt.gz")
    data = wk.datasets.load_analogies()
    assert data.X.shape == (19544, 4)
    assert len(data.label_names) == 14
    assert (
        int(data.extras["semantic"].sum()) == 8869
    )  # Mikolov et al. 2013: 8869 semantic, 10675 syntactic questions


def test_all_words_of_the_analogies_have_a_vector():
    real("questions-words.txt.gz")
    real("words_glove6b_100d_30k.npz")
    words = set(wk.datasets.load_words("glove", size="30k").ids.tolist())
    assert {word.lower() for word in wk.datasets.load_analogies().X.ravel().tolist()} <= words


def test_salinas_a():
    real("salinas_a.npz")
    data = wk.datasets.load_salinas_a()
    assert data.X.shape == (7138, 224)
    assert data.extras["image_shape"] == (83, 86)
    assert set(np.unique(data.y).tolist()) == set(data.label_names)
    assert int((data.y > 0).sum()) == 5348  # the labelled pixels of the published scene
    assert profile(as_matrix(data.X)).duplicate_rows == 2340
    corrected = wk.datasets.load_salinas_a(corrected=True)
    assert corrected.X.shape == (7138, 204)
    np.testing.assert_array_equal(corrected.X[:, 0], data.X[:, 0])


def test_yale_b():
    real("yaleb_5_9_3_4_192x168.npz")
    data = wk.datasets.load_yale_b()
    assert data.X.shape == (256, 192 * 168)
    labels, counts = np.unique(data.y, return_counts=True)
    np.testing.assert_array_equal(labels, [3, 4, 5, 9])
    np.testing.assert_array_equal(counts, 64)


def test_coil20():
    real("coil20_32x32.npz")
    data = wk.datasets.load_coil20()
    assert data.X.shape == (1440, 1024)
    np.testing.assert_array_equal(np.bincount(data.y), np.full(20, 72))
    np.testing.assert_array_equal(data.extras["angle_index"][:72], np.arange(72))


def test_popres():
    real("popres_pca20.npz")
    data = wk.datasets.load_popres()
    assert data.X.shape == (1387, 20)
    assert data.y.shape == (1387,)
    assert data.extras["lonlat"].shape == (1387, 2)
    # Novembre et al. 2008: genes mirror geography, so a leading component follows longitude or latitude.
    correlation = np.corrcoef(data.X[:, :2].T, data.extras["lonlat"].T)[:2, 2:]
    assert np.abs(correlation).max() > 0.7


def test_counties():
    real("us_counties_acs2017.npz")
    data = wk.datasets.load_counties()
    assert data.X.shape == (3139, 34)
    assert as_matrix(data.X) is data.X  # finite, once the rows that lack values are left out
    assert data.feature_names[0] == "TotalPop"
    assert 0 < data.y.min() < data.y.max() < 1


@pytest.mark.parametrize(
    ("name", "n", "p"),
    [
        ("AstroPh", 17903, 196972),
        ("CondMat", 21363, 91286),
        ("HepPh", 12006, 118489),
        ("HepTh", 9875, 25973),
        ("GrQc", 5241, 14484),
    ],
)
def test_coauthorship(name, n, p):
    real("coauthorship_snap.npz")
    data = wk.datasets.load_coauthorship(name)
    assert sp.issparse(data.X)
    assert data.X.shape == (n, n)
    assert data.X.nnz == 2 * p
    assert (data.X != data.X.T).nnz == 0
    assert data.extras["edges"].shape == (p, 2)
    assert len(data.ids) == n


def test_pbmc3k():
    real("scrna_pbmc3k_pca50.npz")
    data = wk.datasets.load_pbmc3k()
    assert data.X.shape == (2638, 50)
    assert set(np.unique(data.y).tolist()) == set(data.label_names)


def test_covid_balf():
    real("scrna_covid_balf3_pca50.npz")
    data = wk.datasets.load_covid_balf()
    assert data.X.shape == (3724, 50)
    assert data.label_names[int(np.bincount(data.y).argmax())] == "Macrophages"


def test_cytof():
    real("cytof_bcrxl_173k.npz")
    data = wk.datasets.load_cytof()
    assert data.X.shape == (172791, 24)
    np.testing.assert_array_equal(np.unique(data.y), np.arange(1, 9))
    assert data.feature_names[:2] == ("CD3", "CD45")


def test_mammoth():
    real("mammoth_3d_50k.npz")
    data = wk.datasets.load_mammoth()
    assert data.X.shape == (50000, 3)
    spread = np.ptp(data.X, axis=0)
    assert spread[1] > 2 * spread[0]  # longer than it is wide


def test_the_page_on_data_lists_every_loader():
    page = (Path(__file__).parents[3] / "docs" / "data.md").read_text()
    listed = set(re.findall(r"`(load_\w+)", page))
    assert listed == {name for name in wk.datasets.__all__ if name.startswith("load_")}
