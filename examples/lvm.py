"""The latent variable model: digits with their variances, word vectors in ten dimensions, strings by edit distance.

python examples/lvm.py [folder]
"""

import sys
from pathlib import Path

import numpy as np

import winkel as wk
from winkel.graph import knn, knn_query
from winkel.methods.starts import principal_start
from winkel.view.lvm import plot_density, plot_uncertain, plot_variance

STEMS = ("latitude", "longitude", "meridian", "projection", "cartography", "equator")


def digits(folder: Path) -> None:
    data = wk.datasets.load_digits()
    X = data.X.astype(np.float32)
    model = wk.LVM(random_state=0, max_iter=200).fit(X)
    print(f"digits: log-likelihood {model.log_likelihood_[0]:.0f} -> {model.log_likelihood_[-1]:.0f}")
    print(f"  variances from {model.variance_.min():.3g} to {model.variance_.max():.3g}")
    Y = model.embedding_
    nearest = knn(Y, 1).knn_indices[:, 0]
    right = data.y[nearest] == data.y
    uncertain = model.outlier_score_ > np.quantile(model.outlier_score_, 0.95)
    print(f"  nearest neighbour on the map has the same label: {right.mean():.3f}")
    print(
        f"  for the most uncertain 5 %: {right[uncertain].mean():.3f}, for all others: {right[~uncertain].mean():.3f}"
    )
    plot_variance(Y, model.variance_, labels=data.y, path=folder / "lvm-variance.png")
    plot_density(Y, bins=80, title="points in a cell", path=folder / "lvm-density.png")
    images = data.X.reshape(-1, 8, 8)
    plot_uncertain(Y, model.variance_, images, labels=data.y, count=60, path=folder / "lvm-uncertain.png")


def words(folder: Path, count: int = 5000) -> None:
    data = wk.datasets.load_words("word2vec")
    X, names = data.X[:count].astype(np.float32), data.ids[:count]
    model = wk.LVM(10, n_neighbors=4, n_steps=3, random_state=0, max_iter=200).fit(X)
    first = knn(X, 1).knn_indices[:, 0]
    for name, Y in (("LVM, 10 dimensions", model.embedding_), ("PCA, 10", principal_start(X, 10))):
        found = knn_query(Y, Y, 11)[0][:, 1:]
        print(
            f"words, {name}: nearest word is among the 10 nearest on the map: {(found == first[:, None]).any(1).mean():.3f}"
        )
    near = knn(model.embedding_, 4).knn_indices
    for word in ("river", "king", "happy"):
        if word in names:
            print(f"  {word}: {', '.join(names[near[list(names).index(word)]])}")


def strings(folder: Path) -> None:
    letters = "aeinrt"
    texts = [s[:k] + c + s[k + 1 :] for s in STEMS for k in range(len(s)) for c in letters]
    texts = sorted(set(texts))
    model = wk.LVM(metric=edit_distance, random_state=0, max_iter=200, n_neighbors=8).fit(texts)
    closest = np.array([min(range(len(STEMS)), key=lambda s: edit_distance(t, STEMS[s])) for t in texts])
    names = np.array(STEMS)[closest]
    print(f"strings: {len(texts)} misspellings of {len(STEMS)} words")
    wk.plot(model.embedding_, labels=names, title="misspellings", path=folder / "lvm-strings.png")


def edit_distance(a: str, b: str) -> float:
    """Levenshtein's distance: the number of letters to insert, delete or replace."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return float(row[-1])


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
    digits(out)
    strings(out)
    words(out)
