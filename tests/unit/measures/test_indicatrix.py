"""Tests of `indicatrix`."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError


def plane(n=200, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, 2))


def test_lists_worked_by_hand():
    # Rows on a line; row 4 is put beside row 0. Two neighbours each, no tolerance.
    X = np.array([[0.0], [1.0], [3.0], [6.5], [10.5]])
    Y = np.array([[0.0], [1.0], [3.0], [6.5], [-0.4]])
    found = wk.indicatrix(X, Y, n_neighbors=2, tolerance=1)
    assert found.false_neighbors[0].tolist() == [4]  # the map shows 4 and 1; the data has 1 and 2
    assert found.missing_neighbors[0].tolist() == [2]
    assert found.false_neighbors[4].tolist() == [0, 1]
    assert found.missing_neighbors[4].tolist() == [3, 2]
    # Row 1 is shown 4 instead of 2, row 3 is shown 1 instead of 4.
    assert found.reliability.tolist() == [0.5, 0.5, 1.0, 0.5, 0.0]
    assert found.false_neighbors.counts.tolist() == [1, 1, 0, 1, 2]
    # Row 0: ranks 1, 2 of rows 1, 2 become 2 and beyond (3); row 4 comes from beyond (3) to 1.
    assert found.rank_error[0] == pytest.approx((1 + np.log2(3 / 2) + np.log2(3)) / 3)


def test_a_straight_map_stretches_everywhere_alike():
    X = plane()
    A = np.array([[3.0, 0.0], [0.0, 1.0]])
    found = wk.indicatrix(X, X @ A)
    np.testing.assert_allclose(
        found.stretch.axes, np.tile(np.array([3, 1]) / np.sqrt(3), (200, 1)), rtol=1e-5
    )
    np.testing.assert_allclose(np.sin(found.stretch.angle), 0, atol=1e-5)  # along the first coordinate
    np.testing.assert_allclose(found.stretch.area, 1, rtol=1e-5)
    np.testing.assert_allclose(found.stretch.anisotropy, 3, rtol=1e-5)


def test_the_angle_turns_with_the_map():
    X = plane()
    c, s = np.cos(0.7), np.sin(0.7)
    found = wk.indicatrix(X, (X * [3.0, 1.0]) @ np.array([[c, s], [-s, c]]))
    np.testing.assert_allclose(found.stretch.angle, 0.7, atol=1e-5)


def test_a_sheet_in_many_dimensions_is_measured_along_itself():
    X = plane()
    lifted = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(9, 9)))[0][:2]
    a, b = wk.indicatrix(X, X * [2.0, 1.0]), wk.indicatrix(lifted, X * [2.0, 1.0])
    np.testing.assert_allclose(a.stretch.axes, b.stretch.axes, rtol=1e-6)
    np.testing.assert_array_equal(a.reliability, b.reliability)


def test_magnified_places_have_larger_ellipses():
    X = plane(600)
    Y = np.exp(X)  # stretched by e at one end
    area = wk.indicatrix(X, Y).stretch.area
    assert np.corrcoef(np.log(area), X.sum(axis=1))[0, 1] > 0.95


def test_new_rows_are_judged_by_their_neighbors():
    X = plane(300)
    new = plane(20, seed=1)
    good = wk.indicatrix(X, X, new, new)
    bad = wk.indicatrix(X, X, new, 1 - new)
    assert len(good) == 20
    assert (good.reliability == 1).all()
    assert bad.reliability.mean() < 0.3
    np.testing.assert_allclose(good.stretch.axes, 1, rtol=1e-4)
    one = wk.indicatrix(X, X, new[3:4], new[3:4])
    assert one.reliability[0] == good.reliability[3]


def test_distances_give_what_rows_give():
    X = np.random.default_rng(0).normal(size=(80, 5))
    Y = X[:, :2]
    rows, given = wk.indicatrix(X, Y), wk.indicatrix(squareform(pdist(X)), Y, metric="precomputed")
    np.testing.assert_array_equal(rows.reliability, given.reliability)
    np.testing.assert_allclose(rows.stretch.axes, given.stretch.axes, rtol=1e-6)
    np.testing.assert_array_equal(
        rows.reliability, wk.indicatrix(X, Y, graph=wk.graph.knn(X, 50)).reliability
    )


def test_duplicates_and_constant_data_stay_finite():
    for X in (np.zeros((60, 3)), np.repeat(plane(4), 20, axis=0)):
        found = wk.indicatrix(X, plane(len(X)))
        assert np.isfinite(found.stretch.axes).all()
        assert np.isfinite(found.rank_error).all()


def test_large_maps_use_a_tree_with_the_same_neighbors():
    from winkel.measures.sources import map_neighbors
    from winkel.run import Run

    Y = np.round(plane(5000), 3)  # with rows in the same place
    np.testing.assert_array_equal(
        map_neighbors(Y, 10, Run(n_jobs=2)), wk.graph.knn(Y, 10, method="exact").knn_indices
    )


def test_variance_frame_and_words():
    X = plane(50)
    found = wk.indicatrix(X, X, variance=np.arange(50.0))
    frame = found.to_frame()
    assert {"reliability", "false_neighbors", "missing_neighbors", "rank_error", "axis_1", "axis_2", "angle", "variance"} == set(frame.columns)  # fmt: skip
    assert len(frame) == 50
    assert "reliability 1.00" in str(found)
    with pytest.raises(InvalidParameterError, match="variance"):
        wk.indicatrix(X, X, variance=[1.0])


def test_refuses_what_does_not_fit():
    X = plane(50)
    with pytest.raises(InvalidInputError, match="same rows"):
        wk.indicatrix(X, X[:40])
    with pytest.raises(InvalidParameterError, match="n_neighbors"):
        wk.indicatrix(X, X, n_neighbors=50)
    with pytest.raises(InvalidParameterError, match="Y_new"):
        wk.indicatrix(X, X, X)
    with pytest.raises(InvalidInputError, match="must list"):
        wk.indicatrix(X, X, graph=wk.graph.knn(X, 15))
