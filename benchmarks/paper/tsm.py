"""Figures 2 to 9 of Saul (2023) at a size given by arguments, and TSM against the dense updates of the paper.

    python -m benchmarks.paper.tsm figures --data mnist --rows 3500 --dimensions 4 8 16 32 64 --isomap   # figs 2, 3, 4, 8, 9
    python -m benchmarks.paper.tsm folds --rows 14000 --dimensions 4 8 16 32 64 --folds 5                # figs 3, 4 over folds, J both ways
    python -m benchmarks.paper.tsm folds --quick                                                          # 2 folds of 2 000, a minute
    python -m benchmarks.paper.tsm table1 --vectors glove --rows 12000 --dimensions 32                    # Table 1
    python -m benchmarks.paper.tsm landmarks --data mnist --rows 70000 --landmarks 14000 --dimensions 16 # figs 6, 7
    python -m benchmarks.paper.tsm extension --rows 70000 --dimensions 64                                # time of the extension
    python -m benchmarks.paper.tsm words --vectors glove --rows 30000 --dimensions 8 16 32 64            # fig 5
    python -m benchmarks.paper.tsm speed --rows 14000 --dimensions 16 --updates 250 --peer-updates 250   # time, objective
    python -m benchmarks.paper.tsm direct --rows 70000 --dimensions 16 --updates 120                     # time and memory

Every line that is printed was measured in this run. Pictures go to --out.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from pathlib import Path

import numpy as np

import winkel as wk
from benchmarks.paper.record import against
from winkel.errors import DataWarning
from winkel.measures.analogies import complete_analogies
from winkel.measures.angles import angular_deviation, distance_jaccard, jaccard, norm_error
from winkel.methods.tsm import isomap_map, similarity_graph, svd_map
from winkel.methods.tsm.factors import Factors
from winkel.methods.tsm.fit import svd_start
from winkel.methods.tsm.matching import Matching
from winkel.methods.tsm.quasi_newton import QuasiNewton
from winkel.methods.tsm.similarity import Similarities, similarities
from winkel.run import Run, available_cores
from winkel.solvers import iterate
from winkel.view.tsm import plot_angles, plot_by_dimension

THRESHOLDS = {"mnist": 0.75}  # the paper's; others come from the histogram of angles


def load(name: str, n: int) -> np.ndarray:
    """Rows of a data set: a fold of MNIST (every k-th image), digits, or the most frequent words."""
    if name == "digits":
        return wk.datasets.load_digits().X[:n].astype(np.float32)
    if name == "words":
        return word_rows("glove", n)[0]
    if name == "word2vec":
        return word_rows("word2vec", n)[0]
    if name == "words100k":
        return (
            wk.datasets.load_words("glove", size="100k").X[:n].astype(np.float32)
        )  # as they are, like the paper's
    X = wk.datasets.load_mnist().X
    return np.ascontiguousarray(X[:: max(1, len(X) // n)][:n].astype(np.float32) / np.float32(255))


def word_rows(vectors: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and words: those of the analogy questions, and the most frequent others up to n.

    GloVe's have a large vector in common, which makes all words similar and is taken off; its origin has no meaning.
    """
    words = wk.datasets.load_words(vectors)
    asked = {str(w).lower() for w in wk.datasets.load_analogies().X.ravel()}
    first = np.array([str(w) in asked for w in words.ids])
    order = np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])[:n]
    X = words.X[order].astype(np.float32)
    return (X - X.mean(axis=0) if vectors == "glove" else X), words.ids[order]


def describe(
    name: str, d: int, X: np.ndarray, Y: np.ndarray, tau: float, sample: int | None
) -> tuple[float, float]:
    """Δ and J of a map, printed."""
    deviation = angular_deviation(X, Y, threshold=tau, sample=sample)
    shared = jaccard(X, Y, threshold=tau, sample=sample)
    print(
        f"  d={d:<3d} {name:<8} deviation {deviation.value:6.2f}°  jaccard {shared.value:.3f}  "
        f"norm error {norm_error(X, Y).value:.1%}",
        flush=True,
    )
    return deviation.value, shared.value


def threshold_of(args: argparse.Namespace, X: np.ndarray) -> float | str:
    return args.threshold if args.threshold is not None else THRESHOLDS.get(args.data, "auto")


