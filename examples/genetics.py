"""Chapter 11: genes of Europeans make a map of Europe; with bad data mixed in PCA loses it and MDE does not."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk
from winkel.view.plots import plot_maps

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

rng = np.random.default_rng(0)
people = wk.datasets.load_popres()
clean = people.X * np.sqrt(people.extras["eigenvalues"]).astype(
    np.float64
)  # principal components with their spread
rotation, _ = np.linalg.qr(rng.normal(size=(20, 20)))
bad = np.hstack([rng.integers(0, 3, size=(154, 10)), rng.choice([1 / 12, 1 / 8], size=(154, 10))])
corrupted = np.vstack([clean @ rotation, bad])
place = np.asarray(people.extras["lonlat"], dtype=np.float64)
n = len(clean)


def europe(Y: np.ndarray) -> float:
    """How much of the variance of longitude and latitude a straight-line fit on the map explains."""
    A = np.column_stack([Y[:n], np.ones(n)])
    residual = place - A @ np.linalg.lstsq(A, place, rcond=None)[0]
    return 1 - float((residual**2).sum() / ((place - place.mean(axis=0)) ** 2).sum())


def mde(X: np.ndarray) -> np.ndarray:
    """Huber attraction, logarithmic repulsion between all other pairs."""
    return wk.MDE(attractive="huber", repulsive="log", repulsive_fraction=1e6, random_state=0).fit_transform(
        X
    )


maps = {
    "PCA, clean": wk.quadratic.pca(clean).to_textbook(),
    "PCA, with bad data": wk.quadratic.pca(corrupted).to_textbook()[:n],
    "MDE, clean": mde(clean),
    "MDE, with bad data": mde(corrupted)[:n],
}
for name, Y in maps.items():
    print(f"{name:<20} explains {europe(Y):.2f} of longitude and latitude")
plot_maps(maps, labels=people.y, path=folder / "genetics.png")
