"""The similarity of maps has the properties that section 6.1 of Draganov and Dohn (2023) asks of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.measures.similarity import KINDS

each_kind = pytest.mark.parametrize("kind", KINDS)
seeds, sizes, dims = st.integers(0, 10_000), st.integers(3, 60), st.integers(1, 4)


def some_map(n, m, seed):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


@each_kind
@given(n=sizes, m1=dims, m2=dims, seed=seeds)
def test_symmetric_and_between_zero_and_one(kind, n, m1, m2, seed):
    A, B = some_map(n, m1, seed), some_map(n, m2, seed + 1)
    value = wk.similarity(A, B, kind=kind)
    assert 0 <= value <= 1
    np.testing.assert_allclose(wk.similarity(B, A, kind=kind), value, atol=1e-12)


@each_kind
@given(n=sizes, m=dims, seed=seeds)
def test_one_for_equal_maps(kind, n, m, seed):
    A = some_map(n, m, seed)
    np.testing.assert_allclose(wk.similarity(A, A, kind=kind), 1, atol=1e-12)


@each_kind
@given(n=sizes, m=dims, seed=seeds, scale=st.floats(1e-6, 1e6), shift=st.floats(-10, 10))
def test_scale_place_and_orientation_do_not_matter(kind, n, m, seed, scale, shift):
    A, B = some_map(n, m, seed), some_map(n, m, seed + 1)
    turn = np.linalg.qr(some_map(m, m, seed + 2))[0]
    moved = scale * (B @ turn + shift)
    np.testing.assert_allclose(
        wk.similarity(A, moved, kind=kind),
        wk.similarity(A, B, kind=kind),
        atol=1e-6 if kind != "neighbors" else 0.05,
    )
    np.testing.assert_allclose(
        wk.similarity(B, moved, kind=kind), 1, atol=1e-6 if kind != "neighbors" else 0.05
    )


def test_worked_by_hand():
    # A square against a line: Y1ᵀY2 = (4, 0)ᵀ, norms √8 and 2: 4 / (2√8) = 1/√2.
    square = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    line = square[:, :1]
    assert wk.similarity(square, line) == pytest.approx(1 / np.sqrt(2))
    # Three points whose nearest neighbour is another: 0-1, 1-0, 2-1 against 0-1, 1-2, 2-1.
    first, second = np.array([[0.0], [1], [3]]), np.array([[0.0], [2], [3]])
    assert wk.similarity(first, second, kind="neighbors", n_neighbors=1) == pytest.approx(2 / 3)


def test_structure_in_common_is_told_from_none():
    A = some_map(300, 2, 0)
    near, far = A + 0.1 * some_map(300, 2, 1), some_map(300, 2, 2)
    for kind in KINDS:
        assert wk.similarity(A, near, kind=kind) > 0.5 > wk.similarity(A, far, kind=kind)


@each_kind
def test_maps_in_one_place(kind):
    A, point = some_map(10, 2, 0), np.full((10, 2), 0.3)
    assert wk.similarity(A, point, kind=kind) == 0
    assert wk.similarity(point, 2 * point, kind=kind) == 1


def test_many_rows_are_sampled():
    A = some_map(500, 2, 0)
    B = A + 0.3 * some_map(500, 2, 1)
    whole = wk.similarity(A, B, kind="distances")
    part = wk.similarity(A, B, kind="distances", max_rows=250)
    assert whole != part
    assert whole == pytest.approx(part, abs=0.05)


def test_wrong_use_is_told():
    A = some_map(10, 2, 0)
    with pytest.raises(InvalidInputError, match="same rows; got 10 and 9"):
        wk.similarity(A, A[:9])
    with pytest.raises(InvalidInputError, match=r"map2.*row 3"):
        wk.similarity(A, np.where(np.arange(10)[:, None] == 3, np.nan, A))
    with pytest.raises(InvalidInputError, match="shape"):
        wk.similarity(A[0], A)
    with pytest.raises(InvalidParameterError, match="kind must be one of"):
        wk.similarity(A, A, kind="cka")
    with pytest.raises(InvalidParameterError, match="max_rows"):
        wk.similarity(A, A, kind="distances", max_rows=1)
    with pytest.raises(InvalidParameterError, match="n_neighbors"):
        wk.similarity(A, A, kind="neighbors", n_neighbors=0)
