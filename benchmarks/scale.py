"""From parquet files on disk to a map on disk, by shards: time and peak memory of each stage.

    python -m benchmarks.scale 1000000 --folder FOLDER [--workers 2] [--columns 50] [--keep] [--resume]

Rows are anisotropic Gaussian clusters of varied weight, scale and dimension, as in benchmarks/datasets.py, made a million at a time.
The fit runs in a process of its own. Peak memory is the largest resident set of that process, mapped files included, and with
workers that of all processes together, looked at every half second; `own_gb` leaves mapped files out. Stages are told by the times of their
records in the folder; their processor seconds, those of all processes, tell more than seconds where the machine is shared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK, ROW_GROUP = 1_000_000, 250_000
# What each stage leaves behind, in order.
RECORDS = (
    ("copy", "copied.jsonl"),
    ("cells", "centres.json"),
    ("assign", "assigned.jsonl"),
    ("order", "ordered.json"),
    ("sort", "sorted.jsonl"),
    ("probe", "reach.json"),
    ("search", "searched.jsonl"),
    ("join", "neighbors.json"),
    ("gifts", "given.jsonl"),
    ("pairs", "paired.jsonl"),
)


def write_rows(folder: Path, n: int, columns: int, seed: int = 1921, row_group: int = ROW_GROUP) -> None:
    """n rows as parquet files; those that are there are kept."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.Generator(np.random.Philox(key=seed))
    count = max(10, n // 1000)
    weights = random.lognormal(sigma=0.5, size=count)
    dimension = random.integers(10, 16, size=count)
    centre = (0.5 * random.normal(size=(count, columns))).astype(np.float32)
    size = random.lognormal(sigma=0.5, size=count).astype(np.float32)
    basis = (random.normal(size=(16, 16, columns)) / np.sqrt(columns)).astype(
        np.float32
    )  # shared by clusters
    kind = random.integers(0, 16, size=count)
    for k, first in enumerate(range(0, n, CHUNK)):
        target = folder / f"part-{k:04d}.parquet"
        rows = min(CHUNK, n - first)
        draw = np.random.Generator(np.random.Philox(key=seed + 1 + k))
        if target.exists():
            continue
        of = np.sort(draw.choice(count, size=rows, p=weights / weights.sum()))
        X = centre[of] + 0.01 * draw.normal(size=(rows, columns)).astype(np.float32)
        for a in range(16):
            mine = np.flatnonzero(kind[of] == a)
            z = draw.normal(size=(len(mine), 16)).astype(np.float32)
            d = dimension[of[mine]][:, None]
            scales = np.where(np.arange(16) < d, 0.3 ** (np.arange(16) / np.maximum(d - 1, 1)), 0)
            X[mine] += (z * scales.astype(np.float32) * size[of[mine]][:, None]) @ basis[a]
        X = X[draw.permutation(rows)]
        table = pa.table({f"c{j}": X[:, j] for j in range(columns)})
        # Numbers that are all different gain nothing from dictionaries or compression.
        plain = {"use_dictionary": False, "compression": "none"}
        pq.write_table(table, target.with_suffix(".part"), row_group_size=row_group, **plain)
        target.with_suffix(".part").replace(target)


class Counted:
    """Evaluations of the problem from now on, how many of them summed by a tree, nodes of the grids of the others, and the processor seconds
    of this process in each part of an evaluation: those of the solver are what is left of the stage.
    """

    def __init__(self) -> None:
        from winkel.scale import problem

        self.counts = {"evaluations": 0.0, "trees": 0.0, "nodes": 0.0}
        self.parts: dict[str, Any] = {}
        sharded = problem.ShardedProblem
        repulsion, evaluate_field = sharded._repulsion, problem.Field.evaluate

        def counted(mine: Any, Y: Any, shared: Any, frame: Any, held: Any, groups: Any) -> Any:
            self.counts["evaluations"] += 1
            self.counts["nodes"] += 0 if held is None else held.size / len(Y)
            return repulsion(mine, Y, shared, frame, held, groups)

        def by_tree(mine: Any, Y: Any, *charges: Any) -> Any:
            self.counts["trees"] += 1
            return evaluate_field(mine, Y, *charges)

        sharded._repulsion = counted  # type: ignore[method-assign]
        problem.Field.evaluate = by_tree  # type: ignore[method-assign]
        for name, owner, function in (
            ("evaluations", sharded, "evaluate"),
            ("pairs", problem, "_attract"),
            ("spread", problem.Frame, "spread"),
            ("transforms", problem.GridField, "convolved"),
            ("read", problem, "_read"),
            ("checks", sharded, "_is_right"),
            ("trees", problem.Field, "evaluate"),
        ):
            setattr(owner, function, self._timed(name, getattr(owner, function)))

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            begun = used()
            try:
                return function(*arguments)
            finally:
                self.parts[name] = self.parts.get(name, 0) + used() - begun

        return timed

    def told(self) -> dict[str, Any]:
        """The counts, and of each part, without what is told as another, processor seconds and those of the system among them."""
        parts = dict(self.parts)
        parts["pairs"] = parts["pairs"] - parts.get("spread", 0)
        parts["other"] = parts.pop("evaluations") - sum(parts.values())
        return {**self.counts, "parts": {name: used.round(2).tolist() for name, used in parts.items()}}


def used() -> NDArray[np.float64]:
    """Processor seconds of this process, and those of the system among them."""
    used = os.times()
    return np.array([used.user + used.system, used.system])


def _fit(folder: str, workers: int, answer: str) -> None:
    begun = time.time()
    import winkel as wk

    counted = Counted()
    client = None
    if workers:
        from distributed import Client, LocalCluster

        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        )
        client = Client(cluster)
    path = Path(folder)
    source = wk.scale.open_source(str(path / "rows" / "*.parquet"))
    mde = wk.scale.fit(wk.MDE(random_state=0), source, folder=path / "work", client=client)
    solved = time.time()
    np.save(path / f"map-{workers}.npy", mde.embedding_)
    told = {
        "rows": len(mde.embedding_),
        "workers": workers,
        "recall": mde.result_.settings["recall"],
        "objective": mde.objective_,
        "joins": len(list((path / "work").glob("joined-*.jsonl"))),
        **counted.told(),
        "seconds": time.time() - begun,
        "digest": hashlib.blake2b(np.ascontiguousarray(mde.embedding_).tobytes(), digest_size=8).hexdigest(),
        "begun": begun,
        "ends": [*_ends(path / "work", begun), ("optimise", solved), ("write", time.time())],
    }
    Path(answer).write_text(json.dumps(told))
    if client is not None:
        client.close()
        cluster.close()


