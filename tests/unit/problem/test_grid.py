"""Sums over all pairs in the plane by splines on a grid, against the exact sum."""

from __future__ import annotations

import numpy as np
import pytest

from winkel import _core
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.methods.forces.kernels import MapKernel, fit_umap_curve
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


def test_the_gradient_is_that_of_the_sum_of_potentials():
    # Charges move with their points, so Σ φ changes by twice the gradient of the point's own potential.
    Y, D = MAPS["blob"][:100], rng(8).normal(size=(100, 2))
    corners = 40.0 * np.array([[-1, -1], [1, 1]])  # which keep the grid where it is
    field = GridField(MapKernel("cauchy").value, n_jobs=1)

    def total(t):
        return field.evaluate(np.concatenate([Y + t * D, corners]))

    h = 1e-4
    slope = (total(h).potentials.sum() - total(-h).potentials.sum()) / (2 * h)
    assert slope == pytest.approx(2 * np.sum(total(0).gradients[:100] * D), rel=1e-2)


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
    for Y in (np.zeros((4, 3)), np.full((4, 2), np.nan)):
        with pytest.raises(InvalidInputError, match="two columns"):
            field.evaluate(Y)
    with pytest.raises(InvalidParameterError, match="positive"):
        GridField(MapKernel("cauchy").value, width=0.0)
    with pytest.raises(ValueError, match="outside the grid"):
        _core.grid_spread(np.zeros((3, 2)), None, 1.0, 0.0, 0.5, 20, 20, 1)
