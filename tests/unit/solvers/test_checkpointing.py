"""`checkpointing`: a block whose runs keep numbered checkpoints without being told one by one."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from winkel.errors import InvalidParameterError, NotConvergedWarning
from winkel.solvers import checkpointing, run

from .walk import START, Bowl, Walk

LENGTH = 6


def walk(seed=0, **options):
    return run(Walk(seed=seed), Bowl(), START, max_iter=LENGTH, **options)


def two_walks(callbacks=()):
    first = walk(1)
    return run(Walk(seed=2), Bowl(), first.state.Y, max_iter=LENGTH, callbacks=callbacks)


def kill_at(iteration):
    def callback(info):
        if info.iteration == iteration:
            raise RuntimeError("killed")

    return callback


def test_runs_are_numbered_and_their_files_removed_at_the_end(tmp_path):
    seen = []
    with checkpointing(tmp_path / "out.part", every=0.0):
        two_walks([lambda info: seen.append(sorted(os.listdir(tmp_path)))])
    assert seen == [["out.part1", "out.part2"]] * LENGTH
    assert os.listdir(tmp_path) == []


def test_outside_the_block_nothing_is_written(tmp_path):
    with checkpointing(tmp_path / "out.part"):
        pass
    walk()
    assert os.listdir(tmp_path) == []


def test_an_exception_keeps_the_files_and_resume_gives_the_same_bytes(tmp_path):
    whole = two_walks()
    with pytest.raises(RuntimeError, match="killed"), checkpointing(tmp_path / "out.part"):
        two_walks([kill_at(4)])
    assert sorted(os.listdir(tmp_path)) == ["out.part1", "out.part2"]
    seen = []
    with checkpointing(tmp_path / "out.part", resume=True):
        resumed = two_walks([lambda info: seen.append(info.iteration)])
    assert seen == [5, 6]
    assert resumed.state.Y.tobytes() == whole.state.Y.tobytes()
    assert os.listdir(tmp_path) == []


def test_without_resume_older_files_are_gone(tmp_path):
    with pytest.raises(RuntimeError), checkpointing(tmp_path / "out.part"):
        two_walks([kill_at(2)])
    with pytest.raises(RuntimeError), checkpointing(tmp_path / "out.part"):
        walk(callbacks=[kill_at(2)])
    assert os.listdir(tmp_path) == ["out.part1"]


def test_an_interrupted_run_keeps_its_file(tmp_path):
    with checkpointing(tmp_path / "out.part"), pytest.warns(NotConvergedWarning, match="Interrupted"):
        run(Walk(interrupt_at=3), Bowl(), START, max_iter=LENGTH)
    assert os.listdir(tmp_path) == ["out.part1"]


def test_files_of_other_work_are_refused(tmp_path):
    with pytest.raises(RuntimeError), checkpointing(tmp_path / "out.part", fingerprint={"data": "a"}):
        walk(callbacks=[kill_at(2)])
    refused = pytest.raises(InvalidParameterError, match=r"fingerprint\.data \(here 'b', there 'a'\)")
    with refused, checkpointing(tmp_path / "out.part", resume=True, fingerprint={"data": "b"}):
        walk()


def test_a_checkpoint_of_its_own_comes_first(tmp_path):
    with checkpointing(tmp_path / "out.part") as checkpoints:
        walk(checkpoint=tmp_path / "own")
    assert checkpoints.files == []
    assert os.listdir(tmp_path) == ["own"]


def test_runs_of_other_threads_take_no_part(tmp_path):
    with checkpointing(tmp_path / "out.part") as checkpoints:
        thread = threading.Thread(target=walk)
        thread.start()
        thread.join()
    assert checkpoints.files == []


def test_blocks_nest(tmp_path):
    with checkpointing(tmp_path / "outer.part") as outer:
        with checkpointing(tmp_path / "inner.part") as inner:
            walk()
        walk()
    assert [file.name for file in inner.files] == ["inner.part1"]
    assert [file.name for file in outer.files] == ["outer.part1"]


def test_the_start_is_not_changed(tmp_path):
    before = START.copy()
    with checkpointing(tmp_path / "out.part"):
        walk()
    np.testing.assert_array_equal(START, before)
