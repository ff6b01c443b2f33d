"""The map of the code graph against the whole graph's eigenvectors, and clusters on it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from winkel.methods.kds import Coder, code_spectrum, encode, spectral_clusters


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
