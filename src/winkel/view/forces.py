"""Pictures of attraction and repulsion: how well objectives agree, and how similar the maps of different methods are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.forces import Agreement
from .layers import PALETTE
from .plots import require_matplotlib, save_figure

__all__ = ["plot_agreement", "plot_similarities"]


def plot_agreement(found: Mapping[str, Agreement], *, path: str | Path | None = None) -> Any:
    """The matplotlib axes with the cosine between the gradients of two objectives during fits, one line per data set.

    Parameters
    ----------
    found : mapping of str to Agreement
        Results of `wk.gradient_agreement`, by a name for the legend.
    path : str, Path or None, default=None
        A file for the picture.

    Returns
    -------
    matplotlib Axes
        The picture.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.view.forces import plot_agreement
    >>> X = wk.datasets.load_digits().X[:200]
    >>> found = wk.gradient_agreement(X, None, "umap", "lle", max_iter=20, random_state=0)
    >>> ax = plot_agreement({"digits": found}, path="agreement.png")
    """
    plt = require_matplotlib()
    _, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    for (name, agreement), colour in zip(found.items(), PALETTE * len(found)):
        ax.plot(agreement.iteration, agreement.cosine, color=colour, label=name, linewidth=1.5)
    ax.axhline(0, color="#999999", linewidth=0.8)
    one = next(iter(found.values()))
    ax.set(
        xlabel=f"iteration of {one.a.name}",
        ylabel="cosine of the gradients",
        title=f"{one.a.name} and {one.b.name}",
        ylim=(-1.05, 1.05),
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    if path is not None:
        save_figure(ax.figure, path)
    return ax


def plot_similarities(
    values: NDArray[np.float64],
    names: Sequence[str],
    *,
    title: str | None = None,
    path: str | Path | None = None,
) -> Any:
    """The matplotlib axes with a matrix of similarities between methods, in [0, 1].

    Parameters
    ----------
    values : array of shape (n, n)
        Similarities, as of `wk.similarity`.
    names : sequence of str
        Names of the methods.
    title : str or None, default=None
        Above the picture.
    path : str, Path or None, default=None
        A file for the picture.

    Returns
    -------
    matplotlib Axes
        The picture.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.view.forces import plot_similarities
    >>> ax = plot_similarities(np.array([[1.0, 0.4], [0.4, 1.0]]), ["MDE", "PCA"])
    """
    plt = require_matplotlib()
    _, ax = plt.subplots(figsize=(1.8 + 0.62 * len(names), 1.4 + 0.62 * len(names)), layout="constrained")
    image = ax.imshow(values, vmin=0, vmax=1, cmap="viridis")
    for i in range(len(names)):
        for j in range(len(names)):
            shade = "black" if values[i, j] > 0.6 else "white"
            ax.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", fontsize=8, color=shade)
    ax.set(title=title)
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.figure.colorbar(image, ax=ax, shrink=0.7)
    if path is not None:
        save_figure(ax.figure, path)
    return ax
