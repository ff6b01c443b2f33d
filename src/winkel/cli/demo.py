"""`winkel demo`: maps of the built-in digits by every method, the faithfulness of each, a picture and a page."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from ..data.datasets import load_digits
from ..estimators import KDS, LVM, MDE, TSM, AttractRepel
from ..graph import knn
from ..measures.compare import compare
from ..measures.indicatrix import indicatrix
from ..view.explorer import write_html
from ..view.plots import plot_maps
from .console import Console, Outcome
from .measure import score_values

_N_NEIGHBORS = 15


def methods(seed: int) -> dict[str, Any]:
    """One estimator per map; all but the last make maps of two dimensions."""
    return {
        "MDE": MDE(random_state=seed),
        "LVM": LVM(levels=1, random_state=seed),
        "two-kernel LLE": AttractRepel(objective="lle", random_state=seed),
        "t-SNE": AttractRepel(objective="tsne", random_state=seed),
        "KDS": KDS(locality=0.1, random_state=seed),
        "TSM, 16 dimensions": TSM(16, random_state=seed),
    }


def command(options: Namespace, console: Console) -> Outcome:
    """The table of scores; the picture and the page are written into the folder."""
    seed = options.seed
    digits = load_digits()
    console.note(f"{len(digits.X)} handwritten digits of {digits.X.shape[1]} pixels")
    start = time.perf_counter()
    found = compare(digits.X, methods(seed), labels=digits.y, n_neighbors=_N_NEIGHBORS, random_state=seed)
    console.note(f"all maps and their scores: {time.perf_counter() - start:.1f} s")
    flat = {name: Y for name, Y in found.maps.items() if Y.shape[1] == 2}
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)  # a folder is what was asked for
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
    files = {"picture": str(folder / "maps.png"), "page": str(page)}
    for what, path in files.items():
        console.note(f"{what}: {path}")
    scores = {name: score_values(report) for name, report in found.reports.items()}
    return Outcome({"command": "demo", "scores": scores, "files": files}, str(found))
