"""Each wk.quadratic method against its textbook form, up to an orthogonal map."""

import numpy as np
import pytest
import scipy.linalg

import winkel as wk


def fitted(Y, target):
    """Y turned onto the target by the best orthogonal map."""
    left, _, right = np.linalg.svd(Y.T @ target)
    return Y @ left @ right


@pytest.fixture(scope="module")
def digits():
    """Real data; the small noise breaks ties between neighbours, which pixels in whole numbers have."""
    X = np.asarray(wk.datasets.load_digits().X[:400], np.float64)
    return X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)


@pytest.fixture(scope="module")
def roll():
    """A swiss roll, and the flat sheet it was rolled from: length along the spiral, and height."""
    rng = np.random.default_rng(0)
    angle, height = 1.5 * np.pi * (1 + 2 * rng.uniform(size=1200)), 21 * rng.uniform(size=1200)
    length = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2
    X = np.stack([angle * np.cos(angle), height, angle * np.sin(angle)], axis=1)
    return X, np.stack([length, height], axis=1)


def test_pca(digits):
    from sklearn.decomposition import PCA

    model = PCA(4, svd_solver="full").fit(digits)
    q = wk.quadratic.pca(digits, 4)
    target = model.transform(digits)
    np.testing.assert_allclose(fitted(q.to_textbook(), target), target, atol=1e-9)
    np.testing.assert_allclose(-q.eigenvalues / (len(digits) - 1), model.explained_variance_, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "linear"])
def test_kernel_pca(digits, kernel):
    from sklearn.decomposition import KernelPCA

    theirs = "poly" if kernel == "polynomial" else kernel
    target = KernelPCA(3, kernel=theirs, gamma=1e-3, eigen_solver="dense").fit_transform(digits)
    q = wk.quadratic.kernel_pca(digits, 3, kernel=kernel, gamma=1e-3)
    np.testing.assert_allclose(fitted(q.to_textbook(), target), target, atol=1e-7 * np.abs(target).max())


def test_laplacian(digits):
    graph = wk.graph.knn(digits, 10)
    q = wk.quadratic.laplacian(graph, 3)
    W = graph.adjacency.toarray().astype(np.float64)
    values, vectors = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)
    np.testing.assert_allclose(q.eigenvalues, values[1:4], rtol=1e-8)
    np.testing.assert_allclose(fitted(q.to_textbook(), vectors[:, 1:4]), vectors[:, 1:4], atol=1e-9)


def test_normalized_laplacian(digits):
    from sklearn.manifold import SpectralEmbedding

    graph = wk.graph.knn(digits, 10)
    W = graph.adjacency.toarray().astype(np.float64)
    q = wk.quadratic.laplacian(graph, 3, normalized=True)
    D = np.diag(W.sum(axis=1))
    values, vectors = scipy.linalg.eigh(D - W, D)  # the generalised problem; its vectors have VᵀDV = I
    np.testing.assert_allclose(q.eigenvalues, values[1:4], rtol=1e-8)
    np.testing.assert_allclose(fitted(q.to_textbook(), vectors[:, 1:4]), vectors[:, 1:4], atol=1e-9)
    model = SpectralEmbedding(3, affinity="precomputed", eigen_solver="arpack", random_state=0)
    theirs = model.fit_transform(W)
    np.testing.assert_allclose(np.abs(np.corrcoef(q.Y.T, theirs.T)[:3, 3:]), np.eye(3), atol=0.05)
    np.testing.assert_allclose(np.diagonal(np.abs(np.corrcoef(q.Y.T, theirs.T)[:3, 3:])), 1, atol=1e-6)


def test_lle(digits):
    from sklearn.manifold import LocallyLinearEmbedding

    model = LocallyLinearEmbedding(n_neighbors=12, n_components=2, eigen_solver="dense")
    target = model.fit_transform(digits)
    q = wk.quadratic.lle(digits, 2, n_neighbors=12)
    np.testing.assert_allclose(fitted(q.to_textbook(), target), target, atol=1e-5)
    assert q.eigenvalues.sum() == pytest.approx(model.reconstruction_error_, rel=1e-5)


def test_classical_mds_of_euclidean_distances_is_pca(digits):
    D = np.sqrt(np.maximum(((digits[:, None] - digits[None]) ** 2).sum(axis=2), 0))
    q = wk.quadratic.classical_mds(D, 3)
    target = wk.quadratic.pca(digits, 3).to_textbook()
    np.testing.assert_allclose(fitted(q.to_textbook(), target), target, atol=1e-7)


def test_isomap(digits):
    from sklearn.manifold import Isomap

    target = Isomap(n_neighbors=10, n_components=3, eigen_solver="dense").fit_transform(digits)
    q = wk.quadratic.isomap(digits, 3, n_neighbors=10)
    np.testing.assert_allclose(fitted(q.to_textbook(), target), target, atol=1e-6 * np.abs(target).max())


def test_isomap_unrolls_the_swiss_roll(roll):
    X, flat = roll  # 1200 points: the iterative route
    Y = wk.quadratic.isomap(X, 2, n_neighbors=10).to_textbook()
    target = flat - flat.mean(axis=0)
    turned = fitted(Y, target)
    for axis in range(2):
        assert np.corrcoef(turned[:, axis], target[:, axis])[0, 1] > 0.98


def test_mvu_unrolls_the_swiss_roll():
    # A grid of 24 × 5 on the sheet, slightly disturbed; its sides and diagonals are shorter than the distance
    # of two layers of the roll, so they can be told by their length.
    rng = np.random.default_rng(0)
    flat = np.stack(np.meshgrid(np.linspace(12, 90, 24), np.linspace(0, 13.5, 5)), axis=2).reshape(-1, 2)
    flat += 0.1 * rng.normal(size=flat.shape)
    angles = np.linspace(0, 15, 20_000)
    angle = np.interp(flat[:, 0], (angles * np.sqrt(1 + angles**2) + np.arcsinh(angles)) / 2, angles)
    X = np.stack([angle * np.cos(angle), flat[:, 1], angle * np.sin(angle)], axis=1)
    far = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    edges = np.argwhere(np.triu(far < 5.5, k=1))
    q = wk.quadratic.mvu(wk.Graph.from_edges(edges, distances=far[tuple(edges.T)]), 2)
    target = flat - flat.mean(axis=0)
    turned = fitted(q.to_textbook(), target)
    for axis in range(2):
        assert np.corrcoef(turned[:, axis], target[:, axis])[0, 1] > 0.98
    rolled = fitted(wk.quadratic.pca(X, 2).to_textbook(), target)
    assert np.corrcoef(rolled[:, 0], target[:, 0])[0, 1] < 0.7
