"""Chapter 9: a co-authorship network drawn by the lengths of its shortest paths."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

network = wk.Graph.from_adjacency(wk.datasets.load_coauthorship("HepTh").X)
count, component = network.components()
network = network.subgraph(component == 0)
print(f"largest of {count} components: {network.n} authors, {network.n_edges} pairs of co-authors")

mde = wk.MDE(preserve="distances", max_distances=2_000_000, max_iter=200, random_state=0).fit(network)
loss = mde.problem_.distortion
assert isinstance(loss, wk.losses.Absolute)
mean = np.asarray(loss.deviations).mean()
print(f"paths of {mean:.2f} steps on average are drawn with an error of {mde.objective_:.2f}")
degree = np.log10(network.degree)
wk.plot(
    mde,
    values=degree,
    title="Co-authors, colour: log₁₀ of how many",
    path=folder / "networks.png",
)
