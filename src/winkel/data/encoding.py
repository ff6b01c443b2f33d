"""Columns of categories as numbers: one column for each value, or such that manhattan distances equal Gower's distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..typing import FloatArray

ENCODINGS = ("onehot", "gower")
_MOST_VALUES = 50  # that a column of categories has, unless most of them come often
_CATEGORIES = ("text", "object", "str", "categ", "enum", "dictionary", "bool")  # in the names of types


def holds_categories(kind: str) -> bool:
    """Whether a column of this type can be encoded: text and categories can, dates and lists cannot."""
    return any(word in kind.lower() for word in _CATEGORIES)


def encode(
    columns: Sequence[tuple[str, Callable[[], NDArray[Any]], bool]], how: str, n: int, name: str
) -> tuple[FloatArray, tuple[str, ...]]:
    """The columns as numbers, and their names; each column is given by its name, its values and whether these are categories.

    "onehot" turns every value of a category into a column of 0 and 1. "gower" divides columns of numbers by their range, columns of 0 and 1
    by two, and all by the number of original columns. The manhattan distance of two rows is then Gower's (1971): the mean over
    columns of |x − y|/range for numbers, and of 1 for categories that differ.
    """
    parts: list[NDArray[Any]] = []
    names: list[str] = []
    share = 1.0 / len(columns) if how == "gower" else 1.0
    for column, values, category in columns:
        if category:
            levels, which = np.unique(values(), return_inverse=True)
            _check_levels(column, len(levels), n, name)
            ones = np.zeros((n, len(levels)))
            ones[np.arange(n), which] = share / 2 if how == "gower" else 1.0
            parts.append(ones)
            names += [f"{column}={level}" for level in levels.tolist()]
        else:
            number = np.asarray(values(), dtype=np.float64)
            if how == "gower":
                number = number * (share / (np.ptp(number) or 1.0))
            parts.append(number[:, None])
            names.append(column)
    return np.hstack(parts), tuple(names)


def _check_levels(column: str, n_levels: int, n: int, name: str) -> None:
    if n_levels > max(_MOST_VALUES, n // 10):
        raise InvalidInputError(
            f"column {column!r} of {name} has {n_levels} different values in {n} rows, too many to be categories. Name it as "
            "id or label, keep it or drop it."
        )
