"""What Draganov and Dohn (2023) show, at the sizes at which they show it."""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.datasets import load_digits

import winkel as wk


def mnist(n):
    if not os.environ.get("WINKEL_DATA"):
        pytest.skip("WINKEL_DATA names no folder with MNIST")
    return np.asarray(wk.datasets.load_mnist().X[:n], dtype=np.float64)


def principal_angle(A, B):
    """The largest angle between the spans of two centred maps."""
    P, Q = (np.linalg.qr(Z - Z.mean(axis=0))[0] for Z in (A, B))
    # By the sine, which is exact where the angle is small.
    return float(np.arcsin(min(1.0, np.linalg.norm(Q - P @ (P.T @ Q), 2))))


def neighbor_accuracy(Y, labels, k=10):
    near = wk.graph.knn(Y, k, method="exact").knn_indices
    return np.mean([np.bincount(labels[row]).argmax() == own for row, own in zip(near, labels)])


def test_figure_2_forces_on_a_random_start_give_pca_of_1000_digits():
    X = mnist(1000)
    fitted = wk.AttractRepel(objective="pca", random_state=0).fit(X)
    centred = X - X.mean(axis=0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    assert fitted.status_.converged
    assert principal_angle(fitted.embedding_, U[:, :2] * s[:2]) < 1e-3
    # Not only the plane but the map: the same up to an orthogonal one.
    np.testing.assert_allclose(
        np.linalg.svd(fitted.embedding_ - fitted.embedding_.mean(axis=0), compute_uv=False),
        s[:2],
        rtol=1e-4,
    )
    assert (np.diff(fitted.history_.objective) <= 1e-9 * fitted.history_.objective[0]).all()


@pytest.mark.slow
def test_two_kernel_lle_tells_the_digits_apart():
    # Leave-one-out accuracy of ten neighbours on the map; 0.98 was measured.
    X, y = load_digits(return_X_y=True)
    Y = wk.AttractRepel(objective="lle", max_iter=300, random_state=0).fit_transform(X.astype(np.float32))
    assert neighbor_accuracy(Y, y) >= 0.97


def test_conjecture_1_on_digits():
    X = load_digits().data[:400]
    found = wk.gradient_agreement(X, None, "umap", "lle", n_points=8, max_iter=60)
    assert found.sign == 1
