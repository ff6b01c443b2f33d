"""The metrics of the neighbour search, and how data is prepared for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..data.arrays import Matrix
from ..data.checks import row_blocks
from ..errors import InvalidInputError, InvalidParameterError
from ..typing import FloatArray

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class MetricRule:
    """How one metric is searched.

    `search` and `kind` number the core's search kernel and its true distance (tile.hpp, refine.hpp).
    `to_search` turns a true distance of scaled data into the kernel's, which only has to order pairs alike.
    """

    search: int
    kind: int
    to_search: Callable[[FloatArray], FloatArray]
    shift: bool = False  # may the data be moved,
    scale: bool = False  # and stretched, without changing who is near
    sparse: bool = False


def _square(d: FloatArray) -> FloatArray:
    return d * d


def _same(d: FloatArray) -> FloatArray:
    return d


def _twice(d: FloatArray) -> FloatArray:
    return 2 * d


RULES = {
    "euclidean": MetricRule(0, 0, _square, shift=True, scale=True, sparse=True),
    "cosine": MetricRule(0, 1, _twice, sparse=True),
    "correlation": MetricRule(0, 1, _twice),
    "manhattan": MetricRule(1, 2, _same, shift=True, scale=True),
    "chebyshev": MetricRule(2, 3, _same, shift=True, scale=True),
    "hamming": MetricRule(3, 4, _same),
    "jaccard": MetricRule(4, 5, _same),
}
_ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "linf": "chebyshev"}


def metric_name(metric: str) -> str:
    """The name winkel uses for `metric`."""
    name = _ALIASES.get(metric, metric)
    if name not in RULES:
        allowed = ", ".join(repr(m) for m in RULES)
        raise InvalidParameterError(
            f"metric must be one of {allowed}, 'precomputed', or a function of two rows; got {metric!r}."
        )
    return name


def check_metric_input(X: Matrix, name: str) -> None:
    """Refuse sparse data for metrics that would need it dense."""
    if sp.issparse(X) and not RULES[name].sparse:
        raise InvalidInputError(
            f"metric {name!r} does not take sparse data; sparse data goes with 'euclidean' and 'cosine'. "
            "Use one of those, or X.toarray() if it fits in memory."
        )


@dataclass(frozen=True)
class Preparation:
    """The map from data to the float32 rows that are searched: the same for the points and for new rows."""

    metric: str
    offset: FloatArray | None
    factor: float
    zero_column: bool

    @property
    def rule(self) -> MetricRule:
        return RULES[self.metric]

    def apply(self, X: FloatArray) -> Float32:
        """The rows to search, made block by block; X itself where nothing has to change."""
        if self.metric in ("cosine", "correlation"):
            return self._units(X)
        if self.metric == "jaccard":
            return (X != 0).astype(np.float32)
        if self.offset is None and self.factor == 1:
            return X.astype(np.float32, copy=False)
        P = np.empty(X.shape, dtype=np.float32)
        offset = 0 if self.offset is None else self.offset
        for first, block in row_blocks(X):
            P[first : first + len(block)] = (block - offset) * X.dtype.type(self.factor)
        return P

    def _units(self, X: FloatArray) -> Float32:
        P = np.zeros((X.shape[0], X.shape[1] + self.zero_column), dtype=np.float32)
        for first, block in row_blocks(X):
            part = P[first : first + len(block)]
            norm = row_norms(block)
            part[:, : X.shape[1]] = block / np.where(norm > 0, norm, 1)[:, None]
            if self.zero_column:
                part[norm == 0, -1] = 1
        return P


def plan_preparation(X: FloatArray, metric: str) -> Preparation:
    """The Preparation for points X.

    Rows of zeros under cosine (constant rows under correlation) get a direction of their own, one more
    column: at distance 0 from each other and 1 from every other row.
    """
    rule = RULES[metric]
    offset, factor = None, 1.0
    if rule.shift:
        mean = X.mean(axis=0, dtype=np.float64)
        length = np.mean([np.mean(row_norms(block) ** 2) for _, block in row_blocks(X)])
        if float(mean @ mean) > 0.5 * float(
            length
        ):  # most of every row is the mean: squared norms would cancel
            offset = mean.astype(X.dtype)
    if rule.scale:
        largest = max(abs(float(X.max())), abs(float(X.min())))
        if largest > 0 and not 1e-12 < largest < 1e15:  # squares would leave the range of float32
            factor = float(2.0 ** -np.floor(np.log2(largest)))
    zero = metric in ("cosine", "correlation") and any((row_norms(b) == 0).any() for _, b in row_blocks(X))
    return Preparation(metric, offset, factor, bool(zero))


def row_norms(X: FloatArray) -> NDArray[np.float64]:
    """Length of every row, in double precision."""
    return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def unit_rows_sparse(X: Matrix) -> Matrix:
    """Rows of length 1 of a CSR matrix; rows of zeros as in `plan_preparation`."""
    norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())
    zero = norm == 0
    scale = np.repeat(1 / np.where(zero, 1, norm), np.diff(X.indptr))
    unit = sp.csr_matrix((X.data * scale, X.indices, X.indptr), shape=X.shape)
    return (
        sp.hstack([unit, sp.csr_matrix(zero[:, None].astype(unit.dtype))], format="csr")
        if zero.any()
        else unit
    )


def row_centred(X: FloatArray) -> FloatArray:
    """Every row about its own mean; a constant row becomes exactly zero."""
    centred = np.empty_like(X)
    for first, block in row_blocks(X):
        part = block - block.mean(axis=1, dtype=np.float64)[:, None]
        part[block.max(axis=1) == block.min(axis=1)] = 0
        centred[first : first + len(block)] = part
    return centred


def pair_distances(X: Matrix, pairs: NDArray[np.int32], metric: str, n_jobs: int) -> FloatArray:
    """True distance of each pair of rows of a dense X."""
    name = metric_name(metric)
    rows = row_centred(X) if name == "correlation" else X
    return _core.metric_distances(rows, np.ascontiguousarray(pairs), RULES[name].kind, n_jobs)
