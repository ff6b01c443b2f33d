"""What the first map of the day costs, in a fresh process.

    python -m benchmarks.startup [--rounds 7]             the default map of the digits, beside `import sklearn.base` alone
    python -m benchmarks.startup --peers [--rounds 3]     the maps of MNIST by winkel and by other packages, import included

Processes take turns, one round after the other; figures are medians, by the clock and of processor time. The first round is not counted: it
fills the caches of the disk. What a map costs over the bare import is the median of the differences within a round.

With `--peers` a process is timed from its start to its end: import, reading 70 000 × 50 numbers, the map. The packages and their settings are those
of the entry "maps". "First" runs with an empty cache of compiled code, as after an installation; "again" finds what the run before it has left there.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from . import environment
from .datasets import MNIST_50
from .harness import THREAD_VARIABLES

PROGRAMS = {
    "import sklearn.base": "import sklearn.base",
    "winkel ready": "import winkel; winkel.MDE",
    "the map of the digits": "import numpy, winkel; winkel.MDE(random_state=0).fit(numpy.load({path!r}))",
}
# The map of MNIST by a contestant of the entry "maps".
MAP = "import numpy; from benchmarks.contestants import Task, maps; maps.{function}(Task(threads={threads}, seed=0, n_neighbors=15))(numpy.load({path!r}))"
PEERS = {
    "winkel": "winkel_mde",
    "PaCMAP": "pacmap",
    "PaCMAP with a seed": "pacmap_seeded",
    "UMAP": "umap",
    "UMAP with a seed": "umap_seeded",
    "PyMDE": "pymde",
    "openTSNE": "opentsne",
}


def seconds(code: str, python: str = sys.executable, **variables: str) -> tuple[float, float]:
    """Seconds by the clock and of processor time that a fresh process takes to run `code`."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [python, "-c", code],
        check=True,
        cwd=environment.ROOT,
        env=dict(os.environ) | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digits(rounds: int) -> None:
    """Print the table of the digits."""
    from sklearn.datasets import load_digits

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "digits.npy")
        np.save(path, load_digits().data.astype(np.float32))
        codes = [code.format(path=path) for code in PROGRAMS.values()]
        found = np.array([[seconds(code) for code in codes] for _ in range(rounds + 1)])[1:]
    print(
        "| in a fresh process | clock, s | CPU, s | over the first, clock | CPU |\n| --- | --- | --- | --- | --- |"
    )
    for i, name in enumerate(PROGRAMS):
        cells = [*found[:, i].T, *(found[:, i] - found[:, 0]).T]
        print(f"| {name} | " + " | ".join(f"{median(cell):.2f}" for cell in cells) + " |")


def beside_peers(rounds: int, names: list[str]) -> None:
    """Print the table of MNIST."""
    threads = str(len(os.sched_getaffinity(0)))
    path = str(MNIST_50.path())
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    for _ in range(rounds + 1):
        for name in names:
            python = sys.executable if name == "winkel" else str(environment.interpreter())
            code = MAP.format(function=PEERS[name], threads=threads, path=path)
            with tempfile.TemporaryDirectory() as cache:
                variables = dict.fromkeys(THREAD_VARIABLES, threads) | {"NUMBA_CACHE_DIR": cache}
                found[name].append((*seconds(code, python, **variables), *seconds(code, python, **variables)))
    print(
        "| MNIST, 70 000 × 50, in a fresh process | first: clock, s | × winkel | CPU, s | again: clock, s | × winkel | CPU, s |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    own = np.array(found["winkel"][1:])
    for name, runs in found.items():
        times = np.array(runs[1:])
        ratio = times / own
        cells = [
            f"{median(times[:, k]):.1f} | {median(ratio[:, k]):.1f} | {median(times[:, k + 1]):.1f}"
            for k in (0, 2)
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", action="store_true", help="beside other packages, on MNIST")
    parser.add_argument("--only", default=",".join(PEERS), help="with --peers: names, separated by commas")
    options = parser.parse_args()
    if options.peers:
        beside_peers(options.rounds, ["winkel", *(n for n in options.only.split(",") if n != "winkel")])
    else:
        digits(options.rounds)


if __name__ == "__main__":
    main()
