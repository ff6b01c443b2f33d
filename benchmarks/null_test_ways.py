"""Other ways to call a cluster "not by chance" than that of `wk.null_test`, on the cases of null_test_size.py.

    python -m benchmarks.null_test_ways [--only TEXT] [--sets 30] [--repeats 19]

One line a case: the share of data sets in which any cluster is called, by

- ranks: Westfall and Young's minima of p, as `wk.null_test` has it;
- maxima: clearer than all that the maps of chance hold at its size;
- studentised: the same, each clarity less its mean and by its deviation over all maps, that of the data among them;
- both nulls: by the maxima of two nulls, "local" and "spread", and farther than MARGIN deviations above the mean of either;
- and columns: the same, with "permutation" as the second null.

"spread" has principal components that are independent, each distributed as the unimodal fit of that of the data: it has the data's length
and tails and no valleys, where "local" has the dimension of neighbourhoods. All of these were looked at to choose MARGIN; nothing here is
validated on cases that played no part.
"""

from __future__ import annotations

import argparse
import warnings
from datetime import date

import numpy as np
from sklearn.isotonic import isotonic_regression

import winkel as wk
from winkel.data import Table, as_table
from winkel.measures.density import density_clusters
from winkel.measures.null_test import _NULLS, _clearest, _mapped
from winkel.run import Run

from .null_test_size import CASES, FRESH

MARGIN = 2.5
_LEAST, _BINS, _NEIGHBORS = 0.3, 40, 15


def unimodal(x):
    """Cumulative shares and places between which the unimodal fit of a sample, by likelihood, is even."""
    bins = min(_BINS, max(2, len(x) // 5))
    ends = np.quantile(x, np.linspace(0, 1, bins + 1))
    width = np.maximum(np.diff(ends), 1e-9 * (ends[-1] - ends[0]))
    density = 1 / (bins * width)
    fits = [
        np.concatenate([
            isotonic_regression(density[: mode + 1], sample_weight=width[: mode + 1]),
            isotonic_regression(density[mode + 1 :], sample_weight=width[mode + 1 :], increasing=False)
            if mode + 1 < bins else density[:0],
        ])
        for mode in range(bins)
    ]  # fmt: skip
    share = max(fits, key=lambda fit: np.log(fit).sum()) * width
    places = np.concatenate([[ends[0]], ends[0] + np.cumsum(width)])
    return np.concatenate([[0], np.cumsum(share / share.sum())]), places


def spread(table, k, run):
    """Rows of independent principal components without valleys."""
    X = table.values
    mean = X.mean(axis=0, dtype=np.float64)
    _, sizes, axes = np.linalg.svd(X - mean, full_matrices=False)
    axes = axes[sizes > 1e-12 * sizes[0]]
    places, even = (X - mean) @ axes.T, np.linspace(0, 1, 1002)[1:-1]
    laws = []
    for component in places.T:
        shares, ends = unimodal(component)
        drawn = np.interp(even, shares, ends)
        laws.append((shares, (ends - drawn.mean()) * component.std() / drawn.std()))

    def make(stream):
        draws = stream.uniform((len(X), len(laws)))
        Z = np.stack([np.interp(draw, *law) for draw, law in zip(draws.T, laws)], axis=1)
        return (Z @ axes + mean).astype(X.dtype)

    return make


NULLS = {"local": _NULLS["local"], "spread": spread, "permutation": _NULLS["permutation"]}


def by_ranks(clarity, null):
    pool = np.vstack([clarity, null])
    p = (pool[:, None] <= pool[None]).mean(axis=1).min(axis=1)
    return (p <= p[0]).mean() <= 0.05


def by_studentised(clarity, null):
    pool = np.vstack([clarity, null])
    largest = ((pool - pool.mean(axis=0)) / (pool.std(axis=0) + 1e-12)).max(axis=1)
    return largest[0] > largest[1:].max()


def above(clarity, null, margin):
    """Which clusters are clearer than all of chance, and by how much."""
    far = clarity - null.mean(axis=0) > margin * null.std(axis=0, ddof=1)
    return far & (clarity > null.max())


def called(X, seed, repeats):
    """Whether any cluster is called, by each way."""
    table, run = as_table(X, allow_sparse=False, min_rows=4), Run.of(random_state=seed, n_jobs=1)
    estimator = wk.MDE(repulsive="log", max_iter=25, n_jobs=1)
    found = density_clusters(_mapped(estimator, table, _NEIGHBORS, run)[0], _NEIGHBORS, _LEAST, run)
    null = {}
    for name, of in NULLS.items():
        make, maps = of(table, _NEIGHBORS, run), []
        for b in range(repeats):
            data = Table(make(run.stream(f"null {b}")), validated=True)
            hills = density_clusters(_mapped(estimator, data, _NEIGHBORS, run)[0], _NEIGHBORS, 0.0, run)
            maps.append(_clearest(hills, found.mass))
        null[name] = np.array(maps)
    c, local = found.clarity, null["local"]
    far = {name: above(c, chance, MARGIN) for name, chance in null.items()}
    return (
        by_ranks(c, local), above(c, local, 0.0).any(), by_studentised(c, local),
        (far["local"] & far["spread"]).any(), (far["local"] & far["permutation"]).any(),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=19)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{date.today()}: {options.sets} data sets each, {options.repeats} maps of chance of each null, margin {MARGIN:g}\n"
    )
    print("| data | ranks | maxima | studentised | both nulls | and columns |\n|---|---|---|---|---|---|")
    for cases, rows in ((CASES, 120), (FRESH, 200)):
        for name, make in cases.items():
            if options.only not in name:
                continue
            found = [
                called(make(np.random.default_rng(k), rows), k, options.repeats) for k in range(options.sets)
            ]
            print(
                f"| {name} |", " | ".join(f"{share:.2f}" for share in np.mean(found, axis=0)), "|", flush=True
            )


if __name__ == "__main__":
    main()
