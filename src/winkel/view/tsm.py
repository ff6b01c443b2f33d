"""Figures of thresholded similarity matching: angles and the threshold, and how much maps keep by dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..methods.tsm import AngleHistogram
from .layers import PALETTE
from .plots import require_matplotlib, save_figure

__all__ = ["plot_angles", "plot_by_dimension"]


def plot_angles(
    histogram: AngleHistogram, *, title: str | None = None, ax: Any = None, path: str | Path | None = None
) -> Any:
    """The axes with the angles of nearest neighbours and of other pairs, and the threshold (Saul 2023, fig 2).

    Parameters
    ----------
    histogram : AngleHistogram
        The result of `winkel.methods.tsm.angle_histogram` or `TSM.angle_histogram`.
    title : str or None, default=None
        Title of the axes.
    ax : matplotlib axes or None, default=None
        Axes to draw on; None makes a new figure.
    path : path or None, default=None
        File to save the figure to.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.view.tsm import plot_angles
    >>> shown = wk.TSM(random_state=0).angle_histogram(wk.datasets.load_digits().X[:300])
    >>> ax = plot_angles(shown, path="angles.png")
    """
    if ax is None:
        _, ax = require_matplotlib().subplots(figsize=(6.4, 4.0), layout="constrained")
    for density, name, colour in (
        (histogram.nearest, "nearest neighbours", PALETTE[0]),
        (histogram.others, "other pairs", PALETTE[1]),
    ):
        ax.stairs(density, histogram.edges, fill=True, alpha=0.6, color=colour, label=name)
    angle = float(np.degrees(np.arccos(histogram.threshold)))
    ax.axvline(angle, color=PALETTE[5], label=f"threshold: cosine {histogram.threshold:.3f}, {angle:.1f}°")
    seen = np.flatnonzero(histogram.nearest + histogram.others)
    if len(seen):
        ax.set_xlim(max(0.0, histogram.edges[seen[0]] - 2), min(180.0, histogram.edges[seen[-1] + 1] + 2))
    ax.set(xlabel="angle between rows (degrees)", ylabel="density", title=title)
    ax.plot(
        [], [], " ", label=f"similar: {1 - histogram.sparsity:.1%} of pairs, {histogram.kept:.1%} of nearest"
    )
    ax.legend(frameon=False, fontsize="small")
    if path is not None:
        save_figure(ax.figure, path)
    return ax


def plot_by_dimension(
    dimensions: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    *,
    ylabel: str,
    title: str | None = None,
    ax: Any = None,
    path: str | Path | None = None,
) -> Any:
    """The axes with one curve per method, over the dimension of its maps (as in figs 3 to 7 and 9 of Saul 2023).

    Parameters
    ----------
    dimensions : sequence of int
        Dimensions of the maps.
    curves : mapping of str to sequence of float
        One value per dimension, by the name of the method.
    ylabel : str
        Description of the values.
    title : str or None, default=None
        Title of the axes.
    ax : matplotlib axes or None, default=None
        Axes to draw on; None makes a new figure.
    path : path or None, default=None
        File to save the figure to.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> from winkel.view.tsm import plot_by_dimension
    >>> ax = plot_by_dimension([4, 8], {"TSM": [2.0, 0.5], "SVD": [8.0, 4.4]}, ylabel="degrees")
    """
    if ax is None:
        _, ax = require_matplotlib().subplots(figsize=(4.8, 3.8), layout="constrained")
    for (name, values), colour in zip(curves.items(), PALETTE):
        ax.plot(list(dimensions), list(values), "o-", color=colour, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(dimensions), [str(d) for d in dimensions])
    ax.set_ylim(bottom=0)
    ax.set(xlabel="dimensions", ylabel=ylabel, title=title)
    ax.legend(frameon=False, fontsize="small")
    if path is not None:
        save_figure(ax.figure, path)
    return ax
