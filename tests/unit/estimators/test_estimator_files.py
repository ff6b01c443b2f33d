"""Estimators in files: saved without pickle, loaded to the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import winkel as wk
from winkel.data.archive import read_archive, write_archive
from winkel.errors import InvalidParameterError, ModelFileError

pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def rows(n=60, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, 6))


def model(**parameters):
    return wk.MDE(**{"n_neighbors": 6, "max_iter": 15, "random_state": 0} | parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_components": 3, "metric": "cosine", "keep_frames": 4},
        {"preserve": "distances", "loss": "weighted_quadratic"},
        {"preserve": "distances", "loss": wk.losses.Huber},
        {"attractive": wk.penalties.Log1p(exponent=2.0), "repulsive": wk.penalties.InvPower},
        {"attractive": wk.penalties.Huber(threshold=0.2), "constraint": wk.Standardized()},
        {"anchors": ([1, 2], np.eye(2))},
        {"constraint": wk.Anchored([1, 2], np.eye(2))},
        {"init": rows(60)[:, :2], "n_neighbors": np.int64(5)},
        {"repulsive": None, "constraint": "standardized"},
    ],
    ids=lambda p: ",".join(p) or "default",
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loaded_is_saved(parameters, dtype, tmp_path):
    fitted = model(**parameters).fit(rows().astype(dtype))
    fitted.save(tmp_path / "map.winkel")
    loaded = wk.load(tmp_path / "map.winkel")
    assert type(loaded) is wk.MDE
    assert loaded.embedding_.tobytes() == fitted.embedding_.tobytes()
    new = rows(20, seed=1).astype(dtype)
    assert loaded.transform(new).tobytes() == fitted.transform(new).tobytes()
    assert (loaded.n_features_in_, loaded.n_iter_, loaded.objective_) == (
        6,
        fitted.n_iter_,
        fitted.objective_,
    )
    assert loaded.status_ == fitted.status_
    # The parameters are as good as the ones given: a new fit finds the same.
    assert loaded.fit(rows().astype(dtype)).embedding_.tobytes() == fitted.embedding_.tobytes()


def test_sparse_rows_stay_sparse(tmp_path):
    X = sp.csr_matrix(np.where(rows() > 0.5, rows(), 0))
    fitted = model().fit(X)
    fitted.save(tmp_path / "map")
    loaded = wk.load(tmp_path / "map")
    assert sp.issparse(loaded._rows)
    assert loaded.transform(X + 0).tobytes() == fitted.transform(X).tobytes()
    assert loaded.extend(X[:3] * 1.5).tobytes() == fitted.extend(X[:3] * 1.5).tobytes()


def test_feature_names(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows(), columns=["a", "b", "ç", "d", "e", "f g"])
    fitted = model().fit(frame)
    fitted.save(tmp_path / "map")
    loaded = wk.load(tmp_path / "map")
    assert loaded.feature_names_in_.dtype == object
    np.testing.assert_array_equal(loaded.feature_names_in_, fitted.feature_names_in_)
    np.testing.assert_array_equal(loaded.transform(frame), fitted.embedding_)


def test_graph_and_extended_maps(tmp_path):
    fitted = model().fit(wk.graph.knn(rows(), 6))
    fitted.save(tmp_path / "map")
    loaded = wk.load(tmp_path / "map")
    assert loaded.graph_.edges.tobytes() == fitted.graph_.edges.tobytes()
    with pytest.raises(ValueError, match="no rows to compare"):
        loaded.transform(rows())
    grown = model().fit(rows())
    grown.extend(rows(10, seed=3))
    grown.save(tmp_path / "grown")
    np.testing.assert_array_equal(
        wk.load(tmp_path / "grown").transform(rows(10, seed=3)), grown.embedding_[60:]
    )


def test_generator_as_random_state_is_kept_as_its_seed(tmp_path):
    fitted = model(random_state=np.random.default_rng(3)).fit(rows())
    fitted.save(tmp_path / "map")
    assert wk.load(tmp_path / "map").fit(rows()).embedding_.tobytes() == fitted.embedding_.tobytes()


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        model().save(tmp_path / "map")
    for parameters in (
        {"callbacks": [print]},
        {"preserve": "distances", "loss": lambda d: wk.losses.Huber(d)},
    ):
        with pytest.raises(InvalidParameterError, match="contains no code"):
            model(**parameters).fit(rows()).save(tmp_path / "map")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda meta: meta.update({"class": "Popen"}), "'Popen'; this version knows"),
        (lambda meta: meta["parameters"].update(shell=True), "complete estimator"),
        (lambda meta: meta["fitted"].update(__class__=3), "sets '__class__'"),
        (lambda meta: meta.pop("result"), "complete estimator"),
        (
            lambda meta: meta["parameters"].update(attractive={"dict": {"winkel object": "os.system"}}),
            "os.system",
        ),
        (
            lambda meta: meta["parameters"].update(
                attractive={
                    "dict": {"winkel object": "penalties.log1p", "parameters": {"dict": {"exponent": -1.0}}}
                }
            ),
            "exponent",
        ),
    ],
)
def test_tampered_files(change, message, tmp_path):
    model().fit(rows()).save(tmp_path / "map")
    archive = read_archive(tmp_path / "map")
    change(archive.meta)
    write_archive(tmp_path / "bad", archive.kind, dict(archive.meta), dict(archive.arrays))
    with pytest.raises(ModelFileError, match=message):
        wk.load(tmp_path / "bad")
