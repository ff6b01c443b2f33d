"""Distances that the user brings: asymmetric ones are refused wherever they are read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.errors import InvalidInputError

from ..estimators import instances, make, rows

X = rows(30, 4)
D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
CROOKED = D.copy()
CROOKED[3, 5] *= 2


@pytest.mark.filterwarnings("ignore:perplexity")
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("instance", ["MDE", "MDE-distances", "LVM", "TSNE", "UMAP"])
def test_asymmetric_distances_are_refused(instance, form):
    name, own = instances()[instance]
    with pytest.raises(InvalidInputError, match="the matrix of distances must be symmetric"):
        make(name, **own, metric="precomputed").fit(form(CROOKED))


def test_one_direction_alone_stands_for_both():
    near = wk.graph.knn(X, 5).knn_indices
    known = sp.lil_matrix(D.shape)
    for i in range(len(X)):
        known[i, near[i]] = D[i, near[i]]
    assert wk.graph.knn(known.tocsr(), 4, metric="precomputed").n == len(X)
    noisy = D * (1 + 1e-7 * np.random.Generator(np.random.Philox(key=1)).normal(size=D.shape))
    assert wk.graph.knn(noisy, 4, metric="precomputed").n == len(X)
