"""Pictures of how far maps can be trusted: scores, curves, ellipses, comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInputError
from ..measures.compare import Comparison
from ..measures.faithfulness import Faithfulness
from ..measures.indicatrix import Indicatrix
from ..measures.registry import Score
from .layers import PALETTE
from .plots import map_points, plot, require_matplotlib, save_figure

_ELLIPSES = 150


def plot_faithfulness(report: Faithfulness, *, path: str | Path | None = None) -> Any:
    """The figure with the scores of a report whose best value is 1, and its curve of R_NX, each next to that of principal components.

    A score of your own is drawn if its range ends at 1 and higher is better. Without the score "rnx_auc" there is no curve.
    """
    curved = "rnx" in report.curves
    figure, axes = require_matplotlib().subplots(
        1, 1 + curved, figsize=(5.6 + 4.9 * curved, 4.2), layout="constrained", squeeze=False
    )
    _bars(axes[0, 0], [score for score in report.scores.values() if score.best == 1])
    if curved:
        _rnx_curve(axes[0, 1], report)
    return _saved(figure, path)


def _bars(ax: Any, scores: list[Score]) -> None:
    """Bars of values from 0 (or the smallest value) to 1, with their intervals and the values of principal components."""
    place = np.arange(len(scores))[::-1]
    values = [score.value for score in scores]
    ax.barh(place + 0.2, values, 0.38, color=PALETTE[0], label="this map")
    for y, score in zip(place, scores):
        if score.interval is not None:
            ax.plot(score.interval, [y + 0.2] * 2, color="black", linewidth=1.5)
    beside = [(y, score.baseline) for y, score in zip(place, scores) if score.baseline is not None]
    if beside:
        at, base = zip(*beside)
        ax.barh(np.array(at) - 0.2, base, 0.38, color=PALETTE[10], label="principal components")
    names = [score.name.replace("_", " ") for score in scores]
    ax.set(yticks=place, yticklabels=names, xlim=(min([0.0, *values]), 1))
    _plain(ax)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _rnx_curve(curve: Any, report: Faithfulness) -> None:
    curve.plot(report.curves["K"], report.curves["rnx"], color=PALETTE[0], linewidth=2)
    if "rnx_baseline" in report.curves:
        curve.plot(report.curves["K"], report.curves["rnx_baseline"], color=PALETTE[10], linewidth=2)
    curve.axhline(0, color="black", linewidth=0.5)
    curve.set(xscale="log", xlabel="neighbours K", ylabel="shared neighbours R_NX (0 is chance)")
    _plain(curve)


def plot_indicatrix(
    Y: ArrayLike | Any, found: Indicatrix, *, n_ellipses: int = _ELLIPSES, path: str | Path | None = None
) -> Any:
    """The figure with a plane map coloured by reliability, and with the ellipses that small circles of the data become.

    Axes of ellipses are cut at three times the median, so that places torn apart do not hide the rest.
    """
    plt = require_matplotlib()
    points = map_points(Y)
    if len(points) != len(found) or found.stretch.angle is None:
        raise InvalidInputError(
            f"a map of {len(found)} points in two dimensions is needed; got shape {points.shape}."
        )
    figure, ax = plt.subplots(figsize=(7.4, 6.4), layout="constrained")
    plot(points, values=found.reliability, title="reliability of each point", ax=ax)
    ax.collections[0].set_clim(0, 1)
    drawn = _spread_rows(points, n_ellipses)
    size = 0.35 * float(np.ptp(points, axis=0).max()) / np.sqrt(max(1, n_ellipses))  # of the middle ellipse
    axes = np.clip(found.stretch.axes[drawn], 0.05, 3) * size
    for i, (a, b) in zip(drawn, axes):
        ax.add_patch(
            plt.matplotlib.patches.Ellipse(
                points[i],
                a,
                b,
                angle=float(np.degrees(found.stretch.angle[i])),
                fill=False,
                linewidth=0.7,
                alpha=0.7,
            )
        )
    return _saved(figure, path)


def plot_comparison(comparison: Comparison, *, path: str | Path | None = None) -> Any:
    """The figure with all plane maps side by side, their R_NX curves, and their similarities."""
    plt = require_matplotlib()
    flat = [name for name in comparison.names if comparison.maps[name].shape[1] == 2]
    columns = max(2, min(4, len(flat)))
    rows = -(-len(flat) // columns)
    figure = plt.figure(figsize=(3.6 * columns, 3.7 * rows + 3.4), layout="constrained")
    grid = figure.add_gridspec(rows + 1, 2 * columns)
    for k, name in enumerate(flat):
        ax = figure.add_subplot(grid[k // columns, 2 * (k % columns) : 2 * (k % columns) + 2])
        score = next(iter(comparison.reports[name].scores.values()))
        title = f"{name}\n{score.name.replace('_', ' ')} {score.value:.3f}"
        plot(comparison.maps[name], labels=comparison.labels, title=title, ax=ax)
        if legend := ax.get_legend():
            legend.remove()
    if all("rnx" in report.curves for report in comparison.reports.values()):
        _curves(figure.add_subplot(grid[rows, :columns]), comparison)
    _similarities(figure.add_subplot(grid[rows, columns:]), comparison)
    return _saved(figure, path)


def _curves(ax: Any, comparison: Comparison) -> None:
    for name, colour in zip(comparison.names, PALETTE):
        curves = comparison.reports[name].curves
        ax.plot(curves["K"], curves["rnx"], color=colour, linewidth=2, label=name)
    first = next(iter(comparison.reports.values())).curves
    if "rnx_baseline" in first:
        ax.plot(
            first["K"], first["rnx_baseline"], color=PALETTE[10], linestyle="--", label="principal components"
        )
    ax.set(xscale="log", xlabel="neighbours K", ylabel="shared neighbours R_NX")
    ax.legend(frameon=False, fontsize="small")
    _plain(ax)


def _similarities(ax: Any, comparison: Comparison) -> None:
    names = comparison.names
    ax.imshow(comparison.similarity, vmin=0, vmax=1, cmap="Blues")
    for a, line in enumerate(comparison.similarity):
        for b, value in enumerate(line):
            ax.text(b, a, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.6 else "black")
    ax.set(
        xticks=range(len(names)), yticks=range(len(names)), yticklabels=names, title="similarity of the maps"
    )
    ax.set_xticklabels(names, rotation=20, ha="right")


def _spread_rows(points: Any, count: int) -> Any:
    """Rows spread over the map: in each cell of a grid, the row nearest to its centre."""
    side = max(1, int(np.sqrt(count)))
    low, width = points.min(axis=0), np.maximum(np.ptp(points, axis=0), np.finfo(float).tiny)
    place = np.clip((points - low) / width * side, 0, side - 1e-9)
    cell = np.floor(place).astype(int) @ [side, 1]
    order = np.lexsort((np.abs(place % 1 - 0.5).sum(axis=1), cell))
    return order[np.append(True, np.diff(cell[order]) > 0)]


def _plain(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def _saved(figure: Any, path: str | Path | None) -> Any:
    if path is not None:
        save_figure(figure, path)
    return figure
