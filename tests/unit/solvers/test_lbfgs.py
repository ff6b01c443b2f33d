from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError, NotConvergedWarning
from winkel.solvers.lbfgs import LBFGS, direction_coefficients

from .walk import run


class Quadratic:
    """½⟨Y, A Y⟩ − ⟨b, Y⟩ without a constraint: a problem with a known solution."""

    n_threads = 1

    def __init__(self, n, seed):
        rng = np.random.Generator(np.random.Philox(key=seed))
        q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        self.A = (q * np.logspace(0, 2, n)) @ q.T
        self.b = rng.standard_normal((n, 1))

    def evaluate(self, Y):
        return float(0.5 * np.sum(Y * (self.A @ Y)) - np.sum(self.b * Y)), self.A @ Y - self.b

    def project(self, Y):
        return Y

    def project_tangent(self, Y, G):
        return G


def grid_problem(constraint, side=6, **options):
    """Neighbours on a grid attract, other pairs repel."""
    x, y = np.divmod(np.arange(side * side), side)
    edges = np.stack(np.triu_indices(side * side, 1), axis=1)
    near = np.abs(x[edges[:, 0]] - x[edges[:, 1]]) + np.abs(y[edges[:, 0]] - y[edges[:, 1]]) == 1
    return wk.Problem(
        edges, wk.penalties.PushAndPull(np.where(near, 1.0, -0.1)), constraint=constraint, **options
    )


def test_direction_is_that_of_the_two_loop_recursion():
    rng = np.random.Generator(np.random.Philox(key=2))
    n, k = 30, 4
    A = np.diag(np.linspace(1, 5, n))
    S = [rng.standard_normal(n) for _ in range(k)]
    G = [A @ s for s in S]
    g = rng.standard_normal(n)
    # the recursion of Nocedal and Wright, algorithm 7.4, on vectors
    q, alphas = g.copy(), []
    for s, y in zip(reversed(S), reversed(G)):
        alphas.append(s @ q / (s @ y))
        q = q - alphas[-1] * y
    r = q * (S[-1] @ G[-1]) / (G[-1] @ G[-1])
    for s, y, alpha in zip(S, G, reversed(alphas)):
        r = r + s * (alpha - y @ r / (s @ y))
    basis = np.array([*S, *G, g])
    np.testing.assert_allclose(direction_coefficients(basis @ basis.T) @ basis, -r, rtol=1e-10)


def test_direction_without_memory_is_down_the_gradient():
    np.testing.assert_array_equal(direction_coefficients(np.array([[4.0]])), [-1.0])


def test_solves_a_quadratic_problem():
    problem = Quadratic(40, 0)
    result = run(LBFGS(tol=1e-8), problem, np.zeros((40, 1)), max_iter=300)
    assert result.status.converged
    np.testing.assert_allclose(result.state.Y, np.linalg.solve(problem.A, problem.b), atol=1e-8)
    assert (np.diff(result.history.objective) < 1e-12).all()


def test_no_row_moves_further_than_it_may():
    problem, start = Quadratic(30, seed=3), np.zeros((30, 1))
    limited, free = (LBFGS(tol=1e-8, max_move=move) for move in (0.02, None))
    longest = []
    for solver in (limited, free):
        state = solver.init(problem, start)
        moves = []
        while solver.done(state) is None:
            after = solver.step(problem, state)
            moves.append(np.abs(after.Y - state.Y).max() / max(after.step_length, 1.0))
            state = after
        np.testing.assert_allclose(problem.A @ state.Y, problem.b, atol=1e-6)
        longest.append(max(moves[1:]))
    assert longest[0] <= 0.02 * (1 + 1e-9) < longest[1]