def draw(args: argparse.Namespace, curves: dict[str, list[tuple[float, float]]], name: str) -> None:
    for k, (what, label) in enumerate(
        (("deviation", "mean angular deviation (degrees)"), ("jaccard", "Jaccard index"))
    ):
        values = {method: [pair[k] for pair in pairs] for method, pairs in curves.items()}
        plot_by_dimension(
            args.dimensions,
            values,
            ylabel=label,
            title=name,
            path=args.out / f"tsm_{args.data}_{args.task}_{what}.png",
        )


def figures(args: argparse.Namespace) -> None:
    """Figs 2, 3, 4, 8, and 9 with --isomap."""
    X = load(args.data, args.rows)
    tau = threshold_of(args, X)
    shown = wk.TSM(random_state=0).angle_histogram(X)
    plot_angles(shown, title=f"{args.data}, {len(X)} rows", path=args.out / f"tsm_{args.data}_angles.png")
    print(
        f"{args.data} {X.shape}: 99 % of pairs lie below a cosine of {shown.threshold:.3f}, {shown.kept:.1%} of nearest above"
    )
    curves: dict[str, list[tuple[float, float]]] = {"TSM": [], "SVD": []}
    maps = []
    for d in args.dimensions:
        start = time.process_time()
        model = wk.TSM(d, threshold=tau, max_iter=args.updates, random_state=0, n_jobs=args.jobs).fit(X)
        seconds = time.process_time() - start
        curves["TSM"].append(describe("TSM", d, X, model.embedding_, model.threshold_, args.sample))
        curves["SVD"].append(describe("SVD", d, X, svd_map(X, d), model.threshold_, args.sample))
        maps.append(model.embedding_)
        fall = model.objective_ / model.objective_history_[0]
        print(
            f"        objective {fall:.2%} of its start after {args.updates} passes (fig 8); {seconds:.1f} s of processor time"
        )
    if args.isomap:
        isomap_curve(args, X, model.threshold_, maps)
    draw(args, curves, f"{args.data}, {len(X)} rows")


def folds(args: argparse.Namespace) -> None:
    """Figs 3 and 4 over folds of MNIST that share no image: means and ranges, J with and without the diagonal (eq 12)."""
    if args.quick:
        args.rows, args.folds, args.dimensions, args.updates = 2000, 2, [4, 8, 16, 32], 100
    X = wk.datasets.load_mnist().X
    stride = len(X) // args.rows
    averages: dict[tuple[str, int], float] = {}
    curves: dict[str, list[tuple[float, float]]] = {"TSM": [], "SVD": []}
    print("| dimensions | method | deviation | J without diagonal | J with diagonal (eq 12) |")
    print("|---|---|---|---|---|")
    for d in args.dimensions:
        found: dict[str, list[tuple[float, float, float]]] = {"TSM": [], "SVD": []}
        for fold in range(args.folds):
            rows = np.ascontiguousarray(X[fold::stride][: args.rows].astype(np.float32) / np.float32(255))
            model = wk.TSM(d, threshold=0.75, max_iter=args.updates, random_state=0, n_jobs=args.jobs).fit(
                rows
            )
            for name, Y in (("TSM", model.embedding_), ("SVD", svd_map(rows, d))):
                measures = [angular_deviation(rows, Y, threshold=0.75, sample=args.sample).value]
                measures += [
                    jaccard(rows, Y, threshold=0.75, diagonal=diagonal, sample=args.sample).value
                    for diagonal in (False, True)
                ]
                found[name].append(tuple(measures))
        for name, values in found.items():
            mean, spread = np.mean(values, axis=0), np.ptp(values, axis=0)
            averages[name, d] = float(mean[2])
            curves[name].append((float(mean[0]), float(mean[2])))
            print(
                f"| {d} | {name} | {mean[0]:.2f}° (range {spread[0]:.2f}) | {mean[1]:.3f} ({spread[1]:.3f}) | "
                f"{mean[2]:.3f} ({spread[2]:.3f}) |",
                flush=True,
            )
    print()
    for d in args.dimensions:
        what = f"figs 3 and 4, J of TSM over that of SVD at d = {d}, which the paper finds above 1"
        against(what, averages["TSM", d] / max(averages["SVD", d], 1e-9), 1.0)
    draw(args, curves, f"{args.folds} folds of {args.rows} images")


