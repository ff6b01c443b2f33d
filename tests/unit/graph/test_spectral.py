"""Laplacians and spectral embeddings against closed forms and dense eigenvectors."""

from __future__ import annotations

import importlib.util
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csgraph

from winkel import Graph
from winkel.errors import (
    InvalidInputError,
    InvalidParameterError,
    MissingDependencyError,
    NotConvergedWarning,
)
from winkel.graph import laplacian, spectral_embedding

from .shapes import cycle, grid, knn_graph, neighbor_lists, path, together

SOLVERS = ["chebyshev", "amg", "lanczos", "auto"]
# More nodes than are solved densely. The eigenvalues wanted are simple, double, and near one another.
LARGE = {"path": path(500), "cycle": cycle(500), "square": grid(22, 22), "points": knn_graph(600, 8, 4)}


@cache
def _bottom(name: str, normalized: bool) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors 1, …, 12 of the dense Laplacian of a connected graph."""
    values, vectors = np.linalg.eigh(laplacian(LARGE[name], normalized).toarray())
    return values[1:13], vectors[:, 1:13]


@pytest.mark.parametrize("normalized", [False, True])
def test_laplacian_equals_scipy(normalized):
    graph = together(knn_graph(40, 3, 0), path(3), isolated=1)
    expected = csgraph.laplacian(graph.adjacency.toarray().astype(float), normed=normalized)
    np.testing.assert_allclose(laplacian(graph, normalized).toarray(), expected, atol=1e-12)


def test_laplacian_refuses_negative_weights():
    graph = Graph.from_edges([[0, 1], [1, 2]], [1.0, -1.0])
    with pytest.raises(InvalidInputError, match=r"on edge \(1, 2\)"):
        laplacian(graph)
    with pytest.raises(InvalidInputError, match="spectral_embedding needs weights"):
        spectral_embedding(graph)


def test_path_has_cosines():
    Y = spectral_embedding(path(30), 3, normalized=False)
    expected = np.cos(np.pi * (np.arange(30)[:, None] + 0.5) * np.arange(1, 4) / 30)
    expected /= np.linalg.norm(expected, axis=0)
    np.testing.assert_allclose(np.abs((Y * expected).sum(axis=0)), 1, atol=1e-10)


def test_cycle_is_a_circle():
    Y = spectral_embedding(cycle(24), 2)
    np.testing.assert_allclose(np.linalg.norm(Y, axis=1), np.sqrt(2 / 24), atol=1e-10)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", LARGE)
def test_every_solver_finds_the_dense_vectors(name, solver, normalized):
    graph = LARGE[name]
    values, vectors = _bottom(name, normalized)
    # The two vectors of the cycle and of the square are one eigenspace, so spaces are compared.
    Y = spectral_embedding(graph, 2, normalized=normalized, solver=solver, tol=1e-5, random_state=0)
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-9)
    L = laplacian(graph, normalized)
    np.testing.assert_allclose(np.diag(Y.T @ (L @ Y)), values[:2], rtol=1e-6)
    overlap = np.linalg.svd(vectors[:, :2].T @ Y, compute_uv=False)
    np.testing.assert_allclose(overlap, 1, atol=1e-6)
    degree = graph.adjacency.toarray().sum(axis=1, dtype=float)
    trivial = np.sqrt(degree) if normalized else np.ones(graph.n)
    np.testing.assert_allclose(trivial @ Y, 0, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_more_vectors_than_one_block(solver):
    graph = LARGE["points"]
    values, _ = _bottom("points", True)
    Y = spectral_embedding(graph, 12, solver=solver, tol=1e-4, random_state=0)
    np.testing.assert_allclose(np.diag(Y.T @ (laplacian(graph, True) @ Y)), values, rtol=1e-4)


def test_residuals_are_relative_to_the_eigenvalue():
    graph = LARGE["points"]
    L = laplacian(graph, True)
    for tol in (1e-1, 1e-3, 1e-8):
        Y = spectral_embedding(graph, 2, solver="chebyshev", tol=tol, random_state=1)
        values = np.diag(Y.T @ (L @ Y))
        assert (np.linalg.norm(L @ Y - Y * values, axis=0) <= tol * values * (1 + 1e-6)).all()


def test_weights_count():
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]], [5.0, 0.1, 5.0])
    Y = spectral_embedding(graph, 1, normalized=False)[:, 0]
    assert np.sign(Y[0]) == np.sign(Y[1])
    assert np.sign(Y[2]) == np.sign(Y[3]) != np.sign(Y[0])


def test_signs_are_fixed():
    Y = spectral_embedding(grid(5, 8), 3)
    assert (Y[np.argmax(np.abs(Y), axis=0), [0, 1, 2]] > 0).all()


@pytest.mark.parametrize("solver", ["auto", "chebyshev", "amg"])
def test_same_bytes_for_any_number_of_threads(solver):
    graph = LARGE["points"]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one, three = (
        spectral_embedding(graph, 2, solver=solver, random_state=3, n_jobs=jobs).tobytes() for jobs in (1, 3)
    )
    assert one == three
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_start_does_not_matter():
    graph = LARGE["points"]
    a, b = (spectral_embedding(graph, 2, tol=1e-8, random_state=seed) for seed in (0, 1))
    np.testing.assert_allclose(a, b, atol=1e-6)


# ------------------------------------------------------------------------------------------ not connected


def _boxes(Y: np.ndarray, labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(Y[labels == c].min(axis=0), Y[labels == c].max(axis=0)) for c in range(labels.max() + 1)]


@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("normalized", [False, True])
def test_components_do_not_overlap(n_components, normalized):
    graph = together(grid(6, 6), cycle(9), path(2), path(3), grid(4, 5), isolated=4)
    Y = spectral_embedding(graph, n_components, normalized=normalized)
    assert np.isfinite(Y).all()
    assert np.isclose(np.linalg.norm(Y, axis=0).max(), 1)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    boxes = _boxes(Y, graph.components()[1])
    for a, (low, high) in enumerate(boxes):
        for low_b, high_b in boxes[:a]:
            assert ((high < low_b) | (high_b < low)).any()


def test_each_component_has_its_own_vectors():
    graph = together(cycle(9), grid(7, 4))
    Y = spectral_embedding(graph, 2)
    for part, rows in ((cycle(9), slice(0, 9)), (grid(7, 4), slice(9, 37))):
        alone = spectral_embedding(part, 2)
        mine = Y[rows] - Y[rows].mean(axis=0)
        alone = alone - alone.mean(axis=0)
        scale = np.linalg.norm(mine) / np.linalg.norm(alone)
        np.testing.assert_allclose(mine, alone * scale, atol=1e-10)


def test_area_is_by_number_of_points():
    graph = together(grid(8, 8), grid(4, 4))
    big, small = _boxes(spectral_embedding(graph, 2), graph.components()[1])
    assert np.isclose((big[1] - big[0]).max(), 2 * (small[1] - small[0]).max())


def test_nothing_but_isolated_nodes():
    Y = spectral_embedding(Graph.from_edges([], n=7), 2)
    assert len(np.unique(Y.round(12), axis=0)) == 7
    assert np.array_equal(spectral_embedding(Graph.from_edges([], n=1), 2), np.zeros((1, 2)))


def test_weight_zero_connects_nothing():
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]], [1.0, 0.0, 1.0])
    apart = Graph.from_edges([[0, 1], [2, 3]])
    np.testing.assert_allclose(spectral_embedding(graph), spectral_embedding(apart))


def test_fewer_vectors_than_asked_for():
    Y = spectral_embedding(path(3), 4)
    np.testing.assert_allclose(Y.T @ Y, np.diag([1.0, 1, 0, 0]), atol=1e-12)


def test_duplicates():
    X = np.repeat(np.random.Generator(np.random.Philox(key=2)).normal(size=(30, 2)), 3, axis=0)
    graph = Graph.from_knn(*neighbor_lists(X, 6))
    assert np.isfinite(spectral_embedding(graph, 2)).all()


def test_large_components_beside_small_ones():
    graph = together(LARGE["points"], path(3), LARGE["path"], isolated=1)
    Y = spectral_embedding(graph, 2, random_state=0)
    alone = spectral_embedding(LARGE["points"], 2, random_state=0)
    mine = Y[:600] - Y[:600].mean(axis=0)
    alone = alone - alone.mean(axis=0)
    cosine = (mine * alone).sum() / (np.linalg.norm(mine) * np.linalg.norm(alone))
    assert cosine > 1 - 1e-6


# ------------------------------------------------------------------------------------------ what can go wrong


@pytest.mark.parametrize("solver", ["chebyshev", "lanczos", "amg", "auto"])
def test_not_converging_is_said(solver):
    with pytest.warns(NotConvergedWarning, match="max_iter=3"):
        Y = spectral_embedding(LARGE["path"], 2, solver=solver, max_iter=3, tol=1e-6, random_state=0)
    assert np.isfinite(Y).all()


def test_auto_hands_over_to_multigrid():
    # A path this long takes polynomials of far higher degree than the budget of the first attempt.
    graph = path(4000)
    Y = spectral_embedding(graph, 1, normalized=False, random_state=0, max_iter=400)[:, 0]
    expected = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000)
    assert np.isclose(abs(Y @ expected) / np.linalg.norm(expected), 1, atol=1e-6)


def test_without_pyamg(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyamg", None)
    with pytest.raises(MissingDependencyError, match=r"winkel\[amg\]"):
        spectral_embedding(LARGE["path"], 2, solver="amg")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyamg" else find(name))
    values, _ = _bottom("square", True)
    Y = spectral_embedding(LARGE["square"], 2, random_state=0)
    np.testing.assert_allclose(np.diag(Y.T @ (laplacian(LARGE["square"], True) @ Y)), values[:2], rtol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 0},
        {"n_components": 1.5},
        {"tol": 0},
        {"tol": 2.0},
        {"max_iter": 0},
        {"solver": "magic"},
    ],
)
def test_bad_parameters_are_refused(options):
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        spectral_embedding(path(5), **options)
