"""Losses of the attraction/repulsion framework: gradients, forces per pair, all pairs by field and by samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits

import winkel as wk
from winkel import _core
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError
from winkel.methods.forces import Objective
from winkel.methods.forces.agreement import prepare
from winkel.methods.forces.kernels import MapKernel, fit_umap_curve, gram, map_kernel
from winkel.methods.forces.pca import ExactDescent, PcaProblem, best_step, centred_gram
from winkel.methods.forces.problem import choose_pairs
from winkel.methods.forces.weights import (
    conditional,
    fuzzy_matrix,
    memberships,
    perplexity_matrix,
    reconstruction,
)

X = load_digits().data[:60]
KERNELS = [MapKernel("cauchy"), MapKernel("umap", *fit_umap_curve(0.1, 1.0)), MapKernel("gaussian", 0.7)]
FORMS = ("kernel", "square", "neg_log", "apart", "logit")
OBJECTIVES = [
    Objective("pca"),
    Objective("pca", kernel_x="rbf"),
    Objective("two_kernel_pca"),
    Objective("two_kernel_pca", kernel_x="rbf", kernel_y="cauchy"),
    Objective("lle"),
    Objective("lle", kernel_x="rbf", kernel_y="umap"),
    Objective("lle", kernel_x="fuzzy", kernel_y="gaussian"),
    Objective("lle", kernel_x="perplexity", perplexity=5),
    Objective("tsne", perplexity=5),
    Objective("tsne", kernel_x="rbf", kernel_y="umap"),
    Objective("umap"),
    Objective("umap", negative_sample_rate=None),
    Objective("umap", negative_sample_rate=None, kernel_y="gaussian", kernel_x="rbf"),
]


def for_each(objectives):
    return pytest.mark.parametrize(
        "objective", objectives, ids=lambda o: f"{o.name}-{o.x_kernel}-{o.y_kernel}-{o.negative_sample_rate}"
    )


each_objective = for_each(OBJECTIVES)
# The values of the others have formulas of their own: test_value_of_pca_and_of_sampled_umap.
each_loss = for_each(
    [
        o
        for o in OBJECTIVES
        if o.name != "pca" and not (o.name == "umap" and o.negative_sample_rate is not None)
    ]
)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def some_map(n=60, m=2, seed=0, scale=1.5):
    return scale * rng(seed).normal(size=(n, m))


def problem_of(objective, shape=(60, 2), pairs="exact"):
    made = prepare(X[: shape[0]], objective, shape, "euclidean", pairs, 0, 1)
    return made if isinstance(made, PcaProblem) else made.problem


def dense_value(objective, K, Y, parts=None):
    """The loss as the paper writes it, over all ordered pairs."""
    s = squareform(pdist(Y, "sqeuclidean"))
    k, off = objective.map_kernel().value(s), ~np.eye(len(Y), dtype=bool)
    if objective.name == "two_kernel_pca":
        return np.sum((K - k)[off] ** 2)
    if objective.name == "lle":
        W, V = parts
        M = np.eye(len(Y)) - W + V
        return np.trace(M @ k) + k.sum() / len(Y)
    p = K[off]
    if objective.name == "tsne":
        q = k[off] / k[off].sum()
        return np.sum(p[p > 0] * np.log(p[p > 0] / q[p > 0]))
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
    np.testing.assert_allclose(gram(rows, "linear"), rows @ rows.T)
    np.testing.assert_allclose(gram(rows, "centered_linear"), centred @ centred.T)
    D = squareform(pdist(rows, "sqeuclidean"))
    np.testing.assert_allclose(gram(rows, "rbf", 0.3), np.exp(-0.3 * D))
    np.testing.assert_allclose(gram(rows, "rbf"), np.exp(-D / (2 * rows.var(axis=0).sum())))
    np.testing.assert_array_equal(gram(sp.csr_array(D), "precomputed"), D)


def test_probabilities_have_the_perplexity_and_memberships_the_sum():
    graph = wk.graph.knn(X, 30)
    P = conditional(graph.knn_distances, 7.0, 1)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(np.exp(-(P * np.log(P)).sum(axis=1)), 7, rtol=1e-4)
    both = perplexity_matrix(graph, 7.0, 1).toarray()
    np.testing.assert_allclose(both, both.T)
    np.testing.assert_allclose(both.sum(), 1, rtol=1e-6)
    F = memberships(graph.knn_distances, 1)
    np.testing.assert_allclose(F.sum(axis=1), np.log2(30), rtol=1e-4)
    np.testing.assert_allclose(F[:, 0], 1)
    fuzzy = fuzzy_matrix(graph, 1).toarray()
    np.testing.assert_allclose(fuzzy, fuzzy.T)
    assert 0 <= fuzzy.min() <= fuzzy.max() <= 1


@pytest.mark.parametrize("distances", [np.zeros((2, 4)), np.ones((2, 4)), np.full((2, 4), 1e30)])
def test_equal_distances_weigh_the_same(distances):
    np.testing.assert_allclose(conditional(distances, 2.0, 1), 0.25)
    weights = memberships(distances, 1)
    np.testing.assert_allclose(weights, weights[0, 0])
    assert weights[0, 0] > 0


def test_reconstruction_in_the_space_of_a_wide_rbf_kernel_is_the_linear_one():
    index = wk.graph.knn(X, 8).knn_indices
    linear = reconstruction(X, index, 1e-3, None)
    np.testing.assert_allclose(linear.sum(axis=1), 1)
    # For small γ the kernel's squared distances are 2γ times the plain ones.
    np.testing.assert_allclose(reconstruction(X, index, 1e-3, 1e-7), linear, atol=1e-3)


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
    made = prepare(X, objective, Y.shape, "euclidean", "exact", 0, 1)
    K = None if made.similarities is None else made.similarities.toarray()
    parts = None if made.parts is None else [part.toarray() for part in made.parts]
    assert made.problem.gradient(Y)[0] == pytest.approx(dense_value(objective, K, Y, parts), rel=1e-6)


def test_value_of_pca_and_of_sampled_umap():
    Y = some_map()
    centred, Z = X - X.mean(axis=0), Y - Y.mean(axis=0)
    expected = np.sum((centred @ centred.T - Z @ Z.T) ** 2)
    assert problem_of(Objective("pca")).gradient(Y)[0] == pytest.approx(expected)
    made = prepare(X, Objective("umap"), Y.shape, "euclidean", "exact", 0, 1)
    p, k = made.similarities.toarray(), made.problem.kernel.value(squareform(pdist(Y, "sqeuclidean")))
    off, d = ~np.eye(60, dtype=bool), p.sum(axis=1)
    r = 5 * (d[:, None] + d[None, :]) / (4 * 60)
    expected = -np.sum((p * np.log(k))[off]) - np.sum(r[off] * np.log1p(-k[off]))
    assert made.problem.gradient(Y)[0] == pytest.approx(expected, rel=1e-6)


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
    found = wk.forces(X, Y, Objective("lle", n_neighbors=6, reg=1e-3))
    index = wk.graph.knn(X, 6).knn_indices
    W = np.zeros((60, 60))
    np.put_along_axis(W, index.astype(np.int64), reconstruction(X, index, 1e-3, None), axis=1)
    off = ~np.eye(60, dtype=bool)
    np.testing.assert_allclose(found.attraction[off], (W + W.T)[off], atol=1e-12)
    np.testing.assert_allclose(found.repulsion[off], (W.T @ W + 1 / 60)[off], atol=1e-12)


# ------------------------------------------------------------------------------------ all pairs, cheaper


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("name", ["lle", "tsne", "umap", "two_kernel_pca"])
def test_field_is_near_the_exact_sum(name, m):
    rows = rng(5).normal(size=(2500, 5))
    Y = np.concatenate([4 * rng(6).normal(size=(1500, m)), 0.5 * rng(7).normal(size=(1000, m)) + 9])
    objective = Objective(name, kernel_y="cauchy", perplexity=10)
    exact, field = (
        prepare(rows, objective, Y.shape, "euclidean", how, 0, 2).problem.parts(Y)
        for how in ("exact", "field")
    )
    assert field.normalizer == pytest.approx(exact.normalizer, rel=1e-3)
    miss = np.linalg.norm(field.far - exact.far) / np.linalg.norm(exact.far)
    assert 0 < miss < 5e-3
    np.testing.assert_array_equal(field.near, exact.near)


def test_sampled_sums_are_right_in_the_mean():
    objective, Y = Objective("tsne", perplexity=5), some_map()
    exact = problem_of(objective).parts(Y)
    sampled = problem_of(objective, pairs="sampled")
    rounds = [sampled.at_round(t).parts(Y) for t in range(200)]
    assert np.std([r.normalizer for r in rounds]) > 0
    assert np.mean([r.normalizer for r in rounds]) == pytest.approx(exact.normalizer, rel=0.01)
    mean = np.mean([r.far for r in rounds], axis=0)
    assert np.linalg.norm(mean - exact.far) / np.linalg.norm(exact.far) < 0.1


@pytest.mark.parametrize("name", ["lle", "tsne", "umap"])
@pytest.mark.parametrize("pairs", ["exact", "field", "sampled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bytes_for_any_number_of_threads(name, pairs, dtype):
    rows, Y = rng(5).normal(size=(700, 4)), some_map(700, scale=20).astype(dtype)
    found = [
        prepare(rows, Objective(name, perplexity=8), Y.shape, "euclidean", pairs, 3, jobs).problem.gradient(Y)
        for jobs in (1, 2, 5)
    ]
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
    with pytest.raises(InvalidParameterError, match='pairs="field" is not there'):
        choose_pairs("field", umap, "kernel", 10, 3)


# ------------------------------------------------------------------------------------------------ pca


def test_best_step_is_the_least_of_the_quartic():
    G = gram(X[:30], "centered_linear") / 1e3
    Y, D = some_map(30), some_map(30, seed=1)
    length = best_step(Y, D, G @ Y, G @ D)
    steps = np.linspace(0, 3 * max(length, 1.0), 2001)
    losses = [np.sum((G - (Y + t * D) @ (Y + t * D).T) ** 2) for t in steps]
    assert abs(steps[np.argmin(losses)] - length) <= steps[1]


def test_the_loss_of_pca_never_rises():
    problem = PcaProblem.of(centred_gram(X, "linear", None), None, 0)
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
    cross = wk.gradient_agreement(
        X, some_map(), Objective("lle"), Objective("tsne", perplexity=5), n_points=4, max_iter=10
    )
    assert (np.abs(cross.cosine) <= 1).all()
    norms = [
        np.linalg.norm(problem_of(o, (60, 2)).gradient(some_map())[1])
        for o in (Objective("lle"), Objective("tsne", perplexity=5))
    ]
    assert np.abs(cross.inner[0]) <= np.prod(norms) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "mds"}, "objective must be one of"),
        ({"kernel_x": "cauchy"}, "kernel_x must be None or one of"),
        ({"kernel_y": "rbf"}, "kernel_y must be None or one of"),
        ({"name": "tsne", "kernel_y": "linear"}, "linear kernel on the map"),
        ({"name": "pca", "kernel_x": "fuzzy"}, "needs kernel_x"),
        ({"negative_sample_rate": 0}, "negative_sample_rate"),
    ],
)
def test_objectives_that_are_not_there(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        Objective(**change)


def test_wrong_data_is_told():
    K = gram(X, "centered_linear")
    for objective in (Objective("tsne", kernel_x="precomputed"), Objective("umap", kernel_x="precomputed")):
        with pytest.raises(InvalidInputError, match="not negative"):
            wk.forces(K, some_map(), objective)
    with pytest.raises(InvalidInputError, match=r"in \[0, 1\]"):
        wk.forces(np.abs(K), some_map(), Objective("umap", kernel_x="precomputed"))
    with pytest.raises(InvalidInputError, match="symmetric"):
        wk.forces(np.triu(K), some_map(), Objective("pca", kernel_x="precomputed"))
    with pytest.raises(InvalidInputError, match="map of the 60 rows"):
        wk.forces(X, some_map(50), "lle")
    with pytest.warns(DataWarning, match="perplexity=30 needs"):
        wk.forces(X, some_map(), "tsne")
    with pytest.raises(InvalidParameterError, match="min_dist"):
        fit_umap_curve(9.0, 1.0)


def test_large_maps_give_scalars_but_no_matrices():
    rows, Y = rng().normal(size=(3100, 3)), some_map(3100)
    found = wk.forces(rows, Y, Objective("lle", n_neighbors=4))
    A, R, _ = found.scalars([0, 1], [5, 6])
    assert A.shape == R.shape == (2,)
    with pytest.raises(InvalidInputError, match="too large"):
        found.attraction  # noqa: B018
