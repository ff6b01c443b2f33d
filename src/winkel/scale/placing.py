"""`transform`: places of all rows of a Source, a shard at a time: in memory, straight into files, or lazily for Dask."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import refuse
from ..data import as_table
from ..data.archive import atomic_file
from ..errors import InvalidParameterError, missing_extra
from ..run import Run
from ..solvers import digest
from ..typing import FloatArray
from .engine import Engine, engine_of
from .folder import Folder
from .lazy import is_dask_array, is_dask_frame, whole_rows
from .source import Source, open_source


def transform(
    estimator: Any,
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    client: Any = None,
    verbose: bool = False,
) -> Any:
    """Places of all rows of `source` on the map of a fitted estimator, one shard at a time.

    Each row is placed on its own, so the result has the same bytes as `estimator.transform` of all rows at once, for any number of
    workers.

    Parameters
    ----------
    estimator : estimator
        Fitted, with `transform`.
    source : Source, path, glob, array or anything that `open_source` takes
        The rows. A dask array or data frame is placed lazily: the result is of the same kind, with the same blocks, or the same index,
        divisions and partitions, and is computed when Dask computes it.
    path : path or None, default=None
        An .npy or .parquet file to write, which gets its name once all rows are placed; or, for parquet files, a folder, in which each
        input file gets an output file with the same name and row groups. None returns an array.
    client : distributed.Client or None, default=None
        Uses its workers; they must be able to open the files of the source. None works in this process.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    ndarray, dask array or dask data frame of shape (n, n_components), or Path
        The places, or the file or folder that contains them: an array, or columns y1, y2, …, as in every map file.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> X = wk.datasets.load_digits().X[:400]
    >>> mde = wk.MDE(random_state=0).fit(X)
    >>> source = wk.scale.open_source(X, rows_per_shard=150)
    >>> np.array_equal(wk.scale.transform(mde, source), mde.transform(X))
    True
    """
    if not hasattr(estimator, "transform") or not hasattr(estimator, "embedding_"):
        raise InvalidParameterError(
            f"estimator must be fitted and have transform; got {estimator!r:.200}. Call its fit, or winkel.scale.fit_landmarks."
        )
    if path is None and is_dask_array(source):
        return _lazy_array(estimator, source)
    if path is None and is_dask_frame(source):
        return _lazy_frame(estimator, source)
    rows = open_source(source)
    run = Run.of(verbose=verbose, random_state=0)
    engine = engine_of(client, run.n_jobs, Path())
    placed = _placed(estimator, rows, engine, run)
    if path is None:
        return np.concatenate(list(placed))
    target = Path(os.fspath(path))
    if target.suffix in (".npy", ".parquet"):
        write_places(target, placed, rows.shape[0])
    else:
        _write_folder(target, rows, placed)
    return target


def _placed(estimator: Any, rows: Source, engine: Engine, run: Run) -> Iterator[FloatArray]:
    """The places of each shard."""
    parts = engine.map(place_shard, range(rows.n_shards), rows, sent(estimator, engine))
    for _ in run.progress(range(rows.n_shards), "shards placed", rows.n_shards):
        yield next(parts)


def sent(estimator: Any, engine: Engine) -> Any:
    """The estimator in the form in which it is sent to tasks: once to each worker that needs it."""
    client = getattr(engine, "client", None)
    if client is None:
        return estimator
    single = copy.copy(estimator).set_params(n_jobs=engine.n_jobs)
    with warnings.catch_warnings():  # a model with its rows may be large, and goes to the scheduler once
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(_itself, single, pure=False)


def _itself(value: Any) -> Any:
    return value


def place_shard(number: int, rows: Source, estimator: Any) -> FloatArray:
    """The places of a shard's rows."""
    return np.asarray(estimator.transform(rows.shard(number)))


def placed_in(folder: Folder, source: Source, estimator: Any, engine: Engine, run: Run) -> FloatArray:
    """The places of all rows, memory-mapped from the folder; shards that an earlier run has placed are reused."""
    fitted = np.asarray(estimator.embedding_)
    name = f"placed-{digest(fitted)}"  # of several models
    folder.create(name, (source.shape[0], fitted.shape[1]), fitted.dtype)
    model = sent(estimator, engine)
    folder.stage(name, engine, _place, source.n_shards, run, name, source, model, words="shards placed")
    return np.asarray(folder.map(name))


