"""A radial function as a table in the compiled core, for distortions that have no fused kernel of their own.

The squared distance s = d² is divided into cells, the same number in each power of two; on each cell, f(d) and f'(d)/d are cubic polynomials
of s. A cell at distance d is d/128 wide, so a function that is smooth on that scale is accurate to about ten digits at every
distance; a kink is rounded off over one cell.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..algebra import one_blas_thread
from .distortions import Distortion

CELL_BITS = 6  # 2**6 cells in every power of two of the squared distance
_STEEP = 6.0  # a force that falls faster than d⁻⁶ is felt by close points alone
LAST_BINADE = 124  # squared distances up to 2**124, which single precision can still hold

_NODES = 0.5 - 0.5 * np.cos(np.pi * (2 * np.arange(4) + 1) / 8)  # of Chebyshev, on [0, 1]


@lru_cache(maxsize=8)  # by the object: a problem asks again at every evaluation
def tabulated(distortion: Distortion) -> _core.RadialTable:
    """The table of a distortion that is the same for all pairs, its weight included."""
    floor = float(distortion.floor)
    first = math.floor(math.log2(floor * floor))
    count = (LAST_BINADE - first) << CELL_BITS
    begin = _cell_ends(first, count)
    low, width = begin[:-1], np.diff(begin)
    # Below the floor the parabola takes over: the cell that it divides is fitted above it, and earlier ones are not used.
    from_t = np.clip((floor * floor - low) / width, 0.0, 0.999)
    t = from_t[:, None] + (1.0 - from_t[:, None]) * _NODES
    d = np.sqrt(np.maximum(low[:, None] + width[:, None] * t, floor * floor)).ravel()
    with np.errstate(all="ignore"), one_blas_thread():  # at distances that no map has
        value, slope = distortion.formula(d)
        at_nodes = np.stack([value, slope / d], axis=-1).reshape(count, 4, 2)
        coefficients = np.linalg.solve(t[:, :, None] ** np.arange(4), at_nodes)
    rows = np.ascontiguousarray(coefficients.transpose(0, 2, 1).reshape(count, 8))
    return _core.RadialTable(first, CELL_BITS, floor, rows)


def decay(distortion: Distortion, n_components: int, tolerance: float) -> tuple[float, float]:
    """The length on which the force of a distortion decays faster than any power, and the reach beyond which it is negligible.

    Both are infinite if the force does not decay in this way; the reach is also infinite if the values do not decay with the force.
    """
    d = np.geomspace(max(float(distortion.floor), 1e-4), 1e6, 4000)
    with np.errstate(all="ignore"):
        value, slope = (np.abs(part).astype(np.float64) for part in distortion.formula(d))
        steep = (np.gradient(np.log(slope), np.log(d)) < -_STEEP) | ~(slope > 0)
        felt = np.stack([value, slope]) * d**n_components  # by the points of a ring or shell at that distance
    if not steep[-1] or not np.isfinite(felt).all():
        return math.inf, math.inf
    start = 0 if steep.all() else int(np.flatnonzero(~steep)[-1]) + 1
    beyond = np.maximum.accumulate(felt[:, ::-1], axis=1)[:, ::-1]  # the most that is felt from there on
    gone = (beyond <= math.exp(-5.0) * tolerance * felt.max(axis=1, keepdims=True)).all(axis=0)
    reach = float(d[max(start, int(np.argmax(gone)))]) if gone.any() else math.inf
    return float(d[start]) / 3.0, reach


def _cell_ends(first: int, count: int) -> NDArray[np.float64]:
    cell = np.arange(count + 1)
    part = 1.0 + (cell % (1 << CELL_BITS)) / (1 << CELL_BITS)
    return np.ldexp(part, first + (cell >> CELL_BITS))
