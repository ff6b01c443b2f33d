"""Focus: where a map is between shape and neighbours, and why."""

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidParameterError
from winkel.methods.mde.focus import SHAPE_SHARE, choose_focus, intrinsic_dimension


def ball(n, m, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).random((n, m))


def sheet(n=600):
    """A bent surface in space."""
    u = ball(n, 2)
    return np.column_stack([np.cos(3 * u[:, 0]), np.sin(3 * u[:, 0]), 2 * u[:, 1]])


@pytest.mark.parametrize(("m", "dimension"), [(1, 1.0), (2, 2.0), (5, 4.5)])
def test_the_dimension_of_a_cube_is_found(m, dimension):
    assert intrinsic_dimension(wk.graph.knn(ball(2000, m), 15)) == pytest.approx(dimension, rel=0.15)


def test_the_dimension_needs_distances():
    assert intrinsic_dimension(wk.Graph.from_edges([[0, 1], [1, 2]])) is None
    assert choose_focus("auto", wk.Graph.from_edges([[0, 1], [1, 2]])).value == 1


def test_a_connected_surface_keeps_its_shape():
    focus = choose_focus("auto", wk.graph.knn(sheet(), 15))
    assert focus.value == 0
    assert focus.reason.startswith('focus "shape": the data are connected')


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (ball(400, 8), "more than a map can show whole"),
        (np.vstack([sheet(), sheet() + 50]), "50% of the rows"),
    ],
)
def test_data_of_more_dimensions_or_in_pieces_keep_their_neighbours(X, said):
    X = X + 1e-3 * ball(*X.shape, seed=1)
    focus = choose_focus("auto", wk.graph.knn(X, 15))
    assert focus.value == 1
    assert said in focus.reason


@pytest.mark.parametrize(("asked", "value"), [("shape", 0.0), ("neighbors", 1.0), (0.25, 0.25)])
def test_what_is_asked_for_is_taken(asked, value):
    focus = choose_focus(asked, wk.graph.knn(sheet(100), 5))
    assert focus.value == value
    assert focus.share == pytest.approx(SHAPE_SHARE ** (1 - value))
    assert "was asked for" in focus.reason


def test_focus_is_the_strength_of_the_repulsion():
    X = sheet(200)
    shape, neighbors = (
        wk.preserve_neighbors(X, focus=focus, random_state=0) for focus in ("shape", "neighbors")
    )
    assert shape.background.weights == pytest.approx(SHAPE_SHARE * neighbors.background.weights)
    assert wk.preserve_neighbors(X, random_state=0).background.weights == shape.background.weights


def test_the_result_says_what_was_chosen_and_new_rows_keep_to_it():
    X = sheet(200)
    model = wk.MDE(random_state=0, max_iter=20, focus="neighbors").fit(X)
    assert model.result_.settings["focus"] == 1
    model.extend(X[:5] + 0.01)
    assert model.result_.settings["focus_reason"] == 'focus "neighbors" was asked for.'
    assert wk.MDE(random_state=0, max_iter=20).fit(X).result_.settings["focus"] == 0


@pytest.mark.parametrize("focus", ["whole", -0.1, 1.5, None])
def test_misuse(focus):
    with pytest.raises(InvalidParameterError, match="focus"):
        wk.MDE(focus=focus).fit(sheet(50))


def test_other_penalties_have_no_focus():
    with pytest.raises(InvalidParameterError, match="repulsive_fraction"):
        wk.MDE(focus=0.5, repulsive="log").fit(sheet(50))
