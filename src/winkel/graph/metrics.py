"""The metrics of the neighbour search, and how data is prepared for each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..checks import choice, positive
from ..data.arrays import Matrix, magnitude, row_blocks
from ..errors import InvalidInputError, InvalidParameterError
from ..typing import FloatArray
from .formulas import FORMULAS, Formula, formula_pairs, minkowski

Float32 = NDArray[np.float32]


# Bounds on the rounding of a search distance in float32: functions of the row's squared norm, of the search
# distance `reach` beyond which rows were left out, and of the number of coordinates. A row at squared distance
# `reach` from x has squared norm at most 2 (|x|² + reach).
Rounding = Callable[[NDArray[np.float64], NDArray[np.float64], int], NDArray[np.float64]]
_ROUNDOFF = 2.0**-24
_EXACT_SQUARES = (
    2.0**21
)  # whole numbers with squared norms up to this have squared distances that float32 holds
_EXACT_SETS = 2048  # largest number of columns for which different shares are also different in float32
_TINY, _STRETCH = 1e-140, 2.0**800  # squares of numbers below would underflow; stretched, they do not


def _rounding_of_products(
    norm: NDArray[np.float64], reach: NDArray[np.float64], m: int
) -> NDArray[np.float64]:
    return (m + 8) * _ROUNDOFF * 3 * (norm + reach)


def _rounding_of_sums(norm: NDArray[np.float64], reach: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    return _ROUNDOFF * ((m + 8) * reach + 8 * (np.sqrt(m * norm) + reach))


def _rounding_of_largest(
    norm: NDArray[np.float64], reach: NDArray[np.float64], m: int
) -> NDArray[np.float64]:
    return 8 * _ROUNDOFF * (np.sqrt(norm) + reach)


def _rounding_of_counts(norm: NDArray[np.float64], reach: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    return np.full_like(reach, 0.5)  # float32 may take different values for equal: it only counts too few


def _rounding_of_shares(norm: NDArray[np.float64], reach: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    return np.full_like(reach, 8 * _ROUNDOFF)


@dataclass(frozen=True)
class MetricRule:
    """How one metric is searched.

    `search` and `kind` number the core's search kernel and its true distance (tile.hpp, refine.hpp).
    `to_search` converts a true distance of scaled data into the kernel's distance, which only has to order pairs in the same way.
    """

    search: int
    kind: int
    to_search: Callable[[FloatArray], FloatArray]
    rounding: Rounding
    shift: bool = False  # may the data be moved,
    scale: bool = False  # and stretched, without changing who is whose neighbour
    sparse: bool = False


def _square(d: FloatArray) -> FloatArray:
    return d * d


def _same(d: FloatArray) -> FloatArray:
    return d


def _twice(d: FloatArray) -> FloatArray:
    return 2 * d


RULES = {
    "euclidean": MetricRule(0, 0, _square, _rounding_of_products, shift=True, scale=True, sparse=True),
    "cosine": MetricRule(0, 1, _twice, _rounding_of_products, sparse=True),
    "correlation": MetricRule(0, 6, _twice, _rounding_of_products),
    "manhattan": MetricRule(1, 2, _same, _rounding_of_sums, shift=True, scale=True),
    "chebyshev": MetricRule(2, 3, _same, _rounding_of_largest, shift=True, scale=True),
    "hamming": MetricRule(3, 4, _same, _rounding_of_counts),
    "jaccard": MetricRule(4, 5, _same, _rounding_of_shares),
}
METRICS = (*RULES, *(name for name in FORMULAS if name not in RULES))
_PARAMETER = re.compile(r"(\w+)\((.+)\)")
_ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "linf": "chebyshev"}


def metric_name(metric: str) -> str:
    """The name that winkel uses for `metric`."""
    name = _ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    if isinstance(name, str) and split_metric(name)[1] is not None:  # such as "minkowski(3)"
        return name
    return choice("metric", name, METRICS, also="'precomputed', or a function of two rows")


def is_metric(metric: object) -> bool:
    """Whether `metric` is the name of a known metric."""
    return isinstance(metric, str) and split_metric(_ALIASES.get(metric, metric))[0] in METRICS


def formula_of(metric: str, *, sparse: bool = False) -> Formula | None:
    """The formula of a metric, such as "canberra" or "minkowski(3)"; None if the core searches by this metric directly."""
    name, parameter = split_metric(metric)
    if name == "minkowski":
        return minkowski(2.0 if parameter is None else parameter)
    found = FORMULAS.get(name)
    return found if found is not None and (found.dense or sparse) else None


def split_metric(metric: str) -> tuple[str, float | None]:
    """Name and parameter of "name" or "name(parameter)"."""
    match = _PARAMETER.fullmatch(metric)
    if match is None:
        return metric, None
    try:
        value = float(match[2].removeprefix("p="))
    except ValueError:
        value = float("nan")
    if match[1] != "minkowski" or not np.isfinite(value):
        raise InvalidParameterError(
            f'metric {metric!r} is not known; only minkowski takes a parameter, such as "minkowski(3)".'
        )
    return match[1], positive("p of minkowski", value)


def takes_sparse(metric: object) -> bool:
    """Whether sparse rows can be compared by this metric."""
    if not isinstance(metric, str) or not is_metric(metric):
        return False
    name = metric_name(metric)
    formula = formula_of(name, sparse=True)
    return RULES[name].sparse if formula is None else formula.sparse


def check_metric_input(X: Matrix, name: str) -> None:
    """Refuse sparse data for metrics that need dense data."""
    if sp.issparse(X) and not takes_sparse(name):
        allowed = ", ".join(repr(metric) for metric in METRICS if takes_sparse(metric))
        raise InvalidInputError(
            f"metric {name!r} does not take sparse data; sparse data goes with {allowed}. "
            "Use one of those, or X.toarray() if it fits in memory."
        )


@dataclass(frozen=True)
class Preparation:
    """The transformation of data into the float32 rows that are searched; it is the same for the points and for new rows."""

    metric: str
    offset: FloatArray | None = None
    factor: float = 1.0
    zero_column: bool = False
    whole: bool = False  # the points are small whole numbers, so that nothing rounds

    @property
    def rule(self) -> MetricRule:
        return RULES[self.metric]

    def copies(self, X: FloatArray) -> bool:
        """Whether the rows to search are not X itself."""
        same = self.metric not in ("cosine", "correlation", "jaccard") and X.dtype == np.float32
        return not same or self.offset is not None or self.factor != 1

    def apply(self, X: FloatArray) -> Float32:
        """The rows to search, made block by block; X itself if nothing has to change."""
        if not self.copies(X):
            return X
        P = np.zeros((X.shape[0], X.shape[1] + self.zero_column), dtype=np.float32)
        with np.errstate(over="ignore"):  # hamming: large numbers may become infinite and so alike
            for first, block in row_blocks(X):
                self._fill(P[first : first + len(block)], block)
        return P

    def _fill(self, part: Float32, block: FloatArray) -> None:
        if self.metric in ("cosine", "correlation"):
            units, zero = unit_rows(block, self.metric)
            part[:, : block.shape[1]] = units
            if self.zero_column:
                part[zero, -1] = 1
        elif self.metric == "jaccard":
            part[:] = block != 0
        elif self.offset is None and self.factor == 1:
            part[:] = block
        else:
            part[:] = (block - (0 if self.offset is None else self.offset)) * np.float64(self.factor)

    def norms(self, P: Float32) -> Float32:
        """Squared norm of every prepared row (jaccard: size of its set), rounded to float32."""
        norm = np.zeros(len(P), dtype=np.float32)
        if self.metric != "hamming":
            for first, block in row_blocks(P):
                norm[first : first + len(block)] = squared_norms(block)
        return norm

    def rounds(self, X: FloatArray, P: Float32) -> bool:
        """Whether a search distance from a row of X to a point may differ from the true distance."""
        if self.metric == "hamming":
            return X.dtype != np.float32 and any(
                (P[first : first + len(block)] != block).any() for first, block in row_blocks(X)
            )
        if self.metric == "jaccard":
            return X.shape[1] > _EXACT_SETS
        return not (self.whole and small_and_whole(X))


def plan_preparation(X: FloatArray, metric: str) -> Preparation:
    """The Preparation for points X.

    Rows of zeros under cosine (constant rows under correlation) get their own direction in an additional
    column. So they have distance 0 to each other and 1 to every other row.
    """
    rule = RULES[metric]
    if metric in ("cosine", "correlation"):
        zero = any(_without_direction(block, metric).any() for _, block in row_blocks(X))
        return Preparation(metric, zero_column=zero)
    if not rule.shift:
        return Preparation(metric)
    if small_and_whole(X):
        return Preparation(metric, whole=True)
    factor = range_factor(magnitude(X))
    mean = X.mean(axis=0, dtype=np.float64)
    length = np.mean([np.mean(squared_norms(block, factor)) for _, block in row_blocks(X)])
    offset: FloatArray | None = None
    if (
        squared_norms(mean[None], factor)[0] > 0.5 * length
    ):  # most of every row is the mean: norms would cancel
        offset = mean.astype(X.dtype)
        factor = range_factor(max(float(np.abs(block - offset).max()) for _, block in row_blocks(X)))
    return Preparation(metric, offset, factor)


def range_factor(largest: float) -> float:
    """A power of two that keeps squares of numbers up to `largest` in the range of float32."""
    if largest == 0 or 1e-12 < largest < 1e15:
        return 1.0
    return 2.0 ** min(1023, -math.frexp(largest)[1])


def small_and_whole(X: FloatArray) -> bool:
    """Whether all values are whole numbers that are so small that float32 rounds no distance between the rows."""
    return all(
        (block == np.rint(block)).all() and (squared_norms(block) <= _EXACT_SQUARES).all()
        for _, block in row_blocks(X)
    )


def squared_norms(X: FloatArray, factor: float = 1.0) -> NDArray[np.float64]:
    """Squared length of every row, multiplied by `factor`, in double precision."""
    wide = X.astype(np.float64) * factor
    return np.einsum("ij,ij->i", wide, wide)


def unit_rows(X: FloatArray, metric: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Every row (correlation: minus its mean) scaled to length 1 in double precision, and which rows have no direction."""
    wide, zero = X.astype(np.float64), _without_direction(X, metric)
    wide[np.abs(wide).max(axis=1) < _TINY] *= _STRETCH
    if metric == "correlation":
        wide -= wide.mean(axis=1)[:, None]
        wide -= wide.mean(axis=1)[:, None]  # what rounding left in the mean
    wide[zero] = 0
    norm = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return wide / np.where(zero, 1, norm)[:, None], zero


def _without_direction(X: FloatArray, metric: str) -> NDArray[np.bool_]:
    """Rows of zeros, or constant rows under correlation."""
    if metric == "correlation":
        return np.asarray(X.max(axis=1) == X.min(axis=1))
    return np.asarray(~X.any(axis=1))


def pair_distances(X: Matrix, pairs: NDArray[np.int32], metric: str, n_jobs: int) -> FloatArray:
    """True distance of each pair of rows of a dense X."""
    formula = formula_of(metric_name(metric))
    if formula is not None:
        return formula_pairs(X, pairs, formula)
    return _core.metric_distances(X, np.ascontiguousarray(pairs), RULES[metric_name(metric)].kind, n_jobs)
