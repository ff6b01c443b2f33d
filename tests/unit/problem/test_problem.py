from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winkel as wk
from winkel import _core
from winkel.errors import InvalidInputError, InvalidParameterError

# A 3-4-5 triangle: distances 3, 4 and 5.
TRIANGLE = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


def random_pairs(n, p, seed):
    rng = np.random.Generator(np.random.Philox(key=seed))
    every = np.stack(np.triu_indices(n, 1), axis=1)
    return every[rng.permutation(len(every))[:p]], rng


class Barrier:
    def value(self, d):
        return 2 * d - np.log(d)

    def derivative(self, d):
        return 2 - 1 / d


def test_worked_triangle():
    problem = wk.Problem(PAIRS, wk.penalties.Quadratic([1.0, 2.0, -1.0]))
    np.testing.assert_allclose(problem.distances(TRIANGLE), [3, 4, 5])
    np.testing.assert_allclose(problem.distortions(TRIANGLE), [9, 32, -25])
    assert problem.average_distortion(TRIANGLE) == pytest.approx(16 / 3)
    # ∇ of w‖yᵢ − yⱼ‖² is ±2w(yᵢ − yⱼ): for item 0, 2·(−3, 0) + 2·2·(0, −4), and so on; then a third of it.
    expected = np.array([[-6.0, -16.0], [6.0 - 6.0, 8.0], [6.0, 16.0 - 8.0]]) / 3
    value, gradient = problem.gradient(TRIANGLE)
    assert value == problem.average_distortion(TRIANGLE)
    np.testing.assert_allclose(gradient, expected)
    pairs, distortions = problem.high_distortion_pairs(TRIANGLE, 2)
    np.testing.assert_array_equal(pairs, [[0, 2], [0, 1]])
    np.testing.assert_allclose(distortions, [32, 9])


def test_residual_is_the_norm_of_the_projected_gradient():
    edges, _ = random_pairs(12, 30, 0)
    for constraint in (wk.Centered(), wk.Standardized(), wk.Anchored([3], [[0.0, 1.0]])):
        problem = wk.Problem(edges, wk.penalties.Log1p(), n_items=12, constraint=constraint)
        Y = constraint.initialize(12, 2, 1)
        tangent = constraint.project_tangent(Y, problem.gradient(Y)[1])
        assert problem.residual(Y) == pytest.approx(np.linalg.norm(tangent))


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 10, 16, 17, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_for_every_number_of_components(m, dtype):
    n = 40
    edges, rng = random_pairs(n, 300, m)
    weights = rng.choice([-1.0, 1.0, 2.0], len(edges))
    problem = wk.Problem(edges, wk.penalties.PushAndPull(weights), n_items=n, n_components=m)
    Y = rng.standard_normal((n, m)).astype(dtype)
    value, gradient = problem.gradient(Y)
    assert gradient.dtype == dtype
    # the definition, with dense NumPy in double
    exact = Y.astype(np.float64)
    difference = exact[edges[:, 0]] - exact[edges[:, 1]]
    d = np.linalg.norm(difference, axis=1)
    f, slope = problem.distortion.value_and_derivative(d)
    force = (slope / d)[:, None] * difference / len(edges)
    expected = np.zeros((n, m))
    np.add.at(expected, edges[:, 0], force)
    np.add.at(expected, edges[:, 1], -force)
    tolerance = 2e-6 if dtype == np.float32 else 1e-13
    assert value == pytest.approx(f.mean(), rel=tolerance)
    np.testing.assert_allclose(gradient, expected, atol=tolerance * np.abs(expected).max())


def test_gradient_is_that_of_the_value():
    edges, rng = random_pairs(15, 60, 3)
    pulls = wk.Pulls([2, 5], rng.standard_normal((2, 3)), [0.5, 3.0])
    for distortion in (wk.penalties.PushAndPull(rng.choice([-1.0, 1.0], 60)), Barrier()):
        problem = wk.Problem(edges, distortion, n_items=15, n_components=3, pulls=pulls)
        Y, V = rng.standard_normal((15, 3)), rng.standard_normal((15, 3))
        h = 1e-6
        numeric = (problem.average_distortion(Y + h * V) - problem.average_distortion(Y - h * V)) / (2 * h)
        assert np.sum(problem.gradient(Y)[1] * V) == pytest.approx(numeric, rel=1e-7)


