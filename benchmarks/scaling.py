"""How time and memory grow with rows, columns and neighbours, and how near each kernel comes to the limits of the machine.

    python -m benchmarks.scaling growth                 # 1 000 to 100 000 rows
    python -m benchmarks.scaling growth --most 10000000 # up to ten million; hours
    python -m benchmarks.scaling kernels

"growth" runs each size in a fresh process and fits time = c · xᵃ over the larger half of the sizes, where constants no longer
count; the exponent a stands below each table. Time is processor time of all threads; memory is the highest resident size
beyond that after the import, data included. A size whose forecast, by the exponent so far, is beyond --minutes is left out and
named. Maps by shards are not run again: their table is of the runs that benchmarks.scale left in results/scale.json. "kernels"
first measures what this machine can do with one thread (copying a large array, multiplying large float32 matrices by NumPy's
library, reading at random places and taking exponentials by NumPy), then what part of that each kernel reaches: of bytes that must
be moved, of operations that must be made, or of reads at random or exponentials where these are what it does, whichever takes
longest at those limits. Written to results/scaling.md and results/kernels.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .files import write_text
from .machine import Watch, describe

RESULTS = Path(__file__).with_name("results")
ROOT = Path(__file__).parents[1]
_ROWS_OF_A_CLUSTER = 1000

CHILD = """
import json, resource, sys, time
import numpy as np
import winkel as wk
from benchmarks.scaling import clusters
what, n, d, k = sys.argv[1], *map(int, sys.argv[2:])
wk.MDE, wk.graph.knn
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
X = clusters(n, d)
begun, spent = time.perf_counter(), time.process_time()
if what == "neighbours":
    wk.graph.knn(X, k, random_state=0)
elif what == "map":
    wk.MDE(n_neighbors=k, random_state=0).fit(X)
else:
    raise SystemExit(what)
