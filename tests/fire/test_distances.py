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


def known_distances(k: int, short: dict[int, int]) -> sp.csr_matrix:
    """Distances to the k nearest, symmetric; rows of `short` keep so many of them, which others do not know either."""
    near, known = wk.graph.knn(X, k).knn_indices, np.zeros(D.shape, dtype=bool)
    for i in range(len(X)):
        known[i, near[i]] = known[near[i], i] = True
    for i, few in short.items():
        known[i] = known[:, i] = False
        known[i, near[i, :few]] = known[near[i, :few], i] = True
    return sp.csr_matrix(np.where(known, D, 0.0))


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
@pytest.mark.parametrize("instance", ["MDE", "MDE-log", "MDE-standardized", "MDE-distances", "LVM"])
def test_rows_with_fewer_distances_than_neighbors_are_mapped(instance):
    name, own = instances()[instance]
    known = known_distances(9, {3: 2, 4: 1})
    assert np.diff(known.indptr)[[3, 4]].tolist() == [2, 1]
    made = make(name, **{**own, "max_iter": 60}, metric="precomputed").fit(known)
    lists = wk.graph.knn(known, 6, metric="precomputed")
    assert (lists.knn_indices[4, 1:] == -1).all()
    assert np.isinf(lists.knn_distances[4, 1:]).all()
    assert np.isfinite(made.embedding_).all()
    # What is known of the row decides: it stands nearer to its neighbour than to most others.
    apart = np.linalg.norm(made.embedding_ - made.embedding_[4], axis=1)
    assert apart[lists.knn_indices[4, 0]] <= np.median(apart)


@pytest.mark.parametrize("instance", ["TSNE", "UMAP", "AttractRepel-lle"])
def test_objectives_that_need_full_lists_say_which_row_is_short(instance):
    name, own = instances()[instance]
    own = {"TSNE": {"perplexity": 2}, "UMAP": {"n_neighbors": 6}}.get(
        name, {"objective": wk.objectives.LLE(6, kernel_x="fuzzy")}
    )
    with pytest.raises(
        InvalidInputError,
        match=r"needs 6 neighbours of every row; 2 rows have fewer, the first is row 3 with 2",
    ):
        make(name, **own, metric="precomputed").fit(known_distances(9, {3: 2, 4: 1}))
    assert make(name, **own, metric="precomputed").fit(known_distances(9, {})).n_iter_ > 0


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_a_row_without_any_distance():
    known = known_distances(9, {3: 0})
    made = make("MDE", metric="precomputed").fit(known)
    assert np.isfinite(made.embedding_).all()
    with pytest.warns(wk.errors.DataWarning, match="components"):
        assert np.isfinite(make("LVM", metric="precomputed").fit(known).embedding_).all()


def test_measures_need_all_distances():
    known = known_distances(9, {})
    with pytest.raises(InvalidInputError, match="entries that are not stored are unknown, not zero"):
        wk.measure(known, X[:, :2], metric="precomputed", n_neighbors=5)
