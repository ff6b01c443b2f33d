"""wk.MDE against what users do to it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import winkel as wk
from winkel.errors import (
    DataWarning,
    InvalidInputError,
    InvalidParameterError,
    MemoryLimitError,
    NotConvergedWarning,
)
from winkel.problem.solving import still_falling
from winkel.solvers.base import History

X_DIGITS, LABELS = load_digits(return_X_y=True)
SOME, NEW = X_DIGITS[:150], X_DIGITS[150:190]

# Short fits; whether their objective had settled is not what most tests ask.
short = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def mde(**parameters):
    return wk.MDE(**{"n_neighbors": 8, "max_iter": 25, "random_state": 0} | parameters)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def assert_sound(model, n, m=2):
    Y = model.embedding_.Y
    assert Y.shape == (n, m)
    assert np.isfinite(Y).all()
    assert np.linalg.norm(Y - Y.mean(axis=0), axis=1).max() > 1e-3  # not all in one place
    return Y


# --------------------------------------------------------------------------------------------- any data


@short
@pytest.mark.parametrize("m", [1, 2, 3, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
def test_components_and_precision(m, dtype, preserve):
    model = mde(n_components=m, preserve=preserve).fit(SOME[:60].astype(dtype))
    assert assert_sound(model, 60, m).dtype == dtype
    placed = model.transform(NEW[:5].astype(dtype))
    assert placed.dtype == dtype
    assert np.isfinite(placed).all()


@short
@pytest.mark.parametrize(
    "X",
    [
        np.ones((40, 5)),  # all rows equal
        np.repeat(SOME[:10], 12, axis=0),  # many twins
        np.vstack([rng(1).normal(size=(40, 4)), rng(2).normal(size=(40, 4)) + 1e6]),  # two far pieces
        np.hstack([SOME[:60], np.full((60, 3), 1e6)]),  # columns that tell nothing
        np.vstack([rng(3).normal(size=(50, 3)), [[1e5, 0, 0]]]),  # a row far away
        rng(4).integers(0, 2, size=(50, 6)).astype(bool),
        np.arange(60.0)[:, None],  # one column
        rng(5).normal(size=(30, 500)),  # more columns than rows
        1e-30 * rng(6).normal(size=(40, 3)),
        1e30 * rng(7).normal(size=(40, 3)),
    ],
    ids=["equal", "twins", "pieces", "constant", "outlier", "bool", "column", "wide", "tiny", "huge"],
)
def test_hard_data_gives_a_sound_map(X):
    model = mde().fit(X)
    assert_sound(model, len(X))
    assert np.isfinite(model.transform(X[:3])).all()


@pytest.mark.parametrize("n", [3, 5, 8])
@short
def test_few_rows_clip_the_neighbours(n):
    with pytest.warns(DataWarning, match=f"only {n} rows; n_neighbors={max(1, (n - 1) // 2)} is used"):
        model = mde(n_neighbors=15).fit(SOME[:n])
    assert_sound(model, n)
    np.testing.assert_array_equal(model.transform(SOME[:n]), model.embedding_.Y)
    assert np.isfinite(model.transform(NEW)).all()


@short
def test_two_far_blobs_stay_apart_and_whole():
    X = np.vstack([rng(1).normal(size=(40, 4)), rng(2).normal(size=(40, 4)) + 1e3])
    Y = mde(max_iter=100).fit_transform(X)
    right = KNeighborsClassifier(5).fit(Y, np.arange(80) < 40).score(Y, np.arange(80) < 40)
    assert right == 1


@short
@pytest.mark.parametrize(
    "metric", ["cosine", "manhattan", "chebyshev", "correlation", "hamming", "jaccard", "l2"]
)
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
def test_metrics(metric, preserve):
    model = mde(metric=metric, preserve=preserve).fit(SOME[:70])
    assert_sound(model, 70)
    together = model.transform(NEW[:6])
    assert model.transform(NEW[3:4]).tobytes() == together[3].tobytes()


@short
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_rows_are_fitted_and_placed_as_dense_ones(metric):
    # Whole-number pixels have neighbours at equal distances, which sums in another order may rank otherwise.
    rows = SOME * (1 + 1e-3 * np.random.default_rng(0).random(SOME.shape))
    dense = mde(metric=metric).fit(rows)
    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_matrix):
        sparse = mde(metric=metric).fit(kind(rows))
        np.testing.assert_allclose(sparse.embedding_.Y, dense.embedding_.Y, atol=1e-6)
    assert sp.issparse(sparse._rows)
    placed = sparse.transform(sp.csr_matrix(NEW))
    np.testing.assert_allclose(placed, dense.transform(NEW), atol=1e-3)
    assert sparse.transform(sp.csr_matrix(NEW[7:8])).tobytes() == placed[7].tobytes()
    assert sparse.transform(NEW).tobytes() == placed.tobytes()
    assert dense.transform(sp.csr_matrix(NEW)).tobytes() == dense.transform(NEW).tobytes()
    np.testing.assert_array_equal(sparse.transform(sp.csr_matrix(rows)), sparse.embedding_.Y)


@pytest.mark.parametrize("change", [{"metric": "manhattan"}, {"preserve": "distances"}])
def test_sparse_rows_where_they_would_have_to_be_dense(change):
    with pytest.raises(InvalidInputError, match="sparse"):
        mde(**change).fit(sp.csr_matrix(SOME))


@short
def test_precomputed_distances_and_lists_are_those_of_the_data():
    D, graph = squareform(pdist(SOME)), wk.graph.knn(SOME, 8)
    plain = mde().fit(SOME.astype(np.float64))
    np.testing.assert_allclose(mde(metric="precomputed").fit(D).embedding_.Y, plain.embedding_.Y, atol=1e-6)
    for given in ((graph.knn_indices, graph.knn_distances), graph):
        model = mde(metric="precomputed").fit(given)
        np.testing.assert_allclose(model.embedding_.Y, plain.embedding_.Y, atol=1e-1)  # of an extent of 40
        with pytest.raises(InvalidInputError, match="no rows to compare"):
            model.transform(NEW)
    assert not hasattr(model, "n_features_in_")


@short
def test_precomputed_distances_are_preserved_as_such():
    D = squareform(pdist(SOME[:60]))
    model = mde(preserve="distances", metric="precomputed", loss="quadratic").fit(D)
    np.testing.assert_allclose(model.problem_.distortion.deviations, pdist(SOME[:60]))
    data = mde(preserve="distances", loss="quadratic", max_iter=200).fit(SOME[:60])
    model.set_params(max_iter=200).fit(D)
    assert model.objective_ == pytest.approx(data.objective_, rel=0.05)


@short
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
def test_a_function_compares_words(preserve):
    words = ["".join(rng(i).choice(list("abcde"), 5)) for i in range(30)]
    calls = []

    def letters(a, b):
        calls.append(1)
        return float(len(set(a) ^ set(b)))

    model = mde(metric=letters, preserve=preserve, n_neighbors=5).fit(words)
    assert_sound(model, 30)
    assert len(calls) < 2 * (30 * 29 // 2)  # not once for the graph and once more for the distances
    with pytest.raises(InvalidInputError, match="no rows to compare"):
        model.transform(words)


@short
def test_graph_with_isolated_pieces():
    graph = wk.Graph.from_edges([[0, 1], [1, 2], [3, 4], [4, 5], [3, 5]], n=8)
    for change in ({}, {"preserve": "distances"}, {"constraint": "standardized"}, {"init": "random"}):
        assert_sound(mde(**change).fit(graph), 8)


@short
def test_distances_on_a_graph_are_shortest_paths():
    # A ring of 20 with unit steps: shortest paths, not straight lines.
    ring = wk.Graph.from_edges([[i, i + 1] for i in range(19)] + [[0, 19]])
    model = mde(preserve="distances", loss="quadratic").fit(ring)
    assert model.problem_.n_pairs == 190
    assert model.problem_.distortion.deviations.max() == 10
    radius = np.linalg.norm(model.embedding_.Y, axis=1)
    np.testing.assert_allclose(radius, radius.mean(), rtol=0.02)


# ----------------------------------------------------------------------------------- parameters


@short
def test_standardized_and_anchored_maps():
    Y = mde(constraint="standardized").fit_transform(SOME)
    np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(2), atol=1e-8)
    alone = mde(constraint=wk.Standardized(), repulsive=None, attractive="quadratic").fit_transform(SOME)
    np.testing.assert_allclose(alone.T @ alone / len(alone), np.eye(2), atol=1e-8)
    where = np.array([[0.25, 1.0], [3.0, -3.0]])
    for X in (SOME, SOME.astype(np.float32)):
        Y = mde(anchors=([3, 77], where)).fit_transform(X)
        np.testing.assert_array_equal(Y[[3, 77]], where)
    with pytest.raises(InvalidParameterError, match="anchors fix"):
        mde(anchors=([3], [[0, 0]]), constraint="standardized").fit(SOME)


@short
def test_starts():
    given = rng(8).normal(size=(150, 2))
    model = mde(init=given, max_iter=0).fit(SOME)
    np.testing.assert_allclose(model.embedding_.Y, given - given.mean(axis=0))
    assert_sound(mde(init=np.zeros((150, 2))).fit(SOME), 150)
    random = mde(init="random").fit(SOME)
    assert random.embedding_.Y.dtype == np.float64
    assert random.embedding_.Y.tobytes() != mde(init="random", random_state=1).fit_transform(SOME).tobytes()


@short
def test_sample_weight_draws_heavy_rows_to_their_neighbours():
    weight = np.ones(150)
    weight[:20] = 25.0
    plain, heavy = mde(max_iter=80).fit(SOME), mde(max_iter=80).fit(SOME, sample_weight=weight)
    near = plain.graph_.edges[(plain.graph_.edges < 20).all(axis=1)]

    def length(model):
        return np.linalg.norm(np.diff(model.embedding_.Y[near], axis=1), axis=2).mean()

    assert length(heavy) < length(plain)
    same = mde().fit(SOME, sample_weight=np.ones(150)).embedding_.Y
    assert same.tobytes() == mde().fit(SOME).embedding_.Y.tobytes()
    with pytest.raises(InvalidParameterError, match="sample_weight goes with"):
        mde(preserve="distances").fit(SOME, sample_weight=weight)


@short
def test_frames_callbacks_and_status():
    seen = []
    model = mde(keep_frames=5, callbacks=[lambda info: seen.append(info.iteration)]).fit(SOME)
    assert seen == list(range(1, 26))
    assert 1 < len(model.embedding_.frames.Y) <= 5
    assert model.n_iter_ == 25
    assert model.status_.word == "max_iter"
    assert len(model.history_.objective) == 26
    assert model.objective_ == model.history_.objective[-1]
    assert model.objective_ == pytest.approx(model.problem_.average_distortion(model.embedding_.Y))
    stopped = mde(callbacks=[lambda info: info.iteration == 3]).fit(SOME)
    assert (stopped.n_iter_, stopped.status_.word) == (3, "stopped")


def test_interruption_keeps_the_best():
    def interrupt(info):
        if info.iteration == 3:
            raise KeyboardInterrupt

    with pytest.warns(NotConvergedWarning, match="Interrupted"):
        model = mde(callbacks=[interrupt]).fit(SOME)
    assert model.status_.word == "interrupted"
    assert model.objective_ == model.history_.objective.min()
    assert model.transform(NEW).shape == (40, 2)


@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
def test_memory_is_refused_early(preserve):
    seen = []
    with pytest.raises(MemoryLimitError, match="max_memory"):
        mde(preserve=preserve, max_memory="1KB", callbacks=[seen.append]).fit(SOME)
    assert not seen


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preserve": "angles"}, "'neighbors', 'distances'; got 'angles'"),
        ({"solver": "adam"}, "solver"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": "5"}, "n_neighbors"),
        ({"n_neighbors": 2.5}, "n_neighbors"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.0}, "n_components"),
        ({"metric": "nope"}, "metric"),
        ({"metric": None}, "metric"),
        ({"init": "pca"}, "init"),
        ({"constraint": "square"}, "constraint"),
        ({"constraint": 3}, "constraint"),
        ({"anchors": 3}, "anchors"),
        ({"anchors": ([500], [[0, 0]])}, "Anchored names items"),
        ({"anchors": ([5], [[0, 0, 0]])}, "3 dimensions"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"memory": 0}, "memory"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": "a"}, "random_state"),
        ({"repulsive_fraction": -1}, "repulsive_fraction"),
        ({"max_memory": "much"}, "max_memory"),
        ({"preserve": "distances", "max_distances": 0}, "max_distances"),
        ({"preserve": "distances", "loss": "nope"}, "loss"),
    ],
)
def test_misused_parameters(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        mde(**change).fit(SOME)


def test_misused_start():
    with pytest.raises(InvalidInputError, match=r"\(150, 2\)"):
        mde(init=np.ones((3, 2))).fit(SOME)


# ------------------------------------------------------------------------------------ transform


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return {kind: mde(preserve=kind).fit(SOME) for kind in ("neighbors", "distances")}


@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
def test_rows_are_placed_one_by_one(fitted, preserve):
    together = fitted[preserve].transform(NEW)
    for i in range(len(NEW)):
        assert fitted[preserve].transform(NEW[i : i + 1]).tobytes() == together[i].tobytes()
    shuffled = fitted[preserve].transform(NEW[::-1])
    assert shuffled[::-1].tobytes() == together.tobytes()


@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
def test_fitted_rows_get_their_own_places(fitted, preserve):
    mixed = fitted[preserve].transform(np.vstack([NEW[:3], SOME, NEW[3:5]]))
    np.testing.assert_array_equal(mixed[3:-2], fitted[preserve].embedding_.Y)


@short
@pytest.mark.parametrize("loss", ["weighted_quadratic", "fractional", "soft_fractional", wk.losses.Huber])
def test_every_loss_places_rows_by_themselves(loss):
    model = mde(preserve="distances", loss=loss).fit(SOME)
    together = model.transform(np.vstack([SOME[:2], NEW[:5]]))
    np.testing.assert_array_equal(together[:2], model.embedding_.Y[:2])
    assert model.transform(NEW[2:3]).tobytes() == together[4].tobytes()


def test_held_out_digits_land_among_their_own():
    order = rng(0).permutation(len(X_DIGITS))
    test, train = order[:360], order[360:]
    model = wk.MDE(random_state=0, max_iter=120).fit(X_DIGITS[train])
    everything = wk.MDE(random_state=0, max_iter=120).fit_transform(X_DIGITS[np.r_[train, test]])

    def accuracy(known, asked):
        return KNeighborsClassifier(10).fit(known, LABELS[train]).score(asked, LABELS[test])

    together = accuracy(everything[: len(train)], everything[len(train) :])
    assert together > 0.95
    assert accuracy(model.embedding_.Y, model.transform(X_DIGITS[test])) > together - 0.03


def test_refused_new_rows(fitted):
    model = fitted["neighbors"]
    with pytest.raises(NotFittedError):
        mde().transform(NEW)
    with pytest.raises(NotFittedError):
        mde().extend(NEW)
    with pytest.raises(NotFittedError):
        _ = mde().objective_
    with pytest.raises(InvalidInputError, match="5 features, but MDE is expecting 64"):
        model.transform(NEW[:, :5])
    with pytest.raises(InvalidInputError, match="NaN"):
        model.transform(np.full((2, 64), np.nan))
    with pytest.raises(InvalidInputError, match="at least 1"):
        model.transform(np.empty((0, 64)))


def test_own_penalties_fit_but_place_nothing():
    class Mine:
        def value(self, d):
            return d

        def derivative(self, d):
            return np.ones_like(d)

    model = mde(attractive=Mine()).fit(SOME)
    assert_sound(model, 150)
    np.testing.assert_allclose(model.embedding_.Y, mde(attractive="linear").fit(SOME).embedding_.Y, atol=0.2)
    with pytest.raises(InvalidParameterError, match="built-in"):
        model.transform(NEW)


# --------------------------------------------------------------------------------------- extend


@short
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extending_keeps_all_places(preserve, dtype):
    model = mde(preserve=preserve).fit(SOME.astype(dtype))
    before = model.embedding_.Y.copy()
    placed = model.extend(NEW.astype(dtype))
    assert placed.shape == (40, 2)
    assert np.isfinite(placed).all()
    assert model.embedding_.Y[:150].tobytes() == before.tobytes()
    assert model.embedding_.Y[150:].tobytes() == placed.tobytes()
    # From now on the new rows are fitted ones, and can be extended again.
    np.testing.assert_array_equal(model.transform(NEW.astype(dtype)), placed)
    model.extend(X_DIGITS[200:210].astype(dtype))
    assert model.embedding_.Y[:190].tobytes() == np.vstack([before, placed]).tobytes()
    assert model.transform(X_DIGITS[300:310]).shape == (10, 2)


@short
def test_extending_lowers_the_distortion_of_the_new_pairs():
    model = mde().fit(SOME)
    alone = model.transform(NEW)
    model.extend(NEW)
    start = np.vstack([model.embedding_.Y[:150], alone])
    assert (model.problem_.edges >= 150).any(axis=1).all()
    assert model.objective_ < model.problem_.average_distortion(start)


@short
def test_extending_sparse_rows():
    model = mde().fit(sp.csr_matrix(SOME))
    placed = model.extend(sp.csr_matrix(NEW))
    np.testing.assert_array_equal(model.transform(sp.csr_matrix(NEW)), placed)


# ---------------------------------------------------------------------------------- same bytes


@short
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
@pytest.mark.parametrize("init", ["quadratic", "random"])
def test_same_bytes_for_any_threads(preserve, init):
    results = []
    for jobs in (1, 2, 3):
        model = mde(preserve=preserve, init=init, n_jobs=jobs, constraint="standardized").fit(SOME)
        placed = model.transform(NEW)
        results.append((model.embedding_.Y.tobytes(), placed.tobytes(), model.extend(NEW).tobytes()))
    assert results[0] == results[1] == results[2]


@short
def test_seeds():
    a, b = (mde(random_state=7).fit_transform(SOME) for _ in range(2))
    assert a.tobytes() == b.tobytes()
    assert a.tobytes() != mde(random_state=8).fit_transform(SOME).tobytes()
    free = mde(random_state=None).fit(SOME)
    again = mde(random_state=free.embedding_.seed).fit(SOME)
    assert free.embedding_.Y.tobytes() == again.embedding_.Y.tobytes()


_SCRIPT = """
import sys, warnings, hashlib
warnings.simplefilter("ignore")
from sklearn.datasets import load_digits
import winkel as wk
X = load_digits().data
for preserve in ("neighbors", "distances"):
    model = wk.MDE(n_neighbors=8, max_iter=15, random_state=0, preserve=preserve).fit(X[:300])
    print(hashlib.sha256(model.embedding_.Y.tobytes() + model.transform(X[300:330]).tobytes()).hexdigest())
"""


def test_threads_of_blas_and_openmp_do_not_matter(monkeypatch):
    results = []
    for threads in ("1", "2"):
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            monkeypatch.setenv(name, threads)
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, timeout=300
        )
        results.append(done.stdout)
    assert results[0] == results[1]
    assert len(results[0].split()) == 2


# ------------------------------------------------------------------------------------ warnings


def history(objective):
    values = np.asarray(objective, dtype=float)
    zeros = np.zeros(len(values))
    return History(
        {"iteration": np.arange(len(values)), "objective": values, "residual": zeros, "seconds": zeros}
    )


@pytest.mark.parametrize(
    ("objective", "falling"),
    [
        (np.linspace(10, 1, 101), True),  # a tenth of a steady fall: 0.9 of 1
        (1 + 10.0 ** -np.arange(101.0), False),
        (np.r_[np.linspace(10, 1, 50), np.ones(50)], False),
        (10.0 * 0.9 ** np.arange(200), False),  # towards zero: what is left is nothing beside the fall
        ([5.0], False),
        ([5.0, 4.0], True),
        (-np.linspace(1, 10, 101), True),
    ],
)
def test_still_falling(objective, falling):
    assert still_falling(history(objective)) is falling


def test_a_settled_map_does_not_nag_but_says_how_it_ended():
    model = wk.MDE(random_state=0, max_iter=60).fit(SOME)  # warnings are errors here
    assert model.status_.word == "max_iter"
    with pytest.warns(NotConvergedWarning, match="max_iter"):
        model.problem_.solve(model.embedding_.Y, max_iter=3)


def test_a_map_that_was_still_changing_says_so():
    with pytest.warns(NotConvergedWarning, match="still falling"):
        mde(init="random", repulsive="log", max_iter=3).fit(SOME)


# -------------------------------------------------------------------------------- scikit-learn

_WORDS = "winkel's message says the same in other words"
_EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "a weight of zero is refused, and a row of weight 2 is not two rows: "
    "twins would be each other's neighbours",
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
    "check_complex_data": _WORDS,
    "check_dtype_object": _WORDS,
    "check_estimators_empty_data_messages": _WORDS,
    "check_fit2d_1sample": _WORDS,
    "check_fit2d_predict1d": _WORDS,
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [wk.MDE(n_neighbors=5, max_iter=20)], expected_failed_checks=lambda estimator: _EXPECTED
)
def test_scikit_learn(estimator, check):
    check(estimator)


@short
def test_clone_parameters_and_pickle():
    model = mde(attractive=wk.penalties.Log1p(exponent=2.0), constraint=wk.Standardized())
    copy = clone(model)
    assert copy.get_params()["n_neighbors"] == 8
    assert copy.set_params(n_neighbors=9).n_neighbors == 9
    assert model.n_neighbors == 8
    model.fit(SOME)
    again = pickle.loads(pickle.dumps(model))
    assert again.transform(NEW).tobytes() == model.transform(NEW).tobytes()
    Y = model.embedding_.Y
    assert again.problem_.average_distortion(Y) == model.problem_.average_distortion(Y)


@short
def test_pipeline_and_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(SOME[:, 10:20], columns=[f"pixel {i}" for i in range(10)])
    pipeline = make_pipeline(StandardScaler(), mde()).set_output(transform="pandas")
    out = pipeline.fit_transform(frame)
    assert list(out.columns) == ["mde0", "mde1"]
    assert pipeline.transform(frame.iloc[:3]).shape == (3, 2)
    model = mde().fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 10
    np.testing.assert_array_equal(model.transform(frame.to_numpy()), model.embedding_.Y)
    with pytest.raises(InvalidInputError, match=r"feature names should match.*column 0 is 'pixel 9'"):
        model.transform(frame[frame.columns[::-1]])
    model.fit(SOME)
    assert not hasattr(model, "feature_names_in_")
