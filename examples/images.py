"""Chapter 8: a map of handwritten digits, and the pairs that the map gets most wrong."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

mnist = wk.datasets.load_mnist()
X = wk.quadratic.pca(mnist.X, 50).to_textbook().astype(np.float32)
mde = wk.MDE(random_state=0, verbose=True).fit(X)
print(mde.result_, f"{mde.history_.seconds[-1]:.1f} s in the solver")

pairs, distortions = mde.problem_.high_distortion_pairs(mde.embedding_, 2000)
similar = mde.graph_.adjacency[pairs[:, 0], pairs[:, 1]] > 0
mixed = mnist.y[pairs[:, 0]] != mnist.y[pairs[:, 1]]
print(f"of the 2 000 pairs of highest distortion, {similar.mean():.0%} are neighbours that were torn apart;")
print(f"{mixed[similar].mean():.0%} of those show two different digits")
wk.plot(mde, labels=mnist.y, title="MNIST by wk.MDE()", path=folder / "images.png")
