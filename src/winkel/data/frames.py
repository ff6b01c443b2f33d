"""Data frames of pandas, polars and Arrow as columns of NumPy arrays.

They are recognised by the names of their types, so none of the packages is imported unless the user's
object is there.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..checks import choice, flag, optional
from ..errors import InvalidInputError, InvalidParameterError
from .arrays import Labels, to_float
from .encoding import ENCODINGS, encode, holds_categories

Pick: TypeAlias = str | int | None
Columns: TypeAlias = Sequence[str | int] | None


class Parts(NamedTuple):
    """The parts taken from a source: feature values, ids, feature names, labels, kept columns, omitted columns, and the name of the label column."""

    values: Any
    ids: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    kept: Mapping[str, NDArray[Any]] = MappingProxyType({})
    omitted: tuple[str, ...] = ()
    label_name: str | None = None


@dataclass(frozen=True)
class Selection:
    """What to take from a source: features (if `columns` is None, all other columns), labels, ids, kept columns.

    `drop` columns are left out; `numeric` leaves out all columns that do not hold numbers, and `encode` turns those into numbers.
    """

    columns: Columns = None
    label: Pick = None
    id: Pick = None
    drop: Columns = None
    keep: Columns = None
    numeric: bool = False
    encode: str | None = None

    def __post_init__(self) -> None:
        optional(choice, "encode", self.encode, ENCODINGS)
        flag("numeric", self.numeric)
        if self.numeric and self.encode is not None:
            raise InvalidParameterError(
                "numeric leaves out columns of text, but encode uses them; set only one of the two."
            )

    def __bool__(self) -> bool:
        return self != Selection()

    def aside(self, names: Sequence[str], name: str) -> set[int]:
        """Positions of the columns that are not features, whatever they hold."""
        found = {find_column(names, self.label, "label", name), find_column(names, self.id, "id", name)}
        for what, wanted in (("drop", self.drop), ("keep", self.keep)):
            found |= {find_column(names, column, what, name) for column in wanted or ()}
        if self.columns is not None:
            found |= set(range(len(names)))
            found -= {find_column(names, column, "columns", name) for column in self.columns}
        return {j for j in found if j is not None}


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of one data frame.

    `types` are the source's names for the type of each column; `refused` are the columns that do not hold numbers.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    refused: frozenset[int]
    column: Callable[[int], NDArray[Any]]
    n_rows: int
    ids: NDArray[Any] | None = None
    whole: Callable[[], Any] | None = (
        None  # a faster way to all values, where all columns have one numeric type
    )

    def split(self, selection: Selection, name: str) -> Parts:
        """The selected parts."""
        aside = selection.aside(self.names, name)
        if selection.columns is None:
            features = [j for j in range(len(self.names)) if j not in aside]
        else:
            found = [find_column(self.names, c, "columns", name) for c in selection.columns]
            features = [j for j in found if j is not None]
        omitted = [j for j in features if selection.numeric and j in self.refused]
        features = [j for j in features if j not in omitted]
        ids = self.ids if selection.id is None else self.plain(selection.id, "id", name)
        labels = None if selection.label is None else self.plain(selection.label, "label", name)
        told = find_column(self.names, selection.label, "label", name)
        kept = {str(self.names[j]): plain_column(self.column(j)) for c in selection.keep or ()
                if (j := find_column(self.names, c, "keep", name)) is not None}  # fmt: skip
        if omitted and not features:
            raise InvalidInputError(
                f"{name} has no columns of numbers; its columns are {self._listed(omitted)}."
            )
        values, names = self._features(features, ids, selection.encode, name)
        left_out = tuple(self.names[j] for j in omitted)
        return Parts(values, ids, names, labels, kept, left_out, None if told is None else self.names[told])

    def plain(self, pick: Pick, what: str, name: str) -> NDArray[Any]:
        """The column with this name or position, without Python objects."""
        j = find_column(self.names, pick, what, name)
        assert j is not None
        return plain_column(self.column(j))

    def _features(
        self, features: list[int], ids: NDArray[Any] | None, encoding: str | None, name: str
    ) -> tuple[Any, tuple[str, ...]]:
        """The matrix of the features, and the names of its columns."""
        categories = [] if encoding is None else [
            j for j in features if j in self.refused and holds_categories(self.types[j])
        ]  # fmt: skip
        self._check_types([j for j in features if j not in categories], name)
        if encoding is None or (encoding == "onehot" and not categories):
            return self._values(features, ids, name), tuple(self.names[j] for j in features)
        numbers = self._values([j for j in features if j not in categories], ids, name)
        place = {j: k for k, j in enumerate(j for j in features if j not in categories)}
        columns = [
            (self.names[j], partial(self.plain, j, "columns", name), True)
            if j in categories
            else (self.names[j], partial(numbers.__getitem__, (slice(None), place[j])), False)
            for j in features
        ]
        return encode(columns, encoding, self.n_rows, name)

    def _listed(self, columns: Sequence[int]) -> str:
        return ", ".join(f"{self.names[j]!r} ({self.types[j]})" for j in columns[:5]) + ", ..." * (
            len(columns) > 5
        )

    def _check_types(self, features: list[int], name: str) -> None:
        bad = [j for j in features if j in self.refused]
        if bad:
            raise InvalidInputError(
                f"{name} has {len(bad)} column{'s' * (len(bad) > 1)} without numbers: {self._listed(bad)}. "
                f"Name such a column as label or id, list the feature columns, or encode, keep or drop it; numeric takes only the "
                "columns of numbers."
            )

    def _values(self, features: list[int], ids: NDArray[Any] | None, name: str) -> Any:
        """Matrix of the features: float64 if one of them needs it, else float32."""
        if self.whole is not None and len(features) == len(self.names):
            return self.whole()
        parts = []
        for j in features:
            try:
                parts.append(to_float(self.column(j), Labels(name, ids)))
            except InvalidInputError as error:
                raise InvalidInputError(f"Column {self.names[j]!r}: {error}") from error
        wide = any(part.dtype == np.float64 for part in parts)
        values = np.empty((self.n_rows, len(parts)), dtype=np.float64 if wide else np.float32)
        for j, part in enumerate(parts):
            values[:, j] = part
        return values


def find_column(names: Sequence[str], wanted: Pick, what: str, name: str) -> int | None:
    """Position of the column with this name or position; None for None."""
    if wanted is None:
        return None
    if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
        if -len(names) <= wanted < len(names):
            return int(wanted) % len(names)
        raise InvalidParameterError(
            f"{what}={wanted} is not a position: {name} has {len(names)} columns, 0 to {len(names) - 1}."
        )
    found = [j for j, column in enumerate(names) if column == wanted]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(repr, names[:8])) + f" and {len(names) - 8} more" * (len(names) > 8)
    trouble = (
        f"{name} has {len(found)} columns of that name; give its position"
        if found
        else f"{name} has {listed}"
    )
    alike = difflib.get_close_matches(str(wanted), names, n=1) if not found else []
    advice = f" Did you mean {alike[0]!r}?" if alike else ""
    raise InvalidParameterError(f"{what}={wanted!r} does not name one column: {trouble}.{advice}")


def plain_column(values: NDArray[Any]) -> NDArray[Any]:
    """A column of ids or labels without Python objects: integers and floats are kept, everything else becomes text."""
    if values.dtype.kind != "O":
        return values
    if len(values) and all(
        isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values
    ):
        try:
            return values.astype(np.int64)
        except OverflowError:
            pass
    return np.array(["" if is_missing(value) else str(value) for value in values], dtype=str)


def is_missing(value: Any) -> bool:
    """Whether this entry of a column of objects is a missing value."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )


