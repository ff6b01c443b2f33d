"""The unit of the data: maps are made from numbers of order one, and results have the data's own unit again.

Squares of very large numbers overflow, and those of very small ones vanish beside a tolerance. So data whose largest
value is far from one is divided by a power of two, which changes no digit, before anything else sees it. What a fit
found is multiplied by the power of that unit which it has: places of `MDE(preserve="distances")` by the unit itself,
variances by its square, the map of a neighbour graph by nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..data import Table
from ..data.arrays import magnitude, overflow_limit
from ..embedding import Embedding
from ..errors import InvalidInputError
from ..graph import Graph
from ..solvers.base import Frames

Powers = Mapping[str, int]

_MODERATE = 16  # largest values from 2**-16 to 2**16 are left as they are: nothing is copied
_OWN_UNIT = 40  # parameters with a unit of their own go with largest values from 2**-40 to 2**40
_SMALLEST = 1e-150  # squares of smaller numbers have no digits left


def unit_exponent(values: Any, *, owner: str | None = None) -> int:
    """k such that `values` / 2**k is of order one; 0 where it nearly is.

    `owner` names a parameter that has the data's unit: the data is left as it is then, and refused where that cannot work.
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
            f"X has values of up to {largest:.2g}, which are brought to order one for the fit; {owner} is in the unit of "
            f"the data, and would not fit then. Rescale the data first, to values between {2.0**-_OWN_UNIT:.0e} and "
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
    """Raise where new rows, divided by the unit of the fitted ones, are so large that distances would overflow."""
    largest = _largest(values)
    limit = overflow_limit(np.dtype(values.dtype), values.shape[1])
    if not largest <= limit:
        raise InvalidInputError(
            f"X is too large beside the fitted rows: in their unit, 2**{exponent}, its largest value is beyond "
            f"{limit:.1e}. Bring both to the same unit."
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
