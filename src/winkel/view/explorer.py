"""`write_html` and `explore`: maps of data as a page to look around in."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InvalidParameterError
from .html.content import build_parts
from .html.page import page


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
) -> Path:
    """The path of one HTML file that shows the maps, and opens from disk without a network.

    Parameters
    ----------
    maps : an n × 2 or n × 3 array, an Embedding or other result with a `Y`, a fitted estimator, or a dict of these by name, all of the same rows.
        Maps of as many dimensions are turned onto the first of them (`wk.align`). Coordinates are kept to 1/65535 of a
        map's extent.
    labels : one class a row, for colours and legend.
    values : numbers to colour by, one a row, or a dict of such columns by name.
    reliability : how far each place can be trusted, 0 to 1, one number a row for all maps, or a dict by map.
    ids, text : a name and a text for each row; both are searched.
    fields : data frame or dict of columns for the card of a row; they colour the map as well.
    images : n × height × width (grey) or n × height × width × 3 pictures of the rows.
    neighbors : the true neighbours of each row, a Graph or n × k row numbers, nearest first. By default those that a
        map given as Embedding or estimator was made from; False leaves them out.
    indicatrix : result of `wk.indicatrix` for the first map, or a dict by map: its reliability and its lists of false
        and missing neighbours.
    scores : Faithfulness or dict of numbers for the first map, or a dict of these by map.
    frames : maps on the way, frames × n × 2 (or 3), for the first map, or a dict by map. By default those of an
        Embedding that has them.
    title : heading of the page.
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
    )
    return save_page(path, title, parts)


def save_page(path: str | os.PathLike[str], title: str | None, parts: Mapping[str, bytes]) -> Path:
    """Write the page to a temporary file beside `path`, then rename it, so that no half-written one is left."""
    target = Path(path)
    if target.is_dir():
        raise InvalidParameterError(f"path must name a file, such as map.html; {str(target)!r} is a folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(page(title or "winkel", parts), encoding="utf-8", newline="\n")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
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
    height: int = 640,
) -> Any:
    """In a notebook a widget whose `selection` is what the person selects; elsewhere the path of a page just opened.

    The parameters are those of `write_html`; `height` is that of the widget in pixels. The page is a file in a new
    temporary folder, opened in the default browser.
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
    )
    if _in_notebook():
        from .widget import ExplorerWidget  # needs an optional package

        return ExplorerWidget(parts=parts, height=height)
    path = save_page(Path(tempfile.mkdtemp(prefix="winkel-")) / "map.html", title, parts)
    webbrowser.open(path.as_uri())
    return path


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook (a terminal's IPython has none)."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
