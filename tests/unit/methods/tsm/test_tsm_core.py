"""The kernels of TSM against dense matrices: the join, S, and products with Z that hold no matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from winkel import _core
from winkel.errors import DataWarning, InvalidParameterError, MemoryLimitError
from winkel.methods.tsm import angle_histogram
from winkel.methods.tsm.factors import Factors
from winkel.methods.tsm.matching import DenseMatching, Matching
from winkel.methods.tsm.similarity import (
    directions,
    row_norms,
    similar_pairs,
    similarities,
    virtual_inputs,
)
from winkel.run import Run


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def cloud(n, m=6, seed=0):
    """Rows that have near ones, of all norms."""
    centres = rng(seed).normal(size=(max(2, n // 12), m))
    rows = centres[rng(seed + 1).integers(len(centres), size=n)] + 0.3 * rng(seed + 2).normal(size=(n, m))
    return rows * rng(seed + 3).uniform(0.2, 3.0, size=(n, 1))


def dense_similarity(X, tau):
    r = np.linalg.norm(X, axis=1)
    return X @ X.T - tau * np.outer(r, r)


def quietly(X, tau, n_jobs=1):
    """similarities(), where many rows may be isolated."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return similarities(X, tau, Run(n_jobs=n_jobs))


@pytest.mark.parametrize("n", [2, 7, 48, 49, 200, 700])
@pytest.mark.parametrize("tau", [0.2, 0.7, 0.95])
@pytest.mark.parametrize("kernel", _core.instruction_sets())
def test_the_join_finds_the_entries_of_s(n, tau, kernel):
    X = cloud(n)
    before = _core.instruction_sets()[-1]
    _core.use_instruction_set(kernel)
    try:
        S, rows = quietly(X, tau, n_jobs=2)
    finally:
        _core.use_instruction_set(before)
    exact = dense_similarity(rows, tau)
    r = np.linalg.norm(rows, axis=1)
    assert abs(S.dense() - np.maximum(0, exact)).max() <= 2e-6 * r.max() ** 2
    assert S.total == pytest.approx(exact.sum(), rel=1e-9, abs=1e-9 * r.sum() ** 2)
    for i in range(S.n):
        columns = S.indices[S.indptr[i] : S.indptr[i + 1]]
        assert i in columns
        assert (np.diff(columns) > 0).all()


def test_pairs_from_a_row_on_and_any_number_of_threads():
    X = cloud(500)
    r = row_norms(X)
    whole = similar_pairs(X, r, 0.6, Run(n_jobs=1))
    for jobs in (2, 5):
        for a, b in zip(whole, similar_pairs(X, r, 0.6, Run(n_jobs=jobs))):
            assert a.tobytes() == b.tobytes()
    later = similar_pairs(X, r, 0.6, Run(), first=300)
    wanted = whole[1] >= 300
    assert set(zip(*map(list, later[:2]))) == set(zip(whole[0][wanted].tolist(), whole[1][wanted].tolist()))
    assert len(later[0]) == wanted.sum() > 0


def test_the_join_is_capped():
    X = cloud(300)
    few = len(similar_pairs(X, row_norms(X), 0.6, Run())[0])
    assert len(similar_pairs(X, row_norms(X), 0.6, Run(max_memory=28 * few))[0]) == few
    with pytest.raises(MemoryLimitError, match="Raise the threshold"):
        similar_pairs(X, row_norms(X), 0.6, Run(max_memory=28 * (few - 1)))


def test_isolated_rows_get_a_chain_of_virtual_inputs():
    # Three rows near the first axis, and one at 60 degrees from the nearest: steps of at most cos 20° are needed.
    a = np.radians([0, 5, 10, 70])
    X = np.column_stack([np.cos(a), np.sin(a)]) * [[1], [1], [1], [4]]
    tau = float(np.cos(np.radians(20)))
    with pytest.warns(DataWarning, match="1 of 4 rows"):
        S, rows = similarities(X, tau, Run())
    np.testing.assert_array_equal(S.isolated, [3])
    made = rows[4:]
    assert S.n_virtual == len(made) == 3  # 60° in steps of at most 18°: four steps
    angles = np.degrees(np.arctan2(made[:, 1], made[:, 0]))
    np.testing.assert_allclose(np.sort(angles), [25, 40, 55])
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), [3.25, 2.5, 1.75])
    assert (np.diff(S.indptr) > 1).all()


