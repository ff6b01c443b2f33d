"""`measure`: the scores of a map of data larger than memory, from a sample of rows that is compared with all rows, shard by shard.

sampled rows × each shard ──> distances to all rows, some sampled rows at a time ──> ranks ──> the scores of `winkel.measure`
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..checks import choice
from ..data import Table
from ..errors import InvalidInputError
from ..graph import Graph
from ..graph.metrics import RULES, metric_name, plan_preparation
from ..measures.context import Context, Measured
from ..measures.faithfulness import Faithfulness, measure_maps
from ..measures.registry import ScoreDefinition
from ..measures.sampling import EXACT_UP_TO, SAMPLED_ROWS, sampled_rows
from ..measures.sources import DIFFERENCES, DistanceBlock, Indices, Rows, map_table
from ..run import Run
from ..typing import FloatArray, RandomState
from .cells import dense
from .components import Components, find_components
from .engine import LocalEngine
from .neighbors import NeighborLists
from .source import Source, open_source

_BYTES = 2**30  # of distances that are held at a time, and of rows that are gathered
_DISTANCES, _FEWEST = (
    1_000_000_000,
    100,
)  # distances that a sample nobody chose is to have; and its fewest rows


def measure(
    source: Any,
    map: Any,
    *,
    scores: Sequence[str | Callable[[Context], Any]] | None = None,
    labels: ArrayLike | None = None,
    n_neighbors: int = 15,
    metric: str = "euclidean",
    sample: str | int = "auto",
    baseline: bool = True,
    graph: NeighborLists | Graph | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Faithfulness:
    """How faithful a map is to data larger than memory: the scores of `winkel.measure`, from sampled rows compared with all rows.

    The rows are read shard by shard, several times; the map is in memory. Rows are compared in single precision. The scores equal
    those of `winkel.measure` with the same `sample` and `random_state`. Scores of angles and norms are left out.

    Parameters
    ----------
    source : Source, path, glob, array or anything that `open_source` takes
        The rows.
    map : array, fitted estimator, Embedding, path or Source
        The map of the same rows; also a folder or pattern of parquet files, as written by `winkel.scale.transform`.
    scores : list of str and callables, or None, default=None
        Names of registered scores (`winkel.scores`) and functions of your own. None computes all that are possible.
    labels : array of length n or None, default=None
        One label per row; adds scores of labels.
    n_neighbors : int, default=15
        Size of the neighbourhoods that are compared.
    metric : str, default="euclidean"
        The distance in the data: "euclidean", "cosine", "manhattan", "chebyshev", "correlation", "hamming" or "jaccard".
    sample : "auto" or int, default="auto"
        How many rows are sampled. "auto" takes all rows up to 10 000 and 1 000 rows beyond; from a million rows on, as many as have a
        billion distances in total, but at least 100.
    baseline : bool, default=True
        Whether to compute the scores of principal components as well.
    graph : NeighborLists, Graph or None, default=None
        Neighbours of all rows, such as the result of `winkel.scale.knn`; adds "tearing" and "merging", and holds the lists in memory.
    random_state : int, numpy Generator or None, default=0
        The seed of all samples; the same seed gives the same numbers for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    Faithfulness
        The report, with intervals for sampled scores.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X
    >>> map = wk.MDE(random_state=0).fit(X)
    >>> source = wk.scale.open_source(X, rows_per_shard=500)
    >>> report = wk.scale.measure(source, map, sample=300, scores=["trustworthiness", "stress"])
    >>> report["trustworthiness"].value == wk.measure(X, map, sample=300)["trustworthiness"].value
    True
    """
    rows = open_source(source)
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    name = choice("metric", metric_name(metric), RULES)
    lists = graph.to_graph() if isinstance(graph, NeighborLists) else graph
    measured = StreamedMeasured(
        rows, run, n_neighbors, name, _sample_of(rows.shape[0], sample), labels, lists
    )
    return measure_maps(measured, {"map": map_of(map)}, scores, baseline=baseline)["map"]


def _sample_of(n: int, sample: Any) -> Any:
    """What to sample of n rows."""
    if sample != "auto" or n <= EXACT_UP_TO:
        return sample
    return int(np.clip(_DISTANCES // n, _FEWEST, SAMPLED_ROWS))


def map_of(map: Any) -> Table:
    """The places of anything that is accepted as a map, including several files."""
    if isinstance(map, str | os.PathLike):
        path = Path(os.fspath(map))
        if path.is_dir() or "*" in path.name:
            map = open_source(path / "*.parquet" if path.is_dir() else path)
    if isinstance(map, Source):
        return Table(np.concatenate([dense(part.values) for part in map.shards()]), validated=True)
    return map_table(map)


class StreamedMeasured(Measured):
    """The rows of a source, and the settings of one call."""

    def __init__(
        self,
        source: Source,
        run: Run,
        n_neighbors: int,
        metric: str,
        sample: str | int | None,
        labels: ArrayLike | None,
        graph: Graph | None,
    ) -> None:
        self.table, self._rows_of = None, source
        # A function of all samples: which rows are measured is known before they are asked for.
        asked = sampled_rows(source.shape[0], sample, run.seed)
        self._hold(
            StreamedRows(source, metric, asked, run), run, n_neighbors, metric, sample, labels, None, graph
        )

    @property
    def has_principal_map(self) -> bool:
        """Always true, because a source has rows."""
        return True

    def principal_map(self, n_components: int) -> Table:
        """The map by principal components, which are found in passes over the shards."""
        count = min(n_components, *self._rows_of.shape)
        found = self._components if count <= self._components.axes.shape[1] else self._find(count)
        axes = replace(found, axes=np.ascontiguousarray(found.axes[:, :count]))
        parts = [axes.apply(shard.values, self.run.n_jobs) for shard in self._rows_of.shards()]
        Y = np.pad(np.concatenate(parts), ((0, 0), (0, n_components - count)))
        return Table(Y, validated=True)

    @cached_property
    def _components(self) -> Components:
        return self._find(min(2, *self._rows_of.shape))

    def _find(self, count: int) -> Components:
        return find_components(self._rows_of, count, LocalEngine(self.run.n_jobs), self.run)

    def missing(self, definition: ScoreDefinition) -> str | None:
        """In words, the things that a score needs and this call does not have."""
        if self.lists is None and not {"links", "data_pieces"}.isdisjoint(definition.needs):
            return "the neighbours of all rows; pass graph=winkel.scale.knn(source)"
        if not {"X", "norms", "angles"}.isdisjoint(definition.needs):
            return "all rows in memory; use winkel.measure"
        return super().missing(definition)

    def _measured_rows(self) -> Rows:
        return self.source.measured  # type: ignore[attr-defined]


class StreamedRows:
    """Rows of a source; the measured rows can be compared with all."""

    def __init__(self, source: Source, metric: str, measured: Rows, run: Run) -> None:
        self.n, self.squared, self.measured = source.shape[0], metric == "euclidean", measured
        self._source, self._run = source, run
        first = dense(source.shard(0).values)
        plan = plan_preparation(first, metric)
        # One preparation for all shards; any of them may have a row of zeros.
        self._plan = replace(plan, zero_column=metric in ("cosine", "correlation"))
        self._dtype = first.dtype
        self._step = max(8, _BYTES // (4 * self.n) // 8 * 8)
        self._held: tuple[int, NDArray[np.float32]] = (-1, np.empty((0, 0), np.float32))

    def block(self, rows: Rows) -> DistanceBlock:
        """These rows compared with all; they must be consecutive measured rows."""
        begin = int(np.searchsorted(self.measured, rows[0]))
        first, distances = self._held
        if not first <= begin <= begin + len(rows) <= first + len(distances):
            step = max(self._step, len(rows))
            self._held = (-1, distances[:0])  # gives the memory back before more is taken
            first, distances = self._held = begin, self._against_all(self.measured[begin : begin + step])
        here = np.ascontiguousarray(distances[begin - first : begin - first + len(rows)])
        return DistanceBlock(here, rows, self._run.n_jobs)

    @np.errstate(over="ignore", invalid="ignore")
    def _against_all(self, rows: Rows) -> NDArray[np.float32]:
        """Search distances of rows to all, by a pass over the shards."""
        queries = self._plan.apply(self._gathered(rows))
        norm, outside = self._plan.norms(queries), np.full(len(rows), -1)
        kind = self._plan.rule.search or DIFFERENCES
        found = np.empty((len(rows), self.n), np.float32)
        for k in self._run.progress(range(self._source.n_shards), "shards compared", self._source.n_shards):
            first, last = (int(row) for row in self._source.starts[k : k + 2])
            points = self._plan.apply(dense(self._source.shard(k).values).astype(self._dtype, copy=False))
            part = np.empty((len(rows), last - first), np.float32)
            kernel = _core.DistanceRows(points, self._plan.norms(points), kind)
            kernel.rows(queries, norm, outside, part, self._run.n_jobs)
            found[:, first:last] = part
        if not np.isfinite(found).all():
            raise InvalidInputError(
                "Distances between rows leave the range of single precision; change the unit of the data."
            )
        found[np.arange(len(rows)), rows] = 0
        return found

    def _gathered(self, rows: Rows) -> FloatArray:
        return dense(self._source.rows(rows).values).astype(self._dtype, copy=False)

    def pairs(self, pairs: Indices) -> FloatArray:
        """Distance of each pair of rows."""
        step = max(1, _BYTES // (self._source.shape[1] * self._dtype.itemsize) // 2)
        found = np.empty(len(pairs), self._dtype)
        for begin in range(0, len(pairs), step):
            part = pairs[begin : begin + step]
            rows, place = np.unique(part.astype(np.int64), return_inverse=True)
            index = np.ascontiguousarray(place.reshape(part.shape), dtype=np.int32)
            kind, n_jobs = self._plan.rule.kind, self._run.n_jobs
            found[begin : begin + step] = _core.metric_distances(self._gathered(rows), index, kind, n_jobs)
        return found
