"""What placing a row costs beside fitting one, in processor time, for every estimator.

    python -m benchmarks.placing [--rows 8000] [--new 2000] [--only MDE,LVM]

"first" includes what is prepared once and kept for later calls (index and field); "again" does not.
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
from .datasets import cached, mnist_components, mnist_labels

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


def processor(call: Callable[[], Any]) -> tuple[Any, float]:
    """What the call returns, and the processor seconds of all threads."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def report(name: str, X: np.ndarray, labels: np.ndarray, n: int) -> None:
    """One line: milliseconds a row of fit and transform, and accuracy by ten fitted neighbours of fitted and of new rows."""
    model, fitting = processor(lambda: ESTIMATORS[name]().fit(X[:n]))
    _, first = processor(lambda: model.transform(X[n:]))
    placed, again = processor(lambda: model.transform(X[n:]))
    n_new = len(X) - n
    Y = np.asarray(model.embedding_, dtype=np.float64)
    new = quality.label_accuracy(np.concatenate([Y, placed]), labels, n)
    cut = n - n_new  # as many fitted rows, judged by the others
    fitted = quality.label_accuracy(Y, labels[:n], cut)
    costs = (1000 * fitting / n, 1000 * first / n_new, 1000 * again / n_new)
    print(
        f"{name:14} fit {costs[0]:7.3f} ms a row, transform first {costs[1]:7.3f}, again {costs[2]:7.3f} ({first:.2f} and {again:.2f} s); "
        f"accuracy fitted {fitted:.4f}, new {new:.4f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=8000, help="fitted rows of MNIST")
    parser.add_argument("--new", type=int, default=2000, help="rows to place")
    parser.add_argument("--only", default="", help="names of estimators, separated by commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, labels = np.load(cached("mnist50", mnist_components)), mnist_labels()
    n, end = options.rows, options.rows + options.new
    wk.MDE(max_iter=5, n_jobs=2).fit(X[:300]).transform(X[300:310])  # imports are not part of it
    for name in options.only.split(",") if options.only else ESTIMATORS:
        report(name, X[:end], labels[:end], n)


if __name__ == "__main__":
    main()
