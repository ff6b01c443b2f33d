"""What became of a fit: equal rows stand in one place, and a map that collapsed or exploded has failed, whatever the solver says."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..data import Table
from ..data.arrays import magnitude, row_blocks
from ..embedding import Embedding
from ..errors import DataWarning, NotConvergedWarning
from ..solvers.base import Status
from ..typing import FloatArray

_EXPLODED = 1e6  # extent of a map, beside 1 or beside that of data in whose unit it is
_EQUAL = "All rows are equal: there is nothing to tell apart."


def judged(result: Embedding, data: Any, has_unit: bool) -> Embedding:
    """`result` of a fit to `data`, with the status that its map deserves.

    Rows that are all equal are shown in one place, with a DataWarning. Otherwise a map in one place, or one that is larger
    than any map of such data, is "failed", with a NotConvergedWarning. `has_unit` says whether the map has the data's unit.
    """
    if all_equal(data):
        return _in_one_place(result)
    wrong = _what_is_wrong(result.Y, _usual_extent(data) if has_unit else 1.0)
    if not wrong or result.status.word in ("failed", "interrupted", "time_limit"):
        return result
    sentence = (
        f"{wrong} Another start (init), smaller steps or other parameters may help. The solver said: "
        f"{result.status.sentence}"
    )
    warnings.warn(sentence, NotConvergedWarning, stacklevel=5)
    return replace(result, status=Status("failed", sentence))


def all_equal(data: Any) -> bool:
    """Whether all rows of a Table are equal, or all given distances zero."""
    values = data.values if isinstance(data, Table) else data
    if not isinstance(data, Table):
        numbers = isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind == "f"
        return numbers and not values.any()
    if issparse(values):
        first = values[[0]]
        if not np.array_equal(np.diff(values.indptr), np.full(values.shape[0], first.nnz)):
            return False
        shape = (values.shape[0], -1)
        return values.nnz == 0 or bool(
            (values.indices.reshape(shape) == first.indices).all()
            and (values.data.reshape(shape) == first.data).all()
        )
    return all((block == values[0]).all() for _, block in row_blocks(values))


def _in_one_place(result: Embedding) -> Embedding:
    """The map with all rows in one place: theirs, if they share it already, else the origin."""
    if result.status.sentence == _EQUAL:  # the method has seen to it
        return result
    warnings.warn("all rows are equal, so the map shows them in one place.", DataWarning, stacklevel=6)
    Y = result.Y if _extent(result.Y) == 0 else np.zeros_like(result.Y)
    status = result.status if result.status.word == "interrupted" else Status("converged", _EQUAL)
    return replace(result, Y=Y, status=status)


def _what_is_wrong(Y: FloatArray, usual: float) -> str:
    """A sentence that says how a map failed; empty if it did not."""
    extent, largest = _extent(Y), magnitude(Y)
    if len(Y) > 1 and extent <= 8 * float(np.finfo(Y.dtype).eps) * largest:
        return "The map collapsed: all rows are in one place."
    if extent > _EXPLODED * usual:
        return f"The map exploded: it is {extent:.2g} wide."
    return ""


def _extent(Y: FloatArray) -> float:
    """The longest side of the box around all rows."""
    wide = np.asarray(Y, dtype=np.float64)
    return float((wide.max(axis=0) - wide.min(axis=0)).max())


def _usual_extent(data: Any) -> float:
    """A distance of two rows that no pair of this data exceeds by far; infinity where only neighbours are known."""
    values = data.values if isinstance(data, Table) else data
    if issparse(values):
        values = values.data.reshape(-1, 1)
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind != "f":
        return math.inf
    return magnitude(values) * math.sqrt(data.shape[1])