def test_hubs_are_cut_up_and_summed_right():
    # a star: item 0 has 999 neighbours, beyond the length of a row segment
    n = 1000
    edges = np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1)
    rng = np.random.Generator(np.random.Philox(key=1))
    Y = rng.standard_normal((n, 2))
    problem = wk.Problem(edges, wk.penalties.Quadratic())
    value, gradient = problem.gradient(Y)
    offsets = Y[0] - Y[1:]
    assert value == pytest.approx(np.mean(np.sum(offsets**2, axis=1)))
    np.testing.assert_allclose(gradient[0], 2 * offsets.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(gradient[1:], -2 * offsets / (n - 1), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [2, 3, 10])
def test_same_bytes_for_any_number_of_threads(dtype, m):
    n = 30000
    rng = np.random.Generator(np.random.Philox(key=7))
    edges = np.unique(np.sort(rng.integers(0, n, (200000, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    weights = rng.choice([-1.0, 1.0, 2.0], len(edges))
    problem = wk.Problem(edges, wk.penalties.PushAndPull(weights), n_items=n, n_components=m, n_jobs=1)
    Y = rng.standard_normal((n, m)).astype(dtype)
    value, gradient = problem.gradient(Y)
    for n_jobs in (2, 3):
        other_value, other = problem.with_jobs(n_jobs).gradient(Y)
        assert other_value == value
        assert other.tobytes() == gradient.tobytes()


def test_custom_distortion_equals_its_fused_twin():
    edges, rng = random_pairs(50, 400, 4)
    weights = rng.standard_normal(400)
    built_in = wk.penalties.Log(weights)

    class Twin:
        def value(self, d):
            return built_in.value(d)

        def derivative(self, d):
            return built_in.derivative(d)

    Y = rng.standard_normal((50, 2))
    one, other = wk.Problem(edges, built_in, n_items=50), wk.Problem(edges, Twin(), n_items=50)
    assert one.gradient(Y)[0] == pytest.approx(other.gradient(Y)[0], rel=1e-13)
    np.testing.assert_allclose(one.gradient(Y)[1], other.gradient(Y)[1], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(
    "distortion", [wk.penalties.Log([-1.0, -1.0, -1.0]), wk.losses.Fractional([1.0] * 3), Barrier()]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coincident_points_give_no_force_and_no_nan(distortion, dtype):
    problem = wk.Problem(PAIRS, distortion)
    value, gradient = problem.gradient(np.zeros((3, 2), dtype=dtype))
    assert np.isfinite(value)
    np.testing.assert_array_equal(gradient, 0)
    # and one that almost coincide none that is not finite
    Y = np.array([[0.0, 0.0], [1e-30, 0.0], [1e-7, 1e-7]], dtype=dtype)
    value, gradient = problem.gradient(Y)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_pulls_add_their_term():
    problem = wk.Problem(PAIRS, wk.penalties.Quadratic())
    pulled = wk.Problem(
        PAIRS, wk.penalties.Quadratic(), pulls=wk.Pulls([2, 0], [[1.0, 4.0], [0.0, 2.0]], [3.0, 0.5])
    )
    value, gradient = problem.gradient(TRIANGLE)
    value_with, gradient_with = pulled.gradient(TRIANGLE)
    # (3·‖(−1, 0)‖² + 0.5·‖(0, −2)‖²) / 3 = 5/3
    assert value_with - value == pytest.approx(5 / 3)
    np.testing.assert_allclose(
        gradient_with - gradient, np.array([[0, -2.0], [0, 0], [-6.0, 0]]) / 3, atol=1e-12
    )


def test_isolated_items_are_allowed_and_feel_no_force():
    problem = wk.Problem(PAIRS, wk.penalties.Quadratic(), n_items=5)
    gradient = problem.gradient(np.arange(10.0).reshape(5, 2))[1]
    np.testing.assert_array_equal(gradient[3:], 0)


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([[0, 1, 2]], {}, r"shape \(p, 2\).*shape \(1, 3\)"),
        (np.empty((0, 2), dtype=int), {}, "at least one pair"),
        ([[0.0, 1.0]], {}, "integer array.*float64"),
        ([[0, 1], [2, 2]], {}, r"pair 1 is \(2, 2\)"),
        ([[0, 1], [-1, 2]], {}, r"pair 1 is \(-1, 2\)"),
        ([[0, 1], [1, 5]], {"n_items": 5}, r"0 to 4; pair 1 is \(1, 5\)"),
        ([[0, 1], [1, 2], [1, 0]], {}, "pairs 0 and 2 are both"),
    ],
)
def test_wrong_edges_are_told(edges, options, message):
    with pytest.raises(InvalidInputError, match=message):
        wk.Problem(edges, wk.penalties.Quadratic(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be a positive integer; got 0"),
        ({"n_components": 2.0}, "n_components"),
        ({"n_components": 2**30}, "2\\*\\*31"),
        ({"n_items": 1}, "n_items"),
        ({"pulls": wk.Pulls([4], [[0.0, 0.0]])}, "items 0 to 2"),
    ],
)
def test_wrong_options_are_told(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        wk.Problem(PAIRS, wk.penalties.Quadratic(), **options)


def test_data_for_another_number_of_pairs_is_told():
    with pytest.raises(InvalidParameterError, match="data for 2 pairs, and edges lists 3"):
        wk.Problem(PAIRS, wk.penalties.Quadratic([1.0, 2.0]))
    with pytest.raises(InvalidParameterError, match="2 for 1 items"):
        wk.Pulls([1], [[0.0, 0.0]], [1.0, 2.0])
    with pytest.raises(InvalidParameterError, match="negative"):
        wk.Pulls([1], [[0.0, 0.0]], -1.0)


def test_wrong_embeddings_are_told():
    problem = wk.Problem(PAIRS, wk.penalties.Quadratic())
    with pytest.raises(InvalidInputError, match=r"shape \(3, 2\).*got \(2, 2\)"):
        problem.average_distortion(TRIANGLE[:2])
    with pytest.raises(InvalidInputError, match="row 1"):
        problem.gradient(np.array([[0, 0], [np.nan, 0], [0, 1.0]]))
    with pytest.raises(InvalidParameterError, match=r"\[1, 3\]"):
        problem.high_distortion_pairs(TRIANGLE, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 2), (1000, 2), (1001, 3), (50, 40)])
def test_the_range_of_columns(shape, dtype):
    a = np.random.default_rng(0).normal(size=shape).astype(dtype)
    low, high = _core.column_range(a)
    np.testing.assert_array_equal(low, a.min(axis=0))
    np.testing.assert_array_equal(high, a.max(axis=0))
    for worst in (np.nan, np.inf, -np.inf):
        a[-1, -1] = worst
        low, high = _core.column_range(a)
        assert np.isnan([low[-1], high[-1]]).all()
        np.testing.assert_array_equal(low[:-1], a[:, :-1].min(axis=0))
    with pytest.raises(ValueError, match="row"):
        _core.column_range(a[:0])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(1, 7), st.integers(0, 1000))
def test_dense_helpers_are_their_definitions(n, m, seed):
    rng = np.random.Generator(np.random.Philox(key=seed))
    n *= 37
    a, b = rng.standard_normal((n, m)), rng.standard_normal((n, 3))
    w, row = rng.standard_normal((m, m)), rng.standard_normal(m)
    np.testing.assert_allclose(_core.column_sums(a), a.sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(_core.gram(a, b), a.T @ b, atol=1e-10)
    np.testing.assert_allclose(_core.multiply(a, row, w), (a - row) @ w, atol=1e-10)
    np.testing.assert_allclose(_core.subtract_row(a, row), a - row, atol=1e-12)
    np.testing.assert_allclose(_core.subtract_product(a, row, a, w), a - row - a @ w, atol=1e-10)
    vectors = [rng.standard_normal((n, m)).astype(np.float32) for _ in range(5)]
    expected = [[np.vdot(x.astype(float), y.astype(float)) for y in vectors] for x in vectors[:4]]
    np.testing.assert_allclose(_core.dots(vectors[:4], vectors, 2), expected, rtol=1e-12, atol=1e-9)
    c = rng.standard_normal(5)
    np.testing.assert_allclose(
        _core.combine(c, vectors, 2), sum(x * v for x, v in zip(c, vectors)), atol=1e-5
    )


def test_core_refuses_what_would_read_out_of_bounds():
    plan = _core.PairPlan32(3, 2)
    edges = np.array([[0, 3]], dtype=np.int32)
    with pytest.raises(ValueError, match="out of range"):
        plan.add("power", 2.0, 0.0, 1e-5, edges, None, 1.0, None, 1)
    with pytest.raises(ValueError, match="one entry a pair"):
        plan.add("power", 2.0, 0.0, 1e-5, np.array([[0, 1]], dtype=np.int32), np.ones(2), 1.0, None, 1)
    with pytest.raises(ValueError, match="unknown distortion"):
        plan.add("nothing", 2.0, 0.0, 1e-5, np.array([[0, 1]], dtype=np.int32), None, 1.0, None, 1)
    Y = np.zeros((2, 2), dtype=np.float32)
    with pytest.raises(ValueError, match="row an item"):
        plan.evaluate(Y, 1.0, None, Y.copy(), 1)
    plan.add("factors", 0.0, 0.0, 0.0, np.array([[0, 1]], dtype=np.int32), None, 1.0, None, 1)
    with pytest.raises(ValueError, match="factors must have one entry a pair"):
        plan.evaluate(np.zeros((3, 2), dtype=np.float32), 1.0, None, np.zeros((3, 2), dtype=np.float32), 1)


def test_what_others_can_write_to_is_copied_and_what_nobody_can_is_shared():
    edges, weights = np.array([[0, 1], [1, 2]], dtype=np.int32), np.array([1.0, 2.0])
    seen = edges[:]
    seen.flags.writeable = False
    problem = wk.Problem(seen, wk.penalties.PushAndPull(weights))
    edges[0], weights[0] = [0, 2], 7.0
    assert problem.edges.tolist() == [[0, 1], [1, 2]]
    assert problem.distortion.weights.tolist() == [1.0, 2.0]
    shared = np.array([[0, 1], [1, 2]], dtype=np.int32)
    shared.flags.writeable = False
    assert wk.Problem(shared, wk.penalties.Log1p()).edges is shared


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("strength", [1.0, 0.3])
def test_in_single_precision_the_problem_of_a_map_in_single_precision_is_the_same(
    in_order, strength, monkeypatch
):
    monkeypatch.setattr("winkel.problem.problem._BLOCK", 7)
    rng = np.random.Generator(np.random.Philox(key=3))
    edges = np.stack(np.triu_indices(12, 1), axis=1)[rng.random(66) < 0.5]
    if not in_order:
        edges = edges[rng.permutation(len(edges))]
    attract = wk.penalties.Log1p(strength, exponent=2.0)
    pulls = wk.penalties.PushAndPull(rng.random(len(edges)), attract)
    problem = wk.Problem(edges, pulls, n_items=14, background=wk.penalties.Cauchy(-1.0))
    slim = problem.in_single_precision()
    assert slim.edges.tolist() == edges.tolist()
    assert not slim.edges.flags.writeable
    assert slim.n_pairs == len(edges)
    assert slim.distortion.weights.dtype == (np.float32 if strength == 1 else np.float64)
    Y = rng.normal(size=(14, 2)).astype(np.float32)
    for one in (slim, copy.deepcopy(slim), pickle.loads(pickle.dumps(slim))):
        value, gradient = one.evaluate(Y)
        assert value == problem.evaluate(Y)[0]
        assert gradient.tobytes() == problem.evaluate(Y)[1].tobytes()
    assert slim.distances(Y).tobytes() == problem.distances(Y).tobytes()
    assert slim.restricted([0, 3]).edges.tolist() == edges[[0, 3]].tolist()


@pytest.mark.parametrize("gap", [0, 1])
def test_repeated_pairs_are_found_across_blocks(gap, monkeypatch):
    monkeypatch.setattr("winkel.problem.problem._BLOCK", 2)
    edges = [[0, 1], [0, 2], [1, 2], [1, 3]]
    wk.Problem(edges, wk.penalties.Log1p())
    with pytest.raises(InvalidInputError, match="each pair once"):
        wk.Problem([*edges[: 2 + gap], edges[1 + gap], *edges[2 + gap :]], wk.penalties.Log1p())
