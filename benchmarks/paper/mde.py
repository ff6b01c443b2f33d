"""Chapter 7 of the MDE paper and fig 4.6: table 7.1, gradient methods, residuals along runs, the stochastic method, graph layouts.

    python -m benchmarks.paper.mde                     # table 7.1: six instances, seconds
    python -m benchmarks.paper.mde --items 100000      # all nine, minutes
    python -m benchmarks.paper.mde methods             # fig 7.2, at --items 1000 in seconds
    python -m benchmarks.paper.mde residuals           # figs 7.1 and 7.3; --large --items 1000000 for the large problems
    python -m benchmarks.paper.mde stochastic          # fig 7.4; --starts 100
    python -m benchmarks.paper.mde inner               # iterations of a round of the stochastic method; --starts 4
    python -m benchmarks.paper.mde large               # fig 7.5; --items 100000 --components 100 for the paper's
    python -m benchmarks.paper.mde layouts             # fig 4.6

E(Y*) comes from scipy's Lanczos method, on its own and without winkel. The pairs are the paper's own: those of NumPy's generator with the
seed 0, for which E(Y*) is what table 7.1 says, to a unit of the last digit (1.432, 7.795, 104.5, 1.007, 6.065, 81.08, 0.931, 5.137, 63.51).
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import eigsh

import winkel as wk
from winkel.problem import ChunkStream, StreamProblem
from winkel.solvers.lbfgs import LBFGS

from .record import against, curves

# The paper has λ = 10, by a Hutch++ of ten products that draws three vectors and weighs their sum by 3/10: nine tenths of the trace.
NOMINAL, EFFECTIVE = 10.0, 10.0 / 0.9


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


def pairs_of(n: int, count: int) -> np.ndarray:
    """So many different pairs of n items, those of the paper, in its order: pairs are numbered row by row."""
    drawn = np.random.default_rng(0).choice(n * (n - 1) // 2, count, replace=False, shuffle=False)
    first = np.concatenate([[0], np.cumsum(np.arange(n - 1, 0, -1))])
    i = np.searchsorted(first, drawn, side="right") - 1
    return np.column_stack([i, drawn - first[i] + i + 1]).astype(np.int32)


def quadratic(n: int, m: int = 2) -> wk.Problem:
    """The quadratic problem of section 7.1, with ten random pairs an item."""
    return wk.Problem(
        pairs_of(n, 10 * n),
        wk.penalties.Quadratic(),
        n_items=n,
        n_components=m,
        constraint=wk.Standardized(),
    )


def in_order(edges: np.ndarray, n: int, m: int) -> StreamProblem:
    """The same of any pairs, for the stochastic method: a pass goes through them in their order, as in section 7.3."""
    parts = np.array_split(edges, 10)
    stream = ChunkStream(lambda: parts, n_items=n, n_pairs=len(edges))
    return StreamProblem(stream, wk.penalties.Quadratic(), n_components=m, constraint=wk.Standardized())


def solved(problem: wk.Problem, **how: Any) -> tuple[Any, float]:
    """The embedding found, and processor seconds."""
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs that are not meant to converge
        found = problem.solve(**how)
    return found, time.process_time() - begun


# ------------------------------------------------------------------------------------------------ fig 7.2


class OnlyIteratesProjected:
    """A problem to a solver that projects iterates and not gradients, as the "standard L-BFGS" of the paper does."""

    def __init__(self, problem: wk.Problem) -> None:
        self.problem, self.n_threads = problem, problem.n_threads
        self.evaluate, self.project = problem.evaluate, problem.project

    def project_tangent(self, Y: Any, direction: Any) -> Any:
        return direction


def descend(problem: wk.Problem, start: Any, *, projected: bool, limit: int = 300) -> tuple[Any, list[float]]:
    """Y ← Π(Y − t G) with backtracking by halves (Armijo), G the projected gradient or the plain one; residuals on the way."""
    Y, value, step, residuals = start, problem.average_distortion(start), 1.0, []
    for _ in range(limit):
        gradient = problem.gradient(Y)[1]
        tangent = problem.project_tangent(Y, gradient)
        residuals.append(float(np.linalg.norm(tangent)))
        if residuals[-1] < 1e-5:
            break
        direction = tangent if projected else gradient
        square = float(np.sum(direction.astype(np.float64) ** 2))
        step *= 2.0
        while step > 1e-12:
            tried = problem.project(Y - np.asarray(step * direction, dtype=Y.dtype))
            new = problem.average_distortion(tried)
            if new <= value - 1e-4 * step * square:
                break
            step /= 2.0
        else:
            break
        Y, value = tried, new
    return Y, residuals


def standard_lbfgs(problem: wk.Problem, start: Any, limit: int = 300) -> tuple[Any, list[float]]:
    """L-BFGS whose gradients are not projected."""
    solver, plain = LBFGS(tol=0.0), OnlyIteratesProjected(problem)
    state, residuals = solver.init(plain, start), [problem.residual(start)]
    while state.iteration < limit and residuals[-1] > 1e-5:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = solver.step(plain, state)
        if solver.done(state) is not None:
            break
        residuals.append(problem.residual(state.Y))
    return state.Y, residuals


def methods(options: argparse.Namespace) -> None:
    """Fig 7.2: residual and gap of projected L-BFGS and simpler methods on a standardized quadratic problem."""
    n = options.items
    problem = quadratic(n).with_jobs(1)
    best = optimum(problem.edges, n, 2)
    start = problem.constraint.initialize(n, 2, 0)
    series = {}
    print(f"{n} items, {10 * n} pairs, from one start, to a residual of 1e-5 or 300 iterations.\n")
    print("| method | iterations | processor s | residual at the end | least | gap % |")
    print("|---|---|---|---|---|---|")

    def told(name: str, Y: Any, residuals: Any, seconds: float) -> None:
        series[name] = np.asarray(residuals)
        gap = 100 * (problem.average_distortion(Y) / best - 1)
        print(
            f"| {name} | {len(residuals) - 1} | {seconds:.2f} | {residuals[-1]:.2g} | {np.nanmin(residuals):.2g} | {gap:.3f} |",
            flush=True,
        )

    for memory in (10, 1):
        found, seconds = solved(
            problem, solver="lbfgs", memory_size=memory, init=start, max_iter=300, tol=1e-5
        )
        told(f"projected L-BFGS, memory {memory}", found.Y, found.history.residual, seconds)
    for trust in (10.0, 30.0):
        found, seconds = solved(
            problem, solver="stochastic", trust=trust, init=start, max_iter=300, tol=1e-5, random_state=0
        )
        seen = found.history.residual[np.isfinite(found.history.residual)]
        print(
            f"| stochastic proximal, λ = {trust:g} | {found.history.n_rows - 1} rounds | {seconds:.2f} | {found.residual:.2g} | {seen.min():.2g} | "
            f"{100 * (found.objective / best - 1):.3f} |",
            flush=True,
        )
    makers = {
        "projected gradient, Armijo": lambda: descend(problem, start, projected=True),
        "gradient, only iterates projected": lambda: descend(problem, start, projected=False),
        "L-BFGS, only iterates projected": lambda: standard_lbfgs(problem, start),
    }
    for name, make in makers.items():
        begun = time.process_time()
        Y, residuals = make()
        told(name, Y, residuals, time.process_time() - begun)
    print()
    shown = series["projected L-BFGS, memory 10"]
    what = f"fig 7.2, n = {n}, residual of projected L-BFGS at the end"
    against(what, float(shown[-1]), 1e-5, lower=True, form=".2g")
    curves(options.out / "mde-figure7.2.png", series, "iteration", "residual", log=True)


# -------------------------------------------------------------------------------------------- figs 7.1, 7.3


# Of fig 7.1: items, and the paper's iterations and average distortion at the end.
THEIRS = {100_000: (55, 0.931), 1_000_000: (33, 0.470)}


def residuals(options: argparse.Namespace) -> None:
    """Figs 7.1 and 7.3: iterations and time to a residual of 1e-5, for each constraint."""
    n, random = options.items, np.random.default_rng(0)
    plain = quadratic(n)
    signs = np.where(random.random(len(plain.edges)) < 0.5, 1.0, -1.0)
    both = wk.penalties.PushAndPull(signs, wk.penalties.Log1p, wk.penalties.Log)
    anchors = np.sort(random.permutation(n)[: n // 10])
    fixed = wk.Anchored(anchors, random.normal(size=(len(anchors), 2)))
    problems = {
        "quadratic, standardized (fig 7.1)": plain,
        **{
            f"log-one-plus and log, {name} (fig 7.3)": wk.Problem(
                plain.edges, both, n_items=n, constraint=constraint
            )
            for name, constraint in (
                ("centered", wk.Centered()),
                ("anchored", fixed),
                ("standardized", wk.Standardized()),
            )
        },
    }
    print(f"{n} items, {10 * n} pairs in the plane, from a random start.\n")
    print(
        "| problem | iterations | processor s | average distortion: start | end | residual | status |\n"
        + "|---" * 7
        + "|"
    )
    series = {}
    for name, problem in problems.items():
        found, seconds = solved(problem, random_state=0, solver="lbfgs", max_iter=1000, tol=1e-5)
        history = found.history
        series[name] = history.residual
        print(
            f"| {name} | {history.n_rows - 1} | {seconds:.1f} | {history.objective[0]:.3f} | {found.objective:.3f} | {found.residual:.2g} | "
            f"{found.status.word} |",
            flush=True,
        )
    starts = [
        solved(plain, random_state=seed, solver="lbfgs", max_iter=1000, tol=1e-5)[0]
        for seed in range(3 if options.large else 5)
    ]
    counts = [found.history.n_rows - 1 for found in starts]
    ends = ", ".join(f"{found.objective:.4f}" for found in starts)
    print(f"\nFig 7.1 from {len(starts)} starts: {counts} iterations, average distortion {ends}; optimum {optimum(plain.edges, n, 2):.4f}.\n")  # fmt: skip
    if n in THEIRS:
        iterations, reached = THEIRS[n]
        what = f"fig 7.1, n = {n}, iterations to a residual of 1e-5, median of {len(starts)} starts"
        against(what, float(np.median(counts)), iterations, lower=True, form="g")
        what = f"fig 7.1, n = {n}, average distortion at the end, median"
        against(what, float(np.median([found.objective for found in starts])), reached, lower=True)
    print(f"Memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB.")
    stem = "mde-figure7.1-large" if options.large else "mde-figure7.1"
    curves(options.out / f"{stem}.png", series, "iteration", "residual", log=True)


# -------------------------------------------------------------------------------------------- figs 7.4, 7.5


def stochastic(options: argparse.Namespace) -> None:
    """Fig 7.4: 300 rounds of a tenth of the pairs, from many starts, with the paper's λ and ours."""
    n, m = 1000, 10
    problem = quadratic(n, m)
    best = optimum(problem.edges, n, m)
    print(
        f"{n} items, {10 * n} pairs, {m} dimensions, batches of a tenth, 300 rounds, {options.starts} starts; optimum {best:.3f}, the paper's 7.795."
    )
    print(
        "The paper: mean 7.89, deviation 0.03, 7.84 to 7.97, of 100 starts, with λ = 10 by nine tenths of the trace, which is λ = 11.1.\n"
    )
    print(
        "| λ | order of the pairs | mean | standard deviation | least | most | mean above the optimum % |\n"
        + "|---" * 7
        + "|"
    )
    series = {}
    ways = {"fixed": in_order(problem.edges, n, m), "anew in each pass": problem}
    for trust, order in (
        (NOMINAL, "fixed"),
        (EFFECTIVE, "fixed"),
        (30.0, "anew in each pass"),
    ):
        runs = [
            solved(
                ways[order], solver="stochastic", batch_size=n, trust=trust, max_iter=300, tol=1e-5,
                random_state=seed,
            )[0]
            for seed in range(options.starts)
        ]  # fmt: skip
        values = np.array([found.objective for found in runs])
        averages = np.array([found.history["average_distortion"] for found in runs])
        kept = np.isfinite(averages).all(axis=0)
        series[f"λ = {trust:.3g}, {order}"] = np.median(averages[:, kept], axis=0) / best
        gap = 100 * (values.mean() / best - 1)
        print(
            f"| {trust:.3g} | {order} | {values.mean():.3f} | {values.std():.3f} | {values.min():.3f} | {values.max():.3f} | {gap:.2f} |",
            flush=True,
        )
        what = f"fig 7.4, λ = {trust:.3g}, pairs in an order that is {'fixed' if order == 'fixed' else 'drawn ' + order}, mean average distortion"
        against(what, float(values.mean()), 7.89, lower=True, form=".2f")
    curves(
        options.out / "mde-figure7.4.png", series, "pass over the pairs", "median over the optimum", log=False
    )


