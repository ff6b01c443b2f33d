"""K-Deep Simplex (Tasissa, Tankala, Murphy and Ba 2023): table 2 and figure 5, coding speed, and time against a network.

    python -m benchmarks.paper.kds accuracy --data moons mnist5 salinas yaleb mnist10 --seeds 5
    python -m benchmarks.paper.kds table2 --seeds 3           (all methods of table 2, the paper's rows and numbers of atoms)
    python -m benchmarks.paper.kds table2 --quick             (fewer rows; a minute)
    python -m benchmarks.paper.kds why --seeds 1              (what the paper's graph needs: atoms and codes that are not done)
    python -m benchmarks.paper.kds preparations --seeds 3     (rows of unit norm, in [0, 1] or standardized)
    python -m benchmarks.paper.kds figure7 --rows 3000        (t-SNE of the codes)
    python -m benchmarks.paper.kds figure8                    (Salinas-A as pictures)
    python -m benchmarks.paper.kds circles
    python -m benchmarks.paper.kds coding --rows 5000
    python -m benchmarks.paper.kds torch --rows 5000        (needs PyTorch)

Every figure is measured in this run; k-means, scikit-learn's sparse coding and a plain unrolled network in PyTorch stand
beside ours. Accuracy is the part of rows in the cluster that is matched to their class (Hungarian method).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import winkel as wk
from winkel.errors import DataWarning, NotConvergedWarning
from winkel.measures.classes import clustering_accuracy
from winkel.methods.kds import Coder, encode, spectral_clusters
from winkel.methods.kds.dictionary import start_atoms
from winkel.methods.kds.training import Training, train
from winkel.run import Run

from .kds_baselines import unrolled
from .record import against, save_small, small_maps

FIVE = (0, 3, 4, 6, 7)


@dataclass(frozen=True)
class Task:
    """Data of the paper with the settings that the documentation gives for it."""

    load: Callable[[int], tuple[np.ndarray, np.ndarray]]
    n_clusters: int
    n_atoms: int
    locality: float
    published: float
    n_vectors: int | None = None
    ridge: float = 0.001


def moons(seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_moons

    return make_moons(5000, noise=0.05, random_state=seed)


def images(digits: tuple[int, ...] | None) -> tuple[np.ndarray, np.ndarray]:
    """Images of some digits or of all."""
    data = wk.datasets.load_mnist()
    rows = slice(None) if digits is None else np.isin(data.y, digits)
    return data.X[rows].astype(np.float32), data.y[rows]


def mnist(digits: tuple[int, ...] | None) -> tuple[np.ndarray, np.ndarray]:
    """The same of unit norm."""
    X, y = images(digits)
    return unit(X), y


def salinas(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Spectra of the labelled places, of unit norm."""
    data = wk.datasets.load_salinas_a()
    known = data.y > 0
    return unit(data.X[known].astype(np.float32)), data.y[known]


def faces() -> tuple[np.ndarray, np.ndarray]:
    """The paper's two faces, the fifth and the ninth, under 64 lights each; every fourth pixel both ways."""
    data = wk.datasets.load_yale_b()
    two = np.isin(data.y, (5, 9))
    small = data.X[two].reshape(-1, *data.extras["image_shape"])[:, ::4, ::4]
    return small.reshape(len(small), -1).astype(np.float32), data.y[two]


