"""Pairs handed to the compiled core in the layout its fused pass needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..typing import IntArray
from .distortions import FusedPart


@dataclass(frozen=True)
class PairPlan:
    """Packed pairs, and whether they carry a fused distortion or take factors from outside at each evaluation."""

    core: _core.PairPlan32 | _core.PairPlan64
    fused: bool


def pack_pairs(edges: IntArray, parts: tuple[FusedPart, ...], n: int, m: int, dtype: np.dtype[np.generic]) -> PairPlan:
    """The plan for `edges` with the fused `parts` of their distortion, or without when there are none."""
    plan_type = _core.PairPlan64 if dtype == np.float64 else _core.PairPlan32
    core = plan_type(np.arange(n, dtype=np.int32), m)
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
