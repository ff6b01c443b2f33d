"""`knn` by approximate search: recall against the exact search, its interval, and the same bytes every time."""

import numpy as np
import pytest

from winkel.errors import DataWarning, InvalidParameterError
from winkel.graph import knn, search
from winkel.graph.metrics import plan_preparation

from .knn_oracle import METRICS, assert_neighbors, clustered, distances


def share_found(graph, truth):
    """Share of neighbours that are no farther than the last true one."""
    reach = truth.knn_distances[:, -1:] * (1 + 1e-6)
    return (graph.knn_distances <= reach).mean()


def approximate(X, k, **settings):
    return knn(X, k, method="approximate", **{"random_state": 0, **settings})


def assert_well_formed(graph):
    index, distance = graph.knn_indices, graph.knn_distances
    assert (index != np.arange(len(index))[:, None]).all()
    assert index.min() >= 0
    assert (np.diff(np.sort(index, axis=1), axis=1) > 0).all()
    assert (np.diff(distance, axis=1) >= 0).all()


@pytest.mark.parametrize("m", [3, 16, 150])
def test_recall_on_clustered_data(m):
    X = clustered(5000, m)
    graph, truth = approximate(X, 15), knn(X, 15, method="exact")
    assert_well_formed(graph)
    assert share_found(graph, truth) >= 0.97
    assert graph.origin.method == "approximate"
    assert graph.origin.seed == 0


@pytest.mark.parametrize(("n", "m", "k"), [(2000, 2, 5), (4000, 2, 15), (3000, 1, 3)])
def test_target_is_reached_where_the_leaves_of_one_tree_are_closed(n, m, k):
    X = clustered(n, m)
    graph = approximate(X, k)
    assert graph.origin.recall.low >= 0.99
    assert share_found(graph, knn(X, k, method="exact")) >= 0.99


def test_distances_are_true():
    X = clustered(1500, 10).astype(np.float64)
    graph = approximate(X, 8)
    i = np.arange(1500)[:, None]
    want = np.linalg.norm(X[i] - X[graph.knn_indices], axis=2)
    np.testing.assert_allclose(graph.knn_distances, want, rtol=1e-12)


def test_recall_interval_covers_the_true_recall():
    covered = []
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(1200, 20)).astype(np.float32)
        graph = approximate(X, 10, recall=0.5, random_state=seed)
        true, told = share_found(graph, knn(X, 10, method="exact")), graph.origin.recall
        assert told.low <= told.value <= told.high
        assert told.n_rows == 512
        assert told.value < 1  # otherwise there would be nothing to cover
        covered.append(told.low <= true <= told.high)
    assert sum(covered) >= 10


def test_recall_of_all_rows_has_no_error():
    told = approximate(clustered(500, 5), 5).origin.recall
    assert told.n_rows == 500
    assert told.low == told.value == told.high


def test_a_sample_without_misses_does_not_claim_certainty():
    told = approximate(clustered(2000, 2), 5, recall=1.0).origin.recall
    assert told.value == 1
    assert told.low < 1


def test_a_higher_target_finds_more():
    X = np.random.default_rng(1).normal(size=(1500, 20)).astype(np.float32)
    low, high = approximate(X, 10, recall=0.3), approximate(X, 10, recall=0.999)
    assert low.origin.recall.value < high.origin.recall.value


@pytest.fixture
def hurried(monkeypatch):
    """One tree and one step, no more."""
    monkeypatch.setattr(search, "_MAX_TREES", 1)
    monkeypatch.setattr(search, "_MAX_ROUNDS", 0)


def test_poor_recall_is_told_unless_no_more_was_asked_for(hurried):
    X = np.random.default_rng(2).normal(size=(2000, 60)).astype(np.float32)
    with pytest.warns(DataWarning, match='use method="exact"'):
        approximate(X, 5)
    assert approximate(X, 5, recall=0.1).origin.recall.value < 0.5


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_metric(metric, dtype):
    X = clustered(1200, 12)
    if metric in ("hamming", "jaccard"):
        X = np.maximum(np.rint(2 * X), 0)
    X = X.astype(dtype)
    graph = approximate(X, 10, metric=metric)
    assert_well_formed(graph)
    assert graph.knn_distances.dtype == dtype
    assert share_found(graph, knn(X, 10, metric=metric, method="exact")) >= 0.95


