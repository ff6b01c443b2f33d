"""How well the maps of the panel keep rows with their own kind: of all rows, not of a seventh, each judged by its ten nearest others.

    python -m benchmarks.labels

Reads the maps that the last run of the panel kept in the cache, one for each contestant, and prints a table.
"""

from __future__ import annotations

import numpy as np

from . import quality
from .harness import map_file
from .panel import ENTRY, labelled


def main() -> None:
    datasets = labelled()
    print(
        "| share of rows whose label leads among their ten nearest | "
        + " | ".join(d.name for d in datasets)
        + " |"
    )
    print("| --- |" + " ---: |" * len(datasets))
    data = [f"{quality.label_agreement(np.array(d.load()), d.labels()):.4f}" for d in datasets]
    print(f"| in the data | {' | '.join(data)} |")
    for contestant in ENTRY.contestants:
        files = [map_file(ENTRY.name, d.key, contestant.name) for d in datasets]
        cells = [
            f"{quality.label_agreement(np.load(file), d.labels()):.4f}" if file.exists() else ""
            for d, file in zip(datasets, files)
        ]
        print(f"| {contestant.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
