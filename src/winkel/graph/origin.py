"""How a graph was made and the names of its nodes, as plain values that can be stored in a file."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInputError


@dataclass(frozen=True)
class Recall:
    """The share of true neighbours that a search found, measured on sampled rows.

    Attributes
    ----------
    value : float
        The share among the sampled rows.
    low, high : float
        Its 95 % interval.
    n_rows : int
        Number of sampled rows.
    """

    value: float
    low: float
    high: float
    n_rows: int


@dataclass(frozen=True)
class Origin:
    """How a graph was made and, for a neighbour graph, the settings of the search and the recall that it reached.

    Attributes
    ----------
    method : str
        "exact", "approximate" or "lists" for neighbour graphs; else "edges", "adjacency", "networkx", "spanning tree".
    metric : str or None
        The metric by which neighbours were found.
    n_neighbors : int or None
        The length of the neighbour lists.
    seed : int or None
        The seed of an approximate search.
    recall : Recall or None
        The measured recall of an approximate search.
    seconds : float or None
        How long the search took.
    note : str
        How the graph was changed afterwards.
    """

    method: str
    metric: str | None = None
    n_neighbors: int | None = None
    seed: int | None = None
    recall: Recall | None = None
    seconds: float | None = None
    note: str = ""

    def to_meta(self) -> dict[str, Any]:
        """A dictionary of plain values, from which `from_meta` makes an equal object."""
        return asdict(self)

    @classmethod
    def from_meta(cls, meta: dict[str, Any]) -> Origin:
        """The Origin that `to_meta` described."""
        recall = meta.get("recall")
        return cls(**{**meta, "recall": None if recall is None else Recall(**recall)})


def labels_to_meta(labels: tuple[Hashable, ...] | None) -> list[Any] | None:
    """Names of nodes as nested lists of text and numbers."""
    return None if labels is None else [_plain(label) for label in labels]


def labels_from_meta(meta: list[Any] | None) -> tuple[Hashable, ...] | None:
    """The names that `labels_to_meta` wrote; lists become tuples again."""

    def read(value: Any) -> Hashable:
        return tuple(map(read, value)) if isinstance(value, list) else value

    return None if meta is None else tuple(map(read, meta))


def _plain(label: Hashable) -> Any:
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, tuple):
        return [_plain(part) for part in label]
    if label is None or isinstance(label, str | bool | int | float):
        return label
    raise InvalidInputError(
        "only node labels made of text, numbers and tuples of them can be saved; "
        f"got {label!r} of type {type(label).__name__}. Relabel the nodes before making the graph."
    )
