"""K-Deep Simplex: moons and digits as mixtures of a few atoms; their clusters, compared with k-means; and pictures.

python examples/kds.py [folder for pictures]
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

import winkel as wk
from winkel.measures.classes import clustering_accuracy
from winkel.methods.kds import error_by_atoms
from winkel.view.kds import plot_atoms, plot_atoms_among_rows, plot_degrees, plot_usage

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

moons, moon = make_moons(2000, noise=0.05, random_state=0)
model = wk.KDSClustering(2, n_atoms=24, random_state=0).fit(moons)
means = KMeans(2, random_state=0).set_params(n_init=5).fit_predict(moons)
print(f"moons, 24 atoms: accuracy {clustering_accuracy(moon, model.labels_):.3f},", end=" ")
print(f"k-means {clustering_accuracy(moon, means):.3f}")
plot_atoms_among_rows(moons, model.atoms_, labels=model.labels_, path=folder / "kds_moons.png")

digits = wk.datasets.load_digits()
X = digits.X / np.linalg.norm(digits.X, axis=1, keepdims=True)
print(error_by_atoms(X, (25, 50, 100, 200), random_state=0))

model = wk.KDSClustering(10, n_atoms=200, random_state=0).fit(X)
means = KMeans(10, random_state=0).set_params(n_init=5).fit_predict(X)
print(f"digits, 200 atoms: accuracy {clustering_accuracy(digits.y, model.labels_):.3f},", end=" ")
print(f"k-means {clustering_accuracy(digits.y, means):.3f};", end=" ")
print(f"{model.codes_.nnz / len(X):.2f} atoms per row. {model.status_.sentence}")
plot_atoms(model.atoms_, (8, 8), labels=model.atom_labels_, path=folder / "kds_atoms.png")
plot_degrees(model.codes_, path=folder / "kds_degrees.png")
plot_usage(model.codes_, path=folder / "kds_usage.png")

few = wk.KDS(n_atoms=200, locality=0.2, random_state=0).fit(X)
wk.plot(few.embedding_, labels=digits.y, title="digits by wk.KDS", path=folder / "kds_map.png")
