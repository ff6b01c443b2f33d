"""Size and power of `wk.null_test`: how often it calls a cluster "not by chance" where there is none, and where there are some.

    python benchmarks/null_test_size.py [--cases first|fresh|unseen|last|held|final] [--only TEXT] [--sets 100] [--rows 200] [--repeats 19]

All but the final cases had a part in choosing the null and the number of its arms: the unseen, the last and the held ones were written
down before anything was tried on them, but then some settings changed. After the final cases nothing did.

Size: data sets without clusters, of several shapes; the share in which any cluster is called "not by chance" should be no more than
the level, 0.05, up to the binomial error that is printed. Power: three groups at growing distance; the share in which some
cluster is. Neighbours kept: mean over the data sets, of the data and by chance.
"""

from __future__ import annotations

import argparse
import warnings
from datetime import date
from functools import cache

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


FIRST = {
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


def strip(rng, n):
    """A strip rolled up three times as long as wide."""
    t, height = 1.5 * np.pi * (1 + 2 * np.sqrt(rng.random(n))), 25 * rng.random(n)
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)])


def cube(rng, n):
    return rng.random(size=(n, 5))


def exponential(rng, n):
    return rng.exponential(size=(n, 6))


def decaying(rng, n):
    """A normal distribution whose deviations fall as 1/j, along axes of its own."""
    turn = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    return rng.normal(size=(n, 30)) / np.arange(1, 31) @ turn


def spiral(rng, n):
    """One arm of a spiral, a line that bends, in noise of five dimensions."""
    t = 2 * np.pi * np.sqrt(rng.random(n))
    X = np.column_stack([t * np.cos(t), t * np.sin(t)])
    return np.hstack([X, np.zeros((n, 3))]) + 0.15 * rng.normal(size=(n, 5))


def ring(rng, n):
    t = 2 * np.pi * rng.random(n)
    return np.column_stack([np.cos(t), np.sin(t), np.zeros((n, 3))]) + 0.1 * rng.normal(size=(n, 5))


def branches(rng, n):
    """Three arms that leave one place in directions of their own."""
    return 3 * rng.random((n, 1)) * np.eye(5)[rng.integers(3, size=n)] + 0.2 * rng.normal(size=(n, 5))


@cache
def _county_components():
    X = wk.datasets.load_counties().X.astype(float)
    X = X[np.isfinite(X).all(axis=1)]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X @ np.linalg.svd(X, full_matrices=False)[2].T


def shuffled_counties(rng, n):
    """Counties of the United States, each principal component put in an order of its own."""
    return rng.permuted(_county_components(), axis=0)[:n]


def _some(rng, n, X, y, labels):
    rows = np.flatnonzero(np.isin(y, labels))
    return np.asarray(X[rng.choice(rows, min(n, len(rows)), replace=False)], float)


def objects(rng, n):
    data = wk.datasets.load_coil20()
    return _some(
        rng, n, data.X.reshape(len(data.X), -1), data.y, rng.choice(20, 3, replace=False) + data.y.min()
    )


def cells(rng, n):
    """Three of the seven larger types."""
    data = wk.datasets.load_pbmc3k()
    return _some(rng, n, data.X, data.y, rng.choice(7, 3, replace=False))


@cache
def _topics():
    """Word vectors, and the rows of words of four topics: capitals, countries, cities of one country, verbs in two tenses."""
    known, asked = wk.datasets.load_words("glove"), wk.datasets.load_analogies()
    names = {name: section for section, name in asked.label_names.items()}
    place = {word: row for row, word in enumerate(known.ids)}

    def rows(section, columns):
        words = {word.lower() for word in asked.X[asked.y == names[section]][:, columns].ravel()}
        return [place[word] for word in sorted(words) if word in place]

    return known.X, [
        rows("capital-world", [0]),
        rows("capital-world", [1]),
        rows("city-in-state", [0]),
        rows("gram7-past-tense", [0, 1]),
    ]


def words(rng, n):
    """Words of three of those topics."""
    X, topics = _topics()
    rows = np.unique(np.concatenate([topics[topic] for topic in rng.choice(4, 3, replace=False)]))
    return np.asarray(X[rng.choice(rows, min(n, len(rows)), replace=False)], float)