@pytest.mark.parametrize("m", [5, 140])
def test_same_bytes_for_any_number_of_threads(m):
    X = clustered(2500, m, spread=1.0)
    one = approximate(X, 12, n_jobs=1)
    for n_jobs in (1, 2, 3):
        other = approximate(X, 12, n_jobs=n_jobs)
        assert one.knn_indices.tobytes() == other.knn_indices.tobytes()
        assert one.knn_distances.tobytes() == other.knn_distances.tobytes()
        assert one.origin.recall == other.origin.recall


def test_rounds_report_the_same_counts_for_any_number_of_threads():
    from winkel import _core

    X = np.random.default_rng(3).normal(size=(2000, 16)).astype(np.float32)
    norm = np.einsum("ij,ij->i", X, X)
    counts = []
    for threads in (1, 2, 3):
        search = _core.NeighborDescent(X, norm, X, 0, 15, 12, 64, 5, threads)
        counts.append([search.round(threads) for _ in range(6)])
    assert counts[0] == counts[1] == counts[2]
    assert counts[0][-1] < counts[0][0]


def test_seeds():
    X = np.random.default_rng(4).normal(size=(1200, 30)).astype(np.float32)
    one, other = (approximate(X, 10, recall=0.3, random_state=seed) for seed in (1, 2))
    assert (one.knn_indices != other.knn_indices).any()
    drawn = approximate(X, 10, recall=0.3, random_state=None)
    again = approximate(X, 10, recall=0.3, random_state=drawn.origin.seed)
    np.testing.assert_array_equal(drawn.knn_indices, again.knn_indices)


@pytest.mark.parametrize("n_distinct", [1, 3, 200])
def test_many_duplicates(n_distinct):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_distinct, 6))[rng.integers(n_distinct, size=4000)].astype(np.float32)
    graph = approximate(X, 15)
    assert_well_formed(graph)
    assert share_found(graph, knn(X, 15, method="exact")) >= 0.95


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (20, 5), (20, 19), (257, 10)])
def test_few_rows(n, k):
    X = np.random.default_rng(6).normal(size=(n, 4))
    graph = approximate(X, k)
    assert_neighbors(graph.knn_indices, graph.knn_distances, distances(X, X, "euclidean"), k, 1e-12)


@pytest.mark.parametrize(("n", "k"), [(2000, 60), (700, 300)])
def test_many_neighbors(n, k):
    X = clustered(n, 8)
    graph = approximate(X, k)
    assert_well_formed(graph)
    assert share_found(graph, knn(X, k, method="exact")) >= 0.95


def test_lists_that_stay_short_are_filled(hurried):
    X = clustered(1000, 8)
    graph = approximate(X, 600, recall=0.1)
    assert_well_formed(graph)


@pytest.mark.parametrize("bad", [0, -0.5, 1.5, float("nan")])
def test_impossible_recall(bad):
    with pytest.raises(InvalidParameterError, match="recall"):
        knn(np.eye(5), 2, recall=bad)


def test_rows_of_many_columns_are_searched_by_few_coordinates(monkeypatch):
    monkeypatch.setattr(search, "_REDUCED_FROM", 1000)
    random = np.random.default_rng(0)
    X = (
        random.normal(size=(3000, 20)) @ random.normal(size=(20, 300)) + random.normal(size=(3000, 300))
    ).astype(np.float32)
    points = search.Points.of(X, plan_preparation(X, "euclidean"), 2)
    probe = search.RecallProbe(points, 10, 0)
    searched, width = search._reduced(points, probe, 10, 0.98, 0)
    assert searched.shape == (3000, 128)
    assert 10 < width <= 28
    graph, truth = approximate(X, 10, n_jobs=2), knn(X, 10, method="exact")
    hits = [len(np.intersect1d(a, b)) for a, b in zip(graph.knn_indices, truth.knn_indices)]
    assert np.mean(hits) >= 9.7
    rows = np.arange(3000)
    true = np.linalg.norm(X[rows, None].astype(np.float64) - X[graph.knn_indices], axis=2)
    np.testing.assert_allclose(graph.knn_distances, true, rtol=1e-5)
    np.testing.assert_array_equal(approximate(X, 10, n_jobs=1).knn_indices, graph.knn_indices)


def test_rows_that_vary_in_all_directions_are_searched_whole(monkeypatch):
    monkeypatch.setattr(search, "_REDUCED_FROM", 1000)
    X = np.random.default_rng(0).normal(size=(2000, 300)).astype(np.float32)
    points = search.Points.of(X, plan_preparation(X, "euclidean"), 2)
    searched, _ = search._reduced(points, search.RecallProbe(points, 10, 0), 10, 0.98, 0)
    assert searched is points.P