def table_1(args: argparse.Namespace) -> None:
    """Analogies, one of each category, that TSM completes and linear projection does not."""
    X, names = word_rows(args.vectors, args.rows)
    questions = wk.datasets.load_analogies()
    place = {str(word): i for i, word in enumerate(names)}
    model = wk.TSM(
        args.dimensions[0], max_iter=args.updates, sparsity=args.sparsity, random_state=0, n_jobs=args.jobs
    ).fit(X)
    maps = [
        Y / np.linalg.norm(Y, axis=1, keepdims=True)
        for Y in (model.embedding_, svd_map(X, args.dimensions[0]))
    ]
    kinds = np.array([questions.label_names[section] for section in questions.y])
    print("| category | analogy | TSM | SVD |")
    print("|---|---|---|---|")
    for kind in dict.fromkeys(kinds.tolist()):
        for words in questions.X[kinds == kind]:
            asked = [place.get(str(word).lower()) for word in words]
            if None in asked:
                continue
            answers = []
            for U in maps:
                wanted = U[asked[1]] - U[asked[0]] + U[asked[2]]
                near = U @ wanted
                near[asked[:3]] = -np.inf
                answers.append(int(near.argmax()))
            if answers[0] == asked[3] != answers[1]:
                a, b, c, _ = words
                print(
                    f"| {kind} | {a} : {b} = {c} : ? | {names[answers[0]]} | {names[answers[1]]} |",
                    flush=True,
                )
                break


def isomap_curve(args: argparse.Namespace, X: np.ndarray, tau: float, maps: list[np.ndarray]) -> None:
    """Appendix B, on the largest component of the similar pairs: distances of Isomap, angles of TSM and SVD."""
    whole = similarity_graph(X, tau).components()[1] == 0
    X, sample = X[whole], args.sample
    print(f"  Jaccard indices on the {len(X)} rows of the largest component")
    for d, Y in zip(args.dimensions, maps):
        isomap = distance_jaccard(X, isomap_map(X, d, tau), threshold=tau, sample=sample).value
        tsm, svd = (
            jaccard(X, some, threshold=tau, sample=sample).value for some in (Y[whole], svd_map(X, d))
        )
        print(f"  d={d:<3d} Isomap {isomap:.3f}   TSM {tsm:.3f}   SVD {svd:.3f}", flush=True)


def landmarks(args: argparse.Namespace) -> None:
    """Figs 6 and 7."""
    X = load(args.data, args.rows)
    curves: dict[str, list[tuple[float, float]]] = {"TSM/LLX": [], "SVD": []}
    for d in args.dimensions:
        start = time.process_time()
        model = wk.TSM(
            d,
            threshold=threshold_of(args, X),
            n_landmarks=args.landmarks,
            max_iter=args.updates,
            random_state=0,
            n_jobs=args.jobs,
        ).fit(X)
        print(
            f"  {len(X)} rows from {args.landmarks} landmarks: {time.process_time() - start:.1f} s of processor time"
        )
        curves["TSM/LLX"].append(describe("TSM/LLX", d, X, model.embedding_, model.threshold_, args.sample))
        curves["SVD"].append(describe("SVD", d, X, svd_map(X, d), model.threshold_, args.sample))
    print()
    for d, ours, linear in zip(args.dimensions, curves["TSM/LLX"], curves["SVD"]):
        what = f"figs 6 and 7, {args.data}, {len(X)} rows, d = {d}"
        stand_in = {"words": "GloVe's", "words100k": "GloVe's", "word2vec": "word2vec's"}.get(args.data)
        note = {"other_data": f"{stand_in} words for FastText's"} if stand_in else {}
        against(
            f"{what}, deviation of TSM/LLX over that of SVD, which the paper finds below 1",
            ours[0] / linear[0],
            1.0,
            lower=True,
            **note,
        )
        against(
            f"{what}, J of TSM/LLX over that of SVD, which the paper finds well above 1",
            ours[1] / linear[1],
            1.0,
            **note,
        )
    draw(args, curves, f"{args.data}, {len(X)} rows, {args.landmarks} landmarks")


