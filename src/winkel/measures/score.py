"""`Score`: what every measure returns."""

from __future__ import annotations

from dataclasses import dataclass

from ..typing import FloatArray


@dataclass(frozen=True)
class Score:
    """One measure of a map: its value, what it can be, and what it means.

    `per_point` holds one value a row where the measure has them. A sampled score says on how many rows or pairs it
    stands (`n_sampled`) and gives the 95 % confidence interval of its value; an exact one has None in both.
    """

    name: str
    value: float
    range: tuple[float, float]
    higher_is_better: bool
    meaning: str
    per_point: FloatArray | None = None
    interval: tuple[float, float] | None = None
    n_sampled: int | None = None

    @property
    def exact(self) -> bool:
        """Whether all rows and pairs were counted."""
        return self.n_sampled is None
