"""The layers of a picture: points, heat map, lines and ellipses on the axes of a map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..measures.tearing import Seams
from ..typing import FloatArray, IntArray

# Colour-blind-safe: Okabe and Ito's eight, then four that stay apart from them.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442",
    "#882255", "#117733", "#999999", "#44AA99",
)  # fmt: skip
MARKERS = "o^s"  # with more classes than colours, each colour comes in these shapes
MOST_CLASSES = len(PALETTE) * len(MARKERS)
ALARM = "#D55E00"  # for what is wrong
SEAM = "#5B6570"

Groups: TypeAlias = list[tuple[Any, NDArray[np.intp]]]  # what was drawn, and the rows it shows
_MOST_LEGEND_ROWS = 20
_LONGEST = 30  # letters of a name in a legend
_DIGITS = re.compile(r"(\d+)")
_MOST_LINES = 200_000
_HEAT_PIXELS, _HEAT_LEVELS = 420, 30.0
_MOST_VECTORS = 20_000  # points that a PDF or SVG draws one by one
_LETTER, _SYMBOL = 0.085, 0.45  # inches that a letter and a symbol of a legend take at ten points
_WRITTEN = 0.2  # share of a map that names may take; beyond, the map shows numbers, which the legend explains


def point_size(n: int) -> float:
    """Area of a point in square points, such that n points fill a map without hiding each other."""
    return float(np.clip(20_000 / max(n, 1), 0.5, 30))


def classes(labels: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """Names of the classes, in an order that sorts numbers within names by value, and the class of each row."""
    found, which = np.unique(labels, return_inverse=True)
    names = [str(name) for name in found.tolist()]
    if found.dtype.kind not in "US":
        return names, which
    order = sorted(
        range(len(names)),
        key=lambda k: [
            (int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(names[k])
        ],
    )
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return [names[k] for k in order], place[which]


def short_names(names: Sequence[str], longest: int) -> list[str]:
    """Names on one line, shortened to a number of letters but still distinct: for names with the same beginning, the differing part is kept."""
    texts = [" ".join(name.split()) for name in names]
    cut = [text if len(text) <= longest else f"{text[: longest - 1]}…" for text in texts]
    alike: dict[str, list[int]] = {}
    for k, text in enumerate(cut):
        alike.setdefault(text, []).append(k)
    for group in (group for group in alike.values() if len(group) > 1):
        equal = sum(
            1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*(texts[k] for k in group)))
        )
        word = texts[group[0]][:equal].rfind(" ") + 1
        differ = word if equal - word < longest // 3 else equal
        for k in group:
            rest = texts[k][differ:]
            rest = rest if len(rest) <= 2 * longest // 3 else f"{rest[: 2 * longest // 3 - 1]}…"
            cut[k] = f"{texts[k][: longest - 1 - len(rest)].rstrip()}…{rest}"
    return cut


def legend_columns(n_classes: int) -> int:
    """Number of columns of a legend next to the map."""
    return -(-n_classes // _MOST_LEGEND_ROWS) if n_classes <= MOST_CLASSES else 0


def legend_width(names: list[str]) -> float:
    """Width in inches of a legend of these names next to the map, at its font size."""
    columns = legend_columns(len(names))
    longest = max((min(len(name), _LONGEST) for name in names), default=0)
    return columns * (_SYMBOL + _LETTER * longest * _letters(names) / 10)


def _letters(names: list[str]) -> float:
    """Font size of a legend in points; smaller if there are many names, so that they fit next to the map."""
    return 10.0 if len(names) <= _MOST_LEGEND_ROWS else 8.0


def _written_letters(names: list[str]) -> float:
    """Font size of names on a map in points; names of a few letters need not be smaller even if there are many."""
    return 0.9 * _letters([] if max(map(len, names), default=0) <= 3 else names)


def draw_points(ax: Any, points: FloatArray, **colors: Any) -> Any:
    """The scatter plot of all points in one call, in the order of the rows; in a PDF or SVG, many points become one bitmap."""
    style = {"s": point_size(len(points)), "linewidths": 0, "alpha": 0.85, "zorder": 2, **colors}
    return ax.scatter(*points.T, **style, rasterized=len(points) > _MOST_VECTORS)


def draw_values(
    ax: Any,
    points: FloatArray,
    values: NDArray[Any],
    name: str,
    limits: tuple[float, float] | None = None,
    cmap: Any = "viridis",
    **style: Any,
) -> Groups:
    """Points coloured by a number, with a colour bar whose scale ignores a few extreme values."""
    values = np.asarray(values, dtype=float)
    known = np.isfinite(values)
    groups: Groups = []
    style = {"s": point_size(len(points)), **style}
    if not known.all():
        groups.append((draw_points(ax, points[~known], color="#BBBBBB", **style), np.flatnonzero(~known)))
    extend = "neither"
    if limits is None and known.any():
        low, high = np.percentile(values[known], [1, 99])
        limits = (low, high) if high > low else (values[known].min(), values[known].max())
        below, above = values[known].min() < limits[0], values[known].max() > limits[1]
        extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[(int(below), int(above))]
    low, high = limits or (0.0, 1.0)
    scatter = draw_points(ax, points[known], c=values[known], cmap=cmap, vmin=low, vmax=high, **style)
    bar = ax.figure.colorbar(scatter, ax=ax, shrink=0.7, extend=extend, label=name)
    bar.outline.set_visible(False)
    bar.solids.set_alpha(1.0)
    return [*groups, (scatter, np.flatnonzero(known))]


def draw_labels(
    ax: Any,
    points: FloatArray,
    names: list[str],
    which: NDArray[np.intp],
    opacity: FloatArray | None = None,
    **style: Any,
) -> Groups:
    """Points coloured by class, with shapes if colours are not enough; if there are too many classes for both, by colour alone."""
    alpha = np.full(len(points), 0.85) if opacity is None else opacity
    if len(names) > MOST_CLASSES:
        drawn = draw_points(ax, points, c=which, cmap="viridis", alpha=alpha, **style)
        return [(drawn, np.arange(len(points)))]
    groups: Groups = []
    colors = np.array(PALETTE)[which % len(PALETTE)]
    for shape in range(-(-len(names) // len(PALETTE))):
        # One call for all classes of a shape in the order of the rows, so that no class hides another.
        rows = np.flatnonzero(which // len(PALETTE) == shape)
        looks = {"c": colors[rows], "marker": MARKERS[shape], "alpha": alpha[rows], **style}
        groups.append((draw_points(ax, points[rows], **looks), rows))
    return groups


def crowded(ax: Any, names: list[str]) -> bool:
    """Whether the names of a legend, written on the map as well, would cover too much of it."""
    letters = _written_letters(names)
    long = sum(len(text) for text in short_names(names, _LONGEST)) * _LETTER * letters / 10
    side = min(ax.get_window_extent().size) / ax.figure.dpi
    return bool(len(names) <= MOST_CLASSES and long * 1.3 * letters / 72 > _WRITTEN * side**2)


def legend(ax: Any, names: list[str], numbered: bool = False) -> None:
    """A legend to the right of the map, where it covers no point, unless there are too many classes; its entries are made by empty plots."""
    if len(names) > MOST_CLASSES:
        return
    for k, text in enumerate(short_names(names, _LONGEST)):
        # A name that starts with an underscore would be left out, and a dollar sign would start a formula.
        text = text.replace("$", r"\$")
        text = f"{k + 1}  {text}" if numbered else text
        ax.scatter(
            [],
            [],
            s=30,
            color=PALETTE[k % len(PALETTE)],
            marker=MARKERS[k // len(PALETTE) % len(MARKERS)],
            label=f"\u200b{text}" if text.startswith("_") else text,
        )
    ax.legend(
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        handletextpad=0.1,
        columnspacing=0.8,
        ncols=legend_columns(len(names)),
        fontsize=_letters(names),
    )


def _one_point(spread: float) -> FloatArray:
    side = 2 * int(np.ceil(3 * spread)) + 1
    one = np.zeros((side, side))
    one[side // 2, side // 2] = 1.0
    return one


def draw_density(
    ax: Any,
    points: FloatArray,
    names: list[str] | None,
    which: NDArray[np.intp] | None,
    cmap: Any = None,
) -> None:
    """A heat map of the density of points, on a logarithmic scale; with classes, their mixed colours.

    Each point is spread over about the distance between points that fill the map evenly, so few points give a smooth
    picture and many a sharp one.
    """
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap, to_rgb
    from scipy.ndimage import gaussian_filter

    spread = _HEAT_PIXELS / len(points) ** 0.5  # pixels between points that fill the map evenly
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max()) or 1.0
    border = int(np.ceil(3 * spread))
    shape = np.maximum(1, np.ceil((high - low) / extent * _HEAT_PIXELS)).astype(int) + 2 * border
    cell = np.minimum(((points - low) / extent * _HEAT_PIXELS).astype(int) + border, shape - 1)

    def amount(weights: FloatArray | None = None) -> FloatArray:
        at = np.bincount(cell[:, 1] * shape[0] + cell[:, 0], weights, minlength=shape.prod()).astype(float)
        return gaussian_filter(at.reshape(shape[1], shape[0]), spread, mode="constant", truncate=3.0)

    counts = amount()
    strength = np.log1p(counts / max(counts.max(), 1e-300) * _HEAT_LEVELS) / np.log1p(_HEAT_LEVELS)
    if which is None or names is None or len(names) > MOST_CLASSES:
        ink = cmap or LinearSegmentedColormap.from_list("ink", ["#9ECAE9", "#0072B2", "#0B1D33"])
        colors = (colormaps[ink] if isinstance(ink, str) else ink)(strength)
    else:
        own = np.array([to_rgb(PALETTE[k % len(PALETTE)]) for k in range(len(names))])[which]
        mixed = [amount(own[:, c]) / np.maximum(counts, 1e-300) for c in range(3)]
        colors = np.clip(np.stack([*mixed, np.ones_like(counts)], axis=2), 0, 1)
    # What is less than a twentieth of one point is nothing: it is what a kernel leaves far from all.
    least = 0.05 * float(gaussian_filter(_one_point(spread), spread, mode="constant", truncate=3.0).max())
    colors[..., 3] = np.where(counts > least, 0.25 + 0.75 * strength, 0.0)
    step = extent / _HEAT_PIXELS
    corner = low - border * step
    box = (corner[0], corner[0] + shape[0] * step, corner[1], corner[1] + shape[1] * step)
    ax.imshow(colors, extent=box, origin="lower", interpolation="nearest", aspect="auto", zorder=2)


def draw_lines(ax: Any, points: FloatArray, edges: IntArray, **style: Any) -> None:
    """Lines between pairs of points; if there are very many, only every k-th."""
    from matplotlib.collections import LineCollection

    drawn = edges[:: -(-len(edges) // _MOST_LINES) if len(edges) else 1]
    ax.add_collection(LineCollection(list(points[drawn]), **style), autolim=False)


def draw_seams(ax: Any, seams: Seams) -> None:
    """Faint bands between places that the map has torn apart; the more links of the data they represent, the darker they are."""
    from matplotlib.collections import PolyCollection

    if len(seams) == 0:
        return
    first, last = seams.ends[:, 0], seams.ends[:, 1]
    along = last - first
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), np.finfo(float).tiny)
    a, b = (0.5 * seams.widths[:, side, None] * across for side in (0, 1))
    strength = np.sqrt(seams.links / seams.links.max())
    corners = np.stack([first - a, first + a, last + b, last - b], axis=1)
    ax.add_collection(
        PolyCollection(
            list(corners),
            facecolors=SEAM,
            edgecolors=SEAM,
            linewidths=0.5,
            alpha=0.08 + 0.22 * strength,
            zorder=1,
        ),
        autolim=False,
    )


def draw_names(ax: Any, names: Sequence[tuple[str, tuple[float, ...], bool]]) -> None:
    """Names at places of the map, in order: a name that would cover an earlier one is moved by a line, or left out.

    Each name comes with its place, and with whether it stands for only a few points; it is then written next to them. Which names fit is
    decided when the picture is drawn, so that a zoomed view has room for more of them.
    """
    from matplotlib.artist import Artist
    from matplotlib.patheffects import withStroke

    letters = _written_letters([text for text, _, _ in names])
    outline = [withStroke(linewidth=2.5, foreground="white", alpha=0.85)]
    texts = [
        ax.annotate(
            text.replace("$", r"\$"), place, xytext=(0, 0), textcoords="offset points", ha="center", va="center",
            fontsize=letters, fontweight="bold", color="#1D2126", path_effects=outline, zorder=6, annotation_clip=True,
        )
        for text, place, _ in names
    ]  # fmt: skip

    class Arranger(Artist):
        def draw(self, renderer: Any) -> None:
            taken: list[Any] = []
            for text, (_, _, small) in zip(texts, names):
                text.set_visible(True)
                for lines in (1, -1, 2, -2) if small else (0, 1, -1, 2, -2):
                    text.set_position((0, 1.3 * letters * lines))
                    box = text.get_window_extent(renderer).padded(1.5)
                    if not any(box.overlaps(other) for other in taken):
                        taken.append(box)
                        break
                else:
                    text.set_visible(False)

    for text in texts:
        text.set_in_layout(False)
    if texts:
        arranger = Arranger()
        arranger.set(zorder=5.9, in_layout=False)
        ax.add_artist(arranger)


def draw_circles(ax: Any, points: FloatArray, radius: FloatArray) -> None:
    """A faint disc around every point."""
    from matplotlib.collections import EllipseCollection

    ax.add_collection(
        EllipseCollection(
            2 * radius,
            2 * radius,
            np.zeros(len(points)),
            units="xy",
            offsets=points,
            offset_transform=ax.transData,
            facecolors=PALETTE[4],
            edgecolors="none",
            alpha=float(np.clip(6 / len(points) ** 0.5, 0.02, 0.35)),
            zorder=1,
        )
    )


def draw_ellipses(ax: Any, points: FloatArray, shapes: FloatArray, most: int) -> None:
    """Tissot's ellipses at up to `most` places spread over the map: what a small circle of the data becomes there.

    `shapes` holds a 2 × 2 matrix per point, whose singular vectors and values are the axes of the ellipse. All ellipses are
    scaled by the same factor, such that an ellipse of median size nearly touches its neighbours; the largest are cut to four times that size.
    """
    from matplotlib.collections import EllipseCollection

    rows = spread(points, most)
    rows = rows[np.isfinite(shapes[rows]).all(axis=(1, 2))]
    if len(rows) == 0:
        return
    turn, length, _ = np.linalg.svd(shapes[rows])
    middle = float(np.median(length)) or 1.0
    scale = 0.45 * _apart(points[rows]) / middle
    length = np.clip(length * scale, 0, 4 * middle * scale)
    ax.add_collection(
        EllipseCollection(
            2 * length[:, 0],
            2 * length[:, 1],
            np.degrees(np.arctan2(turn[:, 1, 0], turn[:, 0, 0])),
            units="xy",
            offsets=points[rows],
            offset_transform=ax.transData,
            facecolors="none",
            edgecolors="#222222",
            linewidths=0.8,
            zorder=4,
        )
    )


def _apart(places: FloatArray) -> float:
    """The median distance of a place to the nearest other one."""
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    nearest = gaps.min(axis=1)
    return float(np.median(nearest[np.isfinite(nearest)])) if len(places) > 1 else 1.0


def spread(points: FloatArray, most: int) -> IntArray:
    """At most `most` rows, spread evenly over the map: the first row of every cell of a grid."""
    low, extent = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    side = max(1, int(most**0.5))
    cell = np.minimum(((points - low) / extent * side).astype(int), side - 1)
    _, first = np.unique(cell[:, 1] * side + cell[:, 0], return_index=True)
    return first
