"""Legal but unusual contents of a matrix: constant columns, duplicate rows, rows without a direction.

They are handled in the same way everywhere:

- Constant columns are kept. They add nothing to any Euclidean distance.
- Duplicate rows are kept. They are neighbours of each other at distance 0; ties are broken by cyclic index
  order, so that they do not all choose the first of them.
- A row of zeros has no direction. Under the cosine metric its distance is 0 to another such row and 1 to any
  other row. Under the correlation metric the same holds for rows whose values are all equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .arrays import Matrix, row_blocks
from .table import equal_rows


@dataclass(frozen=True)
class Profile:
    """Counts over one matrix. `duplicate_rows` counts rows equal to an earlier row; -0.0 equals 0.0."""

    n_rows: int
    n_columns: int
    constant_columns: int
    duplicate_rows: int
    zero_rows: int
    constant_rows: int  # rows whose values are all equal; zero rows are among them

    def notes(self, metric: str = "euclidean") -> tuple[str, ...]:
        """A sentence for each property that the data has, with how it is handled."""
        counts = (
            (
                self.constant_columns,
                "column",
                "the same value in every row; kept, and without effect on distances",
            ),
            (self.duplicate_rows, "row", "an identical row earlier in the data; kept, at distance 0 from it"),
            (self.zero_rows if metric == "cosine" else 0, "row", f"only zeros; {_NO_DIRECTION}"),
            (
                self.constant_rows if metric == "correlation" else 0,
                "row",
                f"one value throughout; {_NO_DIRECTION}",
            ),
        )
        return tuple(
            f"{count} {what}{'s have' if count > 1 else ' has'} {text}."
            for count, what, text in counts
            if count
        )


_NO_DIRECTION = "such rows have distance 0 to each other and 1 to every other row"


def profile(X: Matrix) -> Profile:
    """The Profile of a validated matrix, dense or CSR, in one pass over it."""
    return _profile_sparse(X) if sp.issparse(X) else _profile_dense(X)


def _profile_dense(X: NDArray[Any]) -> Profile:
    n, m = X.shape
    constant = np.ones(m, dtype=bool)
    zero_rows = constant_rows = 0
    for _, block in row_blocks(X):
        constant &= (block == X[0]).all(axis=0)
        zero_rows += int(np.count_nonzero(~block.any(axis=1)))
        constant_rows += int(np.count_nonzero((block == block[:, :1]).all(axis=1)))
    return Profile(n, m, int(constant.sum()), _duplicates(X), zero_rows, constant_rows)


def _profile_sparse(X: Matrix) -> Profile:
    n, m = X.shape
    if (X.data == 0).any():
        X = X.copy()
        X.eliminate_zeros()
    per_column = np.bincount(X.indices, minlength=m)
    first = X[[0]].toarray().ravel() if n else np.zeros(m)
    differs = np.bincount(X.indices[X.data != first[X.indices]], minlength=m)
    constant = (per_column == 0) | ((per_column == n) & (differs == 0))
    per_row = np.diff(X.indptr)
    constant_rows = 0
    for start, end in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True):
        data = X.data[start:end]
        constant_rows += end == start or (end - start == m and bool((data == data[0]).all()))
    return Profile(n, m, int(constant.sum()), _duplicates(X), int((per_row == 0).sum()), constant_rows)


def _duplicates(X: Matrix) -> int:
    """Rows that are equal to an earlier one."""
    n = X.shape[0]
    return n - len(equal_rows(X, np.arange(n))[0])
