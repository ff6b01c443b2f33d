"""The map of the code graph against the whole graph's eigenvectors, and clusters on it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from winkel.methods.kds import Coder, code_spectrum, encode, orthonormal_spectrum, spectral_clusters
from winkel.methods.kds.code_graph import LOOPS, importance


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def some_codes(n=80, m=12):
    draw = rng()
    return encode(draw.normal(size=(n, 3)), draw.normal(size=(m, 3)), Coder(0.01)).matrix


def bipartite(codes):
    """Weights of the graph of rows and atoms (paper, section 2)."""
    X = codes.toarray()
    n, m = X.shape
    return np.block([[np.zeros((n, n)), X], [X.T, np.zeros((m, m))]])


def test_the_schur_complement_gives_the_eigenvectors_of_the_whole_graph():
    codes = some_codes()
    n = codes.shape[0]
    W = bipartite(codes)
    degree = W.sum(axis=1)
    values, vectors = scipy.linalg.eigh(np.diag(degree) - W, np.diag(degree))
    found = code_spectrum(codes, 3)
    # An eigenvalue ν of the whole graph is 1 − √(1 − μ) here.
    np.testing.assert_allclose(1 - np.sqrt(1 - found.values), values[1:4], atol=1e-10)
    for k in range(3):
        whole = vectors[n:, k + 1]
        cosine = whole @ found.atoms[:, k] / (np.linalg.norm(whole) * np.linalg.norm(found.atoms[:, k]))
        assert abs(cosine) == pytest.approx(1.0, abs=1e-8)
        rows, theirs = codes @ found.atoms[:, k], vectors[:n, k + 1]
        cosine = rows @ theirs / (np.linalg.norm(rows) * np.linalg.norm(theirs))
        assert abs(cosine) == pytest.approx(1.0, abs=1e-8)


def test_the_atoms_solve_the_small_problem():
    codes = some_codes()
    usage = np.asarray(codes.sum(axis=0))
    L = np.diag(usage) - (codes.T @ codes).toarray()
    np.testing.assert_allclose(L.sum(axis=1), 0.0, atol=1e-10)  # a Laplacian
    found = code_spectrum(codes, 4)
    np.testing.assert_allclose(L @ found.atoms, usage[:, None] * found.atoms * found.values, atol=1e-8)
    # Unit variance over the edges, about the origin.
    np.testing.assert_allclose(
        found.atoms.T @ (usage[:, None] * found.atoms) / usage.sum(), np.eye(4), atol=1e-9
    )
    np.testing.assert_allclose(usage @ found.atoms, 0.0, atol=1e-8)


def test_unused_atoms_and_too_many_dimensions():
    codes = some_codes(n=20, m=4)
    wide = sp.csr_array(np.insert(codes.toarray(), 2, 0.0, axis=1))
    found = code_spectrum(wide, 6)
    assert found.atoms.shape == (5, 6)
    assert np.isfinite(found.atoms).all()
    np.testing.assert_array_equal(found.atoms[2], 0.0)
    np.testing.assert_allclose(
        np.delete(found.atoms, 2, axis=0)[:, :3], code_spectrum(codes, 3).atoms, atol=1e-7
    )


def test_pieces_of_the_graph_are_the_clusters():
    blocks = [rng(i).dirichlet(np.ones(4), size=30 + i) for i in range(4)]
    codes = sp.csr_array(sp.block_diag(blocks))
    order = rng(9).permutation(codes.shape[0])
    truth = np.repeat(np.arange(4), [30, 31, 32, 33])[order]
    found = spectral_clusters(codes[order], 4, 0)
    assert len({(a, b) for a, b in zip(truth.tolist(), found.labels.tolist())}) == 4


def test_a_ridge_lets_no_small_piece_be_a_cluster():
    # Two halves that are weakly joined, and a pair of rows with an atom of their own.
    halves = np.kron(np.eye(2), rng().dirichlet(np.ones(5), size=200))
    halves = 0.98 * halves + 0.02 * np.roll(halves, 5, axis=1)
    codes = sp.csr_array(sp.block_diag([halves, np.ones((2, 1))]))
    labels = spectral_clusters(codes, 2, 0, ridge=0.01).labels
    assert len(set(labels[:200])) == len(set(labels[200:400])) == 1
    assert labels[0] != labels[200]
    alone = code_spectrum(codes, 1).atoms[:, 0]  # without it, the pair is the smoothest function there is
    assert abs(alone[-1]) > 10 * np.abs(alone[:-1]).max()


def test_without_loops_it_is_the_spectrum_of_the_graph_of_atoms():
    codes = some_codes()
    W = (codes.T @ codes).toarray()
    np.fill_diagonal(W, 0.0)
    degree = W.sum(axis=1)
    values, vectors = scipy.linalg.eigh(np.diag(degree) - W, np.diag(degree))
    found = code_spectrum(codes, 4, constant=True, loops=0.0)
    np.testing.assert_allclose(found.values, values[:4], atol=1e-10)
    np.testing.assert_allclose(
        np.abs(found.atoms), np.abs(vectors[:, :4]) * np.sqrt(degree.sum()), rtol=1e-6, atol=1e-8
    )


def test_an_atom_that_rows_use_alone_is_no_cluster_but_one_without_links_is():
    # Two halves that are weakly joined. Most rows of the first atom use nothing else.
    halves = np.kron(np.eye(2), rng().dirichlet(np.ones(5), size=100))
    halves = 0.97 * halves + 0.03 * np.roll(halves, 5, axis=1)
    alone = np.tile(np.eye(10)[0], (2000, 1))
    codes = sp.csr_array(np.vstack([halves, alone]))
    labels = spectral_clusters(codes, 2, 0).labels
    assert len(set(labels[:100]) | set(labels[200:])) == 1
    assert set(labels[100:200]) == {1 - labels[0]}
    by_usage = code_spectrum(codes, 2, constant=True).atoms[
        :, 1
    ]  # there the lonely rows stand against all others
    assert np.sign(by_usage[0]) != np.sign(by_usage[1])
    pieces = sp.csr_array(np.repeat(np.eye(3), 7, axis=0))  # no atom is linked to another
    labels = spectral_clusters(pieces, 3, 0).labels
    np.testing.assert_array_equal(labels, np.repeat(labels[::7], 7))
    assert len(set(labels)) == 3


def test_coordinates_after_the_clusters_count_less_after_a_gap():
    flat = importance(np.array([0.0, 0.1, 0.11, 0.12]), 2, 5)
    np.testing.assert_allclose(flat, [1.0, 1.0, np.sqrt(0.1 / 0.11), np.sqrt(0.1 / 0.12), 0.0])
    gap = importance(np.array([0.0, 1e-4, 0.5, 0.6]), 2, 4)
    np.testing.assert_allclose(gap, [1.0, 1.0, np.sqrt(1e-4 / 0.5), np.sqrt(1e-4 / 0.6)])
    np.testing.assert_array_equal(importance(np.zeros(3), 2, 3), 1.0)  # three pieces, none before the others
    np.testing.assert_array_equal(importance(np.array([0.0, 0.3]), 4, 2), 1.0)


def test_as_many_vectors_as_clusters_leave_the_others_out():
    codes = some_codes()
    np.testing.assert_array_equal(
        spectral_clusters(codes, 3, 0, n_vectors=3).spectrum.atoms,
        code_spectrum(codes, 3, constant=True, ridge=0.001, loops=LOOPS).atoms,
    )
    assert spectral_clusters(codes, 3, 0).spectrum.atoms.shape[1] == 6


def test_many_rows_are_clustered_from_some_of_them():
    draw = rng(3)
    blocks = [draw.dirichlet(np.ones(3), size=6000) for _ in range(2)]
    found = spectral_clusters(sp.csr_array(sp.block_diag(blocks)), 2, 0)
    assert len(set(found.labels[:6000])) == len(set(found.labels[6000:])) == 1
    assert found.labels[0] != found.labels[-1]


@pytest.mark.parametrize("pieces", [1, 2])
def test_orthonormal_functions_are_the_smoothest(pieces):
    draw = np.random.Generator(np.random.Philox(key=3))
    parts = [draw.dirichlet(np.ones(5), size=30) for _ in range(pieces)]
    codes = sp.csr_array(sp.block_diag([*parts, np.empty((0, 1))]))  # the last atom is used by nobody
    found = orthonormal_spectrum(codes, 3)
    Q = np.vstack([codes @ found.atoms, found.atoms])
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(Q.sum(axis=0), 0.0, atol=1e-9)
    assert not found.atoms[-1].any()
    X = codes.toarray()
    rough = np.sum(X[:, :, None] * (Q[: 30 * pieces, None] - found.atoms[None]) ** 2)
    assert rough == pytest.approx(found.values.sum(), abs=1e-9)
    assert (found.values[: pieces - 1] < 1e-9).all()
    m = 5 * pieces
    for _ in range(20):  # no other map under the constraint is smoother
        A = draw.normal(size=(m, 3))
        A -= (1 + X[:, :m].sum(axis=0)) @ A / (m + len(X))
        places = np.vstack([X[:, :m] @ A, A])
        A = A @ np.linalg.inv(np.linalg.cholesky(places.T @ places)).T
        places = X[:, :m] @ A
        assert np.sum(X[:, :m, None] * (places[:, None] - A[None]) ** 2) >= found.values.sum()
