"""The compiled search: its kernels agree, and it refuses what it could not read."""

import numpy as np
import pytest

from winkel import _core
from winkel.graph import knn

from .knn_oracle import METRICS, clustered, data_for

X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
NORM = np.einsum("ij,ij->i", X, X)
OWN = np.arange(20)
CANDIDATES = np.tile(np.arange(6, dtype=np.int32), (20, 1))
INDPTR, INDICES, VALUES = (
    np.arange(0, 21, 2),
    np.tile(np.array([0, 2], np.int32), 10),
    np.ones(20, np.float32),
)


@pytest.fixture
def use_kernel():
    yield _core.use_instruction_set
    _core.use_instruction_set(_core.instruction_sets()[-1])


KERNELS = _core.instruction_sets()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("m", [1, 5, 48])
def test_kernels_give_the_same_neighbors(kernel, metric, m, use_kernel):
    rows = data_for(metric, 210, m, np.float32)
    want = knn(rows, 9, metric=metric)
    use_kernel(kernel)
    found = knn(rows, 9, metric=metric)
    assert found.knn_indices.tobytes() == want.knn_indices.tobytes()
    assert found.knn_distances.tobytes() == want.knn_distances.tobytes()


@pytest.mark.parametrize("metric", range(5))
@pytest.mark.parametrize(("n", "m"), [(50, 1), (97, 3), (100, 48), (31, 200)])
def test_kernels_give_the_same_search_distances(metric, n, m, use_kernel):
    rows = (clustered(n, m) > 0).astype(np.float32) if metric == 4 else clustered(n, m)
    norm = np.einsum("ij,ij->i", rows, rows)
    found = {}
    for kernel in KERNELS:
        use_kernel(kernel)
        found[kernel] = _core.search_queries(rows, norm, rows, norm, metric, n, 1)
    for kernel in KERNELS[1:]:
        a, b = (
            np.take_along_axis(d, np.argsort(i, axis=1), axis=1)
            for i, d in (found[KERNELS[0]], found[kernel])
        )
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * m)
    for kernel in KERNELS[2:]:  # those that fuse multiplication and addition round alike
        assert found[kernel][1].tobytes() == found[KERNELS[1]][1].tobytes()
        assert found[kernel][0].tobytes() == found[KERNELS[1]][0].tobytes()


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_find_the_same_approximately(kernel, use_kernel):
    rows = clustered(1500, 12)
    truth, here = knn(rows, 10), knn(rows, 10, method="approximate", random_state=0)
    use_kernel(kernel)
    found = knn(rows, 10, method="approximate", random_state=0)
    assert (found.knn_distances <= truth.knn_distances[:, -1:] * (1 + 1e-6)).mean() >= 0.97
    assert found.knn_indices.tobytes() == here.knn_indices.tobytes()


def test_the_baseline_is_always_there():
    assert KERNELS[0] == "baseline"
    assert _core.instruction_set() in KERNELS
    with pytest.raises(ValueError, match="'baseline', 'v3' or 'v4'; got 'abacus'"):
        _core.use_instruction_set("abacus")


def test_every_pair_once_whatever_the_shape():
    for n in (1, 2, 7, 8, 9, 47, 48, 49, 55, 56, 57, 97, 800):
        rows = np.random.default_rng(n).normal(size=(n, 2)).astype(np.float32)
        search = _core.ExactSearch(rows, np.einsum("ij,ij->i", rows, rows), 1, max(1, n - 1))
        search.run(0, search.n_tasks, 2)
        index, _ = search.result()
        if n > 1:
            want = [sorted(set(range(n)) - {i}) for i in range(n)]
            np.testing.assert_array_equal(np.sort(index, axis=1), want)


EXACT = {"x": X, "norm": NORM, "metric": 0, "width": 5}
DESCENT = {
    "x": X,
    "norm": NORM,
    "sketch": X,
    "metric": 0,
    "width": 5,
    "n_candidates": 4,
    "leaf_size": 8,
    "seed": 1,
    "threads": 1,
}
QUERIES = {"q": X, "q_norm": NORM, "x": X, "x_norm": NORM, "metric": 0, "width": 5, "threads": 1}
REFINE = {"q": X, "x": X, "origins": OWN, "candidates": CANDIDATES, "kind": 0, "k": 3, "threads": 1}
DIRECT = {"q": X, "x": X, "origins": OWN, "kind": 0, "k": 3, "threads": 1}
COLUMNS = {"distances": X, "origins": OWN, "k": 2, "threads": 1}
SPARSE = {"indptr": INDPTR, "indices": INDICES, "values": VALUES, "n_features": 3}
SPARSE_SEARCH = {**SPARSE, "norm": np.full(10, 2, np.float32), "width": 4}
SPARSE_REFINE = {**SPARSE, "candidates": CANDIDATES[:10], "kind": 0, "k": 2, "threads": 1}
SPARSE_DIRECT = {**SPARSE, "which": np.arange(4), "kind": 0, "k": 2, "threads": 1}
PROJECT = {"x": X, "directions": np.ones((3, 64), np.float32), "threads": 1}

