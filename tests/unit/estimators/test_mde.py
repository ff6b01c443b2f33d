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

import winkel as wk
from winkel.embedding import History
from winkel.errors import (
    DataWarning,
    InvalidInputError,
    InvalidParameterError,
    NotConvergedWarning,
)
from winkel.problem.solving import still_falling

X_DIGITS, LABELS = load_digits(return_X_y=True)
SOME, NEW = X_DIGITS[:150], X_DIGITS[150:190]

# Short fits; whether their objective had settled is not what most tests ask.
short = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def mde(**parameters):
    return wk.MDE(**{"n_neighbors": 8, "max_iter": 25, "random_state": 0} | parameters)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def assert_sound(model, n, m=2):
    Y = model.embedding_
    assert Y.shape == (n, m)
    assert np.isfinite(Y).all()
    assert np.linalg.norm(Y - Y.mean(axis=0), axis=1).max() > 1e-3  # not all in one place
    return Y


# --------------------------------------------------------------------------------------------- any data


@pytest.mark.parametrize("n", [3, 5, 8])
@short
def test_few_rows_clip_the_neighbours(n):
    with pytest.warns(DataWarning, match=f"only {n} rows; n_neighbors={max(1, (n - 1) // 2)} is used"):
        model = mde(n_neighbors=15).fit(SOME[:n])
    assert_sound(model, n)
    np.testing.assert_array_equal(model.transform(SOME[:n]), model.embedding_)
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
        np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-6)
    assert sp.issparse(sparse._rows)
    placed = sparse.transform(sp.csr_matrix(NEW))
    np.testing.assert_allclose(placed, dense.transform(NEW), atol=1e-3)
    assert sparse.transform(sp.csr_matrix(NEW[7:8])).tobytes() == placed[7].tobytes()
    assert sparse.transform(NEW).tobytes() == placed.tobytes()
    assert dense.transform(sp.csr_matrix(NEW)).tobytes() == dense.transform(NEW).tobytes()
    np.testing.assert_array_equal(sparse.transform(sp.csr_matrix(rows)), sparse.embedding_)


@pytest.mark.parametrize("change", [{"metric": "chebyshev"}, {"preserve": "distances"}])
def test_sparse_rows_where_they_would_have_to_be_dense(change):
    with pytest.raises(InvalidInputError, match="sparse"):
        mde(**change).fit(sp.csr_matrix(SOME))


@short
def test_precomputed_distances_and_lists_are_those_of_the_data():
    D, long, graph = squareform(pdist(SOME)), wk.graph.knn(SOME, 30), wk.graph.knn(SOME, 8)
    plain = mde(init="spectral").fit(SOME.astype(np.float64))  # distances alone have no principal components
    np.testing.assert_allclose(mde(metric="precomputed").fit(D).embedding_, plain.embedding_, atol=1e-6)
    of_lists = mde(metric="precomputed").fit((graph.knn_indices, graph.knn_distances))
    # Lists know no distances of rows far apart, which lead the way of `plain`; the objective is the same.
    for given, expected in (((long.knn_indices, long.knn_distances), plain), (graph, of_lists)):
        model = mde(metric="precomputed").fit(given)
        assert model.objective_ == pytest.approx(expected.objective_, rel=0.02)
        value = expected.problem_.average_distortion(model.embedding_)
        assert value == pytest.approx(model.objective_, rel=1e-3)
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
    radius = np.linalg.norm(model.embedding_, axis=1)
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
    with pytest.raises(InvalidParameterError, match="with anchors"):
        mde(anchors=([3], [[0, 0]]), constraint="standardized").fit(SOME)


@short
def test_starts():
    given = rng(8).normal(size=(150, 2))
    model = mde(init=given, max_iter=0).fit(SOME)
    np.testing.assert_allclose(model.embedding_, given - given.mean(axis=0))
    assert_sound(mde(init=np.zeros((150, 2))).fit(SOME), 150)
    random = mde(init="random").fit(SOME)
    assert random.embedding_.dtype == np.float64
    assert random.embedding_.tobytes() != mde(init="random", random_state=1).fit_transform(SOME).tobytes()


