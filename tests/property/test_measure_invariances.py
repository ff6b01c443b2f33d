"""What every score must not notice, and what it must: the product of scores and changes of the map."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winkel as wk

SCORES = ("trustworthiness", "continuity", "neighbor_recall", "rnx_auc", "distance_correlation", "stress")


def turned(Y, angle):
    c, s = np.cos(angle), np.sin(angle)
    return Y @ np.array([[c, -s], [s, c]])


CHANGES = {
    "turned": lambda Y, a: turned(Y, a),
    "mirrored": lambda Y, a: Y * [1, -1],
    "moved": lambda Y, a: Y + 10 * a,
    "stretched": lambda Y, a: Y * (0.1 + a),
}


def instance(seed, n=60):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    return X, X[:, :2] + 0.5 * random.normal(size=(n, 2))


def values(X, Y):
    report = wk.measure(X, Y, n_neighbors=7, random_state=0)
    return np.array([report[name].value for name in SCORES])


@pytest.mark.parametrize("change", list(CHANGES))
@settings(max_examples=5)
@given(seed=st.integers(0, 1000), angle=st.floats(0.1, 3))
def test_place_size_and_turn_of_the_map_do_not_matter(change, seed, angle):
    X, Y = instance(seed)
    np.testing.assert_allclose(values(X, CHANGES[change](Y, angle)), values(X, Y), atol=2e-4)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_order_of_rows_does_not_matter(seed):
    X, Y = instance(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    np.testing.assert_allclose(values(X[order], Y[order]), values(X, Y), atol=1e-6)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), whole=st.booleans())
def test_a_map_equal_to_its_data_is_perfect(seed, whole):
    X = instance(seed)[0][:, :2]
    X = np.rint(X) if whole else X  # with many rows in one place and equal distances
    np.testing.assert_allclose(values(X, 3 * X), [1, 1, 1, 1, 1, 0], atol=1e-3)
    report = wk.measure(X, X, n_neighbors=7)
    assert [report[name].value for name in SCORES[:3]] == [1, 1, 1]
    np.testing.assert_array_equal(wk.indicatrix(X, X, n_neighbors=7).reliability, 1)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_trustworthiness_and_continuity_are_each_other_backwards(seed):
    X, Y = instance(seed)
    there, back = wk.measure(X, Y, n_neighbors=7), wk.measure(Y, X, n_neighbors=7)
    assert there["trustworthiness"].value == pytest.approx(back["continuity"].value)
    assert there["rnx_auc"].value == pytest.approx(back["rnx_auc"].value, abs=1e-9)
    assert there["neighbor_recall"].value == pytest.approx(back["neighbor_recall"].value)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_a_map_of_other_rows_is_chance(seed):
    X, _ = instance(seed, n=300)
    Y = np.random.default_rng(seed + 1).normal(size=(300, 2))
    report = wk.measure(X, Y, n_neighbors=7)
    assert abs(report["rnx_auc"].value) < 0.05
    assert report["trustworthiness"].value == pytest.approx(0.5, abs=0.05)
    assert report["neighbor_recall"].value < 0.08
