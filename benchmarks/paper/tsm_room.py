"""Why TSM keeps so few similar pairs of GloVe's words in common (J, eq 12) in 8 and 16 dimensions, and what changes it.

    python -m benchmarks.paper.tsm_room --rows 3000

Directions that fill a sphere in d dimensions have a share of pairs above a cosine of τ by chance. Where that share is many times the share
of similar pairs, J is small however well similar pairs are kept: the column "room" is the largest J of a map with all similar pairs and
evenly spread directions. Of a map the table has the share of similar pairs that it keeps, and the share of its own close pairs that are similar.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betainc

import winkel as wk
from winkel.errors import DataWarning
from winkel.measures.angles import angular_deviation
from winkel.methods.tsm import svd_map

from .tsm import load


def by_chance(tau: float, d: int) -> float:
    """The share of pairs of evenly spread directions in d dimensions whose cosine exceeds τ ≥ 0."""
    return float(0.5 * betainc((d - 1) / 2, 0.5, 1 - tau**2))


def close(rows: np.ndarray, tau: float) -> np.ndarray:
    """Which pairs have a cosine above τ, each row and itself left out."""
    U = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    found = np.greater(U @ U.T, tau)
    np.fill_diagonal(found, False)
    return found


def line(name: str, what: str, X: np.ndarray, Y: np.ndarray, tau: float) -> None:
    """One row of the table."""
    similar, near = close(X, tau), close(Y, tau)
    both = int((similar & near).sum())
    deviation = angular_deviation(X, Y, threshold=tau).value
    d = Y.shape[1]
    print(
        f"| {name} | {tau:.2f} | {d} | {min(1.0, float(similar.mean()) / by_chance(tau, d)):.2f} | {what} | {both / (similar | near).sum():.3f} | "
        f"{both / similar.sum():.2f} | {both / max(1, near.sum()):.2f} | {deviation:.1f}° |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    args = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    words = load("words100k", 100_000)
    thinned, first = words[:: len(words) // args.rows][: args.rows], words[: args.rows]
    data = {
        "GloVe, of 100 000 words": thinned,
        "the same less their mean": thinned - thinned.mean(axis=0),
        "GloVe, most frequent words": first,
        "the same, less their mean": first - first.mean(axis=0),
        "MNIST": load("mnist", args.rows),
    }

    def fitted(X: np.ndarray, d: int, **change: Any) -> wk.TSM:
        settings = {"max_iter": args.updates, "random_state": 0, "n_jobs": args.jobs, **change}
        return wk.TSM(d, **settings).fit(X)

    print(
        "| data | τ | d | room | map | J | similar pairs kept | of close pairs similar | deviation |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    for name, X in data.items():
        for d in args.dimensions:
            model = fitted(X, d)
            line(name, "TSM", X, model.embedding_, model.threshold_)
            line(name, "SVD", X, svd_map(X, d), model.threshold_)
    print("\nOther ways to the same map, of the words less their mean:\n")
    print(
        "| data | τ | d | room | map | J | similar pairs kept | of close pairs similar | deviation |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    name = "the same less their mean"
    X = data[name]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for d in args.dimensions[:2]:
        ways = {
            "250 passes": (X, {"max_iter": 250}),
            "250 passes from eq 17": (X, {"max_iter": 250, "init": "svd"}),
            "the paper's updates, 250": (X, {"max_iter": 250, "init": "svd", "solver": "factors"}),
            "L of twice the rank": (X, {"rank": 2 * d}),
            "rows of unit length": (unit, {}),
            "0.1 % of pairs similar": (X, {"sparsity": 0.999}),
        }
        for what, (rows, change) in ways.items():
            model = fitted(rows, d, **change)
            line(name, what, X, model.embedding_, model.threshold_)


if __name__ == "__main__":
    main()
