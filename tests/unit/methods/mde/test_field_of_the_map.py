"""New rows in the field of a map: the field against the exact sum, places against those among all fitted rows one by one."""

from dataclasses import replace

import numpy as np
import pytest

import winkel as wk
from winkel import _core
from winkel.methods.mde import placement
from winkel.methods.mde.neighbors import Forces
from winkel.methods.mde.placement import Affinities, _held_field, place_by_neighbors
from winkel.problem import Centered
from winkel.run import Run

RUN = Run(n_jobs=2)
FORCES = Forces.of("auto", "auto", "auto", 2, Centered())
SPACE = Forces.of("auto", "auto", "auto", 3, Centered())


@pytest.fixture(scope="module")
def map_and_lists():
    random = np.random.default_rng(0)
    Y = 8 * random.normal(size=(1500, 2))
    index = random.integers(0, 1500, size=(40, 6)).astype(np.int32)
    near = wk.graph.knn(Y, 6).knn_indices
    index[:30] = near[random.permutation(1500)[:30]]  # the others have neighbours all over the map
    return Y, index, random.uniform(0.5, 1, size=index.shape)


@pytest.mark.parametrize("exponent", [1.0, 0.5])
def test_the_held_field_is_the_sum_over_all_rows(map_and_lists, exponent):
    Y, *_ = map_and_lists
    held = _held_field(
        Y, Forces.of("auto", wk.penalties.Cauchy(exponent=exponent), "all", 2, Centered()), RUN
    )
    at = np.random.default_rng(1).uniform(-20, 20, size=(50, 2))
    found, slope = _core.grid_read(
        at[np.abs(at).max(axis=1) < 15], held.values, *held.origin, held.spacing, 1
    )
    at = at[np.abs(at).max(axis=1) < 15]
    off = at[:, None] - Y
    square = (off**2).sum(axis=2)
    np.testing.assert_allclose(found, ((1 + square) ** -exponent).sum(axis=1), rtol=1e-3)
    exact = (-2 * exponent * (1 + square) ** (-exponent - 1))[:, :, None] * off
    np.testing.assert_allclose(slope, exact.sum(axis=1), atol=2e-3 * np.abs(exact.sum(axis=1)).max())


def test_places_by_the_field_are_those_among_all_rows_one_by_one(map_and_lists):
    Y, index, distance = map_and_lists
    weights = np.random.default_rng(2).uniform(0.5, 2, size=index.shape)
    held = _held_field(Y, FORCES, RUN)
    found = place_by_neighbors(Y, index, distance, FORCES, 20.0, RUN, weights=weights, held=held)
    exact = place_by_neighbors(Y, index, distance, FORCES, 20.0, RUN, weights=weights)
    assert np.median(np.linalg.norm(found - exact, axis=1)) < 3e-3
    assert (np.linalg.norm(found - exact, axis=1)[:30] < 0.02).mean() > 0.9
    alone = place_by_neighbors(
        Y, index[5:6], distance[5:6], FORCES, 20.0, RUN, weights=weights[5:6], held=held
    )
    np.testing.assert_array_equal(alone[0], found[5])


def test_beyond_the_grid_the_field_goes_on_as_it_ends(map_and_lists):
    Y, *_ = map_and_lists
    held = _held_field(Y, FORCES, RUN)
    potential = held.potential(1.0)
    # A neighbour far outside pulls the row there; nothing holds it back.
    far = np.concatenate([Y, [[500.0, 500.0]]])
    group = placement._penalty_group(FORCES.attractive, np.array([[1500]], dtype=np.int32), 1.0)
    found = _core.place_rows(far, np.array([[490.0, 503.0]]), [group], 200, 1e-9, 1, potential)
    np.testing.assert_allclose(found, [[500.0, 500.0]], atol=1e-3)


