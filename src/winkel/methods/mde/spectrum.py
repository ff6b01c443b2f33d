"""From one value of `focus`, between shape and neighbours, to the next: a plan that starts from the previous map.

The repulsion grows with `focus`, as it does in the stages of a single map. So a map with less repulsion is a good start for one with more,
and a few iterations are enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...algebra import power
from ...problem import Centered, Stage
from ...run import Run
from ...typing import FloatArray
from .plan import Focus, Plan, Settings, Source, last_stage, make_problem, staged_iterations

PLACES: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
# Iterations of a map that starts from another, relative to those of a single map: four more maps then cost less than two.
LATER_ITERATIONS = 0.3
# Halfway on the line between both maps, rows move by small steps only; iterations that are spent there.
_HALFWAY = 0.3
# A map of r times the repulsion is about r to this power as wide.
_WIDENING = 0.35


def plan_after(
    source: Source, settings: Settings, before: FloatArray, before_focus: float, focus: Focus, run: Run
) -> Plan:
    """The plan of a map at `focus` that starts from the map `before`, made at `before_focus`."""
    problem = make_problem(source, settings, settings.constraint, run).problem
    n = len(before)
    ratio = focus.share(n) / Focus(before_focus, "").share(n)
    # Other constraints know how wide the map is.
    widening = float(power(ratio, _WIDENING / 2)) if isinstance(problem.constraint, Centered) else 1.0
    solving = settings.solving(staged_iterations(n))
    return Plan(
        problem,
        np.asarray(widening * before, dtype=before.dtype),
        (
            Stage(float(power(ratio, -0.5)), _HALFWAY, widening),
            *last_stage(problem, source, settings, focus, run),
        ),
        replace(solving, max_iter=round(LATER_ITERATIONS * solving.max_iter)),
    )
