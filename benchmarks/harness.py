"""Runs the contestants of an entry: each in a fresh process, interleaved, round after round.

Round zero takes a few rows and is not part of the figures: it finds out who is absent and fills the caches on
disk (the system's, Numba's) that a user has filled after the first day. Rounds then go A B C A B C, so that a
drift of the machine touches all alike, and ratios are taken within a round.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from . import environment, machine
from .contestants import Task
from .datasets import Dataset, cache_folder
from .files import write_json

WARM_UP_ROWS = 2000
CHECK_ROWS = 20_000
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
SESSION = (
    "date",
    "commit",
    "repeats",
    "threads",
    "load_before",
    "load_after",
)  # what a row keeps when others are run anew
Arrays = dict[str, np.ndarray]
WARM: dict[tuple[str, str], dict[str, object]] = {}


@dataclass(frozen=True)
class Contestant:
    """One way to do the work of an entry: "module:function" below contestants, and where it can run."""

    name: str
    function: str
    packages: tuple[str, ...]
    environment: str = "peers"
    max_rows: int | None = None


@dataclass(frozen=True)
class Entry:
    """One benchmark: its data (none: only imports are measured), contestants and how an output is scored."""

    name: str
    title: str
    contestants: tuple[Contestant, ...]
    reference: str
    timings: tuple[str, ...]
    datasets: tuple[Dataset, ...] = ()
    quick: tuple[str, ...] = ()
    score: Callable[[Dataset, Task, Arrays], dict[str, float]] | None = None
    growth: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    better: Mapping[str, str] = field(
        default_factory=dict
    )  # by score, "higher" or "lower": cells where a peer beats the reference are marked
    glance: tuple[str, ...] = ()  # scores of a table of all data sets beside all contestants, at the top
    comments: Mapping[str, str] = field(
        default_factory=dict
    )  # by score, or the heading of another column: why a peer may beat the reference there
    keeps_maps: bool = False  # in the cache, for a sheet of pictures
    checks_bytes: bool = True  # whether winkel's maps by one and two threads are compared


@dataclass(frozen=True)
class Plan:
    """How an entry is run this time."""

    task: Task
    repeats: int
    calls: int
    timeout: float
    interpreter: str
    only: tuple[str, ...] = ()
    warm_up_rows: int = WARM_UP_ROWS
    warm_rounds: int | None = (
        None  # of how many rounds the processes make all `calls`, the others one; None: of all
    )

    def in_round(self, index: int) -> Plan:
        """The plan of one round."""
        warm = self.warm_rounds is None or index < self.warm_rounds
        return self if warm else replace(self, calls=1)

    def takes(self, contestant: Contestant) -> bool:
        """Whether `contestant` was asked for: by its name or by a beginning of it."""
        return not self.only or contestant.name.startswith(self.only)


def run_section(entry: Entry, dataset: Dataset | None, plan: Plan) -> dict[str, object]:
    """The record of one data set: machine, data, and every contestant's runs or why there are none."""
    section: dict[str, object] = machine.describe() | {"task": asdict(plan.task), "repeats": plan.repeats}
    if dataset is not None:
        section["dataset"] = dataset.facts()
        plan = replace(plan, task=replace(plan.task, metric=dataset.metric))
    records = {c.name: warm_up(c, dataset, plan) for c in entry.contestants if plan.takes(c)}
    ready = [c for c in entry.contestants if c.name in records and records[c.name]["status"] == "ran"]
    scores: dict[str, dict[str, float]] = {}
    for index in range(plan.repeats):
        for contestant in ready:
            record = records[contestant.name]
            if record["status"] == "ran":
                run = run_once(entry, contestant, dataset, plan.in_round(index), scores)
                add_run(record, run | {"round": index})
    section["contestants"] = records
    section["same_bytes"] = same_bytes(ready, dataset, plan) if entry.checks_bytes else {}
    section["load_after"] = round(os.getloadavg()[0], 2)
    for record in records.values():
        record["session"] = {key: (section | section["task"])[key] for key in SESSION}
    return section


def warm_up(contestant: Contestant, dataset: Dataset | None, plan: Plan) -> dict[str, object]:
    """The beginning of a contestant's record, after its run on a few rows."""
    if dataset is not None and contestant.max_rows is not None and dataset.rows > contestant.max_rows:
        return {"status": "left out", "reason": f"takes part up to {contestant.max_rows} rows", "runs": []}
    few = None if dataset is None else dataset.head(plan.warm_up_rows)
    key = (contestant.name, plan.task.metric)
    if key not in WARM:  # once a run: what it fills and finds out is the same for all data
        WARM[key], _ = run_child(contestant, few, plan)
        say(contestant, few, "warm-up", WARM[key])
    result = WARM[key]
    record = {"status": result["status"], "runs": []}
    if result["status"] == "ran":
        return record | {"versions": result["versions"], "warm_up": result}
    return record | {"reason": result["reason"]}


