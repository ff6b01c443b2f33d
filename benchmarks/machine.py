"""What the benchmarks ran on, for the record."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import time
from pathlib import Path

from .environment import ROOT


class Watch:
    """Watches, from its making on, how much of the cores that we may use goes to processes that are not our own."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), busy_seconds(), own_seconds()

    def others(self) -> float | None:
        """Share of our cores that others took since, between 0 and 1; None where it cannot be told."""
        wall, busy, own = self._start
        now = busy_seconds()
        if busy is None or now is None:
            return None
        share = (now - busy - (own_seconds() - own)) / ((time.perf_counter() - wall) * len(usable_cores()))
        return min(1.0, max(0.0, share))


def usable_cores() -> set[int]:
    """Numbers of the cores that this process and its children may use."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def busy_seconds() -> float | None:
    """Seconds that our cores together were not idle since the start (Linux), stolen ones included."""
    try:
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    except OSError:
        return None
    cores = {f"cpu{core}" for core in usable_cores()}
    ticks = 0
    for _, *fields in (line for line in lines if line and line[0] in cores):
        user, nice, system, _idle, _waiting, interrupt, soft, stolen = (int(field) for field in fields[:8])
        ticks += user + nice + system + interrupt + soft + stolen
    return ticks / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def describe() -> dict[str, object]:
    """Processor, cores, memory, system, load, commit and date."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": cpu_model(),
        "cores": len(usable_cores()),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "load_before": round(os.getloadavg()[0], 2),
        "commit": commit(),
    }


def cpu_model() -> str:
    """The processor's name for itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit() -> str:
    """The project's commit, marked when files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"
