"""Kernels of this build against those of another, item by item, and fits beside busy processes.

    python -m benchmarks.headroom OTHER      # a folder that holds the other build's package, such as its src
    python -m benchmarks.headroom --busy     # n_jobs=1 and n_jobs=2 beside eight processes that do nothing but compute

Each item runs in fresh processes of either build in turn, and counts processor time, which other work on the machine
disturbs little; the least of all rounds stands. Written to results/headroom.md (items by `--only` at its end), or results/busy.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
THIS = ROOT / "src"

PREPARE = """
import json, sys, time
import numpy as np
from winkel import _core
rng = np.random.default_rng(0)

def spent(work, repeats=5):
    work()
    best = 1e9
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(json.dumps(best))

def text(n, m, row):
    \"\"\"n rows of `row` entries whose columns are drawn as words are, the r-th as often as 1 / r.\"\"\"
    words = np.minimum((np.exp(rng.random((n, 2 * row)) * np.log(m)) - 1).astype(np.int32), m - 1)
    rows = [np.unique(w)[:row] for w in words]
    indptr = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    values = rng.random(indptr[-1]).astype(np.float32) + 0.1
    norm = np.add.reduceat(values**2, indptr[:-1]).astype(np.float32)
    return indptr, np.concatenate(rows), values, m, norm

def ring(n, k):
    indices = ((np.arange(n)[:, None] + rng.integers(1, 200, (n, k))) % n).astype(np.int32)
    return np.arange(0, n * k + 1, k), indices.ravel()
"""

# What is measured, and the program that does.
ITEMS = {
    "perplexity, 20 000 rows of 90 distances": """
d = np.sort(np.abs(rng.normal(size=(20_000, 90))) + 1.0, axis=1)
spent(lambda: _core.calibrate_perplexity(d, 30.0, 1))
""",
    "fuzzy memberships, 20 000 rows of 15 distances": """
d = np.sort(np.abs(rng.normal(size=(20_000, 15))) + 1.0, axis=1)
spent(lambda: _core.calibrate_fuzzy(d, np.log2(15), 1e-3, 1))
""",
    "sparse search, 4 000 rows, 200 000 columns, about 60 entries a row": """
X = text(4000, 200_000, 60)
def work():
    search = _core.SparseSearch(*X, 20)
    search.run(0, 4000, 1)
spent(work, 2)
""",
    "sparse search, 4 000 rows, 2 000 columns, about 40 entries a row": """
X = text(4000, 2000, 40)
def work():
    search = _core.SparseSearch(*X, 20)
    search.run(0, 4000, 1)
spent(work, 2)
""",
    "neighbours of 500 new sparse rows among 4 000, 200 000 columns": """
indptr, indices, values, m, _ = text(4000, 200_000, 60)
q = (indptr[:501], indices[: indptr[500]], values[: indptr[500]])
spent(lambda: _core.query_sparse(q, (indptr, indices, values), m, 0, 15, 1), 2)
""",
    "listed forces, 500 000 points with 2 pairs each": """
Y = rng.normal(size=(500_000, 2)).astype(np.float32)
indptr, indices = ring(500_000, 2)
curve = _core.Curve("cauchy", "neg_log", 1.0, 1.0, 1e-6)
w = np.ones(len(indices), np.float32)
spent(lambda: _core.listed_forces(curve, Y, indptr, indices, w, False, 1))
""",
    "listed forces, 200 000 points with 15 pairs each": """
Y = rng.normal(size=(200_000, 2)).astype(np.float32)
indptr, indices = ring(200_000, 15)
curve = _core.Curve("cauchy", "neg_log", 1.0, 1.0, 1e-6)
w = np.ones(len(indices), np.float32)
spent(lambda: _core.listed_forces(curve, Y, indptr, indices, w, False, 1))
""",
    "listed forces, 100 000 points with 90 pairs each": """
Y = rng.normal(size=(100_000, 2)).astype(np.float32)
indptr, indices = ring(100_000, 90)
curve = _core.Curve("cauchy", "neg_log", 1.0, 1.0, 1e-6)
w = np.ones(len(indices), np.float32)
spent(lambda: _core.listed_forces(curve, Y, indptr, indices, w, False, 1), 3)
""",
    "a new array of results, a row less than 4 000 000 x 2 numbers": """
Y = rng.normal(size=(4_000_000, 2))
spent(lambda: _core.subtract_row(Y, np.zeros(2), 1))
""",
    "rounds of nn-descent, 30 000 rows of 16 columns": """
x = rng.normal(size=(30_000, 16)).astype(np.float32)
norm = (x * x).sum(axis=1)
def work():
    search = _core.NeighborDescent(x, norm, x, 0, 20, 20, 60, 0, 1)
    for _ in range(2):
        search.round(1)
