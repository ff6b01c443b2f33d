"""A fit by shards that starts from an arrangement: rows placed among landmarks, or an existing map, refined in a few iterations.

    estimator or map ──> places of all rows ──> scaled to suit the problem ──> last stages of L-BFGS

The arrangement determines the large-scale structure. In the refinement, rows that were placed independently move next to their neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..checks import refuse
from ..data import Table
from ..problem import Stage
from ..run import Run
from ..typing import FloatArray
from .engine import Engine
from .folder import Folder
from .measuring import map_of
from .placing import placed_in
from .source import Source

# The last stages of a full fit, which let rows pass each other. On MNIST and the mammoth the objective ends lower by them than by the last one alone, or none.
REFINING_STAGES, REFINING_ITERATIONS = (Stage(0.03, 0.25, 1.7), Stage(0.2, 0.25, 2.0)), 75
_WIDTH = 0.1  # standard deviation of a usual map in terms of the root of the number of rows, where the search for a width begins
_MOST_STEPS = 40  # doublings of the width
_APART = 1e-4  # of the width, by which rows at the same place are moved


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The starting places of the rows: from an estimator's `transform`, or from a table of places."""

    estimator: Any
    table: Table | None

    def places(self, folder: Folder, source: Source, engine: Engine, run: Run) -> FloatArray:
        """The places of all rows, in their order."""
        if self.table is not None:
            return np.asarray(self.table.values, dtype=np.float32)
        return np.array(placed_in(folder, source, self.estimator, engine, run), dtype=np.float32)


def given_arrangement(init: Any, n: int) -> Arrangement:
    """The arrangement of `init`, which is an estimator that places n rows, or their map."""
    if hasattr(init, "transform") and hasattr(init, "embedding_") and len(init.embedding_) != n:
        found, shape = Arrangement(init, None), (n, init.embedding_.shape[1])
    else:
        table = map_of(init)
        found, shape = Arrangement(None, table), table.shape
    if shape != (n, 2):
        refuse("init", f"an estimator or a map of shape ({n}, 2)", shape)
    return found


class _Valued(Protocol):
    def evaluate(self, Y: FloatArray) -> tuple[float, FloatArray]: ...


def apart(Y: FloatArray, run: Run) -> FloatArray:
    """Y, centred and scaled to the usual width of maps, without rows at the same place."""
    centred = Y - Y.mean(axis=0, dtype=np.float64)
    spread = float(np.sqrt(np.mean(np.square(centred))))
    noise = run.stream("apart").normal(Y.shape)
    return np.asarray((centred / (spread if spread > 0 else 1.0) + _APART * noise) * _WIDTH * np.sqrt(len(Y)))


def suited(Y: FloatArray, problem: _Valued) -> FloatArray:
    """Y scaled to the width that suits the problem, up to a factor of √2."""
    known: dict[float, float] = {}

    def value(exponent: float) -> float:
        if exponent not in known:
            known[exponent] = problem.evaluate((Y * 2.0**exponent).astype(np.float32))[0]
        return known[exponent]

    best = 0.0
    for step in (1.0, 0.5):
        for _ in range(_MOST_STEPS):
            nearby = min((best - step, best, best + step), key=value)
            if nearby == best:
                break
            best = nearby
    return np.asarray(Y * 2.0**best, dtype=np.float32)
