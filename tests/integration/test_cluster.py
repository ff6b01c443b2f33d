"""`winkel embed --scheduler` with a scheduler and workers in processes of their own, as a person would start them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winkel as wk

from .process import ENVIRONMENT, command, start

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
LIMIT = 120  # seconds that anything may take


class Cluster:
    """A scheduler and two workers on this computer alone."""

    def __init__(self, folder):
        self._folder = folder
        self._told = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", self._told
        )
        wait_for(self._told.exists)
        self.address = json.loads(self._told.read_text())["address"]
        self.workers = [self.add_worker() for _ in range(2)]

    def add_worker(self):
        return self._start("worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny")

    def _start(self, what, *options):
        return subprocess.Popen(
            [sys.executable, "-m", "dask", what, "--no-dashboard", *map(str, options)],
            cwd=self._folder,
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait(LIMIT)


def wait_for(happened):
    deadline = time.monotonic() + LIMIT
    while not happened():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    X = wk.datasets.load_digits().X.astype(np.float32)
    for k in range(3):
        table = pa.table({f"c{j}": X[k * 500 : (k + 1) * 500, j] for j in range(X.shape[1])})
        pq.write_table(table, folder / f"part{k}.parquet", row_group_size=250)
    return folder


def arguments(out, *options):
    return ["embed", "part*.parquet", "-o", f"{out}/", "--set", "max_iter=30", *options]


@pytest.fixture(scope="module")
def expected(files):
    """The map without a cluster."""
    code, _, err = command(*arguments("here"), folder=files)
    assert code == 0, err
    return (files / "here" / "map.parquet").read_bytes()


def test_a_cluster_gives_the_same_file(files, cluster, expected):
    code, out, err = command(*arguments("there", "--scheduler", cluster.address, "--json"), folder=files)
    assert code == 0, err
    assert json.loads(out)["n_rows"] == 1500
    assert (files / "there" / "map.parquet").read_bytes() == expected
    assert [path.name for path in (files / "there").iterdir()] == ["map.parquet"]


def test_a_cluster_refines_landmarks_to_the_same_file(files, cluster):
    asked, made = ("--landmarks", "300", "--refine", "--pca", "20"), []
    for out, options in (("alone", ()), ("shared", ("--scheduler", cluster.address))):
        code, _, err = command(*arguments(out, *asked, *options), folder=files)
        assert code == 0, err
        made.append((files / out / "map.parquet").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("reached", ["copied.jsonl", "paired.jsonl", "map.part"])
def test_a_client_that_is_killed_and_comes_back_ends_in_the_same_file(files, cluster, expected, reached):
    out, options = f"killed-{reached.partition('.')[0]}", ("--scheduler", cluster.address)
    process = start(*arguments(out, *options), folder=files)
    wait_for(lambda: (files / out / "work" / reached).exists() or process.poll() is not None)
    process.kill()
    process.communicate(timeout=LIMIT)
    assert process.returncode == -signal.SIGKILL
    assert not (files / out / "map.parquet").exists()
    again = start(*arguments(out, *options, "--resume"), folder=files)
    _, err = again.communicate(timeout=LIMIT)
    assert again.returncode == 0, err
    assert (files / out / "map.parquet").read_bytes() == expected
    assert [path.name for path in (files / out).iterdir()] == ["map.parquet"]


def test_a_scheduler_that_is_lost_is_told_and_the_run_goes_on_without_it(files, expected, tmp_path):
    lost = Cluster(tmp_path)
    try:
        process = start(*arguments("lost", "--scheduler", lost.address), folder=files)
        wait_for(lambda: (files / "lost" / "work" / "copied.jsonl").exists() or process.poll() is not None)
    finally:
        lost.close()
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1, err
    assert b"continues from there" in err
    assert b"Traceback" not in err
    code, _, err = command(*arguments("lost", "--resume"), folder=files)
    assert code == 0, err
    assert (files / "lost" / "map.parquet").read_bytes() == expected


def test_a_scheduler_that_is_not_there_is_told(files):
    code, _, err = command(*arguments("none", "--scheduler", "tcp://127.0.0.1:9"), folder=files)
    assert code == 2
    assert b"no Dask scheduler answers at" in err
