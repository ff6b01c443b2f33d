"""The measures of norms and angles against cases worked out by hand and dense matrices of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.measures.angles import angular_deviation, distance_jaccard, jaccard, norm_error

MEASURES = [angular_deviation, jaccard]


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def cosines(X):
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    return np.clip(U @ U.T, -1, 1)


def turned(degrees, norms):
    """Rows in the plane at given angles from the first axis."""
    a = np.radians(degrees)
    return np.column_stack([np.cos(a), np.sin(a)]) * np.asarray(norms, dtype=float)[:, None]


DATA = rng(1).normal(size=(90, 6)) + 1.0
FLAT = DATA[:, :3] + 0.2 * rng(2).normal(size=(90, 3))


def test_angles_worked_out_by_hand():
    # Three rows at 0, 20 and 60 degrees; the map has them at 0, 30 and 60. Above cos 45° are the pairs
    # (0, 1): 20 -> 30 degrees, and (1, 2): 40 -> 30: both change by ten. In the map the same two pairs are near.
    X, Y = turned([0, 20, 60], [1, 2, 3]), turned([0, 30, 60], [1, 1, 6])
    tau = np.cos(np.radians(45))
    deviation = angular_deviation(X, Y, threshold=tau)
    assert deviation.value == pytest.approx(10.0)
    np.testing.assert_allclose(deviation.per_point, [10, 10, 10])
    assert jaccard(X, Y, threshold=tau).value == 1.0
    # With 0, 50 and 60 the first pair is lost: one of two is kept.
    lost = jaccard(X, turned([0, 50, 60], [1, 1, 1]), threshold=tau)
    assert lost.value == pytest.approx(0.5)
    np.testing.assert_allclose(lost.per_point, [0, 0.5, 1])
    # Nearest by angle: 0 -> 1, 1 -> 0, 2 -> 1; changes of ten degrees each. In the other map 1 -> 2.
    assert angular_deviation(X, Y, n_neighbors=1).value == pytest.approx(10.0)
    assert jaccard(X, turned([0, 50, 60], [1, 1, 1]), n_neighbors=1).value == pytest.approx(2 / 4)


def test_norms_worked_out_by_hand():
    X = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    Y = np.array([[4.0], [1.5], [0.0], [2.0], [7.0]])
    score = norm_error(X, Y)
    np.testing.assert_allclose(score.per_point, [0.2, 0.5, 0.0, 0.0, 1.0])
    assert score.value == pytest.approx(0.2)
    assert not score.higher_is_better


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tau", [0.3, 0.7, 0.9])
def test_thresholds_agree_with_the_matrix_of_all_pairs(tau, dtype):
    X, Y = DATA.astype(dtype), FLAT.astype(dtype)
    cx, cy = cosines(X.astype(float)), cosines(Y.astype(float))
    other = ~np.eye(len(X), dtype=bool)
    near, after = (cx > tau) & other, (cy > tau) & other
    expected = np.degrees(np.abs(np.arccos(cx) - np.arccos(cy)))[near].mean()
    assert angular_deviation(X, Y, threshold=tau).value == pytest.approx(expected)
    assert jaccard(X, Y, threshold=tau).value == pytest.approx((near & after).sum() / (near | after).sum())
    half = 0.5 * ((Y[:, None].astype(float) - Y[None]) ** 2).sum(axis=2)
    close = (half < 1 - tau) & other
    value = distance_jaccard(X, Y, threshold=tau).value
    assert value == pytest.approx((near & close).sum() / (near | close).sum())


@pytest.mark.parametrize("k", [1, 5, 20])
def test_neighbours_agree_with_the_matrix_of_all_pairs(k):
    cx, cy = cosines(DATA), cosines(FLAT)
    far = 2 * np.eye(len(DATA))
    near, after = np.argsort(far - cx)[:, :k], np.argsort(far - cy)[:, :k]
    change = np.degrees(np.abs(np.arccos(cx) - np.arccos(cy)))
    score = angular_deviation(DATA, FLAT, n_neighbors=k)
    np.testing.assert_allclose(score.per_point, np.take_along_axis(change, near, axis=1).mean(axis=1))
    both = np.array([len(set(a) & set(b)) for a, b in zip(near, after)])
    shared = jaccard(DATA, FLAT, n_neighbors=k)
    np.testing.assert_allclose(shared.per_point, both / (2 * k - both))
    assert shared.value == pytest.approx(both.sum() / (2 * k - both).sum())


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("way", [{"n_neighbors": 4}, {"threshold": 0.6}])
def test_what_does_not_change_a_measure(measure, way):
    whole = measure(DATA, FLAT, **way)
    assert whole.exact
    scale = rng(3).uniform(0.5, 2.0, size=(90, 1))
    turn, _ = np.linalg.qr(rng(4).normal(size=(3, 3)))
    assert measure(scale * DATA, 7.0 * scale * (FLAT @ turn), **way).value == pytest.approx(whole.value)
    assert measure(sp.csr_matrix(DATA), FLAT, **way).value == pytest.approx(whole.value)
    for jobs in (1, 2, 3):
        again = measure(DATA, FLAT, n_jobs=jobs, **way)
        assert again.per_point.tobytes() == whole.per_point.tobytes()
    perfect = measure(DATA, DATA @ np.linalg.qr(rng(5).normal(size=(6, 6)))[0], **way)
    assert perfect.value == pytest.approx(perfect.range[1] if perfect.higher_is_better else 0.0, abs=1e-5)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("way", [{"n_neighbors": 4}, {"threshold": 0.6}])
def test_samples_stand_for_all_rows(measure, way):
    whole = measure(DATA, FLAT, **way).value
    covered = 0
    for seed in range(40):
        part = measure(DATA, FLAT, sample=45, random_state=seed, **way)
        assert part.n_sampled == 45
        assert part.per_point is None
        assert part.range[0] <= part.interval[0] <= part.value <= part.interval[1] <= part.range[1]
        covered += part.interval[0] <= whole <= part.interval[1]
    assert covered >= 33  # 38 expected; 33 or more in all but 1 of 100 draws
    assert measure(DATA, FLAT, sample=500, **way).exact


def test_rows_of_zeros_are_in_no_pair():
    X, Y = DATA.copy(), FLAT.copy()
    X[3] = Y[3] = 0
    for way in ({"threshold": 0.6}, {"n_neighbors": 3}):
        score = angular_deviation(X, Y, **way)
        assert np.isfinite(score.value)
        assert np.isnan(score.per_point[3])
    without = np.delete(np.arange(90), 3)
    assert angular_deviation(X, Y, threshold=0.6).value == pytest.approx(
        angular_deviation(X[without], Y[without], threshold=0.6).value
    )


def test_no_pairs_means_nothing_was_lost():
    X = np.eye(4)
    assert angular_deviation(X, X, threshold=0.5).value == 0.0
    assert jaccard(X, X, threshold=0.5).value == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": 1.0}, "threshold"),
        ({"threshold": "auto"}, "threshold"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"sample": 1}, "sample"),
    ],
)
def test_misuse(change, message):
    for measure in MEASURES:
        with pytest.raises(InvalidParameterError, match=message):
            measure(DATA, FLAT, **change)


def test_rows_must_match():
    with pytest.raises(InvalidInputError, match="X has 90 and map has 89"):
        norm_error(DATA, FLAT[1:])


def test_a_row_is_close_to_itself_on_the_diagonal():
    X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.0, 0.0]])
    Y = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 1.0], [0.0, 0.0]])
    # Rows 0 and 1 are close in the data, 1 and 2 in the map: nothing is shared, out of two pairs, each both ways.
    assert jaccard(X, Y, threshold=0.9).value == 0.0
    assert jaccard(X, Y, threshold=0.9, diagonal=True).value == 3 / (4 + 3)
    assert jaccard(X, X, threshold=0.9, diagonal=True).value == 1.0
