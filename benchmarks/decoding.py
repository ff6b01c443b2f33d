"""Stated and true errors of `inverse_transform` for rows that were held out: `python -m benchmarks.decoding`.

Of each data set a fifth of the rows is placed on the map of the others and decoded from there. The table gives the mean of the
stated errors over that of the true ones, and their correlation over rows. Needs WINKEL_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import winkel as wk

from .machine import describe

ROWS, HELD_OUT = 3000, 0.2
SETS: dict[str, Callable[[], np.ndarray]] = {
    "digits, 64 pixels": lambda: wk.datasets.load_digits().X,
    "MNIST, 784 pixels": lambda: _read("mnist70k"),
    "genes of Europeans, 20 components": lambda: _read("popres_pca20"),
    "US counties, 34 columns": lambda: _read("us_counties_acs2017", "usable"),
    "blood cells, 50 components": lambda: _read("scrna_pbmc3k_pca50"),
    "COIL-20, 1 024 pixels": lambda: _read("coil20_32x32"),
    "GloVe words, 100 columns": lambda: _read("words_glove6b_100d_30k"),
    "a mammoth, 3 columns": lambda: _read("mammoth_3d_50k"),
}


def _read(name: str, mask: str | None = None) -> np.ndarray:
    with np.load(Path(os.environ["WINKEL_DATA"]) / f"{name}.npz") as file:
        X = file["X"] if mask is None else file["X"][file[mask]]
    return X.reshape(len(X), -1).astype(np.float32)


def errors(model: Any, X: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Stated and true errors of the rows that were held out, and processor seconds of decoding."""
    order = np.random.default_rng(seed).permutation(len(X))[:ROWS]
    n_held = round(HELD_OUT * len(order))
    held, kept = X[order[:n_held]], X[order[n_held:]]
    Y = model.fit(kept).transform(held)
    start = time.process_time()
    found, stated = model.inverse_transform(Y, return_error=True)
    taken = time.process_time() - start
    return stated, np.linalg.norm(found.astype(float) - held, axis=1), taken


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--methods", nargs="*", default=["MDE", "UMAP"])
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    print(describe())
    print("| data | method | stated / true | correlation | seconds of processor |\n|---|---|---|---|---|")
    for name, read in SETS.items():
        X = read()
        for method in chosen.methods:
            stated, true, taken = errors(getattr(wk, method)(random_state=0), X, chosen.seed)
            ratio, together = stated.mean() / true.mean(), np.corrcoef(stated, true)[0, 1]
            print(f"| {name} | {method} | {ratio:.2f} | {together:.2f} | {taken:.1f} |", flush=True)


if __name__ == "__main__":
    main()
