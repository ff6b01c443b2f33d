"""How flat surfaces are, what `focus="auto"` makes of them, and its scores beside those of the other places.

python -m benchmarks.surfaces            # about a minute; the figures of docs/mde.md
python -m benchmarks.surfaces --mammoth  # all 50 000 points of the mammoth, and what of its links is cut
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import winkel as wk
from winkel.methods.mde.plan import flatness, intrinsic_dimension
from winkel.run import Run

from .quality import all_scales, sample_rows

ROWS, SAMPLE = 4000, 500


def surfaces() -> dict[str, np.ndarray]:
    from sklearn.datasets import make_s_curve, make_swiss_roll

    random = np.random.Generator(np.random.Philox(key=3))
    ball = random.normal(size=(ROWS, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    u, v = 2 * np.pi * random.random((2, ROWS))
    t = 20 * random.random(ROWS)
    found = {
        "Swiss roll": make_swiss_roll(10_000, random_state=0)[0],
        "Swiss roll, noise 0.6": make_swiss_roll(ROWS, noise=0.6, random_state=0)[0],
        "S curve": make_s_curve(ROWS, random_state=0)[0],
        "square": np.pad(random.random((ROWS, 2)), ((0, 0), (0, 3))),
        "helix": np.column_stack([np.cos(t), np.sin(t), 0.3 * t]),
        "half a sphere": np.column_stack([ball[:, :2], np.abs(ball[:, 2])]),
        "sphere": ball,
        "torus": np.column_stack(
            [(2 + 0.7 * np.cos(v)) * np.cos(u), (2 + 0.7 * np.cos(v)) * np.sin(u), 0.7 * np.sin(v)]
        ),
    }
    mammoth = Path(os.environ.get("WINKEL_DATA", "")) / "mammoth_3d_50k.npz"
    if mammoth.is_file():
        found["mammoth"] = np.load(mammoth, allow_pickle=False)["X"][::10]
    return {name: np.ascontiguousarray(X, dtype=np.float32) for name, X in found.items()}


def whole_mammoth() -> None:
    """Print the report of the default map of all points."""
    X = np.load(Path(os.environ["WINKEL_DATA"]) / "mammoth_3d_50k.npz", allow_pickle=False)["X"]
    names = ["continuity", "distance_correlation", "neighbor_recall", "rnx_auc", "tearing"]
    print(
        wk.measure(
            X, wk.MDE(random_state=0).fit(X.astype(np.float32)), scores=names, baseline=False, sample=1000
        )
    )


def main() -> None:
    if "--mammoth" in sys.argv:
        whole_mammoth()
        return
    print("| data | dimension | flatness | auto | recall, R_NX area, distances: auto | shape | neighbors |")
    print("| --- | ---: | ---: | --- | --- | --- | --- |")
    for name, X in surfaces().items():
        graph = wk.graph.knn(X, 15, random_state=0)
        whole = graph.components()[0] == 1
        flat = f"{flatness(graph, Run.of(random_state=0)):.3f}" if whole else "–"
        cells = []
        for focus in ("auto", "shape", "neighbors"):
            model = wk.MDE(focus=focus, random_state=0).fit(X)
            scores = all_scales(X, model.embedding_, sample_rows(len(X), SAMPLE))
            cells.append(
                " ".join(f"{scores[key]:.3f}" for key in ("recall 15", "R_NX AUC", "distance correlation"))
            )
            if focus == "auto":
                place = model.result_.settings["focus"]
        print(
            f"| {name} | {intrinsic_dimension(graph):.1f} | {flat} | {place} | {' | '.join(cells)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
