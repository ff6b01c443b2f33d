"""Run: the context of a call, read once from the parameters of the surface."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from winkel.errors import InvalidParameterError, MemoryLimitError
from winkel.run import CHECKPOINT_SECONDS, Run, Stream, resolve_n_jobs


def test_every_value_is_resolved():
    run = Run.of(
        random_state=np.uint8(7),
        n_jobs=-1,
        max_memory="2KB",
        verbose=True,
        callbacks=[print],
        time_limit=3,
        checkpoint="fit.ckpt",
        checkpoint_every=5,
        keep_frames=2,
    )
    assert (run.seed, run.n_jobs, run.max_memory) == (7, resolve_n_jobs(None), 2000)
    assert (run.verbose, run.callbacks, run.time_limit) == (True, (print,), 3.0)
    assert (run.checkpoint, run.checkpoint_every, run.keep_frames) == (Path("fit.ckpt"), 5.0, 2)


def test_the_defaults_are_those_of_a_call_that_asks_for_nothing():
    run = Run.of()
    assert 0 <= run.seed < 2**63
    assert run.seed != Run.of().seed
    assert run.n_jobs == resolve_n_jobs(None)
    plain = dataclasses.replace(Run(), seed=run.seed, n_jobs=run.n_jobs, started=run.started)
    assert run == plain
    assert run.checkpoint_every == CHECKPOINT_SECONDS


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"random_state": -1}, "random_state must be None, an integer in .0, 2..64."),
        ({"n_jobs": 0}, "n_jobs must be None, a positive integer"),
        ({"max_memory": math.nan}, "max_memory must be None, a positive number of bytes"),
        ({"verbose": "yes"}, "verbose must be True, False or an integer; got 'yes'"),
        ({"callbacks": print}, "callbacks must be None or a list of functions; got <built-in"),
        ({"callbacks": "print"}, "callbacks must be None or a list of functions; got 'print'"),
        ({"time_limit": -1}, "time_limit must be None or a number of at least 0; got -1"),
        ({"time_limit": math.nan}, "time_limit must be None or a finite number of at least 0; got nan"),
        ({"checkpoint": 3}, "checkpoint must be None or the path of a file; got 3"),
        ({"checkpoint_every": "often"}, "checkpoint_every must be a number of at least 0; got 'often'"),
        ({"keep_frames": 1.5}, "keep_frames must be an integer of at least 0; got 1.5"),
    ],
)
def test_what_is_not_allowed_is_refused(parameters, words):
    with pytest.raises(InvalidParameterError, match=words):
        Run.of(**parameters)


def test_a_run_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Run().seed = 3


def test_streams_depend_on_seed_and_purpose():
    run = Run(seed=5)
    assert run.stream("init") == Stream.named(5, "init")
    assert run.stream("init") != run.stream("sample")
    assert run.reseeded(6).stream("init") == Stream.named(6, "init")
    assert run.reseeded(6).n_jobs == run.n_jobs


def test_a_quiet_run_is_not_watched_and_keeps_the_rest():
    run = Run.of(
        random_state=1, n_jobs=1, max_memory=10, verbose=True, callbacks=[print], time_limit=9, checkpoint="a"
    )
    quiet = dataclasses.replace(run, keep_frames=3).quiet()
    assert (quiet.verbose, quiet.callbacks, quiet.keep_frames, quiet.checkpoint) == (False, (), 0, None)
    assert (quiet.seed, quiet.n_jobs, quiet.max_memory, quiet.time_limit) == (1, 1, 10, 9.0)
    assert quiet.started == run.started


def test_the_time_limit_is_that_of_the_whole_call():
    assert not Run().out_of_time
    assert not Run.of(time_limit=math.inf).out_of_time
    assert not Run.of(time_limit=1000).out_of_time
    assert Run.of(time_limit=0).out_of_time
    started_long_ago = dataclasses.replace(Run.of(time_limit=10), started=Run().started - 11)
    assert started_long_ago.out_of_time
    assert started_long_ago.stage("second").out_of_time


def test_memory_beyond_the_limit_is_refused():
    Run().check_memory(1e15, "The work", "")
    with pytest.raises(MemoryLimitError, match=r"The work is forecast to need 2\.0 KB.*Use less"):
        Run.of(max_memory=1000).check_memory(2000, "The work", "Use less.")


def test_progress_passes_the_steps_on():
    assert list(Run().progress(range(3), "steps")) == [0, 1, 2]


def test_progress_is_shown_when_asked_for(capsys):
    pytest.importorskip("tqdm")
    assert list(Run(verbose=True).progress(iter(range(3)), "counting", total=3)) == [0, 1, 2]
    assert "counting" in capsys.readouterr().err


def test_progress_without_tqdm_is_a_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert list(Run(verbose=1).progress(range(2), "counting")) == [0, 1]
    assert capsys.readouterr().err == "winkel: counting\n"


# ---------------------------------------------------------------------------------------------- checkpoint files


def test_a_stage_has_a_file_of_its_own(tmp_path):
    run = Run(checkpoint=tmp_path / "fit.ckpt")
    files = {
        run.checkpoint,
        run.stage("a").checkpoint,
        run.stage("b").checkpoint,
        run.stage("a").stage("b").checkpoint,
    }
    assert len(files) == 4
    assert {file.parent for file in files} == {tmp_path}
    without = Run()
    assert without.stage("a") is without


@pytest.mark.parametrize("name", ["fit.ckpt", "fit", "f[i]t*?.ckpt", "été 1.ckpt"])
def test_checkpoints_are_removed_and_nothing_else(tmp_path, name):
    run = Run(checkpoint=tmp_path / name)
    own = [run.checkpoint, run.stage("a").checkpoint, run.stage("a").stage("b [2]*").checkpoint]
    # Files that a pattern made carelessly of the name would match, or that begin as the checkpoint does.
    others = [
        tmp_path / other
        for other in ("fit.csv", "fit.ckpt.csv", f"{name}x", f"{name}.bak", "fiit.ckpt", "fit1.stage-a")
    ]
    others = [file for file in others if file not in own]
    for file in (*own, *others):
        file.write_text("")
    run.remove_checkpoints()
    assert not any(file.exists() for file in own)
    assert all(file.exists() for file in others)


def test_removing_checkpoints_that_are_not_there_is_nothing(tmp_path):
    Run().remove_checkpoints()
    Run(checkpoint=tmp_path / "missing").remove_checkpoints()
    folder = Run(checkpoint=tmp_path / "fit").stage("folder").checkpoint
    folder.mkdir()
    Run(checkpoint=tmp_path / "fit").remove_checkpoints()
    assert folder.is_dir()
