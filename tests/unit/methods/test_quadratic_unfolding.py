"""Maximum variance unfolding: cases worked out by hand, and the proof of optimality each result carries."""

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError, MemoryLimitError, NotConvergedWarning
from winkel.solvers.eigen import bottom_of_graph

RELATIONS = ("equal", "at_most")


def distance_matrix(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


def bent_strip(n=48):
    """Points on a strip bent to three quarters of a circle, and where they lie on the flat strip."""
    along = np.repeat(np.linspace(0, 1.5 * np.pi, n // 3), 3)
    across = np.tile([0.0, 0.35, 0.7], n // 3)
    return np.stack([np.cos(along), np.sin(along), across], axis=1), np.stack([along, across], axis=1)


@pytest.mark.parametrize("relation", RELATIONS)
def test_folded_chain_becomes_straight(relation):
    # A zigzag of unit steps: the largest variance is that of the straight line 0, 1, ..., 9.
    steps = np.stack([np.cos(np.arange(9.0)), np.sin(np.arange(9.0))], axis=1)
    X = np.concatenate([[[0, 0]], np.cumsum(steps, axis=0)])
    chain = wk.Graph.from_edges(
        np.stack([np.arange(9), np.arange(1, 10)], axis=1),
        distances=np.linalg.norm(np.diff(X, axis=0), axis=1),
    )
    q = wk.quadratic.mvu(chain, 1, distances=relation)
    line = np.arange(10) - 4.5
    np.testing.assert_allclose(np.sort(q.to_textbook()[:, 0]), line, atol=1e-3)
    assert np.trace(q.gram) == pytest.approx((line**2).sum(), rel=1e-4)


@pytest.mark.parametrize("relation", RELATIONS)
def test_square_of_four_rods_becomes_flat(relation):
    # A closed chain of four unit rods: tr G = Σ_{i<j} d_ij² / 4 is largest, 2, for d02² + d13² = 4.
    ring = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3], [0, 3]], distances=np.ones(4))
    q = wk.quadratic.mvu(ring, 1, distances=relation)
    assert np.trace(q.gram) == pytest.approx(2, rel=1e-4)
    np.testing.assert_allclose(q.tensions, 0.5, rtol=1e-3)  # L of the ring has eigenvalue 2 next to 0


@pytest.mark.parametrize("relation", RELATIONS)
def test_result_carries_its_proof(relation):
    X, _ = bent_strip()
    q = wk.quadratic.mvu(X, 2, n_neighbors=5, distances=relation)
    assert 0 <= q.gap <= 1e-5
    # Primal: centred, positive semidefinite, distances of neighbours kept.
    np.testing.assert_allclose(q.gram.sum(axis=0), 0, atol=1e-8)
    assert np.linalg.eigvalsh(q.gram)[0] > -1e-8
    i, j = q.graph.edges.T
    squares = q.graph.edge_distances**2
    kept = np.diag(q.gram)[i] + np.diag(q.gram)[j] - 2 * q.gram[i, j]
    off = kept - squares if relation == "equal" else np.maximum(kept - squares, 0)
    assert np.abs(off).max() / squares.mean() == pytest.approx(q.violation, abs=1e-9)
    assert q.violation < 2e-3
    # Dual: the tensions hold everything together, and bound the variance from above.
    pulled = wk.Graph.from_edges(q.graph.edges, q.tensions, n=q.n)
    assert bottom_of_graph(pulled, 1).values[0] >= 1 - 1e-8
    assert float(q.tensions @ squares) >= np.trace(q.gram) * (1 - 0.02)
    if relation == "at_most":
        assert q.tensions.min() > 0
        assert float(q.tensions @ squares) == pytest.approx(np.trace(q.gram), rel=2e-5)


def test_gram_lies_in_the_bottom_eigenvectors_of_the_tensions():
    X, _ = bent_strip()
    q = wk.quadratic.mvu(X, 2, n_neighbors=5, distances="at_most", tol=1e-8)
    found = bottom_of_graph(wk.Graph.from_edges(q.graph.edges, q.tensions, n=q.n), 2)
    np.testing.assert_allclose(found.values, 1, atol=1e-6)
    inside = found.vectors.T @ q.Y / np.sqrt(q.n)
    np.testing.assert_allclose(np.linalg.svd(inside, compute_uv=False), 1, atol=1e-4)


def test_bent_strip_is_unfolded():
    X, flat = bent_strip()
    q = wk.quadratic.mvu(X, 2, n_neighbors=5)
    close = np.corrcoef(distance_matrix(q.to_textbook()).ravel(), distance_matrix(flat).ravel())[0, 1]
    bent = np.corrcoef(distance_matrix(X).ravel(), distance_matrix(flat).ravel())[0, 1]
    assert close > 0.999 > bent
    assert np.trace(q.gram) > ((X - X.mean(axis=0)) ** 2).sum()


def test_duplicates_stay_together():
    X, _ = bent_strip(30)
    q = wk.quadratic.mvu(np.concatenate([X, X[:3]]), 2, n_neighbors=6, distances="at_most")
    np.testing.assert_allclose(q.to_textbook()[30:], q.to_textbook()[:3], atol=1e-3)


def test_stopping_early_is_said():
    X, _ = bent_strip(30)
    with pytest.warns(NotConvergedWarning, match="after 2 of at most 2 iterations"):
        q = wk.quadratic.mvu(X, 2, max_iter=2)
    assert q.gap > 1e-5


def test_parameters_are_checked():
    X, _ = bent_strip(30)
    for bad in ({"distances": "less"}, {"tol": 0.0}, {"max_iter": 0}):
        with pytest.raises(InvalidParameterError, match=next(iter(bad))):
            wk.quadratic.mvu(X, **bad)
    with pytest.raises(MemoryLimitError, match="edges"):
        wk.quadratic.mvu(wk.graph.knn(X, 4), max_memory="1KB")
    with pytest.raises(MemoryLimitError, match="neighbour search"):
        wk.quadratic.mvu(X, max_memory="1KB")
    with pytest.raises(InvalidInputError, match="nothing to unfold"):
        wk.quadratic.mvu(np.ones((5, 2)), n_neighbors=4)
