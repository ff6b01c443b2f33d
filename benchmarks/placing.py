"""What placing a row costs beside fitting one, and how well new rows lie beside fitted ones, for every estimator.

    python -m benchmarks.placing [--rows 8000] [--new 2000] [--only MDE,LVM] [--data mnist50,digits] [--splits 0,1,2]

Costs are processor time: "first" includes what is prepared once and kept for later calls (index and field); "again" does not. A split is
the seed that rows are drawn by; "file" takes them in the order of the file. `--data` are names of the panel, or mnist50; of the panel's, a
fifth of the rows are new. Scores of new and of fitted rows are by the fitted rows alone: accuracy of the label of ten neighbours, on the
map and in the data, and how many of 15 neighbours in the data are so on the map.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import winkel as wk

from . import quality
from .datasets import MNIST_50
from .panel import PANEL

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "MDE": lambda: wk.MDE(random_state=0, n_jobs=2),
    "MDE 3-D": lambda: wk.MDE(n_components=3, random_state=0, n_jobs=2),
    "MDE distances": lambda: wk.MDE(preserve="distances", random_state=0, n_jobs=2),
    "t-SNE": lambda: wk.AttractRepel(objective="tsne", random_state=0, n_jobs=2),
    "UMAP": lambda: wk.AttractRepel(objective="umap", random_state=0, n_jobs=2),
    "LLE": lambda: wk.AttractRepel(objective="lle", random_state=0, n_jobs=2),
    "LVM": lambda: wk.LVM(random_state=0, n_jobs=2),
    "TSM": lambda: wk.TSM(random_state=0, n_jobs=2),
    "KDS": lambda: wk.KDS(random_state=0, n_jobs=2),
}
_JUDGED = 4000  # fitted rows at most


def processor(call: Callable[[], Any]) -> tuple[Any, float]:
    """What the call returns, and the processor seconds of all threads."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def neighbors(fitted: np.ndarray, rows: np.ndarray, own: np.ndarray | None, k: int = 15) -> np.ndarray:
    """The k fitted rows nearest to each of `rows`, without `own`, the numbers of those that are fitted ones."""
    found = np.empty((len(rows), k), dtype=np.int64)
    for part, squares in quality.squared_distance_blocks(rows, fitted):
        local = np.arange(len(squares))
        if own is not None:
            squares[local, own[part]] = np.inf
        near = np.argpartition(squares, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(squares, near, axis=1), axis=1, kind="stable")
        found[part] = np.take_along_axis(near, order, axis=1)
    return found


def accuracy(index: np.ndarray, fitted: np.ndarray, own: np.ndarray, k: int = 10) -> float:
    """Share of rows whose label leads among those of their k nearest fitted ones; of equally frequent ones the smallest."""
    votes = (fitted[index[:, :k]][:, :, None] == np.arange(fitted.max() + 1)).sum(axis=1)
    return float((votes.argmax(axis=1) == own).mean())


def scores(data: np.ndarray, placed: np.ndarray, fitted: np.ndarray, own: np.ndarray) -> tuple[float, ...]:
    """Accuracy on the map and in the data, and recall, of rows by their neighbours in both."""
    recall = float((data[:, :, None] == placed[:, None, :]).any(axis=2).mean())
    return accuracy(placed, fitted, own), accuracy(data, fitted, own), recall


def report(name: str, X: np.ndarray, labels: np.ndarray, order: np.ndarray, n: int) -> np.ndarray:
    """Milliseconds a row of fit and transform, and the scores of fitted and of new rows."""
    fitted, new = X[order[:n]], X[order[n:]]
    model, fitting = processor(lambda: ESTIMATORS[name]().fit(fitted))
    _, first = processor(lambda: model.transform(new))
    placed, again = processor(lambda: model.transform(new))
    Y, y, z = np.asarray(model.embedding_), labels[order[:n]], labels[order[n:]]
    own = quality.sample_rows(n, _JUDGED)
    of_fitted = scores(neighbors(fitted, fitted[own], own), neighbors(Y, Y[own], own), y, y[own])
    of_new = scores(neighbors(fitted, new, None), neighbors(Y, placed, None), y, z)
    return np.array(
        [1000 * fitting / n, 1000 * first / len(new), 1000 * again / len(new), *of_fitted, *of_new]
    )


def line(name: str, data: str, found: np.ndarray) -> str:
    """A row of the table; without labels all rows are of one kind."""
    fit, first, again, a, da, r, b, db, s = found
    labelled = not (da == db == 1.0)
    kinds = f"{a:.4f} | {b:.4f} | {da:.4f} | {db:.4f}" if labelled else "| | |"
    return f"| {name} | {data} | {fit:.3f} | {first:.3f} | {again:.3f} | {kinds} | {r:.4f} | {s:.4f} |"


HEAD = """| map | data | fit, ms a row | transform, first | again | accuracy fitted | new | in the data fitted | new | recall fitted | new |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def chosen(name: str, rows: int, new: int) -> tuple[np.ndarray, np.ndarray, int, int]:
    """A data set, its labels as numbers, how many of its rows are fitted, and how many are used in all; `rows` and `new` are for MNIST."""
    dataset = next(each for each in (MNIST_50, *PANEL) if each.name == name)
    X, kinds = np.array(dataset.load()), dataset.labels()
    labels = np.zeros(len(X), dtype=int) if kinds is None else np.unique(kinds, return_inverse=True)[1]
    if name == MNIST_50.name:
        return X, labels, rows, rows + new
    return X, labels, len(X) - len(X) // 5, len(X)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=8000, help="fitted rows of MNIST")
    parser.add_argument("--new", type=int, default=2000, help="rows of MNIST to place")
    parser.add_argument("--only", default="", help="names of estimators, separated by commas")
    parser.add_argument("--data", default="mnist50", help="names of data sets, separated by commas")
    parser.add_argument("--splits", default="0", help='seeds, or "file", separated by commas')
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wk.MDE(max_iter=5, n_jobs=2).fit(np.eye(60)).transform(np.ones((2, 60)))  # imports are not part of it
    print(HEAD)
    for data in options.data.split(","):
        X, labels, n, end = chosen(data, options.rows, options.new)
        orders = [
            np.arange(len(X)) if split == "file" else np.random.default_rng(int(split)).permutation(len(X))
            for split in options.splits.split(",")
        ]
        for name in options.only.split(",") if options.only else ESTIMATORS:
            found = [report(name, X, labels, order[:end], n) for order in orders]
            title = f"{data} {n} + {end - n}" + (f", {len(found)} splits" if len(found) > 1 else "")
            print(line(name, title, np.mean(found, axis=0)), flush=True)


if __name__ == "__main__":
    main()
