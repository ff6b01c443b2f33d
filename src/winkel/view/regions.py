"""Regions of a map and their names: classes, or clusters described by the words or columns that set them apart.

    labels ──> regions of classes ─────────────────────────────┐
    map    ──> hills of its density ──> words of texts, or     ├──> names with a place and a level
                                        columns of the data ───┘

A cluster is a hill of the density of points on a grid, separated from others as in `winkel.measures.density`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..measures.density import Hills
from ..measures.explain import group_effects
from ..typing import FloatArray
from .layers import classes, short_names

MOST_NAMES = 40  # classes that are named without being asked
FEW = 0.01  # share of all rows below which a name is written next to its points, not over them
_CELLS = 96  # of the grid on which density is looked at, along the longer side
_SPREADS = {1: 0.03, 2: 0.012}  # how far each point is spread, by level, in shares of the map's extent
_CLARITY = 0.3  # how far the top of a hill stands above the saddle to a higher one, as a logarithm of density
_LEAST_ROWS, _LEAST_SHARE = 5, 0.005  # of a cluster
_OWN_NAME = 0.25  # share of a class from which on a further hill of it gets the name too
_LONGEST = 28  # letters of a name
_MOST_WORDS, _FEWEST_TEXTS = 3000, 3
_LEAST_EFFECT = 0.4  # standard deviations by which a word or column has to differ to be named
_WORD = re.compile(r"[^\W\d_][\w'’-]{2,}")


@dataclass(frozen=True)
class Name:
    """A name on a map: the text, its place, its number of rows, and its level: 1 is shown at once, 2 when one zooms in."""

    text: str
    place: tuple[float, ...]
    size: int
    level: int = 1


def class_names(Y: FloatArray, names: Sequence[str], which: NDArray[np.intp]) -> list[Name]:
    """A name for each class at its densest place, and at each further hill that contains a quarter of the class; largest first."""
    found = []
    for code, name in enumerate(short_names(names, _LONGEST)):
        rows = np.flatnonzero(which == code)
        if len(rows) == 0 or not name.strip():
            continue
        if Y.shape[1] != 2:
            found.append(Name(name, tuple(np.median(Y[rows], axis=0).tolist()), len(rows)))
            continue
        hill, tops = hills(Y[rows], 1, Y)
        sizes = np.bincount(hill, minlength=len(tops))
        least = min(sizes.max(), max(_OWN_NAME * len(rows), _LEAST_ROWS))
        found += [Name(name, tuple(tops[h].tolist()), int(sizes[h])) for h in np.flatnonzero(sizes >= least)]
    return sorted(found, key=lambda name: -name.size)


def cluster_names(Y: FloatArray, values: Any, columns: Sequence[str], *, words: bool) -> list[Name]:
    """Names of the hills of a map: `words` that are frequent there, or columns whose means are high or low there."""
    found: list[Name] = []
    told: set[tuple[str, int]] = set()
    for level in _SPREADS:
        hill, tops = hills(Y, level)
        sizes = np.bincount(hill, minlength=len(tops))
        kept = np.flatnonzero(sizes >= max(_LEAST_ROWS, _LEAST_SHARE * len(Y)))
        if len(kept) < 2:
            continue
        effects = group_effects(values, hill, len(tops))[kept]
        for h, effect in zip(kept, effects):
            text = _told(effect, columns, words)
            if text and (text, int(sizes[h])) not in told:  # the same hill at both levels is named once
                told.add((text, int(sizes[h])))
                found.append(Name(text, tuple(tops[h].tolist()), int(sizes[h]), level))
    return sorted(found, key=lambda name: (name.level, -name.size))


def _told(effect: FloatArray, columns: Sequence[str], words: bool) -> str:
    """The two or three words or columns with the largest effect; empty if no effect is large."""
    strength = effect if words else np.abs(effect)
    best = [int(c) for c in np.argsort(-strength, kind="stable")[:3] if strength[c] >= _LEAST_EFFECT]
    if words:
        return ", ".join(columns[c] for c in best)
    told = short_names([columns[c] for c in best[:2]], _LONGEST)
    return ", ".join(f"{name} {'↑' if effect[c] > 0 else '↓'}" for name, c in zip(told, best))


def texts_table(texts: Sequence[str]) -> tuple[sp.csr_matrix, list[str]]:
    """Which text contains which word (1 or 0), for the words that appear in most texts, and the words."""
    held = [sorted(set(_WORD.findall(text.lower()))) for text in texts]
    counts = Counter(word for words in held for word in words)
    most = max(_FEWEST_TEXTS, 0.5 * len(texts))
    chosen = sorted(word for word, count in counts.items() if _FEWEST_TEXTS <= count <= most)
    chosen = sorted(chosen, key=lambda word: -counts[word])[:_MOST_WORDS]
    place = {word: c for c, word in enumerate(chosen)}
    columns = [[place[word] for word in words if word in place] for words in held]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in columns])])
    indices = np.fromiter((c for row in columns for c in row), dtype=np.int64, count=int(indptr[-1]))
    table = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(held), len(chosen)))
    return table, chosen


def hills(
    Y: FloatArray, level: int, frame: FloatArray | None = None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """For each row, the hill of the density of a flat map that it is on, and the place of each hill's top.

    `frame` is the whole map, if Y is only a part of it.
    """
    from scipy.ndimage import gaussian_filter

    whole = Y if frame is None else frame
    low = whole.min(axis=0)
    extent = float(np.ptp(whole, axis=0).max()) or 1.0
    cell = np.minimum(((Y - low) / extent * _CELLS).astype(np.intp), _CELLS - 1)
    flat = cell[:, 1] * _CELLS + cell[:, 0]
    counts = np.bincount(flat, minlength=_CELLS * _CELLS).astype(float).reshape(_CELLS, _CELLS)
    density = gaussian_filter(counts, _SPREADS[level] * _CELLS, mode="constant", truncate=3.0)
    summit = _climbed(density)
    tops, hill = np.unique(summit.ravel()[flat], return_inverse=True)
    places = np.stack([tops % _CELLS, tops // _CELLS], axis=1) + 0.5
    return hill, low + places / _CELLS * extent


def _climbed(density: FloatArray) -> NDArray[np.intp]:
    """For each cell, the cell at the top of its hill, found by climbing among its eight neighbours; −1 for empty cells."""
    rows, columns = density.shape
    known = np.flatnonzero(density.ravel() > 0)
    number = np.full(density.size, -1, dtype=np.intp)
    number[known] = np.arange(len(known))
    padded = np.pad(number.reshape(rows, columns), 1, constant_values=-1)
    around = [
        padded[1 + dr : 1 + dr + rows, 1 + dc : 1 + dc + columns].ravel()[known]
        for dr in (-1, 0, 1) for dc in (-1, 0, 1) if dr or dc
    ]  # fmt: skip
    beside = np.stack(around, axis=1).tolist()
    height = np.log(density.ravel()[known])
    order = np.argsort(-height, kind="stable")
    rank = np.empty(len(known), dtype=np.intp)
    rank[order] = np.arange(len(known))
    ranks = rank.tolist()
    found = Hills(len(known), height.tolist(), 1)
    for cell in order.tolist():
        found.reach(cell, [other for other in beside[cell] if other >= 0 and ranks[other] < ranks[cell]])
    top = np.full(density.size, -1, dtype=np.intp)
    top[known] = known[found.clusters(_CLARITY)]
    return top.reshape(density.shape)


def named_classes(labels: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """The classes of labels and the class of each row; missing labels have no name."""
    names, which = classes(labels)
    return ["" if name in ("nan", "None", "-1") else name for name in names], which
