"""What the first map of the day costs: the default map of the digits in a fresh process, beside `import sklearn.base` alone.

    python -m benchmarks.startup [--rounds 7]

Processes take turns, one round after the other; figures are medians, by the clock and of processor time. The first round is not counted: it
fills the caches of the disk. What a map costs over the bare import is the median of the differences within a round.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

PROGRAMS = {
    "import sklearn.base": "import sklearn.base",
    "winkel ready": "import winkel; winkel.MDE",
    "the map of the digits": "import numpy, winkel; winkel.MDE(random_state=0).fit(numpy.load({path!r}))",
}


def seconds(code: str) -> tuple[float, float]:
    """Seconds by the clock and of processor time that a fresh process takes to run `code`."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
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


if __name__ == "__main__":
    main()