def large(options: argparse.Namespace) -> None:
    """Fig 7.5: 40 rounds on a hundred pairs an item."""
    n, m = options.items, options.components
    problem = in_order(pairs_of(n, 100 * n), n, m)
    print(
        f"{n} items, {problem.n_pairs} pairs, {m} dimensions, batches of a tenth in a fixed order, 40 rounds, λ = {options.trust:.3g}.\n"
    )
    print(
        "| start | average distortion after 10 rounds | 20 | 30 | 40 | residual | processor s |\n"
        + "|---" * 7
        + "|"
    )
    values, passes = [], {}
    for seed in range(options.starts):
        found, seconds = solved(
            problem, solver="stochastic", batch_size=problem.n_pairs // 10, trust=options.trust, max_iter=40,
            tol=1e-5, random_state=seed,
        )  # fmt: skip
        values.append(found.objective)
        seen = found.history["average_distortion"]
        passes[f"start {seed}"] = seen[np.isfinite(seen)]
        told = " | ".join(f"{value:.2f}" for value in passes[f"start {seed}"])
        print(f"| {seed} | {told} | {found.residual:.2g} | {seconds:.0f} |", flush=True)
    print(f"\nMemory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB.")
    curves(options.out / "mde-figure7.5.png", passes, "pass over the pairs", "average distortion", log=False)
    if (n, m) == (100_000, 100):
        print()
        what = f"fig 7.5, mean average distortion after 40 rounds, λ = {options.trust:.3g}, {options.starts} start{'s' if options.starts > 1 else ''}"
        against(what, float(np.mean(values)), 157.94, lower=True, form=".2f")


