"""`knn`: the neighbour lists of all rows of a Source, found by shards and written as parquet shards; `NeighborLists` reads them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import choice, integer, number
from ..data.archive import atomic_file
from ..errors import InvalidInputError, InvalidParameterError, missing_extra
from ..graph import Graph
from ..graph.graph import graph_of_lists
from ..graph.metrics import metric_name
from ..graph.origin import Origin, Recall
from ..graph.search import check_neighbor_count
from ..run import Run
from ..typing import FloatArray, RandomState
from .cells import METRICS, Layout, make_rows
from .engine import Engine, engine_of
from .folder import Folder
from .lists import exact_lists, find_lists
from .source import Source, open_source

BLOCK_ROWS = 2**18  # rows of a block: what one task works on
EXACT_ROWS = 30_000  # up to this number of rows, neighbours are searched exactly
_RECORD, _WORK = "lists.json", "work"


@dataclass(frozen=True, eq=False)
class NeighborLists:
    """The neighbours of all rows, in parquet files, only some of which are in memory at a time. `knn` makes them.

    Attributes
    ----------
    path : Path
        The folder of the files lists-00000.parquet, …, with columns "row", "neighbors" and "distances".
    n, n_neighbors : int
        Number of rows, and of neighbours of each row.
    rows_per_shard : int
        Number of rows in a file.
    origin : Origin
        How the lists were made, and with what measured recall.

    Examples
    --------
    >>> import winkel as wk
    >>> lists = wk.scale.knn(wk.datasets.load_digits().X, 10, "lists")
    >>> wk.scale.NeighborLists.open("lists").to_graph() == lists.to_graph()
    True
    """

    path: Path
    n: int
    n_neighbors: int
    rows_per_shard: int
    origin: Origin

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> NeighborLists:
        """The lists in a folder that `knn` has written."""
        folder = Path(os.fspath(path))
        try:
            told = json.loads((folder / _RECORD).read_text())
            origin = Origin.from_meta(told["origin"])
            return cls(folder, int(told["n"]), int(told["n_neighbors"]), int(told["rows_per_shard"]), origin)
        except FileNotFoundError:
            raise InvalidInputError(
                f"{str(folder)!r} contains no neighbour lists, or an unfinished search; "
                "winkel.scale.knn writes them."
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(f"{str(folder / _RECORD)!r} cannot be read: {error}.") from error

    @property
    def n_shards(self) -> int:
        """Number of files."""
        return Layout(self.n, self.rows_per_shard).n_blocks

    def shard(self, number: int) -> tuple[NDArray[np.int32], FloatArray]:
        """Neighbours and distances of the rows of one file, each of shape (rows, n_neighbors), nearest first."""
        file = self.path / f"lists-{number:05d}.parquet"
        try:
            table = _parquet().read_table(file)
            found = [
                table.column(name).combine_chunks().flatten().to_numpy()
                for name in ("neighbors", "distances")
            ]
            index, distance = (part.reshape(-1, self.n_neighbors) for part in found)
        except (OSError, KeyError, ValueError) as error:
            raise InvalidInputError(
                f"{str(file)!r} cannot be read: {error}. Make the lists again."
            ) from error
        first, last = Layout(self.n, self.rows_per_shard).span(number)
        if len(index) != last - first:
            raise InvalidInputError(
                f"{str(file)!r} has {len(index)} rows, not {last - first}. Make the lists again."
            )
        return index, distance

    def shards(self) -> Iterator[tuple[NDArray[np.int32], FloatArray]]:
        """All files, one after another."""
        return (self.shard(number) for number in range(self.n_shards))

    def to_graph(self) -> Graph:
        """The lists in memory, as the Graph that `winkel.graph.knn` makes."""
        index = np.empty((self.n, self.n_neighbors), np.int32)
        distance = np.empty((self.n, self.n_neighbors), np.float32)
        for k, part in enumerate(self.shards()):
            first, last = Layout(self.n, self.rows_per_shard).span(k)
            index[first:last], distance[first:last] = part
        return graph_of_lists(index, distance, self.origin)


def knn(
    source: Any,
    n_neighbors: int = 15,
    path: str | os.PathLike[str] | None = None,
    *,
    metric: str = "euclidean",
    method: str = "auto",
    recall: float = 0.985,
    client: Any = None,
    rows_per_block: int = BLOCK_ROWS,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> NeighborLists:
    """The nearest rows of every row of `source`, found by shards, for data larger than memory, also on a Dask cluster.

    "exact" compares every block of rows with every other. "approximate" first compares each row with the rows of the cells nearest to it,
    which may be in any shard, and then with its neighbours' neighbours, round by round until the recall
    is reached. Rows are compared in single precision. The files have the same bytes for any `client` and `n_jobs`.

    Parameters
    ----------
    source : Source, path, glob, array or anything that `open_source` takes
        The rows.
    n_neighbors : int, default=15
        Number of neighbours of each row.
    path : path or None, default=None
        The folder to write. If a search ends early, the same call continues from there. None uses a folder that is deleted
        together with the lists.
    metric : {"euclidean", "cosine", "correlation"}, default="euclidean"
        The distance.
    method : {"auto", "exact", "approximate"}, default="auto"
        "auto" is exact up to 30 000 rows.
    recall : float, default=0.985
        An approximate search ends when it has found this share of the true neighbours, measured on 512 rows compared with all others.
    client : distributed.Client or None, default=None
        Uses its workers; they must be able to open the files of the source and `path` under the same names. None works in this
        process.
    rows_per_block : int, default=262144
        Number of rows that one task processes, and of rows in a file.
    random_state : int, numpy Generator or None, default=0
        The seed of the cells.
    n_jobs : int or None, default=None
        Number of threads without a client; None uses all cores.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    NeighborLists
        The lists, with the measured recall in `origin.recall`.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X
    >>> lists = wk.scale.knn(X, 10)
    >>> lists.n, lists.n_neighbors, lists.origin.method
    (1797, 10, 'exact')
    >>> bool((lists.to_graph().knn_indices == wk.graph.knn(X, 10).knn_indices).mean() > 0.99)
    True
    """
    opened = open_source(source)
    n = opened.shape[0]
    k = integer("n_neighbors", n_neighbors, 1)
    check_neighbor_count(k, n)
    name = choice("metric", metric_name(metric), METRICS)
    choice("method", method, ("auto", "exact", "approximate"))
    number("recall", recall, 0.0, 1.0, low_open=True)
    layout = Layout(n, integer("rows_per_block", rows_per_block, 16))
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    exactly = method == "exact" or (method == "auto" and n <= EXACT_ROWS)
    asked = _Asked(opened, layout, k, name, None if exactly else recall)
    _parquet()
    if path is not None:
        return asked.lists(Path(os.fspath(path)).absolute(), client, run)
    target = Path(tempfile.mkdtemp(prefix="winkel-"))
    try:
        lists = asked.lists(target, client, run)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    weakref.finalize(lists, shutil.rmtree, target, True)
    return lists


@dataclass(frozen=True, eq=False)
class _Asked:
    """The requested lists; without a recall, exact lists."""

    source: Source
    layout: Layout
    k: int
    metric: str
    recall: float | None

    def identity(self, rows: str, run: Run) -> dict[str, Any]:
        """What distinguishes these lists from others."""
        return {
            "rows": [*self.source.shape, rows],
            "block": self.layout.block,
            "seed": run.seed,
            "metric": self.metric,
            "lists": [self.k, self.recall],
        }

    def lists(self, target: Path, client: Any, run: Run) -> NeighborLists:
        """The lists in a folder, made unless they are there."""
        identity = self.identity(self.source.identity, run)
        if (target / _RECORD).exists():
            return _finished(target, identity)
        target.mkdir(parents=True, exist_ok=True)
        engine, start = engine_of(client, run.n_jobs, target), time.perf_counter()
        try:
            found = self._make(target, engine, run)
        finally:
            engine.close()
        method, seed = ("exact", None) if self.recall is None else ("approximate", run.seed)
        origin = Origin(method, self.metric, self.k, seed, found, seconds=time.perf_counter() - start)
        told = {
            "n": self.layout.n,
            "n_neighbors": self.k,
            "rows_per_shard": self.layout.block,
            "origin": origin.to_meta(),
            "run": identity,
        }
        with atomic_file(target / _RECORD) as file:
            file.write(json.dumps(told).encode())
        shutil.rmtree(target / _WORK, ignore_errors=True)
        return NeighborLists.open(target)

    def _make(self, target: Path, engine: Engine, run: Run) -> Recall | None:
        """Write the files; the recall where lists are not exact."""
        layout, found = self.layout, None
        folder = Folder.opened(target / _WORK, self.identity(self.source.names_identity, run))
        make_rows(folder, self.source, layout, self.metric, engine, run)
        if self.recall is None:
            exact_lists(folder, layout, self.k, engine, run)
        else:
            found = find_lists(folder, layout, self.k, engine, run, self.recall)
        folder.stage("written", engine, _write, layout.n_blocks, run, layout, self.metric, target)
        return found


def _finished(target: Path, identity: dict[str, Any]) -> NeighborLists:
    """The existing lists, if they are the requested ones."""
    there = NeighborLists.open(target)
    if json.loads((target / _RECORD).read_text()).get("run") != json.loads(json.dumps(identity)):
        raise InvalidParameterError(
            f"{str(target)!r} holds neighbour lists of other data or settings. Choose another folder, or delete this one."
        )
    return there


def _write(number: int, folder: Folder, layout: Layout, metric: str, target: Path) -> None:
    """The lists of a block of the source's rows, as one file."""
    import pyarrow as pa

    first, last = layout.span(number)
    order = np.array(folder.map("order"))
    place = np.flatnonzero((order >= first) & (order < last))
    place = place[np.argsort(order[place])]
    index = order[folder.map("neighbors")[place]].astype(np.int32)
    distance = np.array(folder.map("distances")[place], dtype=np.float32)
    if metric != "euclidean":  # of directions: 1 − cos is half the square
        distance = distance * distance * np.float32(0.5)
    k = index.shape[1]
    table = pa.table(
        {
            "row": np.arange(first, last),
            "neighbors": pa.FixedSizeListArray.from_arrays(index.ravel(), k),
            "distances": pa.FixedSizeListArray.from_arrays(distance.ravel(), k),
        }
    )
    with atomic_file(target / f"lists-{number:05d}.parquet") as file:
        _parquet().write_table(table, file)


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "Neighbour lists in parquet files") from None
    return pyarrow.parquet