def _ends(work: Path, begun: float) -> list[tuple[str, float]]:
    """When each stage ended, by the time of its record."""
    found = ((name, work / record) for name, record in RECORDS)
    return [
        (name, path.stat().st_mtime) for name, path in found if path.exists() and path.stat().st_mtime > begun
    ]


@dataclass(frozen=True)
class Sample:
    """What a process and its children have used at a time: seconds of processors, bytes in memory, and those that are no mapped file's."""

    time: float
    cpu: float
    resident: int
    own: int


class Watch:
    """Samples of a process and its children; what children used that have ended is kept."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu: dict[int, float] = {}
        self.samples: list[Sample] = []

    def look(self) -> None:
        import psutil

        resident = own = 0
        with suppress(psutil.Error):
            root = psutil.Process(self._pid)
            for each in (root, *root.children(recursive=True)):
                with suppress(psutil.Error):
                    memory, used = each.memory_info(), each.cpu_times()
                    resident, own = resident + memory.rss, own + memory.rss - memory.shared
                    self._cpu[each.pid] = used.user + used.system
        self.samples.append(Sample(time.time(), sum(self._cpu.values()), resident, own))

    def stages(self, begun: float, ends: list[tuple[str, float]]) -> dict[str, dict[str, float]]:
        """Seconds, processor seconds and peak memory in GB of each stage."""
        at, cpu = (np.array([getattr(each, name) for each in self.samples]) for name in ("time", "cpu"))
        told, before = {}, begun
        for name, end in ends:
            used = np.interp(end, at, cpu) - np.interp(before, at, cpu)
            during = [each for each in self.samples if before <= each.time <= end]
            told[name] = {
                "seconds": round(end - before, 1),
                "cpu": round(float(used), 1),
                "peak_gb": round(max((each.resident for each in during), default=0) / 1e9, 2),
                "own_gb": round(max((each.own for each in during), default=0) / 1e9, 2),
            }
            before = end
        return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument(
        "--workers", type=int, default=0, help="processes of a Dask cluster; 0 works without Dask"
    )
    parser.add_argument("--folder", type=Path, default=Path("/tmp/winkel-scale"))
    parser.add_argument("--keep", action="store_true", help="keep the rows for a further run")
    parser.add_argument(
        "--keep-work", action="store_true", help="keep the folder of the fit, for benchmarks.evaluation"
    )
    parser.add_argument("--resume", action="store_true", help="go on from what an earlier run left")
    options = parser.parse_args()
    folder = options.folder / f"{options.rows}x{options.columns}"
    write_rows(folder / "rows", options.rows, options.columns)
    if not options.resume:
        shutil.rmtree(folder / "work", ignore_errors=True)
    answer = folder / f"answer-{os.getpid()}.json"
    child = multiprocessing.get_context("spawn").Process(
        target=_fit, args=(str(folder), options.workers, str(answer))
    )
    child.start()
    watch = Watch(child.pid or 0)
    while child.is_alive():
        watch.look()
        child.join(0.5)
    if child.exitcode:
        raise SystemExit(f"the fit ended with {child.exitcode}")
    told = json.loads(answer.read_text())
    answer.unlink()
    told["stages"] = watch.stages(told.pop("begun"), told.pop("ends"))
    told["cpu_seconds"] = round(watch.samples[-1].cpu, 1)
    told["peak_gb"] = round(max(each.resident for each in watch.samples) / 1e9, 2)
    print(json.dumps(told, indent=1))
    if not options.keep_work:
        shutil.rmtree(folder / "work", ignore_errors=True)
    if not options.keep:
        shutil.rmtree(folder / "rows", ignore_errors=True)


if __name__ == "__main__":
    main()
