"""Every metric of the table against scipy's cdist, or its definition; dense, sparse, and for new rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.graph.metrics import METRICS, pair_distances, takes_sparse

RNG = np.random.default_rng(0)
N, K = 60, 7
POSITIVE = RNG.gamma(1.0, size=(N, 9)) * (RNG.random((N, 9)) < 0.8)
SETS = (RNG.random((N, 24)) < 0.35).astype(float)
GLOBE = np.column_stack([RNG.uniform(-1.5, 1.5, N), RNG.uniform(-3, 3, N)])


def counts(X, Y):
    both = X @ Y.T
    return both, X.sum(axis=1)[:, None] - both, Y.sum(axis=1)[None] - both


def equal_is_zero(D, X, Y):
    return np.where(cdist(X, Y, "hamming") == 0, 0.0, D)


def hellinger(X, Y):
    root = [np.sqrt(M / M.sum(axis=1, keepdims=True)) for M in (X, Y)]
    return np.sqrt(np.maximum(1 - root[0] @ root[1].T, 0))


def haversine(X, Y):
    a, b = X[:, None], Y[None]
    h = np.sin((a[..., 0] - b[..., 0]) / 2) ** 2
    h += np.cos(a[..., 0]) * np.cos(b[..., 0]) * np.sin((a[..., 1] - b[..., 1]) / 2) ** 2
    return 2 * np.arcsin(np.sqrt(h))


def kulsinski(X, Y):
    a, b, c = counts(X, Y)
    return equal_is_zero((b + c - a + X.shape[1]) / (b + c + X.shape[1]), X, Y)


def of_sets(name):
    return SETS, lambda X, Y: equal_is_zero(cdist(X.astype(bool), Y.astype(bool), name), X, Y)


ORACLES = {
    "euclidean": (POSITIVE, lambda X, Y: cdist(X, Y)),
    "cosine": (POSITIVE, lambda X, Y: cdist(X, Y, "cosine")),
    "correlation": (POSITIVE, lambda X, Y: cdist(X, Y, "correlation")),
    "manhattan": (POSITIVE, lambda X, Y: cdist(X, Y, "cityblock")),
    "chebyshev": (POSITIVE, lambda X, Y: cdist(X, Y, "chebyshev")),
    "hamming": (SETS, lambda X, Y: cdist(X, Y, "hamming")),
    "jaccard": of_sets("jaccard"),
    "hellinger": (POSITIVE, hellinger),
    "haversine": (GLOBE, haversine),
    "mahalanobis": (POSITIVE, lambda X, Y: cdist(X, Y, "mahalanobis", VI=np.linalg.inv(np.cov(POSITIVE.T)))),
    "seuclidean": (POSITIVE, lambda X, Y: cdist(X, Y, "seuclidean", V=POSITIVE.var(axis=0, ddof=1))),
    "canberra": (POSITIVE, lambda X, Y: cdist(X, Y, "canberra")),
    "braycurtis": (POSITIVE, lambda X, Y: cdist(X, Y, "braycurtis")),
    "minkowski": (POSITIVE, lambda X, Y: cdist(X, Y)),
    "minkowski(3)": (POSITIVE, lambda X, Y: cdist(X, Y, "minkowski", p=3)),
    "minkowski(p=1.5)": (POSITIVE, lambda X, Y: cdist(X, Y, "minkowski", p=1.5)),
    "dice": of_sets("dice"),
    "russellrao": of_sets("russellrao"),
    "rogerstanimoto": of_sets("rogerstanimoto"),
    "sokalmichener": of_sets("rogerstanimoto"),  # the same numbers
    "sokalsneath": of_sets("sokalsneath"),
    "yule": of_sets("yule"),
    "kulsinski": (SETS, kulsinski),
    "matching": (SETS, lambda X, Y: cdist(X, Y, "hamming")),
}
each = pytest.mark.parametrize("metric", ORACLES)


def test_the_oracles_are_those_of_all_metrics():
    assert set(METRICS) <= set(ORACLES)


@each
def test_neighbours_and_their_distances(metric):
    X, oracle = ORACLES[metric]
    D = oracle(X, X)
    np.fill_diagonal(D, np.inf)
    graph = wk.graph.knn(X, K, metric=metric, n_jobs=1)
    np.testing.assert_allclose(graph.knn_distances, np.sort(D, axis=1)[:, :K], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        graph.knn_distances, np.take_along_axis(D, graph.knn_indices, axis=1), rtol=1e-6, atol=1e-7
    )
    assert graph.origin.metric == metric


@each
def test_new_rows_and_pairs(metric):
    X, oracle = ORACLES[metric]
    fitted, new = X, X[:9] if metric in ("haversine",) else np.roll(X[:9], 1, axis=1)
    _, distance = wk.graph.knn_query(new, fitted, K, metric=metric, n_jobs=1)
    D = oracle(new, fitted)
    np.testing.assert_allclose(distance, np.sort(D, axis=1)[:, :K], rtol=1e-6, atol=2e-7)
    alone = [wk.graph.knn_query(row[None], fitted, K, metric=metric, n_jobs=1)[1][0] for row in new]
    assert np.array(alone).tobytes() == distance.tobytes()
    pairs = np.array([[0, 5], [3, 4], [0, 7]], dtype=np.int32)
    np.testing.assert_allclose(
        pair_distances(X, pairs, metric, 1), oracle(X, X)[pairs[:, 0], pairs[:, 1]], rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("metric", [metric for metric in ORACLES if takes_sparse(metric)])
def test_sparse_rows_have_the_same_neighbours(metric):
    X, _ = ORACLES[metric]
    dense, sparse = (wk.graph.knn(rows, K, metric=metric, n_jobs=1) for rows in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(sparse.knn_distances, dense.knn_distances, rtol=1e-6, atol=1e-6)
    found = wk.graph.knn_query(sp.csr_matrix(X[:4]), sp.csr_matrix(X), 3, metric=metric, n_jobs=1)
    expected = wk.graph.knn_query(X[:4], X, 3, metric=metric, n_jobs=1)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-6)


def test_which_metrics_take_sparse_rows():
    assert {"euclidean", "cosine", "manhattan", "jaccard", "hellinger", "dice"} <= set(
        filter(takes_sparse, METRICS)
    )
    with pytest.raises(
        InvalidInputError, match="metric 'canberra' does not take sparse data; sparse data goes with"
    ):
        wk.graph.knn(sp.csr_matrix(POSITIVE), 3, metric="canberra")


def test_rows_without_shares_are_at_distance_one_from_others():
    X = np.vstack([POSITIVE, np.zeros((2, POSITIVE.shape[1]))])
    index, distance = wk.graph.knn_query(X[-1:], X, len(X), metric="hellinger")
    assert set(index[0, :2]) == {N, N + 1}
    np.testing.assert_allclose(distance[0, 2:], 1)


@pytest.mark.parametrize(
    ("metric", "X", "message"),
    [
        ("hellinger", -POSITIVE, "no value may be negative"),
        ("haversine", POSITIVE, "latitude and longitude in radians"),
        ("haversine", 60 * GLOBE, "np.radians"),
        ("mahalanobis", np.hstack([POSITIVE, POSITIVE[:, :1]]), "covariance can be inverted"),
        ("minkowski(x)", POSITIVE, 'such as "minkowski'),
        ("canbera", POSITIVE, "Did you mean 'canberra'"),
    ],
)
def test_what_a_metric_cannot_compare_is_refused(metric, X, message):
    with pytest.raises((InvalidInputError, InvalidParameterError), match=message):
        wk.graph.knn(X, 3, metric=metric)


def test_a_formula_of_all_pairs_has_no_approximate_search():
    with pytest.raises(InvalidParameterError, match="searched exactly"):
        wk.graph.knn(POSITIVE, 3, metric="canberra", method="approximate")


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
@pytest.mark.parametrize("metric", ["hellinger", "canberra", "russellrao", "haversine"])
def test_maps_and_scores_by_such_metrics(metric):
    X, _ = ORACLES[metric]
    model = wk.MDE(metric=metric, n_neighbors=6, max_iter=10, random_state=0).fit(X)
    assert model.transform(X[:5]).tobytes() == model.embedding_[:5].tobytes()
    assert 0 <= model.faithfulness(X, n_neighbors=6)["trustworthiness"].value <= 1
    apart = wk.MDE(metric=metric, preserve="distances", max_iter=5, random_state=0).fit(X)
    assert np.isfinite(apart.embedding_).all()