def yale_b(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of unit norm."""
    X, y = faces()
    return unit(X), y


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


TASKS = {
    "moons": Task(moons, 2, 24, 1.0, 1.0),
    "mnist5": Task(lambda seed: mnist(FIVE), 5, 500, 1.0, 0.99),
    "mnist10": Task(lambda seed: mnist(None), 10, 1000, 1.0, 0.86),
    "salinas": Task(salinas, 6, 400, 0.5, 0.88, n_vectors=6, ridge=0.01),
    "yaleb": Task(yale_b, 2, 48, 0.02, 1.0),
}


def accuracy(names: list[str], n_seeds: int, rows: int | None) -> None:
    from sklearn.cluster import KMeans

    print(
        f"{'data':>10}{'n':>7}{'atoms':>7}{'KDS mean':>10}{'worst':>8}{'k-means':>9}{'worst':>8}{'paper':>7}{'seconds':>9}"
    )
    for name in names:
        task, found, means, seconds = TASKS[name], [], [], 0.0
        for seed in range(n_seeds):
            X, y = some(*task.load(seed), rows, seed)
            started = time.perf_counter()
            model = wk.KDSClustering(
                task.n_clusters,
                n_atoms=task.n_atoms,
                locality=task.locality,
                n_vectors=task.n_vectors,
                ridge=task.ridge,
                random_state=seed,
            ).fit(X)
            seconds += time.perf_counter() - started
            found.append(clustering_accuracy(y, model.labels_))
            means.append(
                clustering_accuracy(y, KMeans(task.n_clusters, n_init=3, random_state=seed).fit_predict(X))
            )
        print(
            f"{name:>10}{len(X):>7}{task.n_atoms:>7}{np.mean(found):>10.4f}{min(found):>8.4f}{np.mean(means):>9.4f}"
            f"{min(means):>8.4f}{task.published:>7.2f}{seconds / n_seeds:>9.1f}",
            flush=True,
        )


def scene() -> tuple[np.ndarray, np.ndarray]:
    """All 86 × 83 pixels of Salinas-A as in the paper; those without a crop have the label 0."""
    data = wk.datasets.load_salinas_a()
    return data.X.astype(np.float32), data.y


def all_salinas(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of unit norm."""
    X, y = scene()
    return unit(X), y


# Rows, clusters, atoms and λ of the paper (appendix .3, tables 3 and 4), and the accuracies of its table 2. Salinas-A has six
# crops and k = 6; accuracy is over the pixels that have one.
PAPER = {
    "moons": (moons, 2, 24, 5.0, 5000, {"k-means": 0.75, "SMCE": 0.88, "KDS": 1.0, "LLLE-U": 0.907, "LLLE-K": 0.910, "LSC": 0.87}),
    "mnist5": (lambda seed: mnist(FIVE), 5, 500, 0.5, 5000, {"k-means": 0.91, "SMCE": 0.94, "KDS": 0.99, "LLLE-U": 0.97, "LLLE-K": 0.96, "LSC": 0.51}),
    "yaleb": (yale_b, 2, 64, 0.5, 128, {"k-means": 0.51, "SMCE": 1.0, "KDS": 1.0, "LSC": 0.91}),
    "salinas": (all_salinas, 6, 600, 2.0, 7138, {"k-means": 0.80, "SMCE": 0.85, "KDS": 0.88, "LLLE-U": 0.292, "LLLE-K": 0.285, "LSC": 0.28}),
}  # fmt: skip


# Layers of the encoder and epochs of Adam (appendix .3), which prints Salinas-A's twice and Yale B's not at all: here as MNIST-5's.
NETWORK = {"moons": (15, 1000), "mnist5": (100, 15), "yaleb": (100, 15), "salinas": (100, 30)}


def as_printed(
    locality: float, layers: int, epochs: int, X: np.ndarray, k: int, m: int, seed: int
) -> np.ndarray:
    """Labels by section 6 with the paper's network: rows at random as atoms, a step of Adam an epoch, the encoder's codes."""
    model = wk.KDSClustering(
        k, n_atoms=m, locality=locality, init="random", training="gradient", max_iter=epochs, random_state=seed, n_jobs=1
    ).fit(X)  # fmt: skip
    codes = unrolled(X, model.atoms_, locality, layers, printed=True)
    return spectral_clusters(sp.csr_array(codes), k, seed, graph="paper").labels


def table_2(names: list[str], n_seeds: int, quick: bool) -> None:
    """Every method of table 2 on the paper's rows, at its numbers of atoms; KDS as in the paper, and at our defaults."""
    from benchmarks.paper import kds_baselines as peers

    methods = {
        "k-means": peers.k_means,
        "SMCE": peers.smce,
        "LLLE-U": peers.llle,
        "LLLE-K": partial(peers.llle, by="k-means"),
        "LSC": peers.lsc,
    }
    print("| data | rows | method | mean | worst | paper | seconds |")
    print("|---|---|---|---|---|---|---|")
    verdicts = []
    for name in names:
        load, k, m, locality, n, published = PAPER[name]
        n, m = (min(n, 1500), min(m, 150)) if quick else (n, m)
        ours = {
            "KDS, the paper's m, λ and graph": {"n_atoms": m, "locality": locality, "graph": "paper"},
            "KDS, the paper's m and λ": {"n_atoms": m, "locality": locality},
            "KDS, defaults": {},
        }
        printed = partial(as_printed, locality, *NETWORK[name])
        tasks: dict[str, Any] = {**ours, "KDS, the paper's network and graph": printed, **methods}
        for label, task in tasks.items():
            found, seconds = [], 0.0
            for seed in range(n_seeds):
                X, y = some(*load(seed), n, seed)
                started = time.process_time()
                if isinstance(task, dict):
                    labels = wk.KDSClustering(k, random_state=seed, n_jobs=1, **task).fit_predict(X)
                else:
                    labels = task(X, k, m, seed)
                seconds += time.process_time() - started
                known = y > 0 if name == "salinas" else slice(None)
                found.append(clustering_accuracy(y[known], labels[known]))
            if label.startswith("KDS"):
                verdicts.append(
                    (f"table 2, {name}, {len(X)} rows, {label}", float(np.mean(found)), published["KDS"])
                )
            print(
                f"| {name} | {len(X)} | {label} | {np.mean(found):.3f} | {min(found):.3f} | "
                f"{published.get(label.split(',')[0], 'none')} | {seconds / n_seeds:.1f} |",
                flush=True,
            )
    print()
    for what, ours, paper in verdicts:
        against(what, ours, paper)


def why(names: list[str], n_seeds: int, quick: bool) -> None:
    """The paper's graph by atoms that are trained less or more, and by codes of its encoder or the best ones."""
    print("| data | atoms | codes | atoms a row | pieces | paper's graph | links |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        load, k, m, locality, n, _ = PAPER[name]
        n, m = (min(n, 1500), min(m, 150)) if quick else (n, m)
        layers, epochs = NETWORK[name]
        trainings = {
            "one step of Adam": {"training": "gradient", "max_iter": 1},
            f"{epochs} steps of Adam": {"training": "gradient", "max_iter": epochs},
            "trained to the end": {},
        }
        for how, training in trainings.items():
            found: dict[str, list[tuple[float, ...]]] = {}
            for seed in range(n_seeds):
                X, y = some(*load(seed), n, seed)
                known = y > 0 if name == "salinas" else slice(None)
                model = wk.KDSClustering(
                    k, n_atoms=m, locality=locality, init="random", random_state=seed, n_jobs=1, **training
                ).fit(X)
                atoms = model.atoms_
                for label, codes in {
                    f"{layers} layers, η as printed": unrolled(X, atoms, locality, layers, printed=True),
                    f"{layers} layers": unrolled(X, atoms, locality, layers, printed=False),
                    "the best": model.codes_,
                }.items():
                    graph = sp.csr_array(codes)
                    pieces, _ = sp.csgraph.connected_components(graph.T @ graph, directed=False)
                    rates = [
                        clustering_accuracy(
                            y[known], spectral_clusters(graph, k, seed, graph=kind).labels[known]
                        )
                        for kind in ("paper", "links")
                    ]
                    found.setdefault(label, []).append((graph.nnz / len(X), pieces, *rates))
            for label, values in found.items():
                used, pieces, paper, links = np.mean(values, axis=0)
                print(
                    f"| {name}, {len(X)} | {how} | {label} | {used:.1f} | {pieces:.0f} | {paper:.3f} | {links:.3f} |",
                    flush=True,
                )


def standardized(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


def by_column(X: np.ndarray) -> np.ndarray:
    width = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(width > 0, width, 1)


# Appendix .1 has three preparations, and its tables the best of them; [0, 1] can be read in two ways.
PREPARATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "unit norm": unit,
    "in [0, 1] together": lambda X: (X - X.min()) / np.ptp(X),
    "in [0, 1] by column": by_column,
    "standardized": standardized,
}
# Rows as they are, and λ: the paper's, or where it has none some about those of other data.
PREPARED: dict[str, tuple[Callable[[], tuple[np.ndarray, np.ndarray]], tuple[float, ...]]] = {
    "mnist5": (lambda: images(FIVE), (0.5,)),
    "yaleb": (faces, (0.02, 0.1, 0.5, 2.0)),
    "salinas": (scene, (2.0,)),
}


def preparations(names: list[str], n_seeds: int, quick: bool) -> None:
    """KDS by preparation of the rows, which the paper chose by its labels: the best codes and the network's, by both graphs."""
    print("| data | rows | λ | codes | atoms a row | paper's graph, mean | best | links, mean | best |")
    print("|---" * 9 + "|")
    top: dict[tuple[str, str], float] = {}
    for name in names:
        load, localities = PREPARED[name]
        _, k, m, _, n, _ = PAPER[name]
        n, m = (min(n, 1500), min(m, 150)) if quick else (n, m)
        layers, epochs = NETWORK[name]
        rows, labels = load()
        for (how, prepare), locality in product(PREPARATIONS.items(), localities):
            found: dict[str, list[tuple[float, float, float]]] = {}
            for seed in range(n_seeds):
                X, y = some(prepare(rows), labels, n, seed)
                known = y > 0 if name == "salinas" else slice(None)
                fit = partial(wk.KDSClustering, k, n_atoms=m, locality=locality, random_state=seed, n_jobs=1)
                atoms = fit(init="random", training="gradient", max_iter=epochs).fit(X).atoms_
                for label, codes in {
                    "the best": fit().fit(X).codes_,
                    f"{layers} layers, η as printed": unrolled(X, atoms, locality, layers, printed=True),
                }.items():
                    graph = sp.csr_array(codes)
                    made = [
                        spectral_clusters(graph, k, seed, graph=kind).labels for kind in ("paper", "links")
                    ]
                    rates = [clustering_accuracy(y[known], clusters[known]) for clusters in made]
                    found.setdefault(label, []).append((graph.nnz / len(X), *rates))
            for label, values in found.items():
                used, paper, links = np.mean(values, axis=0)
                _, best, best_links = np.max(values, axis=0)
                print(
                    f"| {name}, {len(X)} | {how} | {locality:g} | {label} | {used:.1f} | {paper:.3f} | {best:.3f} | "
                    f"{links:.3f} | {best_links:.3f} |",
                    flush=True,
                )
                for kind, rate in (("the paper's graph", paper), ("ours", links)):
                    top[name, kind] = max(top.get((name, kind), 0.0), float(rate))
    print()
    for (name, kind), rate in top.items():
        what = f"table 2, {name}, KDS by {kind}, the best preparation, λ and codes, mean of {n_seeds} seeds"
        against(what, rate, PAPER[name][5]["KDS"])


def some(X: np.ndarray, y: np.ndarray, rows: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if rows is None or rows >= len(X):
        return X, y
    chosen = np.sort(np.random.Generator(np.random.Philox(key=seed)).choice(len(X), rows, replace=False))
    return X[chosen], y[chosen]


def figure_7(rows: int, out: Path) -> None:
    """Fig 7: t-SNE of the codes of MNIST, all digits."""
    X, y = some(*mnist(None), rows, 0)
    model = wk.KDSClustering(10, random_state=0).fit(X)
    Y = wk.TSNE(random_state=0).fit_transform(model.codes_)
    near = wk.graph.knn(np.ascontiguousarray(Y), 10).knn_indices
    right = np.mean([np.bincount(y[row]).argmax() == own for row, own in zip(near, y)])
    print(
        f"{len(X)} images of ten digits by {model.codes_.shape[1]} atoms: ten neighbours on the t-SNE map of the codes tell {right:.3f} of the "
        f"digits. Clusters: accuracy {clustering_accuracy(y, model.labels_):.3f}, paper 0.86 on all 70 000.\n"
    )
    against(
        "fig 7, MNIST-10 clusters",
        clustering_accuracy(y, model.labels_),
        0.86,
        other_data="" if len(X) == 70_000 else f"{len(X)} of 70 000 images",
    )
    small_maps({"t-SNE of the codes": Y}, out / "kds-figure7.png", labels=y)


def figure_8(out: Path, n_seeds: int) -> None:
    """Fig 8: Salinas-A, mean of the bands, crops, and clusters at the defaults and with the paper's m and λ."""
    import matplotlib.pyplot as plt

    X, y = all_salinas(0)
    shape = wk.datasets.load_salinas_a().extras["image_shape"][:2]
    ways = {"clusters, defaults": {}, "clusters, the paper's m and λ": {"n_atoms": 600, "locality": 2.0}}
    labels = {}
    for name, how in ways.items():
        found = [wk.KDSClustering(6, random_state=seed, **how).fit_predict(X) for seed in range(n_seeds)]
        rates = [clustering_accuracy(y[y > 0], labels_of[y > 0]) for labels_of in found]
        against(f"fig 8, Salinas-A, {name}, mean of {n_seeds} seeds", float(np.mean(rates)), 0.88)
        print(f"Salinas-A, {name}, by seed: " + ", ".join(f"{rate:.3f}" for rate in rates) + ".\n")
        labels[name] = found[0]
    raw = np.asarray(wk.datasets.load_salinas_a().X, dtype=float).mean(axis=1)
    figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
    for ax, (name, values) in zip(
        axes, {"mean of bands": raw, "crops": np.unique(y, return_inverse=True)[1], **labels}.items()
    ):
        ax.imshow(
            np.asarray(values).reshape(shape),
            cmap="viridis" if name == "mean of bands" else "tab10",
            interpolation="nearest",
        )
        ax.set(title=name, xticks=[], yticks=[])
        ax.title.set_fontsize(8)
    save_small(figure, out / "kds-figure8.png")


def circles() -> None:
    """Accuracy over separation and number of atoms (figure 5)."""
    atoms = (12, 24, 48, 96)
    draw = np.random.Generator(np.random.Philox(key=0))
    print(f"{'separation':>12}" + "".join(f"{f'm={m}':>8}" for m in atoms))
    for separation in (0.5, 0.3, 0.2, 0.1):
        angle, inner = draw.uniform(0, 2 * np.pi, size=2000), np.arange(2000) % 2
        X = (1 - separation * inner)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        line = f"{separation:>12}"
        for m in atoms:
            labels = wk.KDSClustering(2, n_atoms=m, locality=0.2, random_state=0).fit_predict(X)
            line += f"{clustering_accuracy(inner, labels):>8.3f}"
        print(line, flush=True)


def coding(rows: int) -> None:
    """Rows a second by 500 atoms: coding alone, and one walk of dictionary learning; ours and scikit-learn's.

    Ours are optimal on the simplex. scikit-learn gets a tenth of the rows, for it is slower.
    """
    from sklearn.decomposition import MiniBatchDictionaryLearning, sparse_encode

    X, _ = some(*mnist(FIVE), rows, 0)
    atoms = start_atoms(X, 500, "kmeans++", Run())
    for method in ("projected_gradient", "frank_wolfe"):
        seconds, ours = timed(partial(encode, X, atoms, Coder(1.0, method), Run(n_jobs=2)))
        speed(f"winkel {method}", len(X), seconds, ours.matrix.nnz / len(X))
    few = X[: max(1, rows // 10)].astype(
        np.float64
    )  # scikit-learn's lasso does not converge in single precision
    unit_atoms = unit(atoms)
    for algorithm, settings in (
        ("lasso_lars", {"alpha": 0.1}),
        ("lasso_cd", {"alpha": 0.1}),
        ("omp", {"n_nonzero_coefs": 5}),
    ):
        seconds, codes = timed(
            partial(sparse_encode, few, unit_atoms, algorithm=algorithm, n_jobs=2, **settings)
        )
        speed(f"scikit-learn {algorithm}", len(few), seconds, (codes != 0).sum() / len(few))
    walk = Training(500, Coder(1.0), "minibatch", atoms, batch_size=4096, max_iter=1, tol=1e-4)
    seconds, found = timed(partial(train, X, walk, Run(n_jobs=2)))
    ours = encode(few, found.atoms, Coder(1.0))
    speed("winkel, a walk of training", len(X), seconds, ours.matrix.nnz / len(few))
    learner = MiniBatchDictionaryLearning(
        500,
        alpha=0.1,
        max_iter=1,
        dict_init=unit_atoms,
        fit_algorithm="cd",
        transform_algorithm="lasso_cd",
        transform_alpha=0.1,
        n_jobs=2,
        random_state=0,
    )
    seconds, _ = timed(partial(learner.fit, few))
    speed("MiniBatchDictionaryLearning", len(few), seconds, (learner.transform(few) != 0).sum() / len(few))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that `work` takes, and what it returns."""
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def speed(name: str, n: int, seconds: float, atoms: float) -> None:
    print(f"{name:>28}{n / seconds:>12.0f} rows a second{atoms:>8.2f} atoms a row", flush=True)


def against_torch(rows: int | None, n_atoms: int, layers: int, epochs: int) -> None:
    """Time to the same objective: exact alternating training, and an unrolled network trained by Adam."""
    import torch

    from winkel.torch import KDSEncoder

    X, y = some(*mnist(FIVE), rows, 0)
    started = time.perf_counter()
    model = wk.KDSClustering(5, n_atoms=n_atoms, locality=1.0, random_state=0).fit(X)
    ours = time.perf_counter() - started
    print(
        f"winkel: {len(X)} rows, {n_atoms} atoms, objective {model.objective_:.4f}, accuracy "
        f"{clustering_accuracy(y, model.labels_):.4f}, {ours:.1f} s for training and clustering",
        flush=True,
    )
    network = KDSEncoder(start_atoms(X, n_atoms, "kmeans++", Run()), locality=1.0, n_layers=layers)
    spent = 0.0
    for epoch in range(epochs):
        started = time.perf_counter()
        network.fit(X, n_epochs=1, batch_size=256, learning_rate=3e-3, random_state=epoch)
        spent += time.perf_counter() - started
        with torch.no_grad():
            parts = torch.as_tensor(X).split(2048)
            objective = sum(float(network.loss(part)) * len(part) for part in parts) / len(X)
        print(
            f"torch, {layers} layers: epoch {epoch + 1}, objective {objective:.4f}, {spent:.1f} s", flush=True
        )
        if objective <= 1.01 * model.objective_ or spent > 20 * ours:
            break
    reached = "reached" if objective <= 1.01 * model.objective_ else "not reached"
    print(f"the same objective (within 1 %) was {reached}; ours took {ours / spent:.3f} of that time")


def gradient_training(rows: int | None) -> None:
    """Objective of the three ways to train, on the same rows."""
    X, _ = some(*mnist(FIVE), rows, 0)
    for training, steps in (("alternating", 50), ("minibatch", 15), ("gradient", 60)):
        started = time.perf_counter()
        settings = Training(200, Coder(1.0), training, "kmeans++", batch_size=4096, max_iter=steps, tol=1e-4)
        found = train(X, settings, Run(n_jobs=2))
        seconds = time.perf_counter() - started
        print(
            f"{training:>12}: objective {found.objective:.4f}, {found.history.n_rows - 1} walks, {seconds:.1f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what",
        choices=(
            "accuracy",
            "table2",
            "why",
            "preparations",
            "figure7",
            "figure8",
            "circles",
            "coding",
            "torch",
            "training",
        ),
    )
    parser.add_argument("--data", nargs="+", choices=list(TASKS), default=None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=None, help="use so many rows, drawn at random")
    parser.add_argument("--atoms", type=int, default=500)
    parser.add_argument("--layers", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="table2, why and preparations on fewer rows")
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    given = parser.parse_args()
    warnings.simplefilter("ignore", NotConvergedWarning)
    warnings.simplefilter("ignore", DataWarning)
    if given.what == "accuracy":
        accuracy(given.data or ["moons"], given.seeds, given.rows)
    elif given.what == "table2":
        table_2(given.data or list(PAPER), given.seeds, given.quick)
    elif given.what == "why":
        why(given.data or list(PAPER), given.seeds, given.quick)
    elif given.what == "preparations":
        preparations(given.data or list(PREPARED), given.seeds, given.quick)
    elif given.what == "figure7":
        figure_7(given.rows or 3000, given.out)
    elif given.what == "figure8":
        figure_8(given.out, given.seeds)
    elif given.what == "circles":
        circles()
    elif given.what == "coding":
        coding(given.rows or 5000)
    elif given.what == "torch":
        against_torch(given.rows, given.atoms, given.layers, given.epochs)
    else:
        gradient_training(given.rows)


if __name__ == "__main__":
    main()
