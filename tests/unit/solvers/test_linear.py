from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError, NotConvergedWarning
from winkel.problem import exact
from winkel.problem.exact import AnchoredSystem
from winkel.solvers import linear
from winkel.solvers.linear import ConjugateGradients, Factorisation

from .walk import run


def grid(side):
    """A grid with the corners anchored, and weights that differ."""
    number = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [
            np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1),
            np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1),
        ]
    )
    weights = 0.1 + np.random.Generator(np.random.Philox(key=side)).random(len(edges))
    corners = number[[0, 0, -1, -1], [0, -1, 0, -1]]
    places = np.array([[0.0, 0.0], [4.0, 1.0], [-1.0, 3.0], [2.0, 5.0]])
    return edges, weights, corners, places


def problem(side, pulls=None, **options):
    edges, weights, corners, places = grid(side)
    return wk.Problem(
        edges,
        wk.penalties.Quadratic(weights),
        constraint=wk.Anchored(corners, places),
        pulls=pulls,
        **options,
    )


def dense_solution(task):
    """The minimiser by dense linear algebra."""
    n = task.n_items
    weights = np.broadcast_to(task.distortion.weights, task.n_pairs)
    L, right = np.zeros((n, n)), np.zeros(task.shape)
    for (i, j), w in zip(task.edges, weights):
        L[[i, j], [i, j]] += w
        L[[i, j], [j, i]] -= w
    if task.pulls is not None:
        strength = np.broadcast_to(task.pulls.weights, len(task.pulls.indices))
        L[task.pulls.indices, task.pulls.indices] += strength
        right[task.pulls.indices] += strength[:, None] * task.pulls.targets
    a = task.constraint.indices
    f = np.setdiff1d(np.arange(n), a)
    Y = np.zeros(task.shape)
    Y[a] = task.constraint.values
    Y[f] = np.linalg.solve(L[np.ix_(f, f)], right[f] - L[np.ix_(f, a)] @ Y[a])
    return Y


PULLS = wk.Pulls([3, 0, 17], [[9.0, 9.0], [5.0, 5.0], [-3.0, 0.0]], [2.0, 1.0, 0.5])


def test_path_between_two_anchors_is_divided_by_its_weights():
    # Springs of strength 1, 2 and 4 in a row: lengths in proportion to 1, 1/2 and 1/4.
    chain = wk.Problem(
        [[0, 1], [1, 2], [2, 3]],
        wk.penalties.Quadratic([1.0, 2.0, 4.0]),
        n_components=1,
        constraint=wk.Anchored([0, 3], [[0.0], [7.0]]),
    )
    found = chain.solve()
    np.testing.assert_allclose(found.Y[:, 0], [0, 4, 6, 7], rtol=1e-14)
    assert found.objective == pytest.approx((16 + 2 * 4 + 4 * 1) / 3)
    assert found.status.converged
    assert found.settings["solver"] == "sparse factorisation"


@pytest.mark.parametrize("pulls", [None, PULLS], ids=["anchors", "pulls"])
@pytest.mark.parametrize("solver", [Factorisation(), ConjugateGradients()], ids=lambda s: s.name)
def test_against_a_dense_solution(pulls, solver):
    task = problem(9, pulls)
    system = AnchoredSystem(task)
    result = run(solver, system, system.start, max_iter=100)
    assert result.status.converged
    np.testing.assert_allclose(result.state.Y, dense_solution(task), atol=1e-8)
    assert result.state.residual < 1e-9
    assert result.state.objective == pytest.approx(task.average_distortion(result.state.Y), rel=1e-12)
    assert result.history.residual[0] == pytest.approx(task.residual(system.start), rel=1e-9)


def test_multigrid_agrees(monkeypatch):
    pytest.importorskip("pyamg", reason="the multigrid preconditioner needs pyamg")
    task = problem(30)
    monkeypatch.setattr(exact, "FACTORISE_UP_TO", 0)
    plain = task.solve()
    monkeypatch.setattr(exact, "MULTIGRID_FROM", 0)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    multigrid = task.solve()
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    assert plain.settings["solver"] == multigrid.settings["solver"] == "conjugate gradients"
    assert multigrid.history.iteration[-1] < plain.history.iteration[-1]
    np.testing.assert_allclose(multigrid.Y, plain.Y, atol=1e-7)
    np.testing.assert_array_equal(multigrid.Y, task.solve(n_jobs=3).Y)


def test_lbfgs_finds_the_same():
    task = problem(7, PULLS)
    slow = task.solve(task.constraint.initialize(49, 2, 0), solver="lbfgs", max_iter=3000, tol=1e-9)
    fast = task.solve()
    assert slow.settings["solver"] == "L-BFGS"
    np.testing.assert_allclose(slow.Y, fast.Y, atol=1e-6)
    assert fast.objective <= slow.objective + 1e-12


def test_same_bytes_and_resumed_bytes(tmp_path, monkeypatch):
    task = problem(12)
    np.testing.assert_array_equal(task.solve(n_jobs=1).Y, task.solve(n_jobs=3).Y)
    monkeypatch.setattr(exact, "FACTORISE_UP_TO", 0)
    monkeypatch.setattr(linear, "SWEEP", 3)
    whole = task.solve()
    with pytest.warns(NotConvergedWarning):
        task.solve(max_iter=2, checkpoint=tmp_path / "c")
    rest = task.solve(checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(whole.Y, rest.Y)
    assert whole.history["objective"].tolist() == rest.history["objective"].tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(5, 40), st.integers(1, 4), st.integers(1, 3))