print(json.dumps({
    "wall": time.perf_counter() - begun, "cpu": time.process_time() - spent,
    "memory": 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before),
}))
"""


def clusters(n: int, d: int) -> np.ndarray:
    """Gaussian clusters of about 1 000 rows at every n, so that growth is that of the algorithm and not of the geometry."""
    rng = np.random.default_rng(0)
    count = max(1, n // _ROWS_OF_A_CLUSTER)
    centers = 4 * rng.standard_normal((count, d), dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += centers[rng.integers(0, count, n)]
    return X


def measured(what: str, n: int, d: int, k: int) -> dict[str, float]:
    """Time and memory of one size in a fresh process."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-W", "ignore", "-c", CHILD, what, str(n), str(d), str(k)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def exponent(sizes: list[float], values: list[float]) -> float:
    """a of value = c · sizeᵃ by least squares of logarithms over the larger half of the sizes."""
    half = max(2, (len(sizes) + 1) // 2)
    x, y = np.log(sizes[-half:]), np.log(np.maximum(values[-half:], 1e-9))
    return float(np.polyfit(x, y, 1)[0])


def series(what: str, axis: str, sizes: list[int], fixed: dict[str, int], minutes: float) -> list[str]:
    """A table of one axis, with the exponents."""
    lines = [
        f"### {what} against {axis}, " + ", ".join(f"{name} = {value:,}" for name, value in fixed.items()),
        "",
    ]
    lines += [f"| {axis} | processor s | wall s | memory |", "| ---: | ---: | ---: | ---: |"]
    done: list[dict[str, float]] = []
    tried: list[int] = []
    for size in sizes:
        if len(done) > 1:
            growth = exponent(list(map(float, tried)), [row["cpu"] for row in done])
            if done[-1]["cpu"] * (size / tried[-1]) ** max(1.0, growth) > 60 * minutes:
                lines.append(f"| {size:,} | left out: forecast beyond {minutes:g} minutes | | |")
                continue
        row = measured(what, **(fixed | {axis: size}))
        done.append(row)
        tried.append(size)
        lines.append(f"| {size:,} | {row['cpu']:.2f} | {row['wall']:.2f} | {row['memory'] / 1e6:.0f} MB |")
        print(lines[-1], flush=True)
    if len(tried) > 2:
        at = [float(size) for size in tried]
        cpu, memory = (exponent(at, [row[key] for row in done]) for key in ("cpu", "memory"))
        lines += ["", f"Time grows as {axis}^{cpu:.2f}, memory as {axis}^{memory:.2f}."]
    return [line.replace(",", " ") if line.startswith("|") else line for line in [*lines, ""]]


def growth(most: int, minutes: float) -> Iterator[list[str]]:
    """All tables of growth, one after the other."""
    steps = [n for power in range(3, 8) for n in (10**power, 3 * 10**power) if n <= most]
    base = min(10_000, most)
    for what in ("neighbours", "map"):
        yield series(what, "d", [5, 10, 20, 50, 100, 200, 500, 1000], {"n": base, "k": 15}, minutes)
        yield series(what, "k", [5, 10, 20, 40, 80], {"n": base, "d": 50}, minutes)
        yield series(what, "n", steps, {"d": 50, "k": 15}, minutes)
    yield by_shards(json.loads((RESULTS / "scale.json").read_text()))


def by_shards(runs: list[dict[str, Any]]) -> list[str]:
    """A table of maps by shards in one process; of runs of the same rows the first, so that all are of one code."""
    alone: dict[int, dict[str, Any]] = {}
    for run in runs:
        if not run["workers"]:
            alone.setdefault(run["rows"], run)
    sizes = sorted(alone)
    lines = ["### map by shards against n, d = 50, k = 15", ""]
    lines += ["| n | processor s | wall s | memory |", "| ---: | ---: | ---: | ---: |"]
    for n in sizes:
        cpu, wall, peak = (alone[n][key] for key in ("cpu_seconds", "seconds", "peak_gb"))
        lines.append(f"| {n:,} | {cpu:.2f} | {wall:.2f} | {1000 * peak:.0f} MB |".replace(",", " "))
    at = [float(n) for n in sizes]
    cpu, memory = (exponent(at, [alone[n][key] for n in sizes]) for key in ("cpu_seconds", "peak_gb"))
    told = "These are earlier runs (`results/scale.json`, `python -m benchmarks.scale ROWS`; the import is part of their memory)."
    return [*lines, "", f"Time grows as n^{cpu:.2f}, memory as n^{memory:.2f}. {told}", ""]


# ------------------------------------------------------------------------------------------------------ kernels


def best(work: Callable[[], Any], repeats: int = 5) -> float:
    """The least processor time of several calls."""
    work()
    found = math.inf
    for _ in range(repeats):
        begun = time.process_time()
        work()
        found = min(found, time.process_time() - begun)
    return found


def copy_speed() -> float:
    """Bytes a second that copying a large array reads and writes."""
    source = np.zeros(50_000_000, np.float32)
    target = np.ones_like(source)
    return 2 * source.nbytes / best(lambda: np.copyto(target, source))


def product_speed() -> float:
    """Operations a second of a product of large float32 matrices by the library that NumPy has."""
    n = 1024
    A = np.ones((n, n), np.float32)
    return 2 * n**3 / best(lambda: A @ A)


def gather_seconds(rows: int, reads: int) -> float:
    """Seconds that NumPy takes to read points of the plane (8 bytes each) at so many random places of a table."""
    rng = np.random.default_rng(1)
    table, index, target = rng.normal(size=rows), rng.integers(0, rows, size=reads), np.empty(reads)
    return best(lambda: np.take(table, index, out=target, mode="clip"))


def exponential_seconds(count: int) -> float:
    """Seconds that NumPy takes for so many exponentials in double precision, of values that stay near."""
    x = -np.abs(np.random.default_rng(1).normal(size=4096))
    target = np.empty_like(x)

    def work() -> None:
        for _ in range(count // len(x)):
            np.exp(x, out=target)

    return best(work)


def kernel_cases(small: bool) -> dict[str, tuple[Callable[[], Any], float, float]]:
    """Of each kernel: a call, the bytes that it must move at least, and the operations that it must make."""
    from winkel import _core
    from winkel.problem import Problem, penalties

    rng = np.random.default_rng(0)
    n, p = (5_000, 100_000) if small else (200_000, 3_000_000)
    found: dict[str, tuple[Callable[[], Any], float, float]] = {}

    Y = rng.normal(size=(4 * n, 2)).astype(np.float32)
    found["sums of columns"] = (lambda: _core.column_sums(Y, 1), Y.nbytes, Y.size)
    mean = np.zeros(2)
    found["a row subtracted from all"] = (lambda: _core.subtract_row(Y, mean, 1), 2 * Y.nbytes, Y.size)
    G = rng.normal(size=(n, 32)).astype(np.float32)
    found["gram matrix of 32 columns"] = (lambda: _core.gram(G, G, 1), G.nbytes, 2 * n * 32 * 32)
    A = rng.normal(size=(1024, 1024)).astype(np.float32)
    found["product of matrices (portable)"] = (
        lambda: _core.matrix_product(A, A, False, False, 1),
        3 * A.nbytes,
        2.0 * 1024**3,
    )

    m = 2_000 if small else 10_000
    for d, k in ((16, 1), (16, 20), (128, 20)):
        x = rng.normal(size=(m, d)).astype(np.float32)
        norm = (x * x).sum(axis=1)

        def search(x: np.ndarray = x, norm: np.ndarray = norm, k: int = k) -> None:
            made = _core.ExactSearch(x, norm, 0, k)
            made.run(0, made.n_tasks, 1)

        # Each pair of rows is compared once, by a product of d numbers.
        found[f"exact search, {d} columns, lists of {k}"] = (search, 2.0 * x.nbytes, float(m) * m * d)

    i = rng.integers(0, n, size=p)
    j = (i + rng.integers(1, n, size=p)) % n
    pairs = np.unique(np.sort(np.stack([i, j], axis=1), axis=1), axis=0)
    for name, penalty in {"quadratic": penalties.Quadratic(), "log1p": penalties.Log1p()}.items():
        problem = Problem(pairs, penalty, n_items=n, n_components=2, n_jobs=1)
        Z = rng.normal(size=(n, 2)).astype(np.float32)
        # Each pair is read from both its ends: a number, and the coordinates of the far end, a line of memory each time.
        found[f"gradient over random pairs, {name}"] = (
            lambda problem=problem, Z=Z: problem.gradient(Z),
            2.0 * len(pairs) * (4 + 8) + 3.0 * Z.nbytes,
            2.0 * len(pairs) * 10,
        )
    d90 = np.sort(np.abs(rng.normal(size=(n // 10, 90))) + 1.0, axis=1)
    # About 20 bisections, each an exponential (about 15 operations) and two sums of every distance.
    found["perplexity of 90 distances"] = (
        lambda: _core.calibrate_perplexity(d90, 30.0, 1),
        2.0 * d90.nbytes,
        20.0 * 17 * d90.size,
    )
    field = (10 * rng.normal(size=(n // 2, 2))).astype(np.float32)
    charge = np.ones(len(field), np.float32)
    rules = _core.FieldRules(4, 48, 1.4, 1.0, np.inf, np.inf, 0.0)
    # How many operations a tree needs for its precision is not known beforehand, so it has no share of a limit.
    found["field by a tree"] = (
        lambda: _core.field_sums("cauchy", 1.0, 0.0, field, charge, rules, 1),
        5.0 * field.nbytes,
        math.nan,
    )
    return found


# What keeps a kernel below half of its limit, by the beginning of its name.
STOPS = {
    "product of matrices": "It never fuses a product with a sum, so that every processor gives the same bytes. This takes twice the instructions.",
    "gram matrix": "A product is never fused with a sum, so that every processor gives the same bytes. This takes twice the instructions. Moreover, with 32 "
    "columns there is little to keep in registers.",
    "exact search, 16": "Only products are counted. In addition to 16 of them, each pair is compared with the farthest neighbour so far, and some pairs are "
    "inserted into a sorted list. The insertions are the difference to lists of 1: {insertion:.0f} ns for each of the k (1 + ln(n / k)) insertions that a "
    "row of normally distributed columns has.",
    "exact search, 128": "As with 16 columns, where comparisons and insertions weigh more.",
    "gradient over random pairs": "The limit counts only the read of the far end. At both ends of each pair, the distance, the derivative and two sums are "
    "computed as well, and for log1p a division and a logarithm. Pairs of a neighbour graph, whose rows are ordered, miss the cache less often than these.",
    "perplexity": "Each bisection sums its exponentials in lanes that the source code fixes, and rows end after different numbers of bisections.",
    "sums of columns": "Each column is summed in double precision in lanes that the source code fixes, so additions wait for each other.",
}


def kernels(small: bool) -> list[str]:
    """The table of kernels, those farthest from their limit first."""
    bandwidth, peak = copy_speed(), product_speed()
    n, p = (5_000, 100_000) if small else (200_000, 3_000_000)  # as in kernel_cases
    reads, exponentials = gather_seconds(n, 2 * p), exponential_seconds(n // 10 * 90 * 20)
    slower = {
        "gradient over random pairs": ("reads at random", reads),
        "perplexity": ("exponentials", exponentials),
    }
    lines = [
        f"One thread copies {bandwidth / 1e9:.1f} GB/s and multiplies matrices at {peak / 1e9:.0f} GFLOP/s here. NumPy reads points at random places of a table "
        f"of {n} of them at {1e9 * reads / (2 * p):.2f} ns each, and takes exponentials at {1e9 * exponentials / (n // 10 * 90 * 20):.2f} ns each.",
        "",
        "| kernel | time | GB/s | GFLOP/s | limited by | share of that limit |",
        "| --- | ---: | ---: | ---: | --- | ---: |",
    ]
    rows, taken = [], {}
    for name, (work, moved, operations) in kernel_cases(small).items():
        seconds = taken[name] = best(work, 3)
        by_memory, by_operations = moved / bandwidth, operations / peak
        limit = "memory" if by_memory >= by_operations else "operations"
        least = max(by_memory, by_operations)
        for limited, floor in (slower[begin] for begin in slower if name.startswith(begin)):
            limit, least = (limited, floor) if floor > least else (limit, least)
        share = least / seconds
        told = f"{limit} | {share:.0%}"
        if math.isnan(operations):
            share, told = math.inf, "not known | –"
        rows.append(
            (
                share,
                f"| {name} | {1e3 * seconds:.1f} ms | {moved / seconds / 1e9:.2f} | {operations / seconds / 1e9:.2f} "
                f"| {told} |",
            )
        )
        print(rows[-1][1], flush=True)
    rows.sort()
    slow = [line.split("|")[1].strip() for share, line in rows if share < 0.5]
    m = 2_000 if small else 10_000  # as in kernel_cases
    lists = taken["exact search, 16 columns, lists of 20"] - taken["exact search, 16 columns, lists of 1"]
    told = [
        f"- {name}: {why.format(insertion=1e9 * lists / (m * 20 * (1 + math.log(m / 20))))}"
        for name in slow
        for begin, why in STOPS.items()
        if name.startswith(begin)
    ]
    return [
        *lines,
        *(line for _, line in rows),
        "",
        "Why some kernels stay below half of their limit:",
        "",
        *told,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("growth", "kernels"))
    parser.add_argument("--most", type=int, default=100_000, help="rows at most")
    parser.add_argument("--minutes", type=float, default=10.0, help="of processor time for one size at most")
    parser.add_argument("--small", action="store_true", help="small kernels, to try the script")
    parser.add_argument("--trial", action="store_true", help="print only, write nothing")
    asked = parser.parse_args()
    watch, lines = Watch(), []
    title, name = (
        ("How time and memory grow", "scaling")
        if asked.what == "growth"
        else ("Kernels beside the limits of the machine", "kernels")
    )
    for part in growth(asked.most, asked.minutes) if asked.what == "growth" else [kernels(asked.small)]:
        lines += part
        others = watch.others()
        busy = "" if others is None else f" Other processes took {others:.0%} of the machine meanwhile."
        about = f"{', '.join(f'{key} {value}' for key, value in describe().items())}.{busy}"
        text = "\n".join(
            [f"# {title}", "", f"By `python -m benchmarks.scaling {asked.what}`: {about}", "", *lines]
        )
        if not asked.trial:
            write_text(RESULTS / f"{name}.md", text + "\n")
    if asked.trial:
        print(text)


if __name__ == "__main__":
    main()