FUNCTIONS = {
    "ExactSearch": (EXACT, {"norm": NORM[:5], "metric": 9, "width": 0, "x": X[:, :0]}),
    "NeighborDescent": (
        DESCENT,
        {
            "norm": NORM[:5],
            "sketch": X[:5],
            "metric": -1,
            "width": 0,
            "n_candidates": 0,
            "leaf_size": 0,
            "threads": 0,
        },
    ),
    "search_queries": (
        QUERIES,
        {
            "q": X[:, :2].copy(),
            "q_norm": NORM[:5],
            "x_norm": NORM[:5],
            "metric": 5,
            "width": -1,
            "threads": 0,
        },
    ),
    "refine_neighbors": (
        REFINE,
        {
            "q": X[:5],
            "x": X[:, :2].copy(),
            "origins": OWN[:5],
            "candidates": CANDIDATES[:5],
            "kind": 7,
            "k": -1,
            "threads": 0,
        },
    ),
    "direct_neighbors": (
        DIRECT,
        {"q": X[:, :2].copy(), "origins": OWN[:5], "kind": -1, "k": 21, "threads": 0},
    ),
    "nearest_columns": (COLUMNS, {"origins": OWN[:5], "k": 4, "threads": -1}),
    "SparseSearch": (
        SPARSE_SEARCH,
        {
            "indptr": INDPTR[::-1].copy(),
            "indices": INDICES - 1,
            "values": VALUES[:5],
            "n_features": 2,
            "norm": NORM[:5],
            "width": 0,
        },
    ),
    "refine_neighbors_sparse": (
        SPARSE_REFINE,
        {"candidates": CANDIDATES[:5], "n_features": 1, "kind": 2, "k": 0, "threads": 0},
    ),
    "direct_neighbors_sparse": (
        SPARSE_DIRECT,
        {"which": np.array([10]), "indptr": INDPTR[:4].copy(), "kind": 6, "k": 11},
    ),
    "project": (PROJECT, {"directions": np.ones((3, 63), np.float32), "x": X[:, :2].copy(), "threads": 0}),
}
REFUSED = [(name, key, value) for name, (_, bad) in FUNCTIONS.items() for key, value in bad.items()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_good_arguments_are_taken(name):
    assert getattr(_core, name)(**FUNCTIONS[name][0]) is not None


@pytest.mark.parametrize(("name", "key", "value"), REFUSED, ids=[f"{name}-{key}" for name, key, _ in REFUSED])
def test_bad_arguments_are_refused(name, key, value):
    with pytest.raises(ValueError):
        getattr(_core, name)(**{**FUNCTIONS[name][0], key: value})


@pytest.mark.parametrize(
    "indptr", [np.array([0, 12, 2, 20]), np.array([1, 20]), np.array([0, 30]), np.array([], np.int64)]
)
def test_broken_sparse_rows_are_refused(indptr):
    with pytest.raises(ValueError, match="CSR"):
        _core.SparseSearch(indptr, INDICES, VALUES, 3, NORM[: max(0, len(indptr) - 1)], 4)


@pytest.mark.parametrize(("begin", "end", "threads"), [(-1, 1, 1), (0, 99, 1), (0, 1, 0)])
def test_tasks_out_of_range_are_refused(begin, end, threads):
    with pytest.raises(ValueError):
        _core.ExactSearch(**EXACT).run(begin, end, threads)
    with pytest.raises(ValueError):
        _core.SparseSearch(**SPARSE_SEARCH).run(begin, end, threads)


def test_a_finished_search_tells_what_it_found_and_no_more():
    search = _core.NeighborDescent(**DESCENT)
    search.round(1)
    rows = np.arange(20)
    before = search.peek(rows)
    search.finish()
    np.testing.assert_array_equal(search.peek(rows), before)
    for step in (search.round, search.grow_tree):
        with pytest.raises(ValueError, match="finished"):
            step(1)


def test_rows_out_of_range_are_refused():
    search = _core.NeighborDescent(**DESCENT)
    for row in (-1, 20):
        with pytest.raises(ValueError, match="row out of range"):
            search.peek(np.array([row]))
    for step in (search.round, search.grow_tree):
        with pytest.raises(ValueError, match="threads"):
            step(0)


def test_candidates_and_origins_that_do_not_exist_are_left_out():
    candidates = np.array([[-1, 3, 99, 2**31 - 1, 0]], np.int32)
    index, distance = _core.refine_neighbors(X[:1], X, np.array([0]), candidates, 0, 2, 1)
    np.testing.assert_array_equal(index, [[3, -1]])
    assert distance[0, 1] == np.inf
    index, _ = _core.refine_neighbors(X[:1], X, np.array([77]), candidates, 0, 2, 1)
    np.testing.assert_array_equal(index, [[0, 3]])