def test_in_space_places_by_the_field_are_those_among_all_rows_one_by_one():
    random = np.random.default_rng(3)
    Y = 4 * random.normal(size=(1500, 3))
    index = wk.graph.knn(Y, 6).knn_indices[:30]
    distance, weights = random.uniform(0.5, 1, size=index.shape), random.uniform(0.5, 2, size=index.shape)
    held = _held_field(Y, SPACE, RUN)
    assert held.values.ndim == 3
    found = place_by_neighbors(Y, index, distance, SPACE, 20.0, RUN, weights=weights, held=held)
    exact = place_by_neighbors(Y, index, distance, SPACE, 20.0, RUN, weights=weights)
    assert (np.linalg.norm(found - exact, axis=1) < 0.02).mean() > 0.9
    alone = place_by_neighbors(
        Y, index[5:6], distance[5:6], SPACE, 20.0, RUN, weights=weights[5:6], held=held
    )
    np.testing.assert_array_equal(alone[0], found[5])


def test_small_maps_and_other_dimensions_hold_no_field(map_and_lists):
    Y, *_ = map_and_lists
    assert _held_field(Y[:200], FORCES, RUN) is None
    assert _held_field(np.pad(Y, ((0, 0), (0, 2))), FORCES, RUN) is None
    assert _held_field(Y * 1e4, FORCES, RUN) is None  # a grid that fine would be too large
    assert _held_field(Y, Forces.of("auto", "log", "auto", 2, Centered()), RUN) is None


def test_new_rows_are_weighted_from_both_sides():
    distance = np.random.default_rng(0).uniform(1, 2, size=(20, 40))
    distance.sort(axis=1)
    affinities = Affinities(n_neighbors=5, listed=40, total=5.0)
    # Nobody would have the new rows among its neighbours: what they give, at a perplexity of 1.2 × 5, is all.
    given = affinities.weights(distance, np.zeros(distance.shape), RUN)
    np.testing.assert_allclose(given.sum(axis=1), 5.0)
    assert (np.diff(given, axis=1) <= 0).all()  # nearer ones weigh more
    share = given / 5
    np.testing.assert_allclose(np.exp(-(share * np.log(share)).sum(axis=1)), 6.0, rtol=1e-6)
    # Listed rows 2, 11 and 17 would: each adds a fifth to the one that is given.
    reach = np.zeros(distance.shape)
    listing = [2, 11, 17]
    reach[:, listing] = distance[:, listing] + 0.1
    weights = affinities.weights(distance, reach, RUN)
    shares = given / 5
    shares[:, listing] += 0.2
    np.testing.assert_allclose(weights, 5 * shares / 1.6, rtol=1e-12)
    alone = affinities.weights(distance[3:4], reach[3:4], Run(n_jobs=1))
    np.testing.assert_array_equal(weights[3], alone[0])


def test_a_row_begins_where_most_of_its_neighbors_are():
    random = np.random.default_rng(4)
    Y = random.normal(size=(400, 2))
    Y[200:, 0] += 40
    index = np.array([[0, 1, 2, 200, 201, 202, 203, 204]], dtype=np.int32)
    distance, weights = np.linspace(1, 2, 8)[None], np.ones((1, 8))
    found = place_by_neighbors(Y, index, distance, FORCES, 20.0, RUN, weights=weights, width=0.5)
    assert abs(found[0, 0] - 40) < 5
    heavy = np.where(index < 3, 3.0, 1.0)
    found = place_by_neighbors(Y, index, distance, FORCES, 20.0, RUN, weights=heavy, width=0.5)
    assert abs(found[0, 0]) < 5


def test_surroundings_say_how_far_each_fitted_row_reaches():
    X = np.repeat(wk.datasets.load_digits().X[:150], 2, axis=0)
    mde = wk.MDE(max_iter=40, n_neighbors=7, random_state=0).fit(X)
    around = mde._model().surroundings(RUN)
    once = wk.graph.knn(X[mde.items_], 7)
    np.testing.assert_allclose(around.reach, once.knn_distances[:, -1])
    Y = mde.embedding_[mde.items_].astype(np.float64)
    lengths = np.linalg.norm(Y[:, None] - Y[once.knn_indices], axis=2)
    np.testing.assert_allclose(around.width, np.sqrt(np.median(lengths**2)))  # of an even number


