"""t-SNE's divergence of the maps of MNIST by winkel and by openTSNE, both measured by the same plain code.

    python -m benchmarks.divergence [ROWS] [--seeds 0 1]

The affinities are those of the exact 90 nearest rows at perplexity 30, made symmetric; the sum over all pairs of the map is
exact. Maps are made by both libraries' defaults, on one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from . import environment, quality
from .datasets import MNIST_50, cached

PERPLEXITY, NEIGHBORS = 30.0, 90
MAKERS = ("winkel_tsne", "opentsne")
_MAKE = """
import sys
import numpy as np
from benchmarks.contestants import Task, maps
X = np.load(sys.argv[2])
np.save(sys.argv[3], getattr(maps, sys.argv[1])(Task(threads=1, seed=int(sys.argv[4])))(X)["Y"])
"""


def shares(lengths: np.ndarray) -> np.ndarray:
    """What each row gives to its neighbours: Gaussians of the perplexity asked for, found by bisection."""
    squares = lengths**2 - lengths[:, :1] ** 2
    low, high = np.full(len(squares), -60.0), np.full(len(squares), 60.0)
    for _ in range(60):
        middle = (low + high) / 2
        p = np.exp(-squares * np.exp(middle)[:, None])
        p /= p.sum(axis=1, keepdims=True)
        entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
        wide = entropy > np.log(PERPLEXITY)
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    return p


def affinities(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of rows in either order, and P of each; the sum of P is 1."""
    n = len(X)
    lists = np.load(
        cached(
            f"mnist50-{n}-nearest{NEIGHBORS}", lambda: quality.exact_neighbors(X, np.arange(n), NEIGHBORS)[0]
        )
    )
    p = shares(quality.distances_to(X, np.arange(n), lists)).ravel() / (2 * n)
    rows, columns = np.repeat(np.arange(n), NEIGHBORS), lists.ravel()
    keys, which = np.unique(np.concatenate([rows * n + columns, columns * n + rows]), return_inverse=True)
    return keys // n, keys % n, np.bincount(which, weights=np.concatenate([p, p]))


def divergence(P: tuple[np.ndarray, np.ndarray, np.ndarray], Y: np.ndarray) -> float:
    """Kullback and Leibler's divergence of the map Y from P."""
    rows, columns, p = P
    Y = Y.astype(np.float64)
    total = -float(len(Y))  # of each row with itself
    for _, squares in quality.squared_distance_blocks(Y, Y):
        total += float((1 / (1 + squares)).sum())
    logs = -np.log1p(((Y[rows] - Y[columns]) ** 2).sum(axis=1)) - np.log(total)
    return float((p * (np.log(p) - logs)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="?", type=int, default=MNIST_50.rows)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    environment.ensure()
    X = MNIST_50.head(options.rows).load()
    P = affinities(X)
    with tempfile.TemporaryDirectory(prefix="winkel-divergence-") as folder:
        data, out = Path(folder) / "X.npy", Path(folder) / "Y.npy"
        np.save(data, X)
        for seed in options.seeds:
            for maker in MAKERS:
                python = environment.interpreter() if maker == "opentsne" else sys.executable
                subprocess.run([python, "-c", _MAKE, maker, data, out, str(seed)], check=True)
                print(f"{len(X)} rows, seed {seed}, {maker}: {divergence(P, np.load(out)):.4f}", flush=True)


if __name__ == "__main__":
    main()
