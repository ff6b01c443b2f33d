"""The latent variable model on the digits of scikit-learn, against figures of an independent dense implementation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

import winkel as wk

X, LABELS = load_digits(return_X_y=True)
X = X.astype(np.float32)


def nearest_label_accuracy(Y):
    nearest = NearestNeighbors(n_neighbors=1).fit(Y).kneighbors(return_distance=False)[:, 0]
    return float((LABELS[nearest] == LABELS).mean())


def test_digits_without_coarse_graining():
    # A dense NumPy implementation of the equations went from -15 652 to -1 899 in 200 steps with momentum, to a
    # nearest-neighbour accuracy of 0.971 in the plane, and to variances over four orders of magnitude.
    model = wk.LVM(n_neighbors=9, n_steps=1, levels=0, max_iter=200, random_state=0, n_jobs=1).fit(X)
    assert model.log_likelihood_[0] == pytest.approx(-15_652, rel=0.01)
    assert model.log_likelihood_[-1] >= -1_900
    assert nearest_label_accuracy(model.embedding_) >= 0.97
    assert model.variance_.max() / model.variance_.min() > 1e3


def test_digits_with_one_level():
    # The same: 117 landmarks, 50 284 dissimilar pairs instead of 3.2 million, accuracy 0.952.
    model = wk.LVM(n_neighbors=9, n_steps=1, levels=1, max_iter=200, random_state=0, n_jobs=1).fit(X)
    assert model.n_dissimilar_ == pytest.approx(50_284, rel=0.2)  # other random landmarks
    assert nearest_label_accuracy(model.embedding_) >= 0.95
    assert np.isfinite(model.log_likelihood_).all()
