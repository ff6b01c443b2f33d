"""Samples of rows and pairs, and confidence intervals of quantities that are measured on them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..checks import refuse
from ..run import Stream
from ..typing import FloatArray

EXACT_UP_TO = 10_000  # rows: up to here every row is counted
SAMPLED_ROWS = 1_000
# Rows' values are skewed, for which an interval of nominal 95 % holds too rarely; this one holds at least that often.
_LEVEL = 0.99


def sampled_rows(n: int, sample: str | int | None, seed: int) -> NDArray[np.int64]:
    """Rows to measure, in order: all (`sample=None`), as many as the number `sample`, or for "auto" all up to 10 000 and 1 000 beyond."""
    if sample == "auto":
        size = n if n <= EXACT_UP_TO else SAMPLED_ROWS
    elif sample is None:
        size = n
    elif isinstance(sample, bool) or not isinstance(sample, int | np.integer) or sample < 2:
        refuse("sample", '"auto", None (all rows) or a number of rows, at least 2', sample)
    else:
        size = min(int(sample), n)
    if size == n:
        return np.arange(n)
    return np.sort(Stream.named(seed, "measured rows").permutation(n)[:size])


def spread(values: NDArray[np.float64], rows: NDArray[np.int64], n: int) -> FloatArray:
    """One value for each of n rows, NaN for those that were not measured."""
    if len(rows) == n:
        return values
    full = np.full(n, np.nan)
    full[rows] = values
    return full


def sampled_pairs(n: int, count: int, seed: int) -> NDArray[np.int32]:
    """`count` pairs of different rows, each drawn uniformly from all pairs."""
    stream = Stream.named(seed, "measured pairs")
    first = stream.integers(n, count)
    second = stream.integers(n - 1, count, start=count)
    return np.ascontiguousarray(np.stack([first, second + (second >= first)], axis=1).astype(np.int32))


def half_width(values: NDArray[np.float64], n: int, width: float) -> float:
    """Half of the confidence interval of the mean of n values, from which these were drawn without replacement.

    Computed by Student's t, with the correction for a finite population. If all drawn values are equal, the share of
    different values that the sample could have missed is bounded instead; those differ by at most `width`.
    """
    from scipy.special import stdtrit  # Student's quantile, without the weight of scipy.stats

    s = len(values)
    finite = math.sqrt(max(0.0, 1 - s / n))
    deviation = float(values.std(ddof=1)) if s > 1 else 0.0
    if deviation == 0:
        return finite * width * min(1.0, -math.log(1 - _LEVEL) / s)
    return finite * float(stdtrit(s - 1, 0.5 + _LEVEL / 2)) * deviation / math.sqrt(s)


def mean_interval(
    values: NDArray[np.float64], n: int, limits: tuple[float, float]
) -> tuple[float, float] | None:
    """The confidence interval of the mean of n values, cut to `limits`; None if these are all n values."""
    if len(values) == n:
        return None
    middle, half = float(values.mean()), half_width(values, n, limits[1] - limits[0])
    return max(limits[0], middle - half), min(limits[1], middle + half)


def share_interval(right: int, count: int) -> tuple[float, float]:
    """Wilson's interval of a share, after `right` successes in `count` independent trials."""
    from scipy.special import ndtri

    z = float(ndtri(0.5 + _LEVEL / 2))
    middle = (right + z * z / 2) / (count + z * z)
    half = z / (count + z * z) * math.sqrt(right * (count - right) / count + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)
