"""Continuation against the same problems solved one after the other."""

import numpy as np
import pytest

import winkel as wk
from winkel.solvers.lbfgs import LBFGS, Continuation

from .walk import run

RNG = np.random.default_rng(3)
EDGES = np.array([[i, (i + 1) % 40] for i in range(40)])


def problems():
    whole = wk.Problem(
        EDGES, wk.penalties.Log1p(exponent=2.0), n_items=40, background=wk.penalties.Cauchy(-0.5)
    )
    return [whole.with_background(0.2), whole]


def solver(*iterations, tol=0.0, stretches=()):
    return Continuation(LBFGS(tol=tol, expects_convergence=False), iterations, stretches)


def test_a_share_of_the_background_is_that_share():
    weak, whole = problems()
    plain = wk.Problem(EDGES, wk.penalties.Log1p(exponent=2.0), n_items=40)
    Y = RNG.normal(size=(40, 2))
    expected = plain.gradient(Y)[1] + 0.2 * (whole.gradient(Y)[1] - plain.gradient(Y)[1])
    np.testing.assert_allclose(weak.gradient(Y)[1], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("stretch", [None, 1.5])
def test_each_problem_begins_where_the_last_ended_or_wider(stretch):
    series, Y0 = problems(), RNG.normal(size=(40, 2))
    found = run(solver(6, stretches=() if stretch is None else (stretch,)), series, Y0, max_iter=15)
    first = run(LBFGS(tol=0.0, expects_convergence=False), series[0], Y0, max_iter=6)
    second = run(
        LBFGS(tol=0.0, expects_convergence=False), series[1], (stretch or 1) * first.state.Y, max_iter=9
    )
    np.testing.assert_array_equal(found.state.Y, second.state.Y)
    assert found.state.phase == 1
    assert found.n_iter == 15


def test_a_problem_that_is_solved_gives_way_early_and_only_the_last_ends_the_run():
    found = run(solver(500, tol=1e-6), problems(), RNG.normal(size=(40, 2)), max_iter=1000)
    assert found.status.converged
    assert found.state.phase == 1
    assert found.n_iter < 500


def test_a_staged_run_goes_on_from_its_checkpoint(tmp_path):
    series, Y0, path = problems(), RNG.normal(size=(40, 2)), tmp_path / "part"
    whole = run(solver(6), series, Y0, max_iter=15)
    run(solver(6), series, Y0, max_iter=8, checkpoint=path)
    resumed = run(solver(6), series, Y0, max_iter=15, checkpoint=path)
    np.testing.assert_array_equal(resumed.state.Y, whole.state.Y)


@pytest.mark.filterwarnings("ignore:All max_iter")
@pytest.mark.parametrize("repulsive", ["auto", "cauchy", "log"])
def test_what_auto_stands_for(repulsive):
    model = wk.MDE(repulsive=repulsive, max_iter=10, n_neighbors=5, random_state=0).fit(
        RNG.normal(size=(80, 4))
    )
    smooth = repulsive != "log"
    assert (model.problem_.background is not None) == smooth
    assert model.problem_.distortion.attractive.exponent == (2.0 if smooth else 1.3)
    deep = wk.MDE(3, repulsive=repulsive, max_iter=3, n_neighbors=5, random_state=0).fit(
        RNG.normal(size=(80, 4))
    )
    assert (deep.problem_.background is not None) == smooth
