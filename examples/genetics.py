"""Chapter 11: genes of Europeans make a map of Europe. If bad data is mixed in, PCA loses that map and robust MDE does not."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk
from winkel.view.plots import plot_maps

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

rng = np.random.default_rng(0)
people = wk.datasets.load_popres()
clean = people.X * np.sqrt(people.extras["eigenvalues"]).astype(np.float64)  # with their spread
rotation, _ = np.linalg.qr(rng.normal(size=(20, 20)))
bad = np.hstack([rng.integers(0, 3, size=(154, 10)), rng.choice([1 / 12, 1 / 8], size=(154, 10))])
corrupted = np.vstack([clean @ rotation, bad])
place = np.asarray(people.extras["lonlat"], dtype=np.float64)
n = len(clean)


def europe(Y: np.ndarray) -> float:
    """Share of the variance of longitude and latitude that a linear fit on the map explains."""
    A = np.column_stack([Y[:n], np.ones(n)])
    residual = place - A @ np.linalg.lstsq(A, place, rcond=None)[0]
    return 1 - float((residual**2).sum() / ((place - place.mean(axis=0)) ** 2).sum())


def papers(X: np.ndarray) -> np.ndarray:
    """Huber attraction, logarithmic repulsion between all other pairs, as in the paper."""
    return wk.MDE(attractive="huber", repulsive="log", repulsive_fraction=1e6, random_state=0).fit_transform(
        X
    )


def robust(X: np.ndarray) -> np.ndarray:
    """PCA is quadratic MDE with weights x·y. Here the weights are cosines, and only mutual neighbours are connected."""
    graph = wk.graph.knn(X, 15, random_state=0)
    mutual = graph.weights > 1
    joined = wk.Graph.from_edges(graph.edges[mutual], n=len(X), distances=graph.edge_distances[mutual])
    inside = joined.components()[1] == 0
    center = X[inside].mean(axis=0)
    for _ in range(100):  # the spatial median
        weight = 1 / np.linalg.norm(X[inside] - center, axis=1)
        center = np.average(X[inside], axis=0, weights=weight)
    seen = X - center
    directions = seen[inside] / np.linalg.norm(seen[inside], axis=1, keepdims=True)
    return seen @ np.linalg.svd(directions, full_matrices=False)[2][:2].T


maps = {}
for name, make in (
    ("PCA", lambda X: wk.quadratic.pca(X).to_textbook()),
    ("MDE, the paper's", papers),
    ("MDE, weights of cosines", robust),
):
    maps[f"{name}, clean"] = make(clean)
    maps[f"{name}, with bad data"] = make(corrupted)[:n]
for name, Y in maps.items():
    print(f"{name:<40} explains {europe(Y):.2f} of longitude and latitude")
plot_maps(maps, labels=people.y, path=folder / "genetics.png")
