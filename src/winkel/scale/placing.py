"""`transform`: places of all rows of a Source, a shard at a time, in memory or straight into a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import refuse
from ..data.archive import atomic_file
from ..errors import missing_extra
from ..run import Run
from ..typing import FloatArray
from .source import open_source


def transform(
    estimator: Any, source: Any, path: str | os.PathLike[str] | None = None, *, verbose: bool = False
) -> FloatArray | Path:
    """Places of all rows of `source` in the map of a fitted estimator, a shard at a time.

    Each row is placed by itself, so the result has the bytes of `estimator.transform` of all rows at once.

    Parameters
    ----------
    estimator : estimator
        Fitted, with `transform`.
    source : Source, path, glob or array
        The rows; see `open_source`.
    path : path or None, default=None
        An .npy or .parquet file to write; it gets its name when all rows are placed. None gives an array.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    ndarray of shape (n, n_components) or Path
        The places, or the file that holds them: an array, or columns y1, y2, …, as in every map file.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> X = wk.datasets.load_digits().X[:400]
    >>> mde = wk.MDE(random_state=0).fit(X)
    >>> source = wk.scale.open_source(X, rows_per_shard=150)
    >>> np.array_equal(wk.scale.transform(mde, source), mde.transform(X))
    True
    """
    rows = open_source(source)
    run = Run.of(verbose=verbose, random_state=0)
    placed = (
        estimator.transform(rows.shard(k))
        for k in run.progress(range(rows.n_shards), "shards placed", rows.n_shards)
    )
    if path is None:
        return np.concatenate(list(placed))
    target = Path(os.fspath(path))
    write_places(target, placed, rows.shape[0])
    return target


def write_places(target: Path, parts: Any, n: int) -> None:
    """Write places that come in parts, n in all, to an .npy or .parquet file, all or nothing."""
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
            table = pa.table({f"y{j + 1}": np.ascontiguousarray(part[:, j]) for j in range(part.shape[1])})
            writer = writer or pq.ParquetWriter(file, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()
