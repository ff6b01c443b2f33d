"""Tables and figures of Saul (2020) with `wk.LVM`: map of MNIST, errors against dimension, recall on words, growth.

    python -m benchmarks.paper.lvm map --rows 10000 --out out/paper
    python -m benchmarks.paper.lvm errors recall growth
    python -m benchmarks.paper.lvm why --rows 4000 --iterations 60                    (what coarse-graining costs on words)
    python -m benchmarks.paper.lvm jobs --sizes 300 3000 30000                       (one thread against two)
    python -m benchmarks.paper.lvm recall --rows 26423 --dimensions 10 --levels 0 --iterations 40

Small by default; the paper's sizes are --rows 70000 --iterations 400. Times are processor seconds of one thread unless
--jobs says otherwise, and wall seconds beside them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import winkel as wk
from winkel.errors import DataWarning
from winkel.graph import knn, knn_query
from winkel.methods.starts import principal_start
from winkel.view.lvm import plot_density, plot_uncertain, plot_variance


def timed(work: Callable[[Any], Any], X: Any) -> tuple[Any, float, float]:
    """The result of `work` on X, its processor seconds and its wall seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work(X)
    return result, time.process_time() - cpu, time.perf_counter() - wall


def error_rate(Y: Any, y: Any, k: int = 9) -> float:
    """Per cent of the last seventh of the rows whose k nearest among the others vote for another label."""
    cut = len(Y) - len(Y) // 7
    rows = np.asarray(Y, dtype=np.float32)
    votes = y[knn_query(rows[cut:], rows[:cut], k)[0]]
    return 100 * float(np.mean([np.bincount(v).argmax() for v in votes] != y[cut:]))


def mnist(rows: int) -> tuple[Any, Any, Any]:
    """Images, their 50 principal components and labels; the last seventh are test images."""
    data = wk.datasets.load_mnist()
    n, m = 6 * rows // 7, rows - 6 * rows // 7
    keep = np.r_[:n, 60_000 : 60_000 + m]
    images = data.X[keep]
    return (
        images.reshape(-1, 28, 28),
        principal_start(images.astype(np.float32), 50),
        data.y[keep].astype(int),
    )


def lvm(options: argparse.Namespace, m: int = 2, **parameters: Any) -> wk.LVM:
    return wk.LVM(m, max_iter=options.iterations, random_state=0, n_jobs=options.jobs, **parameters)


def draw_map(options: argparse.Namespace) -> None:
    """Figures 2 and S1 to S3, and a table with umap-learn where it is installed."""
    images, X, y = mnist(options.rows)
    model, cpu, wall = timed(lvm(options, n_neighbors=9, n_steps=1).fit, X)
    Y, variance = model.embedding_, model.variance_
    print(f"{len(X)} images, k=9, s=1, levels={model.n_levels_}, {options.iterations} iterations")
    print(f"  similar pairs {model.n_similar_}, dissimilar {model.n_dissimilar_}")
    print(f"  log-likelihood {model.log_likelihood_[0]:.0f} -> {model.log_likelihood_[-1]:.0f}")
    print(f"{'method':<14}{'10-NN test accuracy':>20}{'cpu s':>9}{'wall s':>9}")
    print(f"{'winkel LVM':<14}{1 - error_rate(Y, y, 10) / 100:>20.4f}{cpu:>9.1f}{wall:>9.1f}")
    certain = variance <= np.quantile(variance, 0.95)
    right = y[knn(Y, 1).knn_indices[:, 0]] == y
    print(
        f"  variances {variance.min():.3g} to {variance.max():.3g}; nearest neighbour of another class:",
        end=" ",
    )
    print(
        f"{1 - right[certain].mean():.1%} of the most certain 95 %, {1 - right[~certain].mean():.1%} of the others"
    )
    try:
        import umap
    except ImportError:
        print("umap-learn          not installed")
    else:
        umap.UMAP(random_state=0).fit(X[:2000])  # compiles
        other, cpu, wall = timed(umap.UMAP().fit_transform, X)
        print(f"{'umap-learn':<14}{1 - error_rate(other, y, 10) / 100:>20.4f}{cpu:>9.1f}{wall:>9.1f}")
    plot_variance(Y, variance, labels=y, path=options.out / "lvm-map.png")
    plot_density(Y, title=f"MNIST, {len(Y)} images", path=options.out / "lvm-density.png")
    plot_uncertain(Y, variance, images, labels=y, path=options.out / "lvm-uncertain.png")