def test_maximum_principle_and_least_value(seed, n, n_anchors, m):
    rng = np.random.Generator(np.random.Philox(key=seed))
    every = np.stack(np.triu_indices(n, 1), axis=1)
    tree = np.stack([(rng.random(n - 1) * np.arange(1, n)).astype(int), np.arange(1, n)], axis=1)
    more = every[rng.random(len(every)) < 0.1]
    edges = np.unique(np.concatenate([tree, more]), axis=0)
    anchors = rng.permutation(n)[:n_anchors]
    places = rng.standard_normal((n_anchors, m)) * 10.0 ** rng.integers(-3, 4)
    task = wk.Problem(
        edges,
        wk.penalties.Quadratic(10 ** rng.uniform(-2, 2, len(edges))),
        n_items=n,
        n_components=m,
        constraint=wk.Anchored(anchors, places),
    )
    found = task.solve()
    size = np.abs(places).max()
    np.testing.assert_array_equal(found.Y[anchors], places)
    # in the hull: along any direction no item lies beyond the anchors
    for direction in rng.standard_normal((10, m)):
        along, ends = found.Y @ direction, places @ direction
        assert along.min() >= ends.min() - 1e-8 * size
        assert along.max() <= ends.max() + 1e-8 * size
    moved = found.Y + 1e-3 * size * task.project_tangent(found.Y, rng.standard_normal(found.Y.shape))
    assert task.average_distortion(moved) >= found.objective


def test_auto_takes_it_where_it_is_right():
    edges, weights, corners, places = grid(5)
    anchored = wk.Anchored(corners, places)
    cases = [
        (wk.penalties.Quadratic(weights), anchored, "sparse factorisation"),
        (wk.penalties.Quadratic(2.0), anchored, "sparse factorisation"),
        (wk.penalties.Power(weights, exponent=2.0), anchored, "sparse factorisation"),
        (wk.penalties.PushAndPull(weights, wk.penalties.Quadratic), anchored, "sparse factorisation"),
        (wk.penalties.PushAndPull(weights - 0.2, wk.penalties.Quadratic), anchored, "L-BFGS"),
        (wk.penalties.Huber(weights), anchored, "L-BFGS"),
        (wk.losses.Quadratic(weights), anchored, "L-BFGS"),
        (wk.penalties.Log1p(weights), wk.Centered(), "L-BFGS"),
    ]
    for distortion, constraint, expected in cases:
        task = wk.Problem(edges, distortion, constraint=constraint)
        found = task.solve(random_state=0, max_iter=1000, tol=1e-3)
        assert found.settings["solver"] == expected


def test_all_anchored_and_anchors_in_one_place():
    full = wk.Problem(
        [[0, 1]], wk.penalties.Quadratic(), constraint=wk.Anchored([1, 0], [[1.0, 2.0], [3.0, 4.0]])
    )
    np.testing.assert_array_equal(full.solve().Y, [[3, 4], [1, 2]])
    edges, weights, _, _ = grid(6)
    one = wk.Problem(edges, wk.penalties.Quadratic(weights), constraint=wk.Anchored([8], [[1e6, -3.0]]))
    np.testing.assert_allclose(one.solve().Y, np.tile([1e6, -3.0], (36, 1)), rtol=1e-9)


def test_items_that_cannot_be_placed():
    edges = [[0, 1], [2, 3], [3, 4], [4, 5]]
    anchored = wk.Anchored([0], [[1.0, 2.0]])
    loose = wk.Problem(edges, wk.penalties.Quadratic([1.0, 1.0, 0.0, 2.0]), constraint=anchored)
    with pytest.raises(InvalidInputError, match=r"4 of 6 items cannot be placed.*first item 2"):
        loose.solve()
    pulls = wk.Pulls([3, 5], [[0.0, 0.0], [7.0, 7.0]], [1.0, 0.0])
    half = wk.Problem(edges, wk.penalties.Quadratic([1.0, 1.0, 0.0, 2.0]), constraint=anchored, pulls=pulls)
    with pytest.raises(InvalidInputError, match=r"2 of 6 items cannot be placed.*first item 4"):
        half.solve()
    pulls = wk.Pulls([3, 5], [[0.0, 0.0], [7.0, 7.0]])
    tied = wk.Problem(edges, wk.penalties.Quadratic([1.0, 1.0, 0.0, 2.0]), constraint=anchored, pulls=pulls)
    np.testing.assert_allclose(tied.solve().Y, [[1, 2], [1, 2], [0, 0], [0, 0], [7, 7], [7, 7]], atol=1e-12)


def test_what_it_refuses():
    edges, weights, corners, places = grid(5)
    for distortion, constraint in [
        (wk.penalties.Log1p(weights), wk.Anchored(corners, places)),
        (wk.penalties.Quadratic(weights - 0.3), wk.Anchored(corners, places)),
        (wk.penalties.Quadratic(weights), wk.Standardized()),
    ]:
        with pytest.raises(InvalidParameterError, match='solver="linear" is for quadratic penalties'):
            wk.Problem(edges, distortion, constraint=constraint).solve(solver="linear")