@short
def test_sample_weight_draws_heavy_rows_to_their_neighbours():
    weight = np.ones(150)
    weight[:20] = 25.0
    plain, heavy = mde(max_iter=80).fit(SOME), mde(max_iter=80).fit(SOME, sample_weight=weight)
    near = plain.graph_.edges[(plain.graph_.edges < 20).all(axis=1)]

    def length(model):
        return np.linalg.norm(np.diff(model.embedding_[near], axis=1), axis=2).mean()

    assert length(heavy) < length(plain)
    same = mde().fit(SOME, sample_weight=np.ones(150)).embedding_
    assert same.tobytes() == mde().fit(SOME).embedding_.tobytes()


@short
def test_frames_callbacks_and_status():
    seen = []
    model = mde(keep_frames=5, callbacks=[lambda info: seen.append(info.iteration)]).fit(SOME)
    assert seen == list(range(1, 26))
    assert 1 < len(model.result_.frames.Y) <= 5
    assert model.n_iter_ == 25
    assert model.status_.word == "max_iter"
    assert len(model.history_.objective) == 26
    assert model.objective_ == model.history_.objective[-1]
    assert model.objective_ == pytest.approx(model.problem_.average_distortion(model.embedding_))
    stopped = mde(callbacks=[lambda info: info.iteration == 3]).fit(SOME)
    assert (stopped.n_iter_, stopped.status_.word) == (3, "stopped")


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
        ({"init": "principal"}, "init"),
        ({"init": np.ones((3, 2))}, r"init must be .* \(150, 2\); got shape \(3, 2\)"),
        ({"init": np.full((150, 2), np.nan)}, "init"),
        ({"constraint": "square"}, "constraint"),
        ({"constraint": 3}, "constraint"),
        ({"anchors": 3}, "anchors"),
        ({"anchors": ([500], [[0, 0]])}, "Anchored names items"),
        ({"anchors": ([5], [[0, 0, 0]])}, "3 dimensions"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"memory_size": 0}, "memory_size"),
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


# ------------------------------------------------------------------------------------ transform


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return {kind: mde(preserve=kind).fit(SOME) for kind in ("neighbors", "distances")}


@short
@pytest.mark.parametrize("loss", ["weighted_quadratic", "fractional", "soft_fractional", wk.losses.Huber])
def test_every_loss_places_rows_by_themselves(loss):
    model = mde(preserve="distances", loss=loss).fit(SOME)
    together = model.transform(np.vstack([SOME[:2], NEW[:5]]))
    np.testing.assert_array_equal(together[:2], model.embedding_[:2])
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
    assert accuracy(model.embedding_, model.transform(X_DIGITS[test])) > together - 0.03


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
    with pytest.raises(InvalidInputError, match="minimum of 1"):
        model.transform(np.empty((0, 64)))


# -------------------------------------------------------------------------- distortions of one's own


class Mine:
    """The linear penalty, known by its formula alone."""

    def value(self, d):
        return d

    def derivative(self, d):
        return np.ones_like(d)


class OwnLog:
    def value(self, d):
        return np.log(-np.expm1(-d))

    def derivative(self, d):
        return 1 / np.expm1(d)


def own_quadratic(distances):
    class Loss:
        def value(self, d):
            return (d - distances) ** 2

        def derivative(self, d):
            return 2 * (d - distances)

    return Loss()


