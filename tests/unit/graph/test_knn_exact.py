"""`knn` by exact search against brute force: metrics, dtypes, shapes, ties, and data that is hard on floats."""

import numpy as np
import pytest

from winkel.graph import knn

from .knn_oracle import EXACT_ON_INTEGERS, METRICS, TOLERANCE, assert_neighbors, data_for, distances

SHAPES = [
    (2, 3, 1),
    (3, 2, 2),
    (9, 1, 3),
    (20, 2, 19),
    (49, 3, 5),
    (57, 47, 9),
    (96, 48, 15),
    (101, 49, 1),
    (53, 790, 7),
]


def check(X, k, metric, rtol, **how):
    graph = knn(X, k, metric=metric, method="exact")
    assert graph.knn_indices.dtype == np.int32
    assert graph.origin.method == "exact"
    assert_neighbors(graph.knn_indices, graph.knn_distances, distances(X, X, metric), k, rtol, **how)
    return graph


# Rows of one or two columns have so few directions that rounding decides ties between them: tested below.
DIRECTIONS = ("cosine", "correlation")
DTYPES = (np.float32, np.float64)
# Every metric meets every shape and both precisions, and every shape both precisions; not all three in every combination.
CASES = [
    (metric, *shape, DTYPES[(i + j) % 2])
    for i, metric in enumerate(METRICS)
    for j, shape in enumerate(SHAPES)
    if not (metric in DIRECTIONS and shape[1] <= 2)
]


@pytest.mark.parametrize(("metric", "n", "m", "k", "dtype"), CASES)
def test_equals_brute_force(metric, n, m, k, dtype):
    X = data_for(metric, n, m, dtype)
    graph = check(X, k, metric, TOLERANCE[dtype])
    assert graph.knn_distances.dtype == dtype


@pytest.mark.parametrize("metric", DIRECTIONS)
@pytest.mark.parametrize("m", [1, 2])
def test_few_directions(metric, m):
    X = data_for(metric, 30, m, np.float64)
    check(X, 5, metric, 1e-12, atol=1e-15, same_index=False)


INTEGER_DTYPES = (np.float32, np.float64, np.int8, np.uint16, bool)


