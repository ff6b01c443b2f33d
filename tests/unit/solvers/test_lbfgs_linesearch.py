from __future__ import annotations

import math

import pytest

from winkel.solvers.lbfgs import CURVATURE, SUFFICIENT_DECREASE, Trial, strong_wolfe

# Name, function, derivative, first step lengths to try from.
FUNCTIONS = {
    "parabola": (lambda t: (t - 3) ** 2, lambda t: 2 * (t - 3)),
    "narrow": (lambda t: 1e4 * (t - 0.01) ** 2, lambda t: 2e4 * (t - 0.01)),
    "quartic": (lambda t: t**4 - 2 * t, lambda t: 4 * t**3 - 2),
    "wavy": (lambda t: 0.3 * math.sin(8 * t) + (t - 2) ** 2, lambda t: 2.4 * math.cos(8 * t) + 2 * (t - 2)),
    "far": (lambda t: math.sqrt(1 + (t - 500) ** 2), lambda t: (t - 500) / math.sqrt(1 + (t - 500) ** 2)),
    "barrier": (
        lambda t: t * 0.1 - math.log(2 - t) - 2 * t if t < 2 else math.inf,
        lambda t: 0.1 + 1 / (2 - t) - 2 if t < 2 else math.nan,
    ),
}


def search(name, first, **options):
    f, g = FUNCTIONS[name]
    tried = []

    def evaluate(t):
        tried.append(t)
        return Trial(t, f(t), g(t), None)

    return strong_wolfe(evaluate, Trial(0.0, f(0), g(0), None), first, **options), tried


@pytest.mark.parametrize("first", [1e-4, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_conditions_hold(name, first):
    f, g = FUNCTIONS[name]
    if g(0) >= 0:
        pytest.fail("the test function must fall at zero")
    found, tried = search(name, first)
    assert found is not None
    assert found.value <= f(0) + SUFFICIENT_DECREASE * found.t * g(0)
    assert abs(found.slope) <= CURVATURE * abs(g(0))
    assert tried[0] == first
    assert len(tried) <= 25


def test_first_length_is_taken_when_it_is_good():
    found, tried = search("parabola", 2.5)
    assert found.t == 2.5
    assert tried == [2.5]


def test_nothing_is_found_where_nothing_falls():
    # the slope promises a fall that the values do not keep
    found = strong_wolfe(lambda t: Trial(t, 1.0 + t, 1.0, None), Trial(0.0, 1.0, -1.0, None), 1.0)
    assert found is None


def test_slack_lets_slopes_decide_where_values_are_rounded():
    def evaluate(t):
        return Trial(t, 1.0 + 1e-9, -1e-9 * (1 - t), None)

    start = Trial(0.0, 1.0, -1e-9, None)
    assert strong_wolfe(evaluate, start, 0.9) is None
    found = strong_wolfe(evaluate, start, 0.9, slack=2e-9)
    assert found is not None
    assert found.t == 0.9


def test_best_fall_is_given_when_evaluations_run_out():
    # always falling, ever as steep: the second condition never holds
    found = strong_wolfe(
        lambda t: Trial(t, -t, -1.0, None), Trial(0.0, 0.0, -1.0, None), 1.0, max_evaluations=4
    )
    assert found.t > 1
    assert found.value == -found.t
