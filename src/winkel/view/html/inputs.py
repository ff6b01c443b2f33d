"""The contents of a page, checked and in one form: maps, neighbours, pictures and scores of rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInputError, InvalidParameterError
from ...graph import Graph
from ...maps import as_map
from ...measures.similarity import align
from ...typing import FloatArray

_SHOWN_NEIGHBORS = 15  # of a graph


@dataclass(frozen=True)
class PageMap:
    """One map of a page, rotated to match the first one, and everything that came with it."""

    name: str
    Y: FloatArray
    graph: Graph | None = None
    frames: FloatArray | None = None
    iterations: NDArray[Any] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.Y)


def check_maps(maps: Any, frames: Any = None) -> tuple[PageMap, ...]:
    """The maps in order, all of the same rows; a map with the same number of dimensions as an earlier one is rotated to match it."""
    named = named_maps(maps)
    if not named:
        raise InvalidInputError("maps must hold at least one map; got an empty dict.")
    frames_of = by_map(frames, [str(name) for name in named], "frames")
    shown: list[PageMap] = []
    for name, source in named.items():
        found = as_map(source, repr(name))
        Y = _coordinates(found.Y, str(name))
        if shown and len(Y) != shown[0].n:
            raise InvalidInputError(
                f"all maps must show the same rows; {shown[0].name!r} has {shown[0].n}, {name!r} has {len(Y)}."
            )
        target = next((other.Y for other in shown if other.Y.shape == Y.shape), None)
        turned = Y if target is None else align(Y, target, scale=True)
        kept = frames_of.get(str(name))
        if kept is None and found.embedding is not None:
            kept = found.embedding.frames
        steps, iterations = _check_frames(kept, Y, turned, str(name))
        graph = None if found.embedding is None else found.embedding.graph
        shown.append(PageMap(str(name), turned, graph, steps, iterations))
    return tuple(shown)


def named_maps(maps: Any) -> dict[str, Any]:
    """The maps by name; a single map is named after its file or method."""
    named = maps if isinstance(maps, Mapping) else {_name_of(maps): maps}
    return {str(name): source for name, source in named.items()}


def by_map(content: Any, names: list[str], what: str, shared: bool = False) -> dict[str, Any]:
    """The content for each map: from a dict by the maps' names; otherwise for the first map, or for all maps if `shared`."""
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        return dict.fromkeys(names if shared else names[:1], content)
    unknown = [key for key in content if str(key) not in names]
    if unknown:
        raise InvalidInputError(f"{what} names the map {unknown[0]!r}; the maps are {', '.join(names)}.")
    return {str(key): item for key, item in content.items()}


def check_neighbors(neighbors: Any, maps: tuple[PageMap, ...]) -> NDArray[np.int32] | None:
    """True neighbours of every row, n × k, −1 for none; by default the neighbours that the first map was made from."""
    if neighbors is False:
        return None
    if neighbors is None:
        neighbors = next(
            (m.graph for m in maps if m.graph is not None and m.graph.knn_indices is not None), None
        )
    if neighbors is None:
        return None
    if isinstance(neighbors, Graph):
        lists = neighbors.knn_indices
        lists = _lists_of_edges(neighbors) if lists is None else lists[:, :_SHOWN_NEIGHBORS]
    else:
        lists = np.asarray(neighbors)
    n = maps[0].n
    if lists.ndim != 2 or len(lists) != n or lists.dtype.kind not in "iu":
        raise InvalidInputError(
            f"neighbors must be a Graph of the {n} rows or an n × k array of row numbers; "
            f"got shape {lists.shape}, dtype {lists.dtype}."
        )
    if lists.size and (lists.min() < -1 or lists.max() >= n):
        raise InvalidInputError(f"neighbors must hold row numbers from 0 to {n - 1}, or −1 for none.")
    return lists.astype(np.int32)


def check_lists(lists: Any, n: int, name: str) -> list[NDArray[np.int64]]:
    """Row numbers for every row: a sequence of n arrays, or an n × k array with −1 for none."""
    if len(lists) != n:
        raise InvalidInputError(f"{name} must hold one list per row, {n} in all; got {len(lists)}.")
    rows = [np.asarray(row, dtype=np.int64).ravel() for row in lists]
    rows = [row[row >= 0] for row in rows]
    if any(len(row) and row.max() >= n for row in rows):
        raise InvalidInputError(f"{name} must hold row numbers below {n}.")
    return rows