def errors(options: argparse.Namespace) -> None:
    """Figure 3: 9-NN test error (%) by dimension, for PCA and for one and two levels (k=9, s=2)."""
    _, X, y = mnist(options.rows)
    print(f"9-NN test error of {len(X)} images; 50 principal components: {error_rate(X, y):.2f} %")
    print(f"{'d':>4}{'PCA':>8}{'LVM, l=1':>10}{'cpu s':>8}{'LVM, l=2':>10}{'cpu s':>8}")
    for d in options.dimensions:
        line = f"{d:>4}{error_rate(X[:, :d], y):>8.2f}"
        for levels in (1, 2):
            model, cpu, _ = timed(lvm(options, d, n_neighbors=9, n_steps=2, levels=levels).fit, X)
            line += f"{error_rate(model.embedding_, y):>10.2f}{cpu:>8.1f}"
        print(line, flush=True)


def recall(options: argparse.Namespace) -> None:
    """Figure 4: how often a word's nearest neighbour is among the r nearest after the embedding (k=4, s=3)."""
    X = wk.datasets.load_words("word2vec").X[: options.rows].astype(np.float32)
    ranks = (1, 2, 5, 10, 20, 50, 100)
    first = knn(X, 1, method="exact", n_jobs=options.jobs).knn_indices[:, 0]
    print(f"recall of the first neighbour of {len(X)} words among r")
    print(f"{'':<14}" + "".join(f"{r:>8}" for r in ranks) + f"{'cpu s':>8}")
    tasks: list[tuple[str, Callable[[Any], Any]]] = [
        (f"PCA, d={d}", lambda X, d=d: principal_start(X, d)) for d in (10, 20, 50, 80, 100)
    ]
    tasks += [
        (f"LVM, l={levels}, d={d}", lambda X, d=d, levels=levels: words_map(options, X, d, levels))
        for levels in options.levels
        for d in options.dimensions
        if d >= 5
    ]
    for name, work in tasks:
        Y, cpu, _ = timed(work, X)
        rows = np.ascontiguousarray(Y, dtype=np.float32)
        found = knn(rows, 100, method="exact", n_jobs=options.jobs).knn_indices == first[:, None]
        line = f"{name:<14}" + "".join(f"{found[:, :r].any(axis=1).mean():>8.3f}" for r in ranks)
        print(f"{line}{cpu:>8.1f}", flush=True)


def words_map(options: argparse.Namespace, X: Any, d: int, levels: int) -> Any:
    """Means from the start of principal components, which keeps a little more than the spectral one."""
    model = lvm(options, d, n_neighbors=4, n_steps=3, levels=levels, init=principal_start(X, d).astype(float))
    return model.fit(X).embedding_


def why(options: argparse.Namespace) -> None:
    """Why coarse-graining costs recall on words: who stands between a word and its nearest neighbour.

    Where a word's nearest on the map is not its nearest in the data, the intruder is a pair of the model (same block of
    dissimilar pairs) or one that coarse-graining left out, which nothing keeps away but landmarks.
    """
    from winkel.data import Table
    from winkel.graph import neighbor_graph
    from winkel.methods.lvm.coarsening import coarsen
    from winkel.methods.lvm.landmarks import ByRows
    from winkel.methods.lvm.neighborhood import find_neighborhood
    from winkel.run import Run

    X = wk.datasets.load_words("word2vec").X[: min(options.rows, 4000)].astype(np.float32)
    nearest = knn(X, 1, method="exact").knn_indices[:, 0]
    print(
        "| levels | pairs modelled | recall at 1 | misses | intruders in no pair with the word | any two words in no pair |"
    )
    print("|---|---|---|---|---|---|")
    run = Run.of(random_state=0, n_jobs=options.jobs)
    near = find_neighborhood(neighbor_graph(Table(X, validated=True), 4, run), 3, run)
    for levels in (0, 1, 2):
        coarse = coarsen(near, levels, ByRows(Table(X, validated=True), "euclidean", run), run)
        block = np.empty(len(X), dtype=np.int64)
        block[coarse.base.items] = coarse.base.block
        model = lvm(
            options, 10, n_neighbors=4, n_steps=3, levels=levels, init=principal_start(X, 10).astype(float)
        )
        found = knn(model.fit(X).embedding_, 1, method="exact").knn_indices[:, 0]
        missed = found != nearest
        apart = block[found[missed]] != block[np.flatnonzero(missed)]
        other = 1 - np.sum(np.bincount(block).astype(float) ** 2) / len(X) ** 2
        print(
            f"| {levels} | {model.n_dissimilar_} | {np.mean(~missed):.3f} | {missed.sum()} | {np.mean(apart):.1%} | {other:.1%} |",
            flush=True,
        )


class Clock:
    """Processor seconds at the end of each iteration."""

    def __init__(self) -> None:
        self.marks: list[float] = []

    def __call__(self, info: object) -> None:
        self.marks.append(time.process_time())


