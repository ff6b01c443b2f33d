"""Figures 2.5 and 2.6 and chapters 9 to 12 of the MDE paper, with the paper's own penalties beside winkel's defaults.

    python -m benchmarks.paper.mde_chapters simple               # figs 2.5 and 2.6
    python -m benchmarks.paper.mde_chapters networks --names GrQc # chapter 9: CDFs, pairs of high distortion
    python -m benchmarks.paper.mde_chapters counties             # chapter 10: the paper's penalties, PCA, defaults
    python -m benchmarks.paper.mde_chapters genetics             # chapter 11: clean and corrupted data
    python -m benchmarks.paper.mde_chapters seeds                # chapter 11: what of a map is chance
    python -m benchmarks.paper.mde_chapters cells                # chapter 12: three dimensions, standardized; group check

Pictures go to --out.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import winkel as wk

from .record import against, save_small, small_maps

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
PAPERS = "the paper's: Huber, log, all other pairs, k = 15"
BEST = "quadratic, weights cos(x, y), rows joined by mutual neighbours, k = 15"
LOG1P, LOG = wk.penalties.Log1p, wk.penalties.Log
PENALTIES: dict[str, Any] = {
    "attractive": wk.penalties.Huber(),
    "repulsive": LOG(),
    "repulsive_fraction": 1e6,
}


def quantiles(name: str, values: Any) -> None:
    """A row of a table of CDFs."""
    print(f"| {name} | " + " | ".join(f"{v:.3g}" for v in np.quantile(values, QUANTILES)) + " |", flush=True)


def quantile_header() -> None:
    print("| CDF | " + " | ".join(f"{q:.0%}" for q in QUANTILES) + " |")
    print("|---" * (len(QUANTILES) + 1) + "|")


def draw_cdfs(curves: dict[str, Any], path: Path, label: str) -> None:
    """Cumulative distributions in one small picture."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4.2, 2.8), layout="constrained")
    for name, values in curves.items():
        values = np.sort(np.asarray(values, dtype=float))[:: max(1, len(values) // 2000)]
        ax.plot(values, np.linspace(0, 1, len(values)), label=name)
    ax.set(xlabel=label, ylabel="CDF")
    ax.legend(frameon=False, fontsize=8)
    save_small(figure, path)


# --------------------------------------------------------------------------------------------- figs 2.5, 2.6


def simple(options: argparse.Namespace) -> None:
    """Figs 2.5 and 2.6: 20 vertices, 40 random edges, path lengths with and without anchors; a complete graph standardized."""
    random, n = np.random.default_rng(0), 20
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
    while True:
        edges = pairs[np.sort(random.permutation(len(pairs))[:40])]
        graph = wk.Graph.from_edges(edges, n=n, distances=np.ones(len(edges)))
        if graph.components()[0] == 1:
            break
    ends, lengths = wk.graph.path_distances(graph)
    anchors = np.sort(random.permutation(n)[:7]), random.normal(size=(7, 2)) * lengths.mean() / 2
    maps = {}
    print("| figure | problem | average distortion, best of 5 starts |")
    print("|---|---|---|")
    for name, constraint in (
        ("2.5 left, unconstrained", "centered"),
        ("2.5 right, seven anchors", wk.Anchored(*anchors)),
    ):
        problem = wk.Problem(ends, wk.losses.Quadratic(lengths), n_items=n, constraint=constraint)
        best = min((solved(problem, seed) for seed in range(5)), key=lambda found: found.objective)
        maps[name] = best.Y
        print(f"| {name} | quadratic loss of path lengths | {best.objective:.4f} |")
    for name, penalty in (
        ("2.6 left", wk.penalties.Quadratic()),
        ("2.6 right", wk.penalties.Cubic()),
    ):
        problem = wk.Problem(pairs, penalty, n_items=n, constraint="standardized")
        best = min((solved(problem, seed) for seed in range(5)), key=lambda found: found.objective)
        maps[name] = best.Y
        print(f"| {name} | {type(penalty).__name__.lower()} penalty, standardized | {best.objective:.4f} |")
    cubic = maps["2.6 right"]
    radius = np.linalg.norm(cubic, axis=1)
    gaps = np.diff(np.sort(np.arctan2(cubic[:, 1], cubic[:, 0])))
    print(
        f"\nFig 2.6 right, points on a circle at equal steps: radii {radius.min():.3f} to {radius.max():.3f}, steps "
        f"{np.degrees(gaps.min()):.1f}° to {np.degrees(gaps.max()):.1f}° (equal ones would be 18°)."
    )
    small_maps(maps, options.out / "mde-figures-2.png")


def solved(problem: wk.Problem, seed: int, **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem.solve(random_state=seed, **how)


# ------------------------------------------------------------------------------------------------- chapter 9


NETWORKS = ("GrQc", "HepTh", "HepPh", "AstroPh", "CondMat")


def networks(options: argparse.Namespace) -> None:
    """Chapter 9: co-authors of arXiv (SNAP) instead of Google Scholar; absolute loss of a part of the path lengths."""
    for name in options.names:
        network = wk.Graph.from_adjacency(wk.datasets.load_coauthorship(name).X)
        network = network.subgraph(network.components()[1] == 0)
        n = network.n
        every = n * (n - 1) // 2
        kept = min(every // 10, options.most)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mde = wk.MDE(
                preserve="distances", max_distances=kept, max_iter=300, random_state=0, n_jobs=options.jobs
            ).fit(network)
        problem, Y = mde.problem_, mde.embedding_
        lengths, errors = problem.distortion.deviations, problem.distortions(Y)
        print(
            f"\n{name}: {n} authors, {network.n_edges} links; {len(lengths)} path lengths, {len(lengths) / every:.1%} of all "
            "(paper: 590 028 authors with 0.05 %, 44 682 with 10 %).\n"
        )
        quantile_header()
        quantiles("co-authors (fig 9.2)", network.degree)
        quantiles("path lengths (fig 9.3)", lengths)
        quantiles("distortions (figs 9.4, 9.6)", errors)
        describe_network(network, problem, Y, lengths, errors)
        against(
            f"chapter 9, average distortion, {name}, {n} authors", mde.objective_, 1.45, lower=True,
            other_data="arXiv's network for Google Scholar's, whose larger one has 1.58",
        )  # fmt: skip
        draw_cdfs(
            {"path length": lengths, "distortion": errors},
            options.out / f"mde-networks-{name}-cdf.png",
            "steps",
        )
        maps = {"MDE (figs 9.5, 9.7)": Y}
        if n < 6000:
            maps |= others_by_paths(network, options)
        rates = {
            kind: rank_correlation(np.linalg.norm(np.subtract(*Z[problem.edges.T]), axis=1), lengths)
            for kind, Z in maps.items()
        }
        shown = ", ".join(f"{kind} {rate:.2f}" for kind, rate in rates.items())
        print(f"\nRank correlation of path lengths and distances on the map: {shown}.")
        small_maps(maps, options.out / f"mde-networks-{name}.png", values=np.log10(network.degree))


def rank_correlation(a: Any, b: Any) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def others_by_paths(network: wk.Graph, options: argparse.Namespace) -> dict[str, Any]:
    """Fig 9.10: UMAP and t-SNE of the path lengths."""
    n = network.n
    paths = np.zeros((n, n), dtype=np.float32)
    paths[np.triu_indices(n, 1)] = wk.graph.path_distances(network)[1]
    paths += paths.T
    makers = {"UMAP (fig 9.10)": wk.UMAP, "t-SNE (fig 9.10)": wk.TSNE}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: maker(metric="precomputed", random_state=0, n_jobs=options.jobs).fit_transform(paths)
            for name, maker in makers.items()
        }


def describe_network(network: wk.Graph, problem: wk.Problem, Y: Any, lengths: Any, errors: Any) -> None:
    """What the chapter says of its maps: lengths, widths, the middle, and the pairs of the highest distortion."""
    common = sum(sorted((np.mean(lengths == value) for value in np.unique(lengths)), reverse=True)[:3])
    print(f"\nThe three commonest lengths are {common:.0%} of all (paper: about 90 %).")
    corner = Y[np.random.default_rng(0).permutation(network.n)[:2000]].astype(float)
    width = np.sqrt(((corner[:, None] - corner[None]) ** 2).sum(-1)).max()
    print(
        f"Width of the map {width:.1f}, of the network {lengths.max():.0f} among the lengths kept (paper: 13 and 10, 16 and 13)."
    )
    degree = network.degree
    rank = rank_correlation(degree, np.linalg.norm(Y - Y.mean(axis=0), axis=1))
    print(f"Rank correlation of the number of co-authors and the distance from the centre: {rank:.2f}.")
    apart = problem.distances(Y)
    print("\n| five worst pairs: path | on the map | distortion | co-authors of each |")
    print("|---|---|---|---|")
    for pair in np.argsort(-errors, kind="stable")[:5]:
        i, j = problem.edges[pair]
        print(
            f"| {lengths[pair]:.0f} | {apart[pair]:.2f} | {errors[pair]:.2f} | {degree[i]:.0f}, {degree[j]:.0f} |"
        )
    print()


# ------------------------------------------------------------------------------------------------ chapter 10


def neighbor_correlation(Y: Any, values: Any, k: int = 10) -> float:
    """Correlation of a value with its mean over the k nearest on the map."""
    near = wk.graph.knn(np.ascontiguousarray(Y), k, method="exact").knn_indices
    return float(np.corrcoef(values[near].mean(axis=1), values)[0, 1])


def recall(X: Any, Y: Any, k: int = 15) -> float:
    lists = [wk.graph.knn(np.ascontiguousarray(Z), k, method="exact").knn_indices for Z in (X, Y)]
    return float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(*lists)]))


