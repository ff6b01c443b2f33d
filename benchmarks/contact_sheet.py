"""All maps of an entry on one small picture: a row for each data set, a column for each contestant.

    python -m benchmarks.contact_sheet [panel]

Reads the maps that the last run kept in the cache, and writes results/ENTRY.png.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from . import panel, quality, report
from .harness import Entry, map_file

CELL, DOTS = 84, 1200  # pixels of a map, and points that are drawn of it
MOST_COLOURS = 64  # of the picture, which keeps it small


def draw(entry: Entry, path: Path) -> Path:
    """Write the sheet of all maps there are."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = {
        (d.key, c.name): map_file(entry.name, d.key, c.name)
        for d in entry.datasets
        for c in entry.contestants
    }
    found = {key: file for key, file in found.items() if file.exists()}
    datasets = [d for d in entry.datasets if any(key == d.key for key, _ in found)]
    names = [c.name for c in entry.contestants if any(name == c.name for _, name in found)]
    if not found:
        raise SystemExit(f"there are no maps yet; run python benchmarks/run.py {entry.name} --full first.")
    size = (CELL * (len(names) + 0.6) / 100, CELL * (len(datasets) + 0.4) / 100)
    figure, axes = plt.subplots(len(datasets), len(names), figsize=size, dpi=100, squeeze=False)
    figure.subplots_adjust(left=0.6 / (len(names) + 0.6), right=1, bottom=0, top=1 - 0.4 / (len(datasets) + 0.4), wspace=0.05, hspace=0.05)  # fmt: skip
    for line, dataset in zip(axes, datasets):
        labels = dataset.labels()
        for ax, name in zip(line, names):
            ax.set_axis_off()
            if dataset is datasets[0]:
                ax.set_title(name.replace(" ", "\n", 1), fontsize=5.5, pad=1)
            if name == names[0]:
                ax.text(
                    -0.08, 0.5, dataset.name, transform=ax.transAxes, fontsize=5.5, ha="right", va="center"
                )
            if (dataset.key, name) in found:
                Y = np.load(found[dataset.key, name])
                rows = quality.sample_rows(len(Y), DOTS)
                colours = None if labels is None else np.unique(labels, return_inverse=True)[1][rows] % 10
                looks = {"color": "#0072B2"} if colours is None else {"c": colours, "cmap": "tab10"}
                ax.scatter(*Y[rows].T, s=0.35, lw=0, **looks)
                ax.set_aspect("equal", adjustable="datalim")
    write_small(figure, path)
    plt.close(figure)
    return path


def write_small(figure: object, path: Path) -> None:
    """Write a figure as a PNG of few colours, under a temporary name first."""
    from PIL import Image

    figure.canvas.draw()  # type: ignore[attr-defined]
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]
    part = path.with_name(f".{path.stem}.part.png")
    Image.fromarray(pixels).quantize(MOST_COLOURS, dither=Image.Dither.NONE).save(part, optimize=True)
    part.replace(path)


def main() -> None:
    entry = {panel.ENTRY.name: panel.ENTRY}[sys.argv[1] if len(sys.argv) > 1 else "panel"]
    path = draw(entry, report.FOLDER / f"{entry.name}.png")
    print(f"written to {path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
