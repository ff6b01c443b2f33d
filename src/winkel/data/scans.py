"""Where a matrix holds a value that distances cannot use: NaN, an infinity, or too large a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..typing import FloatArray

# Values looked at together: few enough that temporaries stay in cache, enough to need few NumPy calls.
BLOCK_VALUES = 2**18


@dataclass(frozen=True, eq=False)
class Labels:
    """What messages call a matrix, its rows and its columns."""

    name: str = "X"
    ids: NDArray[Any] | None = None
    columns: Sequence[str] | None = None

    def row(self, i: int) -> str:
        """Name of row i, counted from 0."""
        return f"row {i}" if self.ids is None else f"row {i} (id {_plain(self.ids[i])!r})"

    def column(self, j: int) -> str:
        """Name of column j, counted from 0."""
        return f"column {j}" if self.columns is None else f"column {j} ({self.columns[j]!r})"

    def cell(self, i: int, j: int) -> str:
        """Name of the cell in row i and column j."""
        return f"{self.row(i)}, {self.column(j)}"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def row_blocks(values: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Consecutive blocks of rows of a matrix, each with the number of its first row."""
    step = max(1, BLOCK_VALUES // max(1, values.shape[1]))
    for start in range(0, values.shape[0], step):
        yield start, values[start : start + step]


def magnitude(values: FloatArray) -> float:
    """Largest |value| of a matrix; NaN or infinity exactly when one of its values is."""
    largest = 0.0
    with np.errstate(invalid="ignore"):
        for _, block in row_blocks(values):
            if block.size == 0:
                continue
            # The extremes of a block are NaN when one of its values is, so no temporary array is needed.
            low, high = float(block.min()), float(block.max())
            if not (math.isfinite(low) and math.isfinite(high)):
                return low if math.isnan(low) else math.inf
            largest = max(largest, -low, high)
    return largest


def overflow_limit(dtype: np.dtype[Any], n_columns: int) -> float:
    """Largest magnitude for which no squared Euclidean distance between two rows overflows in `dtype`."""
    return math.sqrt(float(np.finfo(dtype).max) / (4 * max(1, n_columns)))


def check_finite(values: FloatArray, at: Callable[[int, int], str], name: str) -> float:
    """Largest |value| of a matrix; an error that names the first NaN or infinity and counts them all."""
    largest = magnitude(values)
    if math.isfinite(largest):
        return largest
    (i, j), count = _first(values, lambda block: ~np.isfinite(block))
    what = "NaN (a missing value)" if np.isnan(values[i, j]) else f"{'-' if values[i, j] < 0 else ''}infinity"
    more = "" if count == 1 else f", and {count} values in all are not finite"
    raise InvalidInputError(
        f"{name} has {what} at {at(i, j)} (counted from 0){more}. "
        f"Every value must be a finite number: drop these rows or columns, or fill the gaps first."
    )


def check_magnitude(
    values: FloatArray, limit: float, dtype: np.dtype[Any], at: Callable[[int, int], str], name: str
) -> None:
    """An error that names the first value beyond `limit`: squared distances could overflow in `dtype`."""
    (i, j), count = _first(values, lambda block: np.abs(block) > limit)
    if not count:
        return
    more = "" if count == 1 else f", one of {count} such values"
    raise InvalidInputError(
        f"{name} is too large at {at(i, j)} (counted from 0): {values[i, j]:g}{more}. "
        f"Squared distances could overflow {dtype}, which allows magnitudes up to {limit:.2g} "
        f"here. Rescale the data first."
    )


def _first(
    values: FloatArray, is_bad: Callable[[FloatArray], NDArray[np.bool_]]
) -> tuple[tuple[int, int], int]:
    """Place of the first bad value in reading order, and the number of bad values."""
    place, count = (-1, -1), 0
    for start, block in row_blocks(values):
        bad = is_bad(block)
        found = int(np.count_nonzero(bad))
        if found and not count:
            i, j = divmod(int(bad.argmax()), values.shape[1])
            place = (start + i, j)
        count += found
    return place, count
