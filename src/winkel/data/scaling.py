"""Columns brought to one scale, so that units of measurement do not decide which rows are close."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..checks import choice
from ..errors import InvalidInputError
from ..typing import FloatArray
from .table import Table

SCALES = ("standard", "robust", "none")


def scaled(table: Table, how: str) -> Table:
    """The table with every column shifted and scaled.

    Parameters
    ----------
    table : Table
        Validated, dense data.
    how : {"standard", "robust", "none"}
        "standard" makes the mean 0 and the standard deviation 1. "robust" subtracts the median and divides by the interquartile
        range, relative to that of a normal distribution of standard deviation 1; a column most of whose values are
        equal is divided by its standard deviation instead. Constant columns become 0.

    Returns
    -------
    Table
        The same rows; `table` itself for "none".

    Examples
    --------
    >>> import winkel as wk
    >>> wk.data.scaled(wk.data.as_table([[1.0, 10.0], [3.0, 30.0]]), "standard").values
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    if choice("scale", how, SCALES) == "none":
        return table
    if sp.issparse(table.values):
        raise InvalidInputError(
            "shifted columns of sparse data would no longer be sparse; use metric='cosine', or divide the columns yourself."
        )
    wide = np.asarray(table.values, dtype=np.float64)
    center, width = _standard(wide) if how == "standard" else _robust(wide)
    values = (wide - center) / np.where(width > 0, width, 1.0)
    return replace(table, values=np.ascontiguousarray(values, dtype=table.dtype))


def _standard(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    return X.mean(axis=0), _deviation(X)


def _robust(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    width = (high - low) / 1.3489795003921634  # between the quartiles of a standard normal distribution
    return middle, np.where(width > 0, width, _deviation(X))


def _deviation(X: FloatArray) -> FloatArray:
    """Standard deviations; exactly 0 for columns with a single value, despite rounding of the mean."""
    return np.where(X.max(axis=0) > X.min(axis=0), X.std(axis=0), 0.0)
