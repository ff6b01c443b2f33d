"""Chapter 12: a map of single cells, and new cells placed on the finished map."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

cells = wk.datasets.load_covid_balf()
later = np.arange(len(cells.X)) % 10 == 0
mde = wk.MDE(random_state=0).fit(cells.X[~later])
Y = np.empty((len(cells.X), 2), dtype=np.float32)
Y[~later] = mde.embedding_
Y[later] = mde.transform(cells.X[later])
index, _ = wk.graph.knn_query(Y[later], Y[~later], 10)
votes = cells.y[~later][index]
right = np.mean([np.bincount(v).argmax() == y for v, y in zip(votes, cells.y[later])])
print(f"{later.sum()} new cells: for {right:.1%}, the 10 nearest points on the map predict the right type")
names = np.array([cells.label_names.get(int(c), str(c)) for c in cells.y])
wk.plot(Y, labels=names, title="Cells of three patients", path=folder / "cells.png")
