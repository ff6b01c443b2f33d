"""What all fitted rows do together to a new one: a field that is summed once on a grid, kept, and read row by row."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...problem.field import MOST_HELD_NODES, held_cauchy
from ...problem.grid import HeldField
from ...typing import FloatArray
from .force_problem import smooth_grid
from .map_kernels import MapKernel

FIELD_FROM = 1000  # rows; fewer are summed one by one in as little time


@dataclass(frozen=True, eq=False)
class Fields:
    """Fields Σⱼ f(|y − yⱼ|²) of the rows of a finished map, made when they are first asked for.

    They are functions of the places alone: a model file need not hold them.
    """

    Y: FloatArray
    n_jobs: int = 1
    _kept: dict[tuple[MapKernel, str], HeldField | None] = field(default_factory=dict, init=False, repr=False)

    def of(self, kernel: MapKernel, form: str) -> HeldField | None:
        """The field of a form of a kernel; None where there is none, or where it would take too large a grid."""
        if (kernel, form) not in self._kept:
            self._kept[kernel, form] = None if len(self.Y) < FIELD_FROM else self._summed(kernel, form)
        return self._kept[kernel, form]

    def _summed(self, kernel: MapKernel, form: str) -> HeldField | None:
        if kernel.name == "cauchy" and form in ("kernel", "square"):
            return held_cauchy(self.Y, 1.0 if form == "kernel" else 2.0, self.n_jobs)
        grid = smooth_grid(kernel, form, self.n_jobs)
        if grid is None or self.Y.shape[1] != 2 or grid.n_nodes(self.Y) > MOST_HELD_NODES:
            return None
        return grid.hold(np.ascontiguousarray(self.Y, dtype=np.float64))
