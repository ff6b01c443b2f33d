"""What table 2 of Tasissa, Tankala, Murphy and Ba (2023) compares with, each about as long as its equations.

All take rows, the number of clusters and a seed, and return a label for every row. `n_marks` is the number of landmarks
(LLLE, LSC) or of neighbours that a row may be made of (SMCE).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import randomized_svd


def k_means(X: np.ndarray, k: int, n_marks: int, seed: int) -> np.ndarray:
    return KMeans(k, n_init=10, random_state=seed).fit_predict(X)


def smce(X: np.ndarray, k: int, n_marks: int, seed: int, penalty: float = 10.0) -> np.ndarray:
    """Sparse manifold clustering and embedding (Elhamifar and Vidal 2011), with weights that are not negative.

    Row i: min over the simplex of λ q·c + ½‖Σ_j c_j (y_j − y_i)/‖y_j − y_i‖‖², q the distances in proportion to their sum.
    """
    near = min(n_marks, 50, len(X) - 1)
    distance, index = (part[:, 1:] for part in NearestNeighbors(n_neighbors=near + 1).fit(X).kneighbors(X))
    distance = np.maximum(distance, 1e-12)
    q = distance / distance.sum(axis=1, keepdims=True)
    codes = np.empty((len(X), near))
    for start in range(0, len(X), 256):
        part = slice(start, start + 256)
        steps = (X[index[part]] - X[part][:, None]) / distance[part][:, :, None]
        codes[part] = _on_simplex(np.einsum("ijd,ikd->ijk", steps, steps, optimize=True), penalty * q[part])
    weights = codes / distance
    weights /= weights.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(len(X)), near)
    W = sp.csr_matrix((weights.ravel(), (rows, index.ravel())), shape=(len(X), len(X)))
    return SpectralClustering(
        k, affinity="precomputed", n_init=20, random_state=seed, assign_labels="kmeans"
    ).fit_predict(W.maximum(W.T))


def _on_simplex(G: np.ndarray, linear: np.ndarray, n_steps: int = 300) -> np.ndarray:
    """The least of ½cᵀGc + linear·c over the simplex, for each row, by accelerated projected gradient."""
    m = linear.shape[1]
    step = 1.0 / np.maximum(np.abs(G).sum(axis=2).max(axis=1), 1e-12)[:, None]
    before = ahead = np.full(linear.shape, 1.0 / m)
    for t in range(n_steps):
        c = _project(ahead - step * (np.einsum("ijk,ik->ij", G, ahead) + linear))
        ahead = c + t / (t + 3.0) * (c - before)
        before = c
    return before


def _project(points: np.ndarray, cut: np.ndarray | None = None) -> np.ndarray:
    """The nearest points of the simplex: max(0, points − cut), the cut of each row by Newton's method from a guess."""
    most = points.max(axis=1)
    cut = most - 1.0 if cut is None else np.minimum(cut, most - 1.0 / points.shape[1])
    for _ in range(100):
        above = points > cut[:, None]
        before, cut = cut, (np.where(above, points, 0.0).sum(axis=1) - 1.0) / above.sum(axis=1)
        if np.abs(cut - before).max() <= 1e-6:
            break
    return np.maximum(points - cut[:, None], 0.0)


def unrolled(X: np.ndarray, atoms: np.ndarray, locality: float, layers: int, *, printed: bool) -> np.ndarray:
    """Codes by KDS's encoder (section 5.1): so many accelerated steps of length 1/σ²max from zero, done or not.

    `printed` takes η ← (1 + √(1 + 4η))/2 as it stands in the paper, where the usual acceleration has 4η².
    """
    X, atoms = X.astype(np.float32), atoms.astype(np.float32)
    gram, products = atoms @ atoms.T, X @ atoms.T
    far = np.maximum((X**2).sum(axis=1)[:, None] - 2.0 * products + (atoms**2).sum(axis=1), 0.0)
    linear, length = locality * far - products, np.float32(np.linalg.eigvalsh(gram)[-1])
    before = ahead = np.zeros_like(products)
    cut, eta = None, 0.0
    for _ in range(layers):
        points = ahead - (ahead @ gram + linear) / length
        code = _project(points, cut)
        cut = (np.where(code > 0, points, 0.0).sum(axis=1) - 1.0) / (code > 0).sum(axis=1)
        after = (1.0 + np.sqrt(1.0 + 4.0 * (eta if printed else eta**2))) / 2.0
        ahead = code + np.float32((eta - 1.0) / after) * (code - before)
        before, eta = code, after
    return before


def llle(X: np.ndarray, k: int, n_marks: int, seed: int, by: str = "uniform", near: int = 5) -> np.ndarray:
    """Locally linear landmarks (Vladymyrov and Carreira-Perpiñán 2013): weights of near landmarks that sum to one."""
    draw = np.random.Generator(np.random.Philox(key=seed))
    marks = X[np.sort(draw.choice(len(X), n_marks, replace=False))]
    if by == "k-means":
        marks = KMeans(n_marks, init=marks, n_init=1, max_iter=20).fit(X).cluster_centers_
    near = min(near, n_marks)
    index = NearestNeighbors(n_neighbors=near).fit(marks).kneighbors(X, return_distance=False)
    steps = marks[index] - X[:, None]
    G = np.einsum("ijd,ikd->ijk", steps, steps)
    G += 1e-3 * np.trace(G, axis1=1, axis2=2)[:, None, None] * np.eye(near) + 1e-12 * np.eye(near)
    w = np.linalg.solve(G, np.ones((len(X), near, 1)))[:, :, 0]
    w = np.abs(w / w.sum(axis=1, keepdims=True))
    return _by_marks(w, index, n_marks, k, seed)


def lsc(X: np.ndarray, k: int, n_marks: int, seed: int, near: int = 5) -> np.ndarray:
    """Landmark-based spectral clustering (Chen and Cai 2011), landmarks by farthest-first search."""
    chosen = [int(np.random.Generator(np.random.Philox(key=seed)).integers(len(X)))]
    nearest = cdist(X, X[chosen]).ravel()
    for _ in range(n_marks - 1):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, cdist(X, X[chosen[-1:]]).ravel())
    distance, index = NearestNeighbors(n_neighbors=min(near, n_marks)).fit(X[chosen]).kneighbors(X)
    w = np.exp(-((distance / distance.mean()) ** 2) / 2.0)
    return _by_marks(w / w.sum(axis=1, keepdims=True), index, n_marks, k, seed)


def _by_marks(w: np.ndarray, index: np.ndarray, n_marks: int, k: int, seed: int) -> np.ndarray:
    """k-means on the directions of the first singular vectors of the weights Z D^(−½)."""
    rows = np.repeat(np.arange(len(w)), w.shape[1])
    Z = sp.csr_matrix((w.ravel(), (rows, index.ravel())), shape=(len(w), n_marks))
    degree = np.asarray(Z.sum(axis=0)).ravel()
    U = randomized_svd(Z @ sp.diags(1.0 / np.sqrt(np.maximum(degree, 1e-12))), k, random_state=seed)[0]
    U = U / np.maximum(np.linalg.norm(U, axis=1, keepdims=True), 1e-12)
    return KMeans(k, n_init=20, random_state=seed).fit_predict(U)
