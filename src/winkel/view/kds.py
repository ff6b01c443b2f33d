"""Pictures of K-Deep Simplex: how atoms are used, how many atoms a row uses, atoms as images or among the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInputError
from .layers import PALETTE
from .plots import plot, require_matplotlib, save_figure


def plot_usage(codes: Any, *, ax: Any = None, path: str | Path | None = None) -> Any:
    """The axes with the usage of each atom (the sum of its weights over rows), the most used first."""
    usage = np.sort(np.asarray(codes.sum(axis=0)).ravel())[::-1]
    ax = _axes(ax)
    ax.bar(np.arange(len(usage)), usage, width=1.0, color=PALETTE[0])
    unused = int((usage <= 0).sum())
    ax.set(
        xlabel="atom, most used first", ylabel="sum of weights", title=f"{len(usage)} atoms, {unused} unused"
    )
    return _done(ax, path)


def plot_degrees(codes: Any, *, ax: Any = None, path: str | Path | None = None) -> Any:
    """The axes with the histogram of degrees in the code graph: how many atoms a row uses (paper, figure 1e)."""
    degrees = np.diff(codes.tocsr().indptr)
    values, counts = np.unique(degrees, return_counts=True)
    ax = _axes(ax)
    ax.bar(values, counts, color=PALETTE[0])
    ax.set(
        xlabel="atoms that a row uses", ylabel="rows", title=f"{degrees.mean():.2f} atoms a row on average"
    )
    return _done(ax, path)


def plot_atoms(
    atoms: ArrayLike,
    shape: tuple[int, int],
    *,
    labels: ArrayLike | None = None,
    n_shown: int = 60,
    columns: int = 10,
    path: str | Path | None = None,
) -> Any:
    """The figure with atoms drawn as images of `shape`; the colour of a frame is the atom's label, if given."""
    images = np.asarray(atoms, dtype=float)
    if images.ndim != 2 or images.shape[1] != shape[0] * shape[1]:
        raise InvalidInputError(
            f"atoms of shape {images.shape} cannot be images of {shape[0]} × {shape[1]} = {shape[0] * shape[1]} pixels."
        )
    marks = None if labels is None else np.asarray(labels)
    if marks is not None and marks.shape != (len(images),):
        raise InvalidInputError(
            f"labels must hold one entry an atom, {len(images)}; got shape {marks.shape}."
        )
    order = np.arange(len(images)) if marks is None else np.argsort(marks, kind="stable")
    shown = order[np.linspace(0, len(order) - 1, min(n_shown, len(order))).astype(int)]
    rows = -(-len(shown) // columns)
    plt = require_matplotlib()
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(0.8 * columns, 0.8 * rows * shape[0] / shape[1]),
        layout="constrained",
        squeeze=False,
    )
    for ax in axes.ravel():
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    for ax, atom in zip(axes.ravel(), shown):
        ax.imshow(images[atom].reshape(shape), cmap="gray")
        if marks is not None:
            ax.spines[:].set(visible=True, color=PALETTE[int(marks[atom]) % len(PALETTE)], linewidth=2.5)
    if path is not None:
        save_figure(figure, path)
    return figure


def plot_atoms_among_rows(
    rows: ArrayLike,
    atoms: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    ax: Any = None,
    path: str | Path | None = None,
) -> Any:
    """The axes with rows of two features, or their places on a map, and the atoms on top (paper, figure 4)."""
    ax = plot(rows, labels=labels, ax=ax)
    places = np.asarray(atoms, dtype=float)
    if places.ndim != 2 or places.shape[1] != 2:
        raise InvalidInputError(f"atoms to draw among rows must have shape (m, 2); got {places.shape}.")
    ax.scatter(*places.T, s=45, color="#D00000", edgecolors="white", linewidths=0.8, zorder=3)
    return _done(ax, path)


def _axes(ax: Any) -> Any:
    if ax is None:
        _, ax = require_matplotlib().subplots(figsize=(6.4, 4.0), layout="constrained")
    return ax


def _done(ax: Any, path: str | Path | None) -> Any:
    if path is not None:
        save_figure(ax.figure, path)
    return ax
