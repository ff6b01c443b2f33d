"""A step length that satisfies the strong Wolfe conditions (Nocedal and Wright 2006, algorithms 3.5 and 3.6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

PointT = TypeVar("PointT")

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9
LARGEST_GROWTH = 10.0


@dataclass(frozen=True)
class Trial(Generic[PointT]):
    """What was found at step length t: the value and slope along the search direction, and the point itself."""

    t: float
    value: float
    slope: float
    point: PointT


def strong_wolfe(
    evaluate: Callable[[float], Trial[PointT]],
    start: Trial[PointT],
    first: float,
    *,
    slack: float = 0.0,
    max_evaluations: int = 25,
) -> Trial[PointT] | None:
    """A trial with value ≤ start + c₁·t·slope₀ + slack and |slope| ≤ c₂·|slope₀|; failing that, the lowest one with
    the first of these; None when there is none below the start.

    `first` is the step length to begin with. `slack` is how far two values may differ by rounding alone:
    close to a minimum it lets the slopes decide, which stay accurate where differences of values do not. A
    trial that is not finite counts as too long.
    """
    search = _Search(evaluate, start, slack, max_evaluations)
    before, t = start, first
    while search.left > 0:
        trial = search.at(t)
        if not search.is_low(trial) or (before.t > 0 and trial.value > before.value + slack):
            return search.zoom(before, trial)
        if search.is_flat(trial):
            return trial
        if trial.slope >= 0:
            return search.zoom(trial, before)
        t = _between(_cubic_minimum(before, trial), 2.0 * trial.t, LARGEST_GROWTH * trial.t)
        before = trial
    return search.best


class _Search(Generic[PointT]):
    """One search: what it may still spend, and the best low trial so far."""

    def __init__(
        self, evaluate: Callable[[float], Trial[PointT]], start: Trial[PointT], slack: float, evaluations: int
    ) -> None:
        self._evaluate = evaluate
        self._start = start
        self._slack = slack
        self.left = evaluations
        self.best: Trial[PointT] | None = None

    def at(self, t: float) -> Trial[PointT]:
        trial = self._evaluate(t)
        self.left -= 1
        if trial.value < (self._start if self.best is None else self.best).value and self.is_low(trial):
            self.best = trial
        return trial

    def is_low(self, trial: Trial[PointT]) -> bool:
        """The first condition."""
        bound = self._start.value + SUFFICIENT_DECREASE * trial.t * self._start.slope + self._slack
        return math.isfinite(trial.slope) and trial.value <= bound

    def is_flat(self, trial: Trial[PointT]) -> bool:
        """The second condition."""
        return abs(trial.slope) <= CURVATURE * abs(self._start.slope)

    def zoom(self, low: Trial[PointT], high: Trial[PointT]) -> Trial[PointT] | None:
        """The trial wanted, from an interval that holds one; `low` is its lower end in value and slopes into it."""
        while self.left > 0 and abs(high.t - low.t) > 1e-10 * max(high.t, low.t):
            width = high.t - low.t
            ends = sorted((low.t + 0.1 * width, low.t + 0.9 * width))
            trial = self.at(_between(_cubic_minimum(low, high), *ends))
            if not self.is_low(trial) or trial.value > low.value + self._slack:
                high = trial
                continue
            if self.is_flat(trial):
                return trial
            if trial.slope * (high.t - low.t) >= 0:
                high = low
            low = trial
        return self.best


def _cubic_minimum(a: Trial[PointT], b: Trial[PointT]) -> float:
    """The minimiser of the cubic with the values and slopes of a and b (equation 3.59), or NaN where it has none."""
    if not (math.isfinite(b.value) and math.isfinite(b.slope)) or a.t == b.t:
        return math.nan
    first = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.t - b.t)
    square = first * first - a.slope * b.slope
    if square < 0:
        return math.nan
    second = math.copysign(math.sqrt(square), b.t - a.t)
    bottom = b.slope - a.slope + 2.0 * second
    return math.nan if bottom == 0 else b.t - (b.t - a.t) * (b.slope + second - first) / bottom


def _between(t: float, low: float, high: float) -> float:
    """t limited to [low, high]; their mean when t is not a number."""
    return 0.5 * (low + high) if math.isnan(t) else min(max(t, low), high)
