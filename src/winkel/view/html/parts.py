"""The parts of an explorer page: the part that is drawn at once, and the parts that may come a moment later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...checks import flag, optional
from ...checks import text as check_text
from ...data import as_table
from ...data.annotated import named_labels
from ...data.table import labelled
from ...errors import InvalidInputError
from ...measures.sources import has_rows
from ...measures.tearing import Seams
from ...typing import FloatArray, Metric
from ..layers import PALETTE
from ..plots import column as check_column
from ..regions import Name
from .columns import add_categories, add_column, add_numbers, add_texts, as_texts, named_columns
from .container import Part
from .inputs import (
    PageMap,
    by_map,
    check_images,
    check_lists,
    check_maps,
    check_neighbors,
    check_scores,
    named_maps,
)
from .judged import judge
from .told import Told, features_part, table_of_features

_STEPS = 65535  # a coordinate is kept to 1/65535 of the map's extent
_FRAME_STEPS = 4095  # one of a moving picture needs no more
_OUTLYING = 0.002  # share of points on each side that the first view may leave out,
_SMALL = 0.6  # if the others take no more than this of the extent;
_ROOM = 0.1  # and the room it leaves around them


def build_parts(
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
    features: bool = False,
) -> dict[str, bytes]:
    """The compressed parts of a page by name; "main" is always there, and names the others."""
    optional(check_text, "title", title)
    shown = check_maps(maps, frames)
    label_name = labels if isinstance(labels, str) else _column_name(labels, "labels")
    values, fields = _named(data, values, "values"), _named(data, fields, "fields")
    reliability, ids, text = (
        named_labels(data, given, what, "data")
        for given, what in ((reliability, "reliability"), (ids, "ids"), (text, "text"))
    )
    data, labels = labelled(data, labels, name="data")
    if data is not None:
        data = as_table(data, name="data") if has_rows(metric) else data
        ids = getattr(data, "ids", None) if ids is None else ids
    judged = judge(named_maps(maps), shown, data, metric, optional(flag, "trust", trust))
    if reliability is None and indicatrix is None:
        reliability = judged.reliability or None
    scores = judged.scores or None if scores is None else scores
    n = shown[0].n
    boxes = [_box(m.Y) for m in shown]
    order = _storage_order(_quantised(shown[0].Y, *boxes[0], _STEPS))
    titles = [m.name for m in shown]
    per_map = by_map(indicatrix, titles, "indicatrix")
    reliable = per_map if reliability is None else by_map(reliability, titles, "reliability", shared=True)
    own = not isinstance(features, bool | np.bool_)  # a table of other columns
    rows = table_of_features(features, n) if own else data if has_rows(metric) else None
    told = Told.of(shown, named_maps(maps), names, labels, text, fields, rows)

    main = Part({"version": __version__, "n": n, "title": title or "", "palette": PALETTE})
    main.add("order", order.astype(np.uint32), "planes")
    main.meta["maps"] = [
        _add_map(main, index, m, boxes[index], order, judged.seams.get(m.name), told.names[m.name])
        for index, m in enumerate(shown)
    ]
    if labels is not None:
        main.meta["labels"] = add_categories(
            main, "labels", label_name, check_column(labels, n, "labels"), order
        )
    main.meta["values"] = _add_values(main, values, n, order)
    main.meta["reliability"] = _add_reliability(main, reliable, shown, order)
    main.meta["scores"] = check_scores(scores, shown)

    later: dict[str, Callable[[], Part | None]] = {
        "rows": lambda: _rows_part(ids, text, fields, n, order),
        "features": lambda: features_part(told, order) if own or features else None,
        "neighbors": lambda: _neighbors_part(check_neighbors(neighbors, shown), per_map, shown, order),
        "frames": lambda: _frames_part(shown, boxes, order),
        "images": lambda: _images_part(images, n),
    }
    parts = {name: part for name, make in later.items() if (part := make()) is not None}
    main.meta["parts"] = list(parts)
    return {"main": main.pack(), **{name: part.pack() for name, part in parts.items()}}


def _box(Y: FloatArray) -> tuple[FloatArray, float]:
    """Lowest corner and side of the smallest square (or cube) about the middle of the extent that holds the map."""
    low, high = Y.min(axis=0), Y.max(axis=0)
    side = float((high - low).max()) or 1.0
    return (low + high) / 2 - side / 2, side


def _quantised(Y: FloatArray, low: FloatArray, side: float, steps: int) -> NDArray[np.uint16]:
    return np.rint(np.clip((Y - low) / side, 0, 1) * steps).astype(np.uint16)


def _storage_order(cells: NDArray[np.uint16]) -> NDArray[np.intp]:
    """Rows along a Z-shaped curve through the map: near ones follow each other, so that differences are small."""
    dimensions = cells.shape[1]
    curve = np.zeros(len(cells), dtype=np.uint64)
    for bit in range(16):
        for d in range(dimensions):
            bits = (cells[:, d].astype(np.uint64) >> np.uint64(bit)) & np.uint64(1)
            curve |= bits << np.uint64(dimensions * bit + d)
    return np.argsort(curve, kind="stable")


def _add_map(
    part: Part,
    index: int,
    shown: PageMap,
    box: tuple[FloatArray, float],
    order: NDArray[np.intp],
    seams: Seams | None,
    names: list[Name],
) -> dict[str, Any]:
    low, side = box
    part.add(f"map{index}", _quantised(shown.Y, low, side, _STEPS)[order].T, "delta")
    at, extent = _first_view(shown.Y)
    view = {"low": ((at - low) / side).tolist(), "side": extent / side}  # in units of the box
    bands = [] if seams is None else _bands(seams, low, side)
    return {
        "name": shown.name, "array": f"map{index}", "low": low.tolist(), "side": side, "view": view, "seams": bands,
        "names": [
            {"text": name.text, "place": np.round((name.place - low) / side, 5).tolist(), "rows": name.size, "level": name.level}
            for name in names
        ],
    }  # fmt: skip


def _bands(seams: Seams, low: FloatArray, side: float) -> list[list[float]]:
    """For each band, both ends, both widths, and its strength from 0 to 1; in units of the box."""
    if len(seams) == 0:
        return []
    ends = ((seams.ends - low) / side).reshape(len(seams), 4)
    strength = np.sqrt(seams.links / seams.links.max())[:, None]
    return np.round(np.concatenate([ends, seams.widths / side, strength], axis=1), 5).tolist()


def _named(data: Any, given: Any, what: str) -> Any:
    """Columns by name, if one or several texts name columns of `data`; otherwise the argument itself."""
    names = [given] if isinstance(given, str) else given
    named = isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names)
    if data is None or not named:
        return given
    return {name: named_labels(data, name, what, "data") for name in names}


def _column_name(column: Any, usual: str) -> str:
    """The name that a column of a data frame brings with it."""
    name = getattr(column, "name", None)
    return str(name) if name is not None else usual


def _first_view(Y: FloatArray) -> tuple[FloatArray, float]:
    """The box of nearly all points if a few distant points would make the rest small, otherwise the box of all points."""
    low, side = _box(Y)
    middle, extent = _box(np.quantile(Y, [_OUTLYING, 1 - _OUTLYING], axis=0))
    if extent > _SMALL * side:
        return low, side
    return middle - _ROOM * extent, (1 + 2 * _ROOM) * extent


def _add_values(part: Part, values: Any, n: int, order: NDArray[np.intp]) -> list[dict[str, Any]]:
    if values is None:
        return []
    named = values if isinstance(values, Mapping) else {_column_name(values, "value"): values}
    columns = []
    for index, (name, numbers) in enumerate(named.items()):
        column = check_column(numbers, n, f"values[{name!r}]")
        if column.dtype.kind not in "iufb":
            raise InvalidInputError(f"values[{name!r}] must hold numbers; got dtype {column.dtype}.")
        columns.append(add_numbers(part, f"value{index}", str(name), column.astype(np.float32), order))
    return columns


def _add_reliability(
    part: Part, trust: Mapping[str, Any], maps: tuple[PageMap, ...], order: NDArray[np.intp]
) -> list[str | None]:
    """The array of each map's reliability, 0 to 1 in steps of 1/255, or None."""
    names: list[str | None] = []
    for index, shown in enumerate(maps):
        source = trust.get(shown.name)
        if source is None:
            names.append(None)
            continue
        if index and source is trust.get(maps[0].name):
            names.append(names[0])
            continue
        column = check_column(getattr(source, "reliability", source), shown.n, "reliability").astype(float)
        if not (np.isfinite(column).all() and column.min() >= 0 and column.max() <= 1):
            raise InvalidInputError(
                f"reliability must lie between 0 and 1; got {column.min():g} to {column.max():g}. "
                "Give another quantity as values."
            )
        names.append(part.add(f"reliability{index}", np.rint(column * 255).astype(np.uint8)[order], "planes"))
    return names