@pytest.mark.parametrize(
    ("metric", "dtype", "low"),
    [
        (metric, dtype, 40 * ((i + j) % 2))
        for i, metric in enumerate(EXACT_ON_INTEGERS)
        for j, dtype in enumerate(INTEGER_DTYPES)
    ],
)
def test_ties_go_by_cyclic_order(metric, dtype, low):
    X = (np.random.default_rng(3).integers(low, low + 3, size=(120, 4))).astype(dtype)
    check(X, 20, metric, 1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_ties_of_large_whole_numbers(metric):
    X = np.random.default_rng(4).integers(0, 4, size=(150, 3)) * 1000.0
    check(X, 20, metric, 1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_order_of_equal_rows(metric):
    X = np.tile(np.random.default_rng(5).normal(size=7), (200, 1))
    graph = knn(X, 9, metric=metric)
    assert (graph.knn_distances == 0).all()
    np.testing.assert_array_equal(graph.knn_indices, (np.arange(200)[:, None] + np.arange(1, 10)) % 200)


@pytest.mark.parametrize(
    ("alias", "metric"),
    [("l2", "euclidean"), ("l1", "manhattan"), ("cityblock", "manhattan"), ("linf", "chebyshev")],
)
def test_aliases(alias, metric):
    X = data_for(metric, 30, 4, np.float32)
    one, other = knn(X, 3, metric=alias), knn(X, 3, metric=metric)
    np.testing.assert_array_equal(one.knn_indices, other.knn_indices)
    assert one.origin.metric == metric


@pytest.mark.parametrize("metric", METRICS)
def test_many_equal_rows_need_no_second_search(metric, monkeypatch):
    from winkel import _core

    def refuse(*_):
        raise AssertionError("searched again")

    monkeypatch.setattr(_core, "direct_neighbors", refuse)
    X = np.tile(np.random.default_rng(6).normal(size=20).astype(np.float32), (2000, 1))
    assert (knn(X, 15, metric=metric, method="exact").knn_distances == 0).all()


@pytest.mark.parametrize("metric", EXACT_ON_INTEGERS)
def test_small_whole_numbers_need_no_second_search(metric, monkeypatch):
    from winkel import _core

    X = np.random.default_rng(7).integers(1, 4, size=(300, 3)).astype(np.float64)
    monkeypatch.setattr(_core, "direct_neighbors", None)
    check(X, 20, metric, 1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_repeated_rows(metric):
    X = np.repeat(data_for(metric, 40, 6, np.float64), 4, axis=0)
    graph = check(X, 3, metric, 1e-12, same_index=metric in EXACT_ON_INTEGERS)
    assert (graph.knn_distances == 0).all()


@pytest.mark.parametrize("metric", METRICS)
def test_constant_columns(metric):
    X = data_for(metric, 60, 8, np.float64)
    X[:, 2], X[:, 5] = 0.0, 1e4
    check(X, 6, metric, 1e-10)


HARD = {
    "offset": lambda r: 1e6 + r.normal(size=(150, 5)),
    "large offset, tiny spread": lambda r: 1e8 + 1e-5 * r.normal(size=(150, 5)),
    "two far clusters": lambda r: (
        np.where(np.arange(150) % 2, 1e5, -1e5)[:, None] + 1e-4 * r.normal(size=(150, 5))
    ),
    "small far clusters": lambda r: (
        np.where(np.arange(150) % 2, 1e-3, -1e-3)[:, None] + 3e-10 * r.normal(size=(150, 1))
    ),
    "1e-30": lambda r: 1e-30 * r.normal(size=(150, 5)),
    "1e30": lambda r: 1e30 * r.normal(size=(150, 5)),
    "1e-200": lambda r: 1e-200 * r.normal(size=(150, 5)),
    "1e150": lambda r: 1e150 * r.normal(size=(150, 5)),
    "one outlier": lambda r: np.vstack([r.normal(size=(149, 5)), np.full((1, 5), 1e20)]),
    "one huge outlier": lambda r: np.vstack([r.normal(size=(149, 5)), np.full((1, 5), 1e140)]),
    "many scales": lambda r: r.normal(size=(150, 5)) * 10.0 ** r.integers(-30, 30, size=(150, 1)),
    "subnormal": lambda r: 5e-324 * r.integers(-1000, 1000, size=(150, 5)),
    "tiny beside one": lambda r: np.vstack([np.ones((1, 5)), 1e-22 * r.normal(size=(149, 5))]),
}


# Hamming and jaccard ask only which values are equal, or zero: hard for them is what float32 merges, or makes zero.
HARD_ON_SETS = ("large offset, tiny spread", "1e-200", "many scales", "subnormal")
SIZED = tuple(metric for metric in METRICS if metric not in ("hamming", "jaccard"))


@pytest.mark.parametrize(
    ("name", "metric"),
    [(name, metric) for name in HARD for metric in METRICS if metric in SIZED or name in HARD_ON_SETS],
)
def test_hard_on_floats(name, metric):
    X = HARD[name](np.random.default_rng(8))
    check(X, 7, metric, 1e-9, atol=1e-15 if metric in DIRECTIONS else 0, same_index=False)


SCALES = (1e-44, 1e-40, 1e-25, 1e-10, 1e10)


@pytest.mark.parametrize(
    ("metric", "scale"),
    [(metric, scale) for metric in METRICS for scale in SCALES if metric in SIZED or scale == SCALES[0]],
)
def test_float32_of_any_size(metric, scale):
    X = (np.random.default_rng(9).integers(-50, 50, size=(100, 6)) * scale).astype(np.float32)
    check(X, 5, metric, 1e-6, atol=1e-7 if metric in DIRECTIONS else 0, same_index=False)


def test_float32_too_large_to_square_is_searched_in_float64():
    X = (np.random.default_rng(9).normal(size=(80, 6)) * 1e30).astype(np.float32)
    assert check(X, 5, "euclidean", 1e-6).knn_distances.dtype == np.float64


def test_hamming_tells_values_apart_that_float32_merges():
    X = 0.1 + 1e-12 * np.random.default_rng(10).integers(0, 3, size=(200, 6))
    check(X, 10, "hamming", 1e-12)


def test_hamming_of_values_beyond_float32():
    X = np.random.default_rng(11).choice([1e300, 2e300, -1e300, 5e-324], size=(100, 5))
    with pytest.raises(ValueError, match="overflow"):
        knn(X, 5, metric="hamming")
    check(X * 1e-150, 8, "hamming", 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_rows_under_cosine(dtype):
    X = data_for("cosine", 40, 5, dtype)
    X[[3, 11, 29]] = 0
    graph = check(X, 39, "cosine", TOLERANCE[dtype], same_index=False)
    np.testing.assert_array_equal(graph.knn_indices[3, :2], [11, 29])
    np.testing.assert_array_equal(graph.knn_distances[3], [0.0] * 2 + [1.0] * 37)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_rows_under_correlation(dtype):
    X = data_for("correlation", 40, 5, dtype)
    X[[3, 11, 29]] = np.array([0.1, 0.7, 1e6])[:, None]
    graph = check(X, 39, "correlation", TOLERANCE[dtype], same_index=False)
    np.testing.assert_array_equal(graph.knn_distances[11], [0.0] * 2 + [1.0] * 37)


def test_empty_sets_under_jaccard():
    X = np.zeros((6, 4))
    X[:2] = 1
    graph = knn(X, 2, metric="jaccard")
    np.testing.assert_array_equal(graph.knn_distances, [[0, 1], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]])


@pytest.mark.parametrize("metric", METRICS)
def test_same_bytes_for_any_number_of_threads(metric):
    X = data_for(metric, 700, 9, np.float32)
    one = knn(X, 11, metric=metric, n_jobs=1)
    for n_jobs in (2, 3):
        other = knn(X, 11, metric=metric, n_jobs=n_jobs)
        assert one.knn_indices.tobytes() == other.knn_indices.tobytes()
        assert one.knn_distances.tobytes() == other.knn_distances.tobytes()


def test_data_is_not_changed():
    X = data_for("cosine", 50, 5, np.float64)
    before = X.copy()
    for metric in METRICS:
        knn(X, 4, metric=metric)
    np.testing.assert_array_equal(X, before)