def test_a_loaded_model_places_rows_in_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(placement, "_GRID_FROM", 100)
    X = wk.datasets.load_digits().X
    mde = wk.MDE(max_iter=60, random_state=0).fit(X[:300])
    assert mde._model().surroundings(RUN).held is not None
    first = mde.transform(X[300:340])
    np.testing.assert_array_equal(mde.transform(X[300:340]), first)  # what was prepared serves again
    np.testing.assert_array_equal(mde.transform(X[307:308])[0], first[7])
    np.testing.assert_array_equal(mde.transform(X[:5]), mde.embedding_[:5])
    mde.save(tmp_path / "model.winkel")
    np.testing.assert_array_equal(wk.load(tmp_path / "model.winkel").transform(X[300:340]), first)
    before = mde._model()
    mde.fit(X[:200])
    assert mde._model() is not before  # of another map


@pytest.fixture(scope="module")
def wide_map():
    """Clusters in space, so far apart that a grid which knows single points would have too many nodes."""
    random = np.random.default_rng(4)
    return 40 * random.normal(size=(60, 3))[random.integers(0, 60, 3000)] + 3 * random.normal(size=(3000, 3))


def test_a_wide_map_in_space_is_held_in_two_parts_whose_sum_is_that_over_all_rows(wide_map):
    held = _held_field(wide_map, SPACE, RUN)
    assert held.near is not None
    assert held.values.size <= 2**21
    random = np.random.default_rng(5)
    at = wide_map[random.permutation(3000)[:200]] + random.normal(size=(200, 3))
    smooth, slopes = _core.volume_read(at, held.values, held.origin, held.spacing, 1)
    apart = at[:, None] - wide_map[None]
    square = (apart**2).sum(axis=2)
    end = (4 * held.spacing) ** 2
    part = np.maximum((end - square) / (1 + end), 0)
    near = part**5 / (1 + square)
    steep = -2 * (5 * part**4 / (1 + end) / (1 + square) + near / (1 + square))
    exact = (1 / (1 + square)).sum(axis=1)
    forces = (-2 / (1 + square) ** 2)[..., None] * apart
    np.testing.assert_allclose(smooth + near.sum(axis=1), exact, rtol=1e-3)
    missed = slopes + (steep[..., None] * apart).sum(axis=1) - forces.sum(axis=1)
    assert np.linalg.norm(missed) < 1e-3 * np.linalg.norm(forces.sum(axis=1))


def test_places_in_a_wide_map_in_space_are_those_among_all_rows_one_by_one(wide_map):
    random = np.random.default_rng(6)
    index = wk.graph.knn(wide_map, 6).knn_indices[:40]
    distance, weights = random.uniform(0.5, 1, size=index.shape), random.uniform(0.5, 2, size=index.shape)
    held = _held_field(wide_map, SPACE, RUN)

    def places(rows, held=None):
        return place_by_neighbors(
            wide_map, index[rows], distance[rows], SPACE, 3000.0, RUN, weights=weights[rows], held=held
        )

    every = slice(None)
    found, exact, alone = places(every, held), places(every), places(slice(5, 6), held)
    np.testing.assert_array_equal(alone[0], found[5])
    assert np.linalg.norm(found - exact, axis=1).max() < 1e-3
    # Without near points the field would be far too smooth.
    rough = places(every, replace(held, near=None))
    assert np.median(np.linalg.norm(rough - exact, axis=1)) > 0.1


def test_near_points_refuse_what_they_cannot_hold(wide_map):
    with pytest.raises(ValueError, match="reach is too small"):
        _core.NearPoints(wide_map, 1e-3)
    with pytest.raises(ValueError, match="three coordinates"):
        _core.NearPoints(wide_map[:, :2].copy(), 1.0)
    near = _core.NearPoints(wide_map, 5.0)
    with pytest.raises(ValueError, match="three sides"):
        _core.HeldPotential(np.zeros((16, 16)), [0.0, 0.0], 0.5, np.ones(1), near)
