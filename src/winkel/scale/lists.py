"""Neighbour lists by shards: a search within groups of cells, then rounds in which neighbours' neighbours are compared.

    rows ──> searched (each row in the cells nearest to it) ──> joined (across shards), until the recall is reached

`exact_lists` compares every block with every other, as the reference. Lists are in the order of cells, like the rows.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..graph import search
from ..graph.metrics import plan_preparation
from ..graph.origin import Recall
from ..run import Run
from ..typing import FloatArray, IntArray
from .cells import Layout, cut_cells
from .engine import Engine
from .folder import Folder

_REACH = 16  # neighbours, and neighbours of each of these, that a round looks at
_ROUNDS, _GAIN = 4, 0.002  # most rounds; and what one must bring for another to follow
_PROBES = 512
RECALL = 0.985


def find_lists(
    folder: Folder, layout: Layout, k: int, engine: Engine, run: Run, target: float = RECALL
) -> Recall:
    """Write approximate "neighbors" and "distances" of all rows, and return the share of true neighbours in them."""
    return Recall(*folder.once("neighbors", lambda: _find(folder, layout, k, engine, run, target)))


def _find(folder: Folder, layout: Layout, k: int, engine: Engine, run: Run, target: float) -> tuple[Any, ...]:
    reach = _true_reach(folder, layout, k, engine, run)
    folder.create("lists-0", (layout.n, k), np.int32)
    folder.stage("searched", engine, _search, layout.n_blocks, run, layout, engine.n_jobs)
    before, recall = -1.0, (0.0,)
    for r in range(_ROUNDS):
        round_r = partial(_round, folder, layout, r, k, reach, engine, run)
        recall = folder.once(f"recall-{r + 1}", round_r)
        if recall[0] >= target or recall[0] - before < _GAIN or r + 1 == _ROUNDS:
            break
        before = recall[0]
        folder.remove(f"lists-{r}")
    if not (folder.path / "neighbors.npy").exists():
        (folder.path / f"lists-{r + 1}.npy").replace(folder.path / "neighbors.npy")
    folder.remove(f"lists-{r}")
    return tuple(recall)


def _round(
    folder: Folder, layout: Layout, r: int, k: int, reach: FloatArray, engine: Engine, run: Run
) -> tuple[float, float, float, int]:
    """Lists r + 1 from lists r, and their recall."""
    source, target = f"lists-{r}", f"lists-{r + 1}"
    folder.create(target, (layout.n, k), np.int32)
    folder.create("distances", (layout.n, k), np.float32)
    folder.stage(f"joined-{r}", engine, _join, layout.n_blocks, run, layout, source, target, k, engine.n_jobs)
    return _measure(folder, reach, layout.n, k)


def exact_lists(folder: Folder, layout: Layout, k: int, engine: Engine, run: Run) -> Recall:
    """Write the exact "neighbors" and "distances" of all rows."""
    folder.create("neighbors", (layout.n, k), np.int32)
    folder.create("distances", (layout.n, k), np.float32)
    folder.stage("compared", engine, _compare, layout.n_blocks, run, layout, k, engine.n_jobs)
    return Recall(1.0, 1.0, 1.0, layout.n)


def _search(number: int, folder: Folder, layout: Layout, n_jobs: int) -> None:
    """The first lists of a block: neighbours within the cells nearest to each row, in single precision."""
    first, last = layout.span(number)
    rows, norms = folder.map("rows"), folder.map("norms")
    probes, width = folder.read("probes", first, last), folder.map("lists-0").shape[1]
    folder.write(
        "lists-0", first, _core.search_cells(rows, norms, cut_cells(folder), first, probes, width, n_jobs)
    )


def _join(number: int, folder: Folder, layout: Layout, source: str, target: str, k: int, n_jobs: int) -> None:
    """A round for one block: its lists joined with those of its neighbours."""
    first, last = layout.span(number)
    rows = folder.map("rows")
    index, distance = _core.join_lists(rows, folder.map(source), first, last, _REACH, k, n_jobs)
    for few in search.blocks_of(np.flatnonzero(index[:, -1] < 0), 64):  # lists that did not fill up
        index[few], distance[few] = _core.direct_neighbors(rows[first + few], rows, first + few, 0, k, n_jobs)
    folder.write(target, first, index)
    folder.write("distances", first, distance)


def _compare(number: int, folder: Folder, layout: Layout, k: int, n_jobs: int) -> None:
    """Exact lists of a block: the nearest of every block, merged."""
    first, last = layout.span(number)
    queries = folder.read("rows", first, last)
    index: IntArray = np.full((last - first, k), -1, dtype=np.int64)
    distance: FloatArray = np.full((last - first, k), np.inf)
    for other in range(layout.n_blocks):
        begin, end = layout.span(other)
        found = _nearest_of(
            folder.read("rows", begin, end), queries, np.arange(first, last) - begin, k, n_jobs
        )
        index, distance = _merged(
            np.arange(first, last),
            layout.n,
            (index, distance),
            (found[0].astype(np.int64) + begin, found[1]),
            k,
        )
    folder.write("neighbors", first, index)
    folder.write("distances", first, distance)


def _nearest_of(
    points: FloatArray, queries: FloatArray, origins: IntArray, k: int, n_jobs: int
) -> tuple[NDArray[np.int32], FloatArray]:
    """The exact nearest points of queries, without the queries themselves; fewer if there are not enough points."""
    plan = plan_preparation(points, "euclidean")
    own = (origins >= 0) & (origins < len(points))
    most = min(k, len(points) - int(own.any()))
    if most < 1:
        return np.empty((len(queries), 0), np.int32), np.empty((len(queries), 0))
    return search.query(search.Points.of(points, plan, n_jobs), queries, np.where(own, origins, -1), most)


def _merged(
    rows: IntArray, n: int, one: tuple[Any, Any], other: tuple[Any, Any], k: int
) -> tuple[IntArray, FloatArray]:
    """The k nearest of two lists of every row; equal distances in cyclic order, as in memory."""
    index, distance = (np.concatenate(parts, axis=1) for parts in zip(one, other))
    after = np.where(index < 0, n, (index - rows[:, None]) % n)
    best = np.lexsort((after, distance), axis=1)[:, :k]
    return np.take_along_axis(index, best, 1), np.take_along_axis(distance, best, 1)


def _true_reach(folder: Folder, layout: Layout, k: int, engine: Engine, run: Run) -> FloatArray:
    """The rows that recall is measured on, and how far away their k-th neighbour is among all rows."""
    probes = np.sort(run.stream("recall").permutation(layout.n)[:_PROBES])

    def find() -> list[float]:
        parts = engine.map(_probe, range(layout.n_blocks), folder, layout, probes, k, engine.n_jobs)
        nearest = np.full((len(probes), k), np.inf)
        for part in parts:
            nearest = np.sort(np.concatenate([nearest, part], axis=1), axis=1)[:, :k]
        return nearest[:, -1].tolist()

    return np.stack([probes, np.array(folder.once("reach", find))])


def _probe(number: int, folder: Folder, layout: Layout, probes: IntArray, k: int, n_jobs: int) -> FloatArray:
    """Distances from sampled rows to the nearest of a block."""
    first, last = layout.span(number)
    queries = np.array(folder.map("rows")[probes])
    return _nearest_of(folder.read("rows", first, last), queries, probes - first, k, n_jobs)[1]


def _measure(folder: Folder, reach: FloatArray, n: int, k: int) -> tuple[float, float, float, int]:
    """Share of true neighbours in the lists of sampled rows, its 95 % interval, and how many rows were sampled."""
    distance = np.array(folder.map("distances")[reach[0].astype(np.int64)])
    share = (distance <= reach[1][:, None] * (1 + 1e-6)).mean(axis=1)
    value, count = float(share.mean()), len(share)
    error = max(1.96 * float(share.std()) / math.sqrt(count), 3 / (count * k)) * math.sqrt(1 - count / n)
    return value, max(0.0, value - error), min(1.0, value + error), count
