"""Pictures of a latent variable model: the map with its variances, its density, its most uncertain items (Saul 2020, SM)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError, InvalidParameterError
from ..typing import FloatArray
from .layers import PALETTE
from .plots import column, map_points, plot, require_matplotlib, save_figure


def plot_variance(
    Y: ArrayLike | Any,
    variance: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    quantile: float = 0.95,
    path: str | Path | None = None,
) -> Any:
    """The matplotlib figure with the map coloured by log variance, beside the map without its most uncertain rows.

    The second panel leaves out the rows whose variance is above the given quantile (fig. S2), with a histogram of
    all variances below.
    """
    plt = require_matplotlib()
    points = map_points(Y)
    logs = np.log10(_variances(variance, points))
    if not 0 < quantile <= 1:
        raise InvalidParameterError(f"quantile must lie in (0, 1]; got {quantile!r}.")
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
    """The matplotlib axes with the number of points in each cell of a grid, on a logarithmic scale (fig. S1)."""
    plt = require_matplotlib()
    from matplotlib.colors import LogNorm

    points = map_points(Y)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 6.0), layout="constrained")
    counts, x, y = np.histogram2d(points[:, 0], points[:, 1], bins=bins)
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

    `items` are images (n × height × width) or texts, one a row.
    """
    plt = require_matplotlib()
    points, things = map_points(Y), np.asarray(items)
    if len(things) != len(points) or things.ndim not in (1, 3):
        raise InvalidInputError(
            f"items must be {len(points)} images (n × height × width) or texts; got shape {things.shape}."
        )
    worst = most_uncertain(variance, min(count, len(points)))
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
    """The rows of largest variance, largest first."""
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
