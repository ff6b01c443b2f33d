"""`pca`: the rows of a Source along the directions of their largest variance, which are found in passes over the shards.

    Source ──> passes (products with the covariance, shard by shard, added in order) ──> Components ──> Source of few columns

With few columns, the covariance is added up in one pass. With many, a random block of vectors and its products with the covariance span a
space that contains the directions (block Krylov, Musco and Musco 2015): four passes, repeated until the directions have settled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..algebra import largest_eigenvectors, largest_of_operator, matmul
from ..checks import integer
from ..run import Run
from ..solvers.base import digest
from ..typing import FloatArray, IntArray, RandomState
from .engine import Engine, engine_of
from .folder import Folder
from .source import Source, open_source

_WHOLE_UP_TO = 512  # columns whose covariance is added up as a whole
_SETTLED, _RESTARTS = (
    1e-4,
    4,
)  # residual in proportion to the largest variance; and most rounds of four passes
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Components:
    """Directions of largest variance, and the projection of rows onto them.

    Attributes
    ----------
    mean : ndarray of shape (m,)
        The mean of all rows.
    axes : ndarray of shape (m, n_components)
        The directions, in descending order of variance.
    variance : ndarray of shape (n_components,)
        The variance of all rows along each direction.
    total_variance : float
        The sum of the variances of all columns.
    """

    mean: Vector
    axes: Vector
    variance: Vector
    total_variance: float

    def apply(self, rows: Any, n_jobs: int = 1) -> FloatArray:
        """Rows, dense or sparse, along the directions, in their precision."""
        if issparse(rows):
            along = np.asarray(rows @ self.axes) - matmul(self.mean, self.axes)
        else:
            along = matmul(np.asarray(rows, dtype=np.float64) - self.mean, self.axes, n_jobs)
        return np.ascontiguousarray(along, dtype=rows.dtype)


def pca(
    source: Any,
    n_components: int = 50,
    *,
    client: Any = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Source:
    """The rows of `source` along the `n_components` directions of their largest variance, as a Source that projects rows as it reads them.

    Parameters
    ----------
    source : Source, path, glob, array or anything that `open_source` takes
        The rows, dense or sparse.
    n_components : int, default=50
        Number of directions; at most the number of columns and the number of rows.
    client : distributed.Client or None, default=None
        Uses its workers; None works in this process.
    random_state : int, numpy Generator or None, default=0
        The seed of the first block of vectors, used if there are more than 512 columns. The same seed gives the same bytes for any
        `client` and `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads without a client; None uses all cores.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    Source
        With `n_components` columns, in the same shards; its `components` has the mean, the directions and their variances.

    Examples
    --------
    >>> import winkel as wk
    >>> source = wk.scale.pca(wk.datasets.load_digits().X, 20)
    >>> source.shape, bool(source.components.variance.sum() > 0.89 * source.components.total_variance)
    ((1797, 20), True)
    """
    opened = open_source(source)
    count = integer("n_components", n_components, 1, min(opened.shape))
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    engine = engine_of(client, run.n_jobs, Path(tempfile.gettempdir()))
    return projected(opened, find_components(opened, count, engine, run))


def projected(source: Source, components: Components) -> Source:
    """The source of the same rows along directions."""
    return Source.of(ProjectedReader(source, components))


def kept_components(folder: Folder, source: Source, count: int, engine: Engine, run: Run) -> Components:
    """The components of a source, from an earlier run in the folder if there is one, otherwise computed."""

    def find() -> tuple[str, float]:
        found = find_components(source, count, engine, run)
        folder.save("axes", np.vstack([found.mean, found.axes.T]))
        folder.save("variance", found.variance)
        return source.identity, found.total_variance

    identity, total = folder.once("components", find)
    if identity != source.identity:  # a file was mended since
        if folder.note("whole.json") is not None:
            raise folder.of_another_run("rows")
        folder.forget("components", "offset", "copied")
        return kept_components(folder, source, count, engine, run)
    kept = np.array(folder.map("axes"))
    return Components(kept[0], np.ascontiguousarray(kept[1:].T), np.array(folder.map("variance")), total)


def find_components(source: Source, count: int, engine: Engine, run: Run) -> Components:
    """The directions of largest variance of all rows of a source."""
    covariance = _Covariance(source, engine, run)
    m = source.shape[1]
    if m <= _WHOLE_UP_TO:
        values, axes = largest_eigenvectors(covariance.times(None), count)
    else:
        start = run.stream("components").normal((m, count))
        values, axes = largest_of_operator(
            covariance.times, m, count, start, settled=_SETTLED, restarts=_RESTARTS
        )
    largest = np.argmax(np.abs(axes), axis=0)
    axes = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    return Components(covariance.mean, axes, np.maximum(values, 0.0), covariance.total)


class _Covariance:
    """The covariance of the rows of a source, given by its products with blocks of vectors; each product is a pass over the shards."""

    def __init__(self, source: Source, engine: Engine, run: Run) -> None:
        self._source, self._engine, self._run = source, engine, run
        first = source.shard(0).values
        # Squares of what lies far from the origin would cancel.
        self._centre = np.zeros(source.shape[1]) if issparse(first) else first.mean(axis=0, dtype=np.float64)
        self.mean, self.total = self._centre, 0.0

    def times(self, block: Vector | None) -> Vector:
        """The covariance times a block of columns; the whole for None."""
        n, m = self._source.shape
        passes: Callable[..., Any] = self._engine.map
        parts = passes(
            _moments, range(self._source.n_shards), self._source, self._centre, block, self._engine.n_jobs
        )
        product = np.zeros((m, m if block is None else block.shape[1]))
        total, squares = np.zeros(m), 0.0
        for _ in self._run.progress(range(self._source.n_shards), "pass of principal components"):
            part = next(parts)
            product += part[0]
            total += part[1]
            squares += part[2]
        shift = total / n
        self.mean = self._centre + shift
        self.total = (squares - n * float(np.sum(shift * shift))) / max(1, n - 1)
        across = shift if block is None else matmul(shift, block)
        return (product - n * np.outer(shift, across)) / max(1, n - 1)


def _moments(
    number: int, source: Source, centre: Vector, block: Vector | None, n_jobs: int
) -> tuple[Vector, Vector, float]:
    """For the rows x of a shard minus the centre: Σ x xᵀ times a block (or the full matrix for None), Σ x and Σ |x|²."""
    values = source.shard(number).values
    if issparse(values):
        rows = values.astype(np.float64)
        seen = rows if block is None else rows @ block
        product = rows.T @ seen
        product = product.toarray() if issparse(product) else product
        return product, np.asarray(rows.sum(axis=0)).ravel(), float(np.sum(rows.data * rows.data))
    rows = values - centre
    seen = rows if block is None else matmul(rows, block, n_jobs)
    return matmul(rows.T, seen, n_jobs), rows.sum(axis=0), float(np.sum(rows * rows))


@dataclass(frozen=True, eq=False)
class ProjectedReader:
    """Rows of a source along directions."""

    source: Source
    components: Components = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of directions."""
        return self.source.shape[0], self.components.axes.shape[1]

    @property
    def starts(self) -> IntArray:
        """The first row of each shard, followed by the number of rows."""
        return self.source.starts

    def read(self, number: int) -> FloatArray:
        """The rows of a shard along the directions."""
        return self.components.apply(self.source.shard(number).values)

    def place(self, number: int) -> str:
        """The name of a shard's file in messages."""
        return self.source.file(number)

    @property
    def identity(self) -> str:
        """What distinguishes these rows from others."""
        return f"{self.source.identity} along {digest(self.components.mean, self.components.axes)}"
