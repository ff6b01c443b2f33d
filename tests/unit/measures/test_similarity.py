from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError


def some_map(n=30, m=2, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


def turn(m, seed=1):
    return np.linalg.qr(some_map(m, m, seed))[0]


def test_worked_quarter_turn():
    # The target is Y turned by 90°: (x, y) -> (-y, x).
    Y = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
    target = np.array([[0.0, 1.0], [-2.0, 0.0], [2.0, -1.0]])
    np.testing.assert_allclose(wk.align(Y, target), target, atol=1e-12)


def test_reflection_is_found():
    Y = some_map()
    np.testing.assert_allclose(wk.align(Y, Y * [1, -1]), Y * [1, -1], atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 10])
def test_any_turn_shift_and_stretch_is_undone(m):
    Y = some_map(m=m)
    target = 2.5 * Y @ turn(m) + 7
    np.testing.assert_allclose(wk.align(Y, target, scale=True), target, atol=1e-10)
    # Without stretching, shape is kept: distances are those of Y.
    rigid = wk.align(Y, target)
    np.testing.assert_allclose(
        np.linalg.norm(rigid[1:] - rigid[:-1], axis=1), np.linalg.norm(Y[1:] - Y[:-1], axis=1)
    )
    np.testing.assert_allclose(rigid.mean(axis=0), target.mean(axis=0))


def test_mean_square_distance_is_that_of_the_paper():
    # Section 2.4.5: Δ = (‖X‖² + ‖X̃‖² − 2 tr Σ)/n for centred embeddings.
    target, Y = some_map(seed=2), some_map(seed=3)
    target, Y = target - target.mean(axis=0), Y - Y.mean(axis=0)
    sigma = np.linalg.svd(target.T @ Y, compute_uv=False)
    expected = (np.sum(target**2) + np.sum(Y**2) - 2 * sigma.sum()) / len(Y)
    assert np.sum((wk.align(Y, target) - target) ** 2) / len(Y) == pytest.approx(expected)


def test_no_other_turn_is_nearer():
    target, Y = some_map(seed=4), some_map(seed=5)
    best = np.sum((wk.align(Y, target, shift=False) - target) ** 2)
    for angle in np.linspace(0, 2 * np.pi, 50):
        c, s = np.cos(angle), np.sin(angle)
        for Q in (np.array([[c, -s], [s, c]]), np.array([[c, s], [s, -c]])):
            assert np.sum((Y @ Q - target) ** 2) >= best - 1e-9


def test_without_shift_the_origin_stays():
    Y = some_map() + 5
    aligned = wk.align(Y, some_map(seed=9), shift=False)
    np.testing.assert_allclose(np.linalg.norm(aligned, axis=1), np.linalg.norm(Y, axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept_and_input_is_not_written(dtype):
    Y = some_map().astype(dtype)
    before = Y.copy()
    assert wk.align(Y, some_map(seed=1)).dtype == dtype
    np.testing.assert_array_equal(Y, before)


def test_all_points_in_one_place():
    np.testing.assert_allclose(wk.align(np.ones((4, 2)), np.zeros((4, 2)), scale=True), 0, atol=1e-15)


@pytest.mark.parametrize(
    ("Y", "target", "message"),
    [
        (np.ones((3, 3)), np.ones((3, 2)), r"\(3, 3\) and \(3, 2\)"),
        (np.ones((3, 2)), np.ones((4, 2)), "same rows"),
        (np.ones(3), np.ones(3), r"map must be an array.*\(3,\)"),
        (np.ones((0, 2)), np.ones((0, 2)), r"map has 0 sample\(s\)"),
        (np.ones((2, 2)), np.array([[0, 1], [np.nan, 0]]), "target.*row 1"),
    ],
)
def test_misuse(Y, target, message):
    with pytest.raises(InvalidInputError, match=message):
        wk.align(Y, target)
