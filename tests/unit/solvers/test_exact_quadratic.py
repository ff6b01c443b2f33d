"""exact_quadratic and the eigenvalue routes behind it, against dense decompositions and known spectra."""

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.graph import Graph, knn
from winkel.solvers import eigen
from winkel.solvers.eigen import bottom_of_dense, bottom_of_operator, bottom_of_sparse, exact_quadratic


def quadratic_matrix(edges, weights, n):
    L = np.zeros((n, n))
    for (i, j), w in zip(edges, weights):
        L[i, j] -= w
        L[j, i] -= w
    return L - np.diag(L.sum(axis=1))


def direct_objective(Y, edges, weights):
    return float(np.mean(weights * ((Y[edges[:, 0]] - Y[edges[:, 1]]) ** 2).sum(axis=1)))


def random_problem(n, signed, seed=0):
    rng = np.random.default_rng(seed)
    edges = knn(rng.normal(size=(n, 3)), 8).edges
    weights = rng.uniform(0.5, 1.5, len(edges))
    return edges, weights * rng.choice([-1, 1], len(edges)) if signed else weights


@pytest.fixture
def iterative(monkeypatch):
    """Matrices of more than 100 rows take the iterative routes, so that an oracle is quickly had."""
    monkeypatch.setattr(eigen, "_DENSE_UP_TO", 100)


def cycle(n):
    return np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n", [40, 450])  # dense, iterative
def test_value_is_the_sum_of_the_bottom_eigenvalues_and_is_attained(iterative, n, signed):
    edges, weights = random_problem(n, signed)
    Y, value = exact_quadratic(edges, weights, n, 3)
    lifted = quadratic_matrix(edges, weights, n) + 1e3 * np.ones((n, n)) / n
    expected = n / len(edges) * np.linalg.eigvalsh(lifted)[:3].sum()
    assert value == pytest.approx(expected, rel=1e-9)
    assert direct_objective(Y, edges, weights) == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(Y.T @ Y / n, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-9)


def test_no_standardized_embedding_is_better():
    edges, weights = random_problem(60, signed=True)
    _, value = exact_quadratic(edges, weights, 60, 2)
    rng = np.random.default_rng(1)
    for _ in range(20):
        other = rng.normal(size=(60, 2))
        other = np.sqrt(60) * np.linalg.qr(other - other.mean(axis=0))[0]
        assert direct_objective(other, edges, weights) > value


@pytest.mark.parametrize("n", [50, 501])
def test_repeated_eigenvalues_of_a_cycle(iterative, n):
    Y, value = exact_quadratic(cycle(n), np.ones(n), n, 4)
    pairs = [2 - 2 * np.cos(2 * np.pi * k / n) for k in (1, 1, 2, 2)]
    assert value == pytest.approx(sum(pairs), rel=1e-8)
    np.testing.assert_allclose((Y[:, :2] ** 2).sum(axis=1), 2, rtol=1e-5)  # the first two trace a circle


def test_large_laplacians_use_the_graph_solvers_and_agree(iterative, monkeypatch):
    edges, weights = random_problem(700, signed=False)
    inverse, value = exact_quadratic(edges, weights, 700, 2)
    monkeypatch.setattr(eigen, "_INVERT_UP_TO", 100)
    filtered, other = exact_quadratic(edges, weights, 700, 2)
    assert other == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(np.abs(inverse.T @ filtered) / 700, np.eye(2), atol=1e-6)


