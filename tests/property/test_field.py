"""The field against its exact oracle: kernels, shapes of maps, dimensions and precisions, each with each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winkel import _core, penalties
from winkel.problem.field import Field, Kernel
from winkel.problem.grid import GridField

from ..pairwise import pairwise

N = 3000
KERNELS = [
    Kernel("cauchy"),
    Kernel("cauchy", 2.0),
    Kernel("cauchy", 0.7),
    Kernel("log"),
    Kernel("log", 2.0),
    Kernel("inv_power"),
    Kernel("inv_power", 3.0),
    Kernel("log_ratio", 2.0),
    Kernel("log1p", 1.5),
    Kernel.of(penalties.Logistic(threshold=2.0)),  # tabulated
]


def normal(n, m, stream):
    return _core.random_normal(11, stream, 0, n * m).reshape(n, m)


def uniform(n, m, stream):
    return _core.random_uniform(11, stream, 0, n * m).reshape(n, m)


def clusters(m):
    """Sixty clusters over an extent of 100, whose densities differ by more than 1000 times."""
    of = _core.random_integers(11, 0, 0, N, 60)
    return 100 * uniform(60, m, 1)[of] + normal(N, m, 2) * (10 ** (2.2 * uniform(60, 1, 3) - 1.5))[of]


def ring(m):
    angle = 2 * np.pi * uniform(N, 1, 4)
    flat = 30 * np.hstack([np.cos(angle), np.sin(angle)])
    return np.hstack([flat, np.zeros((N, m - 2))]) + 0.1 * normal(N, m, 5)


def line(m):
    return np.hstack([100 * uniform(N, 1, 6), np.zeros((N, m - 1))])


def outlier(m):
    Y = normal(N, m, 7)
    Y[0] = 1e4
    return Y


def clumps(m):
    return 5 * normal(50, m, 8)[_core.random_integers(11, 9, 0, N, 50)]


MAPS = {
    "blob": lambda m: 10 * normal(N, m, 10),
    "clusters": clusters,
    "ring": ring,
    "line": line,
    "even": lambda m: 100 * uniform(N, m, 12),
    "outlier": outlier,
    "clumps": clumps,
}


DTYPES = (np.float32, np.float64)


def label(value):
    if isinstance(value, Kernel):
        return f"{value.name} {value.exponent:g}"
    return value.__name__ if isinstance(value, type) else str(value)


named = {"ids": label}


@pytest.mark.parametrize(
    ("kernel", "shape", "m", "dtype"), pairwise(KERNELS, [*MAPS], (2, 3), DTYPES), **named
)
def test_found_and_reported_errors_are_within_the_tolerance(kernel, shape, m, dtype):
    Y, field = MAPS[shape](m).astype(dtype), Field(kernel, m)
    sums, exact = field.evaluate(Y), field.exact(Y.astype(np.float64))
    assert np.linalg.norm(sums.forces - exact.forces) <= 1e-3 * np.linalg.norm(exact.forces)
    assert np.linalg.norm(sums.potentials - exact.potentials) <= 1e-3 * np.linalg.norm(exact.potentials)
    assert 0.0 < sums.error <= 1e-3
    assert exact.error == 0.0


def test_the_error_is_measured_at_as_many_points_as_asked_for():
    error = Field(KERNELS[0]).error(MAPS["blob"](2), n_rows=400)
    assert error.n_rows == 400
    assert 0.0 < error.forces <= 1e-3
    assert 0.0 < error.potentials <= 1e-3


@pytest.mark.parametrize(
    ("kernel", "shape", "m", "tolerance"),
    pairwise([Kernel("cauchy"), Kernel("log")], [*MAPS], (2, 3), (1e-2, 1e-4, 1e-5)),
    **named,
)
def test_other_tolerances_hold_too(kernel, shape, m, tolerance):
    error = Field(kernel, m, tolerance=tolerance).error(MAPS[shape](m), n_rows=200)
    assert error.forces <= tolerance


@pytest.mark.parametrize("shape", MAPS)
@pytest.mark.parametrize("kernel", [Kernel("cauchy"), Kernel("log")], ids=str)
def test_charges_of_both_signs(kernel, shape):
    Y, charges = MAPS[shape](2), normal(N, 1, 13)[:, 0]
    found, exact = Field(kernel).evaluate(Y, charges), Field(kernel).exact(Y, charges)
    # Charges cancel, so errors are measured against the forces of their absolute values.
    scale = np.linalg.norm(Field(kernel).exact(Y, np.abs(charges)).forces)
    assert np.linalg.norm(found.forces - exact.forces) <= 1e-3 * scale


@pytest.mark.parametrize(
    ("shape", "m", "dtype", "kernel"),
    pairwise([*MAPS], (2, 3), DTYPES, [Kernel("log"), KERNELS[-1]]),
    **named,
)
def test_same_bytes_for_any_number_of_threads(shape, m, dtype, kernel):
    Y = MAPS[shape](m).astype(dtype)
    for call in ("evaluate", "exact"):
        sums = [getattr(Field(kernel, m, n_jobs=jobs), call)(Y) for jobs in (1, 2, 3)]
        for other in sums[1:]:
            np.testing.assert_array_equal(other.forces, sums[0].forces)
            np.testing.assert_array_equal(other.potentials, sums[0].potentials)


@pytest.mark.parametrize(("kernel", "shape", "m"), pairwise(KERNELS, [*MAPS], (2, 3)), **named)
def test_forces_cancel(kernel, shape, m):
    # A pair of boxes is treated alike from both sides, so Newton's third law holds to rounding in the field as well;
    # on a grid, which the Cauchy kernel may use in the plane, it holds to the error of the grid.
    Y = MAPS[shape](m)
    grid = kernel.name == "cauchy" and m == 2
    for sums, limit in (
        (Field(kernel, m).exact(Y), 1e-9),
        (Field(kernel, m).evaluate(Y), 1e-4 if grid else 1e-9),
    ):
        assert np.abs(sums.forces.sum(axis=0)).max() <= limit * np.abs(sums.forces).sum()


def test_a_dense_map_is_summed_on_a_grid_and_a_wide_one_is_not(monkeypatch):
    calls = []
    evaluate = GridField.evaluate
    monkeypatch.setattr(GridField, "evaluate", lambda *given: calls.append(1) or evaluate(*given))
    dense, kernel = 3 * normal(20_000, 2, 5), Kernel("cauchy", weight=-2.0)
    for Y, uses in ((dense, 1), (100 * dense, 0)):
        calls.clear()
        found, exact = Field(kernel).evaluate(Y), Field(kernel).exact(Y)
        assert len(calls) == uses
        assert np.linalg.norm(found.forces - exact.forces) <= 1e-3 * np.linalg.norm(exact.forces)
        assert found.total == pytest.approx(exact.total, rel=1e-4)


@pytest.mark.parametrize("shape", MAPS)
@given(angle=st.floats(0.0, 6.3), shift=st.floats(-100.0, 100.0))
@settings(max_examples=4, deadline=None)
def test_turning_and_moving_the_map_turns_the_forces(shape, angle, shift):
    Y, field = MAPS[shape](2), Field(Kernel("log_ratio", 2.0))
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s], [s, c]])
    plain, moved = field.evaluate(Y), field.evaluate(Y @ turn.T + shift)
    difference = np.linalg.norm(plain.forces @ turn.T - moved.forces)
    # Coordinates of the outlier (1e4) round to about 1e-12, which the force of the closest pair feels.
    assert difference <= 2e-3 * np.linalg.norm(plain.forces)
    assert moved.total == pytest.approx(plain.total, rel=1e-3)
