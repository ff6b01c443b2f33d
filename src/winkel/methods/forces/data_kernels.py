"""Kernels on the data: k_x of two rows, among the fitted rows and between new and fitted rows.

    DataKernel ── Linear, CenteredLinear, RBF, Precomputed     all pairs of rows: an n × n matrix
               └─ ListedKernel: Perplexity, Fuzzy              listed neighbours only

The fields of a kernel are the parameters of an objective that the kernel uses.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...algebra import exp, log, matmul
from ...data import Table
from ...errors import DataWarning, InvalidInputError
from ...graph import Graph
from ...graph.graph import require_neighbor_lists
from ...run import Run
from ...typing import FloatArray
from .held import Fields

Matrix = NDArray[np.float64]

_LEAST_SIGMA = 1e-3  # of the mean distance of a row, as in UMAP


@dataclass(frozen=True, eq=False)
class Source:
    """The data to embed: n rows or given similarities, if there are any, and the graph of nearest neighbours."""

    n: int
    dtype: Any
    table: Table | None = None
    similarities: Matrix | None = None
    graph: Graph | None = None

    @property
    def rows(self) -> Matrix:
        """All rows in double precision, not sparse."""
        if self.table is None:
            raise InvalidInputError(
                "this objective compares rows, but there are none; for a graph, distances or a function use "
                'kernel_x="perplexity" or kernel_x="fuzzy".'
            )
        return dense(self.table.values)


@dataclass(frozen=True, eq=False)
class NewRows:
    """New rows, for each of them the listed fitted rows (q × k), closest first, with their distances, and the fields of all."""

    rows: Any
    fitted: Any
    index: NDArray[np.int32]
    distance: FloatArray
    graph: Graph | None
    fields: Fields

    def own(self) -> Matrix:
        """The new rows, q × D."""
        return dense(self.rows)

    def others(self) -> Matrix:
        """The listed fitted rows, q × k × D."""
        return dense(self.fitted[self.index.ravel()]).reshape(*self.index.shape, -1)

    def listing(self, k: int) -> Matrix:
        """1/k for each listed fitted row that would have the new row among its k nearest, q × listed; zero for others."""
        graph = self.graph
        if graph is None or graph.n != self.fitted.shape[0]:  # lists of other rows than these
            return np.zeros(self.index.shape)
        reach = neighbor_lists(graph)[1][:, k - 1]
        return np.where(self.distance < reach[self.index], 1 / k, 0.0)


@dataclass(frozen=True)
class DataKernel(ABC):
    """k_x of two rows. The methods here are for kernels of all pairs."""

    name: ClassVar[str]
    listed: ClassVar[bool] = False  # whether only listed neighbours are similar
    normalized: ClassVar[bool] = False  # whether all similarities together sum to one

    def resolved(self, source: Source) -> DataKernel:
        """The kernel with parameters that are possible for these rows, or that are computed from them."""
        return self

    def neighbors(self, n: int) -> int | None:
        """Number of neighbours needed for each of n rows, if any."""
        return None

    def matrix(self, source: Source, run: Run) -> sp.csr_array:
        """k_x of the fitted rows without its diagonal."""
        full = self.gram(source, run)
        np.fill_diagonal(full, 0)
        return sp.csr_array(full)

    @abstractmethod
    def gram(self, source: Source, run: Run) -> Matrix:
        """k_x of all pairs of rows, n × n."""

    def centred_factor(self, source: Source) -> Matrix | None:
        """F with CKC = FFᵀ, C the centring matrix, if this needs no n × n matrix; otherwise None."""
        return None

    def centred_similarities(self, fitted: Matrix) -> Any:
        """A function of one new row that returns its similarities to the fitted rows, centred like CKC."""
        raise NotImplementedError

    @abstractmethod
    def to_fitted(self, new: NewRows, run: Run) -> Matrix:
        """k_x of new rows and their listed fitted rows, q × k."""


@dataclass(frozen=True)
class Linear(DataKernel):
    """Inner products of rows."""

    name: ClassVar[str] = "linear"

    def gram(self, source: Source, run: Run) -> Matrix:
        _check_square(source.n, run)
        return inner_products(source.rows)

    def centred_factor(self, source: Source) -> Matrix | None:
        return centred(source.rows)

    def centred_similarities(self, fitted: Matrix) -> Any:
        middle = fitted.mean(axis=0)
        return lambda row: np.sum((fitted - middle) * (row - middle), axis=1)

    def to_fitted(self, new: NewRows, run: Run) -> Matrix:
        return np.asarray(np.sum(new.own()[:, None] * new.others(), axis=2))


@dataclass(frozen=True)
class CenteredLinear(Linear):
    """Inner products of rows less their mean."""

    name: ClassVar[str] = "centered_linear"

    def gram(self, source: Source, run: Run) -> Matrix:
        _check_square(source.n, run)
        return inner_products(centred(source.rows))

    def to_fitted(self, new: NewRows, run: Run) -> Matrix:
        middle = np.asarray(new.fitted.mean(axis=0, dtype=np.float64)).ravel()
        return np.asarray(np.sum((new.own() - middle)[:, None] * (new.others() - middle), axis=2))


@dataclass(frozen=True)
class RBF(DataKernel):
    """exp(−γ d²); if γ is None, it is 1 divided by the mean squared distance of two rows."""

    gamma: float | None
    name: ClassVar[str] = "rbf"

    def resolved(self, source: Source) -> RBF:
        if self.gamma is not None:
            return self
        mean = 2 * float(np.sum(np.var(centred(source.rows), axis=0)))
        return RBF(1 / mean if mean > 0 else 1.0)

    @property
    def width(self) -> float:
        """γ of a kernel that is resolved."""
        assert self.gamma is not None
        return float(self.gamma)

    def gram(self, source: Source, run: Run) -> Matrix:
        _check_square(source.n, run)
        inner = inner_products(centred(source.rows))
        square = np.diag(inner)
        distances = np.maximum(square[:, None] + square[None, :] - 2 * inner, 0)
        np.fill_diagonal(distances, 0)
        return np.asarray(exp(-self.width * distances))

    def centred_similarities(self, fitted: Matrix) -> Any:
        def similar(row: Matrix) -> Matrix:
            return np.asarray(exp(-self.width * np.sum(np.square(fitted - row), axis=1)))

        means = np.array([float(np.mean(similar(row))) for row in fitted])

        def centred_row(row: Matrix) -> Matrix:
            own = similar(row)
            return np.asarray(own - own.mean() - means + means.mean())

        return centred_row

    def to_fitted(self, new: NewRows, run: Run) -> Matrix:
        return np.asarray(exp(-self.width * np.square(new.distance.astype(np.float64))))


@dataclass(frozen=True)
class Precomputed(DataKernel):
    """Similarities that were given as a symmetric matrix."""

    name: ClassVar[str] = "precomputed"

    def gram(self, source: Source, run: Run) -> Matrix:
        _check_square(source.n, run)
        assert source.similarities is not None
        return source.similarities.copy()

    def to_fitted(self, new: NewRows, run: Run) -> Matrix:
        raise InvalidInputError("there are no similarities between new and fitted rows.")


@dataclass(frozen=True)
class ListedKernel(DataKernel):
    """Similarities of listed neighbours, from the distances in each row's own list."""

    listed: ClassVar[bool] = True

    @abstractmethod
    def local(self, distances: FloatArray, n_jobs: int) -> FloatArray:
        """The similarities of listed neighbours, each row by itself."""

    @abstractmethod
    def joined(self, a: Any, b: Any) -> Any:
        """What two rows of which one lists the other with similarity a, and is listed with b, have in common."""

    def to_fitted(self, new: NewRows, run: Run) -> Matrix:
        return np.asarray(self.local(new.distance.astype(np.float64), run.n_jobs), dtype=np.float64)

    def gram(self, source: Source, run: Run) -> Matrix:
        return np.asarray(self.matrix(source, run).toarray(), dtype=np.float64)

    def listed_rows(self, graph: Graph, run: Run, rows: Any = slice(None)) -> sp.csr_array:
        """The similarities in the lists of the rows of a graph, or of a selection of them; n columns."""
        index, distances = neighbor_lists(graph)
        lists = np.ascontiguousarray(distances[rows])
        indptr = np.arange(0, lists.size + 1, lists.shape[1])
        values = self.local(lists, run.n_jobs)
        return sp.csr_array((values.ravel(), index[rows].ravel(), indptr), shape=(len(lists), graph.n))

    def to_fitted_joined(self, new: NewRows, run: Run) -> Matrix:
        """Like `to_fitted`, with what a fitted row's own list would say of the new row if that stood in it."""
        own = self.to_fitted(new, run)
        assert new.graph is not None
        lists = neighbor_lists(new.graph)[1][new.index].astype(np.float64)  # q × k × k
        d = new.distance.astype(np.float64)[:, :, None]
        place = np.sum(lists[:, :, :-1] <= d, axis=2, keepdims=True)
        # The new row takes the place of the last in the list, if it is closer than that.
        inside = d < lists[:, :, -1:]
        with_new = np.sort(np.concatenate([lists[:, :, :-1], d], axis=2), axis=2)
        flat = np.ascontiguousarray(with_new.reshape(-1, with_new.shape[2]))
        back = np.take_along_axis(self.local(flat, run.n_jobs).reshape(with_new.shape), place, axis=2)
        return np.asarray(self.joined(own, np.where(inside, back, 0.0)[:, :, 0]), dtype=np.float64)

    def among_fitted(self, new: NewRows, run: Run) -> Matrix:
        """k_x between the listed fitted rows of each new row, q × k × k with a diagonal of ones."""
        assert new.graph is not None
        rows, places = np.unique(new.index, return_inverse=True)
        P = self.listed_rows(new.graph, run, rows)[:, rows]
        q, k = new.index.shape
        places = places.reshape(q, k)
        left, right = np.repeat(places, k, axis=1).ravel(), np.tile(places, (1, k)).ravel()
        between = self.joined(_entries(P, left, right), _entries(P, right, left)).reshape(-1, k, k)
        between[:, np.arange(k), np.arange(k)] = 1.0
        return np.asarray(between)


