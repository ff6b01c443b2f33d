"""Tables and figures of the MDE paper: table 7.1, fig 7.2 (gradient methods compared), fig 4.6 (graph layouts), chapter 8 (dissimilar pairs).

    python -m benchmarks.paper.mde                # table 7.1: six instances, seconds
    python -m benchmarks.paper.mde --items 100000 # all nine, minutes
    python -m benchmarks.paper.mde methods        # fig 7.2, at --items 1000 in seconds
    python -m benchmarks.paper.mde layouts        # fig 4.6
    python -m benchmarks.paper.mde dissimilar     # chapter 8: how many dissimilar pairs, which weights and penalties; --quick

E(Y*) comes from scipy's Lanczos method, on its own and without winkel.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import eigsh

import winkel as wk

from ..iterations import problem as random_problem
from .record import against


def optimum(edges: np.ndarray, n: int, m: int) -> float:
    """n/p times the sum of the m smallest eigenvalues of the Laplacian, that of the constant vector left out."""
    i, j = edges.T
    adjacency = coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
    adjacency = adjacency + adjacency.T
    degrees = adjacency.sum(axis=0)
    top = 2 * degrees.max()  # no eigenvalue of the Laplacian is above it
    flipped = diags_array(top - degrees) + adjacency
    values = eigsh(flipped, k=m + 1, which="LA", tol=1e-5, return_eigenvectors=False)
    return float(n / len(edges) * (top - np.sort(values)[::-1][1 : m + 1]).sum())


def methods(options: argparse.Namespace) -> None:
    """Fig 7.2: residual and gap of projected L-BFGS, projected gradient and the stochastic method on a standardized quadratic problem."""
    n = options.items
    edges = random_problem(n, 10 * n, 2, 0)[2:]
    problem = wk.Problem(edges, wk.penalties.Quadratic(), n_items=n, constraint=wk.Standardized(), n_jobs=1)
    best = optimum(edges, n, 2)
    start = problem.constraint.initialize(n, 2, 0)
    print("| method | iterations | seconds | residual | gap % |")
    print("|---|---|---|---|---|")
    for memory in (10, 1):
        report(
            problem,
            best,
            f"projected L-BFGS, memory {memory}",
            solver="lbfgs",
            memory_size=memory,
            init=start,
        )
    for trust in (10.0, 30.0):
        report(
            problem, best, f"stochastic proximal, λ = {trust:g}", solver="stochastic", trust=trust, init=start
        )
    begun, Y, value = time.process_time(), start, problem.average_distortion(start)
    step, count = 1.0, 0
    while count < 300:  # gradient steps with backtracking by halves (Armijo), projected
        count += 1
        gradient = problem.project_tangent(Y, problem.gradient(Y)[1])
        square = float(np.sum(gradient**2))
        if square < 1e-10:
            break
        step *= 2.0
        while step > 1e-12:
            tried = problem.project(Y - step * gradient)
            new = problem.average_distortion(tried)
            if new <= value - 0.5 * step * square:
                break
            step /= 2.0
        else:
            break
        Y, value = tried, new
    print(
        f"| projected gradient, Armijo | {count} | {time.process_time() - begun:.2f} | {problem.residual(Y):.2g} | {100 * (value / best - 1):.3f} |"
    )


def report(problem: wk.Problem, best: float, name: str, **how: object) -> None:
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = problem.solve(random_state=0, max_iter=300, tol=1e-5, **how)
    seconds = time.process_time() - begun
    rounds = found.history.n_rows - 1
    print(
        f"| {name} | {rounds} | {seconds:.2f} | {found.residual:.2g} | {100 * (found.objective / best - 1):.3f} |",
        flush=True,
    )


def layouts(options: argparse.Namespace) -> None:
    """Fig 4.6: chain, cycle, star and binary tree of 20 nodes, weighted quadratic loss of graph distances, standardized."""
    n = 20
    graphs = {
        "chain": [[i, i + 1] for i in range(n - 1)],
        "cycle": [[i, (i + 1) % n] for i in range(n)],
        "star": [[0, i] for i in range(1, n)],
        "binary tree": [[(i - 1) // 2, i] for i in range(1, n)],
    }
    print(
        "| graph | average distortion, best of 5 starts | distance_scale of the deviations | root mean square distance on the map |"
    )
    print("|---|---|---|---|")
    for name, edges in graphs.items():
        graph = wk.Graph.from_edges(edges, n=n, distances=np.ones(len(edges)))
        problem = wk.preserve_distances(
            graph, loss="weighted_quadratic", constraint="standardized", random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = min(
                (problem.solve(random_state=seed) for seed in range(5)), key=lambda made: made.objective
            )
        paths = wk.graph.path_distances(graph)[1]
        scale = float(np.mean(problem.distortion.deviations / paths))
        root = float(np.sqrt(np.mean(problem.distances(found.Y).astype(float) ** 2)))
        print(f"| {name} | {found.objective:.4f} | {scale:.3f} | {root:.3f} |", flush=True)


def dissimilar(options: argparse.Namespace) -> None:
    """Chapter 8 on MNIST: recall of neighbours and 10-NN accuracy by constraint, penalties, weights and dissimilar pairs."""
    from sklearn.neighbors import KNeighborsClassifier

    data = wk.datasets.load_mnist()
    rows = slice(None, None, 35 if options.quick else 7)
    X, y = wk.quadratic.pca(data.X[rows].astype(np.float32), 50).Y.astype(np.float32), data.y[rows]
    graph = wk.graph.knn(X, 15, random_state=0)
    plain = wk.Graph.from_edges(graph.edges, n=graph.n, distances=graph.edge_distances)
    tasks = {
        "quadratic, standardized, 2-D (fig 8.1)": (graph, {"attractive": "quadratic", "repulsive": None, "constraint": "standardized"}, 2),
        "quadratic, standardized, 3-D": (graph, {"attractive": "quadratic", "repulsive": None, "constraint": "standardized"}, 3),
        "Huber, standardized": (graph, {"attractive": "huber", "repulsive": None, "constraint": "standardized"}, 2),
        **{
            f"log1p and log, {share:g} dissimilar pairs a similar one": (graph, {"attractive": "log1p", "repulsive": "log", "repulsive_fraction": share}, 2)
            for share in (0.5, 1.0, 2.0, 4.0)
        },
        "the same, weights all 1": (plain, {"attractive": "log1p", "repulsive": "log"}, 2),
        "the same, weights exp(−δ²/σ²)": (wk.graph.gaussian_weights(graph), {"attractive": "log1p", "repulsive": "log"}, 2),
        "winkel's defaults": (graph, {}, 2),
    }  # fmt: skip
    print("| problem | recall of 15 neighbours | 10-NN accuracy |")
    print("|---|---|---|")
    for name, (similar, how, m) in tasks.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Y = wk.MDE(m, random_state=0, n_jobs=1, **how).fit_transform(similar)
        kept = wk.graph.knn(Y, 15).knn_indices
        recall = np.mean([len(np.intersect1d(a, b)) / 15 for a, b in zip(graph.knn_indices, kept)])
        cut = 6 * len(Y) // 7
        accuracy = KNeighborsClassifier(10).fit(Y[:cut], y[:cut]).score(Y[cut:], y[cut:])
        print(f"| {name} | {recall:.3f} | {accuracy:.3f} |", flush=True)


def table(options: argparse.Namespace) -> None:
    """Table 7.1."""
    print("|       n |       p |   m | 40 iterations s | E(Y40) | E(Y*) | gap % |")
    print("| ------: | ------: | --: | --------------: | -----: | ----: | ----: |")
    gaps = []
    for n in (1000, 10_000, 100_000):
        if n > options.items:
            continue
        edges = random_problem(n, 10 * n, 2, 0)[2:]
        for m in (2, 10, 100):
            problem = wk.Problem(
                edges, wk.penalties.Quadratic(), n_items=n, n_components=m, constraint=wk.Standardized()
            )
            begun = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # 40 iterations are not meant to converge
                found = problem.solve(random_state=0, max_iter=40, tol=0.0, solver="lbfgs").objective
            seconds = time.perf_counter() - begun
            best = optimum(edges, n, m)
            gap = 100 * (found / best - 1)
            gaps.append((n, m, gap))
            print(
                f"| {n:7} | {10 * n:7} | {m:3} | {seconds:15.2f} | {found:6.4g} | {best:5.4g} | {gap:5.2f} |",
                flush=True,
            )
    print()
    for n, m, gap in gaps:
        against(f"table 7.1, n = {n}, m = {m}, gap % after 40 iterations", gap, 0.4, lower=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = {"table": table, "methods": methods, "layouts": layouts, "dissimilar": dissimilar}
    parser.add_argument("task", nargs="?", choices=tasks, default="table")
    parser.add_argument("--items", type=int, default=10_000, help="the largest n (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="fewer images")
    options = parser.parse_args()
    tasks[options.task](options)


if __name__ == "__main__":
    main()
