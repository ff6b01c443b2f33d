"""A place for each component of a map, so that none overlaps another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GAP = 0.1  # free share of a cell's side


def cell_sides(sizes: NDArray[np.int64], n_components: int) -> NDArray[np.float64]:
    """Side of the cube for each component: its volume is the number of points."""
    return np.asarray(np.asarray(sizes, np.float64) ** (1.0 / n_components))


def pack_cells(sides: NDArray[np.float64], n_components: int) -> NDArray[np.float64]:
    """Centres of cells of the given sides (descending), one a row, that do not overlap.

    In one dimension the cells stand in a line. Otherwise they fill rows of about equal length, as text does,
    in the first two coordinates; the others are zero.
    """
    centres = np.zeros((len(sides), n_components))
    steps = sides * (1 + _GAP)
    if n_components == 1:
        centres[:, 0] = np.cumsum(steps) - steps / 2
        return centres
    length = max(float(np.sqrt((steps**2).sum())), float(steps[0]))
    across, down, height = 0.0, 0.0, float(steps[0])
    for c, step in enumerate(steps.tolist()):
        if across > 0 and across + step > length * (1 + 1e-12):
            across, down, height = 0.0, down + height, step
        centres[c, :2] = across + step / 2, down + step / 2
        across += step
    return centres


def fit_into_cells(
    Y: NDArray[np.float64],
    starts: NDArray[np.int64],
    centres: NDArray[np.float64],
    sides: NDArray[np.float64],
) -> None:
    """Shift and scale, in place, the rows starts[c]:starts[c+1] of Y to fill the c-th cell."""
    low = np.minimum.reduceat(Y, starts[:-1], axis=0)
    high = np.maximum.reduceat(Y, starts[:-1], axis=0)
    extent = (high - low).max(axis=1)
    scale = np.divide(sides, extent, out=np.zeros_like(sides), where=extent > 0)
    sizes = np.diff(starts)
    Y -= np.repeat((low + high) / 2, sizes, axis=0)
    Y *= np.repeat(scale, sizes)[:, None]
    Y += np.repeat(centres, sizes, axis=0)
