from __future__ import annotations

import sys

import numpy as np
import pytest

from winkel import losses, penalties
from winkel.errors import InvalidParameterError, MissingDependencyError
from winkel.problem import Problem
from winkel.problem.distortions import Autodiff, Custom, as_distortion

D = np.array([0.5, 1.0, 2.0])


class Barrier:
    """w d − log d, a user's own."""

    def value(self, d):
        return 2 * d - np.log(d)

    def derivative(self, d):
        return 2 - 1 / d


def test_worked_values():
    # 3 · 0.5² = 0.75, 1 · 1², −1 · 2²
    np.testing.assert_allclose(penalties.Quadratic([3.0, 1.0, -1.0]).value(D), [0.75, 1.0, -4.0])
    # 2 d for the derivative of d², times the weight
    np.testing.assert_allclose(penalties.Quadratic([3.0, 1.0, -1.0]).derivative(D), [3.0, 2.0, -4.0])
    # |0.5 − 1|, |1 − 1|, |2 − 5|
    np.testing.assert_allclose(losses.Absolute([1.0, 1.0, 5.0]).value(D), [0.5, 0.0, 3.0])
    # Kamada and Kawai: ((1 − 0.5)/1)², 0, ((4 − 2)/4)²
    np.testing.assert_allclose(losses.WeightedQuadratic([1.0, 1.0, 4.0]).value(D), [0.25, 0.0, 0.25])
    # Sammon: 1/δ instead
    np.testing.assert_allclose(
        losses.WeightedQuadratic([1.0, 1.0, 4.0], [1.0, 1.0, 0.25]).value(D), [0.25, 0.0, 1.0]
    )


def test_push_and_pull_sends_each_sign_to_its_penalty():
    w = np.array([2.0, -1.0, 0.0])
    f = penalties.PushAndPull(w, penalties.Quadratic, penalties.InvPower(exponent=2.0))
    np.testing.assert_allclose(f.value(D), [2 * 0.25, 1.0, 0.0])
    np.testing.assert_allclose(f.derivative(D), [2 * 2 * 0.5, -2.0, 0.0])
    scaled = penalties.PushAndPull(w, penalties.Quadratic(10.0), penalties.InvPower(exponent=2.0))
    np.testing.assert_allclose(scaled.value(D), [20 * 0.25, 1.0, 0.0])


def test_push_and_pull_takes_a_users_own_penalty():
    w = np.array([2.0, -1.0, 1.0])
    f = penalties.PushAndPull(w, Barrier(), penalties.Log)
    expected = [2 * Barrier().value(0.5), -penalties.Log().value(1.0), Barrier().value(2.0)]
    np.testing.assert_allclose(f.value(D), expected)
    assert f.fused() == ()


def test_custom_object_is_used_as_it_is_above_the_floor_and_continued_below():
    f = as_distortion(Barrier())
    assert isinstance(f, Custom)
    np.testing.assert_array_equal(f.value(D), Barrier().value(D))
    np.testing.assert_array_equal(f.derivative(D), Barrier().derivative(D))
    value, slope = f.value_and_derivative(np.array([0.0, f.floor]))
    assert np.isfinite(value).all()
    assert slope[0] == 0
    # the parabola falls by f'(floor) · floor / 2 between the floor and zero
    assert value[0] == pytest.approx(value[1] - 0.5 * f.floor * slope[1])


def test_custom_object_with_a_wrong_shape_is_named():
    class Mean(Barrier):
        def value(self, d):
            return np.mean(d)

    with pytest.raises(InvalidParameterError, match=r"Mean.value\(d\) must give one number per pair.*\(3,\)"):
        as_distortion(Mean()).value(D)


def test_function_is_differentiated_by_torch():
    torch = pytest.importorskip("torch", reason="differentiating a function needs the optional package torch")
    f = as_distortion(lambda d: 2 * d - torch.log(d))
    value, slope = f.value_and_derivative(D)
    np.testing.assert_allclose(value, Barrier().value(D))
    np.testing.assert_allclose(slope, Barrier().derivative(D))
    with pytest.raises(InvalidParameterError, match="one distortion per pair"):
        as_distortion(lambda d: d.mean()).value(D)
    Y = np.random.Generator(np.random.Philox(key=0)).standard_normal((4, 2))
    edges = [[0, 1], [1, 2], [2, 3]]
    one, other = Problem(edges, lambda d: 2 * d - torch.log(d)), Problem(edges, Barrier())
    np.testing.assert_allclose(one.gradient(Y)[1], other.gradient(Y)[1])


def test_function_without_torch_gives_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    f = as_distortion(lambda d: d)
    assert isinstance(f, Autodiff)
    with pytest.raises(MissingDependencyError, match=r'pip install "winkel\[torch\]"'):
        f.value(D)


@pytest.mark.parametrize("thing", [3, "quadratic", None, Barrier])
def test_what_is_no_distortion_is_refused(thing):
    with pytest.raises(InvalidParameterError, match="distortion must be one of"):
        as_distortion(thing)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: penalties.Linear([[1.0]]), "a number or a vector"),
        (lambda: penalties.Linear([1.0, np.nan]), "entry 1 is nan"),
        (lambda: penalties.Power(exponent=0.0), "exponent must be a positive number; got 0.0"),
        (lambda: penalties.InvPower(exponent=6), r"\(0, 5\]"),
        (lambda: penalties.Huber(threshold=-1), "threshold"),
        (lambda: penalties.Logistic(alpha=0), "alpha"),
        (lambda: penalties.PushAndPull(1.0), "needs a vector of weights"),
        (
            lambda: penalties.PushAndPull([1.0, -1.0], penalties.Linear([1.0, 2.0])),
            "one weight for all pairs",
        ),
        (lambda: losses.Absolute(1.0), "vector with one entry per pair"),
        (lambda: losses.Absolute([1.0, -1.0]), "zero or positive; entry 1 is -1.0"),
        (lambda: losses.Absolute([1.0, 2.0], [1.0]), "1 weights and 2 deviations"),
        (lambda: losses.Fractional([1.0, 0.0]), "must be positive; entry 1"),
        (lambda: losses.WeightedQuadratic([0.0]), "must be positive"),
        (lambda: losses.Power([1.0], exponent=0.5), "number of at least 1; got 0.5"),
        (lambda: losses.SoftFractional([1.0], gamma=0), "gamma"),
    ],
)
def test_wrong_parameters_are_told(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


def test_floor_of_a_loss_follows_its_deviations():
    assert losses.Absolute([2.0, 4.0]).floor == pytest.approx(3e-6)
    assert losses.Absolute([0.0, 0.0]).floor == penalties.Linear().floor


@pytest.mark.parametrize("make", [penalties.Log1p, penalties.Quadratic, penalties.PushAndPull])
def test_weights_whose_sums_would_not_be_finite_are_refused(make):
    make([1.0, -1.0, 1e30])
    with pytest.raises(InvalidParameterError, match=r"at most 1e\+30 in size.*largest is 1e\+300"):
        make([1.0, -1.0, -1e300])
