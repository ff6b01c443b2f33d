"""`explain`: the columns in which some rows differ most from all others, corrected for the number of columns examined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..data import as_table
from ..data.annotated import is_anndata
from ..errors import InvalidInputError
from .faithfulness import html_table, require_pandas, table_lines

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Explanation:
    """Columns, ordered by how much they set some rows apart: the result of `winkel.explain`. It prints as a table.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns, the one that differs most first.
    effect : ndarray
        Mean of the rows minus the mean of all others, in standard deviations of the whole column.
    inside, outside : ndarray
        The two means.
    p_value : ndarray
        How often chance alone would make such a large difference (Welch's test), corrected for the number of columns examined
        (Holm 1979). It is valid for rows that were chosen without looking at these columns. A region of a map that was made from
        these columns was not; its p-values only show which differences are small.
    n_rows, n_others : int
        How many rows were compared with how many others.
    """

    columns: tuple[str, ...]
    effect: NDArray[np.float64]
    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    p_value: NDArray[np.float64]
    n_rows: int
    n_others: int

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        return "\n".join([self._head, *table_lines(self._table())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._head, self._table())

    @property
    def _head(self) -> str:
        shown = min(_SHOWN, len(self))
        return f"{self.n_rows} rows and {self.n_others} others: the {shown} of {len(self)} columns that differ most"

    def _table(self) -> list[tuple[str, ...]]:
        table: list[tuple[str, ...]] = [("column", "effect", "mean here", "mean elsewhere", "p (corrected)")]
        for c in range(min(_SHOWN, len(self))):
            numbers = (self.inside[c], self.outside[c], self.p_value[c])
            table.append(
                (self.columns[c], f"{self.effect[c]:+.2f}", *(f"{number:.3g}" for number in numbers))
            )
        return table

    def to_frame(self) -> Any:
        """All columns as a pandas DataFrame."""
        return require_pandas().DataFrame(
            {
                "column": self.columns,
                "effect": self.effect,
                "inside": self.inside,
                "outside": self.outside,
                "p_value": self.p_value,
            }
        )


def explain(X: Any, rows: ArrayLike, *, names: Sequence[str] | None = None) -> Explanation:
    """The columns of the data in which some rows differ most from all others.

    Parameters
    ----------
    X : array, data frame, sparse matrix or AnnData
        The data. For an AnnData object this is its `X`, so that the columns are genes; use `winkel.scverse.table` for another array.
    rows : array of row numbers, or of one bool per row
        The rows to explain, such as a selection of `winkel.explore`, a class, or a piece of a map.
    names : list of str or None, default=None
        Names of the columns; None takes the names in the data, or else numbers the columns.

    Returns
    -------
    Explanation
        Effect sizes, means and corrected p-values of all columns, the largest effect first; it prints as a table.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> found = wk.explain(digits.X, digits.y == 0)
    >>> found.columns[0], bool(found.effect[0] < 0)  # the middle of a zero is empty
    ('36', True)
    """
    table = as_table(X, use_rep="X" if is_anndata(X) else None)  # genes, not components, explain
    values, (n, m) = table.values, table.shape
    chosen = _mask(rows, n)
    titles = [str(name) for name in (names if names is not None else table.columns or range(m))]
    if len(titles) != m:
        raise InvalidInputError(f"names must hold one name for each of the {m} columns; got {len(titles)}.")
    inside, spread_inside = _moments(values, chosen)
    outside, spread_outside = _moments(values, ~chosen)
    count = np.array([chosen.sum(), n - chosen.sum()], dtype=np.float64)
    gap = inside - outside
    within = (count[0] * spread_inside + count[1] * spread_outside) / n
    whole = np.sqrt(within + np.prod(count) / n**2 * gap**2)
    effect = np.divide(gap, whole, out=np.zeros(m), where=whole > 0)
    order = np.argsort(-np.abs(effect), kind="stable")
    p_value = _holm(_welch(gap, spread_inside, spread_outside, count))
    return Explanation(
        tuple(titles[c] for c in order), effect[order], inside[order], outside[order], p_value[order],
        int(count[0]), int(count[1]),
    )  # fmt: skip


def group_effects(X: Any, groups: NDArray[np.intp], n_groups: int) -> NDArray[np.float64]:
    """The effect of every column for every group of rows, as in `explain`; shape (n_groups, columns)."""
    n = X.shape[0]
    member = sp.csr_matrix((np.ones(n), (groups, np.arange(n))), shape=(n_groups, n))
    count = np.bincount(groups, minlength=n_groups).astype(np.float64)[:, None]
    if sp.issparse(X):
        total = np.asarray((member @ X).todense(), dtype=np.float64)
        square = np.asarray(X.multiply(X).sum(axis=0), dtype=np.float64).ravel()
    else:
        X = X - X.mean(axis=0, dtype=np.float64)  # which no effect depends on, and rounding does
        total = member @ X
        square = np.einsum("ij,ij->j", X, X)
    whole = total.sum(axis=0)
    spread = np.sqrt(np.maximum(square / n - (whole / n) ** 2, 0))
    gap = total / np.maximum(count, 1) - (whole - total) / np.maximum(n - count, 1)
    return np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)


def _mask(rows: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Rows as a mask, in which some but not all are set."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n,):
        mask = given
    elif (
        given.ndim == 1
        and given.dtype.kind in "iu"
        and (given.size == 0 or (given.min() >= 0 and given.max() < n))
    ):
        mask = np.zeros(n, dtype=bool)
        mask[given] = True
    else:
        raise InvalidInputError(
            f"rows must be row numbers from 0 to {n - 1}, or one bool for each of the {n} rows; got shape {given.shape}, "
            f"dtype {given.dtype}."
        )
    if mask.sum() in (0, n):
        raise InvalidInputError(f"rows must name some of the {n} rows, but not all; got {int(mask.sum())}.")
    return mask


def _moments(X: Any, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of each column over the chosen rows."""
    part = X[np.flatnonzero(chosen)]
    if sp.issparse(part):
        mean = np.asarray(part.mean(axis=0), dtype=np.float64).ravel()
        square = np.asarray(part.multiply(part).mean(axis=0), dtype=np.float64).ravel()
        return mean, np.maximum(square - mean * mean, 0)
    return part.mean(axis=0, dtype=np.float64), part.var(axis=0, dtype=np.float64)


def _welch(
    gap: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    count: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Two-sided p-values of a difference of means, for possibly different variances."""
    from scipy.special import stdtr

    less = np.maximum(count - 1, 1)
    a, b = first / less[0], second / less[1]  # variances of the two means
    error = a + b
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = error**2 / (a**2 / less[0] + b**2 / less[1])
        p = 2 * stdtr(np.maximum(freedom, 1), -np.abs(gap) / np.sqrt(error))
    return np.where(error > 0, p, np.where(gap == 0, 1.0, 0.0))


def _holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """P-values corrected for their number, so that they bound the probability of any false alarm among all columns."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected
