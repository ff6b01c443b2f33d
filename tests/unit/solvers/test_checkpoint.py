"""Checkpoints: when they are written, and which are refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

from winkel.data.archive import read_archive, write_archive
from winkel.errors import InvalidParameterError, ModelFileError, NotConvergedWarning
from winkel.solvers import Adam, GradientDescent, SolverState, digest

from .walk import START, Bowl, Countdown, Walk, run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.wk"


def iteration_in(path):
    return read_archive(path, kind="checkpoint").meta["state"]["dict"]["iteration"]


def test_a_checkpoint_is_written_at_the_start_and_at_the_end(path):
    seen = []
    run(
        Walk(),
        Bowl(),
        START,
        max_iter=5,
        checkpoint=path,
        callbacks=[lambda info: seen.append(iteration_in(path))],
    )
    assert seen == [0] * 5
    assert iteration_in(path) == 5
    assert os.listdir(path.parent) == [path.name]


def test_checkpoints_are_written_every_so_many_iterations(path):
    seen = []

    def look(info):
        seen.append(iteration_in(path))

    run(Walk(), Bowl(), START, max_iter=6, checkpoint=path, checkpoint_iterations=2, callbacks=[look])
    assert seen == [0, 0, 2, 2, 4, 4]


def test_checkpoints_are_written_every_so_many_seconds(path):
    seen = []

    def look(info):
        seen.append(iteration_in(path))

    run(Walk(), Bowl(), START, max_iter=4, checkpoint=path, checkpoint_every=0.0, callbacks=[look])
    assert seen == [0, 1, 2, 3]


def test_the_last_iterate_is_written_before_an_exception_goes_on(path):
    def fail(info):
        if info.iteration == 3:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run(Walk(), Bowl(), START, max_iter=9, checkpoint=path, callbacks=[fail])
    assert iteration_in(path) == 3


def test_a_failed_run_leaves_the_last_good_checkpoint(path):
    with pytest.warns(NotConvergedWarning, match="failed"):
        run(Walk(fail_at=5), Bowl(), START, max_iter=9, checkpoint=path, checkpoint_iterations=3)
    assert iteration_in(path) == 3


def test_a_disk_that_fails_later_costs_the_checkpoint_and_not_the_run(path, monkeypatch):
    def break_disk(info):
        def full(*args, **options):
            raise OSError("disk full")

        monkeypatch.setattr("winkel.solvers.checkpoint.write_archive", full)

    with pytest.warns(RuntimeWarning, match="disk full"):
        result = run(Walk(), Bowl(), START, max_iter=4, checkpoint=path, callbacks=[break_disk])
    assert result.n_iter == 4


def test_a_folder_that_does_not_exist_is_found_before_the_work(tmp_path):
    with pytest.raises(FileNotFoundError):
        run(Walk(), Bowl(), START, max_iter=4, checkpoint=tmp_path / "missing" / "run.wk")


def test_a_state_that_cannot_be_saved_is_found_before_the_work(path):
    class Odd(Walk):
        def init(self, problem, Y0):
            state = super().init(problem, Y0)
            object.__setattr__(state, "note", {1, 2})
            return state

    with pytest.raises(InvalidParameterError, match=r"state\.note has type set"):
        run(Odd(), Bowl(), START, max_iter=4, checkpoint=path)


def test_resume_without_a_file_starts_anew(path):
    result = run(Walk(), Bowl(), START, max_iter=4, checkpoint=path)
    assert result.n_iter == 4
    assert iteration_in(path) == 4


def test_a_finished_run_is_not_made_longer_by_resuming_it(path):
    first = run(Countdown(3), Bowl(), START, max_iter=9, checkpoint=path)
    second = run(Countdown(3), Bowl(), START, max_iter=9, checkpoint=path)
    assert second.status == first.status
    assert np.array_equal(second.history.objective, first.history.objective)


def test_seconds_before_a_resume_count_in_the_history_and_not_for_the_limit(path, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("winkel.solvers.loop.time.perf_counter", lambda: float(next(clock)))
    with pytest.warns(NotConvergedWarning, match="time limit"):
        first = run(Walk(), Bowl(), START, max_iter=999, time_limit=50, checkpoint=path)
    with pytest.warns(NotConvergedWarning, match="time limit"):
        second = run(Walk(), Bowl(), START, max_iter=999, time_limit=50, checkpoint=path)
    assert second.n_iter > first.n_iter > 0
    assert np.array_equal(second.history.seconds[: first.n_iter + 1], first.history.seconds)
    assert np.all(np.diff(second.history.seconds) > 0)
    assert second.history.seconds[-1] > 50


class OtherBowl(Bowl):
    pass


CHANGES = {
    "solver.seed": {"solver": Walk(seed=1)},
    "problem": {"problem": OtherBowl()},
    "Y0": {"Y0": START + 1e-12},
    "fingerprint.edges": {"fingerprint": {"edges": digest(np.arange(4))}},
    "fingerprint.more": {"fingerprint": {"edges": digest(np.arange(3)), "more": 1}},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_checkpoint_of_another_run_is_refused_by_what_differs(path, name):
    same = {"solver": Walk(), "problem": Bowl(), "Y0": START, "fingerprint": {"edges": digest(np.arange(3))}}

    def start(*, solver, problem, Y0, fingerprint, max_iter):
        return run(solver, problem, Y0, max_iter=max_iter, checkpoint=path, fingerprint=fingerprint).n_iter

    assert start(**same, max_iter=3) == 3
    assert start(**same, max_iter=5) == 5
    with pytest.raises(InvalidParameterError, match=rf"another run, which differs in {name} \(here"):
        start(**(same | CHANGES[name]), max_iter=7)
    assert iteration_in(path) == 5


def test_a_checkpoint_of_another_solver_is_refused(path):
    run(GradientDescent(0.1, tol=0), Bowl(), START, max_iter=3, checkpoint=path)
    with pytest.raises(InvalidParameterError, match="solver"):
        run(Adam(0.1, tol=0), Bowl(), START, max_iter=3, checkpoint=path)


def test_a_checkpoint_of_an_older_state_is_refused(path):
    run(Walk(), Bowl(), START, max_iter=3, checkpoint=path)

    class Newer(Walk):
        def init(self, problem, Y0):
            return SolverState(0, Y0, 1.0, 1.0)

    with pytest.raises(ModelFileError, match="does not contain what this version of the solver needs"):
        run(Newer(), Bowl(), START, max_iter=3, checkpoint=path)


def test_a_damaged_checkpoint_is_refused(path):
    run(Walk(), Bowl(), START, max_iter=3, checkpoint=path)
    data = bytearray(path.read_bytes())
    data[300] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="damaged"):
        run(Walk(), Bowl(), START, max_iter=3, checkpoint=path)


@pytest.mark.parametrize("lack", ["identity", "state", "best", "history", "frames", "stride", "seconds"])
def test_a_checkpoint_that_lacks_a_part_is_refused(path, lack):
    run(Walk(), Bowl(), START, max_iter=3, checkpoint=path)
    archive = read_archive(path)
    meta = {name: value for name, value in archive.meta.items() if name != lack}
    write_archive(path, "checkpoint", meta, archive.arrays)
    with pytest.raises(ModelFileError, match=lack):
        run(Walk(), Bowl(), START, max_iter=3, checkpoint=path)


def test_solver_settings_that_are_no_plain_values_count_by_their_type(path):
    class Tuned(Walk):
        pass

    run(Tuned(seed=0, fail_at=print), Bowl(), START, max_iter=3, checkpoint=path)
    assert read_archive(path).meta["identity"]["solver.fail_at"] == "builtin_function_or_method"


@pytest.mark.parametrize(
    "other", [np.arange(3.0), np.arange(3, dtype=np.int32), np.arange(3).reshape(1, 3), np.arange(4)]
)
def test_digests_tell_arrays_apart(other):
    array = np.arange(3)
    assert digest(array) == digest(array.copy())
    assert digest(array) != digest(other)
    assert digest(array, other) != digest(other, array)
