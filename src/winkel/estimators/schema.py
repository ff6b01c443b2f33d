"""What a model file must contain for each class: shapes that fit together, finite numbers, indices within their range.

A checksum finds accidents, but a forged file can have a correct checksum. So everything that was read is checked before compiled
code uses it. A class names its parts in `_schema`; letters in shapes stand for lengths that must be the same everywhere:
n rows of the map, d its dimensions, m features, others as the class needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import ModelFileError


@dataclass(frozen=True)
class Part:
    """An array of a `shape`. `below` names the length that its indices must be below; `least` is the smallest value allowed."""

    shape: tuple[str, ...]
    below: str | None = None
    least: float | None = None
    optional: bool = False


def check_parts(
    parts: Mapping[str, Any], schema: Mapping[str, Part], lengths: dict[str, int], what: str
) -> None:
    """Raise ModelFileError unless `parts` match `schema`. `lengths` are the known lengths; new ones are added to it."""
    for name, rule in schema.items():
        if name not in parts:
            raise ModelFileError(f"The file lacks {name!r}, which a fitted {what} has.")
        if parts[name] is None and rule.optional:
            continue
        trouble = _trouble(parts[name], rule, lengths)
        if trouble:
            raise ModelFileError(
                f"The part {name!r} of the file cannot be that of a fitted {what}: {trouble}."
            )


def check_number(name: str, value: Any, what: str, above: float = -np.inf) -> None:
    """Raise ModelFileError unless `value` is a finite number above `above`."""
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not above < value < np.inf:
        raise ModelFileError(
            f"The part {name!r} of the file cannot be that of a fitted {what}: it is {value!r}."
        )


def _trouble(value: Any, rule: Part, lengths: dict[str, int]) -> str:
    """The problem with a part, in words; empty if there is none."""
    if not (isinstance(value, np.ndarray) or issparse(value)):
        return f"it is a {type(value).__name__}"
    if value.ndim != len(rule.shape):
        return f"it has {value.ndim} dimensions and not {len(rule.shape)}"
    for letter, length in zip(rule.shape, value.shape):
        if lengths.setdefault(letter, int(length)) != length:
            return f"its shape is {tuple(value.shape)}, where {letter} is {lengths[letter]}"
    numbers = value.data if issparse(value) else value
    if rule.below is not None:
        if numbers.dtype.kind not in "iu":
            return f"it holds {numbers.dtype}, not indices"
        low = -1 if rule.least is None else rule.least
        if numbers.size and (numbers.min() < low or numbers.max() >= lengths[rule.below]):
            return f"it has indices from {numbers.min()} to {numbers.max()}, of {lengths[rule.below]}"
        return ""
    if numbers.dtype.kind not in "iuf":
        return f"it holds {numbers.dtype}"
    if not np.isfinite(numbers).all():
        return "it has values that are not finite"
    if rule.least is not None and numbers.size and numbers.min() < rule.least:
        return f"it has {numbers.min()}"
    return ""
