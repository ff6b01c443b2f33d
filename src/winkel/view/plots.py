"""Pictures of maps with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import integer, new_file, positive
from ..data.annotated import named_labels
from ..data.archive import atomic_file
from ..errors import InvalidInputError, InvalidParameterError, missing_extra
from ..maps import Map, as_map
from ..measures.faithfulness import Faithfulness
from ..measures.tearing import Seams, Tearing, find_tearing, map_pieces
from ..run import available_cores, telling_of_memory
from ..typing import FloatArray, IntArray
from .layers import (
    ALARM,
    PALETTE,
    classes,
    crowded,
    draw_circles,
    draw_density,
    draw_ellipses,
    draw_labels,
    draw_lines,
    draw_names,
    draw_points,
    draw_seams,
    draw_values,
    legend,
    legend_width,
)
from .naming import named_table, names_on
from .regions import FEW, Name, class_names, named_classes

DENSE_FROM = 100_000  # points from which on a heat map shows more than dots over dots
_LINKS = 15  # nearest neighbours of a row by which tearing is judged, as by `winkel.measure`
_LETTERS_AS_TEXT = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"}  # as journals ask for
_FAINTEST = 0.12  # opacity of a point that is not reliable at all


@telling_of_memory("The picture", "Draw fewer rows, or a smaller picture; an existing file was not changed.")
def plot(
    Y: ArrayLike | Any,
    *,
    labels: ArrayLike | None = None,
    values: ArrayLike | None = None,
    reliability: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    density: bool | None = None,
    edges: ArrayLike | Any = None,
    pairs: ArrayLike | None = None,
    indicatrix: ArrayLike | Any = None,
    seams: bool | Any = None,
    names: bool | ArrayLike | None = None,
    n_ellipses: int = 400,
    title: str | None = None,
    values_name: str | None = None,
    cmap: Any = None,
    size: float | None = None,
    figsize: tuple[float, float] | None = None,
    dpi: float = 150,
    data: Any = None,
    ax: Any = None,
    path: str | Path | None = None,
) -> Any:
    """Draw a map of two dimensions and return its matplotlib axes.

    Parameters
    ----------
    Y : array of shape (n, 2), fitted estimator, Embedding, or path of a map or model file
        The map.
    labels : array of shape (n,), str or None, default=None
        One class per row, or the name of a column of `data`, shown by colours (and shapes, beyond twelve classes) with a legend next to the map.
    values : array of shape (n,), str or None, default=None
        Numbers to colour by, instead of labels.
    reliability : array of shape (n,), str or None, default=None
        How far each point can be trusted, from 0 to 1; shown as colour or, with labels, as opacity.
    variance : array of shape (n,) or None, default=None
        Variance of every row's place, drawn as a disc of one standard deviation.
    density : bool or None, default=None
        Whether to draw a heat map of the density of points instead of dots. None does so from 100 000 rows on, unless there
        are values or reliabilities to show.
    edges : Graph, array of shape (p, 2), True or None, default=None
        Lines between neighbours: from a graph, from pairs of row numbers, or with True from the graph that the map was made from.
    pairs : array of shape (p, 2) or None, default=None
        Pairs of rows to highlight, such as `problem.high_distortion_pairs(Y, 20)[0]`.
    indicatrix : Indicatrix, array of shape (n, 2, 2) or None, default=None
        Result of `winkel.indicatrix`, or one matrix per row: ellipses that show what small circles in the data become.
    seams : bool, Tearing, Faithfulness or None, default=None
        Faint bands between places that are neighbours in the data but that the map has torn apart. A band is as wide as the links that
        were cut. None draws them if the map is known to be torn, which requires the neighbour graph that it was made from;
        for other maps, pass the report of `winkel.measure` or its `report["tearing"].detail`.
    names : bool, array of shape (n,) or None, default=None
        Names on the map, as many as fit without overlap. They are names of the classes of `labels` or, without labels, of clusters of the map,
        described by the columns that set them apart (for a fitted estimator whose data has named columns). An array holds
        names to use instead, one per row. None names up to 40 classes; if the names would cover much of the map, it
        writes the numbers that the legend gives them.
    n_ellipses : int, default=400
        Largest number of ellipses, spread evenly over the map.
    title : str or None, default=None
        Title above the map.
    values_name : str or None, default=None
        Name of the values, for their colour bar; None takes that of a pandas column.
    cmap : str, matplotlib colormap or None, default=None
        Colours of values, reliabilities and densities; None is viridis, and blue for densities.
    size : float or None, default=None
        Area of a point in square points (1/72 inch); None chooses it by the number of points.
    figsize : tuple of float or None, default=None
        Width and height of a new figure in inches; None makes the map a square, next to its legend.
    dpi : float, default=150
        Dots per inch of the file.
    data : data frame, AnnData, Table or None, default=None
        The same rows, needed if labels, values or reliability name a column: of an AnnData object's `obs`, of a data frame, or one that a Table keeps.
    ax : matplotlib Axes or None, default=None
        Axes to draw on; None makes a new figure.
    path : path or None, default=None
        File to write the picture to as well; its suffix determines the format. A PDF contains letters as text, and more than 20 000
        points as one bitmap.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> Y = wk.quadratic.pca(digits.X).to_textbook()
    >>> ax = wk.plot(Y, labels=digits.y, title="Digits by principal components", path="digits.png")
    >>> ax.get_title()
    'Digits by principal components'
    """
    plt = require_matplotlib()
    source, Y = Y, as_map(Y, "Y")  # a file is read once
    points = map_points(Y)
    values_name = values_name or (values if isinstance(values, str) else None)
    labels, values, reliability = (
        named_labels(data, given, what, "data")
        for given, what in ((labels, "labels"), (values, "values"), (reliability, "reliability"))
    )
    named = None if labels is None else classes(column(labels, len(points), "labels"))
    if ax is None:
        beside = 0.4 if named is None else legend_width(named[0])
        _, ax = plt.subplots(figsize=figsize or (6.0 + beside, 6.0), layout="constrained")
    elif figsize is not None:
        raise InvalidParameterError("figsize is for a new figure; the given axes already have one.")
    if edges is not None and edges is not False:
        # Faint, and fainter the more there are.
        drawn = _pairs(_edges(edges, Y), len(points), "edges")
        alpha = float(np.clip(60 / max(len(drawn), 1) ** 0.5, 0.05, 0.6))
        draw_lines(ax, points, drawn, colors="#8A94A0", linewidths=0.4, alpha=alpha, zorder=1)
    torn = seams_of(Y, seams)
    if torn is not None:
        draw_seams(ax, torn)
    if variance is not None:
        draw_circles(ax, points, np.sqrt(column(variance, len(points), "variance").astype(float)))
    looks = {} if size is None else {"s": positive("size", size)}
    name = values_name or str(getattr(values, "name", None) or "")
    _rows(ax, points, named, values, reliability, density, name, cmap, looks)
    numbered = named is not None and names is None and crowded(ax, named[0])
    if named is not None:
        legend(ax, named[0], numbered)
    if pairs is not None:
        drawn = _pairs(pairs, len(points), "pairs")
        draw_lines(ax, points, drawn, colors=ALARM, linewidths=1.0, alpha=0.9, zorder=3)
    if indicatrix is not None:
        most = integer("n_ellipses", n_ellipses, 1)
        draw_ellipses(ax, points, _shapes(indicatrix, len(points)), most)
    frame_map(ax, points)
    written = _numbers(points, labels) if numbered else _names(points, source, names, labels)
    draw_names(ax, [(name.text, name.place, name.size < FEW * len(points)) for name in written])
    ax.set_title("" if title is None else title.replace("$", r"\$"))
    if path is not None:
        save_figure(ax.figure, path, positive("dpi", dpi))
    return ax


def plot_maps(
    maps: Mapping[str, ArrayLike | Any], *, labels: ArrayLike | None = None, path: str | Path | None = None
) -> Any:
    """The matplotlib figure with several maps of the same data side by side, each in any form that `plot` takes."""
    plt = require_matplotlib()
    columns = min(3, len(maps))
    rows = -(-len(maps) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(5.2 * columns + 0.8, 5.0 * rows), layout="constrained", squeeze=False
    )
    for ax in axes.ravel()[len(maps) :]:
        ax.set_visible(False)
    for ax, (name, Y) in zip(axes.ravel(), maps.items()):
        plot(Y, labels=labels, title=name, ax=ax, names=False)
        if ax is not axes[0, columns - 1] and (beside := ax.get_legend()):
            beside.remove()  # one is enough
    if path is not None:
        save_figure(figure, path)
    return figure


def save_figure(figure: Any, path: str | Path, dpi: float = 150) -> None:
    """Write the picture to a temporary file, then rename it, so that no half-written one is left behind."""
    path = new_file("path", path)
    with require_matplotlib().rc_context(_LETTERS_AS_TEXT), atomic_file(path) as file:
        figure.savefig(file, dpi=dpi, format=path.suffix[1:] or "png")


def require_matplotlib() -> Any:
    """`matplotlib.pyplot`, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise missing_extra("matplotlib", "plot", "Drawing a map") from error
    return plt


