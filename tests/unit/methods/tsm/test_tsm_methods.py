"""The updates, the Gram step, the extension and the baselines, each against its textbook form on dense matrices."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel import _core
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError
from winkel.measures.angles import angular_deviation, jaccard
from winkel.methods.tsm import isomap_map, match_similarities, similarity_graph, svd_map
from winkel.methods.tsm.extension import local_weights
from winkel.methods.tsm.extension_system import ExtensionSystem, neighborhood_order
from winkel.methods.tsm.factors import Factors, outputs, warn_if_not_a_gram_matrix
from winkel.methods.tsm.fit import svd_start
from winkel.methods.tsm.matching import DenseMatching, DenseUpdates, FactorUpdates, Matching
from winkel.methods.tsm.place import own_places
from winkel.methods.tsm.quasi_newton import QuasiNewton, along, carried, inner
from winkel.methods.tsm.similarity import similarities
from winkel.run import Run
from winkel.solvers import iterate

from .test_tsm_core import cloud, rng

DIGITS = wk.datasets.load_digits().X


@pytest.fixture(scope="module")
def task():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        S, rows = similarities(DIGITS[:300], 0.92, Run())
    return S, rows


def objective(S, state):
    return Matching(S, Run()).objective(Factors(np.asarray(state.Y), state.values))


# ----------------------------------------------------------------------------------------- updates


@pytest.mark.parametrize("d", [3, 8])
def test_dense_updates_without_momentum_never_rise(task, d):
    S, rows = task
    found = iterate(
        DenseUpdates(0.0),
        DenseMatching(S.dense(), S.total, S.threshold),
        svd_start(rows, d, 0.92),
        max_iter=25,
    )
    history = found.history.objective
    assert (np.diff(history) <= 1e-9 * history[:-1]).all()
    assert history[-1] < 0.7 * history[1]


@pytest.mark.parametrize("d", [3, 8])
def test_updates_of_factors_without_momentum_never_rise(task, d):
    S, rows = task
    found = iterate(FactorUpdates(0.0), Matching(S, Run()), svd_start(rows, d, 0.92), max_iter=40)
    history = found.history.objective[1:]
    assert (np.diff(history) <= 1e-6 * history[:-1]).all()


@pytest.mark.parametrize("d", [4, 8])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_factors_reach_the_dense_objective(task, d, momentum):
    S, rows = task
    start = svd_start(rows, d, 0.92)
    dense = iterate(
        DenseUpdates(momentum), DenseMatching(S.dense(), S.total, S.threshold), start, max_iter=40
    ).state
    lean = iterate(FactorUpdates(momentum), Matching(S, Run()), start, max_iter=40).state
    assert objective(S, dense) == pytest.approx(dense.objective, rel=1e-4)
    assert objective(S, lean) <= 1.01 * dense.objective


@pytest.mark.parametrize("d", [1, 4, 8])
def test_quasi_newton_never_rises_and_needs_fewer_passes_than_the_dense_updates(task, d):
    S, rows = task
    start = svd_start(rows, d, 0.92)
    dense = iterate(
        DenseUpdates(0.9), DenseMatching(S.dense(), S.total, S.threshold), start, max_iter=60
    ).state
    found = iterate(QuasiNewton(), Matching(S, Run()), start, max_iter=30)
    assert (np.diff(found.history.objective) <= 0).all()
    assert objective(S, found.state) == pytest.approx(found.state.objective, rel=1e-6)
    assert found.state.objective <= 1.01 * dense.objective
    assert (found.state.values < 0).sum() <= 1


def test_the_first_step_of_quasi_newton_is_an_alternating_update(task):
    S, rows = task
    start = svd_start(rows, 6, 0.92)
    plain = iterate(FactorUpdates(0.0), Matching(S, Run()), start, max_iter=1).state
    quick = iterate(QuasiNewton(), Matching(S, Run()), start, max_iter=1).state
    L, other = ((s.Y * s.values) @ s.Y.T for s in (plain, quick))
    np.testing.assert_allclose(other, L, atol=1e-6 * np.abs(L).max())


def test_quasi_newton_stops_where_nothing_is_left_to_gain(task):
    S, rows = task
    found = iterate(QuasiNewton(tol=0.01), Matching(S, Run()), svd_start(rows, 8, 0.92), max_iter=200)
    assert found.status.converged
    assert found.n_iter < 200
    assert found.state.residual <= 0.01


def test_quasi_newton_goes_on_from_a_checkpoint(task, tmp_path):
    S, rows = task
    start, path = svd_start(rows, 5, 0.92), tmp_path / "run"
    whole = iterate(QuasiNewton(), Matching(S, Run()), start, max_iter=12).state
    kept = Run(checkpoint=path)
    iterate(QuasiNewton(), Matching(S, Run()), start, kept, max_iter=7)
    resumed = iterate(QuasiNewton(), Matching(S, Run()), start, kept, max_iter=12).state
    assert resumed.iteration == 12
    assert (resumed.Y.tobytes(), resumed.values.tobytes()) == (whole.Y.tobytes(), whole.values.tobytes())


@pytest.mark.parametrize(
    ("values", "binds", "near"), [([-4, 2, 1, 1], False, 1e-6), ([-16, 4, 3, 2], True, 1e-2)]
)
def test_the_slope_of_the_objective_against_differences(values, binds, near):
    # The sum constraint binds where L is very negative; then δ changes with L, which is told nearly, not exactly.
    S, _ = similarities(cloud(150, m=4), 0.5, Run())
    ones = np.ones((S.n, 1)) + 0.3 * rng(1).normal(size=(S.n, 1))
    Q = np.linalg.qr(np.concatenate([ones, rng(2).normal(size=(S.n, 3))], axis=1))[0]
    values = S.n * np.array(values, dtype=float)
    dense = DenseMatching(S.dense(), S.total, S.threshold)
    L = (Q * values) @ Q.T
    found = Matching(S, Run()).product(Factors(Q, values), Q)
    assert (found.delta > 0) == binds
    assert (L[S.dense() == 0] > 0).any()
    for seed in range(3):
        W = rng(10 + seed).normal(size=Q.shape)
        change = W @ Q.T + Q @ W.T
        rise = (dense.objective(L + 1e-6 * change) - dense.objective(L - 1e-6 * change)) / 2e-6
        scale = 4 * np.linalg.norm(found.slope) * np.linalg.norm(W)
        assert abs(4 * np.sum(found.slope * W) - rise) <= near * scale


def test_tangent_vectors_against_matrices():
    n, d = 40, 3
    draw = rng(4)

    def place(seed):
        return Factors(np.linalg.qr(rng(seed).normal(size=(n, d)))[0], np.array([3.0, -2.0, 1.0]))

    def vector(L):
        U = draw.normal(size=(n, d))
        M = draw.normal(size=(d, d))
        return M + M.T, U - L.basis @ (L.basis.T @ U)

    def matrix(L, v):
        return L.basis @ v[0] @ L.basis.T + v[1] @ L.basis.T + L.basis @ v[1].T

    L, other = place(1), place(2)
    a, b = vector(L), vector(L)
    assert inner(a, b) == pytest.approx(np.sum(matrix(L, a) * matrix(L, b)))
    # The projection on the tangent space at Q is A − (I − P) A (I − P), P = Q Qᵀ.
    away = np.eye(n) - other.basis @ other.basis.T
    A = matrix(L, a)
    np.testing.assert_allclose(
        matrix(other, carried(a, L.basis, other.basis)), A - away @ A @ away, atol=1e-12
    )
    for step in (a, (a[0], np.zeros((n, d)))):  # the second has no part outside the basis
        wanted = (L.basis * L.values) @ L.basis.T + 0.5 * matrix(L, step)
        values, vectors = np.linalg.eigh(wanted)
        values[1:] = np.maximum(values[1:], 0)  # at most one negative eigenvalue
        top = np.argsort(-np.abs(values))[:d]
        found = along(L, step, 0.5)
        np.testing.assert_allclose(
            (found.basis * found.values) @ found.basis.T,
            (vectors[:, top] * values[top]) @ vectors[:, top].T,
            atol=1e-12,
        )


def test_the_start_is_that_of_the_linear_projections(task):
    _, rows = task
    F = svd_start(rows, 5, 0.8)
    V = svd_map(rows, 5)
    norms = np.linalg.norm(V, axis=1)
    signs = np.append(np.ones(5), -1)
    np.testing.assert_allclose(
        (F * signs) @ F.T, V @ V.T - 0.8 * np.outer(norms, norms), atol=1e-8 * norms.max() ** 2
    )


@pytest.mark.parametrize("solver", [FactorUpdates(0.9), QuasiNewton()])
def test_a_perfect_fit_stays_one(solver):
    # Rows that lie in three dimensions are their own best map there.
    X = cloud(150, m=3)
    S, rows = similarities(X, 0.5, Run())
    state = iterate(solver, Matching(S, Run()), svd_start(rows, 4, 0.5), max_iter=5).state
    assert objective(S, state) < 1e-6 * np.sum(S.values.astype(float) ** 2)


# -------------------------------------------------------------------------------------------- Gram


@pytest.mark.parametrize("d", [2, 5])
def test_gram_step_agrees_with_the_matrix(d):
    tau, n = 0.7, 40
    basis, _ = np.linalg.qr(rng(d).normal(size=(n, d)))
    values = np.linspace(9.0, 2.0, d)
    values[-1] = -1.0
    found = outputs(basis, values, tau)
    L = (basis * values) @ basis.T
    s = np.sqrt(np.maximum(0, np.diag(L)))
    w, vectors = np.linalg.eigh(L + tau / (1 - tau) * np.outer(s, s))
    np.testing.assert_allclose(found.eigenvalues[0], w[-1])
    np.testing.assert_allclose(np.sort(found.eigenvalues)[0], w[0], atol=1e-12)
    Y = vectors[:, ::-1][:, :d] * np.sqrt(np.maximum(0, w[::-1][:d]))
    np.testing.assert_allclose(found.Y @ found.Y.T, Y @ Y.T, atol=1e-10)


def test_gram_step_recovers_rows_from_their_own_products():
    X, tau = cloud(60, m=4), 0.6
    r = np.linalg.norm(X, axis=1)
    w, q = np.linalg.eigh(X @ X.T - tau * np.outer(r, r))
    top = np.argsort(-np.abs(w))[:5]  # the matrix of eq 7 has rank d + 1
    found = outputs(q[:, top], w[top], tau)
    np.testing.assert_allclose(found.Y[:, :4] @ found.Y[:, :4].T, X @ X.T, atol=1e-8)
    assert found.negative < 1e-9
    warn_if_not_a_gram_matrix(outputs(q[:, top[:4]], w[top[:4]], tau))


def test_negative_eigenvalues_ask_for_more_dimensions():
    basis, _ = np.linalg.qr(rng(3).normal(size=(30, 2)))
    with pytest.warns(DataWarning, match="n_components above 2"):
        warn_if_not_a_gram_matrix(outputs(basis, np.array([1.0, -5.0]), 0.5))


# --------------------------------------------------------------------------------------- extension


def test_weights_agree_with_least_squares():
    X = cloud(50, m=7)
    index = np.array([[j for j in rng(i).permutation(50) if j != i][:6] for i in range(50)])
    found = local_weights(X, X, index, 1e-3, Run())
    for i in (0, 17, 49):
        A = X[index[i]].T
        penalty = np.sqrt(1e-3) * np.diag(np.linalg.norm(X[index[i]], axis=1))
        expected = np.linalg.lstsq(np.vstack([A, penalty]), np.append(X[i], np.zeros(6)), rcond=None)[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-8, atol=1e-10)
    alone = local_weights(X[9:10], X, index[9:10], 1e-3, Run())
    assert alone.tobytes() == found[9].tobytes()
    for jobs in (2, 3):
        assert local_weights(X, X, index, 1e-3, Run(n_jobs=jobs)).tobytes() == found.tobytes()


def test_extension_solves_the_normal_equations():
    X = cloud(120, m=6)
    marks = np.sort(rng(5).permutation(120)[:40])
    places = X[marks, :3] + 0.1
    Y = wk.locally_linear_extension(X, marks, places, n_neighbors=9, regularization=1e-3, random_state=0)
    np.testing.assert_array_equal(Y[marks], places)
    near = wk.graph.knn(X, 9, metric="cosine").knn_indices
    W = np.zeros((120, 120))
    np.put_along_axis(W, near.astype(int), local_weights(X, X, near, 1e-3, Run()), axis=1)
    M = np.eye(120) - W
    free = np.setdiff1d(np.arange(120), marks)
    exact = np.linalg.lstsq(M[:, free], -M[:, marks] @ places, rcond=None)[0]
    np.testing.assert_allclose(Y[free], exact, atol=2e-3 * np.abs(exact).max())

    def error(places_of_free):
        return np.sum((M[:, free] @ places_of_free + M[:, marks] @ places) ** 2)

    assert error(Y[free]) == pytest.approx(error(exact), rel=1e-5)
    for jobs in (2, 3):
        again = wk.locally_linear_extension(
            X, marks, places, n_neighbors=9, regularization=1e-3, random_state=0, n_jobs=jobs
        )
        assert again.tobytes() == Y.tobytes()


def test_products_in_single_precision_and_any_order_are_those_of_the_matrix():
    X, free = cloud(150, m=6), np.arange(50, 150)
    near = wk.graph.knn(X, 9, metric="cosine").knn_indices
    weights = local_weights(X, X, near, 1e-3, Run())
    M = np.eye(150)
    np.put_along_axis(M, near.astype(int), -weights, axis=1)
    start, P = rng(7).normal(size=(150, 5)), rng(8).normal(size=(100, 5))
    exact = M[:, free].T @ (M[:, free] @ P)
    size = np.abs(exact).max()
    for single, tol in ((False, 1e-12), (True, 2e-6)):
        system = ExtensionSystem(near, weights, free, start, Run(), single=single)
        np.testing.assert_allclose(system @ P, exact, atol=tol * size)
        np.testing.assert_allclose(system.right, -M[:, free].T @ (M[:, :50] @ start[:50]), atol=tol * size)
        assert system.value(start) == pytest.approx(np.sum((M @ start) ** 2) / 150, rel=10 * tol)
        assert (system @ P).tobytes() == (
            ExtensionSystem(near, weights, free, start, Run(n_jobs=3), single=single) @ P
        ).tobytes()


def test_rows_are_ordered_by_neighbourhood():
    angle = rng(9).permutation(1000) / 1000 * np.pi
    rows = np.column_stack([np.cos(angle), np.sin(angle)]) * rng(10).uniform(1, 9, (1000, 1))
    order = neighborhood_order(rows)
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    steps = np.abs(np.diff(angle[order]))
    assert steps.mean() < 0.1 * np.abs(np.diff(angle)).mean()


def test_extension_of_a_linear_map_is_that_map():
    # Weights that make up a row make up its image under a linear map.
    X = np.vstack([cloud(200, m=4), np.zeros((1, 4))])
    A = rng(6).normal(size=(4, 3))
    mask = np.arange(201) % 3 == 0
    Y = wk.locally_linear_extension(X, mask, X[mask] @ A, n_neighbors=12, regularization=1e-8, random_state=0)
    np.testing.assert_allclose(Y, X @ A, atol=1e-3)
    assert not Y[-1].any()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"landmarks": [0, 0]}, InvalidInputError, "different row numbers"),
        ({"landmarks": [0, 99]}, InvalidInputError, "different row numbers"),
        ({"landmarks": []}, InvalidInputError, "at least one"),
        ({"Y_landmarks": np.ones((3, 2))}, InvalidInputError, "one place per landmark"),
        ({"regularization": 0.0}, InvalidParameterError, "regularization"),
        ({"tol": -1.0}, InvalidParameterError, "tol"),
        ({"n_neighbors": 0}, InvalidParameterError, "n_neighbors"),
    ],
)
def test_misused_extension(change, error, message):
    given = {"X": cloud(30), "landmarks": [0, 5], "Y_landmarks": np.ones((2, 2))} | change
    with pytest.raises(error, match=message):
        wk.locally_linear_extension(**given)


def test_one_landmark_gives_every_direction():
    X = cloud(30)
    Y = wk.locally_linear_extension(X, [4], [[1.0, 2.0]], random_state=0)
    assert np.isfinite(Y).all()
    np.testing.assert_array_equal(Y[4], [1.0, 2.0])


def test_own_places_tell_equal_rows_by_their_numbers():
    fitted = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]], dtype=np.float32)
    rows = np.array([[2.0, 3.0], [-0.0, 1.0], [0.0, 1.0 + 1e-12]])
    np.testing.assert_array_equal(own_places(rows, fitted), [1, 0, -1])


# --------------------------------------------------------------------------------------- baselines


@pytest.mark.parametrize("shape", [(60, 8), (8, 60)])
def test_svd_map_is_the_truncated_decomposition(shape):
    X = rng(1).normal(size=shape)
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    Y = svd_map(X, 5)
    np.testing.assert_allclose(Y @ Y.T, (U[:, :5] * s[:5] ** 2) @ U[:, :5].T, atol=1e-9)
    wide = svd_map(X, 12)
    assert wide.shape == (shape[0], 12)
    np.testing.assert_allclose(wide @ wide.T, X @ X.T, atol=1e-9)
    with pytest.raises(InvalidParameterError, match="n_components"):
        svd_map(X, 0)


def test_isomap_unrolls_an_arc():
    # Along a quarter circle of small steps, path lengths are arc lengths: one dimension holds them.
    a = np.linspace(0, np.pi / 2, 80)
    X = np.column_stack([np.cos(a), np.sin(a)]) * rng(2).uniform(1, 3, size=(80, 1))
    tau = float(np.cos(1.5 * (a[1] - a[0])))
    assert similarity_graph(X, tau).n_edges == 79
    Y = isomap_map(X, 1, tau)[:, 0]
    np.testing.assert_allclose(np.abs(Y[-1] - Y[0]), np.pi / 2, rtol=1e-3)
    assert (np.diff(Y) > 0).all() or (np.diff(Y) < 0).all()


# ------------------------------------------------------------------------------------------ similarities of one's own


@pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning")
def test_a_given_matrix_is_matched(monkeypatch):
    X = wk.datasets.load_digits().X[:200]
    norms = np.linalg.norm(X, axis=1)
    S = np.maximum(0, X @ X.T - 0.85 * np.outer(norms, norms))
    made = match_similarities(sp.csr_matrix(S), 12, threshold=0.85, max_iter=80, n_jobs=1)
    np.testing.assert_allclose(np.linalg.norm(made.Y, axis=1), norms, rtol=1e-9)
    linear = svd_map(X, 12)
    assert (
        angular_deviation(X, made.Y, threshold=0.85).value
        < 0.5 * angular_deviation(X, linear, threshold=0.85).value
    )
    assert jaccard(X, made.Y, threshold=0.85).value > jaccard(X, linear, threshold=0.85).value
    again = match_similarities(S, 12, threshold=0.85, max_iter=80, n_jobs=2)
    assert again.Y.tobytes() == made.Y.tobytes()
    assert match_similarities(np.eye(5), 3, threshold=0.5, max_iter=5).Y.shape == (5, 3)
    monkeypatch.setattr(
        "winkel.methods.tsm.given._SMALL", 0
    )  # without a dense matrix it starts from the same place
    sparsely = match_similarities(S, 12, threshold=0.85, max_iter=0, n_jobs=1)
    assert sparsely.objective == pytest.approx(made.history.objective[0], rel=1e-4)


@pytest.mark.parametrize(
    ("S", "message"),
    [
        (np.ones((2, 3)), "square"),
        (-np.eye(3), "not negative"),
        (np.ones((3, 3)) - np.eye(3), "no diagonal entry"),
        (np.array([[1.0, 0.5], [0.1, 1.0]]), "symmetric"),
        (np.diag([1.0, np.nan]), "finite"),
    ],
)
def test_misused_similarities(S, message):
    with pytest.raises(InvalidInputError, match=message):
        match_similarities(S, 2, threshold=0.5)


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("columns", [16, 128])
def test_products_of_many_rows_are_those_entry_by_entry(rising, columns):
    """Rows beyond a tile of the cache; entries in their order, so that tiles and threads leave no trace."""
    n, k, draw = 4500, 7, rng(3)
    index = draw.integers(0, n, size=(n, k)).astype(np.int32)
    if rising:
        index.sort(axis=1)
    weights = draw.normal(size=(n, k)).astype(np.float32)
    Y = draw.normal(size=(n, columns)).astype(np.float32)
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32)
    found = [np.empty_like(Y) for _ in range(2)]
    for threads, out in zip((1, 3), found):
        _core.remainder_apply(indptr, index.ravel(), weights.ravel(), threads, Y, out)
    W = sp.csr_matrix((weights.ravel().astype(float), index.ravel(), indptr), shape=(n, n))
    assert np.allclose(found[0], Y - W @ Y.astype(float), rtol=0, atol=1e-4)
    assert found[0].tobytes() == found[1].tobytes()
