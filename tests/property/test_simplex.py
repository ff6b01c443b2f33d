"""Projection onto the simplex and codes on it, against oracles that try every support."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from winkel import _core
from winkel.methods.kds import Coder, encode
from winkel.methods.kds.coding import CODERS

FLOATS = st.floats(-50, 50, allow_nan=False, width=32)


def supports(m):
    return chain.from_iterable(combinations(range(m), k) for k in range(1, m + 1))


def objective(x, y, atoms, locality):
    return 0.5 * np.sum((y - x @ atoms) ** 2) + locality * x @ np.sum((y - atoms) ** 2, axis=1)


def best_code(y, atoms, locality):
    """The least objective over the simplex: on the right support the equality-constrained optimum is feasible."""
    least = np.inf
    for some in map(list, supports(len(atoms))):
        A, k = atoms[some], len(some)
        system = np.block([[A @ A.T, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
        right = np.append(A @ y - locality * np.sum((y - A) ** 2, axis=1), 1.0)
        x = np.linalg.lstsq(system, right, rcond=None)[0][:k]
        x = np.maximum(x, 0.0)
        if x.sum() > 0:
            least = min(least, objective(x / x.sum(), y, A, locality))
    return least


@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=FLOATS))
def test_projection_is_the_nearest_point(points):
    found = _core.project_simplex(points)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    # Nearest: the way there is the same for all coordinates that stay positive, and shorter for none.
    way = points - found
    for row, kept in zip(way, found > 0):
        assert np.ptp(row[kept]) < 1e-9
        assert (row[~kept] <= row[kept].min() + 1e-9).all()


@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=FLOATS),
    arrays(np.float64, (3, 3), elements=FLOATS),
    st.sampled_from([1e-3, 0.1, 1.0, 20.0]),
    st.sampled_from(list(CODERS)),
)
def test_codes_reach_the_least_objective(atoms, rows, locality, method):
    codes = encode(rows, atoms, Coder(locality, method))
    X = codes.matrix.toarray()
    assert (X >= 0).all()
    np.testing.assert_allclose(X.sum(axis=1), 1.0, atol=1e-12)
    scale = 1e-7 + np.abs(atoms).max() ** 2 + np.abs(rows).max() ** 2
    for x, y, told, gap in zip(X, rows, codes.objective, codes.gap):
        reached = objective(x, y, atoms, locality)
        assert told == pytest.approx(reached, abs=1e-9 * scale * (1 + locality))
        best = best_code(y, atoms, locality)
        assert reached <= best + 1e-6 * best + 1e-9 * scale * (1 + locality)
        assert gap <= 1e-7 * reached + 1e-9 * scale * (1 + locality)
