"""Recall, R_NX AUC and distance correlation of the default map by its attraction and repulsion, without labels.

    python -m benchmarks.attraction [--rows 4000] [--seeds 2] [--max-iter N] [--fresh] [--labels] [0.3:0.8:0.5:4:1 0:1.6:0.8:4:1 ...]

Each choice is EVEN:NEAR:NEAR_SHARE:WIDE:REPULSION: what a row gives to its n_neighbors nearest alike, the perplexity of the nearer scale over
n_neighbors and what a row gives to it, the perplexity of the wider scale (`winkel.methods.mde.neighbors`), and `repulsive_fraction`. The mean over data sets and seeds is what a choice is judged by; the data sets say
whether it holds everywhere. `--fresh` takes four data sets that nothing was chosen on. `--labels` shows what a choice means for data sets that have
labels, by which nothing is chosen: the share of rows whose own label leads among their ten nearest, in the data and on the map.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import winkel as wk
from winkel.methods.mde import neighbors

from . import quality
from .datasets import Dataset
from .panel import PANEL, archive, labelled, of_archive

SURFACES = ("mammoth", "swissroll", "coauthors")  # which have another focus, or no rows


def spectra() -> np.ndarray:
    """The spectrum of each pixel of a hyperspectral scene."""
    X = archive("salinas_a")["X"]
    return X.reshape(-1, X.shape[-1]).astype(np.float32)


FRESH = (
    Dataset("fields", "spectra of a hyperspectral scene", 7138, spectra),
    of_archive("yaleb", "yaleb_5_9_3_4_192x168", "faces under lights", 256),
    of_archive("word2vec", "words_word2vec_gnews_300d_26k", "word vectors", 26_000),
    of_archive("genes", "popres_pca20", "genes of Europeans", 1387),
)
SCORES = ("neighbor_recall", "rnx_auc", "distance_correlation")


def scores(X: np.ndarray, seed: int, max_iter: int | None, repulsion: float) -> list[float]:
    """The scores of one map, at 1 000 rows."""
    model = wk.MDE(random_state=seed, max_iter=max_iter, repulsive_fraction=repulsion).fit(X)
    found = wk.measure(X, model, scores=list(SCORES), baseline=False, sample=min(1000, len(X)))
    return [found[name].value for name in SCORES]


def print_agreement(choice: str, options: argparse.Namespace, repulsion: float | None) -> None:
    """One line: the agreement of each data set with labels, in the data itself without a repulsion."""
    told = []
    for d in labelled():
        X, y = np.array(d.load()[: options.rows]), d.labels()[: options.rows]
        maps = [X] if repulsion is None else [
            wk.MDE(random_state=seed, max_iter=options.max_iter, repulsive_fraction=repulsion).fit(X).embedding_
            for seed in range(options.seeds)
        ]  # fmt: skip
        told.append(f"{d.name} {np.mean([quality.label_agreement(Y, y) for Y in maps]):.4f}")
    print(f"{choice}: {'  '.join(told)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--max-iter", type=int)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--labels", action="store_true")
    parser.add_argument(
        "choices",
        nargs="*",
        default=[
            "0.3:0.8:0.5:4:1",
            "0.4:0.5:0.3:3:1",
            "0:1.6:0.8:4:1",
            "0.2:0.8:0.5:4:1",
            "0.3:1:0.7:4:1",
            "0.3:0.8:0.5:4:0.7",
            "1:1:0:4:1",
        ],
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = FRESH if options.fresh else PANEL
    data = {d.name: np.array(d.load()[: options.rows]) for d in sets if d.name not in SURFACES}
    if options.labels:
        print_agreement("the data", options, None)
    for choice in options.choices:
        even, near, share, wide, repulsion = map(float, choice.split(":"))
        neighbors.EVEN, neighbors.NEAR, neighbors.NEAR_SHARE, neighbors.WIDE = even, near, share, wide
        if options.labels:
            print_agreement(choice, options, repulsion)
            continue
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