def fitted(X: Any, options: argparse.Namespace, m: int = 2, seed: int = 0, **how: Any) -> wk.MDE:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wk.MDE(m, random_state=seed, n_jobs=options.jobs, **how).fit(X)


def counties(options: argparse.Namespace) -> None:
    """Chapter 10: votes, which took no part, among neighbours on the map by PCA, by the paper's penalties and by defaults."""
    data = wk.datasets.load_counties()
    paper = {"attractive": LOG1P(exponent=2.0), "repulsive": LOG(exponent=0.5), "repulsive_pairs": "sampled"}
    own = fitted(data.X, options, **paper)
    maps = {
        "PCA (fig 10.1)": wk.quadratic.pca(data.X).to_textbook(),
        "MDE, the paper's penalties (fig 10.2)": own.embedding_,
        "MDE, winkel's defaults": fitted(data.X, options).embedding_,
        "UMAP": wk.UMAP(random_state=0, n_jobs=options.jobs).fit_transform(data.X),
        "t-SNE": wk.TSNE(random_state=0, n_jobs=options.jobs).fit_transform(data.X),
    }
    print(
        f"{len(data.X)} counties with all values (paper: 3 220), {own.graph_.n_edges} pairs of 15 neighbours. (The paper has 75 250; "
        "3 220 lists of 15 hold 48 300 entries at most.) It shows pictures only: no number to compare.\n"
    )
    print("| map | vote share, correlation with that of 10 neighbours | recall of 15 neighbours |")
    print("|---|---|---|")
    for name, Y in maps.items():
        print(f"| {name} | {neighbor_correlation(Y, data.y):.3f} | {recall(data.X, Y):.3f} |", flush=True)
    draw_cdfs(
        {"distortion": own.problem_.distortions(own.embedding_[own.items_])},
        options.out / "mde-counties-cdf.png", "distortion",
    )  # fmt: skip
    small_maps(maps, options.out / "mde-counties.png", values=data.y)


# ------------------------------------------------------------------------------------------------ chapter 11


def genes(seed: int) -> tuple[Any, Any, Any, Any]:
    """Clean rows, the same turned at random with 154 bad ones below (Diakonikolas et al. 2017), places, and countries."""
    people, random = wk.datasets.load_popres(), np.random.default_rng(seed)
    clean = people.X * np.sqrt(people.extras["eigenvalues"]).astype(np.float64)
    rotation, _ = np.linalg.qr(random.normal(size=(20, 20)))
    bad = np.hstack([random.integers(0, 3, size=(154, 10)), random.choice([1 / 12, 1 / 8], size=(154, 10))])
    place = np.asarray(people.extras["lonlat"], dtype=np.float64)
    return clean, np.vstack([clean @ rotation, bad]), place, people.y


def explained(Y: Any, place: Any) -> float:
    """How much of the variance of longitude and latitude a straight-line fit on the map of the true rows explains."""
    n = len(place)
    A = np.column_stack([np.asarray(Y)[:n], np.ones(n)])
    rest = place - A @ np.linalg.lstsq(A, place, rcond=None)[0]
    return 1 - float((rest**2).sum() / ((place - place.mean(axis=0)) ** 2).sum())


def joined(X: Any, k: int = 15, *, mutual: bool) -> Any:
    """Rows in the largest component of the neighbour graph, or of its mutual pairs, those that the paper gives the weight 2."""
    graph = wk.graph.knn(X, k, random_state=0)
    kept = graph.weights > 1 if mutual else np.ones(graph.n_edges, dtype=bool)
    pairs = wk.Graph.from_edges(graph.edges[kept], n=len(X), distances=graph.edge_distances[kept])
    return pairs.components()[1] == 0


def robust(X: Any, inside: Any, *, cosines: bool) -> Any:
    """The quadratic standardized MDE of the rows `inside`, and all rows on its axes.

    Its weights are products, which makes it PCA, or cosines seen from the spatial median: then no row weighs more than another.
    """
    center = X[inside].mean(axis=0)
    for _ in range(100 if cosines else 0):
        inverse = 1 / np.maximum(np.linalg.norm(X[inside] - center, axis=1), 1e-12)
        center = (X[inside] * inverse[:, None]).sum(axis=0) / inverse.sum()
    seen = X - center
    rows = seen[inside]
    if cosines:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return seen @ np.linalg.svd(rows, full_matrices=False)[2][:2].T


def genetics(options: argparse.Namespace) -> None:
    """Chapter 11: how much of geography a map explains, on clean and on corrupted data."""

    def mde(**how: Any) -> Callable[[Any], Any]:
        return lambda X: fitted(X, options, **how).embedding_

    def screened(mutual: bool | None, cosines: bool, k: int = 15) -> Callable[[Any], Any]:
        def make(X: Any) -> Any:
            inside = np.ones(len(X), dtype=bool) if mutual is None else joined(X, k, mutual=mutual)
            return robust(X, inside, cosines=cosines)

        return make

    makers: dict[str, Callable[[Any], Any]] = {
        "PCA": lambda X: wk.quadratic.pca(X).to_textbook(),
        "quadratic, weights x·y (PCA), rows joined by neighbours": screened(False, False),
        "quadratic, weights x·y (PCA), rows joined by mutual neighbours": screened(True, False),
        "quadratic, weights cos(x, y)": screened(None, True),
        **{
            f"quadratic, weights cos(x, y), rows joined by mutual neighbours, k = {k}": screened(
                True, True, k
            )
            for k in (10, 15, 30, 60)
        },
        PAPERS: mde(**PENALTIES),
        **{f"the same, k = {k}": mde(**PENALTIES, n_neighbors=k) for k in options.neighbors},
        "the same, k = 15, start by PCA": mde(**PENALTIES, init="pca"),
        "winkel's defaults": mde(),
        "winkel's defaults, start by the spectrum": mde(init="spectral"),
        'winkel\'s focus="shape"': mde(focus="shape"),
        "UMAP (fig 11.7)": lambda X: wk.UMAP(random_state=0, n_jobs=options.jobs).fit_transform(X),
        "t-SNE (fig 11.7)": lambda X: wk.TSNE(random_state=0, n_jobs=options.jobs).fit_transform(X),
        **{
            f"quadratic penalty of neighbours, standardized, k = {k}": mde(
                attractive="quadratic", repulsive=None, constraint="standardized", n_neighbors=k
            )
            for k in (15, *options.neighbors)
        },
        **{
            f"distances, {loss}": mde(preserve="distances", loss=loss, max_iter=100)
            for loss in ("absolute", "huber", "quadratic", "fractional")
        },
    }
    seeds = range(1 if options.quick else 4)
    print("| map | clean | with bad data, mean | worst |")
    print("|---|---|---|---|")
    found: dict[str, tuple[float, float]] = {}
    for name, make in makers.items():
        try:
            clean, _, place, _ = genes(0)
            first = explained(make(clean), place)
            later = [explained(make(genes(seed)[1]), place) for seed in seeds]
        except wk.errors.WinkelError as error:
            print(f"| {name} | {str(error)[:80]} | | |")
            continue
        found[name] = first, float(np.mean(later))
        print(f"| {name} | {first:.3f} | {np.mean(later):.3f} | {min(later):.3f} |", flush=True)
    print()
    best = found[BEST]
    for what, shares in ((PAPERS, found[PAPERS]), (BEST, best)):
        for data, share in zip(("clean", "with bad data"), shares):
            name = f"chapter 11, geography explained, {data}, {what}"
            against(name, share, found["PCA"][0], beside="PCA on clean data")
    draw_genetics(options, makers)


def seeds(options: argparse.Namespace) -> None:
    """Chapter 11: what of a map of clean rows is chance."""
    clean, _, place, _ = genes(0)
    print("| map of clean rows | geography explained, by seed |\n|---|---|")
    for name, how in (
        ("winkel's defaults", {}),
        ('winkel\'s focus="shape"', {"focus": "shape"}),
        (PAPERS, PENALTIES),
    ):
        maps = [fitted(clean, options, seed=seed, **how).embedding_ for seed in range(options.seeds)]
        shares = ", ".join(f"{explained(Y, place):.2f}" for Y in maps)
        print(f"| {name} | {shares} |", flush=True)