@short
@pytest.mark.parametrize(
    ("own", "same"),
    [
        ({"attractive": Mine(), "repulsive": "log"}, {"attractive": "linear", "repulsive": "log"}),
        ({"attractive": Mine, "repulsive": None, "constraint": "standardized"},
         {"attractive": "linear", "repulsive": None, "constraint": "standardized"}),
        ({"repulsive": OwnLog()}, {"repulsive": "log"}),
        ({"repulsive": OwnLog(), "repulsive_pairs": "all"}, {"repulsive": "log", "repulsive_pairs": "all"}),
        ({"attractive": Mine(), "repulsive": "cauchy"}, {"attractive": "linear", "repulsive": "cauchy"}),
        ({"preserve": "distances", "loss": own_quadratic}, {"preserve": "distances", "loss": "quadratic"}),
    ],
    ids=["attractive", "class", "repulsive", "all pairs", "stages", "loss"],
)  # fmt: skip
def test_a_formula_is_all_a_distortion_needs(own, same):
    model, equal = mde(**own).fit(SOME), mde(**same).fit(SOME)
    assert model.objective_ == pytest.approx(equal.objective_, rel=0.03)  # 25 iterations apart by rounding
    np.testing.assert_allclose(model.embedding_, equal.embedding_, atol=0.6)
    placed = model.transform(np.vstack([SOME[:2], NEW[:6]]))
    np.testing.assert_array_equal(placed[:2], model.embedding_[:2])
    np.testing.assert_allclose(placed[2:], equal.transform(NEW[:6]), atol=0.6)
    assert model.transform(NEW[4:5]).tobytes() == placed[6].tobytes()
    before = model.embedding_.copy()
    added = model.extend(NEW)
    assert model.embedding_[:150].tobytes() == before.tobytes()
    assert np.isfinite(added).all()


# ---------------------------------------------------------------------------- equal rows and weights


@short
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_row_of_weight_two_is_two_rows(preserve, form):
    if preserve == "distances" and form is sp.csr_matrix:
        pytest.skip("takes no sparse rows")
    weight = rng(3).integers(0, 4, size=60)
    order = rng(4).permutation(60)
    weighted = mde(preserve=preserve).fit(form(SOME[:60][order]), sample_weight=weight[order])
    repeated = mde(preserve=preserve).fit(form(SOME[:60].repeat(weight, axis=0)))
    np.testing.assert_array_equal(weighted.embedding_, repeated.transform(form(SOME[:60][order])))
    np.testing.assert_array_equal(weighted.transform(form(SOME[:60])), repeated.transform(form(SOME[:60])))
    assert weighted.objective_ == repeated.objective_


@short
def test_a_row_of_weight_zero_is_placed_as_a_new_row():
    weight = np.ones(150)
    weight[[3, 80]] = 0
    model, without = mde().fit(SOME, sample_weight=weight), mde().fit(SOME[weight > 0])
    assert model.embedding_[weight > 0].tobytes() == without.embedding_.tobytes()
    np.testing.assert_array_equal(model.embedding_[[3, 80]], without.transform(SOME[[3, 80]]))
    assert model.graph_.n == 150
    assert not np.isin([3, 80], model.graph_.knn_indices).any()  # no row lists them; they list others
    np.testing.assert_array_equal(
        np.flatnonzero(weight)[without.graph_.knn_indices], model.graph_.knn_indices[weight > 0]
    )
    np.testing.assert_array_equal(model.items_, np.flatnonzero(weight))


@short
def test_only_ratios_of_weights_count():
    weight = rng(5).random(150) + 0.5
    maps = [mde().fit(SOME, sample_weight=factor * weight).embedding_ for factor in (1.0, 4.0)]
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-6)


@pytest.mark.parametrize("weight", [np.zeros(150), -np.ones(150), np.ones(3), np.full(150, np.nan), "heavy"])
def test_misused_weights(weight):
    with pytest.raises(InvalidParameterError, match="sample_weight"):
        mde().fit(SOME, sample_weight=weight)


