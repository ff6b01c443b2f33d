"""A run that is stopped anywhere and resumed gives the bytes of a run that was not, for every solver."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse

from winkel.errors import NotConvergedWarning
from winkel.solvers import Adam, GradientDescent

from ..unit.solvers.walk import START, Bowl, Walk, run

LENGTH = 12
SOLVERS = [Walk(seed=5), GradientDescent(0.05, momentum=0.9, tol=0), Adam(0.1, tol=0)]


def stop(info):
    return True


def press_ctrl_c(info):
    raise KeyboardInterrupt


def fail(info):
    raise RuntimeError("a mistake")


def ending(at, how):
    return lambda info: how(info) if info.iteration == at else None


def assert_same_bytes(one, other):
    if isinstance(one, np.ndarray | np.generic):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()
        assert np.isfortran(one) == np.isfortran(other)
    elif isinstance(one, tuple | list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same_bytes(a, b)
    elif scipy.sparse.issparse(one):
        assert type(one) is type(other)
        assert_same_bytes((one.data, one.indices, one.indptr), (other.data, other.indices, other.indptr))
    else:
        assert type(one) is type(other)
        assert one == other or (one != one and other != other)  # NaN is NaN


def assert_same_run(one, other):
    for field in dataclasses.fields(one.state):
        assert_same_bytes(getattr(one.state, field.name), getattr(other.state, field.name))
    for name in one.history:
        if name != "seconds":
            assert_same_bytes(one.history[name], other.history[name])
    assert one.status == other.status
    assert_same_bytes((one.frames.iteration, one.frames.Y), (other.frames.iteration, other.frames.Y))


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
@pytest.mark.parametrize("how", [stop, press_ctrl_c, fail])
@pytest.mark.parametrize("at", [1, 2, 7, LENGTH])
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_resumed_run_gives_the_same_bytes(tmp_path, solver, at, how, dtype):
    path, start = tmp_path / "run.wk", START.astype(dtype)
    whole = run(solver, Bowl(), start, max_iter=LENGTH, keep_frames=4)
    try:
        run(
            solver,
            Bowl(),
            start,
            max_iter=LENGTH,
            keep_frames=4,
            checkpoint=path,
            callbacks=[ending(at, how)],
        )
    except RuntimeError:
        assert how is fail
    resumed = run(solver, Bowl(), start, max_iter=LENGTH, keep_frames=4, checkpoint=path)
    assert_same_run(whole, resumed)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_a_run_made_of_single_steps_gives_the_same_bytes(tmp_path, solver):
    whole = run(solver, Bowl(), START, max_iter=LENGTH, keep_frames=3)
    for length in range(LENGTH + 1):
        parts = run(solver, Bowl(), START, max_iter=length, keep_frames=3, checkpoint=tmp_path / "run.wk")
        assert parts.n_iter == length
    assert_same_run(whole, parts)


def test_the_best_iterate_is_remembered_across_a_resume(tmp_path):
    whole = run(Walk(seed=3), Bowl(), START, max_iter=40)
    best = int(np.argmin(whole.history.objective[:31]))
    assert 0 < best < 29
    path = tmp_path / "run.wk"
    run(Walk(seed=3), Bowl(), START, max_iter=40, checkpoint=path, callbacks=[ending(29, stop)])
    with pytest.warns(NotConvergedWarning, match="Interrupted"):
        again = run(
            Walk(seed=3),
            Bowl(),
            START,
            max_iter=40,
            checkpoint=path,
            callbacks=[ending(30, press_ctrl_c)],
        )
    assert again.state.iteration == best
    assert again.state.objective == whole.history.objective[best]