def test_opposite_rows_have_no_arc():
    X = np.array([[1.0, 0.0], [-1.0, 0.0]])
    made = virtual_inputs(X, row_norms(X), np.array([0, 1]), 0.5, Run())
    assert made.shape == (0, 2)


def test_histogram_and_threshold():
    X = cloud(400, m=8)
    found = angle_histogram(X, sparsity=0.95)
    U = directions(X, row_norms(X)).astype(float)
    cosine = U @ U.T
    others = cosine[~np.eye(400, dtype=bool)]
    assert np.mean(others > found.threshold) == pytest.approx(0.05, abs=1e-3)
    nearest = (cosine - 2 * np.eye(400)).max(axis=1)
    assert found.kept == pytest.approx(np.mean(nearest > found.threshold), abs=3e-3)
    width = found.edges[1] - found.edges[0]
    assert found.nearest.sum() * width == pytest.approx(1.0)
    assert found.others.sum() * width == pytest.approx(1.0)
    assert found.nearest @ found.edges[:-1] < found.others @ found.edges[:-1]
    with pytest.raises(InvalidParameterError, match="sparsity"):
        angle_histogram(X, sparsity=1.0)


@pytest.mark.parametrize("rows", [np.ones((30, 3)), np.eye(30), -np.ones((5, 2))])
def test_threshold_stays_a_cosine(rows):
    assert 0 < angle_histogram(rows).threshold < 1


@pytest.mark.parametrize("n", [3, 50, 384, 385, 900])
@pytest.mark.parametrize("d", [1, 3, 8, 13])
def test_products_with_z_hold_no_matrix_and_agree_with_one(n, d):
    d = min(d, n)
    X = cloud(n, seed=n)
    S, _ = quietly(X, 0.6, n_jobs=2)
    basis, _ = np.linalg.qr(rng(d).normal(size=(S.n, d)))
    values = rng(d + 1).normal(size=d) * S.n
    V = rng(d + 2).normal(size=(S.n, d))
    dense = DenseMatching(S.dense(), S.total, S.threshold)
    L = (basis * values) @ basis.T
    Z, delta = dense.match(L)
    found = Matching(S, Run(n_jobs=2)).product(Factors(basis, values), V)
    scale = np.abs(Z @ V).max() + 1e-9
    assert found.delta == pytest.approx(delta, rel=1e-4, abs=1e-6)
    assert np.abs(found.ZV - Z @ V).max() <= 1e-4 * scale
    assert found.square == pytest.approx(np.sum(Z**2), rel=1e-5)
    assert found.objective == pytest.approx(dense.objective(L), rel=1e-4, abs=1e-6 * np.sum(Z**2))


def test_the_sum_constraint_is_met_where_it_binds():
    # A start with hugely negative products: min(0, L) sums up to less than the data do.
    X = cloud(60)
    S, _ = quietly(X, 0.3)
    basis = np.full((S.n, 1), S.n**-0.5)
    L = Factors(basis, np.array([-100.0 * S.n]))
    Z, delta = DenseMatching(S.dense(), S.total, S.threshold).match((L.basis * L.values) @ L.basis.T)
    found = Matching(S, Run()).product(L, np.ones((S.n, 1)))
    assert delta > 0
    assert found.delta == pytest.approx(delta, rel=1e-5)
    assert Z.sum() == pytest.approx(S.total)
    assert found.ZV.sum() == pytest.approx(S.total, rel=1e-5)


