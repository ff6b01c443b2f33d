"""wk.AttractRepel: what is particular to it. What holds for every estimator is in tests/property/test_estimators.py."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.datasets import load_digits

import winkel as wk
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError, MemoryLimitError
from winkel.methods.forces.fit import objective_of
from winkel.methods.forces.objectives import LLE, PCA, TSNE, UMAP, TwoKernelPCA
from winkel.methods.forces.schedule import Schedule
from winkel.problem.distortions.base import registered

X_DIGITS = load_digits().data
SOME, NEW = X_DIGITS[:120], X_DIGITS[150:170]
NAMED = registered("objectives")
SMALL = {
    "pca": PCA(),
    "two_kernel_pca": TwoKernelPCA(n_neighbors=8),
    "lle": LLE(n_neighbors=8),
    "tsne": TSNE(perplexity=8.0),
    "umap": UMAP(n_neighbors=8),
}
each_objective = pytest.mark.parametrize("objective", SMALL.values(), ids=SMALL)
# Short fits; whether the forces had come to rest is not what most tests ask.
pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def model(objective=SMALL["lle"], **parameters):
    return wk.AttractRepel(objective=objective, **{"max_iter": 25, "random_state": 0} | parameters)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def assert_sound(fitted, n, m=2):
    Y = fitted.embedding_
    assert Y.shape == (n, m)
    assert np.isfinite(Y).all()
    assert np.linalg.norm(Y - Y.mean(axis=0), axis=1).max() > 1e-6  # not all in one place


# ---------------------------------------------------------------------------------------------- objectives


@pytest.mark.parametrize("name", NAMED)
def test_a_name_stands_for_the_defaults(name):
    rows = X_DIGITS[:100]
    by_name, by_object = (model(o, max_iter=5).fit(rows) for o in (name, NAMED[name]()))
    assert by_name.embedding_.tobytes() == by_object.embedding_.tobytes()
    used = objective_of(by_name.result_.settings)
    same = [getattr(used, f.name) == getattr(NAMED[name](), f.name) for f in fields(used)]
    assert all(same)


@each_objective
def test_a_copy_is_equal(objective):
    assert clone(model(objective)).objective == objective
    assert pickle.loads(pickle.dumps(objective)) == objective


@pytest.mark.parametrize(
    ("objective", "parameters"),
    [
        (PCA(kernel_x="rbf"), {}),
        (PCA(rank=9), {}),
        (TSNE(kernel_x="rbf"), {}),
        (TSNE(kernel_x="fuzzy", n_neighbors=7), {}),
        (TwoKernelPCA(kernel_x="rbf", kernel_y="gaussian"), {}),
        (TwoKernelPCA(kernel_x="centered_linear"), {}),
        (LLE(kernel_x="rbf", kernel_y="umap", min_dist=0.2), {"keep_frames": 3}),
        (LLE(kernel_x="fuzzy", n_neighbors=9), {}),
        (LLE(kernel_x="perplexity", perplexity=4.0), {}),
        (UMAP(negative_sample_rate=None), {}),
        (UMAP(kernel_x="perplexity", perplexity=5.0), {}),
        (UMAP(kernel_x="rbf"), {}),
        (TSNE(perplexity=8.0), {"metric": "cosine", "n_components": 3}),
        (UMAP(), {"init": rng().normal(size=(120, 2))}),
    ],
    ids=lambda value: f"{value.name}-{value.kernel_x}" if hasattr(value, "name") else "",
)
def test_kernels_are_fitted_saved_and_placed(objective, parameters, tmp_path):
    fitted = model(objective, **parameters).fit(SOME)
    assert_sound(fitted, 120, parameters.get("n_components", 2))
    together = fitted.transform(NEW)
    assert np.isfinite(together).all()
    assert fitted.transform(NEW[7:8]).tobytes() == together[7].tobytes()
    fitted.save(tmp_path / "map.winkel")
    loaded = wk.load(tmp_path / "map.winkel")
    assert loaded.objective == objective
    assert loaded.transform(NEW).tobytes() == together.tobytes()
    assert loaded.fit(SOME).embedding_.tobytes() == fitted.embedding_.tobytes()


def test_an_objective_of_ones_own(tmp_path):
    @dataclass(frozen=True)
    class Calm(TSNE):
        """t-SNE without exaggeration."""

        schedule: ClassVar[Schedule] = Schedule("gains", 40, start_spread=1e-4)

    plain = model(TSNE(), solver="gains", exaggeration=1.0, exaggeration_iter=0).fit(SOME)
    fitted = model("calm").fit(SOME)
    assert fitted.embedding_.tobytes() == plain.embedding_.tobytes()
    model(Calm(perplexity=8.0)).fit(SOME).save(tmp_path / "map.winkel")
    assert wk.load(tmp_path / "map.winkel").objective == Calm(perplexity=8.0)
    assert fitted.transform(NEW).tobytes() == plain.transform(NEW).tobytes()


# ------------------------------------------------------------------------------------------------ new rows


@each_objective
def test_a_row_close_to_a_fitted_one_is_placed_close_to_it(objective):
    fitted = model(objective).fit(SOME)
    placed = fitted.transform(SOME[:20] + 0.01)
    own = np.linalg.norm(placed - fitted.embedding_[:20], axis=1)
    assert np.median(own) < 0.5 * np.median(pdist(fitted.embedding_))


@pytest.mark.parametrize(
    "objective", [LLE(kernel_x="fuzzy"), LLE(kernel_x="perplexity", perplexity=5.0)], ids=lambda o: o.kernel_x
)
def test_new_rows_of_lle_are_placed_by_the_kernel_of_the_fit(objective):
    # These kernels see distances only, and under this metric rows twice as long have the same.
    fitted = model(objective, metric="cosine").fit(SOME)
    np.testing.assert_allclose(fitted.transform(2 * NEW), fitted.transform(NEW), atol=1e-3)
    linear = model(LLE(), metric="cosine").fit(SOME)
    assert np.abs(linear.transform(2 * NEW) - linear.transform(NEW)).max() > 0.1


@pytest.mark.parametrize(
    "objective",
    [LLE(kernel_x="fuzzy"), LLE(kernel_x="perplexity", perplexity=5.0), LLE(kernel_x="perplexity")],
    ids=lambda o: f"{o.kernel_x} {o.perplexity:g}",
)
def test_new_rows_of_lle_join_their_kind(objective):
    labels, order = load_digits().target, rng().permutation(len(X_DIGITS))
    old, new = order[:600], order[600:800]
    fitted = model(objective, max_iter=100).fit(X_DIGITS[old])

    def accuracy(places, own, first):
        d = np.linalg.norm(places[:, None] - fitted.embedding_[None], axis=2)
        near = np.argsort(d, axis=1)[:, first : first + 10]
        return np.mean([np.bincount(labels[old[row]]).argmax() for row in near] == own)

    known = accuracy(fitted.embedding_, labels[old], 1)  # the row itself left out
    assert known > 0.92
    assert accuracy(fitted.transform(X_DIGITS[new]), labels[new], 0) > known - 0.03


def test_graphs_where_they_will_do():
    graph = wk.graph.knn(SOME, 9)
    for objective in (LLE(kernel_x="fuzzy", n_neighbors=9), TwoKernelPCA(n_neighbors=9)):
        by_graph = model(objective).fit(graph)
        assert_sound(by_graph, 120)
        by_rows = model(objective, init="spectral").fit(SOME)
        np.testing.assert_allclose(by_graph.embedding_, by_rows.embedding_, atol=1e-3)


def test_new_rows_of_pca_are_the_projection():
    fitted = model(PCA(), max_iter=300, tol=1e-10).fit(SOME)
    centred, Y = SOME - SOME.mean(axis=0), fitted.embedding_
    axes = np.linalg.lstsq(centred, Y - Y.mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(fitted.transform(NEW), (NEW - SOME.mean(axis=0)) @ axes, atol=1e-4)


# ------------------------------------------------------------------------------------------------ the data


@pytest.mark.parametrize("objective", [SMALL[name] for name in ("lle", "tsne", "umap")], ids=lambda o: o.name)
def test_sparse_rows(objective):
    rows = SOME * (1 + 1e-3 * rng().random(SOME.shape))
    dense, sparse = model(objective).fit(rows), model(objective).fit(sp.csr_matrix(rows))
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-4)
    assert np.isfinite(sparse.transform(sp.csr_matrix(NEW))).all()


def test_other_things_to_draw():
    D, graph = squareform(pdist(SOME)), wk.graph.knn(SOME, 24)
    for objective in (TSNE(perplexity=8.0), UMAP(n_neighbors=24), TwoKernelPCA(n_neighbors=24)):
        plain = model(objective, init="spectral").fit(SOME)
        for data in (D, graph):
            fitted = model(objective, metric="precomputed").fit(data)
            np.testing.assert_allclose(fitted.objective_, plain.objective_, rtol=0.1)
            with pytest.raises(InvalidInputError, match="no rows to compare"):
                fitted.transform(NEW)
    words = ["".join(rng(i).choice(list("abcde"), 5)) for i in range(30)]
    assert_sound(model(SMALL["umap"], metric=lambda a, b: float(len(set(a) ^ set(b)))).fit(words), 30)


def test_a_graph_gives_the_map_of_its_rows_where_that_is_promised():
    graph = wk.graph.knn(SOME, 8)
    for objective in SMALL.values():
        estimator = model(objective)
        assert estimator.accepts_graph == (objective.name == "umap")
        if estimator.accepts_graph:
            assert estimator.n_neighbors == 8
            np.testing.assert_array_equal(
                estimator.fit(graph).embedding_, model(objective).fit(SOME).embedding_
            )
    assert not model(UMAP(kernel_x="perplexity")).accepts_graph


def test_tuning_gives_each_objective_its_own_graph(monkeypatch):
    seen, fit = [], wk.AttractRepel.fit

    def looking(self, X, y=None):
        seen.append((self.objective.n_neighbors, X.knn_indices.shape[1]))
        return fit(self, X, y)

    monkeypatch.setattr(wk.AttractRepel, "fit", looking)
    grid = {"objective": [UMAP(n_neighbors=5), UMAP(n_neighbors=12)]}
    wk.tune(model(UMAP(), max_iter=3), SOME, grid, n_runs=2, random_state=0)
    assert set(seen) == {(5, 5), (12, 12)}


@pytest.mark.parametrize("cls", NAMED.values(), ids=NAMED)
def test_any_similarity(cls):
    K = np.exp(-squareform(pdist(SOME, "sqeuclidean")) / 500)
    fitted = model(cls(kernel_x="precomputed")).fit(K)
    assert_sound(fitted, 120)
    with pytest.raises(InvalidInputError, match="no rows to compare"):
        fitted.transform(NEW)


def test_similarities_that_are_no_inner_products_have_their_leading_eigenvectors():
    # Theorem 1 asks for a symmetric matrix and for nothing else.
    A = rng().normal(size=(40, 40))
    K = A + A.T
    C = np.eye(40) - 1 / 40
    values, vectors = np.linalg.eigh(C @ K @ C)
    Y = model(PCA(kernel_x="precomputed"), max_iter=2000, tol=1e-9).fit_transform(K)
    cosines = np.linalg.svd(np.linalg.qr(Y)[0].T @ vectors[:, -2:], compute_uv=False)
    np.testing.assert_allclose(cosines, 1, atol=1e-6)
    np.testing.assert_allclose(np.linalg.svd(Y, compute_uv=False) ** 2, values[:-3:-1], rtol=1e-6)


@each_objective
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_scales(objective, scale):
    fitted = model(objective).fit(scale * rng(6).normal(size=(40, 3)))
    assert np.isfinite(fitted.embedding_).all()


def test_few_rows_and_little_memory_are_told():
    with pytest.warns(DataWarning, match="perplexity=30 needs"):
        model("tsne").fit(SOME[:20])
    with pytest.warns(DataWarning, match="n_neighbors=15, but there are only 10 rows"):
        model("lle").fit(SOME[:10])
    with pytest.raises(MemoryLimitError, match=r"AttractRepel is forecast to need .*max_memory=100.0 KB"):
        model(TSNE(kernel_x="rbf"), max_memory="100KB").fit(SOME)
    with pytest.raises(InvalidInputError, match="needs rows"):
        model(TSNE(kernel_x="rbf")).fit(wk.graph.knn(SOME, 5))
    with pytest.raises(InvalidInputError, match="LLE reconstructs rows"):
        model("lle").fit(wk.graph.knn(SOME, 5))


# ------------------------------------------------------------------------------------------------ the run


@pytest.mark.parametrize("pairs", ["exact", "field", "sampled"])
def test_ways_of_summing_pairs(pairs):
    fitted = model(SMALL["tsne"], pairs=pairs).fit(SOME)
    assert_sound(fitted, 120)
    assert fitted.result_.settings["pairs"] == pairs


def test_low_rank_reports_lemma_3():
    fitted = model(PCA(rank=12), max_iter=60).fit(SOME)
    history = fitted.history_
    assert {"agreement", "error", "lemma3"} <= set(history)
    assert history["error"][0] > history["lemma3"][0] > 0
    # Later both gradients vanish, and their angle says nothing.
    assert (history["agreement"][:10] > 0.5).all()
    exact = model(PCA(), max_iter=200).fit(SOME)
    assert fitted.objective_ < 1.2 * exact.objective_
    assert "lemma3" not in exact.history_
    with pytest.raises(InvalidParameterError, match=r"rank must be an integer in \[1, 120\]"):
        model(PCA(rank=121)).fit(SOME)


def test_starts():
    start = rng(8).normal(size=(120, 2))
    np.testing.assert_allclose(
        model(init=start, max_iter=0, solver="adam").fit(SOME).embedding_, start, atol=1e-12
    )
    for init in ("pca", "spectral", "random"):
        assert_sound(model(init=init).fit(SOME), 120)
    with pytest.raises(InvalidParameterError, match=r"init must be one of .* or an array"):
        model(init="isomap").fit(SOME)
    with pytest.raises(InvalidParameterError, match=r"init must be .* shape \(120, 2\)"):
        model(init=start[:3]).fit(SOME)
    with pytest.raises(InvalidParameterError, match="where there is no neighbour graph"):
        model(PCA(), init="spectral").fit(SOME)
    with pytest.raises(InvalidParameterError, match="where there are no rows"):
        model(UMAP(), init="pca").fit(wk.graph.knn(SOME, 5))


@pytest.mark.parametrize("solver", ["gains", "adam", "momentum"])
def test_solvers_lower_the_loss(solver):
    fitted = model(solver=solver, learning_rate=0.05, max_iter=60).fit(SOME)
    objective = fitted.history_.objective
    assert fitted.objective_ < 0.9 * objective[20]  # the first iterations of "gains" are exaggerated


@pytest.mark.parametrize("name", ["lle", "tsne", "umap", "two_kernel_pca"])
def test_lbfgs_gets_lower_than_steps_in_fewer_iterations(name):
    usual = model(SMALL[name], max_iter=None).fit(SOME)
    assert usual.result_.settings["solver"] == "L-BFGS"
    by_name = model(SMALL[name], max_iter=None, solver="lbfgs").fit(SOME)
    assert by_name.embedding_.tobytes() == usual.embedding_.tobytes()
    steps = model(SMALL[name], max_iter=None, solver=NAMED[name].steps.solver).fit(SOME)
    assert steps.n_iter_ == NAMED[name].steps.max_iter >= usual.n_iter_
    assert usual.objective_ < steps.objective_ + 0.01 * abs(steps.objective_)


def test_stages_of_lbfgs_end_with_the_objective_itself():
    fitted = model(SMALL["tsne"], max_iter=40, exaggeration_iter=20, keep_frames=41).fit(SOME)
    assert fitted.n_iter_ == 40
    Y = fitted.embedding_
    assert fitted.objective_ == pytest.approx(wk.forces(SOME, Y, SMALL["tsne"]).value, rel=1e-6)
    # Attractions twelve times as strong weigh more than those of the last stage.
    assert fitted.history_.objective[5] > 3 * fitted.history_.objective[25]
    # No row is thrown out: the widest place is about as far from the middle as others are.
    radius = np.linalg.norm(Y - Y.mean(axis=0), axis=1)
    assert radius.max() < 3 * np.median(radius)


def test_sampled_pairs_are_not_for_lbfgs():
    fitted = model(SMALL["tsne"], pairs="sampled").fit(SOME)
    assert fitted.result_.settings["solver"] != "L-BFGS"
    with pytest.raises(
        InvalidParameterError, match='solver must be "auto" or another where pairs are sampled'
    ):
        model(SMALL["tsne"], pairs="sampled", solver="lbfgs").fit(SOME)


def test_exaggeration_is_a_phase_of_its_own():
    start = 3 * rng().normal(size=(120, 2))
    fitted = model(SMALL["tsne"], solver="gains", max_iter=30, exaggeration_iter=15, init=start).fit(SOME)
    objective = fitted.history_.objective
    # Attractions twelve times as strong weigh more: the value falls at once when they end.
    assert objective[14] > objective[15] + 1
    assert fitted.objective_ < objective[15]
    assert fitted.n_iter_ == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver": "newton"}, "solver must be one of"),
        ({"pairs": "some"}, "pairs must be one of"),
        ({"objective": "mds"}, "objective must be one of .* or an object of winkel.objectives"),
        ({"objective": TSNE}, "objective must be one of"),
        ({"learning_rate": -1.0, "solver": "adam"}, "learning_rate must be None or a positive number"),
        ({"learning_rate": 1.0}, 'learning_rate must be None with solver="lbfgs"'),
        ({"exaggeration": 0.0}, "exaggeration must be None or a positive number"),
        ({"exaggeration_iter": 1.5}, "exaggeration_iter must be None or an integer"),
    ],
)
def test_wrong_parameters_are_told(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        model(**change).fit(SOME)


@pytest.mark.parametrize(
    ("objective", "change", "message"),
    [
        (PCA(), {"solver": "adam"}, 'solver must be "auto" with objective "pca"'),
        (PCA(), {"learning_rate": 0.1}, 'learning_rate must be None with objective "pca"'),
        (PCA(), {"exaggeration": 4.0}, 'exaggeration must be None with objective "pca"'),
        (PCA(), {"exaggeration_iter": 4}, 'exaggeration_iter must be None with objective "pca"'),
        (PCA(), {"pairs": "sampled"}, "pairs must be one of 'auto', 'exact'"),
        (PCA(), {"metric": "cosine"}, "metric must be \"euclidean\" with kernel_x='centered_linear'"),
        (TSNE(kernel_x="rbf"), {"metric": "cosine"}, "metric must be \"euclidean\" with kernel_x='rbf'"),
        (
            LLE(),
            {"solver": "momentum", "exaggeration": 4.0},
            'exaggeration must be None with solver="momentum"',
        ),
        (
            TwoKernelPCA(),
            {"exaggeration_iter": 9},
            "exaggeration_iter must be None or 0 where exaggeration is 1",
        ),
        (TwoKernelPCA(), {"exaggeration": 4.0}, "exaggeration_iter must be a positive integer"),
    ],
)
def test_a_parameter_without_effect_is_refused(objective, change, message):
    with pytest.raises(InvalidParameterError, match=message):
        model(objective, **change).fit(SOME)
