"""Explorer pages of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data import Table
from .maps import Map
from .methods import public


def write_page(path: str, maps: Mapping[str, Map], table: Table | None, scores: Any = None) -> None:
    """Write the page with maps of the same rows, and what is known of the rows; with their data, how far to trust each."""
    write_html = public("write_html")
    first = next(iter(maps.values()))
    values = {
        name if len(maps) == 1 else f"{name} ({title})": points
        for title, found in maps.items()
        for name, points in found.points.items()
    }
    write_html(
        path,
        {title: found.Y for title, found in maps.items()},
        labels=first.labels,
        ids=first.ids,
        values=values or None,
        indicatrix=None if table is None else _indicatrices(maps, table),
        scores=scores,
        title=", ".join(maps),
    )


def _indicatrices(maps: Mapping[str, Map], table: Table) -> dict[str, Any]:
    indicatrix = public("indicatrix")
    return {title: indicatrix(table.values, found.Y) for title, found in maps.items()}
