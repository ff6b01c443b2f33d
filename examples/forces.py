"""Attraction and repulsion (Draganov and Dohn 2023, section 6): do t-SNE and UMAP make maps of another kind than classical methods?

Classical and modern methods map the same rows. For every pair of methods, the similarity of their maps is averaged over
data sets. Equation 8 says how well each kind of similarity separates the two classes. Run: python forces.py [folder] [rows]
"""

import itertools
import sys

import numpy as np
from scipy.spatial.distance import pdist, squareform

import winkel as wk
from winkel.measures.similarity import KINDS
from winkel.methods.starts import principal_start
from winkel.view.forces import plot_similarities
from winkel.view.plots import plot_maps

folder = sys.argv[1] if len(sys.argv) > 1 else "out/examples"
rows = int(sys.argv[2]) if len(sys.argv) > 2 else 800


def forces(objective: str, X: np.ndarray) -> np.ndarray:
    return wk.AttractRepel(objective=objective, random_state=0).fit_transform(X)


def isomap(X: np.ndarray) -> np.ndarray:
    """Isomap, with enough neighbours to connect all rows."""
    n_neighbors = 15
    while wk.graph.knn(X, n_neighbors).components()[0] > 1:
        n_neighbors *= 2
    return wk.quadratic.isomap(X, n_neighbors=n_neighbors).Y


classical = {
    "PCA": lambda X: forces("pca", X),
    "MDS": lambda X: wk.quadratic.classical_mds(squareform(pdist(X))).Y,
    "Isomap": isomap,
    "Laplacian": lambda X: wk.quadratic.laplacian(X).Y,
    "LLE": lambda X: wk.quadratic.lle(X).Y,
}
modern = {
    "t-SNE": lambda X: forces("tsne", X),
    "UMAP": lambda X: forces("umap", X),
    "two-kernel LLE": lambda X: forces("lle", X),
    "MDE": lambda X: wk.MDE(random_state=0).fit_transform(X),
}
methods = classical | modern
datasets = {
    "digits": wk.datasets.load_digits,
    "MNIST": wk.datasets.load_mnist,
    "COIL-20": wk.datasets.load_coil20,
}
names, n_classical = list(methods), len(classical)
totals = {kind: np.zeros((len(names), len(names))) for kind in KINDS}

for title, load in datasets.items():
    data = load()
    chosen = np.sort(np.random.default_rng(0).permutation(len(data.X))[:rows])
    X = principal_start(np.asarray(data.X[chosen], dtype=np.float64), min(50, data.X.shape[1]))
    maps = {name: method(X) for name, method in methods.items()}
    for kind, (i, j) in itertools.product(KINDS, itertools.product(range(len(names)), repeat=2)):
        totals[kind][i, j] += wk.similarity(maps[names[i]], maps[names[j]], kind=kind) / len(datasets)
    plot_maps(maps, labels=np.asarray(data.y)[chosen], path=f"{folder}/forces-{title}.png")
    print(f"{title}: {len(X)} rows, {len(maps)} maps")

off = ~np.eye(len(names), dtype=bool)
old = np.arange(len(names)) < n_classical
for kind, values in totals.items():
    within_old = values[np.outer(old, old) & off].mean()
    within_new = values[np.outer(~old, ~old) & off].mean()
    between = values[np.outer(old, ~old)].mean()
    print(
        f"{kind:<11} classical {within_old:.2f}, modern {within_new:.2f}, between {between:.2f}; "
        f"eq 8: {within_old + within_new - 2 * between:+.2f}"
    )
    plot_similarities(values, names, title=kind, path=f"{folder}/forces-{kind}.png")