def test_threads_change_no_byte_of_a_product():
    S, _ = quietly(cloud(2700), 0.6)  # above the size below which one thread works alone
    basis, _ = np.linalg.qr(rng(1).normal(size=(S.n, 5)))
    L = Factors(basis, np.array([5.0, 4, -3, 2, -100]) * S.n)
    one = Matching(S, Run()).product(L, basis)
    assert one.delta > 0  # so that the sums over the entries of S take part
    for jobs in (2, 3, 7):
        more = Matching(S, Run(n_jobs=jobs)).product(L, basis)
        assert more.ZV.tobytes() == one.ZV.tobytes()
        assert (more.delta, more.square, more.objective) == (one.delta, one.square, one.objective)


@pytest.fixture
def use_tile_kernel():
    yield _core.use_instruction_set
    _core.use_instruction_set(_core.instruction_sets()[-1])


@pytest.mark.parametrize("kernel", _core.instruction_sets())
@pytest.mark.parametrize("n", [1, 7, 48, 391, 800])
def test_residual_product_of_every_kernel(kernel, n, use_tile_kernel):
    use_tile_kernel(kernel)
    draw = rng(n)
    factor = draw.normal(size=(n, 8)).astype(np.float32)
    signs = np.array([1, -1, 1, 1, -1, 1, 1, -1], np.float32)
    V = draw.normal(size=(n, 24)).astype(np.float32)
    dense = np.where(draw.random((n, n)) < 0.05, draw.random((n, n)), 0).astype(np.float32)
    dense = np.triu(dense) + np.triu(dense, 1).T
    S = sp.csr_matrix(dense)
    core = _core.SimilarMatrix(S.indptr.astype(np.int64), S.indices.astype(np.int32), S.data)
    found, sums = core.residual_product(factor * signs, factor, V, 1)
    L = (factor.astype(float) * signs) @ factor.T
    apart = np.where(dense > 0, L - dense, np.maximum(0, L))
    beyond, own = np.maximum(0, L)[dense == 0], L[dense > 0]
    wanted = [beyond.sum(), (beyond**2).sum(), own.sum(), (own**2).sum(), (apart[dense > 0] ** 2).sum()]
    np.testing.assert_allclose(found, apart @ V, rtol=1e-4, atol=1e-4 * n**0.5)
    np.testing.assert_allclose(sums, wanted, rtol=1e-4, atol=1e-4)
    support = core.support_product(V, 1)
    np.testing.assert_allclose(support, (dense > 0) @ V.astype(float), rtol=1e-5, atol=1e-5)


def test_misuse_of_the_core_is_refused():
    x = np.ones((4, 8), dtype=np.float32)
    S = _core.SimilarMatrix(np.arange(5), np.arange(4, dtype=np.int32), np.ones(4, np.float32))
    with pytest.raises(ValueError, match="multiple of 8"):
        S.residual_product(x[:, :5].copy(), x[:, :5].copy(), x, 1)
    with pytest.raises(ValueError, match="same rows"):
        S.residual_product(x, x[:3].copy(), x, 1)
    with pytest.raises(ValueError, match="a row for each row"):
        S.residual_product(x[:3].copy(), x[:3].copy(), x[:3].copy(), 1)
    with pytest.raises(ValueError, match="a row for each row"):
        S.support_product(x[:3].copy(), 1)
    with pytest.raises(ValueError, match="ascend"):
        _core.SimilarMatrix(np.array([0, 2, 2]), np.array([1, 0], np.int32), np.ones(2, np.float32))
    with pytest.raises(ValueError, match="i < j < n"):
        _core.similarity_rows(
            np.array([1], np.int32), np.array([4], np.int32), np.ones(1, np.float32), np.ones(3), 0.5
        )
    with pytest.raises(ValueError, match="column out of range"):
        _core.SimilarMatrix(np.array([0, 1]), np.array([1], np.int32), np.ones(1, np.float32))
    with pytest.raises(ValueError, match="first"):
        _core.similar_pairs(x, 0.5, 9, 10, 1)
