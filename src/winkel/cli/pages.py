"""Explorer pages written by the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Table
from ..maps import Map
from ..measures.faithfulness import measure
from ..measures.indicatrix import indicatrix
from ..view.explorer import write_html

_NEIGHBORS = 15
_FEWEST_ROWS = 8  # of fewer there is nothing to say
_MOST_ROWS = 10_000  # beyond, the page is left to judge by a sample, in less time than the map took


@dataclass(frozen=True)
class _Column:
    """Values together with the name of their column, like a column of a data frame."""

    name: str
    values: NDArray[Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.values, dtype)


def write_page(
    path: str,
    maps: Mapping[str, Map],
    table: Table | None = None,
    *,
    metric: str = "euclidean",
    n_jobs: int | None = None,
    scores: Mapping[str, Any] | None = None,
    title: str | None = None,
    features: bool = False,
    label: str | None = None,
) -> None:
    """Write the page with maps of the same rows and everything that is known about the rows.

    With `table`, the data of the maps, the page also shows how far each place can be trusted, scores (unless they are passed) and names of
    regions; with `features` it contains the columns as well. `label` is the name of the column of labels.
    """
    first = next(iter(maps.values()))
    values = {
        name if len(maps) == 1 else f"{name} ({key})": column
        for key, found in maps.items()
        for name, column in found.columns.items()
    }
    places: dict[str, Any] = {}
    large = table is not None and table.shape[0] > _MOST_ROWS
    if table is not None and not large and table.shape[0] >= _FEWEST_ROWS:
        k = min(_NEIGHBORS, (table.shape[0] - 1) // 3)
        places = {
            key: indicatrix(table, found.Y, n_neighbors=k, metric=metric, n_jobs=n_jobs)
            for key, found in maps.items()
        }
        if scores is None:
            labels = first.labels
            scores = {
                key: measure(
                    table, found.Y, labels=labels, n_neighbors=k, metric=metric, random_state=0, n_jobs=n_jobs
                )
                for key, found in maps.items()
            }
    write_html(
        path,
        maps,
        labels=first.labels if first.labels is None or label is None else _Column(label, first.labels),
        ids=first.ids,
        values=values or None,
        fields=dict(first.kept) or None,
        indicatrix=places or None,
        scores=scores,
        title=title or ", ".join(maps),
        data=table,
        metric=metric,
        trust=None if large else False,
        features=features,
    )