def inner(options: argparse.Namespace) -> None:
    """How far each round of the stochastic method is solved: its iterations of L-BFGS, on unlike problems."""
    from winkel.solvers.stochastic import StochasticProximal

    rows = wk.datasets.load_digits().X[:1000]
    near = {"repulsive_pairs": "sampled", "random_state": 0}
    far = {"max_distances": 100_000, "random_state": 0}
    problems = {
        "quadratic, standardized, 10 dimensions": quadratic(1000, 10),
        "cubic, standardized, 10 dimensions": wk.Problem(
            pairs_of(1000, 20_000), wk.penalties.Cubic(), n_items=1000, n_components=10, constraint=wk.Standardized()
        ),
        "neighbours, centred": wk.preserve_neighbors(rows, 2, **near),
        "neighbours, standardized": wk.preserve_neighbors(rows, 2, constraint="standardized", **near),
        "distances, centred": wk.preserve_distances(rows, 2, **far),
        "distances by Huber's loss, centred": wk.preserve_distances(rows, 2, loss="huber", **far),
        "distances, standardized": wk.preserve_distances(rows, 2, constraint="standardized", **far),
    }  # fmt: skip
    print(f"1000 rows, 100 rounds of a tenth of the pairs, λ = 30, mean of {options.starts} starts.\n")
    print("| problem | iterations a round | average distortion after 40 rounds | after 100 | evaluations |\n" + "|---" * 5 + "|")  # fmt: skip
    for name, problem in problems.items():
        whole = StreamProblem.of(problem.with_jobs(1))
        for most in (5, 10, 30):
            found = []
            for seed in range(options.starts):
                solver = StochasticProximal(-(-problem.n_pairs // 10), seed=seed, inner_iter=most)
                start = problem.constraint.initialize(problem.n_items, problem.n_components, seed)
                state, evaluations, seen = solver.init(whole, start), 0, []
                for _ in range(100):
                    state = solver.step(whole, state)
                    evaluations += state.evaluations
                    if state.iteration in (40, 100):
                        seen.append(problem.average_distortion(state.Y))
                found.append((*seen, evaluations))
            middle, end, work = np.mean(found, axis=0)
            print(f"| {name} | {most} | {middle:.4g} | {end:.4g} | {work:.0f} |", flush=True)


# ------------------------------------------------------------------------------------------------ fig 4.6


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
    maps = {}
    for name, edges in graphs.items():
        graph = wk.Graph.from_edges(edges, n=n, distances=np.ones(len(edges)))
        problem = wk.preserve_distances(
            graph, loss="weighted_quadratic", constraint="standardized", random_state=0
        )
        found = min(
            (solved(problem, random_state=seed)[0] for seed in range(5)), key=lambda made: made.objective
        )
        paths = wk.graph.path_distances(graph)[1]
        scale = float(np.mean(problem.distortion.deviations / paths))
        root = float(np.sqrt(np.mean(problem.distances(found.Y).astype(float) ** 2)))
        maps[name] = found.Y, np.asarray(edges)
        print(f"| {name} | {found.objective:.4f} | {scale:.3f} | {root:.3f} |", flush=True)
    draw_graphs(maps, options.out / "mde-figure4.6.png")


def draw_graphs(maps: dict[str, tuple[Any, Any]], path: Path) -> None:
    """Layouts with their edges, side by side."""
    import matplotlib.pyplot as plt

    from .record import save_small

    figure, axes = plt.subplots(1, len(maps), figsize=(2.2 * len(maps), 2.3), layout="constrained")
    for ax, (name, (Y, edges)) in zip(axes, maps.items()):
        ax.plot(*Y[edges].transpose(2, 1, 0), color="0.6", linewidth=1)
        ax.scatter(Y[:, 0], Y[:, 1], s=14, zorder=2)
        ax.set(title=name, aspect="equal", xticks=[], yticks=[])
    save_small(figure, path)


# ---------------------------------------------------------------------------------------------- table 7.1


def table(options: argparse.Namespace) -> None:
    """Table 7.1."""
    print("|       n |       p |   m | 40 iterations, processor s | E(Y40) | E(Y*) | gap % |")
    print("| ------: | ------: | --: | --------------: | -----: | ----: | ----: |")
    gaps = []
    for n in (1000, 10_000, 100_000):
        if n > options.items:
            continue
        for m in (2, 10, 100):
            problem = quadratic(n, m)
            found, seconds = solved(problem, random_state=0, max_iter=40, tol=0.0, solver="lbfgs")
            best = optimum(problem.edges, n, m)
            gap = 100 * (found.objective / best - 1)
            gaps.append((n, m, gap))
            print(
                f"| {n:7} | {10 * n:7} | {m:3} | {seconds:15.2f} | {found.objective:6.4g} | {best:5.4g} | {gap:5.2f} |",
                flush=True,
            )
    print()
    for n, m, gap in gaps:
        against(f"table 7.1, n = {n}, m = {m}, gap % after 40 iterations", gap, 0.4, lower=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = {f.__name__: f for f in (table, methods, residuals, stochastic, inner, large, layouts)}
    parser.add_argument("task", nargs="?", choices=tasks, default="table")
    parser.add_argument("--items", type=int, default=10_000, help="the largest n (default: %(default)s)")
    parser.add_argument(
        "--large",
        action="store_true",
        help="the large problems of figs 7.1 and 7.3, with a picture of their own",
    )
    parser.add_argument("--components", type=int, default=20, help="dimensions of fig 7.5")
    parser.add_argument("--starts", type=int, default=10, help="starts of figs 7.4 and 7.5")
    parser.add_argument("--trust", type=float, default=EFFECTIVE, help="λ of fig 7.5")
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    tasks[options.task](options)


if __name__ == "__main__":
    main()
