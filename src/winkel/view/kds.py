"""Pictures of K-Deep Simplex: how much atoms are used, how many atoms a row uses, atoms as images or among the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import integer
from ..errors import InvalidInputError
from .layers import PALETTE
from .plots import plot, require_matplotlib, save_figure

__all__ = ["plot_atoms", "plot_atoms_among_rows", "plot_degrees", "plot_usage"]


def plot_usage(codes: Any, *, ax: Any = None, path: str | Path | None = None) -> Any:
    """The axes with the usage of each atom (the sum of its weights over rows), most used first.

    Parameters
    ----------
    codes : sparse matrix of shape (n_samples, n_atoms)
        Codes of rows, such as `KDS.codes_`.
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
    >>> from winkel.view.kds import plot_usage
    >>> kds = wk.KDS(n_atoms=20, max_iter=60, random_state=0).fit(wk.datasets.load_digits().X[:300])
    >>> ax = plot_usage(kds.codes_, path="usage.png")
    """
    usage = np.sort(np.asarray(codes.sum(axis=0)).ravel())[::-1]
    ax = _axes(ax)
    ax.bar(np.arange(len(usage)), usage, width=1.0, color=PALETTE[0])
    unused = int((usage <= 0).sum())
    ax.set(
        xlabel="atom, most used first", ylabel="sum of weights", title=f"{len(usage)} atoms, {unused} unused"
    )
    return _done(ax, path)


def plot_degrees(codes: Any, *, ax: Any = None, path: str | Path | None = None) -> Any:
    """The axes with the histogram of the number of atoms that a row uses, its degree in the code graph (paper, figure 1e).

    Parameters
    ----------
    codes : sparse matrix of shape (n_samples, n_atoms)
        Codes of rows, such as `KDS.codes_`.
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
    >>> from winkel.view.kds import plot_degrees
    >>> kds = wk.KDS(n_atoms=20, max_iter=60, random_state=0).fit(wk.datasets.load_digits().X[:300])
    >>> ax = plot_degrees(kds.codes_)
    """
    degrees = np.diff(codes.tocsr().indptr)
    values, counts = np.unique(degrees, return_counts=True)
    ax = _axes(ax)
    ax.bar(values, counts, color=PALETTE[0])
    ax.set(
        xlabel="atoms that a row uses", ylabel="rows", title=f"{degrees.mean():.2f} atoms per row on average"
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
    """The figure with atoms drawn as images.

    Parameters
    ----------
    atoms : array of shape (n_atoms, height * width)
        The atoms.
    shape : tuple of int
        Height and width of an image.
    labels : array of int of shape (n_atoms,) or None, default=None
        A label for each atom; atoms are ordered by it, and it gives the colour of their frames.
    n_shown : int, default=60
        Number of atoms to show, evenly spaced among all.
    columns : int, default=10
        Number of images in a line.
    path : path or None, default=None
        File to save the figure to.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.view.kds import plot_atoms
    >>> kds = wk.KDS(n_atoms=20, max_iter=60, random_state=0).fit(wk.datasets.load_digits().X[:300])
    >>> figure = plot_atoms(kds.atoms_, (8, 8))
    """
    images = np.asarray(atoms, dtype=float)
    if images.ndim != 2 or images.shape[1] != shape[0] * shape[1]:
        raise InvalidInputError(
            f"atoms of shape {images.shape} cannot be images of {shape[0]} × {shape[1]} = {shape[0] * shape[1]} pixels."
        )
    marks = None if labels is None else np.asarray(labels)
    if marks is not None and marks.shape != (len(images),):
        raise InvalidInputError(
            f"labels must hold one entry per atom, {len(images)}; got shape {marks.shape}."
        )
    order = np.arange(len(images)) if marks is None else np.argsort(marks, kind="stable")
    shown = order[np.linspace(0, len(order) - 1, min(integer("n_shown", n_shown, 1), len(order))).astype(int)]
    rows = -(-len(shown) // integer("columns", columns, 1))
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
    """The axes with rows of two features, or their places on a map, and the atoms on top (paper, figure 4).

    Parameters
    ----------
    rows : array of shape (n_samples, 2)
        Rows, or their places.
    atoms : array of shape (n_atoms, 2)
        Atoms, or their places.
    labels : array of shape (n_samples,) or None, default=None
        Labels by which the rows are coloured.
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
    >>> from winkel.view.kds import plot_atoms_among_rows
    >>> kds = wk.KDS(n_atoms=20, max_iter=60, random_state=0).fit(wk.datasets.load_digits().X[:300])
    >>> ax = plot_atoms_among_rows(kds.embedding_, kds.atom_places_)
    """
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
