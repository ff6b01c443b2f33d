"""Labels and fields of the rows as arrays: numbers, categories, or text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.frames import is_missing
from ...errors import InvalidInputError
from ..plots import column
from .container import Part

_MISSING = "(none)"
MOST_CATEGORIES = 4096


def named_columns(fields: Any, n: int) -> dict[str, NDArray[Any]]:
    """The columns of a data frame (pandas, polars, Arrow) or of a dict, by name."""
    if fields is None:
        return {}
    names = getattr(fields, "column_names", None)  # Arrow calls them so; its `columns` are the data
    if names is None:
        names = list(fields) if isinstance(fields, Mapping) else getattr(fields, "columns", None)
    if names is None:
        raise InvalidInputError(
            f"fields must be a data frame or a dict of columns; got a {type(fields).__name__}."
        )
    return {str(name): column(fields[name], n, f"fields[{name!r}]") for name in names}


def add_column(
    part: Part, key: str, name: str, values: NDArray[Any], order: NDArray[np.intp]
) -> dict[str, Any]:
    """The description of one column for the page; its arrays are added to the part under `key`."""
    if values.dtype.kind == "b":
        return add_categories(part, key, name, values, order)
    if values.dtype.kind in "iuf":
        return add_numbers(part, key, name, values, order)
    texts = as_texts(values)
    if len(set(texts)) <= min(MOST_CATEGORIES, max(2, len(texts) // 4)):
        return add_categories(part, key, name, np.asarray(texts, dtype=object), order)
    return add_texts(part, key, name, texts)


def add_numbers(
    part: Part, key: str, name: str, values: NDArray[Any], order: NDArray[np.intp]
) -> dict[str, Any]:
    """A column of numbers, in the smallest type that keeps them: 32-bit integers, or single or double precision."""
    if values.dtype.kind in "iu":
        kept = values.astype(np.int32 if _fits_int32(values) else np.float64)
    elif values.dtype.itemsize <= 4:
        kept = values.astype(np.float32)
    else:
        kept = _shortened(values.astype(np.float64))
    part.add(key, kept[order], "planes")
    return {"name": name, "kind": "number", "array": key}


def add_categories(
    part: Part, key: str, name: str, values: NDArray[Any], order: NDArray[np.intp]
) -> dict[str, Any]:
    """A column with few different values, stored as their names in sorted order and one number per row."""
    names, codes = category_codes(values)
    small = np.uint8 if len(names) <= 256 else np.uint16 if len(names) <= 65536 else np.uint32
    part.add(key, codes.astype(small)[order], "planes")
    return {"name": name, "kind": "category", "array": key, "names": names}


def add_texts(part: Part, key: str, name: str, texts: list[str]) -> dict[str, Any]:
    """A column of text, stored as all bytes one after the other and the length of each text."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    part.add(key, np.frombuffer(b"".join(encoded), dtype=np.uint8))
    part.add(f"{key}.lengths", np.array([len(text) for text in encoded], dtype=np.uint32), "planes")
    return {"name": name, "kind": "text", "array": key, "lengths": f"{key}.lengths"}


def category_codes(values: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """The names of the different values (numbers in numerical order, text in alphabetical order), and the code of each row."""
    if values.dtype.kind in "iuf":
        different, codes = np.unique(values, return_inverse=True)
        return [_number_name(value) for value in different], codes
    names, codes = np.unique(np.asarray(as_texts(values), dtype=object), return_inverse=True)
    return [str(name) for name in names], codes


def as_texts(values: NDArray[Any]) -> list[str]:
    """Every entry as text."""
    return [_MISSING if is_missing(value) else str(value) for value in values.tolist()]


def _number_name(value: Any) -> str:
    if np.isnan(value):
        return _MISSING
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def _fits_int32(values: NDArray[Any]) -> bool:
    return bool(values.min() >= -(2**31) and values.max() < 2**31)


def _shortened(values: NDArray[np.float64]) -> NDArray[Any]:
    """The numbers in single precision if this keeps six digits, because a card shows no more."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    same = np.isclose(values, single, rtol=1e-6, atol=0, equal_nan=True)
    return single if same.all() else values
