"""What `winkel demo` does: maps of the built-in digits by every method, how faithful each is, a picture and a page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ..data.datasets import load_digits
from ..estimators import KDS, LVM, MDE, TSM, AttractRepel
from ..graph import knn
from ..measures.compare import compare
from ..measures.indicatrix import indicatrix
from ..view.explorer import write_html
from ..view.plots import plot_maps

_N_NEIGHBORS = 15


def methods(seed: int) -> dict[str, Any]:
    """One estimator a map; all but the last give maps of two dimensions."""
    return {
        "MDE": MDE(random_state=seed),
        "MDE, distances": MDE(preserve="distances", max_distances=200_000, random_state=seed),
        "LVM": LVM(random_state=seed),
        "two-kernel LLE": AttractRepel(objective="lle", random_state=seed),
        "t-SNE": AttractRepel(objective="tsne", random_state=seed),
        "KDS": KDS(random_state=seed),
        "TSM, 16 dimensions": TSM(16, random_state=seed),
    }


def demo(output: str, seed: int) -> None:
    """Print what is done, and write the picture and the page into the folder `output`."""
    digits = load_digits()
    print(f"{len(digits.X)} handwritten digits of {digits.X.shape[1]} pixels")
    start = time.perf_counter()
    found = compare(digits.X, methods(seed), labels=digits.y, n_neighbors=_N_NEIGHBORS, random_state=seed)
    print(found)
    print(f"all maps and their scores: {time.perf_counter() - start:.1f} s")
    flat = {name: Y for name, Y in found.maps.items() if Y.shape[1] == 2}
    folder = Path(output)
    plot_maps(flat, labels=digits.y, path=folder / "maps.png")
    page = write_html(
        folder / "maps.html",
        flat,
        labels=digits.y,
        images=16 - digits.X.reshape(-1, 8, 8),
        neighbors=knn(digits.X, _N_NEIGHBORS, random_state=seed),
        indicatrix={name: indicatrix(digits.X, Y, n_neighbors=_N_NEIGHBORS) for name, Y in flat.items()},
        scores={name: found.reports[name] for name in flat},
        title="Handwritten digits",
    )
    print(f"picture: {folder / 'maps.png'}\npage to explore: {page}")
