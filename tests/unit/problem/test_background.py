"""A background over all pairs against the same pairs listed one by one."""

import numpy as np
import pytest

import winkel as wk
from winkel.problem.field import Field, Kernel

RNG = np.random.default_rng(0)
N = 60
EDGES = np.array([[i, i + 1] for i in range(N - 1)])
EVERY = np.stack(np.triu_indices(N, 1), axis=1)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "penalty", [wk.penalties.Cauchy, wk.penalties.Log, wk.penalties.InvPower, wk.penalties.LogRatio]
)
def test_background_is_the_sum_over_all_pairs(penalty, m):
    Y = RNG.normal(size=(N, m))
    attract = wk.penalties.Log1p()
    with_field = wk.Problem(EDGES, attract, n_components=m, background=penalty(weights=-0.1))
    plain = wk.Problem(EDGES, attract, n_components=m)
    listed = wk.Problem(EVERY, penalty(weights=-0.1), n_components=m)
    value, gradient = with_field.gradient(Y)
    scale = len(EVERY) / len(EDGES)
    assert value == pytest.approx(plain.average_distortion(Y) + scale * listed.average_distortion(Y))
    expected = plain.gradient(Y)[1] + scale * listed.gradient(Y)[1]
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("m", [2, 4])
def test_an_item_of_charge_three_counts_as_three_items(m):
    Y, charges = RNG.normal(size=(N, m)), np.where(np.arange(N) % 5 == 0, 3.0, 1.0)
    pull, push = wk.penalties.Log1p(), wk.penalties.Cauchy(weights=-0.1)
    charged = wk.Problem(EDGES, pull, n_components=m, background=push, charges=charges)
    weights = charges[EVERY[:, 0]] * charges[EVERY[:, 1]]
    plain = wk.Problem(EDGES, pull, n_components=m)
    listed = wk.Problem(EVERY, wk.penalties.Cauchy(weights=-0.1 * weights), n_components=m)
    value, gradient = charged.gradient(Y)
    scale = len(EVERY) / len(EDGES)
    assert value == pytest.approx(plain.average_distortion(Y) + scale * listed.average_distortion(Y))
    expected = plain.gradient(Y)[1] + scale * listed.gradient(Y)[1]
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("background", "charges"), [(None, np.ones(N)), (-1.0, np.ones(N - 1)), (-1.0, np.full(N, np.nan))]
)
def test_charges_need_a_background_and_one_number_an_item(background, charges):
    push = None if background is None else wk.penalties.Cauchy(weights=background)
    with pytest.raises(wk.errors.InvalidParameterError, match="charges"):
        wk.Problem(EDGES, wk.penalties.Log1p(), background=push, charges=charges)


