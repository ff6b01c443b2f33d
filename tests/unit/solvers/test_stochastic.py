from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidParameterError
from winkel.problem import StreamProblem
from winkel.solvers.stochastic import HessianProduct, StochasticProximal

from .walk import run

N = 150


def pairs(p, seed=0):
    rng = np.random.Generator(np.random.Philox(key=seed))
    every = np.stack(np.triu_indices(N, 1), axis=1)
    return np.sort(rng.permutation(len(every))[:p]), every, rng


def distances_problem(constraint, p=4000, **options):
    """Distances of points in four dimensions, wanted in two."""
    chosen, every, rng = pairs(p)
    X = rng.standard_normal((N, 4)) * [3.0, 2.0, 0.5, 0.5]
    edges = every[chosen]
    far = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    return wk.Problem(edges, wk.losses.Quadratic(far), n_items=N, constraint=constraint, **options)


def neighbours_problem(constraint, p=4000):
    chosen, every, rng = pairs(p, 1)
    edges, x = every[chosen], rng.random((N, 2))
    far = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    return wk.Problem(
        edges, wk.penalties.PushAndPull(np.where(far < 0.2, 1.0, -0.2)), n_items=N, constraint=constraint
    )


ANCHORED = wk.Anchored([0, 5, 9], [[-2.0, 0.0], [2.0, 1.0], [0.0, -3.0]])
CONSTRAINTS = [wk.Centered(), wk.Standardized(), ANCHORED]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: type(c).__name__)
def test_comes_near_to_lbfgs(constraint):
    problem = distances_problem(constraint, p=11175)
    start = constraint.initialize(N, 2, 1)
    best = problem.solve(start, solver="lbfgs", max_iter=2000, tol=1e-6)
    found = problem.solve(start, solver="stochastic", batch_size=2235, random_state=0, max_iter=100)
    assert found.settings["solver"] == "stochastic proximal"
    assert found.settings["batch_size"] == 2235
    assert found.objective == pytest.approx(problem.average_distortion(found.Y), rel=1e-9)
    assert found.residual == pytest.approx(problem.residual(found.Y), rel=1e-6)
    assert found.objective < 1.02 * best.objective
    exact = found.Y.astype(np.float64)
    if isinstance(constraint, wk.Anchored):
        np.testing.assert_allclose(exact[ANCHORED.indices], ANCHORED.values)
    else:
        assert np.abs(exact.mean(axis=0)).max() < 1e-5
    if isinstance(constraint, wk.Standardized):
        np.testing.assert_allclose(exact.T @ exact / N, np.eye(2), atol=1e-5)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: type(c).__name__)
def test_comes_near_to_lbfgs_where_there_are_many_minima(constraint):
    problem = neighbours_problem(constraint, p=11175)
    best = problem.solve(constraint.initialize(N, 2, 1), solver="lbfgs", max_iter=2000, tol=1e-6)
    start = problem.project(best.Y + 0.3 * constraint.initialize(N, 2, 4))
    found = problem.solve(start, solver="stochastic", batch_size=2235, random_state=0, max_iter=60)
    assert found.objective < 1.05 * best.objective
    assert found.objective < 0.9 * problem.average_distortion(start)


def test_quadratic_problem_comes_near_its_exact_optimum():
    chosen, every, _ = pairs(1500, 2)
    problem = wk.Problem(
        every[chosen], wk.penalties.Quadratic(), n_items=N, n_components=3, constraint=wk.Standardized()
    )
    adjacency = np.zeros((N, N))
    adjacency[every[chosen, 0], every[chosen, 1]] = 1
    adjacency += adjacency.T
    values = np.linalg.eigvalsh(np.diag(adjacency.sum(axis=0)) - adjacency)
    optimum = N / 1500 * values[1:4].sum()
    found = problem.solve(solver="stochastic", random_state=0, max_iter=300)
    assert optimum < found.objective < 1.03 * optimum
    whole = found.history["average_distortion"]
    assert np.isfinite(whole[10::10]).all()  # ten batches are a pass
    assert np.isnan(whole[1:10]).all()
    assert whole[-1] == pytest.approx(found.objective, rel=1e-6)


def test_the_first_batch_is_not_taken_too_far():
    # Long distances of a cubic penalty: what the first batch alone asks for is far from what all pairs do.
    chosen, every, _ = pairs(1500, 7)
    problem = wk.Problem(
        every[chosen], wk.penalties.Cubic(), n_items=N, n_components=8, constraint=wk.Standardized()
    )
    stream, ends = StreamProblem.of(problem), []
    for solver in (StochasticProximal(150), StochasticProximal(150, inner_iter=30)):
        state = run(solver, stream, wk.Standardized().initialize(N, 8, 0), max_iter=40).state
        ends.append(problem.average_distortion(state.Y))
    assert ends[0] < 0.8 * ends[1]


def test_one_batch_of_all_pairs_converges():
    problem = distances_problem(wk.Centered())
    start = wk.Centered().initialize(N, 2, 1)
    found = problem.solve(start, solver="stochastic", batch_size=problem.n_pairs, max_iter=400, tol=1e-6)
    assert found.status.converged
    assert found.residual <= 1e-6
    best = problem.solve(start, solver="lbfgs", max_iter=2000, tol=1e-6)
    assert found.objective == pytest.approx(best.objective, rel=0.02)


