"""Every distortion × what must hold for all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winkel.problem import Problem, losses, penalties

# Each with the paper's formula as it is written, for weight w and deviation t.
PENALTIES = [
    (penalties.Linear, {}, lambda d: d),
    (penalties.Quadratic, {}, lambda d: d**2),
    (penalties.Cubic, {}, lambda d: d**3),
    (penalties.Power, {"exponent": 0.6}, lambda d: d**0.6),
    (penalties.Power, {"exponent": 1.5}, lambda d: d**1.5),
    (penalties.Power, {"exponent": 2.5}, lambda d: d**2.5),
    (penalties.Huber, {"threshold": 0.7}, lambda d: d**2 if d < 0.7 else 0.7 * (2 * d - 0.7)),
    (penalties.Logistic, {"threshold": 0.3, "alpha": 2.0}, lambda d: math.log(1 + math.exp(2 * (d - 0.3)))),
    (penalties.Log1p, {}, lambda d: math.log(1 + d**1.5)),
    (penalties.Log1p, {"exponent": 1.0}, lambda d: math.log(1 + d)),
    (penalties.Log1p, {"exponent": 2.0}, lambda d: math.log(1 + d**2)),
    (penalties.Log1p, {"exponent": 1.3}, lambda d: math.log(1 + d**1.3)),
    (penalties.InvPower, {}, lambda d: -1 / d),
    (penalties.InvPower, {"exponent": 3.0}, lambda d: -1 / d**3),
    (penalties.InvPower, {"exponent": 2.2}, lambda d: -1 / d**2.2),
    (penalties.Cauchy, {}, lambda d: -1 / (1 + d**2)),
    (penalties.Cauchy, {"exponent": 1.6}, lambda d: -1 / (1 + d**2) ** 1.6),
    (penalties.Log, {}, lambda d: math.log(1 - math.exp(-d))),
    (penalties.Log, {"exponent": 2.0}, lambda d: math.log(1 - math.exp(-(d**2)))),
    (penalties.Log, {"exponent": 1.7}, lambda d: math.log(1 - math.exp(-(d**1.7)))),
    (penalties.LogRatio, {}, lambda d: math.log(d**2 / (1 + d**2))),
    (penalties.LogRatio, {"exponent": 1.2}, lambda d: math.log(d**1.2 / (1 + d**1.2))),
]
LOSSES = [
    (losses.Quadratic, {}, lambda t, d: (t - d) ** 2),
    (losses.WeightedQuadratic, {}, lambda t, d: (t - d) ** 2 / t**2),
    (losses.Cubic, {}, lambda t, d: abs(t - d) ** 3),
    (losses.Power, {"exponent": 1.7}, lambda t, d: abs(t - d) ** 1.7),
    (
        losses.Huber,
        {"threshold": 0.4},
        lambda t, d: (t - d) ** 2 if abs(t - d) <= 0.4 else 0.4 * (2 * abs(t - d) - 0.4),
    ),
    (losses.Absolute, {}, lambda t, d: abs(t - d)),
    (losses.Logistic, {}, lambda t, d: math.log((1 + math.exp(abs(t - d))) / 2)),
    (losses.Fractional, {}, lambda t, d: max(t / d, d / t) - 1),
    (
        losses.SoftFractional,
        {"gamma": 2.0},
        lambda t, d: math.log((math.exp(2 * t / d) + math.exp(2 * d / t)) / (2 * math.exp(2))) / 2,
    ),
]
DEVIATION = 1.25


def names(cases):
    return [
        f"{c.__module__.rsplit('.')[-1]}.{c.__name__}({', '.join(map(str, k.values()))})" for c, k, _ in cases
    ]


def build(kind, options, p, weight=1.0):
    """The distortion for p pairs, all with one deviation where it is a loss."""
    if kind.__module__.endswith("losses"):
        weights = {} if kind is losses.WeightedQuadratic else {"weights": weight}
        return kind(np.full(p, DEVIATION), **options, **weights)
    return kind(np.full(p, weight), **options)


CASES = [(c, k) for c, k, _ in PENALTIES + LOSSES]
every_distortion = pytest.mark.parametrize(("kind", "options"), CASES, ids=names(PENALTIES + LOSSES))
ranges = st.lists(st.floats(-9, 6), min_size=1, max_size=20).map(lambda e: 10.0 ** np.array(e))


@pytest.mark.parametrize(("kind", "options", "formula"), PENALTIES, ids=names(PENALTIES))
def test_penalty_is_the_papers_formula(kind, options, formula):
    d = np.array([0.01, 0.2, 0.69, 0.71, 1.0, 2.5, 8.0])
    w = np.array([1.0, -2.0, 0.5, 3.0, -1.0, 0.0, 4.0])
    expected = [wk * formula(float(dk)) for wk, dk in zip(w, d)]
    np.testing.assert_allclose(kind(w, **options).value(d), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("kind", "options", "formula"), LOSSES, ids=names(LOSSES))
def test_loss_is_the_papers_formula(kind, options, formula):
    d = np.array([0.1, 0.5, 1.0, 2.5, 7.0, 1.9])
    t = np.array([0.3, 0.5, 1.2, 2.0, 3.0, 2.5])
    expected = [formula(float(tk), float(dk)) for tk, dk in zip(t, d)]
    np.testing.assert_allclose(kind(t, **options).value(d), expected, rtol=1e-10, atol=1e-14)


@every_distortion
@settings(deadline=None)
@given(d=ranges)
def test_derivative_is_that_of_the_value(kind, options, d):
    f = build(kind, options, len(d))
    kinks = [DEVIATION, DEVIATION + 0.4, DEVIATION - 0.4, 0.7, f.floor]
    for kink in kinks:
        d = np.where(np.abs(d - kink) < 0.02 * kink, 1.02 * kink, d)
    h = 1e-5 * d
    numeric = (f.value(d + h) - f.value(d - h)) / (2 * h)
    rounding = 1e-15 * (np.abs(f.value(d)) + np.abs(d) + DEVIATION) / h
    assert np.all(np.abs(f.derivative(d) - numeric) <= 1e-6 * np.abs(numeric) + 8 * rounding)


@every_distortion
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_is_finite_from_zero_to_far_away(kind, options, dtype):
    d = np.concatenate([[0.0], 10.0 ** np.arange(-37, 7)]).astype(dtype)
    f = build(kind, options, len(d), weight=-1.0)
    value, slope = f.value_and_derivative(d)
    assert value.dtype == slope.dtype == dtype
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
    assert slope[0] == 0


@every_distortion
def test_floor_joins_without_a_step(kind, options):
    f = build(kind, options, 2)
    eps = 1e-9
    d = f.floor * np.array([1 - eps, 1 + eps])
    value, slope = f.value_and_derivative(d)
    assert abs(value[1] - value[0]) <= 3 * eps * f.floor * abs(slope[1]) + 1e-12 * abs(value[1])
    assert abs(slope[1] - slope[0]) <= 1e-7 * abs(slope[1])


def fused(kind, options, d, dtype):
    """Values and derivatives from the fused pass, by problems of one pair on a line."""
    value, slope = np.empty(len(d)), np.empty(len(d))
    problem = Problem([[0, 1]], build(kind, options, 1), n_components=1)
    for k, distance in enumerate(d):
        value[k], gradient = problem.gradient(np.array([[0.0], [distance]], dtype=dtype))
        slope[k] = gradient[1, 0]
        assert gradient[0, 0] == -gradient[1, 0]
    return value, slope


@every_distortion
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 3e-6), (np.float64, 1e-13)])
def test_fused_form_is_the_formula(kind, options, dtype, rtol):
    d = np.concatenate([[0.0], 10.0 ** np.linspace(-9, 6, 76), [1.2, 1.25, 1.3, 0.69, 0.7]]).astype(dtype)
    value, slope = fused(kind, options, d, dtype)
    f = build(kind, options, len(d))
    exact = d.astype(np.float64)
    expected_value, expected_slope = f.value_and_derivative(exact)
    # What a relative error in d, or in d − δ, does to the result is not the kernel's; nor is underflow.
    near = DEVIATION if kind.__module__.endswith("losses") else 0.0
    moved = np.abs(f.derivative(1.0001 * exact) - f.derivative(0.9999 * exact)) / 2e-4
    tiny = 1e-30 if dtype == np.float32 else 1e-290
    at_floor = f.floor * np.abs(f.derivative(np.full(len(d), f.floor))) * (exact < f.floor)
    value_error = np.abs(expected_value) + (exact + near) * np.abs(expected_slope) + at_floor
    slope_error = np.abs(expected_slope) + moved * (1 + near / np.maximum(exact, f.floor))
    assert np.all(np.abs(value - expected_value) <= rtol * value_error + tiny)
    assert np.all(np.abs(slope - expected_slope) <= rtol * slope_error + tiny)


@every_distortion
def test_value_is_linear_in_the_weights(kind, options):
    d = np.array([0.3, 1.1, 4.0])
    one = build(kind, options, 3).value(d)
    three = build(kind, options, 3, weight=3.0).value(d)
    factor = 1.0 if kind is losses.WeightedQuadratic else 3.0
    np.testing.assert_allclose(three, factor * one, rtol=1e-14)


@pytest.mark.parametrize(("kind", "options"), [(c, k) for c, k, _ in LOSSES], ids=names(LOSSES))
@settings(deadline=None)
@given(ratio=st.floats(0.01, 100).filter(lambda r: abs(r - 1) > 1e-6))
def test_loss_is_zero_at_the_deviation_and_grows_away_from_it(kind, options, ratio):
    t = 2.0
    f = kind(np.array([t, t]), **options)
    value, slope = f.value_and_derivative(np.array([t, ratio * t]))
    assert value[0] == 0
    assert slope[0] == 0
    assert value[1] > 0
    assert np.sign(slope[1]) == np.sign(ratio - 1)