def run_once(
    entry: Entry,
    contestant: Contestant,
    dataset: Dataset | None,
    plan: Plan,
    scores: dict[str, dict[str, float]],
) -> dict[str, object]:
    """Measurements and scores of one run; `scores` remembers those of every output, which may come back."""
    result, arrays = run_child(contestant, dataset, plan)
    if entry.score is not None and arrays:
        digest = result["sha256"]
        if digest not in scores:
            scores[digest] = entry.score(dataset, plan.task, arrays)
        result["quality"] = scores[digest]
    if entry.keeps_maps and "Y" in arrays and dataset is not None:
        path = map_file(entry.name, dataset.key, contestant.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.asarray(arrays["Y"], dtype=np.float32))
    say(contestant, dataset, "run", result)
    return result


def map_file(entry: str, dataset: str, contestant: str) -> Path:
    """Where the last map of a contestant is kept."""
    return cache_folder() / "maps" / f"{entry}-{dataset}-{contestant.replace(' ', '_')}.npy"


def add_run(record: dict[str, object], run: dict[str, object]) -> None:
    """Add a run to its contestant's record; one that did not come through ends the contestant's part."""
    if run["status"] != "ran":
        record |= {"status": run["status"], "reason": run["reason"]}
        return
    record["runs"].append({key: value for key, value in run.items() if key not in ("status", "versions")})


def same_bytes(contestants: list[Contestant], dataset: Dataset | None, plan: Plan) -> dict[str, bool]:
    """Whether one thread and two give the same bytes, for each of winkel's contestants (CHECK_ROWS rows)."""
    found = {}
    if dataset is None:
        return found
    part = dataset.head(CHECK_ROWS)
    for contestant in contestants:
        if contestant.environment == "winkel":
            plans = [replace(plan, calls=1, task=replace(plan.task, threads=threads)) for threads in (1, 2)]
            runs = [run_child(contestant, part, each)[0] for each in plans]
            if all(run["status"] == "ran" for run in runs):
                found[contestant.name] = runs[0]["sha256"] == runs[1]["sha256"]
                print(
                    f"  {contestant.name}: same bytes for n_jobs 1 and 2: {found[contestant.name]}",
                    flush=True,
                )
    return found


def run_child(
    contestant: Contestant, dataset: Dataset | None, plan: Plan
) -> tuple[dict[str, object], Arrays]:
    """Measurements and arrays of one fresh process."""
    with tempfile.TemporaryDirectory(prefix="winkel-bench-") as place:
        folder = Path(place)
        job = {
            "contestant": f"benchmarks.contestants.{contestant.function}",
            "task": asdict(plan.task),
            "data": None if dataset is None else str(dataset.path()),
            "packages": list(contestant.packages),
            "calls": plan.calls,
            "output": str(folder / "output.npz"),
            "result": str(folder / "result.json"),
        }
        write_json(folder / "job.json", job)
        watch = machine.Watch()
        failure, seconds = start(contestant, folder / "job.json", plan)
        others = watch.others()
        if not (folder / "result.json").exists():
            return {"status": "failed", "reason": failure}, {}
        result = json.loads((folder / "result.json").read_text())
        result |= {"process_seconds": seconds, "others": others}
        arrays = {}
        if (folder / "output.npz").exists():
            with np.load(folder / "output.npz") as file:
                arrays = {name: file[name] for name in file}
        return result, arrays


def start(contestant: Contestant, job: Path, plan: Plan) -> tuple[str, float]:
    """Why the process left no result (meant only for when it left none), and how long it lived."""
    python = plan.interpreter if contestant.environment == "winkel" else str(environment.interpreter())
    variables = dict(os.environ) | {name: str(plan.task.threads) for name in THREAD_VARIABLES}
    variables["NUMBA_CACHE_DIR"] = str(cache_folder() / "numba")
    if contestant.environment == "peers":
        variables.pop("PYTHONPATH", None)
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            [python, "-m", "benchmarks.child", str(job)],
            cwd=environment.ROOT,
            env=variables,
            capture_output=True,
            text=True,
            timeout=plan.timeout,
        )
        failure = f"exit code {done.returncode}: {environment.last_error(done.stderr)}"
    except subprocess.TimeoutExpired:
        failure = f"stopped after {plan.timeout:.0f} s"
    except OSError as error:
        failure = f"{python} cannot be started: {error}"
    return failure, time.perf_counter() - begun


def say(contestant: Contestant, dataset: Dataset | None, what: str, result: dict[str, object]) -> None:
    """One line on the way."""
    if result["status"] == "ran":
        seconds = result.get("first_seconds", result["import_seconds"])
        quality = "  ".join(f"{name} {value:.4g}" for name, value in result.get("quality", {}).items())
        text = f"{seconds:9.3f} s  {quality}"
    else:
        text = f"{result['status']}: {result['reason']}"
    print(f"  {dataset.key if dataset else '':>16} {what:8} {contestant.name:22} {text}", flush=True)


def default_interpreter() -> str:
    """The interpreter that runs winkel unless another is named: this one."""
    return sys.executable
