"""Whether new rows lie worse than they would if they had been fitted: the same rows placed on a map, and fitted together with the others.

    python -m benchmarks.together [--data digits,pbmc3k,covid,coil20] [--splits 20] [--rows 8000] [--new 2000]

In each split a fifth of the rows, drawn at random, are new (of mnist50, `--new` beside `--rows`). They are placed on the default map of the
others, and the default map of all rows is made. On both, and in the data, a new row is judged by the fitted rows alone: by the label
of its ten nearest, and by how many of its 15 nearest in the data are so on the map. Fitted rows are judged by the other fitted rows: where
they lie, and where they would if they were taken out, one by one, and placed again. Means over splits; the errors are standard errors of
differences that are taken split by split.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import winkel as wk
from winkel.methods.mde.placement import place_by_neighbors
from winkel.run import Run

from .placing import chosen, neighbors, scores


def placed_again(estimator: wk.MDE) -> np.ndarray:
    """Places of the fitted rows of a map if each was new to it, and the map was made without it."""
    run = Run.of(random_state=0, n_jobs=1)
    model = estimator._model()
    around, affinities, Y = model.surroundings(run), model.affinities, np.asarray(model.places)
    assert affinities is not None
    index, distance = around.index.nearest(model.rows, affinities.listed + 1, run)
    others = index != np.arange(len(Y))[:, None]
    others[others.all(axis=1), -1] = False
    index, distance = (a[others].reshape(len(Y), -1) for a in (index, distance))
    weights = affinities.weights(distance, around.reach[index], run)
    return place_by_neighbors(
        Y, index, distance, model.settings.forces, model.repulsion, run,
        weights=weights, held=around.held, width=around.width,
    )  # fmt: skip


def split_scores(X: np.ndarray, labels: np.ndarray, order: np.ndarray, n: int) -> np.ndarray:
    """Accuracy and recall of one split (2 × 6): of new rows in the data, placed, and fitted together; of fitted rows in the data, on the map, and placed again."""
    fitted, new = X[order[:n]], X[order[n:]]
    y, z = labels[order[:n]], labels[order[n:]]
    estimator = wk.MDE(random_state=0, n_jobs=1).fit(fitted)
    Y = np.asarray(estimator.embedding_)
    both = np.asarray(wk.MDE(random_state=0, n_jobs=1).fit(X[order]).embedding_)
    of_new, of_fitted, own = (
        neighbors(fitted, new, None),
        neighbors(fitted, fitted, np.arange(n)),
        np.arange(n),
    )
    found = [
        scores(of_new, of_new, y, z),
        scores(of_new, neighbors(Y, estimator.transform(new), None), y, z),
        scores(of_new, neighbors(both[:n], both[n:], None), y, z),
        scores(of_fitted, of_fitted, y, y),
        scores(of_fitted, neighbors(Y, Y, own), y, y),
        scores(of_fitted, neighbors(Y, placed_again(estimator), own), y, y),
    ]
    return np.array([[accuracy, recall] for accuracy, _, recall in found]).T


def with_error(found: np.ndarray) -> str:
    """The mean of one number a split and its standard error."""
    return f"{found.mean():+.4f} ± {found.std(ddof=1) / len(found) ** 0.5:.4f}"


HEAD = """| data (fitted + new, splits) | score | new rows in the data | placed | fitted together | placed − together | fitted rows in the data | on the map | placed again | placed again − on the map |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def lines(title: str, found: np.ndarray) -> str:
    """The rows of the table for a data set, from the scores of all splits (splits × 2 × 6)."""
    told = []
    for kind, of_kind in (("accuracy", found[:, 0]), ("recall", found[:, 1])):
        in_data, placed, together, fitted_in_data, fitted, again = of_kind.T
        if kind == "accuracy" and in_data.min() == 1.0:
            continue  # without labels all rows are of one kind
        told.append(
            f"| {title} | {kind} | {in_data.mean():.4f} | {placed.mean():.4f} | {together.mean():.4f} | "
            f"{with_error(placed - together)} | {fitted_in_data.mean():.4f} | {fitted.mean():.4f} | {again.mean():.4f} | "
            f"{with_error(again - fitted)} |"
        )
    return "\n".join(told)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="digits,pbmc3k,covid,coil20", help="names, separated by commas")
    parser.add_argument("--splits", type=int, default=20, help="how many, with the seeds 0, 1, …")
    parser.add_argument("--rows", type=int, default=8000, help="fitted rows of MNIST")
    parser.add_argument("--new", type=int, default=2000, help="new rows of MNIST")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(HEAD)
    for name in options.data.split(","):
        X, labels, n, end = chosen(name, options.rows, options.new)
        orders = [np.random.default_rng(split).permutation(len(X))[:end] for split in range(options.splits)]
        found = np.array([split_scores(X, labels, order, n) for order in orders])
        print(lines(f"{name} ({n} + {end - n}, {len(found)})", found), flush=True)


if __name__ == "__main__":
    main()
