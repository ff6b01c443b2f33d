"""The core's ranks against plain NumPy in double precision."""

import numpy as np
import pytest

from winkel import _core
from winkel.graph.metrics import RULES
from winkel.measures.sources import DenseRows, DistanceRows, row_source
from winkel.run import Run


def cyclic(i, n):
    """How far each index lies after row i, which comes last."""
    return (np.arange(n) - i - 1) % n


def oracle(D, rows):
    """Ranks of all columns in each row: by distance, then in cyclic order; 0 for the row itself."""
    n = D.shape[1]
    ranks = np.zeros((len(rows), n), int)
    for r, i in enumerate(rows):
        order = [j for j in np.lexsort((cyclic(i, n), D[r])) if j != i]
        ranks[r, order] = np.arange(1, n)
    return ranks


def true_distances(X, metric):
    pairs = np.stack(np.meshgrid(np.arange(len(X)), np.arange(len(X)), indexing="ij"), -1).reshape(-1, 2)
    D = _core.metric_distances(X.astype(np.float64), pairs.astype(np.int32), RULES[metric].kind, 1)
    return D.reshape(len(X), len(X))


def data(kind, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(211, 7))
    if kind == "ties":
        X = np.rint(2 * X[:, :3])
    elif kind == "copies":
        X = np.repeat(X[:20], 11, axis=0)[:211]
    elif kind == "far":
        X = X * 1e-5 + 100.0
    elif kind == "tight":
        X[:100] = X[0] + 1e-6 * X[:100]
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["plain", "ties", "copies", "far", "tight"])
def test_neighbors_and_ranks_are_those_of_true_distances(kind, dtype):
    X = data(kind).astype(dtype)
    rows = np.array([0, 3, 99, 100, 210])
    expected = oracle(true_distances(X, "euclidean")[rows], rows)
    block = DenseRows(X, "euclidean", 2).block(rows)
    near = block.nearest(20)
    np.testing.assert_array_equal(
        np.take_along_axis(expected, near.astype(int), 1), np.tile(np.arange(1, 21), (5, 1))
    )
    targets = np.tile(np.arange(0, 211, 5, dtype=np.int32), (5, 1))
    np.testing.assert_array_equal(block.ranks(targets), np.take_along_axis(expected, targets.astype(int), 1))


@pytest.mark.parametrize("metric", list(RULES))
def test_every_metric(metric):
    X = np.rint(data("plain")) if metric in ("hamming", "jaccard") else data("plain")
    rows = np.arange(0, 211, 10)
    expected = oracle(true_distances(X, metric)[rows], rows)
    block = DenseRows(X, metric, 1).block(rows)
    targets = np.tile(np.arange(211, dtype=np.int32), (len(rows), 1))
    np.testing.assert_array_equal(block.ranks(targets), expected)
    assert (np.take_along_axis(expected, block.nearest(9).astype(int), 1) == np.arange(1, 10)).all()


@pytest.mark.parametrize("kernel", _core.instruction_sets())
def test_every_kernel_gives_the_same_order(kernel):
    X, rows = data("ties"), np.arange(0, 211, 7)
    expected = oracle(true_distances(X, "euclidean")[rows], rows)
    _core.use_instruction_set(kernel)
    try:
        order = DenseRows(X, "euclidean", 2).block(rows).order()
    finally:
        _core.use_instruction_set(_core.instruction_sets()[-1])
    np.testing.assert_array_equal(order, expected)