def extension(args: argparse.Namespace) -> None:
    """Time of the extension from a fifth of the rows, part by part: neighbours, weights, linear system."""
    from winkel.data import Table
    from winkel.graph import neighbor_graph
    from winkel.methods.tsm.extension import Extension, local_weights
    from winkel.methods.tsm.extension_system import ExtensionSystem
    from winkel.methods.tsm.fit import EXTENSION_TOLERANCE
    from winkel.solvers.linear import ConjugateGradients

    X, run = load(args.data, args.rows), Run.of(random_state=0, n_jobs=args.jobs)
    marks = np.arange(0, len(X), 5)
    print("| dimensions | part | processor s | wall s |")
    print("|---|---|---|---|")
    for d in args.dimensions:
        clock = [(time.process_time(), time.perf_counter())]

        def told(part: str, clock: list[tuple[float, float]] = clock, d: int = d) -> None:
            now = time.process_time(), time.perf_counter()
            print(f"| {d} | {part} | {now[0] - clock[-1][0]:.1f} | {now[1] - clock[-1][1]:.1f} |", flush=True)
            clock.append(now)

        places = svd_map(X, d)[marks].astype(np.float64)
        clock.append((time.process_time(), time.perf_counter()))
        made = Extension.of(X, marks, 4 * d, 1e-4, run)
        start = made.start(places)
        told("start: near landmarks and their weights")
        graph = neighbor_graph(Table(X, validated=True), 4 * d, run, metric="cosine")
        index = np.asarray(graph.knn_indices)
        told(f"{4 * d} neighbours of {len(X)} rows")
        weights = local_weights(X, X, index, 1e-4, run)
        told("weights")
        system = ExtensionSystem(index, weights, made.free, start, run, single=True)
        solver = ConjugateGradients(EXTENSION_TOLERANCE, sweep=8)
        found = iterate(solver, system, start, run, max_iter=250)
        told(f"linear system, {8 * found.state.iteration} products, {found.status.word}")
        clock.append(clock[1])
        told("all")


def words(args: argparse.Namespace) -> None:
    """Fig 5."""
    X, names = word_rows(args.vectors, args.rows)
    questions = wk.datasets.load_analogies()
    kinds = np.where(questions.extras["semantic"], "semantic", "syntactic")

    def rates(Y: np.ndarray) -> dict[str, float]:
        found = complete_analogies(Y, names, questions.X, categories=kinds)
        return {kind: score.value for kind, score in found.by_category.items()}

    plain = rates(X)
    print(
        f"{len(X)} words of {args.vectors}, all {X.shape[1]} dimensions: semantic {plain['semantic']:.1%}, syntactic {plain['syntactic']:.1%}"
    )
    curves: dict[str, dict[str, list[float]]] = {kind: {"TSM": [], "SVD": []} for kind in plain}
    kept: dict[str, list[tuple[float, float]]] = {"TSM": [], "SVD": []}
    for d in args.dimensions:
        model = wk.TSM(
            d,
            max_iter=args.updates,
            threshold=args.threshold or "auto",
            sparsity=args.sparsity,
            random_state=0,
            n_jobs=args.jobs,
        ).fit(X)
        for name, Y in (("TSM", model.embedding_), ("SVD", svd_map(X, d))):
            kept[name].append(describe(name, d, X, Y, model.threshold_, args.sample))
            for kind, value in rates(Y).items():
                curves[kind][name].append(value)
                print(f"        {name} {kind} {value:.1%}", flush=True)
    print()
    note = f"{args.vectors}'s words for FastText's"
    for k, d in enumerate(args.dimensions):
        what = f"{len(X)} words of {args.vectors}, d = {d},"
        (angle, shared), (linear_angle, linear_shared) = kept["TSM"][k], kept["SVD"][k]
        against(
            f"fig 3, {what} deviation of TSM over that of SVD, which the paper finds below 1",
            angle / linear_angle, 1.0, lower=True, other_data=note,
        )  # fmt: skip
        against(
            f"fig 4, {what} J of TSM over that of SVD, which the paper finds above 1",
            shared / linear_shared, 1.0, other_data=note,
        )  # fmt: skip
        for kind, curve in curves.items():
            against(
                f"fig 5, {what} {kind} analogies of TSM",
                curve["TSM"][k],
                curve["SVD"][k],
                beside="SVD",
                other_data=note,
            )
    for kind, curve in curves.items():
        plot_by_dimension(
            args.dimensions,
            curve,
            ylabel="analogies completed",
            title=f"{kind}, {len(X)} words",
            path=args.out / f"tsm_{args.vectors}_{kind}.png",
        )