def test_close_negative_eigenvalues_fall_back_to_the_inverse(iterative, monkeypatch):
    n = 500
    monkeypatch.setattr(eigen, "_TRIAL_RESTARTS", 1)
    edges = np.concatenate([cycle(n), [[0, n // 2]]])
    weights = np.append(np.ones(n), -0.5)  # indefinite, and without a gap that products with L could use
    _, value = exact_quadratic(edges, weights, n, 3)
    lifted = quadratic_matrix(edges, weights, n) + 1e3 * np.ones((n, n)) / n
    assert value == pytest.approx(n / len(edges) * np.linalg.eigvalsh(lifted)[:3].sum(), rel=1e-8)


def test_same_bytes_again_and_signs_fixed(iterative):
    edges, weights = random_problem(450, signed=True)
    first, second = (exact_quadratic(edges, weights, 450, 2)[0] for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert (first[np.abs(first).argmax(axis=0), [0, 1]] > 0).all()


def test_disconnected_graph_has_zero_value():
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5]])
    Y, value = exact_quadratic(edges, np.ones(4), 6, 1)
    assert value == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(np.abs(Y[:, 0]), 1)
    assert Y[0, 0] == pytest.approx(-Y[5, 0])


def test_pairs_given_twice_count_twice():
    twice = np.array([[0, 1], [1, 0], [1, 2], [0, 2]])
    Y, value = exact_quadratic(twice, np.array([1.0, 2.0, 1.0, 1.0]), 3, 1)
    assert value == pytest.approx(direct_objective(Y, twice, np.array([1.0, 2.0, 1.0, 1.0])))


@pytest.mark.parametrize("m", [0, 3, 2.0, True])
def test_number_of_components_is_checked(m):
    with pytest.raises(InvalidParameterError, match="n_components must"):
        exact_quadratic([[0, 1], [1, 2]], [1.0, 1.0], 3, m)


def test_no_edges():
    with pytest.raises(InvalidInputError, match="at least one edge"):
        exact_quadratic(np.empty((0, 2), int), np.empty(0), 3, 1)


def test_dense_and_operator_agree_with_lapack_also_where_rank_is_low(iterative):
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(300, 5)) * [5, 4, 3, 3, 1]
    matrix = -factor @ factor.T
    expected = np.sort(-(np.linalg.svd(factor, compute_uv=False) ** 2))
    for found in (
        bottom_of_dense(matrix, 5),
        bottom_of_operator(lambda x: -factor @ (factor.T @ x), 300, 5),
    ):
        np.testing.assert_allclose(found.values, expected, rtol=1e-10)
        np.testing.assert_allclose(matrix @ found.vectors, found.vectors * found.values, atol=1e-6)


def test_other_null_vectors_are_deflated():
    graph = Graph.from_edges(*random_problem(300, signed=False), n=300)
    W = sp.csr_array(graph.adjacency, dtype=np.float64)
    degree = W.sum(axis=1)
    scale = sp.diags_array(degree**-0.5)
    null = np.sqrt(degree / degree.sum())
    found = bottom_of_sparse(sp.csr_array(scale @ W @ scale), np.ones(300), null, 2)
    dense = np.eye(300) - (scale @ W @ scale).toarray()
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(dense)[1:3], atol=1e-12)
    np.testing.assert_allclose(null @ found.vectors, 0, atol=1e-12)


def test_a_standardized_quadratic_problem_is_solved_exactly_by_default():
    edges = np.array([[i, (i + 1) % 12] for i in range(12)])
    problem = wk.Problem(edges, wk.penalties.Quadratic(np.ones(12)), constraint=wk.Standardized())
    result = problem.solve()
    assert result.settings["solver"] == "eigenvectors"
    assert result.status.converged
    # A cycle of n has eigenvalues 2 − 2 cos(2πk/n); the bottom two nontrivial ones are equal.
    assert result.objective == pytest.approx(2 * (2 - 2 * np.cos(2 * np.pi / 12)))
    assert result.objective == pytest.approx(problem.average_distortion(result.Y))
    assert problem.solve(solver="lbfgs", random_state=0).objective == pytest.approx(
        result.objective, rel=1e-4
    )


def test_eigenvectors_are_refused_for_other_problems():
    problem = wk.Problem(
        [[0, 1], [1, 2]], wk.penalties.Linear(), n_components=1, constraint=wk.Standardized()
    )
    with pytest.raises(wk.errors.InvalidParameterError, match="quadratic penalties"):
        problem.solve(solver="eigen")


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_a_solution_that_is_rounding_is_not_called_exact():
    edges, weights = random_problem(60, signed=False)
    problem = wk.Problem(edges, wk.penalties.Quadratic(weights), n_items=60, constraint=wk.Standardized())
    assert problem.solve().status.word == "converged"
    heavy = np.where(np.arange(len(weights)) == 0, 1e20, weights)
    result = problem.with_distortion(wk.penalties.Quadratic(heavy)).solve()
    assert result.status.word == "stopped"
    assert "differ too much" in result.status.sentence
