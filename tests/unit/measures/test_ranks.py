"""Scores of neighbours and distances: cases worked by hand, other implementations, intervals."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.measures import ranks
from winkel.measures.ranks import average_ranks, rnx_weights
from winkel.measures.sampling import half_width, share_interval


def pair(n=400, m=12, noise=0.5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, m))
    X[: n // 3] += 4
    return X, X[:, :2] + noise * random.normal(size=(n, 2))


def score(name, X, Y, k=15, **options):
    return wk.measure(X, Y, scores=[name], n_neighbors=k, baseline=False, **options)[name]


def test_case_worked_by_hand():
    # On a line; row 4 is put beside row 0. One neighbour each.
    X = np.array([[0.0], [1.0], [3.0], [6.0], [10.0]])
    Y = np.array([[0.0], [1.0], [3.0], [6.0], [-0.4]])
    # In the map 0 and 4 are each other's neighbours; in the data each is the other's fourth: 3 beyond the first.
    assert score("trustworthiness", X, Y, 1).value == pytest.approx(1 - 2 / (5 * 1 * 6) * 6)
    # The data's neighbour of 0 is the map's second, that of 4 the fourth.
    assert score("continuity", X, Y, 1).value == pytest.approx(1 - 2 / (5 * 1 * 6) * 4)
    assert score("neighbor_recall", X, Y, 1).value == pytest.approx(3 / 5)


def test_stress_and_correlation_worked_by_hand():
    X, Y = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [2.0], [3.0]])
    # Distances 1, 3, 2 in the data and 2, 3, 1 in the map.
    assert score("stress", X, Y, 1).value == pytest.approx(np.sqrt(1 - (13 / 14) ** 2), abs=1e-6)
    assert score("distance_correlation", X, Y, 1).value == pytest.approx(0.5)


@pytest.mark.parametrize("k", [1, 5, 15, 60])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trustworthiness_is_that_of_scikit_learn(k, dtype):
    X, Y = (a.astype(dtype) for a in pair())
    expected = sklearn_trustworthiness(X, Y, n_neighbors=k)
    assert score("trustworthiness", X, Y, k).value == pytest.approx(expected, abs=1e-6)
    assert score("continuity", X, Y, k).value == pytest.approx(
        sklearn_trustworthiness(Y, X, n_neighbors=k), abs=1e-6
    )


def test_with_ties_trustworthiness_stays_near_scikit_learn():
    X = (
        load_digits().data
    )  # whole numbers: thousands of equal distances, which scikit-learn orders as it happens
    Y = X[:, [20, 28]] + 0.01 * np.random.default_rng(0).normal(size=(len(X), 2))
    assert score("trustworthiness", X, Y).value == pytest.approx(
        sklearn_trustworthiness(X, Y, n_neighbors=15), abs=2e-5
    )


def test_curve_and_area_are_those_of_the_co_ranking_matrix():
    X, Y = pair(n=120)
    found = wk.measure(X, Y, sample=None)
    n = len(X)
    DX, DY = (np.linalg.norm(A[:, None] - A, axis=2) for A in (X, Y))
    rank_x, rank_y = (np.argsort(np.argsort(D, axis=1), axis=1) for D in (DX, DY))
    K = np.arange(1, n - 1)
    shared = np.array(
        [np.mean((rank_x >= 1) & (rank_x <= k) & (rank_y >= 1) & (rank_y <= k)) * n / k for k in K]
    )
    curve = ((n - 1) * shared - K) / (n - 1 - K)
    shown = found.curves["K"].astype(int) - 1
    assert len(shown) > 60
    np.testing.assert_allclose(found.curves["rnx"], curve[shown], atol=1e-10)
    assert found["rnx_auc"].value == pytest.approx(np.sum(curve / K) / np.sum(1 / K), abs=1e-10)
    best = (pdist(X) @ pdist(Y)) / (pdist(Y) @ pdist(Y))
    stress = np.sqrt(np.sum((pdist(X) - best * pdist(Y)) ** 2) / np.sum(pdist(X) ** 2))
    assert found["stress"].value == pytest.approx(stress, abs=1e-6)
    assert score("distance_correlation", X, Y).value == pytest.approx(
        spearmanr(pdist(X), pdist(Y))[0], abs=1e-12
    )


def test_area_weights_give_one_for_equal_orders():
    weights = rnx_weights(50)
    assert (weights.pair[1:50].sum() - weights.chance) / weights.total == pytest.approx(1)


def test_average_ranks_share_ties():
    np.testing.assert_array_equal(average_ranks(np.array([3.0, 1.0, 3.0, 2.0])), [3.5, 1, 3.5, 2])


NAMES = ("trustworthiness", "continuity", "neighbor_recall", "rnx_auc", "stress")


def test_exact_values_lie_in_the_intervals_of_samples():
    X, Y = pair(n=900)
    whole = wk.measure(X, Y, scores=NAMES, baseline=False)
    exact = {name: whole[name].value for name in NAMES}
    inside = dict.fromkeys(NAMES, 0)
    for seed in range(100):
        part = wk.measure(X, Y, scores=NAMES, baseline=False, sample=120, random_state=seed)
        for name, score in part.scores.items():
            assert score.n_sampled == 120
            inside[name] += score.interval[0] <= exact[name] <= score.interval[1]
    assert all(count >= 95 for count in inside.values()), inside


def test_exact_correlation_lies_in_the_intervals_of_sampled_pairs(monkeypatch):
    X, Y = pair(n=300)
    exact = score("distance_correlation", X, Y).value
    monkeypatch.setattr(ranks, "_ALL_PAIRS", 100)
    monkeypatch.setattr(ranks, "_SAMPLED_PAIRS", 5000)
    inside = 0
    for seed in range(100):
        found = score("distance_correlation", X, Y, random_state=seed)
        assert found.n_sampled == 5000
        inside += found.interval[0] <= exact <= found.interval[1]
    assert inside >= 95
    assert score("distance_correlation", X, Y, sample=None).exact


def test_per_point_values_average_to_the_score():
    X, Y = pair()
    whole = score("trustworthiness", X, Y)
    assert whole.exact
    assert whole.per_point.mean() == pytest.approx(whole.value)
    part = score("trustworthiness", X, Y, sample=50, random_state=3)
    measured = np.isfinite(part.per_point)
    assert measured.sum() == 50
    np.testing.assert_array_equal(part.per_point[measured], whole.per_point[measured])


def test_every_way_through_the_pass_finds_the_same():
    # Asked for alone, trustworthiness takes a search for neighbours in the map instead of distances to all rows.
    X, Y = pair()
    whole = wk.measure(X, Y, baseline=False)
    for name in NAMES:
        alone = score(name, X, Y)
        assert alone.value == whole[name].value, name
        part, rest = (wk.measure(X, Y, scores=s, sample=80)[name] for s in ([name], None))
        assert part.value == rest.value
        assert part.interval == rest.interval


def test_threads_change_nothing():
    X, Y = pair()
    one, two = (score("continuity", X, Y, sample=77, random_state=1, n_jobs=jobs) for jobs in (1, 3))
    assert one.value == two.value
    assert one.interval == two.interval


def test_intervals_by_hand():
    values = np.array([1.0, 2.0, 3.0])
    # t with 2 degrees of freedom at 99 % is 9.925; standard error 1/√3; a third of 9 rows was drawn.
    assert half_width(values, 9, 10.0) == pytest.approx(9.9248 / np.sqrt(3) * np.sqrt(2 / 3), rel=1e-4)
    assert half_width(values, 3, 10.0) == 0
    assert half_width(np.ones(100), 10**9, 1.0) == pytest.approx(-np.log(0.01) / 100, rel=1e-4)
    low, high = share_interval(50, 100)
    assert low == pytest.approx(1 - high)
    assert 0.37 < low < 0.39
    assert share_interval(0, 10)[0] == 0


def test_a_map_in_one_place_has_full_stress_and_no_correlation():
    X = pair(n=50)[0]
    assert score("stress", X, np.zeros((50, 2)), 5).value == 1
    assert score("stress", np.ones((50, 3)), np.zeros((50, 2)), 5).value == 0
    assert score("distance_correlation", X, np.zeros((50, 2))).value == 0


@pytest.mark.parametrize("k", [0, 200, 2.5, True])
def test_refuses_neighborhoods_that_are_no_part_of_the_rows(k):
    X, Y = pair()
    with pytest.raises(InvalidParameterError, match="n_neighbors must be"):
        score("trustworthiness", X, Y, k)


def test_refuses_what_does_not_fit():
    X, Y = pair()
    with pytest.raises(InvalidInputError, match="one row for each"):
        score("continuity", X, Y[:-1])
    with pytest.raises(InvalidParameterError, match="sample"):
        score("continuity", X, Y, sample=1)
