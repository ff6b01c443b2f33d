"""Figures 2 and 3 and Conjecture 1 of Draganov and Dohn (2023), and the same methods at scale beside their peers.

    python -m benchmarks.paper.forces figure2 figure3 conjecture steps divergence scale --rows 2000 --out out/paper

`figure3`, `divergence` and `scale` also run openTSNE and umap-learn where they are installed, in the same process and on the same rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import winkel as wk
from benchmarks.paper.record import against
from winkel.methods.starts import principal_start
from winkel.view.forces import plot_agreement
from winkel.view.plots import plot_maps

Maker = Callable[[np.ndarray], np.ndarray]
CONJECTURE = {
    "digits": wk.datasets.load_digits,
    "MNIST": wk.datasets.load_mnist,
    "Fashion-MNIST": wk.datasets.load_fashion_mnist,
    "COIL-20": wk.datasets.load_coil20,
    "Yale B": wk.datasets.load_yale_b,
    "Salinas-A": wk.datasets.load_salinas_a,
    "words": wk.datasets.load_words,
    "genes": wk.datasets.load_popres,
    "counties": wk.datasets.load_counties,
    "cells": wk.datasets.load_pbmc3k,
    "mammoth": wk.datasets.load_mammoth,
    "cytof": wk.datasets.load_cytof,
}


def sample_rows(load: Callable[[], Any], n: int) -> tuple[np.ndarray, Any]:
    """At most n rows in at most 50 principal components, and their labels."""
    data = load()
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    chosen = np.sort(np.random.default_rng(0).permutation(len(X))[:n])
    X = X[chosen].astype(np.float32)
    return principal_start(X, min(50, X.shape[1])), None if data.y is None else np.asarray(data.y)[chosen]


def accuracy(Y: np.ndarray, labels: np.ndarray, k: int = 10) -> float:
    """Leave-one-out accuracy of k neighbours on the map."""
    near = wk.graph.knn(np.ascontiguousarray(Y), k, method="exact").knn_indices
    _, which = np.unique(labels, return_inverse=True)
    return float(np.mean([np.bincount(which[row]).argmax() == own for row, own in zip(near, which)]))


def recall(X: np.ndarray, Y: np.ndarray, k: int = 15, sample: int = 2000) -> float:
    """Share of the k nearest rows that are among the k nearest on the map, at a sample of rows."""
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:sample])
    lists = [
        wk.graph.knn_query(Z[rows], Z, k + 1)[0][:, 1:] for Z in (X, np.ascontiguousarray(Y, np.float32))
    ]
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(*lists)]))


def peers() -> dict[str, Maker]:
    """openTSNE and umap-learn, where they are installed."""
    found: dict[str, Maker] = {}
    try:
        from openTSNE import TSNE

        found["openTSNE"] = lambda X: np.asarray(TSNE(initialization="pca", n_jobs=2, random_state=0).fit(X))
    except ImportError:
        print("openTSNE is not installed: left out")
    try:
        from umap import UMAP

        found["umap-learn"] = lambda X: UMAP(n_jobs=2).fit_transform(X)
    except ImportError:
        print("umap-learn is not installed: left out")
    return found


def own(objective: str) -> Maker:
    """The map of an objective of wk.AttractRepel."""
    return lambda X: wk.AttractRepel(objective=objective, random_state=0).fit_transform(X)


def table(X: np.ndarray, y: np.ndarray, makers: dict[str, Maker]) -> dict[str, np.ndarray]:
    """Every map, with its accuracy, neighbour recall and seconds printed."""
    maps = {}
    print(f"{len(X)} rows; {'method':<18} accuracy  recall  wall s   cpu s")
    for name, make in makers.items():
        wall, cpu = time.perf_counter(), time.process_time()
        maps[name] = make(X)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"{name:<30} {accuracy(maps[name], y):.4f}  {recall(X, maps[name]):.3f} {wall:8.1f} {cpu:8.1f}")
    return maps


def figure2(n: int, out: str) -> None:
    """PCA of MNIST rows by forces from a random start: the angle to PCA along the run."""
    X, y = sample_rows(wk.datasets.load_mnist, n)
    fitted = wk.AttractRepel(objective="pca", keep_frames=64, random_state=0).fit(X.astype(np.float64))
    target = np.linalg.qr(principal_start(X.astype(np.float64), 2))[0]
    for number, Y in zip(fitted.result_.frames.iteration, fitted.result_.frames.Y):
        Q = np.linalg.qr(Y.astype(np.float64) - Y.mean(axis=0, dtype=np.float64))[0]
        angle = np.arcsin(min(1.0, np.linalg.norm(Q - target @ (target.T @ Q), 2)))
        print(f"iteration {number:4d}  largest principal angle {angle:.2e}")
    frames = fitted.result_.frames
    shown = np.unique(np.linspace(0, len(frames) - 1, 6).astype(int))
    plot_maps(
        {f"iteration {frames.iteration[f]}": frames.Y[f] for f in shown},
        labels=y,
        path=f"{out}/forces-figure2.png",
    )


def figure3(n: int, out: str) -> None:
    """Two-kernel PCA, t-SNE, UMAP and two-kernel LLE of MNIST rows: without heuristics, and by winkel's defaults.

    Without them is UMAP's kernels throughout (t-SNE its own), a random start, small steps, no exaggeration, and all pairs. So the paper has both
    two-kernel methods; its t-SNE and UMAP have all their heuristics.
    """
    X, y = sample_rows(wk.datasets.load_mnist, n)

    def plain(objective: Any) -> Maker:
        solver = type(objective).steps.solver
        start = {"init": "random", "solver": solver, "exaggeration": 1.0, "exaggeration_iter": 0}
        return lambda X: wk.AttractRepel(objective=objective, random_state=0, **start).fit_transform(X)

    makers = {
        "two-kernel PCA, plain": plain(wk.objectives.TwoKernelPCA()),
        "t-SNE, plain": plain(wk.objectives.TSNE()),
        "UMAP, plain": plain(wk.objectives.UMAP(negative_sample_rate=None)),
        "two-kernel LLE, plain": plain(wk.objectives.LLE(kernel_x="fuzzy", kernel_y="umap")),
        "two-kernel PCA": own("two_kernel_pca"),
        "t-SNE": own("tsne"),
        "UMAP": own("umap"),
        "two-kernel LLE": own("lle"),
    }
    plot_maps(table(X, y, makers | peers()), labels=y, path=f"{out}/forces-figure3.png")


def conjecture(n: int, out: str) -> None:
    """Conjecture 1: the cosine of UMAP's and two-kernel LLE's gradients, both with UMAP's kernels, along a run of each."""
    umap = wk.objectives.UMAP()
    lle = wk.objectives.LLE(kernel_x="fuzzy", kernel_y="umap")
    found = {}
    print("dataset        rows  run   seed  cosine: first   mean  least   last  positive at")
    for name, load in CONJECTURE.items():
        try:
            X, _ = sample_rows(load, n)
        except (wk.errors.WinkelError, OSError) as error:
            print(f"{name}: not here ({str(error)[:60]})")
            continue
        for followed, other in ((umap, lle), (lle, umap)):
            for seed in (0, 1):
                run = wk.gradient_agreement(X, None, followed, other, n_points=20, random_state=seed)
                found.setdefault(f"{name}, {followed.name}", run)
                c = run.cosine
                print(
                    f"{name:<14} {len(X):4d}  {followed.name:<5} {seed:4d}  {c[0]:+13.3f} {c.mean():+.3f} {c.min():+.3f} "
                    f"{c[-1]:+.3f}  {np.sum(c > 0)} of {len(c)}",
                    flush=True,
                )
    print()
    for run_of in ("umap", "lle"):
        means = [run.cosine.mean() for key, run in found.items() if key.endswith(run_of)]
        against(
            f"conjecture 1, mean cosine along {run_of} runs, least of {len(means)} data sets",
            min(means),
            0.0,
            form="+.3f",
        )
    plot_agreement(found, path=f"{out}/forces-conjecture1.png")