@pytest.mark.parametrize("n", [2, 5, 47, 48, 49, 1100, 1101])
def test_sizes_around_the_edges_of_tiles(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    rows = np.unique([0, n // 2, n - 1])
    D = true_distances(X, "euclidean")[rows]
    block = DenseRows(X, "euclidean", 2).block(rows)
    np.testing.assert_allclose(block.distances, D**2, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(
        block.ranks(np.tile(np.arange(n, dtype=np.int32), (len(rows), 1))), oracle(D, rows)
    )


def test_rows_that_are_not_among_the_points_rank_all_of_them():
    X, Q = data("plain"), data("plain", seed=1)[:4]
    block = DenseRows(X, "euclidean", 1).new_block(Q, np.full(4, -1))
    D = np.linalg.norm(Q[:, None] - X, axis=2)
    expected = np.argsort(np.argsort(D, axis=1), axis=1) + 1
    np.testing.assert_array_equal(block.order(), expected)
    np.testing.assert_array_equal(block.nearest(5), np.argsort(D, axis=1)[:, :5])


def test_order_of_doubles_tells_apart_what_single_precision_cannot():
    D = np.array([[0.0, 1 + 1e-12, 1.0, 1 + 2e-12, 0.5]])
    ranks = np.empty(D.shape, np.int32)
    _core.rank_rows(D, np.array([0]), ranks, 1)
    np.testing.assert_array_equal(ranks, [[0, 3, 2, 4, 1]])


def test_corank_and_moments_are_sums_over_points():
    random = np.random.default_rng(0)
    first, second = (np.array([random.permutation(33) for _ in range(5)], np.int32) for _ in range(2))
    weights = random.normal(size=34)
    sums, counts = _core.corank(first, second, weights, 2)
    larger = np.maximum(first, second)
    np.testing.assert_allclose(sums, weights[larger].sum(axis=1))
    np.testing.assert_array_equal(counts, np.bincount(larger.ravel(), minlength=34))
    x, y = random.uniform(size=(2, 5, 33)).astype(np.float32)
    found = _core.distance_moments(x, y, True, False, 2)
    root = np.sqrt(x.astype(float))
    np.testing.assert_allclose(
        found, np.stack([(root**2).sum(1), (root * y).sum(1), (y.astype(float) ** 2).sum(1)], 1), rtol=1e-6
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_and_precomputed_rows_agree_with_dense_ones(metric):
    import scipy.sparse as sp

    random = np.random.default_rng(0)
    X = random.normal(size=(60, 9)) * (random.uniform(size=(60, 9)) < 0.5)
    X[7] = 0
    rows = np.arange(60)
    dense = row_source(X, metric, Run()).block(rows)
    targets = np.tile(np.arange(60, dtype=np.int32), (60, 1))
    for other in (
        row_source(sp.csr_matrix(X), metric, Run()),
        row_source(true_distances(X, metric), "precomputed", Run()),
    ):
        assert isinstance(other, DistanceRows)
        block = other.block(rows)
        np.testing.assert_allclose(block.distances, true_distances(X, metric), rtol=1e-6, atol=1e-7)
        pairs = np.array([[0, 5], [7, 8], [59, 1]], np.int32)
        np.testing.assert_allclose(
            other.pairs(pairs), true_distances(X, metric)[pairs[:, 0], pairs[:, 1]], atol=1e-9
        )
        if metric == "euclidean":  # under cosine the row of zeros ties with all, which rounding may break
            np.testing.assert_array_equal(block.ranks(targets), dense.ranks(targets))
            np.testing.assert_array_equal(block.nearest(5), dense.nearest(5))


def test_misuse_is_refused_before_memory_is_read():
    X = np.zeros((4, 2), np.float32)
    rows = _core.DistanceRows(X, np.zeros(4, np.float32), 5)
    d = np.zeros((1, 4), np.float32)
    with pytest.raises(ValueError, match="features"):
        rows.rows(np.zeros((1, 3), np.float32), np.zeros(1, np.float32), np.array([0]), d, 1)
    with pytest.raises(ValueError, match="origin"):
        rows.rows(X[:1], np.zeros(1, np.float32), np.array([4]), d, 1)
    with pytest.raises(ValueError, match="target"):
        _core.exact_ranks(d, X[:1], X, np.array([0]), np.array([[4]], np.int32), 0, np.zeros(1), 0.0, 1)
    with pytest.raises(ValueError, match="k must"):
        _core.exact_nearest(d, X[:1], X, np.array([0]), 0, 4, np.zeros(1), 0.0, 1)
    with pytest.raises(ValueError, match="rank"):
        _core.corank(np.full((1, 4), 5, np.int32), np.zeros((1, 4), np.int32), np.zeros(5), 1)
