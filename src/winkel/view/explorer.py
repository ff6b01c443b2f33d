"""`write_html` and `explore`: maps of data as a page to explore."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..checks import integer, new_file
from ..data.archive import atomic_file
from ..run import telling_of_memory
from ..typing import Metric
from .html.page import page
from .html.parts import build_parts


@telling_of_memory(
    "The page", "Show fewer rows or maps, or leave out the data; an existing file was not changed."
)
def write_html(
    path: str | os.PathLike[str],
    maps: Any,
    *,
    labels: Any = None,
    values: Any = None,
    reliability: Any = None,
    ids: Any = None,
    fields: Any = None,
    images: Any = None,
    text: Any = None,
    neighbors: Any = None,
    indicatrix: Any = None,
    scores: Any = None,
    frames: Any = None,
    title: str | None = None,
    data: Any = None,
    metric: Metric = "euclidean",
    trust: bool | None = None,
    names: Any = None,
    features: Any = False,
) -> Path:
    """Write one HTML file that shows the maps and works from disk, without a network, and return its path.

    Parameters
    ----------
    path : path
        The file to write.
    maps : array of shape (n, 2) or (n, 3), fitted estimator, Embedding, path of a map or model file, or dict of these by name
        The maps to show, all of the same rows. Maps with the same number of dimensions are rotated to match the first of them (`wk.align`).
        Coordinates are stored to 1/65535 of a map's extent.
    labels : array of shape (n,), str or None, default=None
        One class per row, or the name of a column of `data`, for colours and legend.
    values : array of shape (n,), dict of such columns by name, names of columns of `data`, or None, default=None
        Numbers to colour by.
    reliability : array of shape (n,), str, dict of such arrays by map, or None, default=None
        How far each place can be trusted, from 0 to 1. One array, or the name of a column of `data`, applies to all maps.
    ids : array of shape (n,), str or None, default=None
        A name for each row, which can be searched for, or the column of `data` that holds the names; None takes the ids of `data`.
    fields : data frame, dict of columns by name, names of columns of `data`, or None, default=None
        Columns to show on the card of a row; the map can also be coloured by them.
    images : array of shape (n, height, width) or (n, height, width, 3), or None, default=None
        Pictures of the rows, grey or in colour.
    text : array of shape (n,), str or None, default=None
        A text for each row, which can be searched for, or the column of `data` that holds it.
    neighbors : Graph, array of shape (n, k), False or None, default=None
        The true neighbours of each row, nearest first. None takes the neighbours that an estimator or Embedding was made from; False
        omits them.
    indicatrix : Indicatrix, dict of these by map, or None, default=None
        Result of `wk.indicatrix` for the first map, or for several maps: reliability, and lists of false and missing neighbours.
    scores : Faithfulness, dict of numbers, dict of these by map, or None, default=None
        Scores of the first map, or of several maps, for the table of the page.
    frames : array of shape (f, n, 2) or (f, n, 3), dict of these by map, or None, default=None
        Intermediate maps of the first map, or of several maps. None takes the frames that an estimator or Embedding kept.
    title : str or None, default=None
        Heading of the page.
    data : array, data frame, sparse matrix, AnnData, Table or None, default=None
        The rows that the maps were made from; the page needs them to measure how far the maps can be trusted. None takes the rows that an
        estimator keeps. Other parameters may name columns: of an AnnData object's `obs`, of a data frame (a column of labels is then not a
        feature), or columns that a Table keeps. For an AnnData object the rows are its `X`; use `winkel.scverse.table` for another array.
    metric : str or callable, default="euclidean"
        The distance in `data`.
    trust : bool or None, default=None
        Whether to measure each map: its scores next to those of principal components, the reliability, false and missing neighbours of
        each point, and seams where the map is torn; on a sample if the data is large. None does so if the data is
        known. `reliability`, `indicatrix` and `scores` that are passed take precedence.
    names : bool, array of shape (n,) or None, default=None
        Names on the map; more appear as one zooms in. They are names of classes or, without labels, of clusters of the map, described by the
        words of `text` or else by the columns of the data that set them apart. An array holds names to use instead, one per row.
        None shows names if there are at most 40 classes, or texts or named columns; False shows none.
    features : bool, data frame, AnnData or Table, default=False
        Whether the page contains the columns of the data, or those of another table of the same rows (for example genes, if `data` has
        their components). They can be used as colours, and to say in which columns a selection differs most from all other rows (as
        `winkel.explain` does). At most 2 000 000 values are kept, from the columns that differ most between regions. Anyone who has the page
        then has these columns.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> Y = wk.quadratic.pca(digits.X).to_textbook()
    >>> path = wk.write_html("digits.html", {"PCA": Y}, labels=digits.y, images=digits.X.reshape(-1, 8, 8))
    >>> path.name
    'digits.html'
    """
    parts = build_parts(
        maps,
        labels=labels,
        values=values,
        reliability=reliability,
        ids=ids,
        fields=fields,
        images=images,
        text=text,
        neighbors=neighbors,
        indicatrix=indicatrix,
        scores=scores,
        frames=frames,
        title=title,
        data=data,
        metric=metric,
        trust=trust,
        names=names,
        features=features,
    )
    return save_page(path, title, parts)


def save_page(path: str | os.PathLike[str], title: str | None, parts: Mapping[str, bytes]) -> Path:
    """Write the page to a temporary file next to `path`, then rename it, so that no half-written file is left."""
    target = new_file("path", path)
    with atomic_file(target) as file:
        file.write(page(title or "winkel", parts).encode("utf-8"))
    return target


def explore(
    maps: Any,
    *,
    labels: Any = None,
    values: Any = None,
    reliability: Any = None,
    ids: Any = None,
    fields: Any = None,
    images: Any = None,
    text: Any = None,
    neighbors: Any = None,
    indicatrix: Any = None,
    scores: Any = None,
    frames: Any = None,
    title: str | None = None,
    data: Any = None,
    metric: Metric = "euclidean",
    trust: bool | None = None,
    names: Any = None,
    features: Any = False,
    height: int = 640,
) -> Any:
    """Show the maps: in a notebook as a widget, elsewhere as a page in the default browser.

    In a notebook, `selection` of the widget contains the rows that the user selects. Elsewhere, the page is a file in a new temporary
    folder, and its path is returned.

    Parameters
    ----------
    maps, labels, … : as in `write_html`
        What the page shows.
    height : int, default=640
        Height of the widget in pixels.

    Returns
    -------
    ExplorerWidget or Path
        The widget, or the page.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> Y = wk.quadratic.pca(digits.X).to_textbook()
    >>> page = wk.explore(Y, labels=digits.y)  # doctest: +SKIP
    """
    parts = build_parts(
        maps,
        labels=labels,
        values=values,
        reliability=reliability,
        ids=ids,
        fields=fields,
        images=images,
        text=text,
        neighbors=neighbors,
        indicatrix=indicatrix,
        scores=scores,
        frames=frames,
        title=title,
        data=data,
        metric=metric,
        trust=trust,
        names=names,
        features=features,
    )
    height = integer("height", height, 1)
    if _in_notebook():
        from .widget import ExplorerWidget  # needs an optional package

        return ExplorerWidget(parts=parts, height=height)
    path = save_page(Path(tempfile.mkdtemp(prefix="winkel-")) / "map.html", title, parts)
    webbrowser.open(path.as_uri())
    return path


def _page_parameters() -> str:
    """The documentation of those parameters that `explore` shares with `write_html`."""
    text = inspect.getdoc(write_html) or ""
    return text[text.index("maps :") : text.index("\n\nReturns")]


explore.__doc__ = (inspect.getdoc(explore) or "").replace(
    "maps, labels, … : as in `write_html`\n    What the page shows.", _page_parameters()
)


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook (a terminal's IPython has none)."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
