"""The exact sum against NumPy, and what the field does with hard and impossible input."""

import inspect

import numpy as np
import pytest

from winkel import _core
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.problem import Problem, penalties
from winkel.problem.field import CAUCHY_TOLERANCE, KERNELS, TOLERANCE, Field, Kernel

EXPONENTS = {"cauchy": (1.0, 2.0, 0.7), "inv_power": (1.0, 2.0, 3.0), "log": (1.0, 2.0, 1.5)}
ALL = [Kernel(name, a) for name in KERNELS for a in EXPONENTS.get(name, (1.0, 1.5, 2.0))]
PENALTIES = {
    "inv_power": penalties.InvPower,
    "log": penalties.Log,
    "log1p": penalties.Log1p,
    "log_ratio": penalties.LogRatio,
}


def points(n, m, seed=0, dtype=np.float64):
    return _core.random_normal(seed, 0, 0, n * m).reshape(n, m).astype(dtype)


def dense(kernel, Y, q):
    """Potentials and forces from the n × n matrix of distances and the formula of the penalty."""
    Y = Y.astype(np.float64)
    difference = Y[:, None] - Y[None]
    d = np.sqrt((difference**2).sum(axis=2))
    if kernel.name == "cauchy":
        value = (1 + d**2) ** -kernel.exponent
        pull = -2 * kernel.exponent * value / (1 + d**2)
    else:
        penalty = PENALTIES[kernel.name](exponent=kernel.exponent)
        value, slope = penalty.value_and_derivative(d)
        pull = slope / np.maximum(d, 1e-300)
    np.fill_diagonal(value, 0.0)
    np.fill_diagonal(pull, 0.0)
    return value @ q, ((pull * q)[:, :, None] * difference).sum(axis=1)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_exact_sum_is_the_dense_sum(kernel, m):
    Y, q = points(53, m), 0.5 + _core.random_uniform(1, 0, 0, 53)
    Y[7] = Y[3]  # two points that coincide
    phi, F = dense(kernel, Y, q)
    sums = Field(kernel, m).exact(Y, q)
    np.testing.assert_allclose(sums.potentials, phi, rtol=1e-12)
    np.testing.assert_allclose(sums.forces, F, rtol=1e-10, atol=1e-12 * np.abs(F).max())
    single = Field(kernel, m).exact(Y.astype(np.float32), q)
    assert single.forces.dtype == np.float32
    phi, F = dense(kernel, Y.astype(np.float32), q)
    np.testing.assert_allclose(single.potentials, phi, rtol=1e-5)
    np.testing.assert_allclose(single.forces, F, rtol=1e-4, atol=1e-5 * np.abs(F).max())


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_forces_are_the_gradient_of_the_total(kernel):
    Y, field, h = points(12, 2), Field(kernel), 1e-6
    forces = field.exact(Y).forces
    for i, k in [(0, 0), (5, 1), (11, 0)]:
        step = np.zeros_like(Y)
        step[i, k] = h
        slope = (field.exact(Y + step).total - field.exact(Y - step).total) / (2 * h)
        assert slope == pytest.approx(forces[i, k], rel=1e-5, abs=1e-6)