def _rows_part(ids: Any, text: Any, fields: Any, n: int, order: NDArray[np.intp]) -> Part | None:
    columns = named_columns(fields, n)
    if ids is None and text is None and not columns:
        return None
    part = Part()
    for key, texts in (("ids", ids), ("text", text)):
        if texts is not None:
            part.meta[key] = add_texts(part, key, key, as_texts(check_column(texts, n, key)))
    part.meta["fields"] = [
        add_column(part, f"field{index}", name, column, order)
        for index, (name, column) in enumerate(columns.items())
    ]
    return part


def _neighbors_part(
    lists: NDArray[np.int32] | None,
    per_map: Mapping[str, Any],
    maps: tuple[PageMap, ...],
    order: NDArray[np.intp],
) -> Part | None:
    """True neighbours, and the false and missing ones of a map where a measure has told them.

    Rows are numbered by their place in storage and a neighbour by its difference from the row, folded; 0 is none.
    """
    part = Part({"given": {}})
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    if lists is not None:
        stored = lists[order]
        difference = np.where(stored < 0, 0, place[stored] - np.arange(len(order))[:, None])
        part.meta["neighbors"] = part.add("neighbors", _zigzag(difference), "planes")
    for index, shown in enumerate(maps):
        source = per_map.get(shown.name)
        kinds = ("false", "missing")
        if source is None or any(getattr(source, f"{kind}_neighbors", None) is None for kind in kinds):
            continue
        for kind in kinds:
            rows = check_lists(getattr(source, f"{kind}_neighbors"), shown.n, f"{kind}_neighbors")
            rows = [rows[row] for row in order]
            lengths = np.array([len(row) for row in rows], dtype=np.uint32)
            ends = place[np.concatenate(rows)] if lengths.sum() else np.empty(0, dtype=np.int64)
            starts = np.repeat(np.arange(len(rows)), lengths)
            part.add(f"{kind}{index}", _zigzag(ends - starts), "planes")
            part.add(f"{kind}{index}.lengths", lengths, "planes")
        part.meta["given"][str(index)] = True
    return part if lists is not None or part.meta["given"] else None