def test_parameter_of_a_quadratic_problem_is_its_mean_curvature():
    # E = (1/b) Σ w‖yᵢ − yⱼ‖² has the trace (1/b) Σ 4wm, whatever Y is.
    chosen, every, rng = pairs(2000, 3)
    weights = rng.random(2000)
    problem = StreamProblem.of(
        wk.Problem(every[chosen], wk.penalties.Quadratic(weights), n_items=N, constraint=wk.Standardized())
    )
    solver = StochasticProximal(2000, trust=10.0)
    state = solver.step(problem, solver.init(problem, wk.Standardized().initialize(N, 2, 0)))
    assert state.curvature == pytest.approx(4 * weights.mean() / (10 * N), rel=0.1)


def test_products_with_second_derivatives():
    chosen, every, _ = pairs(2000, 6)
    problem = wk.Problem(every[chosen], wk.penalties.Cubic(), n_items=N)
    Y = wk.Centered().initialize(N, 2, 0)
    product = HessianProduct(problem, Y)
    rng = np.random.Generator(np.random.Philox(key=5))
    v, u = rng.standard_normal((2, Y.size))
    assert u @ product(v) == pytest.approx(v @ product(u), rel=1e-5)
    h = 1e-6
    ahead = problem.gradient(Y + h * v.reshape(Y.shape))[1]
    behind = problem.gradient(Y - h * v.reshape(Y.shape))[1]
    fine = ((ahead - behind) / (2 * h)).ravel()
    np.testing.assert_allclose(product(v), fine, atol=1e-5 * np.abs(fine).max())
    np.testing.assert_array_equal(product(np.zeros(Y.size)), 0)


def test_cancelling_curvatures_give_a_positive_parameter():
    # Half the pairs attract and half repel with the same strength: the trace is zero.
    chosen, every, _ = pairs(2000, 4)
    weights = np.where(np.arange(2000) % 2, 1.0, -1.0)
    problem = StreamProblem.of(
        wk.Problem(every[chosen], wk.penalties.Quadratic(weights), n_items=N, constraint=wk.Standardized())
    )
    solver = StochasticProximal(2000)
    state = solver.step(problem, solver.init(problem, wk.Standardized().initialize(N, 2, 0)))
    assert state.curvature > 0
    assert np.isfinite(run(solver, problem, state.Y, max_iter=4).state.Y).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bytes_for_any_number_of_threads(dtype):
    results = []
    for n_jobs in (1, 2, 3):
        problem = neighbours_problem(wk.Standardized()).with_jobs(n_jobs)
        start = wk.Standardized().initialize(N, 2, 2).astype(dtype)
        results.append(problem.solve(start, solver="stochastic", random_state=3, max_iter=12))
    for other in results[1:]:
        assert results[0].Y.dtype == dtype
        np.testing.assert_array_equal(results[0].Y, other.Y)
        assert results[0].objective == other.objective


def test_resumed_run_has_the_bytes_of_a_long_one(tmp_path):
    problem = distances_problem(wk.Centered())
    options = {"solver": "stochastic", "random_state": 7}
    whole = problem.solve(max_iter=17, **options)
    path = tmp_path / "run.checkpoint"
    problem.solve(max_iter=6, checkpoint=path, **options)
    rest = problem.solve(max_iter=17, checkpoint=path, **options)
    np.testing.assert_array_equal(whole.Y, rest.Y)
    assert whole.objective == rest.objective
    for name in ("objective", "residual", "average_distortion", "curvature"):
        np.testing.assert_array_equal(whole.history[name], rest.history[name])
    with pytest.raises(InvalidParameterError, match="another run"):
        problem.solve(max_iter=17, checkpoint=path, solver="stochastic", random_state=8)


def test_seeds_matter_and_repeat():
    problem = distances_problem(wk.Centered())
    start = wk.Centered().initialize(N, 2, 0)
    one, same, other = (
        problem.solve(start, solver="stochastic", random_state=s, max_iter=3) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.Y, same.Y)
    assert (one.Y != other.Y).any()


def test_pulls_count_as_among_all_pairs():
    pulls = wk.Pulls([1, 2], [[9.0, 9.0], [-9.0, 9.0]], [40.0, 30.0])
    problem = distances_problem(wk.Centered(), pulls=pulls)
    whole = StreamProblem.of(problem)
    Y = wk.Centered().initialize(N, 2, 0)
    value, gradient = problem.gradient(Y)
    for size in (4000, 999, 37):
        total, slope = whole.evaluate_all(Y, size)
        assert total == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(slope, gradient, atol=1e-13)


def test_what_it_refuses():
    problem = distances_problem(wk.Centered())
    with pytest.raises(InvalidParameterError, match="batch_size must be a positive integer; got 0"):
        StochasticProximal(0)
    with pytest.raises(InvalidParameterError, match="trust must be a positive number"):
        StochasticProximal(10, trust=0.0)
    with pytest.raises(InvalidParameterError, match="memory_size must be"):
        StochasticProximal(10, memory_size=0)
    with pytest.raises(InvalidParameterError, match="solver must be one of 'auto', 'lbfgs'"):
        problem.solve(solver="adam")
    with pytest.raises(InvalidParameterError, match='batch_size=5 is for solver="stochastic"'):
        problem.solve(batch_size=5)
