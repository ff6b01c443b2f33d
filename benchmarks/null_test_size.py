"""Size and power of `wk.null_test`: how often it calls a cluster "not by chance" where there is none, and where there are some.

    python benchmarks/null_test_size.py [--fresh] [--only TEXT] [--sets 100] [--rows 120] [--repeats 19]

The settings of the test were chosen in view of the first cases. Those of --fresh came afterwards, from other families, and nothing was
chosen by them: curved surfaces, heavy tails, unequal densities, pixels of digits each put in an order of its own.

Size: data sets without clusters, of several shapes; the share in which any cluster is called "not by chance" should be no more than
the level, 0.05, up to the binomial error that is printed. Power: three groups at growing distance; the share in which some
cluster is. Neighbours kept: mean over the data sets, of the data and by chance.
"""

from __future__ import annotations

import argparse
import warnings
from datetime import date

import numpy as np

import winkel as wk


def flat(rng, n):
    return rng.normal(size=(n, 8))


def sheet(rng, n):
    """A bent sheet: two dimensions within neighbourhoods, three in all."""
    t, height = 1.5 + 3 * rng.random(n), rng.random(n)
    return np.column_stack([t * np.cos(2 * t), 6 * height, t * np.sin(2 * t)])


def tapering(rng, n):
    return rng.normal(size=(n, 8)) * 0.7 ** np.arange(8)


def groups(distance):
    def make(rng, n):
        X = rng.normal(size=(n, 8))
        X[:, :3] += distance * np.eye(3)[np.arange(n) % 3]
        return X

    return make


CASES = {
    "no clusters: normal, 8 dimensions": flat,
    "no clusters: normal, tapering": tapering,
    "no clusters: bent sheet": sheet,
    "three groups, 3 apart": groups(3.0),
    "three groups, 6 apart": groups(6.0),
}


def sphere(rng, n):
    """A closed surface in ten dimensions, with a little noise."""
    X = rng.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return np.hstack([X, np.zeros((n, 7))]) + 0.05 * rng.normal(size=(n, 10))


def saddle(rng, n):
    """A surface that bends both ways."""
    u, v = rng.uniform(-1, 1, size=(2, n))
    return np.column_stack([u, v, u**2 - v**2, u * v])


def heavy(rng, n):
    """Student's t of three degrees of freedom: a few rows far out."""
    return rng.normal(size=(n, 6)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


def fading(rng, n):
    """One crowd, dense at one end and ever thinner towards the other."""
    return np.column_stack([rng.exponential(2.0, size=n) ** 1.5, rng.normal(size=(n, 3))])


def _digits(rng, n, classes):
    data = wk.datasets.load_digits()
    rows = np.flatnonzero(np.isin(data.y, classes))
    return data.X[rng.choice(rows, n, replace=False)].astype(float)


def shuffled_digits(rng, n):
    """Digits whose pixels were each put in an order of their own: no pixel knows of any other."""
    return rng.permuted(_digits(rng, n, range(10)), axis=0)


def digits(rng, n):
    return _digits(rng, n, rng.choice(10, 3, replace=False))


def arcs(rng, n):
    """Two arcs that reach into each other."""
    t, side = np.pi * rng.random(n), np.arange(n) % 2
    X = np.column_stack([np.cos(t) + side, np.where(side, -1, 1) * np.sin(t) + 0.4 * side])
    return np.hstack([X, np.zeros((n, 3))]) + 0.08 * rng.normal(size=(n, 5))


def unequal(rng, n):
    """Two heavy-tailed groups of which one is four times as dense and a quarter as large."""
    small = np.arange(n) % 4 == 0
    X = heavy(rng, n) * np.where(small, 0.25, 1.0)[:, None]
    X[:, 0] += np.where(small, 6.0, 0.0)
    return X


FRESH = {
    "no clusters: sphere in noise": sphere,
    "no clusters: saddle": saddle,
    "no clusters: heavy tails": heavy,
    "no clusters: fading crowd": fading,
    "no clusters: digits, pixels shuffled": shuffled_digits,
    "three kinds of digits": digits,
    "two arcs": arcs,
    "two groups, unequal, heavy tails": unequal,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--fresh", action="store_true", help="cases that played no part in the choice of settings"
    )
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--repeats", type=int, default=19)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{date.today()}: wk.MDE(repulsive='log', max_iter=25), {options.rows} rows, {options.repeats} maps of chance, {options.sets} data sets "
        "each, min_clarity=0.3"
    )
    print(
        "| data | null | any cluster not by chance | ± | neighbours kept | by chance |\n|---|---|---|---|---|---|"
    )
    for name, make in (FRESH if options.fresh else CASES).items():
        if options.only not in name:
            continue
        for null in ("local", "gaussian") if "6 apart" in name else ("local",):
            called, kept, chance = [], [], []
            for k in range(options.sets):
                X = make(np.random.default_rng(k), options.rows)
                estimator = wk.MDE(
                    repulsive="log", max_iter=25, n_jobs=1
                )  # clumps more than the default does
                found = wk.null_test(
                    estimator,
                    X,
                    null=null,
                    n_repeats=options.repeats,
                    min_clarity=0.3,
                    random_state=k,
                    n_jobs=1,
                )
                called.append(bool((~found.chance).any()))
                kept.append(found.preserved.mean())
                chance.append(found.null_preserved.mean())
            share = float(np.mean(called))
            error = np.sqrt(max(share * (1 - share), 0.05 * 0.95) / options.sets)
            print(
                f"| {name} | {null} | {share:.2f} | {error:.2f} | {np.mean(kept):.2f} | {np.mean(chance):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