def _place(number: int, folder: Folder, name: str, source: Source, estimator: Any) -> None:
    folder.write(name, int(source.starts[number]), place_shard(number, source, estimator))


# ------------------------------------------------------------------------------------------------------------- files


def write_places(target: Path, parts: Any, n: int) -> None:
    """Write n places, which come in parts, to an .npy or .parquet file, all or nothing."""
    if target.suffix == ".npy":
        _write_npy(target, parts, n)
    elif target.suffix == ".parquet":
        _write_parquet(target, parts)
    else:
        refuse("path", "a file that ends in .npy or .parquet", str(target))


def _write_npy(target: Path, parts: Any, n: int) -> None:
    first = next(parts)
    with atomic_file(target) as file:
        header = {
            "descr": np.lib.format.dtype_to_descr(first.dtype),
            "fortran_order": False,
            "shape": (n, first.shape[1]),
        }
        np.lib.format.write_array_header_1_0(file, header)
        file.write(np.ascontiguousarray(first).tobytes())
        for part in parts:
            file.write(np.ascontiguousarray(part, dtype=first.dtype).tobytes())


def _write_parquet(target: Path, parts: Any) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "Writing parquet files") from None
    with atomic_file(target) as file:
        writer = None
        for part in parts:
            table = pa.table({name: np.ascontiguousarray(part[:, j]) for j, name in enumerate(_names(part))})
            writer = writer or pq.ParquetWriter(file, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()


def _names(places: Any) -> list[str]:
    """Names of the coordinates, as in every map file."""
    return [f"y{j + 1}" for j in range(places.shape[1])]


def _write_folder(target: Path, rows: Source, placed: Iterator[FloatArray]) -> None:
    """A file of places for each parquet file of the source, of the same name and with the same row groups, each whole or not there."""
    files = [Path(rows.file(k)) for k in range(rows.n_shards)]
    begins = [k for k in range(len(files)) if k == 0 or files[k] != files[k - 1]]
    wrong = "A folder is for parquet files." if any(file.suffix != ".parquet" for file in files) else ""
    if len({files[k].name for k in begins}) < len(begins):
        wrong = "Two files of the source have the same name."
    if wrong:
        refuse("path", "a file that ends in .npy or .parquet", str(target), wrong)
    target.mkdir(parents=True, exist_ok=True)
    if any((target / files[k].name).resolve() == files[k].resolve() for k in begins):
        refuse("path", "another folder than that of the source", str(target))
    for begin, end in zip(begins, [*begins[1:], len(files)]):
        _write_parquet(target / files[begin].name, (next(placed) for _ in range(begin, end)))


# -------------------------------------------------------------------------------------------------------------- Dask


def _lazy_array(estimator: Any, array: Any) -> Any:
    """The dask array of places, in the blocks of rows of an array."""
    from dask import delayed

    rows = whole_rows(array)
    shown = estimator.embedding_
    return rows.map_blocks(
        _place_block,
        estimator=delayed(estimator, traverse=False),
        chunks=(rows.chunks[0], (shown.shape[1],)),
        meta=np.empty((0, shown.shape[1]), shown.dtype),
        dtype=shown.dtype,
    )


def _place_block(block: Any, estimator: Any, block_id: tuple[int, ...] = (0,)) -> FloatArray:
    if block.shape[0] == 0:
        return np.empty((0, estimator.embedding_.shape[1]), estimator.embedding_.dtype)
    table = as_table(block, name=f"block {block_id[0]} of the dask array", min_rows=1)
    return np.asarray(estimator.transform(table))


def _lazy_frame(estimator: Any, frame: Any) -> Any:
    """The dask data frame of places, with the index, divisions and partitions of a frame."""
    from dask import delayed
    from pandas import DataFrame

    shown = estimator.embedding_
    names = getattr(estimator, "feature_names_in_", None)
    return (frame if names is None else frame[list(names)]).map_partitions(
        _place_frame,
        delayed(estimator, traverse=False),
        meta=DataFrame(
            {name: np.empty(0, shown.dtype) for name in _names(shown)}, index=frame._meta.index[:0]
        ),
    )


def _place_frame(part: Any, estimator: Any) -> Any:
    from pandas import DataFrame

    shown = estimator.embedding_
    places = np.empty((0, shown.shape[1]), shown.dtype)
    if len(part):
        places = estimator.transform(as_table(part, name="a partition of the dask data frame", min_rows=1))
    return DataFrame(places, index=part.index, columns=_names(shown))
