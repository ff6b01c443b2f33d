"""The default map of many rows: seconds of the neighbour search and of all, and the peak of memory.

    python -m benchmarks.millions [ROWS]

Rows in clusters (`datasets.clusters`), 1 000 000 × 50 unless told otherwise, made before the clock starts.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from .datasets import cached, clusters


def main() -> None:
    """Print the times of one fit."""
    import winkel as wk

    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    X = np.load(cached(f"clusters-{rows}", lambda: clusters(rows)))
    wk.MDE(random_state=0, max_iter=2).fit(X[:3000])  # what is loaded and started once
    wall, cpu = time.perf_counter(), time.process_time()
    model = wk.MDE(random_state=0).fit(X)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    origin = model.result_.graph.origin
    print(f"{rows} rows: {wall:.1f} s ({cpu:.1f} CPU s), of which neighbours {origin.seconds:.1f} s", end="")
    print(
        f" with recall {origin.recall.value:.3f}; peak {peak:.2f} GB, objective {model.result_.objective:.4f}"
    )


if __name__ == "__main__":
    main()
