"""Chapter 10: US counties mapped by demographics, and coloured by votes that the fit did not use."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

counties = wk.datasets.load_counties()
mde = wk.MDE(random_state=0).fit(counties.X)
index, _ = wk.graph.knn_query(mde.embedding_, mde.embedding_, 11)
guess = counties.y[index[:, 1:]].mean(axis=1)  # the first neighbour is the county itself
correlation = np.corrcoef(guess, counties.y)[0, 1]
print(f"vote share predicted by the 10 nearest counties on the map: correlation {correlation:.2f}")
wk.plot(
    mde,
    values=counties.y,
    title="US counties, colour: vote share",
    path=folder / "counties.png",
)
