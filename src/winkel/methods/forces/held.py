"""The forces on new rows of a finished map: fields of all fitted rows, summed once on grids and read row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...problem.field import MOST_HELD_NODES, held_cauchy
from ...problem.grid import HeldField
from ...typing import FloatArray
from ..starts import neighbor_width
from .force_problem import smooth_grid
from .map_kernels import MapKernel

FIELD_FROM = 1000  # rows; fewer are summed one by one in as little time


@dataclass(frozen=True, eq=False)
class Fields:
    """Fields Σⱼ f(|y − yⱼ|²) of the rows of a finished map, computed when they are first needed.

    They only depend on the map, so a model file need not contain them. `lists` are the neighbours of the rows.
    """

    Y: FloatArray
    lists: NDArray[np.int32] | None = None
    n_jobs: int = 1
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """The result of `make`, computed once for the map."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    @property
    def width(self) -> float | None:
        """How far a row is from its neighbours on the map; None without lists of them."""
        lists = self.lists
        if lists is None:
            return None
        return float(self.once("width", lambda: neighbor_width(self.Y, lists)))

    def of(self, kernel: MapKernel, form: str) -> HeldField | None:
        """The field of a form of a kernel; None if there is none, or if it would need too large a grid."""
        found: HeldField | None = self.once((kernel, form), lambda: self._summed(kernel, form))
        return found

    def _summed(self, kernel: MapKernel, form: str) -> HeldField | None:
        if len(self.Y) < FIELD_FROM:
            return None
        if kernel.name == "cauchy" and form in ("kernel", "square"):
            return held_cauchy(self.Y, 1.0 if form == "kernel" else 2.0, self.n_jobs)
        grid = smooth_grid(kernel, form, self.n_jobs)
        if grid is None or self.Y.shape[1] != 2 or grid.n_nodes(self.Y) > MOST_HELD_NODES:
            return None
        return grid.hold(np.ascontiguousarray(self.Y, dtype=np.float64))
