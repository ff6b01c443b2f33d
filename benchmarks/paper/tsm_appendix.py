"""Figures 8, 9 and 11 of Saul (2023): the objective along the updates, Isomap beside TSM, and Isomap's eigenvalues.

    python -m benchmarks.paper.tsm_appendix --data mnist --rows 2000 --dimensions 2 4 8 16 32
    python -m benchmarks.paper.tsm_appendix --data word2vec --rows 2000 --dimensions 4 8 16 32

The paper has 14 000 images and 25 000 words. Pictures go to --out.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.linalg import eigvalsh

import winkel as wk
from winkel.errors import DataWarning
from winkel.measures.angles import distance_jaccard, jaccard
from winkel.methods.tsm import similarity_graph, svd_map
from winkel.run import available_cores
from winkel.view.tsm import plot_by_dimension

from .record import curves
from .tsm import load


def isomap_of(X: np.ndarray, tau: float, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Isomap's map in d dimensions, whose first columns are the maps in fewer, and all eigenvalues, descending.

    Paths are found once: for 14 000 images they take longer than all maps.
    """
    paths = wk.graph.shortest_paths(similarity_graph(X, tau))
    np.minimum(paths, paths.T, out=paths)  # the smaller sum stands for a path and its way back
    Y = wk.quadratic.classical_mds(paths, d).to_textbook()
    square = np.square(paths, dtype=np.float64)
    means = square.mean(axis=0)
    square -= means
    square -= (means - means.mean())[:, None]
    square *= -0.5
    return Y, eigvalsh(square, overwrite_a=True, check_finite=False)[::-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", choices=("digits", "mnist", "words", "word2vec"), default="mnist")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 4, 8, 16, 32])
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=available_cores())
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
    isomap, spectrum = isomap_of(X, tau, max(args.dimensions))
    falls: dict[str, np.ndarray] = {}
    found: dict[str, list[float]] = {"TSM": [], "Isomap": [], "SVD": []}
    for d in args.dimensions:
        model = wk.TSM(d, threshold=tau, max_iter=args.updates, random_state=0, n_jobs=args.jobs).fit(X)
        falls[f"d = {d}"] = np.asarray(model.objective_history_) / model.objective_history_[0]
        found["TSM"].append(jaccard(X, model.embedding_, threshold=tau).value)
        found["Isomap"].append(distance_jaccard(X, isomap[:, :d], threshold=tau).value)
        found["SVD"].append(jaccard(X, svd_map(X, d), threshold=tau).value)
        values = " | ".join(f"{column[-1]:.3f}" for column in found.values())
        print(f"| {d} | {falls[f'd = {d}'][-1]:.2%} | {values} |", flush=True)
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
