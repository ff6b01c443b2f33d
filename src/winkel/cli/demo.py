"""What `winkel demo` does: maps of the built-in digits, a picture of them, and how long each took."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from ..data.datasets import load_digits
from ..estimators import MDE
from ..graph import Graph, knn, spectral_embedding
from ..typing import FloatArray
from ..view.plots import plot_maps
from .console import Console, Outcome

_N_NEIGHBORS = 15

# Name of a map: from the neighbour graph and a seed to points in the plane.
MAPS: dict[str, Callable[[Graph, int], FloatArray]] = {
    "spectral": lambda graph, seed: spectral_embedding(graph, 2, random_state=seed),
    "MDE, neighbours": lambda graph, seed: MDE(random_state=seed).fit_transform(graph),
    "MDE, distances": lambda graph, seed: MDE(
        preserve="distances", loss="absolute", max_distances=200_000, random_state=seed
    ).fit_transform(graph),
}


def command(options: Namespace, console: Console) -> Outcome:
    """Say what is done and write the picture into the folder."""
    seed, say = options.seed, console.note
    digits = load_digits()
    say(f"{len(digits.X)} handwritten digits of {digits.X.shape[1]} pixels")
    start = time.perf_counter()
    graph = knn(digits.X, _N_NEIGHBORS, random_state=seed)
    seconds = {"neighbour graph": time.perf_counter() - start}
    say(f"  {'neighbour graph':<18}{graph.n_edges:>8} edges  {seconds['neighbour graph']:6.2f} s")
    maps = {}
    for name, make in MAPS.items():
        start = time.perf_counter()
        maps[name] = make(graph, seed)
        seconds[name] = time.perf_counter() - start
        say(f"  {name:<18}{len(maps[name]):>8} points {seconds[name]:6.2f} s")
    picture = Path(options.output) / "maps.png"
    plot_maps(maps, labels=digits.y, path=picture)
    say(f"picture: {picture}")
    return Outcome({"command": "demo", "files": {"picture": str(picture)}, "seconds": seconds})
