"""Table 7.1 of the MDE paper: quadratic problems after 40 iterations against their eigenvalue solution.

    python -m benchmarks.paper.mde                # six instances, seconds
    python -m benchmarks.paper.mde --items 100000 # all nine, minutes

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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=10_000, help="the largest n (default: %(default)s)")
    options = parser.parse_args()
    print("|       n |       p |   m | 40 iterations s | E(Y40) | E(Y*) | gap % |")
    print("| ------: | ------: | --: | --------------: | -----: | ----: | ----: |")
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
            print(
                f"| {n:7} | {10 * n:7} | {m:3} | {seconds:15.2f} | {found:6.4g} | {best:5.4g} | {gap:5.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
