"""`animate`: a map as it forms, or one map turning into another, as a GIF or a video."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import integer, new_file, number, positive
from ..embedding import Embedding
from ..errors import InvalidInputError, InvalidParameterError, MissingDependencyError
from ..maps import as_map
from ..measures.similarity import align
from ..solvers import Frames
from .layers import PALETTE, Groups, classes, draw_labels, draw_points, draw_values, legend
from .plots import column, frame_map, require_matplotlib

_DPI = 100


def animate(
    frames: Any,
    path: str | Path,
    *,
    labels: ArrayLike | None = None,
    values: ArrayLike | None = None,
    title: str | None = None,
    fps: int = 20,
    seconds: float = 4.0,
    hold: float = 1.0,
    size: float = 5.0,
) -> Path:
    """Write an animation of a map as it forms, or of maps that turn into one another, and return its path.

    Parameters
    ----------
    frames : fitted estimator, Embedding, model file, array of shape (f, n, 2), or dict of maps by name
        The maps to show. An estimator or Embedding shows the intermediate maps that it kept (`keep_frames`); an array shows its maps one after
        the other. The maps of a dict, each in any form that `winkel.plot` takes, turn into one another; each is first rotated
        to match the one before it.
    path : path
        File to write, a .gif or (if ffmpeg is installed) an .mp4.
    labels : array of shape (n,) or None, default=None
        One class per row, for colours and legend.
    values : array of shape (n,) or None, default=None
        Numbers to colour by, instead of labels.
    title : str or None, default=None
        Title above the map, before the name or the iteration.
    fps : int, default=20
        Pictures per second.
    seconds : float, default=4.0
        Length of the movement in seconds.
    hold : float, default=1.0
        Seconds for which the last map, or each map of a dict, is shown without movement.
    size : float, default=5.0
        Side of the picture in inches, with 100 pixels per inch.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> X, y = digits.X[:200], digits.y[:200]
    >>> maps = {"PCA": wk.quadratic.pca(X), "Laplacian": wk.quadratic.laplacian(X)}
    >>> path = wk.animate(maps, "digits.gif", labels=y, fps=5, seconds=1, size=3)
    >>> path.name
    'digits.gif'
    """
    target = new_file("path", path)
    fps, seconds = integer("fps", fps, 1), positive("seconds", seconds)
    hold, size = number("hold", hold, 0.0), positive("size", size)
    plt = require_matplotlib()
    writer = _writer(target.suffix.lower(), fps)
    names, maps = _maps(frames)
    figure, ax = plt.subplots(figsize=(size + (labels is not None), size), layout="constrained", dpi=_DPI)
    part = target.with_name(f".{target.stem}.part{target.suffix}")
    try:
        groups = _draw(ax, maps[0], labels, values)
        frame_map(ax, np.concatenate(maps))  # all of them, so that nothing leaves the picture on its way
        with writer.saving(figure, str(part), dpi=_DPI):
            for caption, Y in _schedule(names, maps, fps, seconds, hold):
                for dots, rows in groups:
                    dots.set_offsets(Y[rows])
                ax.set_title((title or "") + caption, fontsize=11)
                writer.grab_frame()
        part.replace(target)
    finally:
        plt.close(figure)
        part.unlink(missing_ok=True)
    return target


def _writer(suffix: str, fps: int) -> Any:
    """matplotlib's writer for a kind of file."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    if suffix == ".gif":
        return PillowWriter(fps=fps)
    if suffix != ".mp4":
        raise InvalidParameterError(f"The name of an animation must end in .gif or .mp4; got {suffix!r}.")
    if not FFMpegWriter.isAvailable():
        raise MissingDependencyError(
            "Writing an .mp4 needs the program ffmpeg, which was not found. Install it (for example with your system's "
            "package manager), or choose a name that ends in .gif."
        )
    return FFMpegWriter(fps=fps, codec="h264", extra_args=["-pix_fmt", "yuv420p"])


def _maps(frames: Any) -> tuple[list[str], list[NDArray[np.float64]]]:
    """Captions and maps: iterates by their number, those of a dict by their name."""
    if isinstance(frames, Mapping):
        maps = [np.asarray(as_map(Y, repr(name)).Y, dtype=float) for name, Y in frames.items()]
        _check(maps)
        for k in range(1, len(maps)):
            maps[k] = np.asarray(align(maps[k], maps[k - 1], scale=True))
        return [str(name) for name in frames], maps
    kept = frames if isinstance(frames, Frames) else _kept(frames)
    maps = [np.asarray(Y, dtype=float) for Y in (kept.Y if kept is not None else frames)]
    _check(maps)
    return ([] if kept is None else [f"iteration {i}" for i in kept.iteration]), maps


def _kept(source: Any) -> Frames | None:
    """The iterates of an estimator, an Embedding or a model file; None for maps themselves."""
    if not (isinstance(source, Embedding | str | os.PathLike) or hasattr(source, "get_params")):
        return None
    embedding = as_map(source, "frames").embedding
    if embedding is None or embedding.frames is None:
        raise InvalidInputError("This map has no frames. Fit it with keep_frames=50, for example.")
    return embedding.frames


def _check(maps: list[NDArray[np.float64]]) -> None:
    shapes = {Y.shape for Y in maps}
    shape = next(iter(shapes), ())
    if len(maps) < 2 or len(shapes) > 1 or len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        raise InvalidInputError(
            f"An animation needs two or more maps of the same rows, each of shape (n, 2); got {len(maps)} of "
            f"shapes {', '.join(map(str, shapes)) or 'none'}."
        )
    if not all(np.isfinite(Y).all() for Y in maps):
        raise InvalidInputError("An animation needs maps that are finite.")


def _schedule(
    names: Sequence[str], maps: list[NDArray[np.float64]], fps: int, seconds: float, hold: float
) -> Sequence[tuple[str, NDArray[np.float64]]]:
    """Caption and map of every picture: between two maps the points move evenly, or slowly at both ends of a morph."""
    morph = bool(names) and not names[0].startswith("iteration ")
    steps = max(1, round(fps * seconds / (len(maps) - 1)))
    still = round(fps * hold)
    shown: list[tuple[str, NDArray[np.float64]]] = []
    for k, (before, after) in enumerate(pairwise(maps)):
        if morph:
            shown += [(names[k], before)] * still
        for step in range(steps):
            t = step / steps
            t = t * t * (3 - 2 * t) if morph else t
            shown.append((names[k] if names else "", before + t * (after - before)))
    last = names[-1] if names else ""
    return shown + [(last, maps[-1])] * (still + 1)


def _draw(ax: Any, Y: NDArray[np.float64], labels: ArrayLike | None, values: ArrayLike | None) -> Groups:
    """The points of the first map, whose places change later."""
    if labels is not None:
        names, which = classes(column(labels, len(Y), "labels"))
        legend(ax, names)
        return draw_labels(ax, Y, names, which)
    if values is not None:
        return draw_values(ax, Y, column(values, len(Y), "values"), "")
    return [(draw_points(ax, Y, color=PALETTE[0]), np.arange(len(Y)))]
