"""Which names a map gets: those in a column, of its classes, or of clusters described by words or by columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Table
from ..errors import InvalidInputError
from ..typing import FloatArray
from .regions import MOST_NAMES, Name, class_names, cluster_names, named_classes, texts_table

_MOST_VALUES = 50_000_000  # of a table that is looked at for names


def names_on(
    Y: FloatArray,
    names: Any,
    *,
    labels: NDArray[Any] | None = None,
    texts: Sequence[str] | None = None,
    table: tuple[Any, Sequence[str]] | None = None,
) -> list[Name]:
    """The names of one map, largest region first.

    `names` is False for none, a column that holds a name for each row, True, or None. None names classes if there are at most 40,
    or else clusters if there are texts or named columns to describe them.
    """
    if names is False:
        return []
    if names is not None and names is not True:
        return class_names(Y, *named_classes(np.asarray(names)))
    if labels is not None:
        found, which = named_classes(labels)
        if names or 2 <= len(found) <= MOST_NAMES:
            return class_names(Y, found, which)
        return []
    if Y.shape[1] != 2 or (texts is None and table is None):
        if names:
            raise InvalidInputError(
                "names=True needs something that gives names to regions of a flat map: labels, text, or data with named columns."
            )
        return []
    if texts is not None:
        values, words = texts_table(texts)
        return cluster_names(Y, values, words, words=True) if words else []
    assert table is not None
    return cluster_names(Y, *table, words=False)


def named_table(rows: Table | None, source: Any = None) -> tuple[Any, Sequence[str]] | None:
    """The values of the data and the names of its columns, if it has names and is not too large to examine."""
    if rows is None:
        return None
    columns = rows.columns or getattr(source, "feature_names_in_", None)
    if columns is None or rows.shape[0] * rows.shape[1] > _MOST_VALUES:
        return None
    return rows.values, [str(name) for name in columns]


def numeric_fields(columns: Mapping[str, NDArray[Any]]) -> tuple[Any, Sequence[str]] | None:
    """The columns of numbers without missing values, as a table."""
    kept = {
        name: values
        for name, values in columns.items()
        if values.dtype.kind in "iuf" and np.isfinite(values).all()
    }
    if not kept:
        return None
    return np.stack([values.astype(np.float64) for values in kept.values()], axis=1), list(kept)
