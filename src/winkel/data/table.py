"""Table, the validated form of all data; the functions that make it, `as_table` and `as_matrix`; and which rows are equal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from ..checks import refuse
from ..errors import InvalidInputError, InvalidParameterError
from ..run import Stream
from ..typing import FloatArray, IntArray
from .annotated import from_anndata, is_anndata, named_labels
from .arrays import Labels, Matrix, dense_matrix, sparse_matrix, to_array
from .frames import Columns, Parts, Pick, Selection, frame_of

_BLOCK_ROWS = 4096  # rows whose bits are looked at together
_TELLING = 64  # columns that are enough to see that most rows differ


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A validated matrix of numbers, with the names of its rows and columns if they are known.

    `as_table` makes a Table. It marks it as validated and does not check its values again, so every
    call that takes data takes a Table at no cost.

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (n, m)
        A C-contiguous float32 or float64 array, or a CSR matrix in canonical form; every value is finite.
    ids : ndarray or None
        Names of the rows.
    columns : tuple of str or None
        Names of the columns.
    labels : ndarray or None
        The label column, if one was requested.
    kept : mapping of str to ndarray
        Further columns that are kept but are not features.
    omitted : tuple of str
        Columns that were left out because they do not hold numbers.
    label_name : str or None
        The name of the label column.
    validated : bool
        Whether `as_table` has checked the values.

    Examples
    --------
    >>> import winkel as wk
    >>> table = wk.data.as_table([[1, 2], [3, 4]])
    >>> table.shape, table.dtype, table.validated
    ((2, 2), dtype('float32'), True)
    """

    values: Matrix
    ids: NDArray[Any] | None = None
    columns: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    omitted: tuple[str, ...] = ()
    label_name: str | None = None
    validated: bool = False

    def __repr__(self) -> str:
        n, m = self.values.shape
        beside = [name for name in ("ids", "labels") if getattr(self, name) is not None]
        beside += [repr(name) for name in [*self.kept][:10]] + ["…"] * (len(self.kept) > 10)
        kind = "sparse " if sp.issparse(self.values) else ""
        return f"<Table of {n} rows × {m} columns, {kind}{self.values.dtype}{', with ' * bool(beside)}{', '.join(beside)}>"

    def __post_init__(self) -> None:
        n, m = self.values.shape
        for what, names, needed in (
            ("ids", self.ids, n),
            ("labels", self.labels, n),
            ("columns", self.columns, m),
        ):
            if names is not None and len(names) != needed:
                raise InvalidInputError(
                    f"{what} has {len(names)} entries; {needed} are needed for values of shape {(n, m)}."
                )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        n, m = self.values.shape
        return int(n), int(m)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return np.dtype(self.values.dtype)

    def rows(self, index: Any) -> Table:
        """The table of the rows at `index` (numbers, a mask or a slice); it counts as validated if the whole table does."""
        ids, labels = (None if names is None else names[index] for names in (self.ids, self.labels))
        kept = {name: column[index] for name, column in self.kept.items()}
        return replace(self, values=self.values[index], ids=ids, labels=labels, kept=kept)


def as_matrix(
    X: Any,
    *,
    name: str = "X",
    min_rows: int = 2,
    min_columns: int = 1,
    allow_sparse: bool = True,
    dtype: DTypeLike | None = None,
) -> Matrix:
    """The numbers of `X` as a validated C-contiguous float array or CSR matrix.

    Parameters
    ----------
    X : array, list of rows, sparse matrix, data frame, AnnData or Table
        The data; see `as_table`.
    name : str, default="X"
        The name of the data in messages.
    min_rows : int, default=2
        Smallest number of rows allowed.
    min_columns : int, default=1
        Smallest number of columns allowed.
    allow_sparse : bool, default=True
        Whether sparse data is allowed.
    dtype : float32, float64 or None, default=None
        The precision of the result; None keeps that of the data: see `as_table`.

    Returns
    -------
    ndarray or sparse matrix of shape (n, m)
        X itself if nothing has to change.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.data.as_matrix([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return as_table(
        X, name=name, min_rows=min_rows, min_columns=min_columns, allow_sparse=allow_sparse, dtype=dtype
    ).values


def as_table(
    X: Any,
    *,
    columns: Columns = None,
    label: Pick = None,
    id: Pick = None,
    drop: Columns = None,
    keep: Columns = None,
    numeric: bool = False,
    encode: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    name: str = "X",
    min_rows: int = 2,
    min_columns: int = 1,
    allow_sparse: bool = True,
    dtype: DTypeLike | None = None,
    first_row: int = 0,
) -> Table:
    """The validated Table of an array, list of rows, sparse matrix, data frame, AnnData object or Table.

    float32 and float64 are kept; booleans, float16 and integers become float32 (float64 if an integer is
    beyond ±2**24). float32 data that is so large that squared distances could overflow (about 1e18) becomes float64.
    Data is only copied if something has to change, and `X` is never modified.

    Parameters
    ----------
    X : array, list of rows, sparse matrix, data frame, AnnData or Table
        The data.
    columns : list of str or int, or None, default=None
        The feature columns, by name or position; None takes all but `label` and `id`. All must hold numbers.
    label : str, int or None, default=None
        The column that holds labels (for AnnData: a column of `obs`).
    id : str, int or None, default=None
        The column that names rows (for AnnData: a column of `obs`).
    drop : list of str or int, or None, default=None
        Columns to leave out.
    keep : list of str or int, or None, default=None
        Columns of numbers or text to keep in `kept` (for AnnData: columns of `obs`); they are only features if `columns` lists them.
    numeric : bool, default=False
        Whether to leave out columns that do not hold numbers, instead of refusing them; `omitted` then names them.
    encode : {"onehot", "gower"} or None, default=None
        How to encode columns of text and categories. "onehot" makes a column of 0 and 1 for each value; "gower" scales all
        columns such that metric="manhattan" is Gower's distance of mixed columns.
    use_rep : str or None, default=None
        The entry of an AnnData object's `obsm` that holds the rows, such as "X_pca"; None and "X" take its `X`.
    layer : str or None, default=None
        The entry of its `layers` to use instead.
    name : str, default="X"
        The name of the data in messages.
    min_rows : int, default=2
        Smallest number of rows allowed.
    min_columns : int, default=1
        Smallest number of columns allowed.
    allow_sparse : bool, default=True
        Whether sparse data is allowed.
    dtype : float32, float64 or None, default=None
        The precision of the result; None keeps that of the data, as described above.
    first_row : int, default=0
        The number of the first row in messages, if X is a part of something larger.

    Returns
    -------
    Table
        X itself if it is a validated Table that meets these conditions.

    Examples
    --------
    >>> import pandas as pd
    >>> import winkel as wk
    >>> frame = pd.DataFrame({"cell": ["a", "b"], "x": [1.5, 2.0], "y": [0, 1], "kind": ["T", "B"]})
    >>> table = wk.data.as_table(frame, label="kind", id="cell")
    >>> table.columns, table.ids.tolist(), table.labels.tolist()
    (('x', 'y'), ['a', 'b'], ['T', 'B'])
    """
    wanted = _float_dtype(dtype)
    asked = (columns, label, id, drop, keep, encode, use_rep, layer)
    picks = bool(numeric) or any(part is not None for part in asked)
    if isinstance(X, Table) and X.validated and not picks and wanted in (None, X.dtype):
        _check_shape(X.values, name, min_rows, min_columns)
        _check_sparse(X.values, name, allow_sparse)
        return X
    if type(X) is np.ndarray and not picks:
        parts = Parts(X)
    else:
        selection = Selection(columns, label, id, drop, keep, numeric, encode)
        parts = _selected(X, selection, name, use_rep, layer)
    _check_shape(parts.values, name, min_rows, min_columns)
    where = Labels(name, parts.ids, parts.names, first_row)
    _check_sparse(parts.values, name, allow_sparse)
    clean = sparse_matrix if sp.issparse(parts.values) else dense_matrix
    return Table(clean(parts.values, where, wanted), *parts[1:], validated=True)


def labelled(X: Any, labels: Any, what: str = "labels", name: str = "X") -> tuple[Any, Any]:
    """X and `labels`; if `labels` is text, the column of that name (`named_labels`), which is removed from a data frame since it is not a feature."""
    if not isinstance(labels, str):
        return X, labels
    if frame_of(X, name) is not None:
        X = as_table(X, label=labels, name=name)
    return X, named_labels(X, labels, what, name)


def looks_like_distances(values: Any) -> bool:
    """Whether a matrix looks like distances rather than rows: square, symmetric, nothing negative, and an empty diagonal.

    A sparse matrix need not be symmetric: it may hold the distances to each row's nearest rows.
    """
    n, m = values.shape
    if n != m or n < 3 or values.diagonal().any():
        return False
    if not sp.issparse(values):
        return bool(
            values.any()
            and values.min() >= 0
            and (values[0] == values[:, 0]).all()
            and (values == values.T).all()
        )
    return bool(values.nnz and values.data.min() >= 0)


def _selected(X: Any, selection: Selection, name: str, use_rep: str | None, layer: str | None) -> Parts:
    """The selected parts of X."""
    if is_anndata(X):
        return from_anndata(X, selection, name, use_rep, layer)
    if use_rep is not None or layer is not None:
        raise InvalidParameterError(
            f"use_rep and layer name arrays of an AnnData object; {name} is a {type(X).__name__}."
        )
    if (frame := frame_of(X, name)) is not None:
        return frame.split(selection, name)
    if selection:
        raise InvalidParameterError(
            f"columns, label, id, drop and keep pick from a data frame or AnnData object; "
            f"{name} is a {type(X).__name__}. Slice it instead."
        )
    if isinstance(X, Table):
        return Parts(X.values, X.ids, X.columns, X.labels, X.kept, X.omitted, X.label_name)
    return Parts(_from_array(X, name))


def _check_sparse(values: Any, name: str, allowed: bool) -> None:
    if sp.issparse(values) and not allowed:
        raise InvalidInputError(
            f"{name} is sparse, which is not supported here. Pass X.toarray() if it fits in memory."
        )


def _from_array(X: Any, name: str) -> Any:
    """The array or sparse matrix of data without named columns."""
    if isinstance(X, str | bytes | os.PathLike):
        raise InvalidInputError(
            f"{name} must be data, got the text or path {X!r}. To read a file use winkel.data.read(path), or "
            "winkel.scale.open_source(path) if it is too large for memory."
        )
    if hasattr(X, "shards"):
        raise InvalidInputError(
            f"{name} holds rows in shards, which only winkel.MDE takes directly. Use winkel.scale: "
            "fit_landmarks and transform for other estimators, measure for scores."
        )
    return X if sp.issparse(X) else to_array(X, name)


def _check_shape(values: Any, name: str, min_rows: int, min_columns: int) -> None:
    """An error unless `values` is a matrix of at least this size."""
    shape = values.shape
    if len(shape) != 2:
        advice = "Reshape your data: X.reshape(-1, 1) makes one column, X.reshape(len(X), -1) one row for each item."
        if len(shape) == 0:
            advice = (
                f"Got a single object of type {values.dtype}; pass an array, a list of rows or a data frame."
            )
        raise InvalidInputError(
            f"{name} must have two dimensions, rows and columns; it has {len(shape)}: {shape}. {advice}"
        )
    # In scikit-learn's words, which its users and its checks of estimators know.
    for count, least, what in ((shape[0], min_rows, "sample"), (shape[1], min_columns, "feature")):
        if count < least:
            raise InvalidInputError(
                f"{name} has {count} {what}(s) (shape={tuple(shape)}) while a minimum of {least} is required."
            )


def _float_dtype(dtype: DTypeLike | None) -> np.dtype[Any] | None:
    """float32 or float64, or None for no preference."""
    if dtype is None:
        return None
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = np.dtype(object)
    if wanted not in (np.dtype(np.float32), np.dtype(np.float64)):
        refuse("dtype", "None, float32 or float64", dtype)
    return wanted


def has_equal_rows(values: Any) -> bool:
    """Whether any two rows are equal; all columns are only compared for rows that are equal in some of them."""
    alike = _repeated(hash_rows(values, _TELLING))
    return len(alike) > 0 and len(_repeated(hash_rows(values[alike]))) > 0


def equal_rows(values: Any, present: IntArray) -> tuple[IntArray, IntArray]:
    """The first row of each set of equal rows among `present`, and the set of each row; −1 for rows that are not present.

    The order of the sets depends only on the values of their rows.
    """
    code = hash_rows(values)
    _, first, of_present = np.unique(code[present], return_index=True, return_inverse=True)
    rows = present[first]
    of = np.full(len(code), -1, dtype=np.int64)
    of[present] = of_present
    copies = present[rows[of_present] != present]
    different = np.zeros(len(copies), dtype=bool)
    for start in range(0, len(copies), _BLOCK_ROWS):
        some = copies[start : start + _BLOCK_ROWS]
        differ = values[some] != values[rows[of[some]]]
        different[start : start + _BLOCK_ROWS] = np.asarray(differ.sum(axis=1)).ravel() > 0
    chance = copies[different]  # the same code by chance: each is a set of its own
    of[chance] = len(rows) + np.arange(len(chance))
    return np.concatenate([rows, chance]), of


def hash_rows(values: Any, n_columns: int | None = None) -> NDArray[np.uint64]:
    """A 64-bit hash of each row, equal for equal rows, dense or sparse; of `n_columns` evenly chosen columns if there are more.

    A value of zero adds nothing, so that a sparse row has the same hash as its dense form.
    """
    n, m = values.shape
    factors = Stream.named(0, "columns of a row").bits(m) | np.uint64(1)
    if sp.issparse(values):
        terms = _mixed(values.data) * factors[values.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return np.asarray(sums[values.indptr[1:]] - sums[values.indptr[:-1]])
    columns = (
        slice(None) if n_columns is None or m <= n_columns else np.linspace(0, m - 1, n_columns).astype(int)
    )
    code = np.empty(n, dtype=np.uint64)
    for start in range(0, n, _BLOCK_ROWS):
        block = values[start : start + _BLOCK_ROWS, columns]
        code[start : start + _BLOCK_ROWS] = (_mixed(block) * factors[columns]).sum(axis=1, dtype=np.uint64)
    return code


def _mixed(values: FloatArray) -> NDArray[np.uint64]:
    """The bits of numbers, spread over 64 as in SplitMix64; −0.0 is as 0.0, whose bits are zero."""
    plain = np.ascontiguousarray(values + values.dtype.type(0))
    bits = plain.view(np.uint32 if plain.dtype == np.float32 else np.uint64).astype(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(bits ^ (bits >> np.uint64(27)))


def _repeated(code: NDArray[np.uint64]) -> IntArray:
    """Rows whose code another row has too."""
    order = np.argsort(code, kind="stable")
    same = code[order[1:]] == code[order[:-1]]
    return np.sort(order[np.append(same, False) | np.append(False, same)])
