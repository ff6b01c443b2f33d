"""Figures S4 to S9 and tables 1 and S2 of Saul (2020) with `wk.LVM`.

    python -m benchmarks.paper.lvm_supplement tied --rows 7000       # fig S4: one variance for all
    python -m benchmarks.paper.lvm_supplement grid --rows 3500       # fig S5: k and s
    python -m benchmarks.paper.lvm_supplement levels --levels 0 1 --rows 7000     # figs S6 to S8: levels of coarse-graining
    python -m benchmarks.paper.lvm_supplement roll --rows 5000       # fig S9: a Swiss roll
    python -m benchmarks.paper.lvm_supplement words --rows 26423     # tables 1 and S2

The paper has 70 000 images in figs S4 to S7, 7 000 in S8, 5 000 points in S9 and 207 147 words, with 400 iterations. Pictures go to --out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import winkel as wk
from winkel.errors import DataWarning, NotConvergedWarning
from winkel.graph import knn
from winkel.methods.starts import principal_start

from .lvm import error_rate, lvm, mnist
from .record import against, small_maps

# Words of table 1 and of the preamble (table S2), and how many of the four nearest neighbours the paper keeps of each.
TABLE_1 = {
    "tractable": 1,
    "latent": 2,
    "variable": 1,
    "model": 2,
    "nonlinear": 1,
    "dimensionality": 2,
    "reduction": 3,
}
TABLE_S2 = {
    "people": 2, "order": 1, "form": 1, "more": 2, "perfect": 1, "union": 1, "establish": 0, "insure": 4,
    "domestic": 2, "tranquility": 3, "provide": 2, "common": 2, "defense": 2, "promote": 2,
}  # fmt: skip

ALIKE = ("358", "479")  # digits that are taken for each other


def apart(Y: Any, y: Any) -> float:
    """Mean distance between centres of classes over that of rows from their centre."""
    centers = np.array([Y[y == label].mean(axis=0) for label in np.unique(y)])
    own = np.mean(
        [
            np.linalg.norm(Y[y == label] - center, axis=1).mean()
            for label, center in zip(np.unique(y), centers)
        ]
    )
    between = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    return float(between[between > 0].mean() / own)


def tied(options: argparse.Namespace) -> None:
    """Fig S4: variances of their own against one for all (k = 9, s = 1)."""
    _, X, y = mnist(options.rows)
    maps = {}
    print(f"{len(X)} images, k = 9, s = 1, one level, {options.iterations} iterations.\n")
    print("| variances | log-likelihood | 9-NN test error % | centres apart, in radii |")
    print("|---|---|---|---|")
    found = []
    for name, same in (("one for each row", False), ("one for all (fig S4)", True)):
        model = lvm(options, n_neighbors=9, n_steps=1, levels=1, tied_variance=same).fit(X)
        maps[name] = model.embedding_
        found.append((model.log_likelihood_[-1], error_rate(model.embedding_, y)))
        print(
            f"| {name} | {found[-1][0]:.0f} | {found[-1][1]:.2f} | {apart(model.embedding_, y):.2f} |",
            flush=True,
        )
    print(
        f"\nThe paper says the tied one is much worse and of lower likelihood: {'so it is' if found[1][0] < found[0][0] else 'not so'} here "
        f"in likelihood, {'so it is' if found[1][1] > found[0][1] else 'not so'} in error."
    )
    small_maps(maps, options.out / "lvm-tied.png", labels=y)


def grid(options: argparse.Namespace) -> None:
    """Fig S5: 1-NN test error by k and s."""
    _, X, y = mnist(options.rows)
    maps = {}
    print(f"1-NN test error % of {len(X)} images, {options.iterations} iterations.\n")
    print("| k | s = 1 | s = 2 | s = 3 |\n|---|---|---|---|")
    for k in (6, 9, 18):
        row = []
        for s in (1, 2, 3):
            Y = lvm(options, n_neighbors=k, n_steps=s, levels=1).fit(X).embedding_
            maps[f"k = {k}, s = {s}"] = Y
            row.append(f"{error_rate(Y, y, 1):.2f}")
        print(f"| {k} | " + " | ".join(row) + " |", flush=True)
    small_maps(maps, options.out / "lvm-grid.png", labels=y)


def levels(options: argparse.Namespace) -> None:
    """Figs S6 to S8: coarse-graining magnifies distances between clusters; the most alike digits close up."""
    _, X, y = mnist(options.rows)
    maps, close = {}, {}
    print(f"{len(X)} images, k = 9, s = 1, {options.iterations} iterations.\n")
    print("| levels | pairs modelled | 9-NN test error % | centres apart, in radii | processor s |")
    print("|---|---|---|---|---|")
    for count in options.levels:
        begun = time.process_time()
        model = lvm(options, n_neighbors=9, n_steps=1, levels=count).fit(X)
        Y = maps[f"levels: {count}"] = model.embedding_
        close |= {
            f"levels: {count}, digits {digits}": Y[np.isin(y, list(map(int, digits)))] for digits in ALIKE
        }
        seconds = time.process_time() - begun
        print(
            f"| {count} | {model.n_dissimilar_} | {error_rate(Y, y):.2f} | {apart(Y, y):.2f} | {seconds:.1f} |",
            flush=True,
        )
    stem = "lvm-levels-" + "".join(map(str, options.levels))
    small_maps(maps, options.out / f"{stem}.png", labels=y)
    for digits in ALIKE:
        own = y[np.isin(y, list(map(int, digits)))]
        shown = {name: Y for name, Y in close.items() if name.endswith(digits)}
        small_maps(shown, options.out / f"{stem}-{digits}.png", labels=own)


def roll(options: argparse.Namespace) -> None:
    """Fig S9: coarse-graining must not break a Swiss roll into clusters."""
    from sklearn.datasets import make_swiss_roll

    X, t = make_swiss_roll(options.rows, random_state=0)
    maps, scores = {}, ("trustworthiness", "continuity")
    print(f"Swiss roll of {len(X)} points, k = 9, s = 1, {options.iterations} iterations.\n")
    print("| levels | trustworthiness | continuity | pieces of the map's 9-neighbour graph |")
    print("|---|---|---|---|")
    for count in (0, 1):
        Y = maps[f"{count} levels"] = lvm(options, n_neighbors=9, n_steps=1, levels=count).fit(X).embedding_
        report = wk.measure(X, Y, scores=list(scores), baseline=False)
        pieces = knn(Y, 9).components()[0]
        print(
            f"| {count} | " + " | ".join(f"{report[name].value:.3f}" for name in scores) + f" | {pieces} |",
            flush=True,
        )
    small_maps(
        maps, options.out / "lvm-roll.png", labels=np.digitize(t, np.quantile(t, np.linspace(0, 1, 9)[1:-1]))
    )


def words(options: argparse.Namespace) -> None:
    """Tables 1 and S2: the four nearest words before and after the map of ten dimensions (k = 4, s = 3, two levels)."""
    data = wk.datasets.load_words("word2vec")
    names = np.array([str(word) for word in data.ids])
    asked = np.isin(names, [*TABLE_1, *TABLE_S2])
    rows = np.sort(np.concatenate([np.flatnonzero(asked), np.flatnonzero(~asked)])[: options.rows])
    X, names = data.X[rows].astype(np.float32), names[rows]
    model = lvm(
        options, 10, n_neighbors=4, n_steps=3, levels=2, init=principal_start(X, 10).astype(float)
    ).fit(X)
    lists = [knn(np.ascontiguousarray(Z), 4, method="exact").knn_indices for Z in (X, model.embedding_)]
    print(
        f"{len(X)} lower-case words of word2vec (paper: 207 147, with capitals and phrases, so neighbours differ), "
        f"{options.iterations} iterations.\n"
    )
    for title, table in (("Table 1", TABLE_1), ("Table S2", TABLE_S2)):
        print(f"{title}\n\n| word | 4nn (before) | 4nn (after) | kept | paper |\n|---|---|---|---|---|")
        kept, theirs = [], []
        for word, paper in table.items():
            found = np.flatnonzero(names == word)
            if not len(found):
                print(f"| {word} | not among these words | | | {paper} |")
                continue
            before, after = (list(names[near[found[0]]]) for near in lists)
            kept.append(len(set(before) & set(after)))
            theirs.append(paper)
            print(f"| {word} | {', '.join(before)} | {', '.join(after)} | {kept[-1]} | {paper} |")
        print()
        against(
            f"{title}, share of four neighbours kept", np.mean(kept) / 4, np.mean(theirs) / 4,
            other_data="fewer words, lower case",
        )  # fmt: skip
        print()
    share = np.mean([len(np.intersect1d(a, b)) / 4 for a, b in zip(*lists)])
    print(f"Of all words {share:.2f} of the four nearest are kept.")


TASKS = {"tied": tied, "grid": grid, "levels": levels, "roll": roll, "words": words}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--rows", type=int, default=3500)
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2], help="of figs S6 to S8")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/paper"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", DataWarning)
    warnings.simplefilter("ignore", NotConvergedWarning)
    TASKS[options.task](options)


if __name__ == "__main__":
    main()