def test_exact_rows_are_rows_of_the_whole():
    Y, rows = points(100, 3), np.array([0, 1, 17, 18, 40, 41, 42, 50, 60, 61, 62, 63, 64, 65, 66, 67, 68, 99])
    field = Field(Kernel("log"), 3)
    whole, some = field.exact(Y), field.exact(Y, rows=rows)
    np.testing.assert_allclose(some.forces, whole.forces[rows], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(some.potentials, whole.potentials[rows], rtol=1e-12)


def test_two_unit_charges_by_hand():
    field = Field(Kernel("cauchy"))
    sums = field.evaluate(np.array([[0.0, 0.0], [2.0, 0.0]]), charges=[3.0, 5.0])
    np.testing.assert_allclose(sums.potentials, [5 / 5, 3 / 5])
    np.testing.assert_allclose(sums.forces, [[5 * 4 / 25, 0], [-3 * 4 / 25, 0]])
    assert sums.total == pytest.approx(15 / 5)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("n", [1, 2, 17, 400])
def test_coincident_points_push_nowhere(name, m, n):
    field = Field(Kernel(name), m, exact_below=0)
    Y = np.full((n, m), 3.25)
    sums = field.evaluate(Y)
    exact = field.exact(Y)
    np.testing.assert_array_equal(exact.forces, 0.0)
    scale = np.abs(exact.potentials).max()
    np.testing.assert_allclose(sums.forces, 0.0, atol=1e-9 * max(scale, 1.0))
    np.testing.assert_allclose(sums.potentials, exact.potentials, rtol=1e-9)


def test_far_origin_costs_no_digits():
    field = Field(Kernel("inv_power"), exact_below=0)
    grid = np.round(points(1000, 2) * 64) / 64 + np.arange(1000)[:, None] / 2048  # exact after the shift too
    near, far = field.evaluate(grid), field.evaluate(grid + 2.0**20)
    np.testing.assert_allclose(far.forces, near.forces, rtol=1e-9, atol=1e-9 * np.abs(near.forces).max())


def test_no_pair_beyond_the_depth_of_the_tree_is_lost():
    Y = np.zeros((900, 2))
    Y[:, 0] = 2.0 ** -np.linspace(0, 440, 900)  # deeper than the tree goes
    field = Field(Kernel("cauchy"), exact_below=0)
    assert field.error(Y).potentials < 1e-3


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_tiny_boxes_beside_large_ones(name, m):
    # Boxes of size 1e-20 next to boxes of size 10: what lies outside a tiny box must not reach its interpolation.
    Y = np.vstack([1e-20 * points(700, m), 10 * points(700, m, seed=1)]).astype(np.float32)
    error = Field(Kernel(name), m, exact_below=0).error(Y)
    assert error.forces < 1e-3
    assert error.potentials < 1e-3


def test_tolerance_below_the_smallest_is_exact():
    Y = points(300, 2)
    field = Field(Kernel("log"), tolerance=0.0, exact_below=0)
    np.testing.assert_array_equal(field.evaluate(Y).forces, field.exact(Y).forces)


def test_kernel_of_a_penalty_has_its_weight():
    kernel = Kernel.of(penalties.Log(weights=-2.0))
    assert (kernel.name, kernel.exponent, kernel.weight) == ("log", 1.0, -2.0)
    Y = points(40, 2)
    np.testing.assert_allclose(Field(kernel).evaluate(Y).forces, -2 * Field(Kernel("log")).evaluate(Y).forces)
    with pytest.raises(InvalidParameterError, match="one weight for all pairs"):
        Kernel.of(penalties.Log(weights=np.ones(3)))
    assert Kernel.of(penalties.Quadratic()).name == "tabulated"


def test_integers_become_double():
    sums = Field(Kernel("cauchy")).evaluate(np.array([[0, 0], [1, 0]]))
    assert sums.forces.dtype == np.float64
    np.testing.assert_allclose(sums.potentials, 0.5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_points_that_have_diverged_are_refused(bad):
    Y = points(10, 2)
    Y[4, 1] = bad
    with pytest.raises(InvalidInputError, match="row 4"):
        Field(Kernel("log")).evaluate(Y)


def test_wrong_shapes_and_parameters_are_refused():
    with pytest.raises(InvalidInputError, match=r"\(n, 3\)"):
        Field(Kernel("log"), 3).evaluate(points(10, 2))
    with pytest.raises(InvalidInputError, match="charges"):
        Field(Kernel("log")).evaluate(points(10, 2), charges=np.ones(9))
    with pytest.raises(InvalidParameterError, match="kernel must be one of"):
        Kernel("gauss")
    with pytest.raises(InvalidParameterError, match="exponent"):
        Kernel("log", 6.0)
    with pytest.raises(InvalidParameterError, match="n_components"):
        Field(Kernel("log"), 0)
    with pytest.raises(InvalidParameterError, match="tolerance"):
        Field(Kernel("log"), tolerance=-1.0)


def test_core_refuses_what_it_could_not_read():
    Y, q = points(5, 2), np.ones(5)
    with pytest.raises(ValueError, match="unknown kernel"):
        _core.radial_sums("none", 1.0, 1e-5, Y, q, None, 1)
    with pytest.raises(ValueError, match="one entry a point"):
        _core.radial_sums("log", 1.0, 1e-5, Y, q[:4], None, 1)
    for rows in ([5], [-1, 2], [2, 2], [3, 1]):
        with pytest.raises(ValueError, match="strictly ascending"):
            _core.radial_sums("log", 1.0, 1e-5, Y, q, np.array(rows), 1)
    rules = _core.FieldRules(9, 48, 2.0, 0.0, np.inf, np.inf, 0.0)
    with pytest.raises(ValueError, match="nodes"):
        _core.field_sums("log", 1.0, 1e-5, Y, q, rules, 1)


def test_the_tolerance_that_is_documented_is_the_one_that_is_used():
    documented = inspect.getdoc(Problem)
    assert f"of at most {TOLERANCE:g} ({CAUCHY_TOLERANCE:g} for the" in documented
    assert Kernel.of(penalties.Cauchy()).tolerance == CAUCHY_TOLERANCE
    assert Kernel.of(penalties.Log()).tolerance == Kernel.of(penalties.Huber()).tolerance == TOLERANCE
