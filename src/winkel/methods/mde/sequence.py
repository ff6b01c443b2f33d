"""Maps of changing data: each is a minimum-distortion embedding, softly tied to the places of its items before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...data import Table
from ...embedding import Embedding
from ...graph import Graph
from ...problem import Problem, Pulls, solve
from ...run import Run
from ...typing import FloatArray, IntArray
from .plan import Settings, Source, focus_of, make_plan

Common = tuple[IntArray, IntArray]  # rows of one table, and the rows of another that are the same items


def common_rows(these: Sequence[object], others: Sequence[object]) -> Common:
    """Rows of the items that both have."""
    place = {item: row for row, item in enumerate(others)}
    rows = [(row, place[item]) for row, item in enumerate(these) if item in place]
    found = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def fit_sequence(
    tables: Sequence[Table],
    ids: Sequence[Sequence[object]],
    settings: Settings,
    tie: float,
    sweeps: int,
    run: Run,
) -> list[Embedding]:
    """One map for each table: first one after the other, each tied to the map before; then `sweeps` times, each tied to the maps before and after."""
    sources = [Source.of(table, settings, run) for table in tables]
    if settings.focus == "auto" and settings.preserve == "neighbors" and settings.forces.cauchy:
        # One choice for all: maps at different places of the line could not be compared.
        settings = replace(settings, focus=focus_of(sources[0], settings, run, may_lie_flat=False).value)
    maps: list[Embedding] = []
    for t, source in enumerate(sources):
        if t == 0:
            plan = make_plan(source, settings, run)
            found = solve(plan.problem, plan.start, plan.solving, run, plan.stages)
        else:
            rows, before = common_rows(ids[t], ids[t - 1])
            targets = maps[-1].Y[before]
            start = _start(source, maps[-1].Y, rows, targets, run)
            found = _tied(source, settings, start, rows, targets, tie, run)
        maps.append(replace(found, graph=source.graph))
    for _ in range(sweeps):
        for t, source in enumerate(sources):
            rows, targets = _beside(t, maps, ids)
            if len(rows):
                found = _tied(source, settings, np.array(maps[t].Y), rows, targets, tie, run)
                maps[t] = replace(found, graph=source.graph)
    return maps


def _tied(
    source: Source,
    settings: Settings,
    start: FloatArray,
    rows: IntArray,
    targets: FloatArray,
    tie: float,
    run: Run,
) -> Embedding:
    """The map from a start, with some rows drawn to their targets."""
    plan = make_plan(source, replace(settings, init=np.asarray(start, dtype=source.precision)), run)
    problem = plan.problem
    if len(rows) and tie:
        problem = problem.with_pulls(Pulls(rows, targets, tie * _strength(problem, targets)))
    return solve(problem, plan.start, plan.solving, run)


def _strength(problem: Problem, targets: FloatArray) -> float:
    """The weight for which a pull, at the extent of the map, is as strong as the total attraction of an average row.

    A pull grows with distance, but attractions do not. Its strength is compared at the standard deviation of the places, so that
    it keeps items whose neighbours stayed where they were, and gives way for items whose neighbours have moved.
    """
    far = float(targets.std()) or 1.0
    distortion = problem.distortion
    attracts = np.asarray(distortion.weights) > 0  # type: ignore[attr-defined]
    force = np.asarray(distortion.derivative(np.full(len(attracts), far)), dtype=np.float64)
    return float(force[attracts].sum()) / (problem.n_items * far)


def _start(source: Source, before: FloatArray, rows: IntArray, targets: FloatArray, run: Run) -> FloatArray:
    """Old items where they were, new items at the mean of their neighbours, and new items without neighbours in the middle of the map."""
    assert isinstance(source.graph, Graph)
    n = source.graph.n
    Y = np.zeros((n, before.shape[1]))
    known = np.zeros(n, dtype=bool)
    Y[rows], known[rows] = targets, True
    reach = source.graph.adjacency.astype(np.float64)
    while not known.all():
        near = reach[:, known]
        count = np.asarray(near.sum(axis=1)).ravel()
        new = ~known & (count > 0)
        if not new.any():
            break
        Y[new] = (near @ Y[known])[new] / count[new, None]
        known |= new
    noise = 1e-2 * float(before.std() or 1.0) * run.stream("new items").normal(Y.shape)
    Y[np.setdiff1d(np.arange(n), rows)] += noise[np.setdiff1d(np.arange(n), rows)]
    return Y


def _beside(
    t: int, maps: Sequence[Embedding], ids: Sequence[Sequence[object]]
) -> tuple[IntArray, FloatArray]:
    """Rows of map t that are in the map before or after it, and the mean of their places there."""
    n, d = maps[t].Y.shape
    total, count = np.zeros((n, d)), np.zeros(n)
    for other in (t - 1, t + 1):
        if 0 <= other < len(maps):
            rows, there = common_rows(ids[t], ids[other])
            total[rows] += maps[other].Y[there]
            count[rows] += 1
    rows = np.flatnonzero(count)
    return rows, total[rows] / count[rows, None]