def draw_genetics(options: argparse.Namespace, makers: dict[str, Callable[[Any], Any]]) -> None:
    clean, corrupted, _, countries = genes(0)
    n = len(clean)
    shown = ("PCA", PAPERS, BEST)
    maps = {}
    for name in shown:
        maps[f"{name}, clean"] = makers[name](clean)
        maps[f"{name}, with bad data"] = makers[name](corrupted)[:n]
    small_maps(maps, options.out / "mde-genetics.png", labels=countries)


# ------------------------------------------------------------------------------------------------ chapter 12


def cells(options: argparse.Namespace) -> None:
    """Chapter 12: standardized maps of cells in three dimensions from the quadratic one; distortions by kinds of pairs."""
    covid, blood = wk.datasets.load_covid_balf(), wk.datasets.load_pbmc3k()
    paper = {"attractive": LOG1P(), "repulsive": LOG(), "constraint": "standardized", "max_iter": 300}
    sets = (
        ("lung fluid, three patients", covid, covid.extras["sample"]),
        ("pbmc3k, by clusters", blood, blood.y),
    )
    for name, data, groups in sets:
        start = fitted(data.X, options, 3, attractive="quadratic", repulsive=None, constraint="standardized")
        mde = fitted(data.X, options, 3, init=start.embedding_, **paper)
        problem, Y = mde.problem_, mde.embedding_
        similar = mde.graph_.edges
        assert np.array_equal(problem.edges[: len(similar)], similar)  # similar pairs come first
        errors = problem.distortions(Y[mde.items_])[: len(similar)]
        kinds = np.asarray(groups)
        alike = kinds[similar[:, 0]] == kinds[similar[:, 1]]
        print(f"\n{name}: {len(data.X)} cells, {len(similar)} similar pairs (paper: 44 721 and 515 376).\n")
        quantile_header()
        quantiles("distortions (fig 12.1)", problem.distortions(Y[mde.items_]))
        print("\n| similar pairs | number | average distortion |")
        print("|---|---|---|")
        for group in np.unique(kinds):
            inside = alike & (kinds[similar[:, 0]] == group)
            if inside.any():
                print(f"| both {group} | {inside.sum()} | {errors[inside].mean():.3f} |")
        print(f"| of one group | {alike.sum()} | {errors[alike].mean():.3f} |")
        print(f"| of two | {(~alike).sum()} | {errors[~alike].mean():.3f} |")
        worst = np.argsort(-errors)[:1000]
        types = np.asarray(data.y)
        mixed = np.mean(types[similar[worst, 0]] != types[similar[worst, 1]])
        every = np.mean(types[similar[:, 0]] != types[similar[:, 1]])
        print(
            f"\nOf the 1 000 worst similar pairs {mixed:.0%} are cells of two types, of all similar pairs {every:.0%} (paper: most).\n"
        )
        against(
            f"chapter 12, average distortion, {name}",
            mde.objective_,
            0.13,
            lower=True,
            other_data="other cells",
        )
        against(
            f"chapter 12, distortion of pairs of two groups over that of one, {name}",
            errors[~alike].mean() / errors[alike].mean(), 0.21 / 0.185, other_data="other cells",
        )  # fmt: skip
        short = name.split(",")[0].replace(" ", "-")
        small_maps(
            {"first and second": Y[:, :2], "first and third": Y[:, [0, 2]]},
            options.out / f"mde-cells-{short}.png",
            labels=types,
        )
        draw_cdfs(
            {"distortion": errors}, options.out / f"mde-cells-{short}-cdf.png", "distortion of similar pairs"
        )


TASKS = {
    "simple": simple,
    "networks": networks,
    "counties": counties,
    "genetics": genetics,
    "seeds": seeds,
    "cells": cells,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--most", type=int, default=5_000_000, help="path lengths of a network of chapter 9")
    parser.add_argument("--quick", action="store_true", help="one corruption of chapter 11")
    parser.add_argument(
        "--names", nargs="+", choices=NETWORKS, default=NETWORKS, help="networks of chapter 9"
    )
    parser.add_argument(
        "--neighbors", type=int, nargs="+", default=[30, 60, 120], help="further k of chapter 11"
    )
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    TASKS[options.task](options)


if __name__ == "__main__":
    main()
