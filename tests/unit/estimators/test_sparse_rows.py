"""TSM and KDS of sparse rows: the same as of dense ones, never made dense as a whole."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.errors import DataWarning, NotConvergedWarning
from winkel.methods.kds import Coder, encode
from winkel.methods.tsm import similarity_graph, svd_map
from winkel.methods.tsm.extension import local_weights
from winkel.run import Run

told = [
    pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning"),
    pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning"),
]
pytestmark = told


def text(n=150, words=80, seed=0):
    """Weights of words in texts on five subjects, most of them zero, no two cosines the same."""
    random = np.random.Generator(np.random.Philox(key=seed))
    subjects = np.random.Generator(np.random.Philox(key=7)).gamma(0.15, size=(5, words))
    shares = subjects[np.arange(n) % 5] + 0.02
    counts = random.poisson(12 * shares / shares.sum(axis=1, keepdims=True))
    return counts * random.uniform(0.5, 1.5, size=counts.shape)


DENSE, NEW = text(), text(20, seed=1)
SPARSE = sp.csr_matrix(DENSE)
MODELS = {
    "TSM": lambda **how: wk.TSM(4, threshold=0.5, max_iter=8, random_state=0, **how),
    "TSM, relu": lambda **how: wk.TSM(4, threshold=0.5, max_iter=8, placement="relu", random_state=0, **how),
    "TSM, landmarks": lambda **how: wk.TSM(
        4, threshold=0.5, n_landmarks=90, max_iter=8, random_state=0, **how
    ),
    "KDS": lambda **how: wk.KDS(n_atoms=12, max_iter=5, random_state=0, **how),
    "KDS, minibatch": lambda **how: wk.KDS(
        n_atoms=12, max_iter=3, training="minibatch", batch_size=64, random_state=0, **how
    ),
    "KDS, gradient": lambda **how: wk.KDS(n_atoms=12, max_iter=5, training="gradient", random_state=0, **how),
    "KDSClustering": lambda **how: wk.KDSClustering(5, n_atoms=15, max_iter=5, random_state=0, **how),
}


@pytest.fixture(scope="module", params=MODELS)
def both(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", NotConvergedWarning)
        make = MODELS[request.param]
        return make, make().fit(DENSE), make().fit(SPARSE)


def products(Y):
    """What a map is up to rotation and reflection."""
    Y = np.asarray(Y, dtype=float)
    return Y @ Y.T


def close(found, expected, tol=2e-3):
    scale = np.abs(products(expected)).max()
    np.testing.assert_allclose(products(found) / scale, products(expected) / scale, atol=tol)


def test_sparse_rows_give_the_map_of_dense_ones(both):
    _, dense, sparse = both
    close(sparse.embedding_, dense.embedding_)
    close(np.vstack([sparse.embedding_, sparse.transform(sp.csr_matrix(NEW))]),
          np.vstack([dense.embedding_, dense.transform(NEW)]), 5e-3)  # fmt: skip


def test_new_rows_may_be_of_either_kind(both):
    _, dense, sparse = both
    few = sp.csr_matrix(NEW)
    np.testing.assert_allclose(dense.transform(few), dense.transform(NEW), atol=1e-5)
    np.testing.assert_allclose(sparse.transform(NEW), sparse.transform(few), atol=1e-5)


def test_places_do_not_depend_on_threads_company_or_form(both):
    make, _, sparse = both
    again = make(n_jobs=2).fit(sp.csc_array(SPARSE))
    assert again.embedding_.tobytes() == sparse.embedding_.tobytes()
    few = sp.csr_matrix(NEW)
    together = sparse.transform(few)
    for i in (0, 7, 19):
        assert sparse.transform(few[i : i + 1]).tobytes() == together[i : i + 1].tobytes()
    assert again.set_params(n_jobs=1).transform(few).tobytes() == together.tobytes()


def test_a_fitted_row_has_its_own_place(both):
    _, _, sparse = both
    np.testing.assert_array_equal(sparse.transform(SPARSE[:30]), sparse.embedding_[:30])
    row = SPARSE[0]
    zero = np.setdiff1d(np.arange(row.shape[1]), row.indices)[0]  # a zero that is stored is still a zero
    stored = np.append(row.data, 0.0), np.append(row.indices, zero), [0, row.nnz + 1]
    np.testing.assert_array_equal(
        sparse.transform(sp.csr_matrix(stored, shape=row.shape)), sparse.embedding_[:1]
    )


def test_a_model_of_sparse_rows_survives_its_file(both, tmp_path):
    _, _, sparse = both
    sparse.save(tmp_path / "model.wk")
    back = wk.load(tmp_path / "model.wk")
    few = sp.csr_matrix(NEW)
    assert back.transform(few).tobytes() == sparse.transform(few).tobytes()


def test_weights_and_codes_of_sparse_rows_are_those_of_dense_ones():
    near = np.argsort(-(DENSE @ DENSE.T), axis=1)[:, 1:8]
    for dtype in (np.float32, np.float64):
        dense = local_weights(DENSE.astype(dtype), DENSE.astype(dtype), near, 1e-3, Run())
        sparse = local_weights(SPARSE.astype(dtype), SPARSE.astype(dtype), near, 1e-3, Run(n_jobs=2))
        np.testing.assert_allclose(sparse, dense, atol=1e-9 if dtype is np.float64 else 1e-4)
    dense, sparse = (encode(rows, DENSE[:12], Coder(0.1)) for rows in (DENSE, SPARSE))
    np.testing.assert_allclose(sparse.matrix.toarray(), dense.matrix.toarray(), atol=1e-6)
    np.testing.assert_allclose(sparse.objective, dense.objective, rtol=1e-8, atol=1e-9)


def test_near_rows_that_are_equal_share_their_weight():
    rows = np.array([[2.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    near = np.tile([0, 1], (3, 1))
    for form in (rows, rows.astype(np.float32), sp.csr_matrix(rows)):
        weights = local_weights(form, form, near, 1e-30, Run())  # too small to tell them apart
        np.testing.assert_allclose(weights, [[0.5, 0.5], [0.5, 0.5], [0.25, 0.25]], atol=1e-6)


def test_pairs_and_projections_of_sparse_rows_are_those_of_dense_ones():
    pairs = [similarity_graph(rows, 0.6) for rows in (DENSE, SPARSE)]
    np.testing.assert_array_equal(pairs[0].edges, pairs[1].edges)
    np.testing.assert_allclose(pairs[1].edge_distances, pairs[0].edge_distances, atol=1e-3)
    close(svd_map(SPARSE, 3), svd_map(DENSE, 3), 1e-9)
    wide = sp.csr_matrix(text(20, 400))
    close(svd_map(wide, 3), svd_map(wide.toarray(), 3), 1e-9)


def test_isolated_sparse_rows_are_tied_by_virtual_inputs():
    rows = np.vstack([DENSE, np.eye(80)[:3] + 0.01])
    dense, sparse = (MODELS["TSM"]().fit(form) for form in (rows, sp.csr_matrix(rows)))
    assert sparse.n_virtual_ == dense.n_virtual_ > 0
    np.testing.assert_array_equal(sparse.isolated_, dense.isolated_)
    close(sparse.embedding_, dense.embedding_)


def peak(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_sparse_rows_are_never_dense_as_a_whole():
    wide = sp.random_array((300, 200_000), density=2e-4, format="csr", rng=np.random.default_rng(0))
    whole = 8 * wide.shape[0] * wide.shape[1]
    model = wk.TSM(4, threshold=0.5, n_landmarks=200, max_iter=2, random_state=0)
    assert peak(lambda: model.fit(wide).transform(wide[:9] * 1.5)) < whole / 8
    model = wk.KDS(n_atoms=4, max_iter=2, random_state=0)
    assert peak(lambda: model.fit(wide).transform(wide[:9] * 1.5)) < whole / 4