def crowd_in_ring(rng, n):
    inside = np.arange(n) % 3 == 0
    X = 4 * ring(rng, n)
    X[inside] = 0.7 * rng.normal(size=(int(inside.sum()), 5))
    return X


def six_three_one(rng, n):
    """Normal groups of which one has 60, one 30 and one 10 per cent of the rows, 5 apart in ten dimensions."""
    X = rng.normal(size=(n, 10))
    X[:, :3] += (
        5 / np.sqrt(2) * np.eye(3)[np.repeat([0, 1, 2], [n - n // 10 - 3 * n // 10, 3 * n // 10, n // 10])]
    )
    return X


UNSEEN = {
    "no clusters: rolled strip": strip,
    "no clusters: cube, 5 dimensions": cube,
    "no clusters: exponential margins": exponential,
    "no clusters: normal, deviations 1/j": decaying,
    "no clusters: spiral arm in noise": spiral,
    "no clusters: ring in noise": ring,
    "no clusters: three branches": branches,
    "no clusters: counties, components shuffled": shuffled_counties,
    "three kinds of COIL-20 objects": objects,
    "three types of blood cells": cells,
    "words of three topics": words,
    "crowd in a ring": crowd_in_ring,
    "normal groups of 60, 30 and 10 %": six_three_one,
}


def fork(rng, n):
    """A stem of length 4 that forks into arms of lengths 2 and 1, in a plane of six dimensions, rows even along it."""
    ends = np.array([[-4.0, 0.0], [1.6, 1.2], [0.6, -0.8]])  # lengths 4, 2 and 1
    X = np.zeros((n, 6))
    X[:, :2] = rng.random((n, 1)) * ends[rng.choice(3, n, p=np.array([4, 2, 1]) / 7)]
    return X + 0.15 * rng.normal(size=(n, 6))


def twigs(rng, n):
    """A tree whose trunk forks into two boughs and each bough into two twigs, every piece in a direction of its own."""
    trunk, bough, twig = 2 * np.eye(8)[:1], 2 * np.eye(8)[1:3], 1.5 * np.eye(8)[3:7]
    start = np.vstack([0 * trunk, trunk, trunk, *(trunk + bough[[i // 2]] for i in range(4))])
    ways = np.vstack([trunk, bough, twig])
    piece = rng.integers(len(ways), size=n)
    return start[piece] + rng.random((n, 1)) * ways[piece] + 0.25 * rng.normal(size=(n, 8))


def star(rng, n):
    """Five arms of unequal length from one crowd, thinner and thinner outwards."""
    arm = rng.integers(5, size=n)
    length = np.array([1.0, 1.5, 2.0, 3.0, 4.0])[arm] * np.abs(rng.normal(size=n))
    return length[:, None] * np.eye(10)[arm] + 0.3 * rng.normal(size=(n, 10))


def far_out(rng, n):
    """Student's t of three degrees of freedom in fifteen dimensions."""
    return rng.normal(size=(n, 15)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


def lognormal(rng, n):
    return np.exp(0.8 * rng.normal(size=(n, 5)))


def torus(rng, n):
    """A tube around a circle, filled."""
    around = 2 * np.pi * rng.random(n)
    tube = rng.normal(size=(n, 2))
    tube *= (np.sqrt(rng.random(n)) / np.linalg.norm(tube, axis=1))[:, None]
    out = 3 + tube[:, 0]
    return np.column_stack([out * np.cos(around), out * np.sin(around), tube[:, 1]])


def disc_with_hole(rng, n):
    """A flat ring between radii 1 and 2, in noise."""
    angle, radius = 2 * np.pi * rng.random(n), np.sqrt(1 + 3 * rng.random(n))
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return np.hstack([X, np.zeros((n, 4))]) + 0.05 * rng.normal(size=(n, 6))


def uneven_sheet(rng, n):
    """A sheet bent over half a cylinder, ten times as dense at one edge as at the other."""
    t, height = np.log1p(9 * rng.random(n)) / np.log(10), 2 * rng.random(n)
    return np.column_stack([np.cos(np.pi * t), np.sin(np.pi * t), height]) + 0.03 * rng.normal(size=(n, 3))


@cache
def _word_components():
    X = np.asarray(wk.datasets.load_words("glove").X[:2000], float)
    X -= X.mean(axis=0)
    return X @ np.linalg.svd(X, full_matrices=False)[2][:20].T


def shuffled_words(rng, n):
    """The first twenty principal components of common words, each put in an order of its own."""
    return rng.permuted(_word_components(), axis=0)[:n]


@cache
def _mammoth():
    data = wk.datasets.load_mammoth()
    return np.asarray(data.X, float)


def mammoth(rng, n):
    """Points of the surface of a mammoth: a trunk with legs, tusks and ribs, in one piece."""
    return rng.choice(_mammoth(), n, replace=False)


def mnist(rng, n):
    """Handwritten threes, sixes and ones of MNIST, in 784 dimensions."""
    data = wk.datasets.load_mnist()
    return _some(rng, n, data.X.reshape(len(data.X), -1), data.y, [1, 3, 6])


def pieces_of_a_curve(rng, n):
    """Three pieces of a helix with gaps of a third of their length."""
    t = (np.arange(n) % 3) * 4 + 3 * rng.random(n)
    X = np.column_stack([2 * np.cos(t), 2 * np.sin(t), 0.5 * t])
    return np.hstack([X, np.zeros((n, 3))]) + 0.1 * rng.normal(size=(n, 6))


def sheets(rng, n):
    """Two flat sheets, one above the other, a third of their side apart."""
    X = rng.random((n, 3)) * [3.0, 3.0, 0.2]
    X[:, 2] += np.arange(n) % 2
    return np.hstack([X, np.zeros((n, 3))]) + 0.03 * rng.normal(size=(n, 6))


def branch_and_crowd(rng, n):
    """Three arms that leave one place, and a crowd that is far from all of them."""
    X = branches(rng, n)
    far = np.arange(n) % 4 == 0
    X[far] = [2, 2, 2, 0, 0] + 0.4 * rng.normal(size=(int(far.sum()), 5))
    return X


LAST = {
    "no clusters: fork, arms of 4, 2 and 1": fork,
    "no clusters: tree of seven pieces": twigs,
    "no clusters: star of five unequal arms": star,
    "no clusters: heavy tails, 15 dimensions": far_out,
    "no clusters: lognormal margins": lognormal,
    "no clusters: filled torus": torus,
    "no clusters: disc with a hole": disc_with_hole,
    "no clusters: bent sheet, uneven": uneven_sheet,
    "no clusters: words, components shuffled": shuffled_words,
    "no clusters: mammoth": mammoth,
    "three digits of MNIST": mnist,
    "three pieces of a helix": pieces_of_a_curve,
    "two sheets": sheets,
    "three branches and a crowd": branch_and_crowd,
}


def ten_arms(rng, n):
    """Twice as many arms as those of chance."""
    return 3 * rng.random((n, 1)) * np.eye(12)[rng.integers(10, size=n)] + 0.2 * rng.normal(size=(n, 12))


def crossing(rng, n):
    """Two lines that cross at their middle, one half as long as the other."""
    X = np.zeros((n, 6))
    X[np.arange(n), np.arange(n) % 2] = rng.uniform(-1, 1, size=n) * np.where(np.arange(n) % 2, 2.0, 4.0)
    return X + 0.2 * rng.normal(size=(n, 6))


def trefoil(rng, n):
    t = 2 * np.pi * rng.random(n)
    X = np.column_stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)])
    return X + 0.15 * rng.normal(size=(n, 3))


def simplex(rng, n):
    """Shares of six parts, all equally likely."""
    return rng.dirichlet(np.ones(6), size=n)


def comet(rng, n):
    """A round crowd with a tail that gets thinner and rarer."""
    X = rng.normal(size=(n, 6))
    tail = np.arange(n) % 2 == 0
    out = rng.exponential(4.0, size=n)
    X[tail] *= np.exp(-out / 6)[tail, None]
    X[tail, 0] += out[tail]
    return X


def core_in_halo(rng, n):
    """A tight core in the middle of a crowd four times as wide."""
    return rng.normal(size=(n, 7)) * np.where(np.arange(n) % 2, 1.0, 4.0)[:, None]


def series(rng, n):
    """A smooth series in ten dimensions: a random walk, each step of which keeps nine tenths of the last."""
    steps = np.zeros((n, 10))
    for i in range(1, n):
        steps[i] = 0.9 * steps[i - 1] + rng.normal(size=10)
    return steps.cumsum(axis=0)


def band(rng, n):
    """A Möbius band in noise of ten dimensions."""
    t, across = 2 * np.pi * rng.random(n), rng.uniform(-0.6, 0.6, size=n)
    out = 1.5 + across * np.cos(t / 2)
    X = np.column_stack([out * np.cos(t), out * np.sin(t), across * np.sin(t / 2)])
    return np.hstack([X, np.zeros((n, 7))]) + 0.05 * rng.normal(size=(n, 10))


def lung_cells(rng, n):
    """Three of the four largest types."""
    data = wk.datasets.load_covid_balf()
    return _some(rng, n, data.X, data.y, rng.choice([1, 2, 5, 7], 3, replace=False))


def crops(rng, n):
    """Spectra of three of six crops."""
    data = wk.datasets.load_salinas_a()
    return _some(rng, n, data.X, data.y, rng.choice([1, 10, 11, 12, 13, 14], 3, replace=False))


def unequal_spread(rng, n):
    """Four groups in nine dimensions whose spreads are 1, 1.5, 2 and 3."""
    group = np.arange(n) % 4
    X = rng.normal(size=(n, 9)) * np.array([1.0, 1.5, 2.0, 3.0])[group, None]
    X[:, :4] += 7 * np.eye(4)[group]
    return X


HELD = {
    "no clusters: ten arms": ten_arms,
    "no clusters: lines that cross": crossing,
    "no clusters: trefoil knot in noise": trefoil,
    "no clusters: simplex of six parts": simplex,
    "no clusters: comet": comet,
    "no clusters: core in a halo": core_in_halo,
    "no clusters: smooth series": series,
    "no clusters: band with a twist": band,
    "three types of lung cells": lung_cells,
    "spectra of three crops": crops,
    "four groups of unequal spread": unequal_spread,
}


def nine_rays(rng, n):
    """Nine arms of unequal length in nine dimensions."""
    arm = rng.integers(9, size=n)
    return (rng.random(n) * np.linspace(1.5, 4, 9)[arm])[:, None] * np.eye(9)[arm] + 0.25 * rng.normal(
        size=(n, 9)
    )


def crossing_sheets(rng, n):
    """Two sheets that cross at a right angle."""
    X = rng.uniform(-1, 1, size=(n, 3)) * [2.0, 1.0, 1.0]
    X[np.arange(n), 1 + np.arange(n) % 2] = 0
    return np.hstack([X, np.zeros((n, 3))]) + 0.05 * rng.normal(size=(n, 6))


def slowly_tapering(rng, n):
    return rng.normal(size=(n, 20)) * 0.85 ** np.arange(20)


def lens(rng, n):
    """A filled ball, flattened to a third of its width along two of five dimensions."""
    X = rng.normal(size=(n, 5))
    X *= (rng.random(n) ** 0.2 / np.linalg.norm(X, axis=1))[:, None]
    return X * [1, 1, 1, 1 / 3, 1 / 3]


FINAL = {
    "no clusters: nine arms, unequal": nine_rays,
    "no clusters: sheets that cross": crossing_sheets,
    "no clusters: normal, slowly tapering": slowly_tapering,
    "no clusters: lens": lens,
}
_FEW = (3, 19)  # maps that often settle that nothing can be called
CASES = {"first": FIRST, "fresh": FRESH, "unseen": UNSEEN, "last": LAST, "held": HELD, "final": FINAL}


def estimator():
    """A map that clumps more than the default does, and is made in a moment."""
    return wk.MDE(repulsive="log", max_iter=25, n_jobs=1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", choices=CASES, default="first")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rows", type=int, default=200)
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
    for name, make in CASES[options.cases].items():
        if options.only not in name:
            continue
        for null in ("arms", "gaussian") if "6 apart" in name else ("arms",):
            called, kept, chance = [], [], []
            for k in range(options.sets):
                X = make(np.random.default_rng(k), options.rows)
                for repeats in [*(few for few in _FEW if few < options.repeats), options.repeats]:
                    found = wk.null_test(
                        estimator(),
                        X,
                        null=null,
                        n_repeats=repeats,
                        min_clarity=0.3,
                        random_state=k,
                        n_jobs=1,
                    )
                    # The first maps are the same ones: if chance does as well in too many of them, more cannot change it.
                    if (found.cluster_p * (1 + repeats) > 0.05 * (1 + options.repeats) + 1e-9).all():
                        break
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