def dense_peer(
    S: Similarities, start: np.ndarray, updates: int, gamma: float = 0.9
) -> tuple[Factors, list[float]]:
    """The paper's updates on dense matrices in single precision, eigenvectors by scipy's eigsh: seconds of each update."""
    from scipy.sparse.linalg import eigsh

    n, d = S.n, start.shape[1] - 1
    similar = np.zeros((n, n), dtype=bool)
    rows = np.repeat(np.arange(n), np.diff(S.indptr))
    similar[rows, S.indices] = True
    zeros = n * n - len(S.indices)
    signed = start * np.append(np.ones(d), -1.0)

    def match(L: np.ndarray) -> np.ndarray:
        np.minimum(L, 0.0, out=L)
        L[rows, S.indices] = S.values
        delta = max(0.0, (S.total - float(L.sum(dtype=np.float64))) / zeros)
        if delta > 0:
            L[~similar] += np.float32(delta)
        return L

    Z = match((signed @ start.T).astype(np.float32))
    before = Z.copy()
    seconds, guess = [], None
    for _ in range(updates):
        begin = time.process_time()
        values, basis = eigsh(Z, k=d, which="LM", v0=guess)
        guess = basis[:, -1].copy()
        new = match(((basis * values) @ basis.T).astype(np.float32))
        before -= Z
        new -= np.float32(gamma) * before
        before, Z = Z, new
        seconds.append(time.process_time() - begin)
    values, basis = eigsh(Z, k=d, which="LM", v0=guess)
    return Factors(basis.astype(np.float64), values.astype(np.float64)), seconds


def speed(args: argparse.Namespace) -> None:
    """Time of an update and objective, against eigsh on dense matrices on the same similarities."""
    X = load(args.data, args.rows)
    tau = threshold_of(args, X)
    tau = wk.TSM(random_state=0).angle_histogram(X).threshold if tau == "auto" else float(tau)
    begin = time.process_time()
    S, rows = similarities(X, tau, Run(n_jobs=args.jobs))
    print(
        f"{args.data}: {len(X)} rows, {S.n_virtual} virtual, {S.density:.2%} similar; join {time.process_time() - begin:.1f} s"
    )
    for d in args.dimensions:
        start, problem = svd_start(rows, d, tau), Matching(S, Run(n_jobs=args.jobs))
        begin, wall = time.process_time(), time.perf_counter()
        found = iterate(QuasiNewton(), problem, start, max_iter=args.updates)
        each, wall = (time.process_time() - begin) / args.updates, (time.perf_counter() - wall) / args.updates
        print(
            f"  d={d}: winkel, {args.updates} passes: objective {found.state.objective:.5g}; {each:.3f} s of processor time a "
            f"pass, {wall:.3f} s by the clock with {args.jobs} threads",
            flush=True,
        )
        L, seconds = dense_peer(S, start, args.peer_updates)
        mean, reached = float(np.mean(seconds)), problem.objective(L)
        print(
            f"       eigsh, {args.peer_updates} updates: objective {reached:.5g}; {mean:.3f} s of processor time an update: "
            f"{mean / each:.1f} times winkel's",
            flush=True,
        )
        passes = int(np.argmax(found.history.objective <= reached)) + 1
        if found.state.objective <= reached:
            print(
                f"       winkel is as low after {passes} passes: {passes * each:.1f} s against {sum(seconds):.1f} s, "
                f"{sum(seconds) / (passes * each):.0f} times faster"
            )


def direct(args: argparse.Namespace) -> None:
    """All rows without landmarks: time and peak memory of the process."""
    X = load(args.data, args.rows)
    d = args.dimensions[0]
    start, wall = time.process_time(), time.perf_counter()
    model = wk.TSM(
        d, threshold=threshold_of(args, X), max_iter=args.updates, random_state=0, n_jobs=args.jobs
    ).fit(X)
    print(
        f"{len(X)} rows in {d} dimensions, {args.updates} passes: {time.process_time() - start:.0f} s of processor time, "
        f"{time.perf_counter() - wall:.0f} s by the clock; peak memory "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"
    )
    describe("TSM", d, X, model.embedding_, model.threshold_, args.sample)
    describe("SVD", d, X, svd_map(X, d), model.threshold_, args.sample)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = {
        "figures": figures,
        "folds": folds,
        "table1": table_1,
        "landmarks": landmarks,
        "extension": extension,
        "words": words,
        "speed": speed,
        "direct": direct,
    }
    parser.add_argument("task", choices=tasks)
    parser.add_argument(
        "--data", choices=("digits", "mnist", "words", "words100k", "word2vec"), default="mnist"
    )
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--peer-updates", type=int, default=2)
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--threshold", type=float, default=None)
    parser.add_argument(
        "--sparsity", type=float, default=0.99, help="share of pairs of words that are not similar"
    )
    parser.add_argument("--vectors", choices=("word2vec", "glove"), default="glove")
    parser.add_argument("--sample", type=int, default=None, help="rows that measures look at")
    parser.add_argument("--jobs", type=int, default=available_cores())
    parser.add_argument("--isomap", action="store_true")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="folds of few images")
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", DataWarning)
    tasks[args.task](args)


if __name__ == "__main__":
    main()