def steps(n: int, out: str) -> None:
    """What more steps gain for two-kernel PCA, and what Lemma 3's low rank costs beside the exact forces of PCA."""
    X = wk.datasets.load_digits().X[:n]
    print(f"{len(X)} digits; two-kernel PCA      loss   cpu s")
    for solver in ("lbfgs", "adam"):
        for max_iter in (300, 1500):
            start = time.process_time()
            model = wk.AttractRepel(
                objective="two_kernel_pca", solver=solver, max_iter=max_iter, random_state=0
            ).fit(X)
            seconds = time.process_time() - start
            print(
                f"  {solver:<6} {max_iter:5d} steps      {model.objective_:12.0f} {seconds:7.1f}", flush=True
            )
    draw = np.random.default_rng(0)
    decaying = draw.normal(size=(2000, 400)) * 0.97 ** np.arange(400)
    cases = {
        "2000 x 400, exact": (decaying, wk.objectives.PCA()),
        "2000 x 400, rank 20": (decaying, wk.objectives.PCA(rank=20)),
        "2000 x 400, rank 100": (decaying, wk.objectives.PCA(rank=100)),
        "50 x 20000, exact": (draw.normal(size=(50, 20_000)), wk.objectives.PCA()),
    }
    print("PCA by forces           iterations   cpu s   angle to PCA")
    for name, (rows, objective) in cases.items():
        start = time.process_time()
        model = wk.AttractRepel(objective=objective, random_state=0).fit(rows)
        seconds = time.process_time() - start
        exact = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[0][:, :2]
        axes = np.linalg.qr(model.embedding_ - model.embedding_.mean(axis=0))[0]
        cosine = min(1.0, float(np.linalg.svd(exact.T @ axes, compute_uv=False)[-1]))
        print(
            f"{name:<20} {len(model.history_.objective) - 1:11d} {seconds:7.2f} {np.arccos(cosine):14.1e}",
            flush=True,
        )


def divergence(n: int, out: str) -> None:
    """The Kullback–Leibler divergence that t-SNE reaches, by one estimate for both maps."""
    X, y = sample_rows(wk.datasets.load_mnist, n)
    makers = {"t-SNE": own("tsne")} | {name: make for name, make in peers().items() if name == "openTSNE"}
    for name, Y in table(X, y, makers).items():
        print(f"{name:<30} divergence {wk.forces(X, Y, 'tsne', pairs='exact').value:.4f}")


def scale(n: int, out: str) -> None:
    """t-SNE, two-kernel LLE and UMAP beside the peers."""
    X, y = sample_rows(wk.datasets.load_mnist, n)
    maps = table(X, y, {"t-SNE": own("tsne"), "two-kernel LLE": own("lle"), "UMAP": own("umap")} | peers())
    plot_maps(maps, labels=y, path=f"{out}/forces-scale.png")


PARTS = {
    "figure2": figure2,
    "figure3": figure3,
    "conjecture": conjecture,
    "steps": steps,
    "divergence": divergence,
    "scale": scale,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=list(PARTS), default=["figure2"])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--out", default="out/paper")
    given = parser.parse_args()
    for part in given.parts:
        print(f"== {part}: {PARTS[part].__doc__}")
        PARTS[part](given.rows, given.out)
