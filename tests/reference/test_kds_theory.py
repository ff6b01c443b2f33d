"""The theorems of Tasissa, Tankala, Murphy and Ba (2023), on data that fulfils their assumptions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial import Delaunay
from scipy.spatial.distance import cdist, pdist

import winkel as wk
from winkel.measures.classes import clustering_accuracy
from winkel.methods.kds import Coder, encode, spectral_clusters
from winkel.methods.kds.coding import CODERS
from winkel.methods.kds.dictionary import Sums, dictionary_gradient
from winkel.run import Run


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def supports_of(row, atoms):
    """All sets of at least one atom of whose convex combinations the row is one."""
    for size in range(1, len(atoms) + 1):
        for chosen in itertools.combinations(range(len(atoms)), size):
            A = np.vstack([atoms[list(chosen)].T, np.ones(size)])
            if nnls(A, np.append(row, 1.0))[1] < 1e-9:
                yield set(chosen)


@pytest.mark.parametrize("seed", range(3))
def test_theorem_1_codes_have_the_least_weighted_number_of_atoms(seed):
    # ℓ_{W,0} is the mean of ‖c − a_j‖² over the atoms used, c the centre of the row's Delaunay cell; all supports are tried.
    draw = rng(seed)
    atoms = draw.uniform(size=(7, 2))
    cells = Delaunay(atoms)
    rows = draw.dirichlet(np.ones(7), size=6) @ atoms
    codes = encode(rows, atoms, Coder(1e-7)).matrix
    for i, where in enumerate(cells.find_simplex(rows)):
        corners = atoms[cells.simplices[where]]
        center = np.linalg.solve(
            2 * (corners[1:] - corners[0]), np.sum(corners[1:] ** 2 - corners[0] ** 2, axis=1)
        )
        far = np.sum((atoms - center) ** 2, axis=1)
        least = min(far[list(support)].mean() for support in supports_of(rows[i], atoms))
        used = np.flatnonzero(codes[[i]].toarray().ravel() > 1e-4)
        assert far[used].mean() == pytest.approx(least, rel=1e-9)
        assert set(used.tolist()) <= set(cells.simplices[where].tolist())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("locality", [1e-3, 0.5, 5.0])
def test_theorem_5_far_atoms_are_not_used(seed, locality):
    # Δ₁ is the squared distance to the furthest atom of the row's own cluster, Δ₂ to the nearest of the other.
    draw = rng(seed)
    own, other = draw.uniform(size=(12, 3)), draw.uniform(size=(12, 3)) + np.array([3.0, 0.0, 0.0])
    rows = draw.dirichlet(np.ones(12), size=40) @ own + 0.01 * draw.normal(size=(40, 3))
    squares = cdist(rows, own).max(axis=1) ** 2, cdist(rows, other).min(axis=1) ** 2
    assert (squares[1] > squares[0]).all()
    codes = encode(rows, np.vstack([own, other]), Coder(locality)).matrix.toarray()
    assert not codes[:, 12:].any()


def test_theorem_5_needs_more_than_is_printed():
    # The proof compares codes of one dictionary alone with codes of the other alone. A code of both can be better: the fourth
    # atom, further from the row than the other three but inside of the sphere through them, is used.
    own = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.2]])
    other = np.array([[0.0, -1.1]])
    row = np.array([[0.0, 0.05]])
    assert cdist(row, other).min() > cdist(row, own).max()
    code = encode(row, np.vstack([own, other]), Coder(1e-6)).matrix.toarray().ravel()
    assert code[3] > 0.01
    alone = encode(row, own, Coder(1e-6))
    assert encode(row, np.vstack([own, other]), Coder(1e-6)).objective[0] < 0.9 * alone.objective[0]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("method", CODERS)
@pytest.mark.parametrize("locality", [1e-6, 0.1, 5.0])
def test_theorem_2_codes_are_faces_of_the_delaunay_triangulation(d, method, locality):
    # The optimum of (7) leaves an empty sphere through the atoms used, about y + (y − Ax) / (2 locality): at any
    # locality, and for rows outside of the hull too, they are the vertices of a face. The theorem is its limit at 0.
    draw = rng(d)
    atoms = draw.uniform(size=(60, d))
    rows = draw.uniform(-0.2, 1.2, size=(300, d))
    triangulation = Delaunay(atoms)
    cells = [set(cell) for cell in triangulation.simplices.tolist()]
    codes = encode(rows, atoms, Coder(locality, method)).matrix
    where = triangulation.find_simplex(rows)
    for i in range(len(rows)):
        weight = codes[[i]].toarray().ravel()
        used = set(np.flatnonzero(weight > 1e-9).tolist())
        assert any(used <= cell for cell in cells)
        if locality == 1e-6 and where[i] >= 0:
            cell = triangulation.simplices[where[i]]
            transform = triangulation.transform[where[i]]
            inside = transform[:d] @ (rows[i] - transform[d])
            barycentric = np.append(inside, 1 - inside.sum())
            if barycentric.min() > 0.02:
                assert used == set(cell.tolist())
                np.testing.assert_allclose(weight[cell], barycentric, atol=0.01)


def objective(codes, rows, atoms, locality):
    X = codes.toarray()
    squares = cdist(rows, atoms) ** 2
    return 0.5 * np.sum((rows - X @ atoms) ** 2) + locality * np.sum(X * squares)


@pytest.mark.parametrize("locality", [0.01, 1.0, 10.0])
def test_theorem_3_the_dictionary_is_unique(locality):
    draw = rng(5)
    rows = draw.normal(size=(200, 6))
    atoms = rows[:15]
    codes = encode(rows, atoms, Coder(locality)).matrix
    sums = Sums.of(codes, rows, np.zeros(6), Run())
    assert (sums.usage > 0).all()
    best = sums.best_atoms(locality, atoms)
    np.testing.assert_array_equal(best, sums.best_atoms(locality, draw.normal(size=(15, 6))))
    H = sums.products + 2 * locality * np.diag(sums.usage)
    bottom = np.linalg.eigvalsh(H)[0]
    assert bottom > 0
    np.testing.assert_allclose(dictionary_gradient(sums, best, locality), 0.0, atol=1e-9)
    least = objective(codes, rows, best, locality)
    for _ in range(20):  # strong convexity: f(A) ≥ f(A*) + ½ λ_min ‖A − A*‖²
        step = draw.normal(size=best.shape) * 10.0 ** draw.uniform(-3, 1)
        there = objective(codes, rows, best + step, locality)
        assert there >= least + 0.5 * bottom * np.sum(step**2) - 1e-9 * there
    with_center = Sums.of(codes, rows, rows.mean(axis=0), Run()).best_atoms(locality, atoms) + rows.mean(
        axis=0
    )
    np.testing.assert_allclose(with_center, best, atol=1e-10)


def test_the_gradient_in_the_atoms():
    draw = rng(6)
    rows, atoms = draw.normal(size=(60, 4)), draw.normal(size=(8, 4))
    codes = encode(rows, atoms, Coder(0.4)).matrix
    slope = dictionary_gradient(Sums.of(codes, rows, np.zeros(4), Run()), atoms, 0.4)
    step = 1e-6 * draw.normal(size=atoms.shape)
    rise = objective(codes, rows, atoms + step, 0.4) - objective(codes, rows, atoms - step, 0.4)
    assert rise == pytest.approx(2 * np.sum(slope * step), rel=1e-5)


def triangulated_cluster(center, draw, points=150):
    """Jittered grid of atoms about `center`, and points inside of its small triangles."""
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    atoms = center + grid + 0.1 * draw.normal(size=grid.shape)
    cells = Delaunay(atoms)
    small = [cell for cell in cells.simplices if pdist(atoms[cell]).max() < 2.2]
    weights = draw.dirichlet(np.ones(3), size=points)
    chosen = np.array(small)[np.r_[: len(small), draw.integers(len(small), size=points - len(small))]]
    return atoms, np.einsum("ik,ikd->id", weights, atoms[chosen])


@pytest.mark.parametrize("seed", range(3))
def test_theorem_4_clusters_further_apart_than_two_diameters_are_found_exactly(seed):
    draw = rng(seed)
    (atoms_a, rows_a), (atoms_b, rows_b) = (
        triangulated_cluster(np.array(center), draw) for center in ([0.0, 0.0], [9.5, 1.0])
    )
    atoms, rows = np.vstack([atoms_a, atoms_b]), np.vstack([rows_a, rows_b])
    truth = np.repeat([0, 1], [len(rows_a), len(rows_b)])
    # Rows at the border, whose cell reaches over to the other cluster, are left out: the theorem is about the others.
    cells = Delaunay(atoms)
    where = cells.find_simplex(rows)
    diameter = np.array([pdist(atoms[cell]).max() for cell in cells.simplices])[where]
    kept = (where >= 0) & (diameter < 2.5)
    assert kept.mean() > 0.8
    rows, truth = rows[kept], truth[kept]
    assert cdist(rows[truth == 0], rows[truth == 1]).min() > 2 * diameter[kept].max()
    for locality in (1e-5, 0.5):
        codes = encode(rows, atoms, Coder(locality)).matrix
        assert clustering_accuracy(truth, spectral_clusters(codes, 2, seed).labels) == 1.0


def circles(n, separation, draw):
    """Points on two concentric circles of radii 1 and 1 − separation (figure 5), half of them on each."""
    angle = draw.uniform(0, 2 * np.pi, size=n)
    inner = np.arange(n) % 2
    radius = 1.0 - separation * inner
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), inner


def circle_accuracy(separation, m, seed=0):
    rows, inner = circles(2000, separation, rng(seed))
    labels = wk.KDSClustering(2, n_atoms=m, locality=0.2, random_state=seed).fit_predict(rows)
    return clustering_accuracy(inner, labels)


def test_figure_5_close_circles_need_more_atoms():
    assert circle_accuracy(0.3, 24) == 1.0
    assert circle_accuracy(0.1, 90) == 1.0
    assert circle_accuracy(0.1, 24) < 0.7
