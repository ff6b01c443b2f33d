"""wk.LVM against what users do to it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

import winkel as wk
from winkel import _core
from winkel.errors import (
    DataWarning,
    InvalidInputError,
    InvalidParameterError,
    MemoryLimitError,
    NotConvergedWarning,
)
from winkel.methods.lvm import place as lvm_place

X_DIGITS, LABELS = load_digits(return_X_y=True)
SOME, NEW = X_DIGITS[:150], X_DIGITS[150:190]

connected_or_not = pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning")


def lvm(**parameters):
    return wk.LVM(**{"n_neighbors": 8, "max_iter": 20, "random_state": 0} | parameters)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def assert_whole(model, n, m=2):
    Y = model.embedding_
    assert Y.shape == (n, m)
    assert np.isfinite(Y).all()
    assert np.linalg.norm(Y - Y.mean(axis=0), axis=1).max() > 1e-3  # not all in one place
    assert model.variance_.shape == (n,)
    assert (model.variance_ > 0).all()
    assert np.isfinite(model.variance_).all()
    assert np.isfinite(model.log_likelihood_).all()


# --------------------------------------------------------------------------------------------- any data


@connected_or_not
@pytest.mark.parametrize("m", [1, 2, 3, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [0, 2])
def test_components_and_precision(m, dtype, levels):
    model = lvm(n_components=m, levels=levels).fit(SOME[:80].astype(dtype))
    assert_whole(model, 80, m)
    assert model.embedding_.dtype == dtype
    assert model.n_levels_ == levels
    Y, variance = model.place(NEW[:5].astype(dtype))
    assert Y.dtype == dtype
    assert np.isfinite(Y).all()
    assert (variance > 0).all()


@connected_or_not
@pytest.mark.parametrize("levels", [0, 1])
@pytest.mark.parametrize(
    "X",
    [
        np.ones((40, 5)),
        np.repeat(SOME[:10], 12, axis=0),
        np.vstack([rng(1).normal(size=(40, 4)), rng(2).normal(size=(40, 4)) + 1e6]),
        np.vstack([rng(3).normal(size=(50, 3)), [[1e5, 0, 0]]]),
        np.arange(60.0)[:, None],
        1e-30 * rng(6).normal(size=(40, 3)),
        1e30 * rng(7).normal(size=(40, 3)),
    ],
    ids=["equal", "twins", "pieces", "outlier", "column", "tiny", "huge"],
)
def test_hard_data_gives_a_sound_map(X, levels):
    model = lvm(levels=levels).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.log_likelihood_).all()
    assert (model.variance_ > 0).all()
    for part in model.place(X[:3] * 1.01):
        assert np.isfinite(part).all()


@connected_or_not
@pytest.mark.parametrize("n", [3, 5, 8])
def test_few_rows(n):
    with pytest.warns(DataWarning, match=f"only {n} rows"):
        model = lvm(n_neighbors=15).fit(SOME[:n])
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_array_equal(model.transform(SOME[:n]), model.embedding_)


@connected_or_not
@pytest.mark.parametrize("metric", ["cosine", "manhattan", "chebyshev"])
def test_metrics(metric):
    model = lvm(metric=metric, levels=1).fit(SOME)
    assert_whole(model, 150)
    together = model.transform(NEW[:6])
    assert model.transform(NEW[3:4]).tobytes() == together[3].tobytes()


@connected_or_not
def test_one_scan_of_the_rows_a_call(monkeypatch):
    import winkel.data.table as table

    scans = []
    whole = table.dense_matrix
    monkeypatch.setattr(table, "dense_matrix", lambda *args: scans.append(1) or whole(*args))
    model = lvm(levels=1, n_neighbors=10).fit(X_DIGITS[:300])
    assert len(scans) == 1
    model.transform(NEW)
    assert len(scans) == 2
    lvm(levels=1, metric="precomputed", n_neighbors=10).fit(squareform(pdist(X_DIGITS[:300])))
    assert len(scans) == 3


@connected_or_not
def test_sparse_rows_are_fitted_and_placed_as_dense_ones():
    rows = SOME * (1 + 1e-3 * rng(0).random(SOME.shape))
    dense, sparse = lvm(levels=1).fit(rows), lvm(levels=1).fit(sp.csr_matrix(rows))
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-4)
    np.testing.assert_allclose(sparse.transform(sp.csr_matrix(NEW)), dense.transform(NEW), atol=0.05)


@connected_or_not
@pytest.mark.parametrize("levels", [0, 1, 2])
def test_precomputed_distances_are_those_of_the_rows(levels):
    D = squareform(pdist(SOME))
    plain = lvm(levels=levels).fit(SOME.astype(np.float64))
    given = lvm(levels=levels, metric="precomputed").fit(D)
    np.testing.assert_allclose(given.embedding_, plain.embedding_, atol=1e-5)
    np.testing.assert_allclose(given.variance_, plain.variance_, rtol=1e-5)
    with pytest.raises(InvalidInputError, match="no rows to compare"):
        given.transform(NEW)


@connected_or_not
@pytest.mark.parametrize("levels", [0, 1, 2])
def test_neighbour_lists_and_graphs_find_landmarks_by_paths(levels):
    graph = wk.graph.knn(SOME, 8)
    for given in ((graph.knn_indices, graph.knn_distances), graph):
        model = lvm(levels=levels, metric="precomputed").fit(given)
        assert_whole(model, 150)
    ring = wk.Graph.from_edges([[i, i + 1] for i in range(39)] + [[0, 39]], n=42)  # two nodes without edges
    assert_whole(lvm(levels=levels).fit(ring), 42)


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return float(row[-1])


@connected_or_not
@pytest.mark.parametrize("levels", [0, 1])
def test_strings_with_an_edit_distance(levels):
    stems = ["winkelmass", "projection", "latitude"]
    words = [s[:k] + c + s[k:] for s in stems for k in range(8) for c in "xyz"]
    model = lvm(metric=edit_distance, levels=levels, max_iter=80).fit(words)
    assert_whole(model, 72)
    stem = np.repeat([0, 1, 2], 24)
    assert KNeighborsClassifier(5).fit(model.embedding_, stem).score(model.embedding_, stem) == 1


def test_rows_outside_the_largest_component_are_placed_or_refused():
    X = np.vstack([rng(1).normal(size=(60, 4)), rng(2).normal(size=(25, 4)) + 1e3])
    with pytest.warns(DataWarning, match=r"2 components; 25 of 85 items are outside"):
        model = lvm(max_iter=60).fit(X)
    assert_whole(model, 85)
    np.testing.assert_array_equal(model.component_, np.repeat([0, 1], [60, 25]))
    Y = model.embedding_
    assert KNeighborsClassifier(5).fit(Y, model.component_).score(Y, model.component_) == 1
    with pytest.raises(InvalidInputError, match=r"Increase n_neighbors"):
        lvm(components="error").fit(X)


# ----------------------------------------------------------------------------------- parameters


@connected_or_not
def test_tied_variances_are_one_and_fit_worse():
    free, tied = (lvm(tied_variance=t, max_iter=80).fit(X_DIGITS[:500]) for t in (False, True))
    assert len(np.unique(tied.variance_)) == 1
    assert len(np.unique(free.variance_)) > 100
    assert free.log_likelihood_[-1] > tied.log_likelihood_[-1]


@connected_or_not
def test_starts():
    given = rng(8).normal(size=(150, 2))
    model = lvm(init=given, max_iter=0).fit(SOME)
    np.testing.assert_allclose(model.embedding_, given)
    assert_whole(lvm(init="random").fit(SOME), 150)
    with pytest.raises(InvalidInputError, match=r"\(150, 2\)"):
        lvm(init=given[:3]).fit(SOME)


@connected_or_not
def test_results_callbacks_and_frames():
    seen = []
    model = lvm(keep_frames=5, callbacks=[lambda info: seen.append(info.iteration)]).fit(SOME)
    assert seen == list(range(1, 21))
    assert 1 < len(model.result_.frames.Y) <= 5
    assert model.n_iter_ == 20
    assert model.log_likelihood_.shape == (21,)
    assert model.objective_ == -model.log_likelihood_[-1]
    assert model.n_dissimilar_ == 150 * 149 - model.n_similar_
    assert np.median(model.outlier_score_) == pytest.approx(0, abs=1e-12)
    assert np.argmax(model.outlier_score_) == np.argmax(model.variance_)

    def interrupt(info):
        if info.iteration == 5:
            raise KeyboardInterrupt

    with pytest.warns(NotConvergedWarning, match="Interrupted"):
        model = lvm(callbacks=[interrupt]).fit(SOME)
    assert model.objective_ == model.history_.objective.min()


def test_memory_is_refused_early():
    with pytest.raises(MemoryLimitError, match="max_memory"):
        lvm(max_memory="1KB").fit(SOME)


@connected_or_not
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"levels": -1}, "levels"),
        ({"levels": 2.0}, "levels"),
        ({"levels": "all"}, "levels must be an integer in .0, 8. or 'auto'; got 'all'"),
        ({"n_steps": 0}, "n_steps"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_components": 0}, "n_components"),
        ({"momentum": 1.0}, "momentum"),
        ({"momentum": "a"}, "momentum"),
        ({"m_step_tol": 1.0}, "m_step_tol"),
        ({"m_step_tol": -0.1}, "m_step_tol"),
        ({"tied_variance": "yes"}, "tied_variance"),
        ({"components": "drop"}, "components"),
        ({"init": "pca"}, "init"),
        ({"metric": "nope"}, "metric"),
        ({"max_iter": -1}, "max_iter"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_misused_parameters(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        lvm(**change).fit(SOME)


# ------------------------------------------------------------------------------------ transform


@pytest.fixture(scope="module")
def fitted():
    return {
        (levels, steps): lvm(levels=levels, n_steps=steps, n_neighbors=9, components="error").fit(
            X_DIGITS[:400]
        )
        for levels, steps in ((0, 1), (1, 2), (2, 3))
    }


@pytest.mark.parametrize("key", [(0, 1), (1, 2), (2, 3)])
def test_rows_are_placed_one_by_one_and_fitted_ones_have_their_own_place(fitted, key):
    model, new = fitted[key], X_DIGITS[400:412]
    Y, variance = model.place(new)
    for i in range(len(new)):
        alone = model.place(new[i : i + 1])
        assert alone[0].tobytes() == Y[i].tobytes()
        assert alone[1].tobytes() == variance[i].tobytes()
    mixed = model.place(np.vstack([new[:3], X_DIGITS[:400]]))
    np.testing.assert_array_equal(mixed[0][3:], model.embedding_)
    np.testing.assert_array_equal(mixed[1][3:], model.variance_)
    np.testing.assert_array_equal(model.transform(new), Y)


def test_steps_that_are_followed_end_where_each_step_by_itself_does(monkeypatch):
    model = lvm(max_iter=150, n_neighbors=9, levels=1).fit(X_DIGITS[:600])
    calls = []

    def kept(*arguments):
        calls.append(arguments)
        return _core.place_latent(*arguments)

    monkeypatch.setattr(lvm_place, "_core", SimpleNamespace(place_latent=kept))
    model.place(X_DIGITS[600:640])
    *around, Y, variance, _, _, n_jobs = calls[0]
    found = _core.place_latent(*around, Y, variance, 300, 0.0, n_jobs)
    for _ in range(300):  # one step of EM at a time, of which nothing is followed
        Y, variance = _core.place_latent(*around, Y, variance, 1, 0.0, n_jobs)
    off = np.linalg.norm(found[0] - Y, axis=1)
    assert off.max() < 0.01 * Y.std()
    assert np.median(off) < 1e-4 * Y.std()
    np.testing.assert_allclose(found[1], variance, rtol=0.1)


def test_held_out_digits_land_among_their_own():
    order = rng(0).permutation(len(X_DIGITS))
    test, train = order[:360], order[360:1200]
    model = lvm(max_iter=150, n_neighbors=9, levels=1).fit(X_DIGITS[train])

    def accuracy(asked, labels):
        return KNeighborsClassifier(10).fit(model.embedding_, LABELS[train]).score(asked, labels)

    Y, variance = model.place(X_DIGITS[test])
    assert accuracy(Y, LABELS[test]) > 0.9
    noise = 16 * rng(1).random((40, 64))
    assert np.median(model.place(noise)[1]) > 10 * np.median(variance)


def test_refused_new_rows(fitted):
    with pytest.raises(NotFittedError):
        lvm().transform(NEW)
    with pytest.raises(NotFittedError):
        _ = lvm().variance_
    with pytest.raises(InvalidInputError, match="5 features, but LVM is expecting 64"):
        fitted[0, 1].transform(NEW[:, :5])


# ------------------------------------------------------------------------------ bytes and files


@connected_or_not
@pytest.mark.parametrize(
    "parameters", [{}, {"levels": 2, "n_steps": 2, "metric": "cosine", "n_components": 3}]
)
def test_loaded_is_saved(parameters, tmp_path):
    model = lvm(**parameters).fit(SOME)
    model.save(tmp_path / "map.winkel")
    loaded = wk.load(tmp_path / "map.winkel")
    assert type(loaded) is wk.LVM
    assert loaded.variance_.tobytes() == model.variance_.tobytes()
    for mine, theirs in zip(model.place(NEW), loaded.place(NEW)):
        assert mine.tobytes() == theirs.tobytes()
    np.testing.assert_array_equal(loaded.component_, model.component_)
    np.testing.assert_array_equal(loaded.log_likelihood_, model.log_likelihood_)


@connected_or_not
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbour_lists_keep_the_precision_of_their_rows(dtype):
    X = X_DIGITS[:200].astype(dtype)
    given = lvm(levels=0).fit(wk.graph.knn(X, lvm().n_neighbors))
    assert given.embedding_.dtype == dtype
    np.testing.assert_array_equal(given.embedding_, lvm(levels=0).fit(X).embedding_)


@connected_or_not
def test_small_models_are_worked_on_by_one_thread(monkeypatch):
    from winkel.methods.lvm import model as steps

    jobs = []
    evaluate = steps.Model.evaluate
    monkeypatch.setattr(
        steps.Model, "evaluate", lambda self, Y, v: jobs.append(self.n_jobs) or evaluate(self, Y, v)
    )
    small = lvm(n_jobs=2, max_iter=3).fit(SOME)
    monkeypatch.setattr(steps, "SMALL", 0)
    large = lvm(n_jobs=2, max_iter=3).fit(SOME)
    assert set(jobs[:4]) == {1}
    assert set(jobs[4:]) == {2}
    assert large.embedding_.tobytes() == small.embedding_.tobytes()


@connected_or_not
def test_steps_solved_further_are_longer():
    loose, tight = (lvm(m_step_tol=tol, momentum=0.0, max_iter=8).fit(SOME) for tol in (0.5, 1e-6))
    sweeps = [model.history_["sweeps"].sum() for model in (loose, tight)]
    assert sweeps[1] > 2 * sweeps[0]
    for model in (loose, tight):  # the likelihood never falls, however early the solver stops
        assert (np.diff(model.log_likelihood_) >= -1e-9 * abs(model.log_likelihood_[0])).all()
