"""Recall, R_NX AUC and distance correlation of the default map by the two scales of its attraction, without labels.

    python -m benchmarks.attraction [--rows 4000] [--seeds 2] [0.8:0.5 1.2:0.6 1.6:0.7 ...]

Each choice is NEAR:NEAR_SHARE (`winkel.methods.mde.neighbors`): the perplexity of the nearer scale over n_neighbors, and what a row gives to
it. The mean over data sets and seeds is what a choice is judged by; the data sets say whether it holds everywhere.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import winkel as wk
from winkel.methods.mde import neighbors

from .panel import PANEL

SURFACES = ("mammoth", "swissroll", "coauthors")  # which have another focus, or no rows
SCORES = ("neighbor_recall", "rnx_auc", "distance_correlation")


def scores(X: np.ndarray, seed: int) -> list[float]:
    """The scores of one map, at 1 000 rows."""
    found = wk.measure(
        X, wk.MDE(random_state=seed).fit(X), scores=list(SCORES), baseline=False, sample=min(1000, len(X))
    )
    return [found[name].value for name in SCORES]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("choices", nargs="*", default=["0.8:0.5", "1.2:0.6", "1.6:0.7"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = {d.name: np.array(d.load()[: options.rows]) for d in PANEL if d.name not in SURFACES}
    for choice in options.choices:
        neighbors.NEAR, neighbors.NEAR_SHARE = map(float, choice.split(":"))
        table = {
            name: np.mean([scores(X, seed) for seed in range(options.seeds)], axis=0)
            for name, X in data.items()
        }
        mean = np.mean(list(table.values()), axis=0)
        each = "  ".join(f"{name} {row[0]:.3f}/{row[1]:.3f}/{row[2]:.2f}" for name, row in table.items())
        print(
            f"{choice}: recall {mean[0]:.4f}, R_NX {mean[1]:.4f}, distances {mean[2]:.3f} | {each}",
            flush=True,
        )


if __name__ == "__main__":
    main()
