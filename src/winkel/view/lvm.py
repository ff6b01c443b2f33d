"""Pictures of a latent variable model: the map with its variances, its density, its most uncertain items (Saul 2020, SM)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import integer, number
from ..errors import InvalidInputError
from ..typing import FloatArray
from .layers import PALETTE
from .plots import column, map_points, plot, require_matplotlib, save_figure

__all__ = ["most_uncertain", "plot_density", "plot_uncertain", "plot_variance"]


def plot_variance(
    Y: ArrayLike | Any,
    variance: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    quantile: float = 0.95,
    path: str | Path | None = None,
) -> Any:
    """The matplotlib figure with the map coloured by log variance, next to the map without its most uncertain rows.

    The second panel leaves out the rows whose variance is above the quantile (fig. S2). A histogram of all variances is
    below.

    Parameters
    ----------
    Y : array of shape (n, 2), fitted estimator or Embedding
        The map.
    variance : array of shape (n,)
        One variance per row, such as `LVM.variance_`.
    labels : array of shape (n,) or None, default=None
        Labels by which the second panel is coloured.
    quantile : float, default=0.95
        Quantile of the variances; rows above it are left out of the second panel.
    path : path or None, default=None
        File to save the figure to.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.view.lvm import plot_variance
    >>> lvm = wk.LVM(max_iter=30, random_state=0).fit(wk.datasets.load_digits().X[:400])
    >>> figure = plot_variance(lvm, lvm.variance_, path="variance.png")
    """
    plt = require_matplotlib()
    points = map_points(Y)
    logs = np.log10(_variances(variance, points))
    number("quantile", quantile, 0.0, 1.0, low_open=True)
    figure, axes = plt.subplots(
        2, 2, figsize=(12.0, 7.2), layout="constrained", gridspec_kw={"height_ratios": [5, 1]}
    )
    plot(points, values=logs, title="log₁₀ variance", ax=axes[0, 0])
    limit = np.quantile(logs, quantile)
    keep = logs <= limit
    shown = None if labels is None else column(labels, len(points), "labels")[keep]
    plot(points[keep], labels=shown, title=f"{int(keep.sum())} most certain of {len(points)}", ax=axes[0, 1])
    histogram = axes[1, 0]
    histogram.hist(logs, bins=60, color=PALETTE[0])
    histogram.axvline(limit, color=PALETTE[5])
    histogram.set(xlabel="log₁₀ variance", ylabel="rows")
    histogram.spines[["top", "right"]].set_visible(False)
    axes[1, 1].set_visible(False)
    if path is not None:
        save_figure(figure, path)
    return figure


def plot_density(
    Y: ArrayLike | Any,
    *,
    bins: int = 200,
    title: str | None = None,
    ax: Any = None,
    path: str | Path | None = None,
) -> Any:
    """The matplotlib axes with the number of points in each cell of a grid, on a logarithmic scale (fig. S1).

    Parameters
    ----------
    Y : array of shape (n, 2), fitted estimator or Embedding
        The map.
    bins : int, default=200
        Number of cells along each side.
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
    >>> import numpy as np
    >>> from winkel.view.lvm import plot_density
    >>> ax = plot_density(np.random.default_rng(0).normal(size=(1000, 2)), bins=40)
    """
    plt = require_matplotlib()
    from matplotlib.colors import LogNorm

    points = map_points(Y)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 6.0), layout="constrained")
    counts, x, y = np.histogram2d(points[:, 0], points[:, 1], bins=integer("bins", bins, 1))
    counts = np.where(counts > 0, counts, np.nan).T  # empty cells stay white
    image = ax.pcolormesh(
        x, y, counts, norm=LogNorm(vmin=1, vmax=max(2.0, np.nanmax(counts))), cmap="viridis"
    )
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label="points in a cell")
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[], title=title)
    ax.spines[:].set_visible(False)
    if path is not None:
        save_figure(ax.figure, path)
    return ax


def plot_uncertain(
    Y: ArrayLike | Any,
    variance: ArrayLike,
    items: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    count: int = 100,
    path: str | Path | None = None,
) -> Any:
    """The matplotlib figure with the rows of largest variance circled on the map, and those items below (fig. S3).

    Parameters
    ----------
    Y : array of shape (n, 2), fitted estimator or Embedding
        The map.
    variance : array of shape (n,)
        One variance per row, such as `LVM.variance_`.
    items : array of shape (n, height, width), or of n texts
        An image or a text for each row.
    labels : array of shape (n,) or None, default=None
        Labels by which the map is coloured.
    count : int, default=100
        Number of rows to show.
    path : path or None, default=None
        File to save the figure to.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.view.lvm import plot_uncertain
    >>> X = wk.datasets.load_digits().X[:400]
    >>> lvm = wk.LVM(max_iter=30, random_state=0).fit(X)
    >>> figure = plot_uncertain(lvm, lvm.variance_, X.reshape(-1, 8, 8), count=20)
    """
    plt = require_matplotlib()
    points, things = map_points(Y), np.asarray(items)
    if len(things) != len(points) or things.ndim not in (1, 3):
        raise InvalidInputError(
            f"items must be {len(points)} images (n × height × width) or texts; got shape {things.shape}."
        )
    worst = most_uncertain(variance, min(integer("count", count, 1), len(points)))
    _variances(variance, points)
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.0, 10.5), layout="constrained")
    plot(points, labels=labels, title=f"the {len(worst)} rows of largest variance", ax=above)
    above.scatter(*points[worst].T, s=24, facecolors="none", edgecolors="black", linewidths=0.7)
    (_image_grid if things.ndim == 3 else _text_grid)(below, things[worst])
    below.axis("off")
    if path is not None:
        save_figure(figure, path)
    return figure


def most_uncertain(variance: ArrayLike, count: int) -> NDArray[np.int64]:
    """The rows of largest variance, largest first.

    Parameters
    ----------
    variance : array of shape (n,)
        One variance per row.
    count : int
        Number of rows.

    Returns
    -------
    ndarray of int
        Row numbers.

    Examples
    --------
    >>> from winkel.view.lvm import most_uncertain
    >>> most_uncertain([0.1, 3.0, 0.2, 1.0], 2)
    array([1, 3])
    """
    return np.argsort(-np.asarray(variance, dtype=float), kind="stable")[:count]


def _image_grid(ax: Any, images: np.ndarray[Any, Any]) -> None:
    columns = int(np.ceil(np.sqrt(2 * len(images))))
    rows = -(-len(images) // columns)
    height, width = images.shape[1:]
    canvas = np.full((rows * (height + 1), columns * (width + 1)), np.nan)
    for k, image in enumerate(images):
        r, c = divmod(k, columns)
        canvas[r * (height + 1) : r * (height + 1) + height, c * (width + 1) : c * (width + 1) + width] = (
            image
        )
    ax.imshow(canvas, cmap="gray_r", interpolation="nearest")


def _text_grid(ax: Any, texts: np.ndarray[Any, Any]) -> None:
    columns = 4
    rows = -(-len(texts) // columns)
    for k, text in enumerate(texts):
        r, c = divmod(k, columns)
        ax.text(c / columns, 1 - (r + 0.5) / rows, str(text), fontsize=8, va="center", transform=ax.transAxes)


def _variances(variance: ArrayLike, points: FloatArray) -> FloatArray:
    values = column(variance, len(points), "variance")
    if not (values > 0).all():
        raise InvalidInputError("variances must be positive.")
    return values
