"""Focus: where a map is between shape and neighbours, and why."""

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidParameterError, MemoryLimitError
from winkel.methods.mde.lengths import flat_problem
from winkel.methods.mde.neighbors import cauchy_normalizer
from winkel.methods.mde.plan import FLATNESS, SHAPE_SHARE, choose_focus, flatness, intrinsic_dimension
from winkel.run import Run

RUN = Run.of(random_state=0)


def ball(n, m, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).random((n, m))


def sheet(n=600):
    """A bent surface in space."""
    u = ball(n, 2)
    return np.column_stack([np.cos(3 * u[:, 0]), np.sin(3 * u[:, 0]), 2 * u[:, 1]])


def globe(n=600):
    """The surface of a ball, which no plane can show without tearing it or laying it on itself."""
    X = np.random.Generator(np.random.Philox(key=0)).normal(size=(n, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize(("m", "dimension"), [(1, 1.0), (2, 2.0), (5, 4.5)])
def test_the_dimension_of_a_cube_is_found(m, dimension):
    assert intrinsic_dimension(wk.graph.knn(ball(2000, m), 15)) == pytest.approx(dimension, rel=0.15)


def test_the_dimension_needs_distances():
    assert intrinsic_dimension(wk.Graph.from_edges([[0, 1], [1, 2]])) is None
    assert choose_focus("auto", wk.Graph.from_edges([[0, 1], [1, 2]]), RUN).value == 1


def test_a_connected_surface_keeps_its_shape():
    focus = choose_focus("auto", wk.graph.knn(globe(), 15), RUN)
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
    focus = choose_focus("auto", wk.graph.knn(X, 15), RUN)
    assert focus.value == 1
    assert said in focus.reason


@pytest.mark.parametrize(("asked", "value"), [("shape", 0.0), ("neighbors", 1.0), (0.25, 0.25)])
def test_what_is_asked_for_is_taken(asked, value):
    focus = choose_focus(asked, wk.graph.knn(sheet(100), 5), RUN)
    assert focus.value == value
    assert focus.share(10_000) == pytest.approx(SHAPE_SHARE ** (1 - value))
    assert "was asked for" in focus.reason


@pytest.mark.parametrize("n", [10, 100, 2000])
def test_few_rows_are_held_apart_even_in_a_map_of_the_shape(n):
    # By all others together as strongly as twice their attraction.
    assert choose_focus("shape", wk.graph.knn(sheet(100), 5), RUN).share(n) * n == pytest.approx(
        2 * cauchy_normalizer(n)
    )
    digits = wk.datasets.load_digits().X[:70]
    assert wk.MDE(focus="shape", random_state=0).fit(digits).embedding_.std() > 0.5


def test_focus_is_the_strength_of_the_repulsion():
    X = sheet(2600)
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
    assert wk.MDE(random_state=0, max_iter=20).fit(globe(200)).result_.settings["focus"] == 0


@pytest.mark.parametrize("focus", ["whole", -0.1, 1.5, None])
def test_misuse(focus):
    with pytest.raises(InvalidParameterError, match="focus"):
        wk.MDE(focus=focus).fit(sheet(50))


def test_other_penalties_have_no_focus():
    with pytest.raises(InvalidParameterError, match="repulsive_fraction"):
        wk.MDE(focus=0.5, repulsive="log").fit(sheet(50))


def test_a_bent_sheet_is_laid_flat():
    u = ball(1200, 2)
    X = np.column_stack([np.cos(4 * u[:, 0]), np.sin(4 * u[:, 0]), 4 * u[:, 1]])
    graph = wk.graph.knn(X, 15)
    assert flatness(graph, RUN) > FLATNESS > flatness(wk.graph.knn(globe(), 15), RUN)
    assert choose_focus("auto", graph, RUN).flat
    assert choose_focus("auto", graph, RUN, may_lie_flat=False).value == 0
    fitted, new = X[:1000], X[1000:]
    model = wk.MDE(random_state=0).fit(fitted)
    assert model.result_.settings["focus"] == "flat"
    # The map is the sheet itself, in the unit that the result tells.
    paper = np.column_stack([4 * u[:, 0], 4 * u[:, 1]])
    scale = model.result_.settings["distance_scale"]
    assert np.mean(np.abs(apart(model.embedding_) / scale - apart(paper[:1000]))) < 0.05
    placed = np.vstack([model.embedding_, model.transform(new)])
    assert np.mean(np.abs(apart(placed)[1000:] / scale - apart(paper)[1000:])) < 0.05
    np.testing.assert_array_equal(model.transform(fitted[:5]), model.embedding_[:5])
    model.extend(new)
    assert np.mean(np.abs(apart(model.embedding_) / scale - apart(paper))) < 0.05


def apart(Y):
    """Distances between all rows."""
    return np.sqrt(((Y[:, None] - Y[None]) ** 2).sum(axis=2))


def test_a_flat_map_in_another_unit():
    X = sheet(400)
    one, other = (wk.MDE(random_state=0, focus="flat").fit(scale * X) for scale in (1.0, 2.0**20))
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    np.testing.assert_array_equal(one.transform(X[:9] + 0.01), other.transform(2.0**20 * (X[:9] + 0.01)))
    assert other.result_.settings["distance_scale"] == one.result_.settings["distance_scale"] / 2.0**20


def test_flat_needs_lengths_and_a_free_size():
    with pytest.raises(InvalidParameterError, match="graph with distances"):
        wk.MDE(focus="flat").fit(wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]]))
    with pytest.raises(InvalidParameterError, match="centred"):
        wk.MDE(focus="flat", repulsive="cauchy", constraint="standardized").fit(sheet(60))


def test_a_surface_is_laid_flat_within_the_limit_of_memory():
    """What that takes shows only once the graph is there: it is asked for before it is taken."""
    graph = wk.graph.knn(ball(400, 2), 8)
    with pytest.raises(MemoryLimitError, match=r'laid flat.*focus="shape"'):
        flat_problem(graph, wk.Centered(), 2, Run.of(random_state=0, max_memory=10**6))
    assert (
        flat_problem(graph, wk.Centered(), 2, Run.of(random_state=0, max_memory=10**7)).distances is not None
    )
