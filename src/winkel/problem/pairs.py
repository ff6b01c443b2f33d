"""The pairs of a problem: checked, and handed to the compiled core in the layout its fused pass needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..checks import integer
from ..errors import InvalidInputError, InvalidParameterError
from ..typing import IntArray
from .distortions import FusedPart


def checked_components(n_components: int, n: int) -> int:
    """`n_components`, checked to fit n items."""
    m = integer("n_components", n_components, 1)
    if n * (m + 7) >= 2**31:  # the core pads rows by up to seven components
        raise InvalidParameterError(
            f"An embedding may have just under 2**31 entries; {n} items in {n_components} dimensions are more. "
            "Use fewer components, or embed a sample as landmarks."
        )
    return m


def checked_edges(edges: ArrayLike, n_items: int | None) -> NDArray[np.int32]:
    """Pairs as a read-only contiguous int32 array, checked."""
    array = np.asarray(edges)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(
            "edges must be an integer array of shape (p, 2) with at least one pair; "
            f"got an array of {array.dtype}, shape {array.shape}."
        )
    n = 2**31 - 1 if n_items is None else integer("n_items", n_items, 2, 2**31 - 1)
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n:
        k = int(np.argmax(((array < 0) | (array >= n)).any(axis=1)))
        raise InvalidInputError(
            f"edges must name items from 0 to {n - 1}; pair {k} is {tuple(map(int, array[k]))}."
        )
    loops = array[:, 0] == array[:, 1]
    if loops.any():
        k = int(np.argmax(loops))
        raise InvalidInputError(
            f"edges must pair different items; pair {k} is {tuple(map(int, array[k]))}. Drop such pairs."
        )
    _check_unique(array)
    out = np.array(array, dtype=np.int32, order="C")
    out.flags.writeable = False
    return out


def _check_unique(edges: IntArray) -> None:
    keys = edges.min(axis=1).astype(np.int64) * 2**31 + edges.max(axis=1)
    if (keys[1:] > keys[:-1]).all():
        return
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    if len(same):
        a, b = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        raise InvalidInputError(
            f"edges must list each pair once; pairs {a} and {b} are both {tuple(map(int, edges[a]))} "
            f"({len(same)} repeats). Merge them and add up their weights."
        )


@dataclass(frozen=True)
class PairPlan:
    """Packed pairs, and whether they carry a fused distortion or take factors from outside at each evaluation."""

    core: Any  # PairPlan32 or PairPlan64, as the embedding's precision asks
    fused: bool


def pack_pairs(
    edges: IntArray, parts: tuple[FusedPart, ...], n: int, m: int, dtype: np.dtype[np.generic]
) -> PairPlan:
    """The plan for `edges` with the fused `parts` of their distortion, or without when there are none."""
    plan_type = _core.PairPlan64 if dtype == np.float64 else _core.PairPlan32
    core: Any = plan_type(n, m)
    for part in parts:
        pairs = edges if part.pairs is None else np.ascontiguousarray(edges[part.pairs])
        weights = np.asarray(part.weights, dtype=np.float64)
        same = weights.ndim == 0 or bool((weights == weights[0]).all())
        common = float(weights.flat[0])
        deviations = None if part.deviations is None else np.asarray(part.deviations, dtype=np.float64)
        core.add(
            part.kernel,
            part.first,
            part.second,
            part.floor,
            pairs,
            None if same else weights,
            common,
            deviations,
        )
    if not parts:
        core.add("factors", 0.0, 0.0, 0.0, edges, None, 1.0, None)
    return PairPlan(core, bool(parts))
