"""Units: data is scaled to order one for a fit, results are scaled back, and collapsed or exploded maps are found.

Squares of very large numbers overflow, and those of very small numbers vanish next to a tolerance. So data whose largest
value is far from one is divided by a power of two, which changes no digit, before anything else sees it. Each part of the
result is multiplied by the matching power of that unit: places of `MDE(preserve="distances")` by the unit itself,
variances by its square, the map of a neighbour graph not at all. A map that collapsed or exploded has failed, whatever
the solver says, unless all rows are equal: those belong in one place.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..data import Table
from ..data.arrays import magnitude, overflow_limit, row_blocks
from ..embedding import Embedding, Frames, Status
from ..errors import DataWarning, InvalidInputError, NotConvergedWarning
from ..graph import Graph
from ..typing import FloatArray

Powers = Mapping[str, int]

_MODERATE = 16  # largest values from 2**-16 to 2**16 are left as they are: nothing is copied
_OWN_UNIT = 40  # parameters with a unit of their own go with largest values from 2**-40 to 2**40
_SMALLEST = 1e-150  # squares of smaller numbers have no digits left
_EXPLODED = (
    1e6  # extent of a map that counts as exploded, relative to 1 or to the extent of data in the same unit
)
_EQUAL = "All rows are equal, so there is nothing to distinguish."


def unit_exponent(values: Any, *, owner: str | None = None) -> int:
    """The k for which `values` / 2**k is of order one; 0 if `values` nearly is.

    `owner` names a parameter that is in the unit of the data. The data is then left as it is, or refused if that cannot work.
    """
    largest = _largest(values)
    if largest == 0:
        return 0
    if largest < _SMALLEST:
        raise InvalidInputError(
            f"X is too small: its largest value is {largest:g}, and squares of numbers below {_SMALLEST:g} vanish in "
            "double precision. Rescale the data first."
        )
    exponent = math.frexp(largest)[1]
    if abs(exponent) <= (_MODERATE if owner is None else _OWN_UNIT):
        return 0
    if owner is not None:
        raise InvalidInputError(
            f"X has values of up to {largest:.2g} and would have to be scaled to order one for the fit. But {owner} is in the unit of "
            f"the data and would no longer match. Rescale the data first, to values between {2.0**-_OWN_UNIT:.0e} and "
            f"{2.0**_OWN_UNIT:.0e}."
        )
    return exponent


def divided(values: Any, exponent: int) -> Any:
    """`values` (dense, CSR or a Table) divided by 2**exponent; themselves if that is 0."""
    if exponent == 0 or values is None:
        return values
    if isinstance(values, Table):
        return replace(values, values=divided(values.values, exponent))
    if issparse(values):
        return type(values)(
            (divided(values.data, exponent), values.indices, values.indptr), shape=values.shape
        )
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, -exponent)


def check_beside_fitted(values: Any, exponent: int) -> None:
    """Raise if new rows, divided by the unit of the fitted rows, are so large that distances would overflow."""
    largest = _largest(values)
    limit = overflow_limit(np.dtype(values.dtype), values.shape[1])
    if not largest <= limit:
        raise InvalidInputError(
            f"X is too large compared with the fitted rows: in their unit, 2**{exponent}, its largest value is beyond "
            f"{limit:.1e}. Use the same unit for both."
        )


def multiplied(result: Embedding, exponent: int, powers: Powers) -> Embedding:
    """`result` with its parts multiplied by the power of 2**exponent that `powers` give them."""

    def part(name: str, value: Any) -> Any:
        return value if name not in powers else divided(value, -exponent * powers[name])

    frames, settings = result.frames, dict(result.settings)
    for name in powers.keys() & settings.keys():
        if isinstance(settings[name], float):
            settings[name] = float(part(name, settings[name]))
    return replace(
        result,
        Y=part("Y", result.Y),
        blocks={name: part(name, block) for name, block in result.blocks.items()},
        settings=settings,
        frames=None if frames is None else Frames(frames.iteration, part("Y", frames.Y)),
        graph=_with_distances(result.graph, exponent * powers.get("graph", 0)),
    )


def _with_distances(graph: Graph | None, exponent: int) -> Graph | None:
    """A neighbour graph with its distances multiplied by 2**exponent."""
    if graph is None or graph.knn_indices is None or exponent == 0:
        return graph
    return Graph.from_knn(
        graph.knn_indices, divided(graph.knn_distances, -exponent), graph.origin, copy=False
    )


def _largest(values: Any) -> float:
    values = values.values if isinstance(values, Table) else values
    return magnitude(values.data.reshape(-1, 1) if issparse(values) else values)


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
    """The map with all rows in one place: the place they share, or else the origin."""
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
    """A distance that no pair of rows of this data exceeds by far; infinity if only neighbours are known."""
    values = data.values if isinstance(data, Table) else data
    if issparse(values):
        values = values.data.reshape(-1, 1)
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind != "f":
        return math.inf
    return magnitude(values) * math.sqrt(data.shape[1])
