"""wk.AttractRepel against what users do to it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

import winkel as wk
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError, MemoryLimitError

X_DIGITS = load_digits().data
SOME, NEW = X_DIGITS[:120], X_DIGITS[150:170]
OBJECTIVES = ("pca", "two_kernel_pca", "lle", "tsne", "umap")
each_objective = pytest.mark.parametrize("objective", OBJECTIVES)
WORDS = "winkel's message says the same in other words"
EXPECTED = dict.fromkeys(
    (
        "check_complex_data",
        "check_dtype_object",
        "check_estimators_empty_data_messages",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
    ),
    WORDS,
)
# Short fits; whether the forces had come to rest is not what most tests ask.
pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def model(objective="lle", **parameters):
    usual = {"n_neighbors": 8, "perplexity": 8.0, "max_iter": 25, "random_state": 0}
    return wk.AttractRepel(objective=objective, **usual | parameters)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def assert_sound(fitted, n, m=2):
    Y = fitted.embedding_.Y
    assert Y.shape == (n, m)
    assert np.isfinite(Y).all()
    assert np.linalg.norm(Y - Y.mean(axis=0), axis=1).max() > 1e-6  # not all in one place
    return Y


@each_objective
@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_and_precision(objective, m, dtype):
    fitted = model(objective, n_components=m).fit(SOME[:60].astype(dtype))
    assert assert_sound(fitted, 60, m).dtype == dtype
    placed = fitted.transform(NEW[:5].astype(dtype))
    assert placed.dtype == dtype
    assert np.isfinite(placed).all()


@each_objective
@pytest.mark.parametrize(
    "X",
    [
        np.repeat(SOME[:10], 12, axis=0),
        np.vstack([rng(1).normal(size=(40, 4)), rng(2).normal(size=(40, 4)) + 1e6]),
        np.vstack([rng(3).normal(size=(50, 3)), [[1e5, 0, 0]]]),
        np.arange(60.0)[:, None],
        rng(5).normal(size=(30, 200)),
        1e-30 * rng(6).normal(size=(40, 3)),
        1e30 * rng(7).normal(size=(40, 3)),
    ],
    ids=["twins", "pieces", "outlier", "column", "wide", "tiny", "huge"],
)
def test_hard_data_gives_a_sound_map(objective, X):
    fitted = model(objective).fit(X)
    assert np.isfinite(fitted.embedding_.Y).all()
    assert np.isfinite(fitted.transform(X[:3])).all()


@pytest.mark.parametrize("objective", ["two_kernel_pca", "lle", "tsne", "umap"])
def test_equal_rows(objective):
    assert np.isfinite(model(objective).fit(np.ones((40, 5))).embedding_.Y).all()


@each_objective
def test_new_rows_one_by_one_and_fitted_rows_at_home(objective):
    fitted = model(objective).fit(SOME)
    np.testing.assert_array_equal(fitted.transform(SOME), fitted.embedding_.Y)
    together = fitted.transform(NEW)
    for r in (0, 7, 19):
        assert fitted.transform(NEW[r : r + 1]).tobytes() == together[r].tobytes()
    # A row moved a little from a fitted one lies nearer to it than most rows do.
    near = fitted.transform(SOME[:20] + 0.01)
    own = np.linalg.norm(near - fitted.embedding_.Y[:20], axis=1)
    assert np.median(own) < 0.5 * np.median(pdist(fitted.embedding_.Y))


def test_new_rows_of_pca_are_the_projection():
    fitted = model("pca", max_iter=300, tol=1e-10).fit(SOME)
    centred, Y = SOME - SOME.mean(axis=0), fitted.embedding_.Y
    axes = np.linalg.lstsq(centred, Y - Y.mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(fitted.transform(NEW), (NEW - SOME.mean(axis=0)) @ axes, atol=1e-4)


@each_objective
def test_same_bytes_for_any_number_of_threads(objective):
    found = [model(objective, n_jobs=jobs).fit(SOME) for jobs in (1, 3)]
    assert found[0].embedding_.Y.tobytes() == found[1].embedding_.Y.tobytes()
    assert found[0].transform(NEW).tobytes() == found[1].transform(NEW).tobytes()


@pytest.mark.parametrize("pairs", ["exact", "field", "sampled"])
def test_ways_of_summing_pairs(pairs):
    fitted = model("tsne", pairs=pairs).fit(SOME)
    assert_sound(fitted, 120)
    assert fitted.embedding_.settings["pairs"] == pairs


@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "pca"},
        {"objective": "pca", "kernel_x": "rbf"},
        {"objective": "tsne", "kernel_x": "rbf"},
        {"objective": "two_kernel_pca", "kernel_x": "rbf", "kernel_y": "gaussian"},
        {"objective": "lle", "kernel_x": "rbf", "kernel_y": "umap", "keep_frames": 3},
        {"objective": "umap", "negative_sample_rate": None},
        {"objective": "tsne", "metric": "cosine", "n_components": 3},
        {"objective": "umap", "init": rng().normal(size=(120, 2))},
    ],
    ids=lambda p: "-".join(map(str, list(p.values())[:2]))[:24],
)
def test_loaded_is_saved(parameters, tmp_path):
    fitted = model(**parameters).fit(SOME)
    fitted.save(tmp_path / "map.winkel")
    loaded = wk.load(tmp_path / "map.winkel")
    assert type(loaded) is wk.AttractRepel
    assert loaded.embedding_.Y.tobytes() == fitted.embedding_.Y.tobytes()
    assert loaded.transform(NEW).tobytes() == fitted.transform(NEW).tobytes()
    assert loaded.fit(SOME).embedding_.Y.tobytes() == fitted.embedding_.Y.tobytes()
    assert pickle.loads(pickle.dumps(fitted)).transform(NEW).tobytes() == fitted.transform(NEW).tobytes()


@pytest.mark.parametrize("objective", ["lle", "tsne", "umap"])
def test_sparse_rows(objective):
    rows = SOME * (1 + 1e-3 * rng().random(SOME.shape))
    dense, sparse = model(objective).fit(rows), model(objective).fit(sp.csr_matrix(rows))
    np.testing.assert_allclose(sparse.embedding_.Y, dense.embedding_.Y, atol=1e-4)
    assert np.isfinite(sparse.transform(sp.csr_matrix(NEW))).all()


def test_other_things_to_draw():
    D, graph = squareform(pdist(SOME)), wk.graph.knn(SOME, 24)
    for objective in ("tsne", "umap", "two_kernel_pca"):
        plain = model(objective, n_neighbors=24, init="spectral").fit(SOME)
        for given in (D, graph):
            fitted = model(objective, n_neighbors=24, metric="precomputed").fit(given)
            np.testing.assert_allclose(fitted.objective_, plain.objective_, rtol=0.1)
            with pytest.raises(InvalidInputError, match="no rows to compare"):
                fitted.transform(NEW)
    words = ["".join(rng(i).choice(list("abcde"), 5)) for i in range(30)]
    assert_sound(model("umap", metric=lambda a, b: float(len(set(a) ^ set(b)))).fit(words), 30)


@each_objective
def test_any_similarity(objective):
    K = np.exp(-squareform(pdist(SOME, "sqeuclidean")) / 500)
    fitted = model(objective, kernel_x="precomputed").fit(K)
    assert_sound(fitted, 120)
    with pytest.raises(InvalidInputError, match="no rows to compare"):
        fitted.transform(NEW)


def test_similarities_that_are_no_inner_products_have_their_leading_eigenvectors():
    # Theorem 1 asks for a symmetric matrix and for nothing else.
    A = rng().normal(size=(40, 40))
    K = A + A.T
    C = np.eye(40) - 1 / 40
    values, vectors = np.linalg.eigh(C @ K @ C)
    fitted = model("pca", kernel_x="precomputed", max_iter=2000, tol=1e-9).fit(K)
    cosines = np.linalg.svd(np.linalg.qr(fitted.embedding_.Y)[0].T @ vectors[:, -2:], compute_uv=False)
    np.testing.assert_allclose(cosines, 1, atol=1e-6)
    np.testing.assert_allclose(
        np.linalg.svd(fitted.embedding_.Y, compute_uv=False) ** 2, values[:-3:-1], rtol=1e-6
    )


def test_low_rank_reports_lemma_3():
    fitted = model("pca", rank=12, max_iter=60).fit(SOME)
    history = fitted.history_
    assert {"agreement", "error", "lemma3"} <= set(history)
    assert history["error"][0] > history["lemma3"][0] > 0
    assert (
        history["agreement"][:10] > 0.5
    ).all()  # later both gradients vanish, and their angle says nothing
    exact = model("pca", max_iter=200).fit(SOME)
    assert fitted.objective_ < 1.2 * exact.objective_
    assert "lemma3" not in exact.history_
    with pytest.raises(InvalidParameterError, match="rank must be an integer"):
        model("pca", rank=0).fit(SOME)
    with pytest.raises(InvalidParameterError, match="goes with objective"):
        model("lle", rank=3).fit(SOME)


def test_starts():
    given = rng(8).normal(size=(120, 2))
    np.testing.assert_allclose(
        model(init=given, max_iter=0, solver="adam").fit(SOME).embedding_.Y, given, atol=1e-12
    )
    for init in ("pca", "spectral", "random"):
        assert_sound(model(init=init).fit(SOME), 120)
    with pytest.raises(InvalidParameterError, match="init must be one of"):
        model(init="isomap").fit(SOME)
    with pytest.raises(InvalidInputError, match=r"shape \(120, 2\)"):
        model(init=given[:3]).fit(SOME)
    with pytest.raises(InvalidParameterError, match="needs a neighbour graph"):
        model("pca", init="spectral").fit(SOME)


@pytest.mark.parametrize("solver", ["gains", "adam", "momentum"])
def test_solvers_lower_the_loss(solver):
    fitted = model("lle", solver=solver, learning_rate=0.05, exaggeration=1.0, max_iter=60).fit(SOME)
    assert fitted.objective_ < 0.9 * fitted.history_.objective[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver": "lbfgs"}, "solver must be one of"),
        ({"pairs": "some"}, "pairs must be one of"),
        ({"n_components": 0}, "n_components must be"),
        ({"objective": "mds"}, "objective must be one of"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"solver": "momentum", "exaggeration": 4.0}, "exaggeration goes with"),
        ({"reg": 0.0}, "reg must be"),
    ],
)
def test_wrong_parameters_are_told(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        model(**change).fit(SOME)


def test_few_rows_and_little_memory_are_told():
    with pytest.warns(DataWarning, match="perplexity=30 needs"):
        model("tsne", perplexity=30).fit(SOME[:20])
    with pytest.raises(MemoryLimitError, match="all 120 rows"):
        model("tsne", kernel_x="rbf", max_memory="100KB").fit(SOME)
    with pytest.raises(InvalidInputError, match="needs rows"):
        model("tsne", kernel_x="rbf").fit(wk.graph.knn(SOME, 5))


def test_exaggeration_is_a_phase_of_its_own():
    start = 3 * rng().normal(size=(120, 2))
    fitted = model("tsne", max_iter=30, exaggeration_iter=15, init=start).fit(SOME)
    objective = fitted.history_.objective
    # Attractions twelve times as strong weigh more: the value falls at once when they end.
    assert objective[14] > objective[15] + 1
    assert fitted.objective_ < objective[15]
    assert fitted.n_iter_ == 30


@parametrize_with_checks(
    [wk.AttractRepel(objective=name, n_neighbors=5, perplexity=3, max_iter=10) for name in ("lle", "pca")],
    expected_failed_checks=lambda estimator: EXPECTED,
)
@pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
