"""Into how many pieces the default map puts each digit of MNIST, by the schedule that leads up to it.

    python -m benchmarks.gathering [--rows 20000 35000 70000]

A schedule is what repulsion there is at its first stage, for which share of the iterations, between which mid-near pairs attract then
(all, or those between two pieces of the neighbour graph), and whether islands of the map are moved at the end. Rows are drawn at random (50 principal components of all 70 000). A piece of a digit are
its rows that are nearer to each other than twice the median distance to their tenth neighbour of the same digit; those with at least 2 % of the
digit count. Labels decide nothing but this count.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import winkel as wk
from winkel.methods.mde import plan

from .datasets import mnist_components, mnist_labels

SCORES = ("neighbor_recall", "rnx_auc", "distance_correlation")
LEAST = 0.02  # of a digit's rows, that count as a piece
# The first stage's repulsion and share of the iterations; whether all mid-near pairs attract at it; whether islands are moved.
FIRST = (plan.CAUCHY_STAGES[0].share, plan.CAUCHY_STAGES[0].iterations)
SCHEDULES = {
    "default": (*FIRST, False, True),
    "default, islands not moved": (*FIRST, False, False),
    "default, all mid-near pairs": (*FIRST, True, True),
    "more repulsion, shorter": (0.001, 0.15, False, True),
}


def pieces(Y: np.ndarray, labels: np.ndarray) -> list[int]:
    """Of each class, how many pieces it lies in on the map."""
    found = []
    for label in np.unique(labels):
        of_class = Y[labels == label]
        tree = cKDTree(of_class)
        reach = 2 * np.median(tree.query(of_class, k=11)[0][:, 10])
        pairs, n = tree.query_pairs(reach, output_type="ndarray"), len(of_class)
        links = csr_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        sizes = np.bincount(connected_components(links, directed=False)[1])
        found.append(int(np.sum(sizes >= LEAST * n)))
    return found


@contextmanager
def schedule(name: str) -> Iterator[None]:
    """The default's schedule replaced by another one."""
    share, iterations, every_pair, moved = SCHEDULES[name]
    stages, pieces_of, arranging = plan.CAUCHY_STAGES, plan.component_roots, plan.arranging
    first = replace(stages[0], share=share, iterations=iterations)
    plan.CAUCHY_STAGES = (first, *(replace(stage, weight=0.0) for stage in stages[1:]))
    if every_pair:  # each row a piece of its own
        plan.component_roots = lambda graph: np.arange(graph.n, dtype=np.int32)
    if not moved:
        plan.arranging = lambda *_: ()
    try:
        yield
    finally:
        plan.CAUCHY_STAGES, plan.component_roots, plan.arranging = stages, pieces_of, arranging


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="*", default=[20_000, 20_000, 35_000, 35_000, 70_000])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = mnist_components(), mnist_labels()
    print("| rows | schedule | pieces of 0 to 9 | objective | recall 15 | R_NX AUC | distance correlation |")
    print("| ---: | --- | --- | ---: | ---: | ---: | ---: |")
    for draw, n in enumerate(options.rows):
        rows = np.sort(np.random.Generator(np.random.Philox(key=draw)).permutation(len(X))[:n])
        for name in SCHEDULES:
            with schedule(name):
                model = wk.MDE(random_state=0).fit(X[rows])
            found = wk.measure(X[rows], model, scores=list(SCORES), baseline=False, sample=1000)
            each = " ".join(map(str, pieces(model.embedding_.astype(np.float64), y[rows])))
            values = " | ".join(f"{found[score].value:.3f}" for score in SCORES)
            print(f"| {n} | {name} | {each} | {model.result_.objective:.4f} | {values} |", flush=True)


if __name__ == "__main__":
    main()
