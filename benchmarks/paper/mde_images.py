"""Chapter 8 of the MDE paper: maps of MNIST by constraint, penalties, number and weight of dissimilar pairs.

    python -m benchmarks.paper.mde_images --rows 10000

The paper has all 70 000 images; with fewer, every k-th. As there, neighbours are those of the pixels (k = 15), pairs have weight 2 where both list
each other, every problem but the quadratic ones starts from the quadratic map, and maps are turned to it. Pictures go to --out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import winkel as wk

from .mde_chapters import draw_cdfs, quantile_header, quantiles
from .record import save_small, small_maps

LOG1P, LOG, HUBER = wk.penalties.Log1p(exponent=1.5), wk.penalties.Log(), wk.penalties.Huber(threshold=0.5)
STANDARD = "standardized, log1p (fig 8.5)"


def problems() -> dict[str, dict[str, Any]]:
    """The problems of section 8.3.2 beyond the quadratic ones."""
    standard = {"attractive": LOG1P, "repulsive": LOG, "constraint": "standardized"}
    found: dict[str, dict[str, Any]] = {STANDARD: standard}
    for share in (0.1, 0.5, 2.0, 4.0, 8.0):
        found[f"the same, {share:g} dissimilar pairs a similar one (fig 8.6)"] = {
            **standard,
            "repulsive_fraction": share,
        }
    for weight in (0.1, 0.5, 2.0, 4.0, 8.0):
        found[f"the same, dissimilar pairs of weight −{weight:g} (fig 8.7)"] = {
            **standard,
            "repulsive": wk.penalties.Log(weights=weight),
        }
    for name, attractive in (("log1p", LOG1P), ("Huber", HUBER)):
        found[f"centered, {name} (fig 8.8)"] = {"attractive": attractive, "repulsive": LOG}
    return found


class Report:
    """A line of the table for each map, and the maps themselves."""

    def __init__(self, graph: wk.Graph, labels: Any) -> None:
        self.graph, self.labels = graph, labels
        self.maps: dict[str, Any] = {}
        print(
            "| map | iterations | processor s | average distortion | recall of 15 neighbours | 10-NN accuracy |"
        )
        print("|---" * 6 + "|")

    def add(self, name: str, Y: Any, seconds: float, rounds: Any = "", value: float | None = None) -> None:
        near = wk.graph.knn(np.ascontiguousarray(Y), 15, random_state=0).knn_indices
        listed = self.graph.knn_indices
        kept = np.mean([len(np.intersect1d(a, b)) / 15 for a, b in zip(listed, near)])
        votes = self.labels[near[:, :10]]
        right = np.mean([np.bincount(row).argmax() == own for row, own in zip(votes, self.labels)])
        shown = "" if value is None else f"{value:.3f}"
        print(f"| {name} | {rounds} | {seconds:.1f} | {shown} | {kept:.3f} | {right:.3f} |", flush=True)
        if Y.shape[1] == 2:
            first = next(iter(self.maps.values()), Y)
            self.maps[name] = wk.align(Y, first) if Y is not first else Y

    def solve(self, name: str, problem: wk.Problem, init: Any = None) -> Any:
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = problem.solve(random_state=0, max_iter=300, init=init, solver="lbfgs")
        self.add(name, found.Y, time.process_time() - begun, found.history.n_rows - 1, found.objective)
        return found


def worst_pairs(images: Any, problem: wk.Problem, Y: Any, path: Path) -> None:
    """Fig 8.4: the images of the five similar pairs of the highest distortion."""
    import matplotlib.pyplot as plt

    pairs = problem.high_distortion_pairs(Y, 5)[0]
    figure, axes = plt.subplots(2, 5, figsize=(4.5, 1.9), layout="constrained")
    for column, pair in zip(axes.T, pairs):
        for ax, row in zip(column, pair):
            ax.imshow(images[row].reshape(28, 28), cmap="gray_r")
            ax.axis("off")
    save_small(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    options = parser.parse_args()
    data = wk.datasets.load_mnist()
    rows = slice(None, None, max(1, len(data.X) // options.rows))
    images, labels = data.X[rows][: options.rows], data.y[rows][: options.rows].astype(int)
    X = images.astype(np.float32)
    graph = wk.graph.knn(X, 15, random_state=0, n_jobs=options.jobs)
    print(f"{len(X)} images, {graph.n_edges} similar pairs (paper: 70 000 and 774 746).\n")

    def posed(m: int = 2, **how: Any) -> wk.Problem:
        return wk.preserve_neighbors(
            graph, m, repulsive_pairs="sampled", random_state=0, n_jobs=options.jobs, **how
        )

    plain = {"attractive": "quadratic", "repulsive": None, "constraint": "standardized"}
    report = Report(graph, labels)
    quadratic = {}
    for m in (2, 3):
        problem = posed(m, **plain)
        found = report.solve(f"quadratic, m = {m} (fig 8.{m - 1})", problem)
        quadratic[m] = problem, found.Y
    for name, how in problems().items():
        report.solve(name, posed(**how), init=quadratic[2][1])
    makers = {"winkel's defaults": wk.MDE, "UMAP (fig 8.9)": wk.UMAP, "t-SNE (fig 8.9)": wk.TSNE}
    for name, maker in makers.items():
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Y = maker(random_state=0, n_jobs=options.jobs).fit_transform(X)
        report.add(name, Y, time.process_time() - begun)
    print("\nDistortions of the quadratic maps (fig 8.3).\n")
    quantile_header()
    errors = {f"m = {m}": problem.distortions(Y) for m, (problem, Y) in quadratic.items()}
    for name, values in errors.items():
        quantiles(name, values)
    draw_cdfs(errors, options.out / "mde-images-cdf.png", "distortion")
    worst_pairs(images, *quadratic[2], options.out / "mde-images-worst.png")
    small_maps(report.maps, options.out / "mde-images.png", labels=labels)


if __name__ == "__main__":
    main()