spent(work, 1)
""",
    "gram matrix, 100 000 rows of 32 columns": """
x = rng.normal(size=(100_000, 32)).astype(np.float32)
spent(lambda: _core.gram(x, x, 1), 3)
""",
    "exact search, 10 000 rows of 4 columns": """
x = rng.normal(size=(10_000, 4)).astype(np.float32)
norm = (x * x).sum(axis=1)
def work():
    search = _core.ExactSearch(x, norm, 0, 20)
    search.run(0, search.n_tasks, 1)
spent(work, 2)
""",
    "field of 100 000 points": """
Y = (10 * rng.normal(size=(100_000, 2))).astype(np.float32)
q = np.ones(100_000, np.float32)
rules = _core.FieldRules(4, 48, 1.4, 1.0, np.inf, np.inf, 0.0)
spent(lambda: _core.field_sums("cauchy", 1.0, 0.0, Y, q, rules, 1), 2)
""",
}


def measure(program: str, package: Path) -> float:
    """Seconds that the program found on one thread, with the package of this folder."""
    environment = {**os.environ, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + program], env=environment, capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def compare(
    other: Path, this: Path, rounds: int, items: dict[str, str], only: str = ""
) -> list[tuple[str, float, float]]:
    """For each item its name and the least seconds that either package takes, in turn."""
    found = []
    for name, program in items.items():
        if only not in name:
            continue
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            for package, taken in zip((other, this), times, strict=True):
                taken.append(measure(program, package))
        found.append((name, min(times[0]), min(times[1])))
        print(f"{name}: {found[-1][1] * 1e3:.1f} ms -> {found[-1][2] * 1e3:.1f} ms", flush=True)
    return found


BUSY = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import winkel as wk
X = np.random.default_rng(0).normal(size=(600, 20))
def fit(n_jobs, max_iter):
    start = time.perf_counter()
    wk.LVM(n_jobs=n_jobs, random_state=0, max_iter=max_iter).fit(X)
    return time.perf_counter() - start
for n_jobs in (1, 2):
    fit(n_jobs, 1)
for _ in range(int(sys.argv[1])):
    print(json.dumps([fit(1, int(sys.argv[2])), fit(2, int(sys.argv[2]))]), flush=True)
"""
# Computes until whoever started it is gone.
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"


def beside_busy_processes(rounds: int, max_iter: int) -> list[tuple[float, float]]:
    """Seconds of a fit with one thread and with two, in turn in one process, while eight others compute."""
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(8)]
    try:
        command = [sys.executable, "-c", BUSY, str(rounds), str(max_iter)]
        environment = {**os.environ, "PYTHONPATH": str(THIS)}
        times = []
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as fits:
            for line in fits.stdout or ():
                times.append(tuple(json.loads(line)))
                print(f"{times[-1][0]:.2f} s with one thread, {times[-1][1]:.2f} s with two", flush=True)
        return times
    finally:
        for process in busy:
            process.kill()


def where() -> str:
    from .machine import describe

    found = describe()
    return f"{found['date']}, {found['cpu']}, {found['cores']} cores, load {found['load_before']} before"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=50, help="of the fit beside busy processes")
    parser.add_argument("--only", default="", help="items whose name holds this")
    options = parser.parse_args()
    if options.busy:
        times = beside_busy_processes(options.rounds, options.iterations)
        one, two = zip(*times, strict=True)
        ratio = sum(two) / sum(one)
        text = (
            f"# A fit beside eight busy processes\n\n{where()}.\n\nLVM on 600 rows, {options.iterations} iterations, {len(times)} rounds "
            f"of one thread and two in turn in one process, while eight others do nothing but compute.\n\n| threads | seconds, median |\n|---|---|\n"
            f"| 1 | {statistics.median(one):.2f} |\n| 2 | {statistics.median(two):.2f} |\n\n"
            f"Over all rounds two threads take {ratio:.2f} times what one takes.\n"
        )
        (RESULTS / "busy.md").write_text(text)
        print(text)
        return
    found = compare(options.other, THIS, options.rounds, ITEMS, options.only)
    lines = [f"| {name} | {a * 1e3:.1f} | {b * 1e3:.1f} | {a / b:.2f} |" for name, a, b in found]
    text = (
        f"# Kernels before and after\n\n{where()}.\n\nMilliseconds of processor time on one thread, the least of "
        f"{options.rounds} rounds of either build in turn (`python -m benchmarks.headroom OTHER`).\n\n"
        "| item | before | after | times as fast |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )
    page = RESULTS / "headroom.md"
    if options.only and page.exists():  # some items anew: after those that stand there
        text = page.read_text() + "\n" + text.replace("# Kernels", f"## Again: {options.only}", 1)
    page.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
