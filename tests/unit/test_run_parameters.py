"""How n_jobs, random_state and max_memory are read."""

from __future__ import annotations

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest

from winkel.errors import InvalidParameterError, MemoryLimitError
from winkel.run import (
    available_cores,
    cgroup_quota,
    check_memory,
    format_memory,
    parse_memory,
    resolve_n_jobs,
    resolve_seed,
)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch):
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        monkeypatch.delenv(name, raising=False)


def test_n_jobs_counts_forward_and_back_from_all_cores():
    every = resolve_n_jobs(None)
    assert every >= 1
    assert every == available_cores()
    assert resolve_n_jobs(-1) == every
    assert resolve_n_jobs(-2) == max(1, every - 1)
    assert resolve_n_jobs(-10_000) == 1
    assert resolve_n_jobs(np.int64(3)) == 3


def test_limits_in_the_environment(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr("winkel.run.cgroup_quota", lambda: [12, 14])
    assert (resolve_n_jobs(None), resolve_n_jobs(-1)) == (12, 12)
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert (resolve_n_jobs(None), resolve_n_jobs(-1), resolve_n_jobs(9)) == (5, 12, 9)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "4")
    assert (resolve_n_jobs(None), resolve_n_jobs(-1), resolve_n_jobs(-2)) == (4, 4, 3)
    for senseless in ("", "0", "-3", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", senseless)
        assert resolve_n_jobs(None) == 4


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity can be set on Linux")
def test_affinity_is_respected():
    program = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    program += "from winkel.run import resolve_n_jobs as n; print(n(None), n(-1), n(3))"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["1", "1", "3"]


def test_joblib_leaves_each_worker_its_share():
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        assert joblib.Parallel(n_jobs=2)(joblib.delayed(resolve_n_jobs)(None) for _ in range(2)) == [1, 1]


@pytest.mark.parametrize(
    ("group", "files", "quota"),
    [
        ("0::/a/b", {"a/b/cpu.max": "150000 100000"}, [2]),
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, [3]),
        ("0::/of/the/host", {"cpu.max": "10000 100000"}, [1]),
        ("0::/a", {"a/cpu.max": "max 100000"}, []),
        ("0::/a", {"a/cpu.max": "nonsense"}, []),
        ("4:cpu,cpuacct:/a", {"cpu,cpuacct/a/cpu.cfs_quota_us": "400000", "cpu,cpuacct/a/cpu.cfs_period_us": "100000"}, [4]),
        ("4:cpu:/a", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, []),
        ("5:memory:/a", {"memory/a/cpu.max": "1 1"}, []),
    ],
)  # fmt: skip
def test_quotas_of_control_groups(group, files, quota, tmp_path):
    assert cgroup_quota(tmp_path) == []
    for name, text in {
        "proc/self/cgroup": group,
        **{f"sys/fs/cgroup/{k}": v for k, v in files.items()},
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    assert set(cgroup_quota(tmp_path)) == set(quota)


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "2"])
def test_n_jobs_of_another_kind_is_refused(n_jobs):
    with pytest.raises(InvalidParameterError, match="n_jobs"):
        resolve_n_jobs(n_jobs)


def test_an_integer_seed_is_itself():
    assert resolve_seed(0) == 0
    assert resolve_seed(np.uint64(2**64 - 1)) == 2**64 - 1


def test_a_generator_gives_the_next_seed():
    assert resolve_seed(np.random.default_rng(1)) == resolve_seed(np.random.default_rng(1))
    generator = np.random.default_rng(1)
    assert resolve_seed(generator) != resolve_seed(generator)
    assert resolve_seed(np.random.RandomState(1)) == resolve_seed(np.random.RandomState(1))


def test_no_seed_is_a_fresh_one():
    assert resolve_seed(None) != resolve_seed(None)
    assert 0 <= resolve_seed(None) < 2**63


@pytest.mark.parametrize("random_state", [-1, 2**64, 1.0, True, "1"])
def test_a_seed_of_another_kind_is_refused(random_state):
    with pytest.raises(InvalidParameterError, match="random_state"):
        resolve_seed(random_state)


@pytest.mark.parametrize(
    ("given", "size"),
    [(None, None), (1000, 1000), ("4GB", 4 * 10**9), (" 1.5 kib ", 1536), ("512 MiB", 512 * 2**20), ("7", 7)],
)
def test_memory_is_read_as_people_write_it(given, size):
    assert parse_memory(given) == size


@pytest.mark.parametrize(
    "given",
    [
        "4 apples",
        "",
        "-1GB",
        "0",
        0,
        0.5,
        -5,
        True,
        [1],
        float("nan"),
        float("inf"),
        np.float32("nan"),
        "9" * 400,
    ],
)
def test_memory_that_means_nothing_is_refused(given):
    with pytest.raises(InvalidParameterError, match="max_memory"):
        parse_memory(given)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 KB"), (2.5e9, "2.5 GB"), (3e15, "3000.0 TB")]
)
def test_memory_is_written_as_people_say_it(size, text):
    assert format_memory(size) == text


def test_work_beyond_the_limit_is_refused_with_both_sizes():
    check_memory(10**9, None, "The work", "")
    check_memory(1000, 1000, "The work", "")
    with pytest.raises(MemoryLimitError, match=r"The work is forecast to need 2\.0 GB.*1\.0 MB.*Use less"):
        check_memory(2 * 10**9, 10**6, "The work", "Use less.")
