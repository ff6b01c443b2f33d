"""`plot_decoded`: a grid over a map with the pictures that its places stand for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import integer
from ..errors import InvalidInputError, InvalidParameterError
from ..typing import FloatArray
from .plots import frame_map, map_points, require_matplotlib, save_figure

_FILLED = 0.86  # of a cell's side, so that pictures can be distinguished


def plot_decoded(
    model: Any,
    shape: Sequence[int],
    *,
    n_cells: int = 16,
    cmap: str = "gray_r",
    title: str | None = None,
    ax: Any = None,
    path: str | Path | None = None,
) -> Any:
    """The matplotlib axes with a grid of decoded pictures over a map of two dimensions.

    Each cell of the grid that contains fitted points shows the picture for its centre, from `inverse_transform`. The
    larger the expected error, the fainter the picture.

    Parameters
    ----------
    model : fitted estimator
        An estimator with `inverse_transform`, fitted to rows that are pictures.
    shape : tuple of int
        Height and width of a picture, followed by 3 for pictures in colour.
    n_cells : int, default=16
        Number of cells along the longer side of the map.
    cmap : str, default="gray_r"
        Colormap for grey pictures.
    title : str or None, default=None
        Title above the map.
    ax : matplotlib Axes or None, default=None
        Axes to draw on; None makes a new figure.
    path : path or None, default=None
        File to write the picture to as well.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> mde = wk.MDE(max_iter=30, random_state=0).fit(digits.X[:300])
    >>> ax = wk.plot_decoded(mde, (8, 8), n_cells=8)
    >>> len(ax.images) > 10
    True
    """
    plt = require_matplotlib()
    if not hasattr(model, "inverse_transform"):
        raise InvalidParameterError(
            f"model must be a fitted estimator with inverse_transform; got a {type(model).__name__}."
        )
    points = map_points(model)
    centers, half = _cells(points, integer("n_cells", n_cells, 1))
    rows, error = model.inverse_transform(centers, return_error=True)
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    if rows.shape[1] != int(np.prod(shape)):
        raise InvalidInputError(
            f"shape {tuple(shape)} has {np.prod(shape)} values, but rows have {rows.shape[1]}."
        )
    pictures = rows.reshape(len(rows), *shape)
    if ax is None:
        _, ax = plt.subplots(figsize=(7.0, 7.0), layout="constrained")
    low, high = float(rows.min()), float(rows.max())
    for center, picture, solid in zip(centers, pictures, _opacity(error)):
        x, y = center
        shown = (picture - low) / ((high - low) or 1.0)
        style = {} if shown.ndim == 3 else {"cmap": cmap, "vmin": 0.0, "vmax": 1.0}
        ax.imshow(shown, extent=(x - half, x + half, y - half, y + half), alpha=solid, zorder=2, **style)
    frame_map(ax, points)
    ax.set_title("" if title is None else title.replace("$", r"\$"))
    if path is not None:
        save_figure(ax.figure, path)
    return ax


def _cells(points: FloatArray, n_cells: int) -> tuple[FloatArray, float]:
    """Centres of the grid cells that contain points, and half the side of a picture."""
    low, extent = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    side = extent / n_cells
    cell = np.unique(np.minimum(((points - low) / side).astype(int), n_cells - 1), axis=0)
    return low + (cell + 0.5) * side, _FILLED * side / 2


def _opacity(error: FloatArray) -> FloatArray:
    """Opacity: 1 where the error is small, down to 0.3 at the largest error."""
    largest = float(error.max())
    return np.ones_like(error) if largest == 0 else 1 - 0.7 * error / largest