def test_items_of_graphs_and_anchored_rows_cannot_be_left_out():
    weight = np.ones(150)
    weight[7] = 0
    for model, X in ((mde(), wk.graph.knn(SOME, 8)), (mde(anchors=([0, 1], [[0, 0], [9, 9]])), SOME)):
        with pytest.raises(InvalidParameterError, match=r"sample_weight.* 0\.0 at"):
            model.fit(X, sample_weight=weight)


@short
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
def test_equal_rows_share_a_place(preserve):
    X = np.vstack([SOME, SOME[10:30], SOME[10:15]])
    seen = []
    model = mde(preserve=preserve, keep_frames=3, callbacks=[lambda info: seen.append(info.Y)]).fit(X)
    Y = model.embedding_
    np.testing.assert_array_equal(Y[150:170], Y[10:30])
    np.testing.assert_array_equal(Y[170:], Y[10:15])
    np.testing.assert_array_equal(model.transform(X), Y)
    # Everyone who looks on sees all rows.
    assert {places.shape for places in seen} == {(175, 2)}
    assert model.result_.frames.Y.shape[1:] == (175, 2)
    np.testing.assert_array_equal(seen[-1], Y)
    items = model.items_
    assert sorted(items) == list(range(150))
    assert model.problem_.average_distortion(Y[items]) == pytest.approx(model.objective_)
    if preserve == "neighbors":
        assert model.graph_.n == 175
        np.testing.assert_array_equal(model.graph_.knn_indices[150:170], model.graph_.knn_indices[10:30])
        assert model.graph_.knn_distances.min() > 0


@short
def test_anchored_rows_may_be_equal_and_apart():
    X = np.vstack([SOME, SOME[:1]])
    Y = mde(anchors=([0, 150], [[0.0, 0.0], [5.0, 5.0]])).fit_transform(X)
    np.testing.assert_array_equal(Y[[0, 150]], [[0, 0], [5, 5]])


@pytest.mark.parametrize("constraint", ["centered", "standardized"])
def test_rows_that_are_all_equal_stand_in_one_place(constraint, tmp_path):
    with pytest.warns(DataWarning, match="all rows are equal"):
        model = mde(constraint=constraint).fit(np.ones((20, 3)))
    np.testing.assert_array_equal(model.embedding_, np.zeros((20, 2)))
    np.testing.assert_array_equal(model.transform(np.zeros((2, 3))), np.zeros((2, 2)))
    model.save(tmp_path / "map")
    np.testing.assert_array_equal(wk.load(tmp_path / "map").transform(np.ones((1, 3))), np.zeros((1, 2)))


@short
def test_a_start_has_a_place_for_each_row():
    X = np.vstack([SOME, SOME[:5]])
    model = mde(init=rng(8).normal(size=(155, 2)), max_iter=0).fit(X)
    assert model.embedding_.shape == (155, 2)
    with pytest.raises(InvalidParameterError, match=r"init must be .* \(155, 2\)"):
        mde(init=np.zeros((150, 2))).fit(X)


# --------------------------------------------------------------------------------------- extend


@short
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extending_keeps_all_places(preserve, dtype):
    model = mde(preserve=preserve).fit(SOME.astype(dtype))
    before = model.embedding_.copy()
    placed = model.extend(NEW.astype(dtype))
    assert placed.shape == (40, 2)
    assert np.isfinite(placed).all()
    assert model.embedding_[:150].tobytes() == before.tobytes()
    assert model.embedding_[150:].tobytes() == placed.tobytes()
    # From now on the new rows are fitted ones, and can be extended again.
    np.testing.assert_array_equal(model.transform(NEW.astype(dtype)), placed)
    model.extend(X_DIGITS[200:210].astype(dtype))
    assert model.embedding_[:190].tobytes() == np.vstack([before, placed]).tobytes()
    assert model.transform(X_DIGITS[300:310]).shape == (10, 2)


@short
def test_extending_lowers_the_distortion_of_the_new_pairs():
    model = mde().fit(SOME)
    alone = model.transform(NEW)
    model.extend(NEW)
    start = np.vstack([model.embedding_[:150], alone])
    assert (model.problem_.edges >= 150).any(axis=1).all()
    assert model.objective_ < model.problem_.average_distortion(start)


