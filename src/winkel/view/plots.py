"""Pictures of maps with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInputError, missing_extra
from ..typing import FloatArray

# Colour-blind-safe: Okabe and Ito's eight, then four that stay apart from them.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442",
    "#882255", "#117733", "#999999", "#44AA99",
)  # fmt: skip
_MANY_LABELS = len(PALETTE)


def plot(
    Y: ArrayLike | Any,
    *,
    labels: ArrayLike | None = None,
    values: ArrayLike | None = None,
    title: str | None = None,
    ax: Any = None,
    path: str | Path | None = None,
) -> Any:
    """The matplotlib axes with a 2-D map drawn on it, coloured by `labels` (names or classes) or by `values`.

    `Y` is an n × 2 array, or anything with such an attribute `Y`. With `path` the picture is written there too.
    """
    plt = _pyplot()
    points = _points(Y)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 6.0), layout="constrained")
    style = {"s": _point_size(len(points)), "linewidths": 0, "alpha": 0.85}
    if labels is not None:
        _by_label(ax, points, _check_length(labels, points, "labels"), style)
    elif values is not None:
        scatter = ax.scatter(*points.T, c=_check_length(values, points, "values"), cmap="viridis", **style)
        ax.figure.colorbar(scatter, ax=ax, shrink=0.7)
    else:
        ax.scatter(*points.T, color=PALETTE[0], **style)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[], title=title)
    ax.spines[:].set_visible(False)
    if path is not None:
        save_figure(ax.figure, path)
    return ax


def plot_maps(
    maps: Mapping[str, ArrayLike | Any], *, labels: ArrayLike | None = None, path: str | Path | None = None
) -> Any:
    """The matplotlib figure with several maps of the same data side by side."""
    plt = _pyplot()
    columns = min(3, len(maps))
    rows = -(-len(maps) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(5.2 * columns + 0.8, 5.0 * rows), layout="constrained", squeeze=False
    )
    for ax in axes.ravel()[len(maps) :]:
        ax.set_visible(False)
    for ax, (name, Y) in zip(axes.ravel(), maps.items()):
        plot(Y, labels=labels, title=name, ax=ax)
        if ax is not axes[0, columns - 1] and (legend := ax.get_legend()):
            legend.remove()  # one is enough
    if path is not None:
        save_figure(figure, path)
    return figure


def save_figure(figure: Any, path: str | Path) -> None:
    """Write the picture to a temporary file, then rename it, so that no half-written one is left behind."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.part{path.suffix or '.png'}")
    try:
        figure.savefig(part, dpi=150)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise missing_extra("matplotlib", "plot", "Drawing a map") from error
    return plt


def _points(Y: Any) -> FloatArray:
    points = np.asarray(getattr(Y, "Y", Y), dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise InvalidInputError(f"a map to draw must have shape (n, 2); got {points.shape}.")
    return points


def _check_length(given: ArrayLike, points: FloatArray, name: str) -> np.ndarray[Any, Any]:
    array = np.asarray(given)
    if array.shape != (len(points),):
        raise InvalidInputError(
            f"{name} must hold one entry a point, {len(points)}; got shape {array.shape}."
        )
    return array


def _point_size(n: int) -> float:
    return float(np.clip(20_000 / n, 0.5, 30))


def _by_label(ax: Any, points: FloatArray, labels: np.ndarray[Any, Any], style: dict[str, Any]) -> None:
    names, which = np.unique(labels, return_inverse=True)
    if len(names) > _MANY_LABELS:
        ax.scatter(*points.T, c=which, cmap="turbo", **style)
        return
    # One call in the order of the rows, so that no class hides another; empty ones make the legend.
    ax.scatter(*points.T, c=np.array(PALETTE)[which], **style)
    for name, colour in zip(names, PALETTE):
        ax.scatter([], [], s=30, color=colour, label=str(name))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handletextpad=0.1)