def column(values: ArrayLike, n: int, name: str) -> NDArray[Any]:
    """`values` as an array of n entries."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise InvalidInputError(f"{name} must hold one value per row, {n} in all; got shape {array.shape}.")
    return array


def _rows(
    ax: Any,
    points: FloatArray,
    named: tuple[list[str], NDArray[np.intp]] | None,
    values: ArrayLike | None,
    reliability: ArrayLike | None,
    density: bool | None,
    name: str,
    cmap: Any,
    looks: Mapping[str, Any],
) -> None:
    """The points themselves, or their density."""
    n = len(points)
    trust = None if reliability is None else column(reliability, n, "reliability").astype(float)
    names, which = (None, None) if named is None else named
    if density or (density is None and n >= DENSE_FROM and values is None and trust is None):
        draw_density(ax, points, names, which, cmap)
    elif names is not None and which is not None:
        solid = None if trust is None else np.clip(np.nan_to_num(trust), 0, 1)
        opacity = None if solid is None else _FAINTEST + (0.9 - _FAINTEST) * solid
        draw_labels(ax, points, names, which, opacity, **looks)
    elif values is not None:
        draw_values(ax, points, column(values, n, "values"), name, cmap=cmap or "viridis", **looks)
    elif trust is not None:
        draw_values(ax, points, trust, "reliability", (0.0, 1.0), cmap or "viridis", **looks)
    else:
        draw_points(ax, points, color=PALETTE[0], **looks)


def _names(points: FloatArray, source: Any, names: Any, labels: ArrayLike | None) -> list[Name]:
    """The names to write on the map; clusters are only named on request."""
    if labels is None and names is None:
        return []
    given = names if names is None or isinstance(names, bool) else column(names, len(points), "names")
    rows = source.fitted_rows() if names is True and hasattr(source, "fitted_rows") else None
    table = named_table(rows, source) if rows is not None and rows.shape[0] == len(points) else None
    classes = None if labels is None else column(labels, len(points), "labels")
    return [name for name in names_on(points, given, labels=classes, table=table) if name.level == 1]


def _numbers(points: FloatArray, labels: Any) -> list[Name]:
    """The numbers that classes have in the legend, at the places of their names."""
    found, which = named_classes(np.asarray(labels))
    return class_names(points, [str(k + 1) if name.strip() else "" for k, name in enumerate(found)], which)


def seams_of(map: Map, seams: Any) -> Seams | None:
    """The bands of a map: from a Tearing or a report, or from the neighbour graph that the map was made from."""
    if seams is False:
        return None
    if isinstance(seams, Faithfulness):
        if "tearing" not in seams.scores:
            raise InvalidInputError('the report passed as seams does not contain the score "tearing".')
        seams = seams["tearing"].detail
    if isinstance(seams, Tearing):
        if len(seams.piece) != len(map):
            raise InvalidInputError(f"seams are those of {len(seams.piece)} rows; the map has {len(map)}.")
        return seams.seams(map.Y)
    if seams not in (None, True):
        raise InvalidInputError(
            f"seams must be True, False, None, a report of winkel.measure or its Tearing; got a {type(seams).__name__}."
        )
    lists = getattr(getattr(map.embedding, "graph", None), "knn_indices", None)
    if lists is not None and len(lists) == len(map):
        rows = np.arange(len(map))
        return find_tearing(map_pieces(map.Y, available_cores()), rows, lists[:, :_LINKS]).seams(map.Y)
    if seams:
        raise InvalidInputError(
            "seams=True needs the neighbour graph that an estimator or Embedding was made from, and this map has none; "
            "pass the report of winkel.measure(X, map)."
        )
    return None


def frame_map(ax: Any, points: FloatArray) -> None:
    """Equal scales, room for all points, and nothing around the map, because its axes have no meaning."""
    ax.update_datalim(points)
    ax.margins(0.04)
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def map_points(Y: Any) -> FloatArray:
    """The places of a map to draw: an n × 2 array, a fitted estimator, an Embedding or a file."""
    points = np.asarray(as_map(Y, "Y").Y, dtype=float)
    if points.shape[1] != 2:
        raise InvalidInputError(f"the map must have shape (n, 2); got {points.shape}.")
    if len(points) == 0 or not np.isfinite(points).all():
        raise InvalidInputError("the map must have points, all of them finite.")
    return points


def _edges(edges: Any, Y: Any) -> Any:
    """The pairs of a graph, of the map's own graph (True), or as given."""
    if edges is True:
        edges = getattr(as_map(Y, "Y").embedding, "graph", None)
        if edges is None:
            raise InvalidInputError(
                "edges=True draws the graph that an estimator or Embedding was made from, and this map has none."
            )
    return getattr(edges, "edges", edges)


def _pairs(pairs: Any, n: int, name: str) -> IntArray:
    array = np.asarray(pairs)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(
            f"{name} must be pairs of row numbers, shape (p, 2); got shape {array.shape}, dtype {array.dtype}."
        )
    if array.min() < 0 or array.max() >= n:
        raise InvalidInputError(f"{name} must hold row numbers from 0 to {n - 1}; got {array.max()}.")
    return array


def _shapes(indicatrix: Any, n: int) -> FloatArray:
    stretch = getattr(indicatrix, "stretch", None)
    if stretch is not None:  # directions in rows, each as long as its axis
        indicatrix = np.swapaxes(stretch.directions, 1, 2) * stretch.axes[:, None, :]
    shapes = np.asarray(indicatrix, dtype=float)
    if shapes.shape != (n, 2, 2):
        raise InvalidInputError(
            f"indicatrix must hold a 2 × 2 matrix per point, shape ({n}, 2, 2); got {shapes.shape}."
        )
    return shapes