@dataclass(frozen=True)
class Perplexity(ListedKernel):
    """t-SNE's probabilities of 3·perplexity neighbours: (p_{j|i} + p_{i|j})/(2n), of sum one."""

    perplexity: float
    name: ClassVar[str] = "perplexity"
    normalized: ClassVar[bool] = True

    def resolved(self, source: Source) -> Perplexity:
        most = (source.n - 1) / 3
        if self.perplexity <= most:
            return self
        used = max(1.0, most)
        warnings.warn(
            f"perplexity={self.perplexity:g} needs three times as many neighbours, and there are only {source.n} rows; "
            f"perplexity={used:g} is used.",
            DataWarning,
            stacklevel=5,
        )
        return replace(self, perplexity=used)

    def neighbors(self, n: int) -> int:
        return max(1, min(n - 1, int(3 * self.perplexity + 1e-9)))

    def local(self, distances: FloatArray, n_jobs: int) -> FloatArray:
        return _core.calibrate_perplexity(np.ascontiguousarray(distances), float(self.perplexity), n_jobs)

    def joined(self, a: Any, b: Any) -> Any:
        return a + b

    def matrix(self, source: Source, run: Run) -> sp.csr_array:
        assert source.graph is not None
        P = self.listed_rows(source.graph, run)
        return sp.csr_array((P + P.T) * P.dtype.type(0.5 / source.n))

    def to_fitted_from_both(self, new: NewRows, run: Run) -> Matrix:
        """What new rows give by distance, and what fitted rows that would list them give; of sum one, q × k.

        A fitted row's own width would say how much it gives. Alike for all that are near enough, with half the perplexity as their
        number, keeps more neighbours (docs/forces.md).
        """
        both = self.to_fitted(new, run) + new.listing(max(1, int(self.perplexity / 2)))
        return np.asarray(both / both.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Fuzzy(ListedKernel):
    """UMAP's memberships p + pᵀ − p∘pᵀ in [0, 1]; the p of a row is 1 for its closest neighbour, and sums to log2(k)."""

    n_neighbors: int
    name: ClassVar[str] = "fuzzy"

    def neighbors(self, n: int) -> int:
        return self.n_neighbors

    def local(self, distances: FloatArray, n_jobs: int) -> FloatArray:
        target = log(max(distances.shape[1], 2)) / log(2.0)
        return _core.calibrate_fuzzy(np.ascontiguousarray(distances), float(target), _LEAST_SIGMA, n_jobs)

    def joined(self, a: Any, b: Any) -> Any:
        return a + b - a * b

    def matrix(self, source: Source, run: Run) -> sp.csr_array:
        assert source.graph is not None
        P = self.listed_rows(source.graph, run)
        return sp.csr_array(P + P.T - P.multiply(P.T))


DATA_KERNELS: dict[str, type[DataKernel]] = {
    kernel.name: kernel for kernel in (Linear, CenteredLinear, RBF, Perplexity, Fuzzy, Precomputed)
}
ALL_PAIRS = ("linear", "centered_linear", "rbf", "precomputed")


def similarity_matrix(K: Any) -> Matrix:
    """A given symmetric matrix of similarities, checked."""
    S = dense(K)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise InvalidInputError(f"a matrix of similarities must be square; got shape {S.shape}.")
    if not np.isfinite(S).all():
        raise InvalidInputError("a matrix of similarities must be finite.")
    if not np.allclose(S, S.T, rtol=1e-6, atol=1e-8 * float(np.abs(S).max(initial=0.0))):
        raise InvalidInputError(
            "a matrix of similarities must be symmetric; this one is not. If this is intended, use (K + K.T) / 2."
        )
    return np.asarray((S + S.T) / 2)


def neighbor_lists(graph: Graph) -> tuple[NDArray[np.int32], FloatArray]:
    """Indices and distances of the nearest neighbours of a graph, equally many for every row."""
    index, distances = require_neighbor_lists(graph, "this objective")
    short = np.flatnonzero(index[:, -1] < 0)
    if len(short):
        row = int(short[0])
        raise InvalidInputError(
            f"this objective needs {index.shape[1]} neighbours of every row; {len(short)} rows have fewer, the first is row "
            f"{row} with {int((index[row] >= 0).sum())}. Give the distances to more neighbours, lower n_neighbors or "
            "perplexity, or use MDE or LVM, which take rows with fewer."
        )
    return index, distances


def dense(rows: Any) -> Matrix:
    """Rows in double precision, not sparse."""
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


def centred(rows: Matrix) -> Matrix:
    """Rows minus their mean."""
    return np.asarray(rows - rows.mean(axis=0))


def inner_products(rows: Matrix) -> Matrix:
    """All inner products of rows, exactly symmetric."""
    return np.asarray(matmul(rows, rows.T))


def _entries(S: sp.csr_array, i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
    return np.asarray(S[i, j], dtype=np.float64).ravel()


def _check_square(n: int, run: Run) -> None:
    run.check_memory(
        40.0 * n * n,
        f"A matrix of the similarities of all {n} rows",
        'Use kernel_x="perplexity" or "fuzzy", which only use neighbours.',
    )
