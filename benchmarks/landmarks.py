"""Maps by landmarks, as placed and refined, beside the full fit of the same rows.

    python -m benchmarks.landmarks mnist [--landmarks 10000] [--choices kmeans++ uniform] [--iterations 75]      (needs WINKEL_DATA)

Data: mnist, cells (CyTOF), words (GloVe), mammoth; word2vec and covid had no part in the choice of stages and iterations. Everything goes by shards
in one folder, so that neighbours are searched once. CPU seconds are those of the process and its threads: of neighbours and the full fit together,
of choosing and fitting landmarks, of placing all rows, and of the iterations of each refinement. `objective` is that of the full problem, as a part
of the full fit's beyond it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .shards import Clock, apart

FILES = {
    "mnist": "mnist70k",
    "cells": "cytof_bcrxl_173k",
    "words": "words_glove6b_100d_100k",
    "mammoth": "mammoth_3d_50k",
    "word2vec": "words_word2vec_gnews_300d_26k",
    "covid": "scrna_covid_balf3_pca50",
}
CHOICES = ("uniform", "kmeans++", "density")
SCORES = ("label_accuracy", "rnx_auc", "neighbor_recall", "distance_correlation")


def rows_of(name: str) -> tuple[Any, Any]:
    """Rows in single precision, and the digits of MNIST."""
    with np.load(Path(os.environ["WINKEL_DATA"]) / f"{FILES[name]}.npz", allow_pickle=False) as file:
        return np.ascontiguousarray(file["X"], dtype=np.float32), file["y"] if name == "mnist" else None


def maps(name: str, n_landmarks: int, choices: list[str], iterations: list[int], jobs: int) -> dict[str, Any]:
    """What each map of the data scores and costs; told as soon as it is there."""
    import winkel as wk

    warnings.simplefilter("ignore")  # that few iterations do not converge is known
    X, y = rows_of(name)
    found: dict[str, Any] = {}
    mde = wk.MDE(random_state=0, n_jobs=jobs)

    def tell(what: str, clock: Clock, Y: Any, objective: float | None = None) -> None:
        told: dict[str, Any] = {"cpu_seconds": clock.read()["cpu_seconds"]}
        if objective is not None:
            found.setdefault("objective", objective)
            told["objective"] = round(objective / found["objective"] - 1, 4)
        scores = SCORES[y is None :]
        report = wk.measure(X, Y, labels=y, scores=list(scores), baseline=False, n_jobs=jobs)
        found[what] = told | {score: round(report[score].value, 4) for score in scores}
        print(name, len(X), what, json.dumps(found[what]), flush=True)

    with tempfile.TemporaryDirectory(prefix="winkel-landmarks-") as folder:
        clock = Clock()
        full = wk.scale.fit(mde, X, folder=folder)
        tell("full", clock, full.embedding_, full.objective_)
        for choice in choices:
            clock = Clock()
            model = wk.scale.fit_landmarks(mde, X, n_landmarks, choice=choice)
            print(name, choice, "fitted", clock.read()["cpu_seconds"], flush=True)
            clock = Clock()
            placed = wk.scale.transform(model, X)
            tell(f"{choice}, placed", clock, placed)
            for count in iterations:
                clock = Clock()
                refined = wk.scale.fit(
                    wk.MDE(random_state=0, max_iter=count, n_jobs=jobs), X, folder=folder, init=placed
                )
                tell(f"{choice}, {count} iterations", clock, refined.embedding_, refined.objective_)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", choices=tuple(FILES))
    parser.add_argument("--landmarks", type=int, default=10_000)
    parser.add_argument("--choices", nargs="+", choices=CHOICES, default=["kmeans++"])
    parser.add_argument("--iterations", type=int, nargs="+", default=[75])
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for name in options.data:
        apart(maps, name, options.landmarks, options.choices, options.iterations, options.jobs)


if __name__ == "__main__":
    main()
