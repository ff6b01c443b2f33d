"""Recall, R_NX AUC and distance correlation of the default map by its attraction and repulsion, without labels.

    python -m benchmarks.attraction [--rows 4000] [--seeds 2] [--max-iter N] [--fresh] [1.6:0.8:1 1.2:0.6:0.5 ...]

Each choice is NEAR:NEAR_SHARE:REPULSION: the perplexity of the nearer scale over n_neighbors, what a row gives to it (`winkel.methods.mde.neighbors`), and
`repulsive_fraction`. The mean over data sets and seeds is what a choice is judged by; the data sets say
whether it holds everywhere. `--fresh` takes four data sets that nothing was chosen on.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import winkel as wk
from winkel.methods.mde import neighbors

from .panel import PANEL, of_archive

SURFACES = ("mammoth", "swissroll", "coauthors")  # which have another focus, or no rows
FRESH = tuple(
    of_archive(name, file, words, rows)
    for name, file, words, rows in (
        ("salinas", "salinas_a", "spectra of fields", 7138),
        ("yaleb", "yaleb_5_9_3_4_192x168", "faces under lights", 2000),
        ("word2vec", "words_word2vec_gnews_300d_26k", "word vectors", 26_000),
        ("genes", "popres_pca20", "genes of Europeans", 1387),
    )
)
SCORES = ("neighbor_recall", "rnx_auc", "distance_correlation")


def scores(X: np.ndarray, seed: int, max_iter: int | None, repulsion: float) -> list[float]:
    """The scores of one map, at 1 000 rows."""
    model = wk.MDE(random_state=seed, max_iter=max_iter, repulsive_fraction=repulsion).fit(X)
    found = wk.measure(X, model, scores=list(SCORES), baseline=False, sample=min(1000, len(X)))
    return [found[name].value for name in SCORES]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--max-iter", type=int)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument(
        "choices", nargs="*", default=["1.6:0.8:1", "1.2:0.6:1", "2:1:1", "1.6:0.8:0.5", "1.6:0.8:1.5"]
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = FRESH if options.fresh else PANEL
    data = {d.name: np.array(d.load()[: options.rows]) for d in sets if d.name not in SURFACES}
    for choice in options.choices:
        neighbors.NEAR, neighbors.NEAR_SHARE, repulsion = map(float, choice.split(":"))
        table = {
            name: np.mean(
                [scores(X, seed, options.max_iter, repulsion) for seed in range(options.seeds)], axis=0
            )
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