def check_images(images: Any, n: int) -> NDArray[np.uint8] | None:
    """Pictures as bytes, n × height × width × (1 or 3). Bytes are kept; other numbers are scaled from their smallest to their largest value."""
    if images is None:
        return None
    pictures = np.asarray(images)
    shape = pictures.shape
    if pictures.ndim not in (3, 4) or shape[0] != n or (pictures.ndim == 4 and shape[3] not in (1, 3)):
        raise InvalidInputError(
            f"images must have shape ({n}, height, width) or ({n}, height, width, 3); got {shape}."
        )
    if pictures.dtype != np.uint8:
        if not np.isfinite(pictures).all():
            raise InvalidInputError("images must be finite; fill missing values first.")
        low, high = float(pictures.min()), float(pictures.max())
        pictures = np.rint((pictures - low) * (255 / (high - low or 1.0))).astype(np.uint8)
    return pictures.reshape(n, shape[1], shape[2], -1)


def check_scores(scores: Any, maps: tuple[PageMap, ...]) -> list[dict[str, Any]]:
    """One entry per score with one value per map, from a Faithfulness or dict for the first map, or from a dict of these by map."""
    if scores is None:
        return []
    names = [m.name for m in maps]
    several = isinstance(scores, Mapping) and any(
        isinstance(item, Mapping) or hasattr(item, "scores") for item in scores.values()
    )
    per_map = by_map(scores, names, "scores") if several else {names[0]: scores}
    rows: dict[str, dict[str, Any]] = {}
    for map_name, report in per_map.items():
        content = getattr(report, "scores", report)
        if not isinstance(content, Mapping):
            raise InvalidInputError(
                f"scores must be a Faithfulness, a dict of values, or a dict of these by map; got {type(report).__name__}."
            )
        for measure, score in content.items():
            row = rows.setdefault(
                str(measure),
                {
                    "name": str(measure).replace("_", " "),
                    "meaning": str(getattr(score, "meaning", "")),
                    "higher": getattr(score, "higher_is_better", None),
                    "values": [None] * len(names),
                    "baseline": None,
                },
            )
            value = float(score.value if hasattr(score, "value") else score)
            row["values"][names.index(map_name)] = value if np.isfinite(value) else None
            if row["baseline"] is None:
                row["baseline"] = getattr(score, "baseline", None)
    return list(rows.values())


def _name_of(source: Any) -> str:
    """The name of a map that was not named: its file, its method, or "map"."""
    if isinstance(source, str | os.PathLike):
        return Path(source).name
    return type(source).__name__ if hasattr(source, "embedding_") else "map"


def _coordinates(Y: FloatArray, name: str) -> FloatArray:
    points = np.asarray(Y, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or len(points) == 0:
        raise InvalidInputError(f"maps must have shape (n, 2) or (n, 3); {name!r} has {points.shape}.")
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InvalidInputError(f"maps must be finite; row {row} of {name!r} is {points[row]}.")
    return points


def _check_frames(
    frames: Any, Y: FloatArray, turned: FloatArray, name: str
) -> tuple[FloatArray | None, NDArray[Any] | None]:
    """Intermediate maps, each rotated to match the final map so that only true movement is visible, and their iterations."""
    if frames is None:
        return None, None
    steps = np.asarray(getattr(frames, "Y", frames), dtype=np.float64)
    if steps.ndim != 3 or steps.shape[1:] != Y.shape or len(steps) == 0:
        raise InvalidInputError(
            f"frames of {name!r} must have shape (frames, {Y.shape[0]}, {Y.shape[1]}); got {steps.shape}."
        )
    iterations = np.asarray(getattr(frames, "iteration", np.arange(len(steps))))
    if len(iterations) != len(steps):
        raise InvalidParameterError(
            f"frames of {name!r} has {len(steps)} maps and {len(iterations)} iterations."
        )
    spread = float(np.std(Y - Y.mean(axis=0)))
    factor = float(np.std(turned - turned.mean(axis=0))) / spread if spread > 0 else 1.0
    return np.stack([align(step * factor, turned) for step in steps]), iterations


def _lists_of_edges(graph: Graph) -> NDArray[np.int32]:
    """The nearest neighbours of each node along the edges of a graph that has no neighbour lists."""
    rows, columns = graph.edges.T
    length = graph.distances[rows, columns] if graph.has_distances else -graph.weights
    ends = np.concatenate([np.stack([rows, columns]), np.stack([columns, rows])], axis=1)
    ends = ends[:, np.lexsort((np.tile(np.asarray(length).ravel(), 2), ends[0]))]
    first = np.searchsorted(ends[0], np.arange(graph.n))
    rank = np.arange(ends.shape[1]) - first[ends[0]]
    lists = np.full((graph.n, _SHOWN_NEIGHBORS), -1, dtype=np.int32)
    kept = rank < _SHOWN_NEIGHBORS
    lists[ends[0, kept], rank[kept]] = ends[1, kept]
    return lists
