"""Losses of the attraction/repulsion framework: gradients, forces per pair, all pairs by field and by samples."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits

import winkel as wk
from winkel import _core
from winkel.data import as_table
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError
from winkel.methods.forces import force_problem
from winkel.methods.forces.agreement import _problem
from winkel.methods.forces.data_kernels import (
    RBF,
    CenteredLinear,
    Fuzzy,
    Linear,
    NewRows,
    Perplexity,
    Precomputed,
    Source,
)
from winkel.methods.forces.force_problem import ForceProblem, choose_pairs
from winkel.methods.forces.held import Fields
from winkel.methods.forces.map_kernels import MapKernel, fit_umap_curve, map_kernel
from winkel.methods.forces.objectives import LLE, PCA, TSNE, UMAP, PairLoss, TwoKernelPCA, general
from winkel.methods.forces.pca_problem import DenseGram, ExactDescent, FactoredGram, PcaProblem, best_step
from winkel.methods.forces.reconstruction import weights_by_rows, weights_by_similarity, weights_of_similar
from winkel.problem.distortions.base import registered
from winkel.problem.grid import GridField
from winkel.run import Run

X = load_digits().data[:60]
RUN = Run()
KERNELS = [
    MapKernel("cauchy"),
    MapKernel("umap", *fit_umap_curve(0.1, 1.0)),
    MapKernel("gaussian", 0.7),
    MapKernel("student", 0.5),
    MapKernel("student", 3.0),
]
FORMS = ("kernel", "square", "neg_log", "apart", "logit")
OBJECTIVES = [
    PCA(),
    PCA(kernel_x="rbf"),
    TwoKernelPCA(),
    TwoKernelPCA(kernel_x="rbf", kernel_y="cauchy"),
    LLE(),
    LLE(kernel_x="rbf", kernel_y="umap"),
    LLE(kernel_x="fuzzy", kernel_y="gaussian"),
    LLE(kernel_x="perplexity", perplexity=5),
    TSNE(perplexity=5),
    TSNE(kernel_x="rbf", kernel_y="umap"),
    TSNE(perplexity=5, attraction=4.0),
    TSNE(perplexity=5, kernel_y="student", dof=0.5),
    UMAP(),
    UMAP(negative_sample_rate=None),
    UMAP(negative_sample_rate=None, kernel_y="gaussian", kernel_x="rbf"),
]


def for_each(objectives):
    return pytest.mark.parametrize(
        "objective",
        objectives,
        ids=lambda o: "-".join(
            str(getattr(o, part, "")) for part in ("name", "kernel_x", "kernel_y", "negative_sample_rate")
        ),
    )


each_objective = for_each(OBJECTIVES)
# The values of the others have formulas of their own: test_value_of_pca_and_of_sampled_umap.
each_loss = for_each(
    [o for o in OBJECTIVES if o.name != "pca" and getattr(o, "negative_sample_rate", None) is None]
)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def some_map(n=60, m=2, seed=0, scale=1.5):
    return scale * rng(seed).normal(size=(n, m))


def made_of(rows, objective, shape, pairs="exact", seed=0, n_jobs=1):
    """The problem and the weights of an objective."""
    run = Run(seed=seed, n_jobs=n_jobs)
    return _problem(as_table(rows), objective, shape[1], "euclidean", pairs, run)[1:]


def problem_of(objective, shape=(60, 2), pairs="exact"):
    return made_of(X[: shape[0]], objective, shape, pairs)[0]


def gram(rows, kernel):
    """k_x of all pairs of rows."""
    source = Source(len(rows), np.float64, as_table(rows))
    return kernel.resolved(source).gram(source, RUN)


def dense_value(objective, weights, Y):
    """The loss as the paper writes it, over all ordered pairs."""
    s = squareform(pdist(Y, "sqeuclidean"))
    k, off = objective.map_kernel.value(s), ~np.eye(len(Y), dtype=bool)
    if objective.name == "lle":
        M = np.eye(len(Y)) - weights.attraction.toarray() + weights.repulsion.toarray()
        return np.trace(M @ k) + k.sum() / len(Y)
    K = weights.toarray()
    if objective.name == "two_kernel_pca":
        return np.sum((K - k)[off] ** 2)
    p = K[off]
    if objective.name == "tsne":
        # p log(p/q), with attractions, −p log k, `attraction` times as strong
        return np.sum(p[p > 0] * (np.log(p[p > 0]) - objective.attraction * np.log(k[off][p > 0]))) + np.log(
            k[off].sum()
        )
    rest = 1 - p
    return np.sum(p[p > 0] * np.log(p[p > 0] / k[off][p > 0])) + np.sum(
        rest[rest > 0] * np.log(rest[rest > 0] / (1 - k[off][rest > 0]))
    )


# ------------------------------------------------------------------------------------ curves and kernels


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_curves_are_the_formulas(kernel, form, dtype):
    s = np.concatenate([rng().uniform(2e-3, 9, 200), [1e-3, 30.0]])
    k, slope = kernel.value(s), kernel.slope(s)
    expected = {
        "kernel": (k, slope),
        "square": (k**2, 2 * k * slope),
        "neg_log": (-np.log(k), -slope / k),
        "apart": (-np.log1p(-k), slope / (1 - k)),
        "logit": (-np.log(k) + np.log1p(-k), -slope / k - slope / (1 - k)),
    }[form]
    found = _core.curve_values(kernel.curve(form), s.astype(dtype))
    tolerance = 2e-5 if dtype == np.float32 else 1e-9
    for got, wanted in zip(found, expected):
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_singular_curves_go_on_straight_below_the_floor(kernel):
    s = np.array([0.0, 2e-4, 5e-4, 1e-3])
    value, slope = _core.curve_values(kernel.curve("apart"), s)
    np.testing.assert_allclose(slope, slope[-1])
    np.testing.assert_allclose(value, value[-1] + slope[-1] * (s - 1e-3))


def test_umap_curve_is_the_known_one():
    # umap-learn prints these for min_dist 0.1, spread 1.
    np.testing.assert_allclose(fit_umap_curve(0.1, 1.0), (1.577, 0.8951), rtol=1e-3)


def test_kernels_on_the_data():
    rows = rng().normal(size=(20, 3)) + 5
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(gram(rows, Linear()), rows @ rows.T)
    np.testing.assert_allclose(gram(rows, CenteredLinear()), centred @ centred.T)
    D = squareform(pdist(rows, "sqeuclidean"))
    np.testing.assert_allclose(gram(rows, RBF(0.3)), np.exp(-0.3 * D))
    np.testing.assert_allclose(gram(rows, RBF(None)), np.exp(-D / (2 * rows.var(axis=0).sum())))
    np.testing.assert_array_equal(Precomputed().gram(Source(20, np.float64, similarities=D), RUN), D)


@pytest.mark.parametrize("kernel", [Linear(), CenteredLinear(), RBF(0.01)], ids=lambda k: k.name)
def test_new_rows_are_as_similar_as_fitted_ones(kernel):
    # Row 0 stands for a new row: k_x with each fitted row is what the kernel of all rows has there.
    K = gram(X, kernel)
    distance = np.linalg.norm(X[:1] - X, axis=1)
    new = NewRows(X[:1], X, np.arange(60, dtype=np.int32)[None], distance[None], None, Fields(X))
    np.testing.assert_allclose(kernel.to_fitted(new, RUN)[0], K[0], atol=1e-9 * np.abs(K).max())
    if not isinstance(kernel, RBF):
        return
    centred = DenseGram.of(K).full
    np.testing.assert_allclose(kernel.centred_similarities(X)(X[0]), centred[0], atol=1e-9)


def test_probabilities_have_the_perplexity_and_memberships_the_sum():
    graph = wk.graph.knn(X, 30)
    source = Source(60, np.float64, graph=graph)
    P = Perplexity(7.0).local(graph.knn_distances, 1)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(np.exp(-(P * np.log(P)).sum(axis=1)), 7, rtol=1e-4)
    both = Perplexity(7.0).matrix(source, RUN).toarray()
    np.testing.assert_allclose(both, both.T)
    np.testing.assert_allclose(both.sum(), 1, rtol=1e-6)
    F = Fuzzy(30).local(graph.knn_distances, 1)
    np.testing.assert_allclose(F.sum(axis=1), np.log2(30), rtol=1e-4)
    np.testing.assert_allclose(F[:, 0], 1)
    fuzzy = Fuzzy(30).matrix(source, RUN).toarray()
    np.testing.assert_allclose(fuzzy, fuzzy.T)
    assert 0 <= fuzzy.min() <= fuzzy.max() <= 1


@pytest.mark.parametrize("distances", [np.zeros((2, 4)), np.ones((2, 4)), np.full((2, 4), 1e30)])
def test_equal_distances_weigh_the_same(distances):
    np.testing.assert_allclose(Perplexity(2.0).local(distances, 1), 0.25)
    weights = Fuzzy(4).local(distances, 1)
    np.testing.assert_allclose(weights, weights[0, 0])
    assert weights[0, 0] > 0


def test_a_graph_with_short_lists_is_refused():
    graph = wk.Graph.from_knn([[1, 2], [0, -1], [0, 1]], [[1.0, 2.0], [1.0, np.inf], [2.0, 3.0]])
    with pytest.raises(InvalidInputError, match=r"needs 2 neighbours of every row; .* row 1 with 1"):
        Fuzzy(2).matrix(Source(3, np.float64, graph=graph), RUN)


def test_reconstruction_in_the_space_of_a_wide_rbf_kernel_is_the_linear_one():
    index = wk.graph.knn(X, 8).knn_indices
    linear = weights_by_rows(X, index, 1e-3, None)
    np.testing.assert_allclose(linear.sum(axis=1), 1)
    # For small γ the kernel's squared distances are 2γ times the plain ones.
    np.testing.assert_allclose(weights_by_rows(X, index, 1e-3, 1e-7), linear, atol=1e-3)


@pytest.mark.parametrize("kernel", [Fuzzy(8), Perplexity(3.0)], ids=lambda k: k.name)
def test_a_new_row_is_as_similar_to_its_neighbors_as_if_it_had_been_fitted(kernel):
    k = kernel.neighbors(60)
    whole, part = wk.graph.knn(X, k), wk.graph.knn(X[:59], k)  # with the last row, and without
    index, distance = whole.knn_indices[59:], whole.knn_distances[59:]
    new = NewRows(X[59:], X[:59], index, distance, part, Fields(X))

    def similar(graph):
        K = kernel.matrix(Source(graph.n, np.float64, graph=graph), RUN).toarray()
        K = K * (2 * graph.n if kernel.normalized else 1)
        np.fill_diagonal(K, 1.0)
        return K

    to_own, between = kernel.to_fitted_joined(new, RUN), kernel.among_fitted(new, RUN)
    np.testing.assert_allclose(to_own[0], similar(whole)[59, index[0]], rtol=1e-5)
    assert (to_own[0] > kernel.to_fitted(new, RUN)[0]).any()  # some would list the new row
    K = similar(part)
    np.testing.assert_allclose(between[0], K[np.ix_(index[0], index[0])], rtol=1e-5)
    # The weights of a row that was fitted, from the same similarities.
    first = part.knn_indices[:1]
    own = weights_of_similar(np.ones(1), K[0, first], K[np.ix_(first[0], first[0])][None], 1e-2)
    np.testing.assert_allclose(own[0], weights_by_similarity(sp.csr_array(K), part.knn_indices, 1e-2)[0])


# ------------------------------------------------------------------------------------------- losses


@each_objective
@pytest.mark.parametrize("m", [2, 3])
def test_gradient_is_that_of_the_value(objective, m):
    problem, Y = problem_of(objective, (60, m)), some_map(60, m)
    value, gradient = problem.gradient(Y)
    for seed in range(3):
        D = rng(seed + 10).normal(size=Y.shape)
        h = 1e-5
        ahead, behind = problem.gradient(Y + h * D)[0], problem.gradient(Y - h * D)[0]
        expected = float(np.sum(gradient * D))
        assert (ahead - behind) / (2 * h) == pytest.approx(expected, rel=2e-5, abs=2e-6 * abs(value))


@each_loss
def test_value_is_the_loss_of_the_paper(objective):
    Y = some_map()
    problem, weights = made_of(X, objective, Y.shape)
    assert problem.gradient(Y)[0] == pytest.approx(dense_value(objective, weights, Y), rel=1e-6)


def test_value_of_pca_and_of_sampled_umap():
    Y = some_map()
    centred, Z = X - X.mean(axis=0), Y - Y.mean(axis=0)
    expected = np.sum((centred @ centred.T - Z @ Z.T) ** 2)
    assert problem_of(PCA()).gradient(Y)[0] == pytest.approx(expected)
    problem, weights = made_of(X, UMAP(), Y.shape)
    p, k = weights.toarray(), problem.kernel.value(squareform(pdist(Y, "sqeuclidean")))
    off, d = ~np.eye(60, dtype=bool), p.sum(axis=1)
    r = 5 * (d[:, None] + d[None, :]) / (4 * 60)
    expected = -np.sum((p * np.log(k))[off]) - np.sum(r[off] * np.log1p(-k[off]))
    assert problem.gradient(Y)[0] == pytest.approx(expected, rel=1e-6)


@each_objective
def test_forces_of_all_pairs_make_the_gradient(objective):
    Y = some_map()
    found = wk.forces(X, Y, objective, n_jobs=1)
    A, R, slope = found.attraction, found.repulsion, found.slope
    difference = Y[:, None] - Y[None, :]
    off = ~np.eye(60, dtype=bool)

    def total(scalars):
        return -found.scale * np.einsum("ij,ijk->ik", np.where(off, scalars * slope, 0), difference)

    size = np.abs(found.gradient).max()
    np.testing.assert_allclose(total(A - R), found.gradient, rtol=1e-6, atol=1e-6 * size)
    np.testing.assert_allclose(found.attractive + found.repulsive, found.gradient, atol=1e-9 * size)
    if objective.name != "pca":
        np.testing.assert_allclose(total(A), found.attractive, rtol=1e-5, atol=1e-6 * size)
    some = found.scalars([3, 7], [9, 2])
    np.testing.assert_allclose(some[0], A[[3, 7], [9, 2]])
    assert found.value == pytest.approx(problem_of(objective).gradient(Y)[0])


def test_attraction_and_repulsion_of_lemma_4():
    Y = some_map()
    found = wk.forces(X, Y, LLE(n_neighbors=6, regularization=1e-3))
    index = wk.graph.knn(X, 6).knn_indices
    W = np.zeros((60, 60))
    np.put_along_axis(W, index.astype(np.int64), weights_by_rows(X, index, 1e-3, None), axis=1)
    off = ~np.eye(60, dtype=bool)
    np.testing.assert_allclose(found.attraction[off], (W + W.T)[off], atol=1e-12)
    np.testing.assert_allclose(found.repulsion[off], (W.T @ W + 1 / 60)[off], atol=1e-12)


@functools.cache
def own_objectives():
    """Defined when first used: what is defined is registered, and other tests run over the registry."""

    @dataclass(frozen=True)
    class Squares(PairLoss):
        """Two-kernel PCA written as a formula."""

        kernel_x: str = "rbf"
        gamma: float | None = None

        def pair_loss(self, kx, ky):
            return (kx - ky) ** 2, 2 * (ky - kx)

    @dataclass(frozen=True)
    class Wells(PairLoss):
        """An F and a kernel on the map that winkel does not have."""

        kernel_x: str = "centered_linear"

        def pair_loss(self, kx, ky):
            return np.cosh(ky - kx / 500), np.sinh(ky - kx / 500)

        def map_kernel(self, s):
            return np.exp(-np.sqrt(1 + s)), -0.5 * np.exp(-np.sqrt(1 + s)) / np.sqrt(1 + s)

    return {"squares": Squares(), "wells": Wells()}


def test_a_formula_of_ones_own_is_the_objective_it_spells():
    Y = some_map()
    own, known = (
        problem_of(o).gradient(Y)
        for o in (own_objectives()["squares"], TwoKernelPCA(kernel_x="rbf", kernel_y="cauchy"))
    )
    assert own[0] == pytest.approx(known[0], rel=1e-9)
    np.testing.assert_allclose(own[1], known[1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["squares", "wells"])
def test_a_formula_of_ones_own_has_gradient_forces_map_and_places(name, monkeypatch):
    objective = own_objectives()[name]
    monkeypatch.setattr(general, "_BLOCK", 7 * 60)  # several blocks of rows
    test_gradient_is_that_of_the_value(objective, 3)
    test_forces_of_all_pairs_make_the_gradient(objective)
    model = wk.AttractRepel(objective=objective, max_iter=30, random_state=0).fit(X)
    start = wk.AttractRepel(objective=objective, max_iter=0, random_state=0).fit(X)
    assert model.objective_ < start.objective_
    close = model.transform(X[:8] + 1e-6)
    apart = np.linalg.norm(close - model.embedding_[:8], axis=1)
    assert np.median(apart) < 0.3 * np.median(pdist(model.embedding_))
    assert model.transform(X[3:4] + 1e-6).tobytes() == model.transform(X[:8] + 1e-6)[3].tobytes()


def test_a_formula_of_ones_own_refuses_what_has_no_meaning():
    for change, message in (
        ({"exaggeration": 4.0}, "exaggeration must be None with objective 'squares'"),
        ({"pairs": "field"}, "pairs must be one of 'auto', 'exact'"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            wk.AttractRepel(objective=own_objectives()["squares"], **change).fit(X)


# ------------------------------------------------------------------------------------ all pairs, cheaper


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize(
    "objective",
    [LLE(), TSNE(perplexity=10), UMAP(kernel_y="cauchy"), TwoKernelPCA(kernel_y="cauchy")],
    ids=lambda o: o.name,
)
def test_field_is_close_to_the_exact_sum(objective, m):
    rows = rng(5).normal(size=(2500, 5))
    Y = np.concatenate([4 * rng(6).normal(size=(1500, m)), 0.5 * rng(7).normal(size=(1000, m)) + 9])
    exact, field = (
        made_of(rows, objective, Y.shape, how, n_jobs=2)[0].parts(Y) for how in ("exact", "field")
    )
    assert field.normalizer == pytest.approx(exact.normalizer, rel=1e-3)
    miss = np.linalg.norm(field.all_pairs - exact.all_pairs) / np.linalg.norm(exact.all_pairs)
    assert 0 < miss < 5e-3
    np.testing.assert_array_equal(field.listed, exact.listed)


@pytest.mark.parametrize("scale", [0.15, 3.0], ids=["grid", "tree"])
def test_repulsion_of_umap_by_a_grid_is_close_to_the_exact_sum(scale, monkeypatch):
    # A grid rounds off the steep force between points that nearly meet; where there are few nodes to a point it is used.
    rows, Y = rng(5).normal(size=(2500, 5)), some_map(2500, scale=scale)
    asked, summed = [], ForceProblem._apart_sum
    monkeypatch.setattr(ForceProblem, "_apart_sum", lambda *given: asked.append(summed(*given)) or asked[-1])
    exact, field = (made_of(rows, UMAP(), Y.shape, how)[0].parts(Y) for how in ("exact", "field"))
    assert [found is not None for found in asked] == [scale < 1] * 2
    miss = np.linalg.norm(field.all_pairs - exact.all_pairs) / np.linalg.norm(exact.all_pairs)
    assert 0 < miss < (0.03 if scale < 1 else 4e-3)
    assert field.all_value == pytest.approx(exact.all_value, rel=1e-3)


def test_a_grid_too_coarse_for_repulsion_gives_way_to_the_tree(monkeypatch):
    rows, Y = rng(5).normal(size=(2500, 5)), some_map(2500, scale=0.15)
    monkeypatch.setattr(force_problem, "APART_SPACING", 0.2)
    monkeypatch.setattr(GridField, "_spacing", lambda self, extent: self._finest)
    exact, field = (made_of(rows, UMAP(), Y.shape, how)[0] for how in ("exact", "field"))
    assert field._apart_sum(Y, None) is None
    miss = field._sum(Y, None)[1] - exact._sum(Y, None)[1]
    assert np.linalg.norm(miss) < 4e-3 * np.linalg.norm(exact._sum(Y, None)[1])


def test_sampled_sums_are_right_on_average():
    objective, Y = TSNE(perplexity=5), some_map()
    exact = problem_of(objective).parts(Y)
    sampled = problem_of(objective, pairs="sampled")
    rounds = [sampled.at_round(t).parts(Y) for t in range(200)]
    assert np.std([r.normalizer for r in rounds]) > 0
    assert np.mean([r.normalizer for r in rounds]) == pytest.approx(exact.normalizer, rel=0.01)
    mean = np.mean([r.all_pairs for r in rounds], axis=0)
    assert np.linalg.norm(mean - exact.all_pairs) / np.linalg.norm(exact.all_pairs) < 0.1


@pytest.mark.parametrize("objective", [LLE(), TSNE(perplexity=8), UMAP()], ids=lambda o: o.name)
@pytest.mark.parametrize("pairs", ["exact", "field", "sampled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bytes_for_any_number_of_threads(objective, pairs, dtype):
    rows, Y = rng(5).normal(size=(700, 4)), some_map(700, scale=20).astype(dtype)
    found = [made_of(rows, objective, Y.shape, pairs, 3, jobs)[0].gradient(Y) for jobs in (1, 2, 5)]
    for value, gradient in found[1:]:
        assert value == found[0][0]
        assert gradient.tobytes() == found[0][1].tobytes()
    assert found[0][1].dtype == dtype


def test_choice_of_pairs():
    cauchy, umap = map_kernel("cauchy", 0.1, 1.0), map_kernel("umap", 0.1, 1.0)
    assert choose_pairs("auto", cauchy, "kernel", 1000, 2) == "exact"
    assert choose_pairs("auto", cauchy, "kernel", 5000, 2) == "field"
    assert choose_pairs("auto", umap, "kernel", 5000, 3) == "exact"
    assert choose_pairs("auto", umap, "kernel", 50_000, 3) == "sampled"
    assert choose_pairs("sampled", umap, "kernel", 10, 3) == "sampled"
    with pytest.raises(InvalidParameterError, match="pairs must be one of"):
        choose_pairs("all", cauchy, "kernel", 10, 2)
    with pytest.raises(InvalidParameterError, match='pairs="field" is not available'):
        choose_pairs("field", umap, "kernel", 10, 3)


# ------------------------------------------------------------------------------------------------ pca


def test_best_step_is_the_least_of_the_quartic():
    G = gram(X[:30], CenteredLinear()) / 1e3
    Y, D = some_map(30), some_map(30, seed=1)
    length = best_step(Y, D, G @ Y, G @ D)
    steps = np.linspace(0, 3 * max(length, 1.0), 2001)
    losses = [np.sum((G - (Y + t * D) @ (Y + t * D).T) ** 2) for t in steps]
    assert abs(steps[np.argmin(losses)] - length) <= steps[1]


@pytest.mark.parametrize("columns", [64, 9], ids=["wide", "tall"])
def test_a_gram_matrix_by_its_factor_is_the_dense_one(columns):
    rows = X[:, 20 : 20 + columns] if columns < 64 else X
    F = rows - rows.mean(axis=0)
    factored, dense = FactoredGram(F), DenseGram.of(rows @ rows.T)
    assert factored.n == dense.n == 60
    assert factored._smaller().shape == (min(60, columns),) * 2
    np.testing.assert_allclose(factored.times(some_map()), dense.times(some_map()))
    assert factored.square_norm() == pytest.approx(dense.square_norm())
    np.testing.assert_allclose(factored.top_eigenvalues(5), dense.top_eigenvalues(5))
    i, j = np.array([0, 3, 8]), np.array([1, 3, 50])
    np.testing.assert_allclose(factored.entries(i, j), dense.entries(i, j))


def test_the_loss_of_pca_never_rises():
    problem = PcaProblem.of(FactoredGram(X - X.mean(axis=0)), None, RUN)
    solver = ExactDescent(tol=0.0)
    state = solver.init(problem, some_map())
    for _ in range(60):
        after = solver.step(problem, state)
        assert after.objective <= state.objective * (1 + 1e-12)
        state = after
    assert state.residual < 1e-3


# ------------------------------------------------------------------------------------- agreement, errors


def test_an_objective_agrees_with_itself():
    found = wk.gradient_agreement(X, None, "umap", "umap", n_points=5, max_iter=20)
    np.testing.assert_allclose(found.cosine, 1)
    assert found.sign == 1
    assert 2 <= len(found.iteration) == len(found.inner) <= 5
    cross = wk.gradient_agreement(X, some_map(), LLE(), TSNE(perplexity=5), n_points=4, max_iter=10)
    assert (np.abs(cross.cosine) <= 1).all()
    norms = [
        np.linalg.norm(problem_of(o, (60, 2)).gradient(some_map())[1]) for o in (LLE(), TSNE(perplexity=5))
    ]
    assert np.abs(cross.inner[0]) <= np.prod(norms) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LLE(kernel_x="cauchy"), "kernel_x must be one of"),
        (lambda: LLE(kernel_y="rbf"), "kernel_y must be one of"),
        (lambda: TSNE(kernel_y="linear"), "kernel_y must be one of"),
        (lambda: PCA(kernel_x="fuzzy"), "kernel_x must be one of 'linear', 'centered_linear', 'rbf'"),
        (lambda: PCA(rank=0), "rank must be None or a positive integer"),
        (lambda: UMAP(negative_sample_rate=0), "negative_sample_rate must be None or a positive number"),
        (lambda: UMAP(min_dist=4.0), r"min_dist must be a number in \[0, 3\]"),
        (lambda: UMAP(n_neighbors=2.5), "n_neighbors must be a positive integer"),
        (lambda: TSNE(perplexity=0.5), "perplexity must be a number of at least 1"),
        (lambda: LLE(regularization=0.0), "regularization must be a positive number"),
        (lambda: TSNE(kernel_x="rbf", gamma=-1.0), "gamma must be None or a positive number"),
    ],
)
def test_objectives_that_are_not_there(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "name", "use"),
    [
        (lambda: TSNE(perplexity=12, kernel_x="fuzzy"), "perplexity", 'kernel_x="perplexity"'),
        (lambda: TSNE(n_neighbors=12), "n_neighbors", 'kernel_x="fuzzy"'),
        (lambda: LLE(kernel_x="perplexity", n_neighbors=7), "n_neighbors", 'kernel_x="fuzzy"'),
        (lambda: LLE(gamma=0.1), "gamma", 'kernel_x="rbf"'),
        (lambda: UMAP(kernel_y="cauchy", min_dist=0.3), "min_dist", 'kernel_y="umap"'),
        (lambda: TwoKernelPCA(kernel_y="gaussian", spread=2.0), "spread", 'kernel_y="umap"'),
        (lambda: PCA(gamma=0.1), "gamma", 'kernel_x="rbf"'),
    ],
)
def test_a_parameter_without_effect_is_refused(make, name, use):
    with pytest.raises(InvalidParameterError, match=f"{name} must be left at .* It goes with {use}"):
        make()


def test_every_objective_is_a_frozen_value():
    assert set(registered("objectives")) >= {"lle", "tsne", "umap", "two_kernel_pca", "pca"}
    for cls in registered("objectives").values():
        assert cls() == cls()
        assert hash(cls()) == hash(cls())
        with pytest.raises(AttributeError):
            cls().kernel_x = "linear"
    assert TSNE(20) == TSNE(perplexity=20) != TSNE()


def test_wrong_data_is_told():
    K = gram(X, CenteredLinear())
    for objective in (TSNE(kernel_x="precomputed"), UMAP(kernel_x="precomputed")):
        with pytest.raises(InvalidInputError, match="not negative"):
            wk.forces(K, some_map(), objective)
    with pytest.raises(InvalidInputError, match=r"in \[0, 1\]"):
        wk.forces(np.abs(K), some_map(), UMAP(kernel_x="precomputed"))
    with pytest.raises(InvalidInputError, match="symmetric"):
        wk.forces(np.triu(K), some_map(), PCA(kernel_x="precomputed"))
    with pytest.raises(InvalidParameterError, match=r"Y must be .* shape \(60, any\); got shape \(50, 2\)"):
        wk.forces(X, some_map(50), "lle")
    with pytest.warns(DataWarning, match="perplexity=30 needs"):
        wk.forces(X, some_map(), "tsne")
    with pytest.raises(InvalidParameterError, match="objective must be one of"):
        wk.forces(X, some_map(), "mds")
    with pytest.raises(InvalidParameterError, match=r"an object of winkel\.objectives"):
        wk.forces(X, some_map(), TSNE)
    with pytest.raises(InvalidParameterError, match="min_dist"):
        fit_umap_curve(9.0, 1.0)


def test_large_maps_give_scalars_but_no_matrices():
    rows, Y = rng().normal(size=(3100, 3)), some_map(3100)
    found = wk.forces(rows, Y, LLE(n_neighbors=4))
    A, R, _ = found.scalars([0, 1], [5, 6])
    assert A.shape == R.shape == (2,)
    with pytest.raises(InvalidInputError, match="too large"):
        found.attraction  # noqa: B018