@short
def test_extending_sparse_rows():
    model = mde().fit(sp.csr_matrix(SOME))
    placed = model.extend(sp.csr_matrix(NEW))
    np.testing.assert_array_equal(model.transform(sp.csr_matrix(NEW)), placed)


@short
@pytest.mark.parametrize("preserve", ["neighbors", "distances"])
def test_extending_by_rows_that_equal_others(preserve):
    X = np.vstack([SOME, SOME[:3]])
    model = mde(preserve=preserve).fit(X, sample_weight=np.r_[np.ones(149), 0, np.ones(3)])
    before = model.embedding_.copy()
    # Two fitted rows, then new ones, two of them equal, and the row that was left out.
    added = model.extend(np.vstack([SOME[5:7], NEW[:4], NEW[:1], SOME[149:150]]))
    assert model.embedding_.shape == (161, 2)
    assert model.embedding_[:153].tobytes() == before.tobytes()
    np.testing.assert_array_equal(added[:2], before[5:7])
    np.testing.assert_array_equal(added[6], added[2])
    np.testing.assert_array_equal(model.transform(NEW[:4]), added[2:6])
    if preserve == "neighbors":
        assert model.graph_.n == 161
        np.testing.assert_array_equal(model.graph_.knn_indices[159], model.graph_.knn_indices[155])
    # Rows that all equal fitted ones change nothing.
    again = model.extend(SOME[20:22])
    np.testing.assert_array_equal(again, before[20:22])
    assert model.embedding_[:161].tobytes() == np.vstack([before, added]).tobytes()
    assert len(model.items_) == 154  # 149 fitted rows, four new ones and one that had been left out


# ---------------------------------------------------------------------------------- same bytes


@short
def test_extending_gives_the_same_bytes_for_any_threads():
    added = []
    for jobs in (1, 2, 3):
        model = mde(n_jobs=jobs, constraint="standardized").fit(SOME)
        added.append(model.extend(NEW).tobytes())
    assert added[0] == added[1] == added[2]


_SCRIPT = """
import sys, warnings, hashlib
warnings.simplefilter("ignore")
from sklearn.datasets import load_digits
import winkel as wk
X = load_digits().data
for preserve in ("neighbors", "distances"):
    model = wk.MDE(n_neighbors=8, max_iter=15, random_state=0, preserve=preserve).fit(X[:300])
    print(hashlib.sha256(model.embedding_.tobytes() + model.transform(X[300:330]).tobytes()).hexdigest())
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
    model = wk.MDE(random_state=0, max_iter=90).fit(SOME)  # warnings are errors here
    assert model.status_.word == "max_iter"
    with pytest.warns(NotConvergedWarning, match="max_iter"):
        model.problem_.solve(model.embedding_, max_iter=3)


def test_a_map_that_was_still_changing_says_so():
    with pytest.warns(NotConvergedWarning, match="still falling"):
        mde(init="random", repulsive="log", max_iter=3).fit(SOME)


# -------------------------------------------------------------------------------- scikit-learn


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
    Y = model.embedding_
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
    np.testing.assert_array_equal(model.transform(frame.to_numpy()), model.embedding_)
    with pytest.raises(InvalidInputError, match=r"feature names should match.*column 0 is 'pixel 9'"):
        model.transform(frame[frame.columns[::-1]])
    model.fit(SOME)
    assert not hasattr(model, "feature_names_in_")


def test_no_row_is_thrown_far_out():
    X = wk.datasets.load_digits().X
    Y = wk.MDE(random_state=0).fit(X).embedding_
    middle = np.quantile(Y, 0.995, axis=0) - np.quantile(Y, 0.005, axis=0)
    assert np.ptp(Y, axis=0).max() < 1.2 * middle.max()
