"""Neighbour graphs and whole maps of one build against those of another.

    python -m benchmarks.builds OTHER [THIS]     # folders that hold the packages, such as src of a tree in which `make core` ran

Either build in turn, in fresh processes on one thread, counting processor time; the least of all rounds stands. Methods run at
parameters that both builds have, with a number of iterations that is given, so that what is compared is what an iteration costs and not
how many a default makes. Written to results/builds.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .headroom import RESULTS, THIS, compare, where

DATA = """
import warnings
import winkel as wk
warnings.simplefilter("ignore")
basis = rng.normal(size=(12, 50)) / 7
group = rng.integers(0, 20, 12_000)
X = ((rng.normal(size=(20, 12)) * 2)[group] + rng.normal(size=(12_000, 12))) @ basis + 0.05 * rng.normal(size=(12_000, 50))
X = X.astype(np.float32)
"""
ITERATIONS = """
n, p, m = 100_000, 1_000_000, {m}
edges = np.unique(np.sort(rng.integers(0, n, (p, 2)), axis=1), axis=0)
edges = edges[edges[:, 0] != edges[:, 1]]
signs = np.where(np.arange(len(edges)) % 2 == 1, 1.0, -1.0).astype(np.float32)
{choice}
problem = wk.Problem(edges, function, n_items=n, n_components=m, constraint=constraint, n_jobs=1)
Y = rng.normal(size=(n, m))
Y -= Y.mean(axis=0)
Y = (np.linalg.qr(Y)[0] * np.sqrt(n)).astype(np.float32)
spent(lambda: problem.solve(Y, max_iter=40, tol=0.0, solver="lbfgs"), 1)
"""
QUADRATIC = "function, constraint = wk.penalties.Quadratic(), wk.Standardized()"
PUSH = "function, constraint = wk.penalties.PushAndPull(signs), wk.Centered()"
ITEMS = {
    "40 iterations, quadratic, a million pairs in 2 dimensions": ITERATIONS.format(m=2, choice=QUADRATIC),
    "40 iterations, push and pull, a million pairs in 2 dimensions": ITERATIONS.format(m=2, choice=PUSH),
    "40 iterations, quadratic, a million pairs in 10 dimensions": ITERATIONS.format(m=10, choice=QUADRATIC),
    "approximate neighbours, 60 000 x 50": "X = np.concatenate([X + 0.05 * rng.normal(size=X.shape).astype(np.float32) for _ in range(5)])\n"
    "spent(lambda: wk.graph.knn(X, 15, method='approximate', n_jobs=1, random_state=0), 1)",
    "exact neighbours, 12 000 x 50": "spent(lambda: wk.graph.knn(X, 15, method='exact', n_jobs=1), 2)",
    "approximate neighbours, 12 000 x 50": "spent(lambda: wk.graph.knn(X, 15, method='approximate', n_jobs=1, random_state=0), 2)",
    "TSM, 3 000 rows, 8 dimensions": "spent(lambda: wk.TSM(8, max_iter=20, tol=0, n_jobs=1, random_state=0).fit(X[:3000]), 1)",
    "LVM, 3 000 rows": "spent(lambda: wk.LVM(max_iter=30, n_jobs=1, random_state=0).fit(X[:3000]), 1)",
    "KDS, 4 000 rows, 60 atoms": "spent(lambda: wk.KDS(n_atoms=60, max_iter=10, n_jobs=1, random_state=0).fit(X[:4000]), 1)",
    "two-kernel LLE, 4 000 rows": "spent(lambda: wk.AttractRepel(objective='lle', max_iter=50, n_jobs=1, random_state=0).fit(X[:4000]), 1)",
    "t-SNE, 4 000 rows": "spent(lambda: wk.AttractRepel(objective='tsne', max_iter=50, n_jobs=1, random_state=0).fit(X[:4000]), 1)",
    "PCA as two forces, 4 000 rows": "spent(lambda: wk.AttractRepel(objective='pca', max_iter=50, n_jobs=1, random_state=0).fit(X[:4000]), 1)",
    "MDE, the default, 12 000 rows": "spent(lambda: wk.MDE(n_jobs=1, random_state=0).fit(X), 1)",
    "MDE of distances, 1 000 rows": "spent(lambda: wk.MDE(preserve='distances', max_iter=50, n_jobs=1, random_state=0).fit(X[:1000]), 1)",
    "measures of a map, 4 000 rows": "Y = X[:4000, :2].copy()\nspent(lambda: wk.measure(X[:4000], Y, n_jobs=1), 1)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("this", nargs="?", type=Path, default=THIS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="items whose name holds this")
    parser.add_argument("--names", nargs=2, default=("other", "this"), help="what the page calls the builds")
    options = parser.parse_args()
    items = {name: DATA + program for name, program in ITEMS.items()}
    found = compare(options.other, options.this, options.rounds, items, options.only)
    lines = [f"| {name} | {a:.2f} | {b:.2f} | {b / a:.2f} |" for name, a, b in found]
    old, new = options.names
    text = (
        f"# Whole maps by two builds\n\n{where()}.\n\nSeconds of processor time on one thread, the least of {options.rounds} rounds of "
        f"either build in turn (`python -m benchmarks.builds OTHER`).\n\n| | {old} | {new} | ratio |\n|---|---|---|---|\n"
        + "\n".join(lines)
        + "\n"
    )
    (RESULTS / "builds.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
