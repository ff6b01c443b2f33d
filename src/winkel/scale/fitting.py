"""The default map of all rows of a Source, by shards: coordinates in memory, everything else on disk.

    Source ──> rows in the order of cells ──> neighbour lists ──> pairs ──> start, stages, L-BFGS ──> Embedding

Each arrow is a stage made of functions of shards; an `Engine` decides where they run. The data alone determines the shards, and sums are
taken in the order of the shards, so one process and any number of workers give the same bytes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ..checks import integer, optional
from ..embedding import Embedding
from ..errors import InvalidInputError, InvalidParameterError
from ..graph.knn import usable_neighbors
from ..graph.metrics import metric_name, pair_distances
from ..graph.origin import Recall
from ..methods.mde.arrangement import Compared, arranged
from ..methods.mde.distinct import Items
from ..methods.mde.neighbors import Forces, cauchy_repulsion, list_length, mid_near_problem
from ..methods.mde.plan import (
    CAUCHY_STAGES,
    FLAT,
    Focus,
    Settings,
    arranging,
    choose_focus,
    staged_iterations,
    stages_for,
)
from ..methods.starts import along_axes, mid_near_pairs, principal_axes, principal_sample, widened
from ..problem import Centered, Problem, Stage
from ..problem.solving import solve
from ..run import Run
from ..typing import FloatArray, IntArray
from .arranged import REFINING_ITERATIONS, REFINING_STAGES, Arrangement, apart, given_arrangement, suited
from .cells import METRICS, Layout, make_rows
from .components import kept_components, projected
from .edges import Pairs, make_pairs
from .engine import Engine, engine_of
from .folder import Folder
from .lists import exact_lists, find_lists
from .neighbors import BLOCK_ROWS, EXACT_ROWS
from .problem import ShardedProblem
from .source import Source, open_source

_DIMENSION_ROWS = 100_000  # that the dimension of the data is estimated from
_CHECKPOINT_SECONDS = 300.0  # between two checkpoints, which hold twenty maps
EstimatorT = TypeVar("EstimatorT")


def fit(
    estimator: EstimatorT,
    source: Any,
    *,
    folder: str | os.PathLike[str] | None = None,
    client: Any = None,
    rows_per_block: int = BLOCK_ROWS,
    pca: int | None = None,
    init: Any = None,
) -> EstimatorT:
    """Fit `estimator`, a `winkel.MDE`, to all rows of `source` by shards, for data larger than memory, also on a Dask cluster.

    The map is the default map of neighbours in two dimensions, with the metric "euclidean", "cosine" or "correlation". Rows are
    compared in single precision. Equal rows are not merged; they are placed close to each other. The map has the same bytes
    for any `client` and `n_jobs`. `estimator.fit(source)` does the same in this process, with a temporary folder.

    Parameters
    ----------
    estimator : MDE
        The estimator to fit; its parameters have the same meaning as in memory.
    source : Source, path, glob, array or anything that `open_source` takes
        The rows.
    folder : path or None, default=None
        Where rows, neighbours and pairs are stored during the fit; about 600 bytes per row in addition to the rows themselves. If a fit
        ends early, the same call continues from there. None uses a folder that is deleted at the end.
    client : distributed.Client or None, default=None
        Uses its workers; they must be able to open the files of the source and `folder` under the same names. None works in this
        process.
    rows_per_block : int, default=262144
        Number of rows that one task processes. The bytes of the map depend on it.
    pca : int or None, default=None
        Number of principal components to which rows are reduced first, as by `winkel.scale.pca`; None uses the rows as they are.
    init : fitted estimator, map or None, default=None
        An arrangement to keep and refine, so that each row moves next to its neighbours among all rows. It is an estimator that
        places the rows, such as the result of `winkel.scale.fit_landmarks`, or the places of all rows in the plane as an array or file. Its
        scale does not matter. If `max_iter` is None, 75 iterations are made. None starts from principal components.

    Returns
    -------
    estimator
        The estimator, fitted; `embedding_` is the map in the order of the rows.

    Examples
    --------
    >>> import winkel as wk
    >>> mde = wk.scale.fit(wk.MDE(random_state=0, max_iter=50), wk.datasets.load_digits().X)
    >>> mde.embedding_.shape
    (1797, 2)
    """
    if not hasattr(estimator, "fit") or type(estimator).__name__ != "MDE":
        raise InvalidParameterError(
            f"A fit by shards is for winkel.MDE; got {type(estimator).__name__}. Use winkel.scale.fit_landmarks for others."
        )
    block = integer("rows_per_block", rows_per_block, 16)
    opened = open_source(source)
    reduced = optional(integer, "pca", pca, 1, min(opened.shape))
    where = Where(
        None if folder is None else Path(os.fspath(folder)),
        client,
        block,
        reduced,
        None if init is None else given_arrangement(init, opened.shape[0]),
    )
    fitted: EstimatorT = estimator.fit(_Placed(opened, where))
    return fitted


@dataclass(frozen=True)
class Where:
    """The folder and the workers of a fit by shards, and the size of its tasks."""

    folder: Path | None = None
    client: Any = None
    block: int = BLOCK_ROWS
    pca: int | None = None
    init: Arrangement | None = None


@dataclass(frozen=True, eq=False)
class _Placed:
    """A source that an estimator may fit, with where to do so."""

    source: Source
    where: Where

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    def __repr__(self) -> str:
        return repr(self.source)

    def fit_map(self, settings: Settings, run: Run) -> Embedding:
        """The map of all rows."""
        return fit_map(self.source, settings, run, self.where)


def fit_map(source: Source, settings: Settings, run: Run, where: Where) -> Embedding:
    """The map of all rows of a source, with its description."""
    metric = _check(source, settings)
    made = where.folder is None
    # A whole path: workers may have another working folder.
    path = Path(tempfile.mkdtemp(prefix="winkel-")) if where.folder is None else where.folder.absolute()
    engine = engine_of(where.client, run.n_jobs, path)
    try:
        return _fitted(source, settings, metric, engine, where, path, run, kept=not made)
    finally:
        engine.close()
        if made:
            shutil.rmtree(path, ignore_errors=True)


def _check(source: Source, settings: Settings) -> str:
    """The metric, once it is known that this map can be made by shards."""
    metric = settings.metric if callable(settings.metric) else metric_name(str(settings.metric))
    for what, wrong in (
        (f"metric={metric!r}", metric not in METRICS),
        ('preserve="distances"', settings.preserve != "neighbors"),
        ('focus="flat"', settings.focus == FLAT),
        (f"n_components={settings.n_components}", settings.n_components != 2),
        (
            "other forces than the default",
            not settings.forces.cauchy or not settings.forces.attractive.fused(),
        ),
        ("another constraint than 'centered'", type(settings.constraint) is not Centered),
        (
            f"init={settings.init!r}",
            not isinstance(settings.init, str) or settings.init not in ("auto", "pca"),
        ),
    ):
        if wrong:
            raise InvalidParameterError(
                f"A fit by shards makes the default map in two dimensions, by metric {', '.join(map(repr, METRICS))}; got {what}. "
                "Use winkel.scale.fit_landmarks for others."
            )
    if source.shape[0] < 2:
        raise InvalidInputError(f"The source must have at least 2 rows; got {source.shape[0]}.")
    return str(metric)


def _fitted(
    source: Source,
    settings: Settings,
    metric: str,
    engine: Engine,
    where: Where,
    path: Path,
    run: Run,
    *,
    kept: bool,
) -> Embedding:
    n, block = source.shape[0], where.block
    layout = Layout(n, block)
    run.check_memory(
        forecast(n, where.pca or source.shape[1], block, settings.memory_size),
        f"A map by shards of {n} rows",
        "Give a smaller memory_size or rows_per_block, or fit landmarks.",
    )
    k = usable_neighbors(settings.n_neighbors, n)
    listed = min(max(k, list_length(n, k)), n - 1)
    identity = {
        "rows": [*source.shape, source.names_identity],
        "block": block,
        "seed": run.seed,
        "metric": metric,
        "lists": [k, listed],
        "pca": where.pca,
    }
    folder = Folder.opened(path, identity)
    given = None if where.init is None else where.init.places(folder, source, engine, run)
    if where.pca is not None:
        source = projected(source, kept_components(folder, source, where.pca, engine, run))
    make_rows(folder, source, layout, metric, engine, run)
    search = exact_lists if n <= EXACT_ROWS else find_lists
    recall = search(folder, layout, listed, engine, run)
    pairs = make_pairs(folder, layout, k, metric, engine, run)
    order = np.array(folder.map("order"))
    problem, focus = _problem(folder, layout, pairs, settings, k, engine, run)
    items = Items(order, _inverse(order), np.empty(0))
    if kept and run.checkpoint is None:
        run = replace(run, checkpoint=folder.path / "map.part", checkpoint_every=_CHECKPOINT_SECONDS)
    stages: Sequence[Stage] = REFINING_STAGES
    usual = staged_iterations(n)
    if given is None:
        start = _start(folder, layout, items, run)
        compared = _Compared(folder.map("rows"), items.of, run)
        stages = stages_for(
            focus,
            n,
            CAUCHY_STAGES,
            lambda: _mid_near(folder, layout, items, compared, settings.forces, run, k),
        )
        stages += arranging(
            focus, lambda Y, clarity: arranged(Y[items.of], compared, run, clarity)[items.rows]
        )
    else:
        usual = REFINING_ITERATIONS
        start = suited(apart(given, run)[order], problem.with_background(stages[0].share))
    found = solve(problem, start, settings.solving(usual), items.watched(run), stages)  # type: ignore[arg-type]
    if found.status.word not in ("interrupted", "failed", "time_limit"):
        run.remove_checkpoints()
    return replace(
        found,
        Y=items.spread(found.Y),
        frames=items.frames(found.frames),
        settings={**found.settings, **focus.settings, **_described(recall, listed)},
    )


def forecast(n: int, m: int, block: int, memory_size: int) -> float:
    """The largest number of bytes that a fit needs in memory; the system can reclaim memory-mapped files at any time."""
    # The map, its gradients, and what L-BFGS remembers; mid-near pairs.
    coordinates = 8.0 * n * (2 * memory_size + 14) + 80.0 * n
    task = min(n, block) * (8.0 * m + 1800)  # rows, lists and pairs of one block on their way
    return coordinates + task + 2**28


def _described(recall: Recall, listed: int) -> dict[str, Any]:
    return {"n_listed": listed, "recall": recall.value, "recall_low": recall.low, "recall_high": recall.high}


def _problem(
    folder: Folder, layout: Layout, pairs: Pairs, settings: Settings, k: int, engine: Engine, run: Run
) -> tuple[ShardedProblem, Focus]:
    """What attracts and what repels, as `methods.mde` poses it."""
    forces = settings.forces
    assert forces.repulsive is not None
    focus = choose_focus(settings.focus, _Lists(folder, layout, k), run, may_lie_flat=False)  # type: ignore[arg-type]
    fraction = settings.repulsive_fraction * focus.share(layout.n)
    # Weights are one on average, and each pair attracts two rows.
    background = cauchy_repulsion(forces.repulsive, fraction, 2 * pairs.count / layout.n, layout.n)
    problem = ShardedProblem(
        folder, layout, pairs, forces.attractive, background, settings.constraint, 2, engine, run.n_jobs
    )
    return problem, focus


@dataclass(frozen=True)
class _Lists:
    """What the choice of a focus asks of a neighbour graph."""

    folder: Folder
    layout: Layout
    k: int

    @property
    def knn_distances(self) -> FloatArray:
        """Distances to the first neighbours, of rows spread over all."""
        step = -(-self.layout.n // _DIMENSION_ROWS)
        return np.array(self.folder.map("distances")[::step, : self.k])

    def components(self) -> tuple[int, IntArray]:
        """How many connected components the lists have, and that of each row, the largest being 0."""
        n = self.layout.n
        count, of = n, np.arange(n, dtype=np.int32)
        for b in range(self.layout.n_blocks):  # pairs of a block join the components that there are so far
            first, last = self.layout.span(b)
            index = self.folder.map("neighbors")[first:last, : self.k]
            ends = (np.repeat(of[first:last], index.shape[1]), of[index.ravel()])
            joined = csr_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(count, count))
            count, merged = connected_components(joined, directed=False)
            of = merged[of]
        rank = np.empty(count, dtype=np.int64)
        rank[np.argsort(-np.bincount(of), kind="stable")] = np.arange(count)
        return count, rank[of]


def _start(folder: Folder, layout: Layout, items: Items, run: Run) -> FloatArray:
    """Where the map begins: as in memory, principal components from a sample, in the order of cells."""
    rows, n = folder.map("rows"), layout.n
    # The source's numbers of the sampled rows, wherever these are now.
    mean, top = principal_axes(np.array(rows[items.of[principal_sample(n, run)]]), 2, run)
    along = np.empty((n, 2))
    for b in range(layout.n_blocks):
        first, last = layout.span(b)
        along[items.rows[first:last]] = along_axes(folder.read("rows", first, last), mean, top, 2, run)
    return np.asarray(widened(along, run)[items.rows], dtype=np.float32)


def _mid_near(
    folder: Folder, layout: Layout, items: Items, compared: Compared, forces: Forces, run: Run, k: int
) -> Problem | None:
    """The attraction of mid-near pairs: those of the rows in memory, in the order of cells."""
    n_pieces, piece = _Lists(folder, layout, k).components()
    if n_pieces == 1:
        return None
    place = items.of
    pairs = mid_near_pairs(len(place), compared, run)
    return mid_near_problem(place[pairs].astype(np.int32), piece, forces, 2, run)


@dataclass(frozen=True)
class _Compared:
    """Distances between rows on disk, by their numbers in the source."""

    rows: FloatArray
    place: IntArray
    run: Run

    def __call__(self, i: IntArray, J: IntArray) -> FloatArray:
        used, number = np.unique(np.concatenate([i, J.ravel()]), return_inverse=True)
        number = number.astype(np.int32)
        pairs = np.stack([np.repeat(number[: len(i)], J.shape[1]), number[len(i) :]], axis=1)
        found = pair_distances(self.rows[self.place[used]], pairs, "euclidean", self.run.n_jobs)
        return np.asarray(found).reshape(J.shape)


def _inverse(order: IntArray) -> IntArray:
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place
