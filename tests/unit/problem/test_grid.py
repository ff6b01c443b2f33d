"""Sums over all pairs in the plane by splines on a grid, against the exact sum."""

from __future__ import annotations

import numpy as np
import pytest

from winkel import _core
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.methods.forces.map_kernels import MapKernel, fit_umap_curve
from winkel.problem import grid
from winkel.problem.grid import GridField


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


MAPS = {
    "blob": 8 * rng(1).normal(size=(600, 2)),
    "tiny": 1e-4 * rng(2).normal(size=(600, 2)),
    "clusters": rng(3).normal(size=(600, 2)) + 30 * rng(4).normal(size=(6, 2))[np.arange(600) % 6],
    "line": np.column_stack([np.linspace(-50, 50, 600), np.zeros(600)]),
    "twins": np.repeat(5 * rng(5).normal(size=(60, 2)), 10, axis=0),
    "far from zero": rng(6).normal(size=(600, 2)) + 1e4,
}
# The kernel, and the error of potentials and gradients that its smoothness allows on a grid of 0.4 widths.
KERNELS = [
    (MapKernel("cauchy"), 1e-3, 1.5e-2),
    (MapKernel("gaussian"), 1e-4, 1e-3),
    (MapKernel("umap", *fit_umap_curve(0.1, 1.0)), 4e-3, 8e-2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k[0].name)
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("charged", [False, True])
def test_near_the_exact_sum(kernel, name, charged):
    k, potential_error, gradient_error = kernel
    Y = MAPS[name]
    q = rng(9).uniform(0.5, 2, len(Y)) if charged else None
    exact, force = _core.all_forces(k.curve("kernel"), Y, np.ones(len(Y)) if q is None else q, None, 1)
    found = GridField(k.value, width=k.width, n_jobs=1).evaluate(Y, q)
    assert np.linalg.norm(found.potentials - exact) <= potential_error * np.linalg.norm(exact)
    miss = np.linalg.norm(found.gradients - 2 * force)
    assert miss <= gradient_error * max(np.linalg.norm(2 * force), 1e-9 * len(Y))


def test_finer_grids_are_nearer():
    kernel, Y = MapKernel("cauchy"), MAPS["blob"]
    _, force = _core.all_forces(kernel.curve("kernel"), Y, np.ones(len(Y)), None, 1)
    miss = [
        np.linalg.norm(GridField(kernel.value, spacing=h, n_jobs=1).evaluate(Y).gradients - 2 * force)
        for h in (0.8, 0.4, 0.2)
    ]
    assert miss[0] > 5 * miss[1] > 25 * miss[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k[0].name)
def test_two_grids_do_what_one_does(kernel, dtype, monkeypatch):
    # The second holds far points, and is good for a relative error of 1e-4 or the smoothness of the kernel.
    k = kernel[0]
    Y = (40 * rng(7).normal(size=(3000, 2))).astype(dtype)
    field = GridField(k.value, width=k.width, n_jobs=1)
    assert field.n_nodes(Y) > grid._TWO_GRIDS
    two = field.evaluate(Y)
    monkeypatch.setattr(grid, "_TWO_GRIDS", np.inf)
    one = field.evaluate(Y)
    for found, known in ((two.potentials, one.potentials), (two.gradients, one.gradients)):
        assert found.dtype == dtype
        assert np.linalg.norm(found - known) <= 5e-4 * np.linalg.norm(known)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_coarser_grid_holds_what_is_spread_on_it(dtype, threads):
    Y = rng(10).uniform(0, 30, size=(200, 2)).astype(dtype)
    q = rng(11).uniform(0.5, 2, 200).astype(dtype)
    rows, cols, tolerance = 41, 44, 1e-5 if dtype == np.float32 else 1e-12
    fine = _core.grid_spread(Y, q, -4.0, -4.0, 1.0, rows, cols, 1)
    half = _core.grid_halve(fine, threads)
    # Its first node lies four nodes before that of the finer grid.
    np.testing.assert_allclose(
        half, _core.grid_spread(Y, q, -8.0, -8.0, 2.0, *half.shape, 1), atol=tolerance * len(Y)
    )
    potential = rng(12).normal(size=half.shape).astype(dtype)
    known = _core.grid_read(Y, potential, -8.0, -8.0, 2.0, 1)
    doubled = np.zeros_like(fine)
    _core.grid_double(potential, doubled, threads)
    for found, right in zip(_core.grid_read(Y, doubled, -4.0, -4.0, 1.0, 1), known):
        np.testing.assert_allclose(found, right, atol=10 * tolerance)
    with pytest.raises(ValueError, match="shape of the halved grid"):
        _core.grid_double(potential[1:].copy(), doubled, 1)


def test_the_gradient_is_that_of_the_sum_of_potentials():
    # Charges move with their points, so Σ φ changes by twice the gradient of the point's own potential. Nodes stay where
    # they are while points move, the outermost too: so this holds however coarse the grid is.
    Y, D = MAPS["blob"][:100], rng(8).normal(size=(100, 2))
    field = GridField(MapKernel("cauchy").value, spacing=1.0, n_jobs=1)

    def total(t):
        return field.evaluate(Y + t * D)

    h = 1e-4
    slope = (total(h).potentials.sum() - total(-h).potentials.sum()) / (2 * h)
    assert slope == pytest.approx(2 * np.sum(total(0).gradients * D), rel=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bytes_for_any_number_of_threads(dtype):
    Y = MAPS["clusters"].astype(dtype)
    found = [GridField(MapKernel("cauchy").value, n_jobs=jobs).evaluate(Y) for jobs in (1, 2, 5)]
    for other in found[1:]:
        assert other.potentials.tobytes() == found[0].potentials.tobytes()
        assert other.gradients.tobytes() == found[0].gradients.tobytes()


def test_one_place():
    found = GridField(MapKernel("cauchy").value, n_jobs=1).evaluate(np.full((5, 2), 3.0))
    np.testing.assert_allclose(found.potentials, 4, rtol=1e-2)
    np.testing.assert_allclose(found.gradients, 0, atol=1e-9)


def test_wrong_use_is_told():
    field = GridField(MapKernel("cauchy").value)
    for Y, word in ((np.zeros((4, 3)), "two columns"), (np.full((4, 2), np.nan), "finite")):
        with pytest.raises(InvalidInputError, match=word):
            field.evaluate(Y)
    with pytest.raises(InvalidParameterError, match="positive"):
        GridField(MapKernel("cauchy").value, width=0.0)
    with pytest.raises(ValueError, match="outside the grid"):
        _core.grid_spread(np.zeros((3, 2)), None, 1.0, 0.0, 0.5, 20, 20, 1)


@pytest.mark.parametrize("side", [60, 230])  # one grid, and two
def test_rows_are_transformed_a_few_at_a_time_to_the_same_bytes(monkeypatch, side):
    held = np.random.default_rng(0).random((side, side + 5), dtype=np.float32)
    whole = GridField(lambda s: 1 / (1 + s)).convolved(held.copy(), 0.4)
    monkeypatch.setattr(grid, "SLICE_BYTES", 7 * 4 * side)
    np.testing.assert_array_equal(
        GridField(lambda s: 1 / (1 + s), n_jobs=1).convolved(held.copy(), 0.4), whole
    )
