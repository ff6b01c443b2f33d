"""What `winkel demo` does: maps of the built-in digits, a picture of them, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..data.datasets import load_digits
from ..estimators import MDE
from ..graph import Graph, knn, spectral_embedding
from ..typing import FloatArray
from ..view.plots import plot_maps

_N_NEIGHBORS = 15

# Name of a map: from the neighbour graph and a seed to points in the plane.
MAPS: dict[str, Callable[[Graph, int], FloatArray]] = {
    "spectral": lambda graph, seed: spectral_embedding(graph, 2, random_state=seed),
    "MDE, neighbours": lambda graph, seed: MDE(random_state=seed).fit_transform(graph),
    "MDE, distances": lambda graph, seed: MDE(
        preserve="distances", loss="absolute", max_distances=200_000, random_state=seed
    ).fit_transform(graph),
}


def demo(output: str, seed: int) -> None:
    """Print what is done and write the picture into the folder `output`."""
    digits = load_digits()
    print(f"{len(digits.X)} handwritten digits of {digits.X.shape[1]} pixels")
    start = time.perf_counter()
    graph = knn(digits.X, _N_NEIGHBORS, random_state=seed)
    print(f"  {'neighbour graph':<18}{graph.n_edges:>8} edges  {time.perf_counter() - start:6.2f} s")
    maps = {}
    for name, make in MAPS.items():
        start = time.perf_counter()
        maps[name] = make(graph, seed)
        print(f"  {name:<18}{len(maps[name]):>8} points {time.perf_counter() - start:6.2f} s")
    picture = Path(output) / "maps.png"
    plot_maps(maps, labels=digits.y, path=picture)
    print(f"picture: {picture}")
