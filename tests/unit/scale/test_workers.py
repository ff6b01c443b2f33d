"""Workers that are lost on the way: the work goes on to the same bytes, or ends with an error in bounded time."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

import winkel as wk
from winkel.errors import UnwritableFileError, WorkerError
from winkel.problem.field import CAUCHY_TOLERANCE, cauchy_grid
from winkel.scale import cells, edges, fitting, lists, problem
from winkel.scale.engine import DaskEngine

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
X = (wk.datasets.load_digits().X[:700] + 0.1 * np.random.default_rng(0).random((700, 64))).astype(np.float32)

# The task of every stage. Lists are exact or approximate.
BEFORE = [(cells, "_copy"), (cells, "_assign"), (cells, "_gather")]
APPROXIMATE = [(lists, "_probe"), (lists, "_search"), (lists, "_join")]
AFTER = [(edges, "_give"), (edges, "_pair"), (problem, "_attract"), (problem, "_read")]


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes; a nanny starts another one in the place of one that was lost."""
    environment = dict(os.environ)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=None,
            silence_logs=50,
        )
    yield made
    made.close(timeout=30)
    os.environ.clear()  # starting worker processes sets numbers of threads, which other tests look at
    os.environ.update(environment)


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as made:
        yield made


@pytest.fixture
def rows(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return wk.scale.open_source(tmp_path / "rows.npy", rows_per_shard=250)


def fit(rows, folder, client=None):
    mde = wk.MDE(random_state=0, n_jobs=1, max_iter=8)
    return wk.scale.fit(mde, rows, folder=folder, client=client, rows_per_block=200).embedding_


def deadly(task, mark):
    """The task, which ends the process of the first worker that takes it."""

    def carried_out(*arguments):
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return task(*arguments)

    return carried_out


@pytest.mark.parametrize("exact", [True, False])
def test_a_worker_killed_in_every_stage_changes_no_byte(client, rows, tmp_path, monkeypatch, exact):
    monkeypatch.setattr(cells, "CELL_ROWS", 64)
    # The grid, which so few rows would not take.
    grid = cauchy_grid(2, 1.0, CAUCHY_TOLERANCE, 1)
    monkeypatch.setattr(problem.ShardedProblem, "_grid", lambda *_: grid)
    monkeypatch.setattr(problem, "_GROUP", 2)
    monkeypatch.setattr(fitting, "EXACT_ROWS", 10**6 if exact else 0)
    expected = fit(rows, tmp_path / "here")
    stages = [(lists, "_compare")] if exact else [*BEFORE, *APPROXIMATE, *AFTER]
    for module, name in stages:
        monkeypatch.setattr(module, name, deadly(getattr(module, name), tmp_path / f"{name}.killed"))
    np.testing.assert_array_equal(fit(rows, tmp_path / "there", client), expected)
    assert {path.stem for path in tmp_path.glob("*.killed")} == {name for _, name in stages}
    assert not list((tmp_path / "there").glob("shared-*"))


def test_a_full_disk_of_a_worker_is_told_here(client, tmp_path):
    def full(k, path):
        from pathlib import Path

        from winkel.scale.engine import explained

        with explained(Path(path)), open("/dev/full", "wb", buffering=0) as file:
            file.write(b"0")

    with pytest.raises(UnwritableFileError, match=r"No space left on device.*free some space"):
        list(DaskEngine(client, tmp_path).map(full, range(3), str(tmp_path / "rows.npy")))


def test_errors_of_a_task_are_its_own(client, tmp_path):
    def late(k):
        raise TimeoutError("of the task")

    with pytest.raises(TimeoutError, match="of the task"):
        list(DaskEngine(client, tmp_path).map(late, range(3)))


# After the others: the nannies of workers that died so may still be closing.
def test_a_task_that_ends_every_worker_is_an_error(cluster, client, rows, tmp_path, monkeypatch):
    expected = fit(rows, None)
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with monkeypatch.context() as broken:
        broken.setattr(edges, "_pair", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        with pytest.raises(WorkerError, match=r"crashed every worker that took it .* continues from there"):
            fit(rows, tmp_path / "work", client)
    # What was done is kept, and the same call goes on, here without workers.
    monkeypatch.setattr(edges, "_give", lambda *_: 1 / 0)
    np.testing.assert_array_equal(fit(rows, tmp_path / "work"), expected)


class Lost:
    """A client whose scheduler goes away while an answer is on its way."""

    status = "lost"

    def nthreads(self):
        return {"one": 1}

    def submit(self, *_, **__):
        return self

    def result(self, timeout):
        raise distributed.comm.CommClosedError("Stream is closed")

    def cancel(self):
        pass


def test_a_connection_that_closes_while_an_answer_is_on_its_way_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    with pytest.raises(WorkerError, match=r"scheduler was lost .*Stream is closed.* continues from there"):
        list(DaskEngine(Lost(), tmp_path).map(abs, range(3)))


def test_no_worker_at_all_is_an_error_in_the_end(tmp_path):
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty,
        distributed.Client(empty) as client,
        pytest.raises(WorkerError, match=r"no Dask worker for .* continues from there"),
    ):
        list(DaskEngine(client, tmp_path, patience=0.3).map(abs, range(3)))
