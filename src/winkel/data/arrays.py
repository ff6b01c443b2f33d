"""Arrays of any numeric type become C-contiguous float32 or float64, or CSR: the only form that later stages know.

float32 and float64 are kept. Booleans, float16 and integers become float32, or float64 if an integer lies
beyond ±2**24 and float32 could not hold it. float32 data that is so large that a squared distance could overflow
becomes float64. NaN, infinities and numbers too large for distances are refused, with their place.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, InvalidTypeError
from ..typing import FloatArray

# Values looked at together: few enough that temporaries stay in cache, enough to need few NumPy calls.
BLOCK_VALUES = 2**18


@dataclass(frozen=True, eq=False)
class Labels:
    """The names of a matrix, its rows and its columns in messages."""

    name: str = "X"
    ids: NDArray[Any] | None = None
    columns: Sequence[str] | None = None
    first_row: int = 0

    def row(self, i: int) -> str:
        """Name of row i, counted from `first_row`."""
        number = self.first_row + i
        return f"row {number}" if self.ids is None else f"row {number} (id {_plain(self.ids[i])!r})"

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
    """Largest |value| of a matrix; NaN or infinity if and only if one of its values is."""
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


Matrix: TypeAlias = Any  # ndarray | scipy.sparse.csr_matrix | scipy.sparse.csr_array: SciPy has no type stubs

_EXACT_IN_FLOAT32 = 2**24
_REFUSED = {
    "c": "complex numbers. Complex data not supported: pass real and imaginary parts as separate columns",
    "M": "dates; pass numbers, such as days since a fixed date",
    "m": "time differences; divide by a unit such as np.timedelta64(1, 's') first",
    "V": "records with named fields; pass a plain two-dimensional array or a data frame",
}


def to_float(values: NDArray[Any], labels: Labels) -> FloatArray:
    """`values` in a floating dtype that holds all of them; `values` itself if its dtype already does."""
    dtype = values.dtype
    if dtype.kind in "OUST":
        return _objects_to_float(
            values.astype(object, copy=False), labels
        )  # for text, to name the first cell
    if dtype.kind in _REFUSED:
        raise InvalidInputError(f"{labels.name} must hold real numbers; it holds {_REFUSED[dtype.kind]}.")
    if dtype.kind in "iu" and dtype.itemsize > 2 and values.size:
        wide = int(values.max()) > _EXACT_IN_FLOAT32 or int(values.min()) < -_EXACT_IN_FLOAT32
    else:
        wide = dtype.kind == "f" and dtype.itemsize >= 8
    target = np.dtype(np.float64 if wide else np.float32)
    # Extended precision beyond float64 becomes infinity, which the finite check then reports with its place.
    with np.errstate(over="ignore"):
        return values if dtype == target else values.astype(target)


def _objects_to_float(values: NDArray[Any], labels: Labels) -> FloatArray:
    """Python numbers in an object array as floats; anything else is an error that names its place."""
    flat = values.ravel()
    kinds = set(map(type, flat))
    refused = {kind for kind in kinds if not _is_number(kind)}
    position = 0
    try:
        if not refused:
            result: FloatArray = flat.astype(np.float64).reshape(values.shape)
            if not all(issubclass(kind, numbers.Integral | np.bool_) for kind in kinds) or not kinds:
                return result
            return result if np.abs(result).max() > _EXACT_IN_FLOAT32 else result.astype(np.float32)
        position = next(k for k, value in enumerate(flat) if type(value) in refused)
    except OverflowError:
        position = next(k for k, value in enumerate(flat) if abs(value) > sys.float_info.max)
    at = labels.row(position) if values.ndim == 1 else labels.cell(*divmod(position, values.shape[1]))
    value = flat[position]
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        raise InvalidInputError(
            f"{labels.name} has no value ({value}) at {at} (counted from 0). "
            f"Every value must be a finite number: drop these rows or columns, or fill the gaps first."
        )
    message = (
        f"{labels.name} must hold real numbers that float64 can hold; at {at} (counted from 0) "
        f"it has {_short(value)} of type {type(value).__name__}."
    )
    if isinstance(value, str | numbers.Number):
        raise InvalidInputError(message)
    # An object that is no number at all is an error of type, as NumPy and scikit-learn have it.
    raise InvalidTypeError(f"{message} Every argument must be a string or a real number.")


def _is_number(kind: type) -> bool:
    return issubclass(kind, numbers.Real | Decimal | np.bool_)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def to_array(X: Any, name: str) -> NDArray[Any]:
    """`X` as an ndarray, without a copy if possible; lists become arrays, and ragged lists are an error."""
    if isinstance(X, np.ma.MaskedArray):
        raise InvalidInputError(
            f"{name} is a masked array. Missing values have no distance: "
            f"fill them (X.filled(...)) or drop their rows first."
        )
    try:
        values = np.asarray(X)
        if values.dtype.kind in "UST" and not isinstance(X, np.ndarray):
            values = np.asarray(
                X, dtype=object
            )  # NumPy turned numbers to text too; the message needs the one cell
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} cannot be read as a matrix: {_ragged(X) or error}") from error
    return values


def _ragged(X: Any) -> str:
    """A sentence that names the first row of a different length; empty if all rows have the same length."""
    if not isinstance(X, list | tuple) or not all(hasattr(row, "__len__") for row in X):
        return ""
    for i, row in enumerate(X):
        if len(row) != len(X[0]):
            return f"row {i} (counted from 0) has {len(row)} values, and row 0 has {len(X[0])}."
    return ""


def dense_matrix(values: NDArray[Any], labels: Labels, dtype: np.dtype[Any] | None) -> FloatArray:
    """A validated C-contiguous float32 or float64 matrix; the array itself if it already is one."""
    floats: FloatArray = np.require(to_float(values, labels), requirements=["C", "A"])
    target = _settle(floats, floats.shape[1], labels.cell, labels.name, dtype)
    return floats if floats.dtype == target else floats.astype(target)


def sparse_matrix(X: Any, labels: Labels, dtype: np.dtype[Any] | None) -> Matrix:
    """A validated CSR matrix with sorted indices and no repeated entries; `X` itself if it already is one."""
    if X.dtype.kind not in "biuf":
        raise InvalidInputError(f"{labels.name} must hold real numbers; it is a sparse matrix of {X.dtype}.")
    csr = _canonical(X, labels)
    data = to_float(csr.data, labels)

    def at(k: int, _: int) -> str:
        return labels.cell(int(np.searchsorted(csr.indptr, k, side="right")) - 1, int(csr.indices[k]))

    target = _settle(data.reshape(-1, 1), csr.shape[1], at, labels.name, dtype)
    if data is csr.data and data.dtype == target:
        return csr
    return type(csr)((data.astype(target, copy=False), csr.indices, csr.indptr), shape=csr.shape)


def _settle(
    values: FloatArray, n_columns: int, at: Callable[[int, int], str], name: str, dtype: np.dtype[Any] | None
) -> np.dtype[Any]:
    """The dtype for `values`, after checks that every value is finite and not too large."""
    largest = check_finite(values, at, name)
    target = dtype or values.dtype
    if dtype is None and largest > overflow_limit(target, n_columns):
        target = np.dtype(np.float64)
    limit = overflow_limit(target, n_columns)
    if largest > limit:
        check_magnitude(values, limit, target, at, name)
    return target


def _canonical(X: Any, labels: Labels) -> Matrix:
    """`X` as CSR in canonical form; never changes `X` itself."""
    if X.format == "csr":
        _check_csr(X, labels.name)
        nnz = int(X.indptr[-1])
        if len(X.data) > nnz:  # spare room at the end, which SciPy allows
            X = type(X)((X.data[:nnz], X.indices[:nnz], X.indptr), shape=X.shape)
        if X.has_canonical_format:
            return X
    elif X.format == "csc":
        _check_csr(X, labels.name)
    # Small integers would wrap around when repeated entries are summed; SciPy has no sums in half precision.
    if X.dtype.kind in "iu":
        X = X.astype(np.int64)
    elif X.dtype == np.float16:
        X = X.astype(np.float32)
    csr = X.copy() if X.format == "csr" else X.tocsr()
    csr.sum_duplicates()
    return csr


def _check_csr(X: Any, name: str) -> None:
    """An error if the index arrays contradict the shape: compiled code would read out of bounds."""
    n_major, n_minor = X.shape if X.format == "csr" else X.shape[::-1]
    indptr, indices = X.indptr, X.indices
    nnz = int(indptr[-1]) if len(indptr) else -1
    good = len(indptr) == n_major + 1 and indptr[0] == 0 and not (np.diff(indptr) < 0).any()
    good = good and 0 <= nnz <= min(len(indices), len(X.data))
    used = indices[: max(nnz, 0)]
    if not good or (nnz and (used.min() < 0 or used.max() >= n_minor)):
        raise InvalidInputError(
            f"{name} is a broken {X.format.upper()} matrix: its indptr and indices do not fit its shape "
            f"{X.shape}. Build it again, for example with scipy.sparse.coo_array(...).tocsr()."
        )


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different numbers in `keys`, ascending; found by sorting, because np.unique hashes integers, which takes many times as long."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([np.ones(min(1, len(keys)), dtype=bool), ordered[1:] != ordered[:-1]])]