def test_remembers_no_more_than_its_memory():
    problem = grid_problem(wk.Centered())
    solver = LBFGS(memory_size=3)
    state = solver.init(problem, problem.constraint.initialize(36, 2, 0))
    for k in range(1, 7):
        state = solver.step(problem, state)
        assert state.iteration == k
        assert len(state.steps) == len(state.changes) <= 3
        assert state.products.shape == (2 * len(state.steps) + 1,) * 2
        vectors = np.array([v.ravel() for v in (*state.steps, *state.changes, state.gradient)])
        np.testing.assert_allclose(state.products, vectors @ vectors.T, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize(
    "constraint",
    [wk.Centered(), wk.Standardized(), wk.Anchored([0, 35], [[-2.0, -2.0], [2.0, 2.0]])],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_iterate_is_allowed_and_none_is_worse(constraint, dtype):
    problem = grid_problem(constraint)
    seen = []
    init = constraint.initialize(36, 2, 3).astype(dtype)
    tol = 1e-5 if dtype == np.float32 else 1e-8
    found = problem.solve(
        init, max_iter=500, tol=tol, callbacks=[lambda info: seen.append(info.Y.copy()) and None]
    )
    assert found.status.converged
    assert found.Y.dtype == dtype
    assert found.residual <= tol
    assert found.residual == pytest.approx(problem.residual(found.Y), rel=1e-3)
    assert found.objective == pytest.approx(problem.average_distortion(found.Y), rel=1e-6)
    rounding = 1e-6 if dtype == np.float32 else 1e-13
    assert (np.diff(found.history.objective) <= rounding * abs(found.objective)).all()
    assert len(seen) >= found.history.iteration[-1]
    for Y in seen:
        exact = Y.astype(np.float64)
        if isinstance(constraint, wk.Anchored):
            np.testing.assert_array_equal(Y[[0, 35]], constraint.values)
            continue
        assert np.abs(exact.mean(axis=0)).max() < 20 * rounding
        if isinstance(constraint, wk.Standardized):
            np.testing.assert_allclose(exact.T @ exact / 36, np.eye(2), atol=20 * rounding)


def test_users_own_constraint_is_kept():
    class OnCircle(wk.Constraint):
        def initialize(self, n, m, seed):
            return self.project(np.random.Generator(np.random.Philox(key=seed)).standard_normal((n, m)))

        def project(self, Y):
            return Y / np.linalg.norm(Y, axis=1, keepdims=True)

        def project_tangent(self, Y, G):
            return G - np.sum(Y * G, axis=1, keepdims=True) * Y

    # equal charges on a circle spread out evenly
    n = 7
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    problem = wk.Problem(edges, wk.penalties.InvPower(-1.0), constraint=OnCircle())
    found = problem.solve(random_state=0, tol=1e-6)
    assert found.status.converged
    angles = np.sort(np.arctan2(found.Y[:, 1], found.Y[:, 0]))
    np.testing.assert_allclose(np.diff(angles), 2 * np.pi / n, atol=1e-3)


def test_distances_of_a_triangle_are_found():
    problem = wk.Problem([[0, 1], [0, 2], [1, 2]], wk.losses.Quadratic([3.0, 4.0, 5.0]))
    found = problem.solve(random_state=1)
    np.testing.assert_allclose(problem.distances(found.Y), [3, 4, 5], atol=1e-3)


def test_pulls_draw_free_items_to_their_targets():
    # nothing but pulls on items 0 and 1, and a weak spring on item 2
    pulls = wk.Pulls([0, 1], [[1.0, 0.0], [0.0, 1.0]], 100.0)
    problem = wk.Problem(
        [[0, 2], [1, 2]], wk.penalties.Quadratic(0.01), constraint=wk.Anchored([2], [[0.0, 0.0]]), pulls=pulls
    )
    Y = problem.solve(problem.constraint.initialize(3, 2, 0), tol=1e-7).Y
    # minimum of 100‖y − t‖² + 0.01‖y‖²: y = t · 100 / 100.01
    np.testing.assert_allclose(Y, np.array([[1, 0], [0, 1], [0, 0]]) * 100 / 100.01, atol=1e-7)


def test_same_seed_same_bytes_for_any_number_of_threads():
    n = 20000
    rng = np.random.Generator(np.random.Philox(key=5))
    edges = np.unique(np.sort(rng.integers(0, n, (120000, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    problem = wk.Problem(
        edges, wk.penalties.PushAndPull(rng.choice([-1.0, 1.0], len(edges))), n_items=n, n_components=3
    )
    with pytest.warns(NotConvergedWarning):
        one = problem.solve(random_state=9, max_iter=8, n_jobs=1)
    with pytest.warns(NotConvergedWarning):
        two = problem.solve(random_state=9, max_iter=8, n_jobs=2)
    assert one.Y.tobytes() == two.Y.tobytes()
    assert one.seed == two.seed == 9
    with pytest.warns(NotConvergedWarning):
        other = problem.solve(random_state=10, max_iter=8)
    assert np.abs(one.Y - other.Y).max() > 0.1


def test_resumed_run_has_the_bytes_of_a_long_one(tmp_path):
    problem = grid_problem(wk.Standardized())
    path = tmp_path / "run.checkpoint"
    with pytest.warns(NotConvergedWarning):
        whole = problem.solve(random_state=2, max_iter=40, tol=1e-9)
    with pytest.warns(NotConvergedWarning):
        problem.solve(random_state=2, max_iter=12, tol=1e-9, checkpoint=path)
    with pytest.warns(NotConvergedWarning):
        rest = problem.solve(random_state=2, max_iter=40, tol=1e-9, checkpoint=path)
    assert rest.Y.tobytes() == whole.Y.tobytes()
    other = wk.Problem(problem.edges, wk.penalties.Quadratic(), constraint=wk.Standardized())
    with pytest.raises(InvalidParameterError, match="belongs to another run"):
        other.solve(random_state=2, max_iter=40, tol=1e-9, checkpoint=path)


def test_coincident_init_is_pulled_apart():
    edges = np.stack(np.triu_indices(5, 1), axis=1)
    problem = wk.Problem(edges, wk.losses.Quadratic(np.ones(10)), n_components=4)
    found = problem.solve(np.zeros((5, 4)), random_state=0)
    # five points at mutual distance 1 fit in four dimensions
    np.testing.assert_allclose(problem.distances(found.Y), 1.0, atol=1e-3)


def test_start_at_the_solution_needs_no_step():
    problem = wk.Problem([[0, 1]], wk.losses.Quadratic([2.0]))
    found = problem.solve([[1.0, 0.0], [-1.0, 0.0]])
    assert found.status.converged
    assert found.history.n_rows == 1


def test_end_of_precision_is_a_status_not_a_hang():
    problem = grid_problem(wk.Centered())
    found = problem.solve(problem.constraint.initialize(36, 2, 0).astype(np.float32), tol=0.0, max_iter=2000)
    assert found.status.word == "stopped"
    assert "float32" in found.status.sentence
    assert found.residual < 1e-4


def test_embedding_tells_its_settings():
    found = grid_problem(wk.Centered()).solve(random_state=4, memory_size=5, keep_frames=3)
    assert found.seed == 4
    assert found.settings["memory_size"] == 5
    assert found.settings["distortion"] == "PushAndPull"
    assert found.settings["constraint"] == "Centered"
    assert 1 < len(found.frames) <= 3
    assert {"evaluations", "step_length"} <= set(found.history)


@pytest.mark.parametrize(
    "options", [{"memory_size": 0}, {"memory_size": 2.5}, {"tol": -1.0}, {"tol": np.nan}]
)
def test_wrong_settings_are_told(options):
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        LBFGS(**options)


def test_wrong_init_is_told():
    with pytest.raises(InvalidInputError, match=r"shape \(36, 2\)"):
        grid_problem(wk.Centered()).solve(np.zeros((3, 2)))