def is_a(X: Any, package: str, name: str) -> bool:
    """Whether X is of the class `name` of `package`, or of a class derived from it."""
    return any(
        cls.__name__ == name and cls.__module__.partition(".")[0] == package for cls in type(X).__mro__
    )


def frame_of(X: Any, name: str) -> Frame | None:
    """The Frame of a pandas, polars or Arrow table; None for anything else."""
    if isinstance(X, Frame):
        return X
    if is_a(X, "pandas", "DataFrame"):
        return pandas_frame(X)
    if is_a(X, "polars", "DataFrame"):
        return _polars_frame(X)
    if is_a(X, "pyarrow", "Table"):
        return _arrow_frame(X)
    if is_a(X, "polars", "LazyFrame"):
        raise InvalidInputError(
            f"{name} is a polars LazyFrame, which holds no values yet: call .collect() first."
        )
    if is_a(X, "pandas", "Series") or is_a(X, "polars", "Series"):
        raise InvalidInputError(
            f"{name} is a single column (a Series of length {len(X)}), and two dimensions are needed: "
            f"call .to_frame() for a table of one column."
        )
    return None


def _holds_text(values: NDArray[Any]) -> bool:
    """Whether the first value of an object column that is not missing is not a number."""
    first = next((value for value in values if not is_missing(value)), None)
    return isinstance(first, str | bytes)


