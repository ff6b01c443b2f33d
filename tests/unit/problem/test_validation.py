from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidParameterError
from winkel.problem import distortion_cdf, group_bias, held_out, redundancy

# A 3-4-5 triangle and a point on one of its sides: distances 3, 4, 5 and 1 (from item 0 to item 3).
Y4 = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [1.0, 0.0]])
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [0, 3]])


def linear():
    return wk.Problem(PAIRS, wk.penalties.Linear())


class Scaled:
    """A user's distortion with data of its own for every pair."""

    def __init__(self, factors):
        self.factors = factors

    def value(self, d):
        return self.factors * d**2

    def derivative(self, d):
        return 2 * self.factors * d


def all_pairs(n):
    return np.stack(np.triu_indices(n, 1), axis=1)


def test_cdf_worked():
    values, share = distortion_cdf(linear(), Y4)
    np.testing.assert_allclose(values, [1, 3, 4, 5])
    np.testing.assert_allclose(share, [0.25, 0.5, 0.75, 1])
    np.testing.assert_array_equal(linear().distortion_cdf(Y4)[0], values)


def test_cdf_of_equal_distortions_is_a_step():
    problem = wk.Problem([[0, 1], [1, 2], [0, 2]], wk.penalties.Linear())
    values, share = distortion_cdf(problem, np.array([[0.0], [1.0], [2.0]]).repeat(2, axis=1) / np.sqrt(2))
    np.testing.assert_allclose(values, [1, 1, 2])
    np.testing.assert_allclose(share, [2 / 3, 2 / 3, 1])


def test_group_bias_worked():
    # Group a = {3}: the pair of length 1. Group b = {1, 2}: lengths 3, 4, 5.
    bias = group_bias(linear(), Y4, {"a": [3], "b": [1, 2]})
    assert bias.groups == ("a", "b")
    np.testing.assert_allclose(bias.average_distortion, [1, 4])
    np.testing.assert_array_equal(bias.n_pairs, [1, 3])
    assert bias.gap == pytest.approx(3)


def test_groups_as_labels_as_masks_and_overlapping():
    labels = np.array(["x", "y", "y", "x"])
    by_label = linear().group_bias(Y4, labels)
    by_mask = group_bias(linear(), Y4, {"x": labels == "x", "y": labels == "y"})
    assert by_label.groups == ("x", "y")
    np.testing.assert_array_equal(by_label.average_distortion, by_mask.average_distortion)
    # x = {0, 3} touches 3, 4 and 1; an overlapping group counts its pairs again.
    np.testing.assert_allclose(by_label.average_distortion, [8 / 3, 4])
    np.testing.assert_array_equal(group_bias(linear(), Y4, {"p": [0], "q": [0, 1, 2, 3]}).n_pairs, [3, 4])


def test_group_without_pairs_has_no_average():
    problem = wk.Problem(PAIRS, wk.penalties.Linear(), n_items=5)
    bias = group_bias(problem, np.vstack([Y4, [9, 9]]), {"alone": [4], "rest": [0, 1, 2, 3]})
    assert np.isnan(bias.average_distortion[0])
    assert bias.gap == 0


@pytest.mark.parametrize(
    "groups", [{"a": [4]}, {"a": [-1]}, {"a": []}, {"a": [0.5]}, {"a": [True, False]}, [0, 1]]
)
def test_misused_groups(groups):
    with pytest.raises(InvalidParameterError, match="group"):
        group_bias(linear(), Y4, groups)


DISTORTIONS = [
    wk.penalties.Quadratic(),
    wk.penalties.Quadratic(np.arange(1.0, 46)),
    wk.penalties.PushAndPull(np.where(np.arange(45) % 3, 1.0, -2.0)),
    wk.losses.Absolute(np.linspace(1, 2, 45)),
    wk.losses.WeightedQuadratic(np.linspace(1, 2, 45)),
    Scaled(np.arange(1.0, 46)),
]


