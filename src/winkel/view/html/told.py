"""What a page says about regions of its maps: names to write on them, and the columns of the data in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...data import Table, as_table
from ...data.annotated import is_anndata
from ...errors import InvalidInputError
from ...measures.explain import group_effects
from ..naming import named_table, names_on, numeric_fields
from ..plots import column as check_column
from ..regions import Name, hills
from .columns import add_numbers, as_texts, named_columns
from .container import Part
from .inputs import PageMap

_MOST_VALUES = 2_000_000  # of columns that a page holds


@dataclass(frozen=True)
class Told:
    """Names of each map, and the data with the names of its columns."""

    names: dict[str, list[Name]]
    table: tuple[Any, Sequence[str]] | None
    map: PageMap

    @classmethod
    def of(
        cls,
        shown: tuple[PageMap, ...],
        sources: dict[str, Any],
        names: Any,
        labels: Any,
        text: Any,
        fields: Any,
        data: Any,
    ) -> Told:
        """Names and columns for these maps, from the arguments of the page."""
        n = shown[0].n
        rows = next((rows for m in shown if (rows := _rows_of(sources[m.name], data, n)) is not None), None)
        source = sources[shown[0].name]
        table = named_table(rows, source) or numeric_fields(named_columns(fields, n))
        given = names if names is None or isinstance(names, bool) else check_column(names, n, "names")
        classes = None if labels is None else check_column(labels, n, "labels")
        texts = None if text is None else as_texts(check_column(text, n, "text"))
        told = {m.name: names_on(m.Y, given, labels=classes, texts=texts, table=table) for m in shown}
        if table is None and rows is not None:
            table = rows.values, [f"column {c}" for c in range(rows.shape[1])]
        return cls(told, table, shown[0])


def _rows_of(source: Any, data: Any, n: int) -> Table | None:
    """The rows that a map is of, where they are known and as many."""
    if data is not None:
        rows: Table | None = as_table(data, name="data")
    else:
        rows = source.fitted_rows() if hasattr(source, "fitted_rows") else None
    return rows if rows is not None and rows.shape[0] == n else None


def table_of_features(features: Any, n: int) -> Table:
    """The Table of the n rows whose columns the page will contain; for an AnnData object these are its genes."""
    table = as_table(features, use_rep="X" if is_anndata(features) else None, name="features")
    if table.shape[0] != n:
        raise InvalidInputError(f"features must have the rows of the maps, {n}; got {table.shape[0]}.")
    return table


def features_part(told: Told, order: NDArray[np.intp]) -> Part:
    """The columns of the data, as many as a page may contain, beginning with those that differ most between regions of the first map."""
    if told.table is None:
        raise InvalidInputError(
            "features=True needs the data of the maps: pass data, or the fitted estimator if it keeps its rows."
        )
    values, names = told.table
    n, m = values.shape
    kept = np.arange(m)
    most = max(1, _MOST_VALUES // n)
    if m > most:
        strength = _between(values, told.map)
        kept = np.sort(np.argsort(-strength, kind="stable")[:most])
    part = Part({"looked_at": m, "columns": []})
    for index, c in enumerate(kept.tolist()):
        column = values[:, [c]].toarray().ravel() if sp.issparse(values) else values[:, c]
        part.meta["columns"].append(add_numbers(part, f"feature{index}", names[c], column, order))
    return part


def _between(values: Any, shown: PageMap) -> NDArray[np.float64]:
    """Of each column the largest effect in any region of the map."""
    hill, tops = hills(shown.Y[:, :2], 2)
    return np.abs(group_effects(values, hill, len(tops))).max(axis=0)
