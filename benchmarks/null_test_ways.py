"""Other ways to call a cluster "not by chance" than that of `wk.null_test`, on the cases of null_test_size.py.

    python -m benchmarks.null_test_ways [--cases first|fresh|unseen] [--only TEXT] [--ways WAYS] [--sets 30] [--rows 200] [--repeats 19]

One line a case: the share of data sets in which any cluster is called, by

- ranks: Westfall and Young's minima of p, as `wk.null_test` has it;
- maxima: clearer than all that maps of the same null hold at its size;
- spread: the same against independent principal components, each distributed as the unimodal fit of that of the data: they have its
  length and tails and no valleys, but the dimension of the whole;
- long: the same against independent coordinates that are distributed as unimodal fits of the data's, unrolled along shortest paths, and
  shrunk until neighbourhoods have the spectrum that those of the data have: dimension, length and tails in one null;
- all: by the last three.

"long" was made in view of the first and the fresh cases, in ten steps of shrinking, and tried on the unseen ones; after that it got thirty.
"""

from __future__ import annotations

import argparse
import warnings
from datetime import date

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial.distance import pdist, squareform
from sklearn.isotonic import isotonic_regression

from winkel.data import Table, as_table
from winkel.graph.graph import require_neighbor_lists
from winkel.graph.knn import neighbor_graph
from winkel.measures.density import density_clusters
from winkel.measures.null_test import _NULLS, _clearest, _local, _mapped
from winkel.run import Run

from .null_test_size import CASES, estimator

_LEAST, _NEIGHBORS, _LEVEL = 0.3, 15, 0.05
_BINS, _PATHS = 40, 5


def unimodal(x):
    """Cumulative shares and places between which the unimodal fit of a sample, by likelihood, is even; mean 0, variance 1."""
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
    share /= share.sum()
    places = np.concatenate([[0.0], np.cumsum(width)])
    middle = (places[1:] + places[:-1]) / 2
    mean = (share * middle).sum()
    variance = (share * (np.square(middle - mean) + np.square(width) / 12)).sum()
    return np.concatenate([[0.0], np.cumsum(share)]), (places - mean) / np.sqrt(variance)


def drawn(stream, n, laws, m):
    """Rows of m independent coordinates of variance 1, the first by these laws, the others normal."""
    rows, even = stream.normal((n, m)), stream.uniform((n, len(laws)), start=n * m)
    for j, law in enumerate(laws):
        rows[:, j] = np.interp(even[:, j], *law)
    return rows


def spread(table, k, run):
    """Rows of independent principal components without valleys."""
    X = table.values
    mean = X.mean(axis=0, dtype=np.float64)
    _, sizes, axes = np.linalg.svd(X - mean, full_matrices=False)
    axes = axes[sizes > 1e-12 * sizes[0]]
    places = (X - mean) @ axes.T
    laws, deviations = [unimodal(component) for component in places.T], places.std(axis=0)
    return lambda stream: (drawn(stream, len(X), laws, len(axes)) * deviations @ axes + mean).astype(X.dtype)


def unrolled(X, run):
    """Coordinates whose distances are lengths of shortest paths; where neighbours do not join all rows, the shortest tree does."""
    distances = squareform(pdist(X))
    near, _ = require_neighbor_lists(neighbor_graph(Table(X, validated=True), _PATHS, run.quiet()), "paths")
    roads = minimum_spanning_tree(distances).toarray()
    i = np.repeat(np.arange(len(X)), near.shape[1])
    roads[i, near.ravel()] = distances[i, near.ravel()]
    inner = -0.5 * np.square(shortest_path(roads, directed=False))
    inner -= inner.mean(axis=0)
    inner -= inner.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(inner)
    real = np.flatnonzero(values > 1e-9 * values[-1])[::-1]
    return vectors[:, real] * np.sqrt(values[real])


def long(table, k, run, attempts=30):
    """Rows with the dimension of the data's neighbourhoods and the length and tails of the whole."""
    X = table.values
    n, m = X.shape
    k = min(n - 1, max(4, k, min(2 * m, n // 8)))
    mean = X.mean(axis=0, dtype=np.float64)
    axes = np.linalg.svd(X - mean, full_matrices=False)[2]
    places = unrolled(X, run)[:, : min(k // 2, len(axes))]
    laws = [unimodal(coordinate) for coordinate in places.T]

    def spectrum(rows):
        graph = neighbor_graph(Table(rows.astype(X.dtype), validated=True), k, run.quiet())
        found = _local(rows, require_neighbor_lists(graph, "a null of local dimension")[0])
        return np.maximum(found[: len(axes)] / found.sum(), 1e-12)

    def made(stream, share):
        return drawn(stream, n, laws, len(axes)) * np.sqrt(share * X.var(axis=0).sum()) @ axes + mean

    target = spectrum(X)
    share, length = target.copy(), places.var(axis=0)
    share[: len(length)] = target[: len(length)].sum() * length / length.sum()
    for attempt in range(attempts):
        trial = spectrum(made(run.stream(f"null spectrum {attempt}"), share))
        step = np.clip((target / target[0]) / (trial / trial[0]), 0.25, 4.0) ** 0.7
        share = np.sort(share * step)[::-1] / (share * step).sum()
    return lambda stream: made(stream, share).astype(X.dtype)


NULLS = {"ranks": _NULLS["local"], "maxima": _NULLS["local"], "spread": spread, "long": long}


def by_ranks(clarity, maps):
    pool = np.vstack([clarity, *maps])
    p = (pool[:, None] <= pool[None]).mean(axis=1).min(axis=1)
    return (p <= p[0]).mean() <= _LEVEL


def by_maxima(clarity, maps):
    """Whether the clearest is clearer than all of 19 maps; the first that has its like settles it."""
    return all(clarity.max() > found.max() for found in maps)


def called(X, seed, repeats, ways):
    """Whether any cluster is called, by each way."""
    table, run = as_table(X, allow_sparse=False, min_rows=4), Run.of(random_state=seed, n_jobs=1)
    found = density_clusters(_mapped(estimator(), table, _NEIGHBORS, run)[0], _NEIGHBORS, _LEAST, run)
    if not found.clarity.max() > 0:
        return [False] * len(ways)

    def maps(null):
        make = null(table, _NEIGHBORS, run)
        for b in range(repeats):
            data = Table(make(run.stream(f"null {b}")), validated=True)
            hills = density_clusters(_mapped(estimator(), data, _NEIGHBORS, run)[0], _NEIGHBORS, 0.0, run)
            yield _clearest(hills, found.mass)

    calls = {}
    for way in ways:
        rule = by_ranks if way == "ranks" else by_maxima
        calls[way] = (
            all(calls[other] for other in ("maxima", "spread", "long"))
            if way == "all"
            else bool(rule(found.clarity, maps(NULLS[way])))
        )
    return list(calls.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", choices=CASES, default="unseen")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--ways", default="ranks,maxima,spread,long,all")
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=19)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ways = options.ways.split(",")
    print(
        f"{date.today()}: {options.rows} rows, {options.sets} data sets each, {options.repeats} maps of chance of each null\n"
    )
    print("| data |", " | ".join(ways), "|\n|---" + "|---" * len(ways) + "|")
    for name, make in CASES[options.cases].items():
        if options.only in name:
            found = [
                called(make(np.random.default_rng(k), options.rows), k, options.repeats, ways)
                for k in range(options.sets)
            ]
            print(
                f"| {name} |", " | ".join(f"{share:.2f}" for share in np.mean(found, axis=0)), "|", flush=True
            )


if __name__ == "__main__":
    main()