@pytest.mark.parametrize("distortion", DISTORTIONS, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_restricted_problem_is_the_sum_over_its_pairs(distortion, dtype):
    problem = wk.Problem(all_pairs(10), distortion)
    Y = np.random.Generator(np.random.Philox(key=3)).normal(size=(10, 2)).astype(dtype)
    chosen = np.array([40, 2, 3, 11, 30])
    part = problem.restricted(chosen)
    np.testing.assert_array_equal(part.edges, problem.edges[np.sort(chosen)])
    np.testing.assert_allclose(part.distortions(Y), problem.distortions(Y)[np.sort(chosen)], rtol=1e-6)
    rest = problem.restricted(np.setdiff1d(np.arange(45), chosen))
    (f, g), (f1, g1), (f2, g2) = problem.gradient(Y), part.gradient(Y), rest.gradient(Y)
    np.testing.assert_allclose((5 * f1 + 40 * f2) / 45, f, rtol=1e-5)
    np.testing.assert_allclose((5 * g1 + 40 * g2) / 45, g, rtol=1e-4, atol=1e-5 * np.abs(g).max())


def test_restricting_twice():
    problem = wk.Problem(all_pairs(10), wk.penalties.PushAndPull(np.where(np.arange(45) % 3, 1.0, -2.0)))
    Y = wk.Centered().initialize(10, 2, 0)
    twice = problem.restricted(np.arange(5, 45)).restricted([0, 10])
    once = problem.restricted([5, 15])
    np.testing.assert_array_equal(twice.edges, once.edges)
    assert twice.gradient(Y)[0] == once.gradient(Y)[0]


@pytest.mark.parametrize("pairs", [[], [45], [-1]])
def test_restricted_to_pairs_that_are_not_there(pairs):
    with pytest.raises(InvalidParameterError, match="0 to 44"):
        wk.Problem(all_pairs(10), wk.penalties.Linear()).restricted(pairs)


def test_held_out_pairs_partition_the_problem():
    problem = wk.Problem(all_pairs(10), wk.penalties.Quadratic(np.arange(1.0, 46)))
    fit, rest = held_out(problem, 0.2, random_state=4)
    assert (fit.n_pairs, rest.n_pairs) == (36, 9)
    both = np.concatenate([fit.edges, rest.edges])
    np.testing.assert_array_equal(both[np.lexsort(both.T[::-1])], problem.edges)
    again = held_out(problem, 0.2, random_state=4)[1]
    np.testing.assert_array_equal(rest.edges, again.edges)
    assert not np.array_equal(rest.edges, held_out(problem, 0.2, random_state=5)[1].edges)


@pytest.mark.parametrize("fraction", [0, 1, -0.5, np.nan, 0.001, 0.999])
def test_fraction_must_leave_both_sides(fraction):
    with pytest.raises(InvalidParameterError, match="fraction"):
        held_out(wk.Problem(all_pairs(10), wk.penalties.Linear()), fraction)


def test_redundancy_tells_supported_pairs_from_arbitrary_ones():
    # Distances of points in the plane determine each other; random numbers do not.
    rng = np.random.Generator(np.random.Philox(key=8))
    X, pairs = rng.normal(size=(25, 2)), all_pairs(25)
    true = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    supported = wk.Problem(pairs, wk.losses.Quadratic(true)).redundancy(0.2, init=X + 0.1, random_state=0)
    assert supported.held_out < 1e-6
    assert (supported.n_fitted, supported.n_held_out) == (240, 60)
    arbitrary = wk.Problem(pairs, wk.losses.Quadratic(rng.permutation(true)))
    found = redundancy(arbitrary, 0.2, max_iter=2000, tol=1e-4, random_state=0)
    assert found.held_out > 1.2 * found.fitted > 0.01
    rest = held_out(arbitrary, 0.2, 0)[1]
    assert found.held_out == pytest.approx(rest.average_distortion(found.embedding.Y))
