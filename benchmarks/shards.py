"""What work by shards costs and loses beside the same in memory.

    python -m benchmarks.shards knn 1000000 [--folder F] [--jobs 1]   wk.scale.knn from parquet beside wk.graph.knn
    python -m benchmarks.shards transform 200000 [--workers 1 2]     placing rows by the workers of a Dask cluster
    python -m benchmarks.shards measure 10000000 [--folder F]        the report of a map of that many rows from parquet
    python -m benchmarks.shards measure 100000 --check               and by how much it differs from that of wk.measure on the same sample

Each part runs in a process of its own. CPU seconds are those of that process and its threads; wall seconds mean something on a quiet
machine only.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .scale import write_rows


def apart(part: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """What a function gives in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_told, args=(theirs, part, arguments))
    child.start()
    theirs.close()
    try:
        found: dict[str, Any] = ours.recv()
    except EOFError:
        raise SystemExit(f"{part.__name__} ended early") from None
    child.join()
    return found


def _told(pipe: Any, part: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> None:
    pipe.send(part(*arguments))


class Clock:
    """Wall and CPU seconds since it was made, and the largest resident set of the process so far."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return {
            "seconds": round(time.perf_counter() - self.wall, 2),
            "cpu_seconds": round(time.process_time() - self.cpu, 2),
            "peak_gb": round(peak / 1e9, 2),
        }


def _knn_in_memory(rows: str, k: int, n_jobs: int) -> dict[str, Any]:
    import winkel as wk

    X = np.concatenate([part.values for part in wk.scale.open_source(rows).shards()])
    clock = Clock()
    graph = wk.graph.knn(X, k, method="approximate", recall=0.98, random_state=0, n_jobs=n_jobs)
    return {**clock.read(), "recall": graph.origin.recall.value}


def _knn_by_shards(rows: str, k: int, n_jobs: int, folder: str) -> dict[str, Any]:
    import winkel as wk

    clock = Clock()
    lists = wk.scale.knn(rows, k, folder, method="approximate", n_jobs=n_jobs)
    return {**clock.read(), "recall": lists.origin.recall.value}


def knn(options: argparse.Namespace) -> dict[str, Any]:
    """Neighbours from parquet files, by shards and in memory."""
    folder = options.folder / f"{options.rows}x{options.columns}"
    write_rows(folder / "rows", options.rows, options.columns)
    rows, lists = str(folder / "rows" / "*.parquet"), folder / "lists"
    shutil.rmtree(lists, ignore_errors=True)
    by_shards = apart(_knn_by_shards, rows, options.neighbors, options.jobs, str(lists))
    in_memory = apart(_knn_in_memory, rows, options.neighbors, options.jobs)
    shutil.rmtree(lists, ignore_errors=True)
    ratio = by_shards["cpu_seconds"] / in_memory["cpu_seconds"]
    return {"by_shards": by_shards, "in_memory": in_memory, "cpu_ratio": round(ratio, 2)}


def _placed(rows: str, model: str, workers: int, answer: str) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    import winkel as wk

    mde = wk.load(model)
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(__import__, "winkel.estimators")
        begun = time.perf_counter()
        wk.scale.transform(mde, rows, answer, client=client)
        return {"workers": workers, "seconds": round(time.perf_counter() - begun, 2)}


def transform(options: argparse.Namespace) -> dict[str, Any]:
    """Rows placed among 10 000 landmarks by one worker and by two."""
    import winkel as wk

    folder = options.folder / f"{options.rows}x{options.columns}"
    write_rows(folder / "rows", options.rows, options.columns, row_group=max(1000, options.rows // 16))
    rows, model = str(folder / "rows" / "*.parquet"), folder / "model.winkel"
    wk.scale.fit_landmarks(wk.MDE(random_state=0), rows, min(10_000, options.rows // 2)).save(model)
    runs = [apart(_placed, rows, str(model), w, str(folder / f"placed-{w}.npy")) for w in options.workers]
    same = {(folder / f"placed-{w}.npy").read_bytes() for w in options.workers}
    return {
        "runs": runs,
        "same_bytes": len(same) == 1,
        "speedup": round(runs[0]["seconds"] / runs[-1]["seconds"], 2),
    }


def _measured(rows: str, map_file: str, n_jobs: int, check: bool) -> dict[str, Any]:
    import winkel as wk

    source = wk.scale.open_source(rows)
    if not Path(map_file).exists():
        plane = wk.scale.pca(source, 2)
        np.save(map_file, np.concatenate([shard.values for shard in plane.shards()]))
    clock = Clock()
    report = wk.scale.measure(source, map_file, n_jobs=n_jobs, verbose=True)
    told = {
        name: [round(score.value, 4), *(round(end, 4) for end in score.interval or ())]
        for name, score in report.scores.items()
    }
    found = {**clock.read(), "sample": len(report.rows), "scores": told}
    if check:
        X, Y = np.concatenate([shard.values for shard in source.shards()]), np.load(map_file)
        clock = Clock()
        whole = wk.measure(X, Y, sample=len(report.rows), scores=list(report.scores), n_jobs=n_jobs)
        found["in_memory"] = clock.read() | {
            "largest_difference": max(
                abs(a - b)
                for name, one in report.scores.items()
                for a, b in zip(_numbers(one), _numbers(whole[name]), strict=True)
            )
        }
    return found


def _numbers(score: Any) -> list[float]:
    """Value, interval and baseline."""
    return [value for value in (score.value, *(score.interval or ()), score.baseline) if value is not None]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The report of a map, from a sample of its rows against all: of the principal plane, where there is no map.npy in the folder."""
    folder = options.folder / f"{options.rows}x{options.columns}"
    write_rows(folder / "rows", options.rows, options.columns)
    return apart(
        _measured, str(folder / "rows" / "*.parquet"), str(folder / "map.npy"), options.jobs, options.check
    )


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "knn": knn,
    "transform": transform,
    "measure": measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=tuple(PARTS))
    parser.add_argument("rows", type=int, nargs="?", default=100_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--neighbors", type=int, default=15)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="measure the same in memory, too")
    parser.add_argument("--folder", type=Path, help="where rows are kept for a further run")
    options = parser.parse_args()
    kept = options.folder is not None
    options.folder = options.folder or Path(tempfile.mkdtemp(prefix="winkel-shards-"))
    try:
        print(json.dumps(PARTS[options.part](options), indent=1))
    finally:
        if not kept:
            shutil.rmtree(options.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
