"""Threads, memory and seeds: how the parameters `n_jobs`, `max_memory` and `random_state` are read."""

from __future__ import annotations

import math
import os
import re
import secrets
from pathlib import Path, PurePosixPath

import numpy as np

from .checks import refuse
from .errors import MemoryLimitError
from .typing import RandomState

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

MOST_THREADS = 1024


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Number of threads: None for all that this process should use, -1 for every core it may use, -2 all but one.

    What None and -1 respect is listed in docs/runtime.md.
    """
    if n_jobs is None:
        return min([available_cores(), *_limits("OMP_NUM_THREADS")])
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs > MOST_THREADS:
        refuse(
            "n_jobs",
            f"None, a positive integer up to {MOST_THREADS}, or a negative one that counts back from all cores",
            n_jobs,
        )
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + int(n_jobs))


def available_cores() -> int:
    """Cores that this process may use: its affinity, its container's quota and what joblib leaves to it."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min([affinity, *cgroup_quota(), *_limits("LOKY_MAX_CPU_COUNT")])


def _limits(variable: str) -> list[int]:
    """The positive number in an environment variable, if there is one; of "4,2", for nested loops, the first."""
    first = os.environ.get(variable, "").split(",")[0].strip()
    return [int(first)] if first.isdecimal() and int(first) > 0 else []


def cgroup_quota(root: Path = Path("/")) -> list[int]:
    """Whole processors that the quotas of the process's control groups come to; empty where there is no limit."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in groups:
        _, controllers, path = line.split(":", 2)
        # In a container the path may be the host's, while its own group is mounted at the top.
        places = [path, *(str(above) for above in PurePosixPath(path).parents)]
        if not controllers:
            for place in places:
                found += _quota(root / "sys/fs/cgroup" / place.lstrip("/") / "cpu.max")
        elif "cpu" in controllers.split(","):
            for mount in ("cpu", controllers):
                for place in places:
                    group = root / "sys/fs/cgroup" / mount / place.lstrip("/")
                    found += _quota(group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us")
    return found


def _quota(*files: Path) -> list[int]:
    """Quota over period, rounded up, from files that hold both; "max" and -1 stand for no limit."""
    try:
        quota, period = " ".join(file.read_text() for file in files).split()
        return [max(1, math.ceil(int(quota) / int(period)))] if int(quota) > 0 else []
    except (OSError, ValueError, ZeroDivisionError):
        return []


def resolve_seed(random_state: RandomState) -> int:
    """A 64-bit seed. None draws a fresh one, which results record so that a run can be repeated."""
    if random_state is None:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not whole or not 0 <= random_state < 2**64:
        refuse("random_state", "None, an integer in [0, 2**64) or a NumPy random generator", random_state)
    return int(random_state)


def parse_memory(max_memory: int | float | str | None) -> int | None:
    """Bytes meant by `max_memory`: a number of bytes, or text such as "4GB"; None is no limit."""
    if max_memory is None:
        return None
    size: float | None = None
    if isinstance(max_memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*", max_memory)
        if match is not None and match[2].upper() in _UNITS:
            size = float(match[1]) * _UNITS[match[2].upper()]
    elif isinstance(max_memory, int | float | np.integer | np.floating) and not isinstance(max_memory, bool):
        size = max_memory
    if size is None or not 1 <= size < math.inf:
        refuse("max_memory", 'None, a positive number of bytes or text like "4GB" or "512MiB"', max_memory)
    return min(int(size), 2**63 - 1)  # what the core can count


def available_memory() -> int | None:
    """Bytes that this computer could still give, where it says so."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found and found[0].isdecimal() else None


def format_memory(size: float) -> str:
    """`size` bytes as people say it, such as "1.3 GB"."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def check_memory(forecast: float, limit: int | None, what: str, advice: str) -> None:
    """Raise MemoryLimitError when `what` is forecast to need more bytes than `limit`."""
    if limit is not None and forecast > limit:
        raise MemoryLimitError(
            f"{what} is forecast to need {format_memory(forecast)}, more than "
            f"max_memory={format_memory(limit)}. {advice}"
        )
