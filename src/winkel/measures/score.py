"""`Score`: what every measure returns."""

from __future__ import annotations

from dataclasses import dataclass

from ..typing import FloatArray


@dataclass(frozen=True)
class Score:
    """One measure of a map: its value, what it can be, and what it means.

    `per_point` holds one value a row where the measure has them. A sampled score says on how many rows or pairs it
    stands (`n_sampled`) and gives an interval that holds the exact value at least 19 times in 20; an exact one has None in
    both. `baseline` is the same score of a map by principal components of the same dimension, where one was made.
    """

    name: str
    value: float
    range: tuple[float, float]
    higher_is_better: bool
    meaning: str
    per_point: FloatArray | None = None
    interval: tuple[float, float] | None = None
    n_sampled: int | None = None
    baseline: float | None = None

    @property
    def exact(self) -> bool:
        """Whether all rows and pairs were counted."""
        return self.n_sampled is None
