"""The explorer in a notebook's cell. Needs the optional package anywidget."""

from __future__ import annotations

from ..errors import missing_extra
from .html.page import program, style

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise missing_extra("anywidget", "notebook", "Exploring a map in a notebook") from error


class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """The page of `wk.write_html` as a widget.

    `selection` contains the numbers of the rows selected in the picture, in order; set it to select rows there. Use
    `widget.observe(function, "selection")` to be notified when it changes.
    """

    _esm = program()
    _css = style()
    parts = traitlets.Dict(help="Compressed data by name, as `build_parts` makes it.").tag(sync=True)
    height = traitlets.Int(640, help="Height in pixels.").tag(sync=True)
    selection = traitlets.List(traitlets.Int(), help="Selected rows.").tag(sync=True)
