"""Handwritten digits as a page to explore: three linked maps, and how far each point can be trusted."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
truth = wk.graph.knn(digits.X, 15).knn_indices

maps = {
    "MDE": wk.MDE(repulsive_pairs="all", random_state=0, keep_frames=25).fit(digits.X),
    "PCA": wk.quadratic.pca(digits.X, 2).Y,
    "MDE in space": wk.MDE(3, repulsive_pairs="all", random_state=0).fit(digits.X),
}


def kept(map):
    """For each row, the share of its 15 nearest rows that are among its 15 nearest on the map."""
    shown = wk.graph.knn(map.embedding_ if isinstance(map, wk.MDE) else map, 15).knn_indices
    return np.array([len(np.intersect1d(a, b)) / 15 for a, b in zip(truth, shown)])


reliability = {name: kept(map) for name, map in maps.items()}
recall = {name: {"neighbor_recall": share.mean()} for name, share in reliability.items()}
for name, share in reliability.items():
    print(
        f"{name}: keeps {share.mean():.0%} of the neighbours; {np.mean(share < 0.2):.0%} of the rows keep less than a fifth"
    )

path = wk.write_html(
    folder / "explorer.html",
    maps,
    labels=digits.y,
    reliability=reliability,
    images=digits.X.reshape(-1, 8, 8),
    fields={"ink": digits.X.sum(axis=1).astype(int)},
    scores=recall,
    title="Handwritten digits",
)
print(f"{path}: {path.stat().st_size / 1e6:.2f} MB; open it in a browser")
