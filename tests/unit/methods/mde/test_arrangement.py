"""Islands of a map: which there are, and that each is moved as a whole to where the distances of the data want it."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import spearmanr

import winkel as wk
from winkel.methods.mde import arrangement, plan
from winkel.methods.mde.arrangement import _Moves, arranged, hills
from winkel.problem import Problem
from winkel.run import Run

RNG = np.random.default_rng(5)


def blobs(centres, n=60, spread=1.0, seed=0):
    """n normal rows around each centre."""
    noise = np.random.default_rng(seed).normal(size=(len(centres), n, len(centres[0])))
    return (np.asarray(centres, float)[:, None] + spread * noise).reshape(-1, len(centres[0]))


def compared_by(X):
    return lambda i, J: np.sqrt(np.square(X[i[:, None]] - X[J]).sum(axis=2))


def hills_of(Y, clarity=1.0):
    reach, near = cKDTree(Y).query(Y, min(15, len(Y) - 1) + 1)
    return hills(near, reach[:, -1], Y.shape[1], clarity)


# Four groups on a line in the data; on the map the first and the last are side by side, and the others far off.
LINE = blobs([[0, 0, 0], [12, 0, 0], [24, 0, 0], [36, 0, 0]])
MIXED = blobs([[0, 0], [40, 0], [0, 40], [12, 0]], seed=1)
GROUP = np.repeat(np.arange(4), 60)
MEMBERS = [slice(60 * g, 60 * g + 60) for g in range(4)]


def moved(Y=MIXED, X=LINE, **settings):
    return arranged(Y, compared_by(X), Run(**settings))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_separate_groups_are_islands(m):
    centres = np.zeros((3, m))
    centres[:, 0] = [0, 20, 40]
    island = hills_of(blobs(centres))
    np.testing.assert_array_equal(island, np.repeat(island[::60], 60))
    assert len(set(island)) == 3


def test_one_group_is_one_island_and_a_crumb_is_none():
    Y = RNG.normal(size=(400, 2))
    assert hills_of(Y).max() == 0
    assert hills_of(np.vstack([Y, [[9, 9]] + 0.01 * RNG.normal(size=(5, 2))])).max() == 0


def test_a_shallow_valley_parts_no_island_and_a_deep_one_does():
    def pair(gap):
        return blobs([[0, 0], [gap, 0]], n=400)

    assert hills_of(pair(2.5)).max() == 0
    assert hills_of(pair(6.0)).max() == 1
    assert hills_of(pair(6.0), clarity=20.0).max() == 0


def test_rows_in_one_place_are_an_island():
    assert hills_of(np.zeros((40, 2))).max() == 0
    assert hills_of(np.repeat([[0.0, 0.0], [1.0, 0.0]], 40, axis=0)).max() == 1


def test_islands_keep_their_form_and_get_the_order_of_the_data():
    Y = moved()
    for g in MEMBERS:
        np.testing.assert_allclose(pdist(Y[g]), pdist(MIXED[g]), rtol=1e-9)
    order = [spearmanr(pdist(LINE), pdist(map_)).statistic for map_ in (MIXED, Y)]
    assert order[1] > 0.9 > 0.6 > order[0]
    # No wider than before, and no island on another.
    assert pdist(Y).max() < 1.2 * pdist(MIXED).max()
    foreign = GROUP[:, None] != GROUP
    assert squareform(pdist(Y))[foreign].min() > np.median(cKDTree(Y).query(Y, 6)[0][:, 5])


def test_a_map_of_one_island_stays_as_it_is():
    Y = RNG.normal(size=(200, 2)).astype(np.float32)
    assert moved(Y, RNG.normal(size=(200, 5))) is Y


def test_where_the_order_is_right_little_moves():
    Y = LINE[:, :2]
    assert np.abs(moved(Y) - Y).max() < 1.5
    assert spearmanr(pdist(LINE), pdist(moved(Y))).statistic > 0.99


def test_the_bytes_do_not_depend_on_threads():
    np.testing.assert_array_equal(moved(n_jobs=1), moved(n_jobs=2))


def test_of_many_rows_a_sample_is_arranged_and_the_others_go_with_it(monkeypatch):
    monkeypatch.setattr(arrangement, "_ROWS", 120)
    Y = moved()
    for g in MEMBERS:
        np.testing.assert_allclose(pdist(Y[g]), pdist(MIXED[g]), rtol=1e-9)
    assert spearmanr(pdist(LINE), pdist(Y)).statistic > 0.85


@pytest.mark.parametrize("m", [2, 3])
def test_the_gradient_of_moves_is_that_of_the_value(m):
    n, island = 30, np.arange(30) % 3
    Y = RNG.normal(size=(n, m))
    edges = np.array([(i, j) for i in range(n) for j in range(i) if island[i] != island[j]])
    least = RNG.uniform(1, 3, size=len(edges))
    terms = [
        Problem(edges, arrangement._Wish(1.0, least), n_items=n, n_components=m),
        Problem(edges, arrangement._Wish(2.0, least, True), n_items=n, n_components=m),
    ]
    moves = _Moves(Y, island, *terms)
    at = RNG.normal(size=moves.none.shape)
    value, gradient = moves.evaluate(at)
    direction = RNG.normal(size=at.shape)
    step = 1e-6
    ahead, behind = (moves.evaluate(at + sign * step * direction)[0] for sign in (1, -1))
    assert np.isfinite(value)
    assert (ahead - behind) / (2 * step) == pytest.approx(np.sum(gradient * direction), rel=1e-6)


def test_moves_are_shifts_and_turns():
    Y, island = RNG.normal(size=(50, 2)), np.arange(50) % 2
    edges = np.array([[0, 1]])
    moves = _Moves(Y, island, Problem(edges, arrangement._Wish(1.0, np.ones(1)), n_items=50))
    np.testing.assert_allclose(moves.made(moves.none, Y, island), Y, atol=1e-12)
    made = moves.made(RNG.normal(size=(2, 3)), Y, island)
    for g in range(2):
        np.testing.assert_allclose(pdist(made[island == g]), pdist(Y[island == g]))
    assert not np.allclose(cdist(made[island == 0], made[island == 1]), cdist(Y[island == 0], Y[island == 1]))


def test_the_default_map_orders_islands_better_with_moves_than_without(monkeypatch):
    X = blobs(8 * RNG.normal(size=(12, 20)) * np.linspace(0.5, 2, 12)[:, None], n=50)

    def order():
        return spearmanr(pdist(X), pdist(wk.MDE(random_state=0).fit_transform(X))).statistic

    found = order()
    monkeypatch.setattr(plan, "arranging", lambda *args: ())
    assert found > order() + 0.1


def test_a_small_island_has_guards_of_its_own():
    Y = np.vstack([RNG.normal(size=(3000, 2)), [20, 0] + 0.1 * RNG.normal(size=(16, 2))])
    X = np.hstack([Y, np.zeros((len(Y), 1))])
    X[3000:, 0] -= 15  # in the data it is nearer to the others
    found = arranged(Y, compared_by(X), Run())
    assert hills_of(found).max() == 1
    assert np.linalg.norm(found[3000:].mean(axis=0) - found[:3000].mean(axis=0)) < 15
    assert cdist(found[:3000], found[3000:]).min() > np.median(cKDTree(found).query(found, 6)[0][:, 5])


@pytest.mark.parametrize(("islands", "most"), [(4, 320), (600, 900)])
def test_there_are_few_guards_however_many_islands(islands, most):
    island = np.repeat(np.arange(islands), 15)
    problem = arrangement._gaps(RNG.normal(size=(len(island), 2)), island, 0.1, Run())
    assert len(np.unique(problem.edges)) <= most
    assert set(island[problem.edges].ravel()) == set(range(islands))