def growth(options: argparse.Namespace) -> None:
    """Figure S10 and more: seconds an iteration by n and by d, on clusters whose number grows with n."""
    times = []
    print(f"{'n':>8}{'d':>4}{'levels':>8}{'dissimilar':>12}{'cpu s an iteration':>20}")
    for n, d, levels in options.grid:
        random = np.random.Generator(np.random.Philox(key=0))
        centres = 8 * random.normal(size=(max(1, n // 1000), 10))
        X = (centres[random.integers(len(centres), size=n)] + random.normal(size=(n, 10))).astype(np.float32)
        start = random.normal(size=(n, d))
        clock = Clock()
        model = wk.LVM(
            d, levels=levels, init=start, max_iter=12, random_state=0, n_jobs=options.jobs, callbacks=[clock]
        ).fit(X)
        second = float(np.median(np.diff(clock.marks)))
        times.append((n, d, levels, second))
        print(f"{n:>8}{d:>4}{levels:>8}{model.n_dissimilar_:>12}{second:>20.3f}", flush=True)
    for levels in (1, 2):
        some = [(n, t) for n, d, level, t in times if d == 2 and level == levels]
        if len(some) > 1:
            slope = np.polyfit(*np.log(np.array(some)).T, 1)[0]
            print(f"with {levels} level{'s' if levels > 1 else ''}, d=2: time grows as n^{slope:.2f}")
    by_dimension = np.array([(d, t) for n, d, level, t in times if n == options.sizes[0] and level == 1])
    slope, at_zero = np.polyfit(*by_dimension.T, 1)
    off = np.abs(at_zero + slope * by_dimension[:, 0] - by_dimension[:, 1]) / by_dimension[:, 1]
    print(
        f"n={options.sizes[0]}: {1000 * at_zero:.1f} + {1000 * slope:.2f} d milliseconds, within {off.max():.0%}"
    )


def jobs(options: argparse.Namespace) -> None:
    """One thread against two, by turns, which thread count first changing each time: wall and processor seconds of a fit.

    What counts is the median ratio of neighbouring runs: both meet the same machine. On a busy one even that means little.
    """
    print(
        f"{options.rounds} pairs of runs by turns, 30 iterations of k = 9; the ratio is two threads over one, of wall seconds, median and range.\n"
    )
    print("| rows | dimensions | levels | one, wall s | two, wall s | ratio | one, cpu s | two, cpu s |")
    print("|---" * 8 + "|")
    ratios = []
    for n in options.sizes:
        _, X, _ = mnist(n)
        for d, levels in ((2, 0), (2, 1), (2, 2), (10, 1)):
            if levels == 0 and n > 3000:
                continue
            seen: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
            for turn in range(options.rounds + 1):
                for threads in (1, 2) if turn % 2 else (2, 1):
                    model = wk.LVM(
                        d, n_neighbors=9, levels=levels, max_iter=30, random_state=0, n_jobs=threads
                    )
                    took = timed(model.fit, X)[1:]
                    if turn:  # the first pair warms up
                        seen[threads].append(took)
            one, two = np.array(seen[1]), np.array(seen[2])
            ratio = two[:, 1] / one[:, 1]
            ratios.append((float(np.median(ratio)), n, d, levels))
            cpu, wall = np.median([one, two], axis=1).T
            print(
                f"| {n} | {d} | {levels} | {wall[0]:.3f} | {wall[1]:.3f} | {np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f}) | "
                f"{cpu[0]:.3f} | {cpu[1]:.3f} |",
                flush=True,
            )
    worst, n, d, levels = max(ratios)
    print(f"\nWorst median ratio {worst:.2f}, at {n} rows, {d} dimensions, {levels} levels.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="+", choices=["map", "errors", "recall", "why", "growth", "jobs"])
    parser.add_argument("--rows", type=int, default=7000)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 3, 5, 10, 20])
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2], help="of recall; 0 models all pairs")
    parser.add_argument("--sizes", type=int, nargs="+", default=None, help="of growth, and of jobs")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs of jobs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    options = parser.parse_args()
    if options.sizes is None:
        options.sizes = (
            [300, 1000, 3000, 10_000] if "jobs" in options.what else [10_000, 31_623, 100_000, 316_228]
        )
    options.out.mkdir(parents=True, exist_ok=True)
    options.grid = [(n, 2, level) for n in options.sizes for level in (1, 2)]
    options.grid += [(options.sizes[0], d, 1) for d in (5, 10, 20, 40)]
    warnings.simplefilter("ignore", DataWarning)
    for name in options.what:
        {"map": draw_map, "errors": errors, "recall": recall, "why": why, "growth": growth, "jobs": jobs}[
            name
        ](options)


if __name__ == "__main__":
    main()
