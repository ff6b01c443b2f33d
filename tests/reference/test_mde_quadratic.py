"""Quadratic problems against their eigenvalue solution (Agrawal et al. 2021, chapter 3 and table 7.1, scaled down)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import laplacian

import winkel as wk
from winkel.errors import NotConvergedWarning


def random_problem(n, p, m, seed):
    """p distinct pairs drawn uniformly, all of weight 1, as in section 7.1."""
    rng = np.random.Generator(np.random.Philox(key=seed))
    codes = rng.choice(n * (n - 1) // 2, p, replace=False)
    every = np.stack(np.triu_indices(n, 1), axis=1)
    edges = every[np.sort(codes)]
    return wk.Problem(
        edges, wk.penalties.Quadratic(), n_items=n, n_components=m, constraint=wk.Standardized()
    )


def exact_optimum(problem):
    """n/p times the sum of the m smallest eigenvalues of the Laplacian but for that of the constant vector (section 3.2)."""
    i, j = problem.edges.T
    n = problem.n_items
    adjacency = coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).toarray()
    values = np.linalg.eigvalsh(laplacian(adjacency + adjacency.T))
    return n / problem.n_pairs * values[1 : problem.n_components + 1].sum()


@pytest.mark.parametrize("m", [2, 10])
def test_table_7_1_gap_after_40_iterations(m):
    problem = random_problem(1000, 10000, m, seed=0)
    with pytest.warns(NotConvergedWarning):
        found = problem.solve(random_state=0, max_iter=40, solver="lbfgs")
    gap = found.objective / exact_optimum(problem) - 1
    assert -1e-5 < gap <= 0.004


@pytest.mark.parametrize(("m", "seed"), [(2, 1), (3, 2), (5, 3)])
def test_exact_optimum_is_reached(m, seed):
    problem = random_problem(300, 2000, m, seed)
    found = problem.solve(
        problem.constraint.initialize(300, m, seed), max_iter=1000, tol=1e-8, solver="lbfgs"
    )
    assert found.status.converged
    assert found.objective == pytest.approx(exact_optimum(problem), rel=1e-9)


def test_trace_of_the_multiplier_is_the_optimum():
    # tr Λ = E(Y) with Λ = ½ ∇E(Y)ᵀY, for quadratic distortions (section 5.3.1)
    problem = random_problem(300, 2000, 2, seed=4)
    Y = problem.solve(problem.constraint.initialize(300, 2, 0), max_iter=1000, tol=1e-8, solver="lbfgs").Y
    value, gradient = problem.gradient(Y)
    multiplier = 0.5 * gradient.T @ Y
    assert np.trace(multiplier) == pytest.approx(value, rel=1e-12)
    assert abs(multiplier[0, 1] - multiplier[1, 0]) < 1e-12
