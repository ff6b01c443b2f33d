"""`make fire`: all of it; prints one table and ends with 1 if anything failed.

    python -m tests.fire.run [--minutes 10] [--only PART ...]

Faults, load and the grid of memory take what they take (about seven minutes of two free cores). Cases (every case × every estimator ×
every metric, in an order by the seed) are tried until all have been, for twice the minutes at most; fuzzing gets a fifth of the
minutes and the server a tenth, at most a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from . import faults, fuzz, load, memory
from .cases import jobs
from .child import ENVIRONMENT, ROOT, Box

Failures = list[str]


def cases(seconds: float, failures: Failures) -> str:
    """How many cases were tried, and how many there are."""
    every = jobs()
    random.Random(0).shuffle(every)
    share, end, tried = [every[0::2], every[1::2]], time.monotonic() + seconds, [0, 0]

    def work(k: int) -> None:
        with Box() as box:
            for job in share[k]:
                if time.monotonic() > end:
                    return
                answer = box.try_case(job)
                tried[k] += 1
                if answer not in ("map", "refused"):
                    failures.append(f"{' × '.join(job)}: {answer}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (0, 1)))
    return f"{sum(tried)} of {len(every)} cases"


def fuzzing(seconds: float, failures: Failures) -> str:
    """Executions of all targets, two at a time."""

    def work(target: str) -> int:
        with tempfile.TemporaryDirectory() as name:
            share = seconds * 2 / len(fuzz.TARGETS)
            command = [sys.executable, "-m", "tests.fire.fuzz", target, name, "--seconds", str(share)]
            done = subprocess.run(
                command, cwd=ROOT, env=ENVIRONMENT, text=True, capture_output=True, check=False
            )
            if done.returncode:
                failures.append(
                    f"fuzzing {target}: the process died ({done.returncode}), {done.stderr[-200:]!r}"
                )
            found = Path(name) / "found.json"
            if not found.exists():
                return 0
            answer = json.loads(found.read_text())
            failures.extend(f"fuzzing {target}: {failure}" for failure in answer["failures"])
            return int(answer["executions"])

    with ThreadPoolExecutor(2) as pool:
        return f"{sum(pool.map(work, fuzz.TARGETS))} executions, {fuzz.how()}"


def forecasts(failures: Failures) -> str:
    """Fits of the grid of sizes, each under a limit just above its forecast."""
    for job in memory.GRID:
        found = memory.in_child(lambda job=job: memory.measure(job))  # type: ignore[misc]
        trouble = memory.wrong(found)
        if trouble:
            failures.append(f"{job}: {trouble}")
    return f"{len(memory.GRID)} fits"


def _interrupts(failures: Failures) -> str:
    interrupted, killed = faults.interrupts(failures)
    return f"{interrupted} interrupts, {killed} kills"


def _disks(failures: Failures) -> str:
    count, left_out = faults.disks(failures)
    return f"{count} faults{left_out}"


def _memory_limits(failures: Failures) -> str:
    fits, writes = faults.memory_limits(failures)
    return f"{fits} fits, {writes} writes"


def parts(seconds: float) -> dict[str, tuple[str, Callable[[Failures], str]]]:
    """All parts by a short name: what they try, and a function that says how much was tried."""

    def server(failures: Failures) -> str:
        count, who = load.server_load(min(60.0, 0.1 * seconds), failures)
        return f"{count} requests in {min(60.0, 0.1 * seconds):.0f} s by {who}"

    return {
        "memory": ("forecasts at most 1.5 × the peak; the limit is kept", forecasts),
        "at-once": (
            "8 fits at once, in threads, forked and spawned: the bytes of one alone",
            lambda failures: f"{load.at_once(failures)} fits",
        ),
        "cases": (
            "adversarial data × estimators × metrics, in random order",
            lambda failures: cases(2.0 * seconds, failures),
        ),
        "interrupts": ("Ctrl-C; kills, and going on to the same bytes", _interrupts),
        "disks": (
            "full and read-only file systems: save, page, report, table, picture, checkpoint",
            _disks,
        ),
        "limits": ("hard limit on memory: fits, save, page, report, table, picture", _memory_limits),
        "fuzzing": (
            "fuzzing: model, checkpoint, data, h5ad, command line",
            lambda failures: fuzzing(0.2 * seconds, failures),
        ),
        "server": ("server under load, 20 slow clients beside", server),
        "many": (
            "1000 small fits in one process, memory flat",
            lambda failures: f"{load.many_fits(failures)} fits",
        ),
    }


def main() -> int:
    """Run all parts and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", nargs="+", choices=parts(0.0), help="these parts alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines, told, begin = [], [], time.monotonic()
    for name, (what, run) in parts(60 * options.minutes).items():
        if options.only and name not in options.only:
            continue
        failures: Failures = []
        try:
            counted = run(failures)
        except Exception as error:
            counted = "not finished"
            failures.append(f"{name}: {type(error).__name__}: {error}"[:300])
        lines.append(f"| {what} | {counted} | {len(failures)} |")
        told += failures
        print(
            f"… {name}: {counted}, {len(failures)} failures, {time.monotonic() - begin:.0f} s so far",
            file=sys.stderr, flush=True,
        )  # fmt: skip
    cores = os.cpu_count()
    print(
        f"{date.today()}, {platform.machine()}, {cores} cores, Python {platform.python_version()}, --minutes "
        f"{options.minutes:g}, {(time.monotonic() - begin) / 60:.1f} minutes in all\n"
    )
    print("| what | tried | failures |\n|---|---|---|", *lines, sep="\n")
    for failure in told[:40]:
        print("-", failure)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
