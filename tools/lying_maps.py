"""Pictures of maps that mislead, with captions that say by how much: docs/reading.md shows them.

python tools/lying_maps.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import winkel as wk


def noise() -> tuple[str, dict[str, object]]:
    """Clumps where there are none: noise, with attention to very few neighbours."""
    X = np.random.default_rng(0).normal(size=(600, 10))
    few = wk.AttractRepel(objective=wk.objectives.TSNE(perplexity=3), random_state=0).fit(X)
    usual = wk.AttractRepel(objective=wk.objectives.TSNE(perplexity=30), random_state=0).fit(X)
    kept = [wk.measure(X, each, scores=["rnx_auc"]).scores["rnx_auc"].value for each in (few, usual)]
    caption = (
        "600 rows of pure noise in ten dimensions. With a perplexity of 3 (left) the map is full of clumps and chains; with "
        f"30 (right) it is a disc. There is nothing in this data: the area under R_NX is {kept[0]:.2f} and {kept[1]:.2f}."
    )
    return caption, {"perplexity 3": few, "perplexity 30": usual}


def sizes() -> tuple[str, dict[str, object]]:
    """Clusters of different spread, drawn with the same spread."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 10)) * np.where(y == 0, 1.0, 10.0)[:, None] + 100.0 * y[:, None]
    mde, pca = wk.MDE(random_state=0).fit(X), wk.quadratic.pca(X).Y
    ratio = [_spread(Y[y == 1]) / _spread(Y[y == 0]) for Y in (X, mde.embedding_)]
    caption = (
        f"Two clusters, one of them {ratio[0]:.0f} times as wide as the other. In the map of neighbours (left), it is "
        f"{ratio[1]:.1f} times as wide, because such maps even out differences in density. PCA (right) keeps the ratio."
    )
    return caption, {"MDE": mde, "PCA": pca, "labels": y}


def distances() -> tuple[str, dict[str, object]]:
    """Clusters at different distances."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 200)
    centers = np.zeros((3, 10))
    centers[1, 0], centers[2, 0] = 15.0, 150.0
    X = rng.normal(size=(600, 10)) + centers[y]
    maps = {
        "UMAP": wk.AttractRepel(objective="umap", random_state=0).fit(X),
        "MDE": wk.MDE(random_state=0).fit(X),
        "distances": wk.MDE(preserve="distances", random_state=0).fit(X),
    }
    ratio = [_gap(Y, y) for Y in (X, *(each.embedding_ for each in maps.values()))]
    caption = (
        f"Three clusters. In the data, the far cluster is {ratio[0]:.0f} times as far from the first as the near one; in UMAP's map of "
        f"neighbours (left) {ratio[1]:.1f} times, in the default map (middle), which moves groups to where the distances of the data want them, "
        f'{ratio[2]:.1f} times, and with preserve="distances" (right) {ratio[3]:.0f} times.'
    )
    return caption, {**maps, "labels": y}


def torn() -> tuple[str, dict[str, object]]:
    """One surface, shown in pieces."""
    rng = np.random.default_rng(0)
    t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=1500))
    X = np.column_stack([t * np.cos(t), 21 * rng.uniform(size=1500), t * np.sin(t)])
    few = wk.AttractRepel(objective=wk.objectives.TSNE(perplexity=5), random_state=0).fit(X)
    whole = wk.MDE(random_state=0).fit(X)
    kept = [wk.measure(X, each, scores=["continuity"]).scores["continuity"].value for each in (few, whole)]
    caption = (
        "A rolled-up sheet, coloured along the roll. It is one piece, but with a perplexity of 5 (left) the map shows islands; the "
        f"default map is on the right. Continuity, which falls when neighbours are torn apart, is {kept[0]:.3f} and {kept[1]:.3f}."
    )
    return caption, {"perplexity 5": few, "MDE": whole, "values": t}


def _spread(Y: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.var(Y, axis=0))))


def _gap(Y: np.ndarray, y: np.ndarray) -> float:
    """Distance from the first cluster to the third, divided by that to the second."""
    centers = np.array([Y[y == k].mean(axis=0) for k in range(3)])
    near, far = np.linalg.norm(centers[1:] - centers[0], axis=1)
    return float(far / near)


def main(folder: Path) -> None:
    """Write each picture and its caption."""
    folder.mkdir(parents=True, exist_ok=True)
    for make in (noise, sizes, distances, torn):
        caption, shown = make()
        colours = {kind: shown.pop(kind) for kind in ("labels", "values") if kind in shown}
        figure, axes = plt.subplots(1, len(shown), figsize=(5 * len(shown), 4.2), layout="constrained")
        for ax, (title, each) in zip(axes, shown.items(), strict=True):
            wk.plot(each, title=title, ax=ax, **colours)
        figure.savefig(folder / f"{make.__name__}.png", dpi=80)
        plt.close(figure)
        (folder / f"{make.__name__}.txt").write_text(caption, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
