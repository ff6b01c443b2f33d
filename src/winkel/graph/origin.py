"""Where a graph came from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Recall:
    """Share of true neighbours that a search found, estimated on some rows, with its interval."""

    value: float
    low: float
    high: float
    n_rows: int


@dataclass(frozen=True)
class Origin:
    """How a graph was made and, for a neighbour graph, what was asked for and what was reached."""

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
