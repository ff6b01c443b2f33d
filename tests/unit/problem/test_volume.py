"""Sums over all pairs in space by splines on a grid, against the exact sum."""

from __future__ import annotations

import numpy as np
import pytest

from winkel import _core
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.methods.forces.map_kernels import MapKernel, fit_umap_curve
from winkel.problem import volume
from winkel.problem.field import Field, Kernel
from winkel.problem.volume import VolumeField

CAUCHY = MapKernel("cauchy")
# The kernel, and the error of potentials and gradients that its smoothness allows on a grid of 0.4 widths.
KERNELS = [
    (CAUCHY, 1e-3, 1.5e-2),
    (MapKernel("gaussian"), 1e-4, 1e-3),
    (MapKernel("umap", *fit_umap_curve(0.1, 1.0)), 4e-3, 8e-2),
]


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


MAPS = {
    "blob": 3 * rng(1).normal(size=(400, 3)),
    "tiny": 1e-4 * rng(2).normal(size=(400, 3)),
    "clusters": rng(3).normal(size=(400, 3)) + 5 * rng(4).normal(size=(6, 3))[np.arange(400) % 6],
    "line": np.column_stack([np.zeros(400), np.linspace(-20, 20, 400), np.zeros(400)]),
    "far from zero": rng(6).normal(size=(400, 3)) + 1e4,
}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k[0].name)
@pytest.mark.parametrize("name", MAPS)
def test_near_the_exact_sum(kernel, name):
    k, potential_error, gradient_error = kernel
    Y = MAPS[name]
    q = rng(9).uniform(0.5, 2, len(Y))
    exact, force = _core.all_forces(k.curve("kernel"), Y, q, None, 1)
    found = VolumeField(k.value, width=k.width, n_jobs=1).evaluate(Y, q)
    assert np.linalg.norm(found.potentials - exact) <= potential_error * np.linalg.norm(exact)
    miss = np.linalg.norm(found.gradients - 2 * force)
    assert miss <= gradient_error * max(np.linalg.norm(2 * force), 1e-9 * len(Y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_grids_do_what_one_does(dtype, monkeypatch):
    Y = (5 * rng(7).normal(size=(1000, 3))).astype(dtype)
    field = VolumeField(CAUCHY.value, n_jobs=1)
    assert field.n_nodes(Y) > volume._TWO_GRIDS
    two = field.evaluate(Y)
    monkeypatch.setattr(volume, "_TWO_GRIDS", np.inf)
    one = field.evaluate(Y)
    for found, known in ((two.potentials, one.potentials), (two.gradients, one.gradients)):
        assert found.dtype == dtype
        assert np.linalg.norm(found - known) <= 1e-3 * np.linalg.norm(known)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_coarser_grid_holds_what_is_spread_on_it(dtype, threads):
    Y = rng(10).uniform(0, 12, size=(100, 3)).astype(dtype)
    q = rng(11).uniform(0.5, 2, 100).astype(dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    fine = _core.volume_spread(Y, q, (-4.0, -4.0, -4.0), 1.0, (22, 25, 24), 1)
    field = VolumeField(CAUCHY.value, n_jobs=threads)
    half = field._halved(fine)
    # Its first node lies four nodes before that of the finer grid.
    corner = (-8.0, -8.0, -8.0)
    np.testing.assert_allclose(
        half, _core.volume_spread(Y, q, corner, 2.0, half.shape, 1), atol=100 * tolerance
    )
    potential = rng(12).normal(size=half.shape).astype(dtype)
    known = _core.volume_read(Y, potential, corner, 2.0, 1)
    doubled = field._doubled(potential, fine.shape)
    for found, right in zip(_core.volume_read(Y, doubled, (-4.0, -4.0, -4.0), 1.0, 1), known):
        np.testing.assert_allclose(found, right, atol=10 * tolerance)


def test_the_gradient_is_that_of_the_sum_of_potentials():
    Y, D = MAPS["blob"][:100], rng(8).normal(size=(100, 3))
    field = VolumeField(CAUCHY.value, spacing=1.0, n_jobs=1)
    h = 1e-4
    ahead, behind = (field.evaluate(Y + t * D).potentials.sum() for t in (h, -h))
    expected = 2 * np.sum(field.evaluate(Y).gradients * D)
    assert (ahead - behind) / (2 * h) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bytes_for_any_number_of_threads(dtype):
    Y = (5 * rng(7).normal(size=(1000, 3))).astype(dtype)
    found = [VolumeField(CAUCHY.value, n_jobs=jobs).evaluate(Y) for jobs in (1, 2, 5)]
    for other in found[1:]:
        assert other.potentials.tobytes() == found[0].potentials.tobytes()
        assert other.gradients.tobytes() == found[0].gradients.tobytes()


@pytest.mark.parametrize(
    ("width", "used"), [(1.0, True), (60.0, False)], ids=["grid where close", "tree where far apart"]
)
def test_the_field_in_space_uses_the_grid_where_that_is_fast(width, used, monkeypatch):
    Y = width * rng(13).normal(size=(6000, 3))
    calls, evaluate = [], VolumeField.evaluate

    def counted(self, *given):
        calls.append(1)
        return evaluate(self, *given)

    monkeypatch.setattr(VolumeField, "evaluate", counted)
    field = Field(Kernel("cauchy"), 3, tolerance=8e-3, n_jobs=1)
    assert field.error(Y).forces < 8e-3
    assert bool(calls) is used


def test_a_grid_that_is_not_good_enough_gives_way_to_the_tree(monkeypatch):
    Y = 2 * rng(13).normal(size=(3000, 3))
    monkeypatch.setattr(VolumeField, "_spacing", lambda self, extent: 3.0)
    found = Field(Kernel("cauchy"), 3, tolerance=1e-3, n_jobs=1)
    assert found.error(Y).forces < 1e-3


def test_wrong_use_is_told():
    field = VolumeField(CAUCHY.value)
    for Y, word in ((np.zeros((4, 2)), "three columns"), (np.full((4, 3), np.nan), "finite")):
        with pytest.raises(InvalidInputError, match=word):
            field.evaluate(Y)
    with pytest.raises(InvalidParameterError, match="positive"):
        VolumeField(CAUCHY.value, width=0.0)
    with pytest.raises(ValueError, match="outside the grid"):
        _core.volume_spread(np.zeros((3, 3)), None, (1.0, 0.0, 0.0), 0.5, (20, 20, 20), 1)
    cube = np.zeros((9, 9, 9))
    with pytest.raises(ValueError, match="halved along the axis"):
        _core.volume_double(cube, cube, 0, 1)
    with pytest.raises(ValueError, match="axis must be"):
        _core.volume_halve(cube, 3, 1)