def _zigzag(difference: NDArray[np.int64]) -> NDArray[np.uint32]:
    return np.where(difference < 0, -2 * difference - 1, 2 * difference).astype(np.uint32)


def _frames_part(
    maps: tuple[PageMap, ...], boxes: list[tuple[FloatArray, float]], order: NDArray[np.intp]
) -> Part | None:
    part = Part({"frames": []})
    for index, shown in enumerate(maps):
        if shown.frames is None or shown.iterations is None:
            continue
        low, side = _box(shown.frames.reshape(-1, shown.frames.shape[2]))
        cells = _quantised(shown.frames, low, side, _FRAME_STEPS)[:, order].transpose(0, 2, 1)
        at, unit = boxes[index]
        part.meta["frames"].append(
            {
                "map": index,
                "array": part.add(f"frames{index}", cells, "time"),
                "iterations": [int(i) for i in shown.iterations],
                "shift": ((low - at) / unit).tolist(),  # in units of the map's own box
                "scale": side / unit,
                "steps": _FRAME_STEPS,
            }
        )
    return part if part.meta["frames"] else None


def _images_part(images: Any, n: int) -> Part | None:
    pictures = check_images(images, n)
    if pictures is None:
        return None
    part = Part({"height": pictures.shape[1], "width": pictures.shape[2], "channels": pictures.shape[3]})
    part.add("images", pictures)
    return part