@pytest.mark.parametrize("charged", [False, True])
@pytest.mark.parametrize("exponent", [1.0, 0.7])
def test_a_normalized_background_is_the_logarithm_of_the_sum(exponent, charged):
    Y, w = RNG.normal(size=(N, 2)), 3.0
    charges = np.where(np.arange(N) % 5 == 0, 3.0, 1.0) if charged else None
    push = wk.penalties.Cauchy(-w, exponent=exponent)
    pull = wk.penalties.Log1p(exponent=2.0)
    whole = wk.Problem(EDGES, pull, background=push, charges=charges, normalized=True)
    q = np.ones(N) if charges is None else charges
    terms = (q[EVERY].prod(axis=1)) / (1 + np.sum((Y[EVERY[:, 0]] - Y[EVERY[:, 1]]) ** 2, axis=1)) ** exponent
    plain = wk.Problem(EDGES, pull).average_distortion(Y)
    assert whole.average_distortion(Y) == pytest.approx(plain + w * np.log(terms.sum()) / len(EDGES))
    assert whole.background_weight(Y) == pytest.approx(w / terms.sum())
    halved = whole.with_background(0.5)
    assert halved.average_distortion(Y) == pytest.approx(plain + 0.5 * w * np.log(terms.sum()) / len(EDGES))
    gradient, h = whole.gradient(Y)[1], 1e-6
    for i, axis in [(0, 0), (5, 1), (N - 1, 0)]:
        ahead, behind = Y.copy(), Y.copy()
        ahead[i, axis] += h
        behind[i, axis] -= h
        slope = (whole.average_distortion(ahead) - whole.average_distortion(behind)) / (2 * h)
        assert gradient[i, axis] == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_a_normalized_background_on_a_grid_is_near_the_exact_one():
    n = 3000  # more than are summed pair by pair
    Y = np.random.default_rng(1).normal(scale=8.0, size=(n, 2))
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    push = wk.penalties.Cauchy(-float(n))
    problem = wk.Problem(edges, wk.penalties.Quadratic(), background=push, normalized=True)
    plain = wk.Problem(edges, wk.penalties.Quadratic())
    exact = Field(Kernel("cauchy")).exact(Y)
    value, gradient = problem.gradient(Y)
    pulled, pull = plain.gradient(Y)
    assert value - pulled == pytest.approx(n * np.log(exact.total) / (n - 1), rel=1e-4)
    push_found, push_exact = (gradient - pull) * (n - 1), n * exact.forces / exact.total
    assert np.linalg.norm(push_found - push_exact) < 0.008 * np.linalg.norm(push_exact)


@pytest.mark.parametrize("background", [None, wk.penalties.Log(-1.0)])
def test_only_a_cauchy_background_is_normalized(background):
    with pytest.raises(wk.errors.InvalidParameterError, match="normalized=True needs a Cauchy"):
        wk.Problem(EDGES, wk.penalties.Log1p(), background=background, normalized=True)


def test_all_pairs_share_what_sampled_pairs_would_have():
    graph = wk.graph.knn(RNG.normal(size=(200, 4)), 6)
    sampled = wk.preserve_neighbors(graph, repulsive="log", repulsive_fraction=2.0, random_state=0)
    shared = wk.preserve_neighbors(
        graph, repulsive="log", repulsive_fraction=2.0, repulsive_pairs="all", random_state=0
    )
    total = -float(shared.background.weights) * 200 * 199 / 2
    assert total == pytest.approx(sampled.n_pairs - graph.n_edges)
    assert shared.n_pairs == graph.n_edges


def test_a_map_with_all_pairs_spreads_and_keeps_its_bytes():
    digits = wk.datasets.load_digits()
    maps = [
        wk.MDE(repulsive_pairs="all", random_state=0, max_iter=60, n_jobs=jobs).fit(digits.X[:400])
        for jobs in (1, 2)
    ]
    assert maps[0].embedding_.tobytes() == maps[1].embedding_.tobytes()
    index, _ = wk.graph.knn_query(maps[0].embedding_, maps[0].embedding_, 6)
    same = (digits.y[:400][index[:, 1:]] == digits.y[:400, None]).mean()
    assert same > 0.9
    placed = maps[0].transform(digits.X[400:410])
    assert np.isfinite(placed).all()


@pytest.mark.parametrize("solver", ["linear", "eigen", "stochastic"])
def test_other_solvers_refuse_a_background(solver):
    problem = wk.Problem(EDGES, wk.penalties.Log1p(), background=wk.penalties.Log(weights=-1.0))
    with pytest.raises(wk.errors.InvalidParameterError, match="background"):
        problem.solve(solver=solver)


@pytest.mark.parametrize(
    "background",
    [wk.penalties.Log(weights=-np.ones(3)), wk.losses.Quadratic(np.ones(3)), wk.losses.Absolute([1.0])],
)
def test_a_background_is_the_same_for_all_pairs(background):
    with pytest.raises(wk.errors.InvalidParameterError, match="one weight for all pairs"):
        wk.Problem(EDGES, wk.penalties.Log1p(), background=background)
