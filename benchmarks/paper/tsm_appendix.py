"""Figures 8, 9 and 11 of Saul (2023): the objective along the updates, Isomap beside TSM, and Isomap's eigenvalues.

    python -m benchmarks.paper.tsm_appendix --data mnist --rows 2000 --dimensions 2 4 8 16 32
    python -m benchmarks.paper.tsm_appendix --data words --rows 2000 --dimensions 4 8 16 32

The paper has 14 000 images and 25 000 words. Pictures go to --out.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

import winkel as wk
from winkel.errors import DataWarning
from winkel.measures.angles import distance_jaccard, jaccard
from winkel.methods.tsm import isomap_map, similarity_graph, svd_map
from winkel.view.tsm import plot_by_dimension

from .record import curves
from .tsm import load


def isomap_eigenvalues(X: np.ndarray, tau: float) -> np.ndarray:
    """All eigenvalues of the matrix that Isomap diagonalizes, descending."""
    paths = wk.graph.path_distances(similarity_graph(X, tau))[1]
    n = len(X)
    square = np.zeros((n, n))
    square[np.triu_indices(n, 1)] = np.asarray(paths, dtype=float) ** 2
    square += square.T
    means = square.mean(axis=0)
    return np.linalg.eigvalsh(-0.5 * (square - means - means[:, None] + means.mean()))[::-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", choices=("digits", "mnist", "words"), default="mnist")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 4, 8, 16, 32])
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    args = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    X = load(args.data, args.rows)
    tau = wk.TSM(random_state=0).angle_histogram(X).threshold
    X = X[similarity_graph(X, tau).components()[1] == 0]  # Isomap needs a connected graph
    print(
        f"{args.data}: {len(X)} rows of the largest component at a cosine of {tau:.3f}, {args.updates} passes.\n"
    )
    print("| dimensions | objective at the end, of its start (fig 8) | J, TSM (fig 9) | J, Isomap | J, SVD |")
    print("|---|---|---|---|---|")
    falls: dict[str, np.ndarray] = {}
    found: dict[str, list[float]] = {"TSM": [], "Isomap": [], "SVD": []}
    for d in args.dimensions:
        model = wk.TSM(d, threshold=tau, max_iter=args.updates, random_state=0, n_jobs=args.jobs).fit(X)
        falls[f"d = {d}"] = np.asarray(model.objective_history_) / model.objective_history_[0]
        found["TSM"].append(jaccard(X, model.embedding_, threshold=tau).value)
        found["Isomap"].append(distance_jaccard(X, isomap_map(X, d, tau), threshold=tau).value)
        found["SVD"].append(jaccard(X, svd_map(X, d), threshold=tau).value)
        values = " | ".join(f"{column[-1]:.3f}" for column in found.values())
        print(f"| {d} | {falls[f'd = {d}'][-1]:.2%} | {values} |", flush=True)
    spectrum = isomap_eigenvalues(X, tau)
    first = int(np.argmax(spectrum < 0)) + 1
    by_size = np.argsort(-np.abs(spectrum), kind="stable")
    rank = int(np.flatnonzero(spectrum[by_size] < 0)[0]) + 1
    best = args.dimensions[int(np.argmax(found["Isomap"]))]
    print(
        f"\nFig 11: Isomap's eigenvalues turn negative at the {first}th of {len(spectrum)}; by size the first negative one is the {rank}th. "
        f"Isomap's Jaccard index is largest at d = {best} (paper: at about the dimension where negative eigenvalues appear)."
    )
    stem = f"tsm-{args.data}"
    curves(args.out / f"{stem}-figure8.png", falls, "pass", "objective over its start", log=True)
    plot_by_dimension(
        args.dimensions, found, ylabel="Jaccard index", title="", path=args.out / f"{stem}-figure9.png"
    )
    shown = spectrum[by_size][:200]
    curves(
        args.out / f"{stem}-figure11.png",
        {"positive": np.where(shown > 0, shown, np.nan), "negative, by size": np.where(shown < 0, -shown, np.nan)},
        "rank by size", "eigenvalue", log=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
