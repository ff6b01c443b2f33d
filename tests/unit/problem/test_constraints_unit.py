from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidParameterError

EDGES = [[0, 1], [1, 2], [0, 2]]


def test_anchored_tells_what_does_not_fit():
    with pytest.raises(InvalidParameterError, match="more than once"):
        wk.Anchored([1, 1], [[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(InvalidParameterError, match=r"shape \(2, n_components\).*got shape \(1, 2\)"):
        wk.Anchored([0, 1], [[0.0, 0.0]])
    with pytest.raises(InvalidParameterError, match="not finite"):
        wk.Anchored([0], [[np.nan, 0.0]])
    with pytest.raises(InvalidParameterError, match="vector of item numbers"):
        wk.Anchored([0.5], [[0.0, 0.0]])
    with pytest.raises(InvalidParameterError, match="items 0 to 2"):
        wk.Problem(EDGES, wk.penalties.Quadratic(), constraint=wk.Anchored([3], [[0.0, 0.0]]))
    with pytest.raises(InvalidParameterError, match=r"3 dimensions.*n_components=2"):
        wk.Problem(EDGES, wk.penalties.Quadratic(), constraint=wk.Anchored([0], [[0.0, 0.0, 1.0]]))


def test_standardized_needs_more_items_than_components():
    with pytest.raises(InvalidParameterError, match="more than 3 items; got 3"):
        wk.Problem(EDGES, wk.penalties.Quadratic(), n_components=3, constraint=wk.Standardized())


def test_constraint_must_be_one():
    with pytest.raises(InvalidParameterError, match=r"subclass of winkel\.Constraint"):
        wk.Problem(EDGES, wk.penalties.Quadratic(), constraint=3)
    with pytest.raises(
        InvalidParameterError, match=r"one of 'centered', 'standardized'.*Did you mean 'centered'"
    ):
        wk.Problem(EDGES, wk.penalties.Quadratic(), constraint="centred")
    assert wk.Problem(EDGES, wk.penalties.Quadratic(), constraint="centered").constraint == wk.Centered()
    with pytest.raises(TypeError, match="abstract"):
        wk.Constraint()
