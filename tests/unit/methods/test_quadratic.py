"""wk.quadratic: every method's weights, constraint, objective, repeatability, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError, MemoryLimitError
from winkel.methods.quadratic import inner_products
from winkel.solvers import eigen


def data(n=90, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


def distance_matrix(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


METHODS = {
    "pca": lambda X, m: wk.quadratic.pca(X, m),
    "kernel_pca": lambda X, m: wk.quadratic.kernel_pca(X, m, gamma=0.05),
    "laplacian": lambda X, m: wk.quadratic.laplacian(X, m, n_neighbors=8),
    "normalized": lambda X, m: wk.quadratic.laplacian(X, m, n_neighbors=8, normalized=True),
    "lle": lambda X, m: wk.quadratic.lle(X, m, n_neighbors=8),
    "classical_mds": lambda X, m: wk.quadratic.classical_mds(distance_matrix(X), m),
    "isomap": lambda X, m: wk.quadratic.isomap(X, m, n_neighbors=8),
    "mvu": lambda X, m: wk.quadratic.mvu(X[:40], m, n_neighbors=6),
}


@pytest.mark.parametrize("name", METHODS)
class TestEveryMethod:
    def test_objective_is_the_weighted_mean_of_squared_distances(self, name):
        q = METHODS[name](data(), 3)
        d2 = ((q.Y[q.edges[:, 0]] - q.Y[q.edges[:, 1]]) ** 2).sum(axis=1)
        assert q.objective == pytest.approx(float(np.mean(q.weights * d2)), rel=1e-7)
        assert q.n_edges == len(q.edges) == len(q.weights)
        assert (q.edges[:, 0] < q.edges[:, 1]).all()

    def test_solution_is_standardized(self, name):
        q = METHODS[name](data(), 3)
        masses = np.ones(q.n) if q.masses is None else q.masses
        np.testing.assert_allclose(q.Y.T @ (masses[:, None] * q.Y) / q.n, np.eye(3), atol=1e-10)
        np.testing.assert_allclose(masses @ q.Y, 0, atol=1e-9)
        assert (np.diff(q.eigenvalues) >= -1e-12).all()

    def test_weights_alone_lead_to_the_same_value(self, name):
        from winkel.solvers.eigen import exact_quadratic

        q = METHODS[name](data(), 2)
        _, value = exact_quadratic(q.edges, q.weights, q.n, 2)
        if name == "normalized":
            assert value != pytest.approx(q.objective)  # its constraint is another one
        else:
            assert value == pytest.approx(q.objective, rel=1e-6)

    def test_same_bytes_again(self, name):
        first, second = METHODS[name](data(), 2), METHODS[name](data(), 2)
        assert first.Y.tobytes() == second.Y.tobytes()
        assert first.eigenvalues.tobytes() == second.eigenvalues.tobytes()

    def test_too_many_components(self, name):
        with pytest.raises(InvalidParameterError, match="n_components must lie between 1 and"):
            METHODS[name](data(n=20), 40)

    def test_result_is_read_only(self, name):
        q = METHODS[name](data(), 2)
        with pytest.raises(ValueError, match="read-only"):
            q.Y[0] = 0
        with pytest.raises(AttributeError):
            q.Y = None


@pytest.mark.parametrize(
    "method", [wk.quadratic.isomap, wk.quadratic.lle, wk.quadratic.laplacian, wk.quadratic.pca]
)
def test_same_bytes_for_any_number_of_threads(method, monkeypatch):
    from threadpoolctl import threadpool_limits

    monkeypatch.setattr(eigen, "_DENSE_UP_TO", 100)
    X = data(400, 12).astype(np.float32)
    found = set()
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            jobs = {} if method is wk.quadratic.pca else {"n_jobs": threads}
            found.add(method(X, 2, **jobs).Y.tobytes())
    assert len(found) == 1


# ------------------------------------------------------------------------------------ pca, kernel pca


def test_pca_weights_are_inner_products_of_centred_rows():
    X = data()
    q = wk.quadratic.pca(X, 2)
    centred = X - X.mean(axis=0)
    i, j = q.edges.T
    np.testing.assert_allclose(q.weights, (centred[i] * centred[j]).sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("shape", [(300, 20), (20, 300)])
@pytest.mark.parametrize("limits", [(0, 4000), (0, 10)], ids=["gram", "products"])
@pytest.mark.parametrize("sparse", [False, True])
def test_pca_of_large_data_agrees_with_the_singular_vectors(monkeypatch, shape, limits, sparse):
    X = data(*shape) * (np.random.default_rng(1).uniform(size=shape) < 0.3)
    oracle = wk.quadratic.pca(X, 3)
    monkeypatch.setattr(inner_products, "_SVD_UP_TO", limits[0])
    monkeypatch.setattr(inner_products, "_GRAM_UP_TO", limits[1])
    q = wk.quadratic.pca(sp.csr_array(X) if sparse else X, 3)
    np.testing.assert_allclose(q.eigenvalues, oracle.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(q.Y, oracle.Y, atol=1e-6)
    np.testing.assert_allclose(q.weights, oracle.weights, atol=1e-8)


def test_pca_refuses_axes_without_variance():
    flat = np.repeat(data(10, 2), 3, axis=0) @ np.ones((2, 5))
    assert wk.quadratic.pca(flat, 1).Y.shape == (30, 1)
    with pytest.raises(InvalidInputError, match="only 1 axes with variance"):
        wk.quadratic.pca(flat, 2)
    with pytest.raises(InvalidInputError, match="all items coincide"):
        wk.quadratic.pca(np.ones((10, 3)), 1)


def test_duplicates_share_their_place():
    X = np.repeat(data(30), 2, axis=0)
    for q in (
        wk.quadratic.pca(X),
        wk.quadratic.kernel_pca(X),
        wk.quadratic.classical_mds(distance_matrix(X)),
    ):
        np.testing.assert_allclose(q.Y[::2], q.Y[1::2], atol=1e-9)


def test_linear_kernel_is_pca_and_given_kernel_is_taken():
    X = data()
    a, b = wk.quadratic.pca(X), wk.quadratic.kernel_pca(X, kernel="linear")
    c = wk.quadratic.kernel_pca(X @ X.T, kernel="precomputed")
    np.testing.assert_allclose(b.to_textbook(), a.to_textbook(), atol=1e-8)
    np.testing.assert_allclose(c.to_textbook(), a.to_textbook(), atol=1e-8)
    np.testing.assert_allclose(b.weights, a.weights, atol=1e-8)


def test_sparse_rows_give_the_same_kernel():
    X = data() * (np.random.default_rng(1).uniform(size=(90, 6)) < 0.5)
    for kernel in ("linear", "rbf", "polynomial"):
        dense = wk.quadratic.kernel_pca(X, kernel=kernel)
        sparse = wk.quadratic.kernel_pca(sp.csr_array(X), kernel=kernel)
        np.testing.assert_allclose(sparse.Y, dense.Y, atol=1e-8)


@pytest.mark.parametrize("bad", [{"kernel": "cosine"}, {"gamma": -1.0}, {"degree": 0}, {"coef0": np.inf}])
def test_kernel_parameters_are_checked(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        wk.quadratic.kernel_pca(data(), **bad)


def test_kernel_matrix_must_be_square_and_symmetric():
    with pytest.raises(InvalidInputError, match="square"):
        wk.quadratic.kernel_pca(data(), kernel="precomputed")
    K = np.eye(5)
    K[1, 3] = 0.5
    with pytest.raises(InvalidInputError, match=r"entry \(1, 3\) is 0.5"):
        wk.quadratic.kernel_pca(K, kernel="precomputed")


def test_pairs_are_listed_only_if_they_fit():
    q = wk.quadratic.pca(data(), 2)
    with pytest.raises(MemoryLimitError, match="all 4005 pairs"):
        q.pairs(max_memory="10KB")
    large = wk.quadratic.pca(np.random.default_rng(0).normal(size=(20_000, 3)), 2)
    with pytest.raises(MemoryLimitError, match=r"max_memory=2\.0 GB"):
        _ = large.edges
    assert large.n_edges == 199_990_000
    with pytest.raises(MemoryLimitError, match="kernel_pca"):
        wk.quadratic.kernel_pca(data(), max_memory="10KB")


# ------------------------------------------------------------------------------------ distances


def test_points_come_back_from_their_distances():
    X = data(50, 3)
    X -= X.mean(axis=0)
    Y = wk.quadratic.classical_mds(distance_matrix(X), 3).to_textbook()
    np.testing.assert_allclose(distance_matrix(Y), distance_matrix(X), atol=1e-8)
    with pytest.raises(InvalidInputError, match="only 3 axes"):
        wk.quadratic.classical_mds(distance_matrix(X), 4)


def test_distances_are_checked():
    with pytest.raises(InvalidInputError, match="diagonal"):
        wk.quadratic.classical_mds(np.ones((4, 4)))
    with pytest.raises(InvalidInputError, match="negative"):
        wk.quadratic.classical_mds(np.eye(4) - 1)


def test_isomap_and_mvu_need_a_connected_graph():
    apart = np.concatenate([data(20), data(20) + 1000])
    for method in (wk.quadratic.isomap, wk.quadratic.mvu):
        with pytest.raises(InvalidInputError, match="2 components"):
            method(apart, n_neighbors=4)


# ------------------------------------------------------------------------------------ graphs


def test_cycle_becomes_a_circle():
    n = 24
    graph = wk.Graph.from_edges(np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1))
    for normalized in (False, True):
        q = wk.quadratic.laplacian(graph, normalized=normalized)
        radius = (q.Y**2).sum(axis=1)
        np.testing.assert_allclose(radius, radius[0], rtol=1e-10)
        assert q.eigenvalues[0] == pytest.approx(q.eigenvalues[1])


def test_pieces_are_told_apart_with_a_warning():
    apart = np.concatenate([data(20), data(30) + 1000])
    for method in (wk.quadratic.laplacian, wk.quadratic.lle):
        with pytest.warns(DataWarning, match="2 components"):
            q = method(apart, 1, n_neighbors=4)
        assert q.eigenvalues[0] == pytest.approx(0, abs=1e-10)
        assert np.ptp(q.Y[:20]) < 1e-3 < abs(q.Y[0, 0] - q.Y[20, 0])


def test_laplacian_refuses_what_it_cannot_use():
    signed = wk.Graph.from_edges([[0, 1], [1, 2]], [1.0, -1.0])
    with pytest.raises(InvalidInputError, match="negative"):
        wk.quadratic.laplacian(signed, 1)
    lonely = wk.Graph.from_edges([[0, 1], [1, 2]], n=4)
    with pytest.warns(DataWarning), pytest.raises(InvalidInputError, match="an edge at every item"):
        wk.quadratic.laplacian(lonely, 1, normalized=True)


def test_lle_accepts_sparse_rows_and_given_neighbours():
    X = data()
    q = wk.quadratic.lle(X, n_neighbors=8)
    given = wk.quadratic.lle(sp.csr_array(X), graph=wk.graph.knn(X, 8))
    np.testing.assert_allclose(given.Y, q.Y, atol=1e-6)
    with pytest.raises(InvalidParameterError, match="regularization"):
        wk.quadratic.lle(X, regularization=0.0)
    with pytest.raises(InvalidParameterError, match="neighbour graph of the 90 rows"):
        wk.quadratic.lle(X, graph=wk.graph.knn(X[:50], 8))


def test_lle_of_rows_that_all_coincide_with_their_neighbours():
    X = np.repeat(data(12), 6, axis=0)
    with pytest.warns(DataWarning, match="12 components"):
        q = wk.quadratic.lle(X, 2, n_neighbors=4)
    assert np.isfinite(q.Y).all()