def pandas_frame(X: Any) -> Frame:
    """The Frame of a pandas table."""
    dtypes = list(X.dtypes)
    refused = {
        j
        for j, dtype in enumerate(dtypes)
        if not _pandas_is_numeric(dtype)
        and (dtype != np.dtype(object) or _holds_text(X.iloc[:, j].to_numpy()))
    }

    def column(j: int) -> NDArray[Any]:
        series, dtype = X.iloc[:, j], dtypes[j]
        if isinstance(dtype, np.dtype) or not hasattr(dtype, "numpy_dtype") or dtype.kind not in "biuf":
            return np.asarray(series)
        if series.isna().any():
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series.to_numpy(dtype=dtype.numpy_dtype))

    index = X.index
    counted = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    whole: Callable[[], Any] | None = None
    if dtypes and not refused:
        if all(isinstance(dtype, np.dtype) and dtype == dtypes[0] for dtype in dtypes):
            whole = X.to_numpy
        elif all(is_a(dtype, "pandas", "SparseDtype") and dtype.fill_value == 0 for dtype in dtypes):
            whole = X.sparse.to_coo
    return Frame(
        names=tuple(map(str, X.columns)),
        types=tuple(map(str, dtypes)),
        refused=frozenset(refused),
        column=column,
        n_rows=len(X),
        ids=None if counted else plain_column(np.asarray(index)),
        whole=whole,
    )


def _pandas_is_numeric(dtype: Any) -> bool:
    if is_a(dtype, "pandas", "SparseDtype"):
        dtype = dtype.subtype
    return dtype.kind in "biuf" and (isinstance(dtype, np.dtype) or hasattr(dtype, "numpy_dtype"))


def _polars_frame(X: Any) -> Frame:
    dtypes = list(X.dtypes)
    refused = {
        j
        for j, dtype in enumerate(dtypes)
        if not (dtype.is_numeric() or str(dtype) == "Boolean")
        and (str(dtype) != "Object" or _holds_text(X.to_series(j).to_numpy()))
    }
    simple = (
        dtypes and all(dtype == dtypes[0] for dtype in dtypes) and str(dtypes[0]) in ("Float32", "Float64")
    )
    return Frame(
        names=tuple(X.columns),
        types=tuple(map(str, dtypes)),
        refused=frozenset(refused),
        column=lambda j: np.asarray(X.to_series(j).to_numpy()),  # integers with nulls become floats with NaN
        n_rows=X.height,
        whole=X.to_numpy if simple else None,  # nulls become NaN
    )


def _arrow_frame(X: Any) -> Frame:
    types = [str(field.type) for field in X.schema]
    numeric = ("int", "uint", "float", "double", "halffloat", "bool", "decimal")
    index = [c for c in (X.schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(c, str)]
    ids = None
    if len(index) == 1 and index[0] in X.column_names:
        ids = plain_column(np.asarray(X.column(index[0]).to_numpy()))
        X = X.drop_columns(index)
        types = [str(field.type) for field in X.schema]
    return Frame(
        names=tuple(X.column_names),
        types=tuple(types),
        refused=frozenset(j for j, kind in enumerate(types) if not kind.startswith(numeric)),
        column=lambda j: np.asarray(X.column(j).to_numpy()),
        n_rows=X.num_rows,
        ids=ids,
    )
