"""`Map`, and the forms in which maps come: an array, a fitted estimator, an Embedding, a file (parquet, csv, tsv, npz, h5ad, model)."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .data import Table, read
from .data.annotated import add_to_h5ad, opened_h5ad, require_anndata
from .data.archive import atomic_file
from .data.files import suffix_of
from .embedding import Embedding, load
from .errors import InvalidInputError, ModelFileError, missing_extra
from .run import telling_of_memory
from .typing import FloatArray

MODEL_SUFFIX = ".winkel"
COORDINATE = re.compile(r"y[1-9][0-9]*")  # the columns of a map file that hold the map

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Map:
    """The places of rows, and everything known about the rows.

    `columns` are further numbers of the method, one value per row; `kept` are columns of the data that were kept although they are not
    features; `embedding` is the Embedding that the map comes from, if it is known.
    """

    Y: FloatArray
    ids: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    embedding: Embedding | None = None
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.Y)

    def named_by(self, table: Table) -> Map:
        """The same map with the ids, labels and kept columns of the table it was made from."""
        return replace(self, ids=table.ids, labels=table.labels, kept=table.kept)

    def reordered(self, order: NDArray[np.intp]) -> Map:
        """The map with its rows in another order."""
        return Map(
            self.Y[order],
            None if self.ids is None else self.ids[order],
            None if self.labels is None else self.labels[order],
            {name: column[order] for name, column in self.columns.items()},
            kept={name: column[order] for name, column in self.kept.items()},
        )


def as_map(source: Any, name: str = "map") -> Map:
    """The Map of an n × d array, a fitted estimator, an Embedding or other result with a `Y`, a Map, or a file's path.

    `name` is used in messages. Coordinates are not checked; callers that need finite coordinates check them.
    """
    if isinstance(source, Map):
        return source
    if isinstance(source, str | os.PathLike):
        return read_map(source)
    found = getattr(source, "result_", source)
    if isinstance(found, Embedding):
        return of_embedding(found)
    found = getattr(found, "embedding_", found)  # estimators of scikit-learn and others
    if hasattr(found, "get_params"):
        raise InvalidInputError(f"{name} is a {type(found).__name__} that is not fitted. Call fit first.")
    allowed = "an array (n, d), a fitted estimator, an Embedding, or the path of a map or model file"
    try:
        Y = np.asarray(getattr(found, "Y", found))
        Y = Y if Y.dtype.kind == "f" else Y.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be {allowed}; got a {type(source).__name__}.") from None
    if Y.ndim != 2:
        raise InvalidInputError(f"{name} must be {allowed}; got shape {Y.shape}.")
    return Map(Y)


def of_embedding(embedding: Embedding) -> Map:
    """The Map of an Embedding, with those of its blocks that have one number per row."""
    n = len(embedding.Y)
    columns = {name: block for name, block in embedding.blocks.items() if block.shape == (n,)}
    return Map(embedding.Y, columns=columns, embedding=embedding)


def read_map(path: str | os.PathLike[str]) -> Map:
    """The map in a map file, a model file, or any file of coordinates that `winkel.data.read` reads.

    One of several maps of an h5ad file is named after the path of the file: `cells.h5ad/obsm/X_umap`.
    """
    file = Path(path)
    suffix = suffix_of(file)
    for whole in file.parents[:2]:
        if suffix_of(whole) == ".h5ad" and whole.is_file():
            return _from_h5ad(whole, file.relative_to(whole).as_posix().removeprefix("obsm/"))
    if suffix == MODEL_SUFFIX:
        return _from_model(file)
    if suffix == ".npz" and file.is_file():
        return _from_npz(file)
    if suffix == ".h5ad" and file.is_file():
        return _from_h5ad(file)
    names = _column_names(file, suffix)
    if names is None:
        table = read(file, min_rows=1)
    else:
        coordinates = [name for name in names if COORDINATE.fullmatch(name)]
        coordinates = coordinates or [name for name in names if name not in ("id", "label")]
        label = "label" if "label" in names else None
        id = "id" if "id" in names else None
        table = read(file, columns=coordinates, label=label, id=id, min_rows=1)
        if suffix != ".parquet":
            ids, labels = _without_apostrophes(table.ids), _without_apostrophes(table.labels)
            return Map(np.asarray(table.values), ids, labels)
    return Map(np.asarray(table.values), table.ids, table.labels)


def _from_model(file: Path) -> Map:
    if not file.is_file():
        raise InvalidInputError(f"The file {str(file)!r} does not exist.")
    content = load(file)
    found = getattr(content, "result_", content)
    if not isinstance(found, Embedding):
        raise ModelFileError(f"{str(file)!r} holds a {type(content).__name__}, which has no map.")
    return of_embedding(found)


def _from_npz(file: Path) -> Map:
    with np.load(file, allow_pickle=False) as archive:
        names = set(archive.files)
    id, label = (name if name in names else None for name in ("id", "label"))
    table = read(file, key="Y" if "Y" in names else None, min_rows=1, id=id, label=label)
    return Map(np.asarray(table.values), table.ids, table.labels)


def _from_h5ad(file: Path, name: str | None = None) -> Map:
    """The map with this name in `obsm`; without a name, the only map made by this package, or else the only entry with two or three columns."""
    with opened_h5ad(file) as content:
        shapes: dict[str, tuple[int, ...]] = {
            name: getattr(values, "shape", ()) for name, values in content.obsm.items()
        }
        flat = [name for name, shape in shapes.items() if len(shape) == 2 and shape[1] in (2, 3)]
        records = {name: content.uns.get(name.removeprefix("X_")) for name in shapes}
        found = [
            name for name, record in records.items() if isinstance(record, Mapping) and "objective" in record
        ]
        found = [name] if name in shapes else [] if name else found or flat
        if len(found) != 1:
            listed = ", ".join(map(repr, found or shapes)) or "none"
            raise InvalidInputError(
                f"{str(file)!r} holds no map {name!r}; obsm has {listed}."
                if name
                else f"{str(file)!r} must hold one map to be read as one; obsm has {listed}. "
                f"{str(file / 'obsm' / (found or ['NAME'])[0])!r} names one of them."
            )
        ids = np.asarray(content.obs_names).astype(str)
        return Map(np.asarray(content.obsm[found[0]], dtype=np.float64), ids)


def _column_names(file: Path, suffix: str) -> list[str] | None:
    """Names of the columns, or None if the file has none."""
    if not file.is_file():
        return None  # `read` says so
    if suffix == ".parquet":
        names = require_pyarrow("Reading a parquet file").parquet.read_schema(file).names
        return [name for name in names if not name.startswith("__index_level_")]
    if suffix.startswith((".csv", ".tsv")):
        opened: Callable[..., IO[str]] = gzip.open if suffix.endswith(".gz") else open
        with opened(file, "rt", encoding="utf-8-sig", newline="", errors="replace") as stream:
            first = next(csv.reader(stream, delimiter="\t" if ".tsv" in suffix else ","), [])
        return first if any(COORDINATE.fullmatch(name) or name == "id" for name in first) else None
    return None


# --------------------------------------------------------------------------------------------------- writing


@telling_of_memory(
    "Writing the map", "Use a computer with more memory, or write .npy; an existing file was not changed."
)
def write_map(path: str | os.PathLike[str] | IO[bytes], map: Map) -> None:
    """Write a map file, all or nothing; its suffix determines the format (csv for a stream). An npy file contains only the places."""
    if isinstance(path, str | os.PathLike) and suffix_of(Path(path)) == ".npy":
        with atomic_file(path) as file:
            np.save(file, map.Y, allow_pickle=False)
        return
    columns: dict[str, NDArray[Any]] = {"id": np.arange(len(map)) if map.ids is None else map.ids}
    if map.labels is not None:
        columns["label"] = map.labels
    if isinstance(path, str | os.PathLike) and suffix_of(Path(path)) == ".npz":
        columns = {"Y": map.Y, **columns}  # as one matrix
    else:
        columns |= {f"y{k + 1}": map.Y[:, k] for k in range(map.Y.shape[1])}
    columns |= dict(map.columns)
    taken = [name for name in map.kept if name in columns]
    if taken:
        raise InvalidInputError(
            f"a map file has a column {taken[0]!r} of its own; rename yours, or do not keep it."
        )
    write_columns(path, columns | dict(map.kept))


def write_h5ad(
    path: str | os.PathLike[str],
    map: Map,
    table: Table,
    name: str,
    source: str | os.PathLike[str] | None = None,
) -> None:
    """Write an h5ad file with the map in `obsm["X_<name>"]` and its numbers per row in `obs`, all or nothing.

    With `source`, an h5ad file, the new file also contains everything in it, without loading its matrices; otherwise it contains the
    table.
    """
    anndata = require_anndata("Writing an h5ad file")
    own = {f"{name}_{column}": np.asarray(values) for column, values in map.columns.items()}
    uns = {} if map.embedding is None else {name: _plain_record(map.embedding)}
    with atomic_file(path) as file:
        part = file.name
        if source is not None:
            add_to_h5ad(Path(source), part, {f"X_{name}": map.Y}, own, uns)
            return
        made = anndata.AnnData(table.values, obsm={f"X_{name}": map.Y}, uns=uns)
        if table.ids is not None:
            made.obs_names = table.ids.astype(str)
        if table.columns is not None:
            made.var_names = list(table.columns)
        if table.labels is not None:
            made.obs["label"] = table.labels
        for column, values in (own | dict(table.kept)).items():
            made.obs[column] = values
        made.write_h5ad(part)


def _plain_record(embedding: Embedding) -> dict[str, Any]:
    """The record in an h5ad file of how a map was made."""
    plain = {k: v for k, v in embedding.settings.items() if isinstance(v, bool | int | float | str)}
    seed = -1 if embedding.seed is None else int(embedding.seed)
    return {
        "params": plain,
        "seed": seed,
        "objective": float(embedding.objective),
        "status": str(embedding.status),
    }


def write_columns(path: str | os.PathLike[str] | IO[bytes], columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns of the same length to a file, all or nothing, or as csv to a stream."""
    if not isinstance(path, str | os.PathLike):
        _write_text(path, columns, ",")
        return
    with atomic_file(path) as file:
        WRITERS[suffix_of(Path(path))](file, columns)


def _write_text(file: IO[bytes], columns: Mapping[str, NDArray[Any]], delimiter: str) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_cells(column) for column in columns.values())))
    text.flush()
    text.detach()


def _cells(column: NDArray[Any]) -> list[str]:
    """The entries as text: the shortest digits that give the same float32 or float64 back.

    A spreadsheet would execute text that looks like a formula, so an apostrophe is put in front of it; `read_map` removes it.
    """
    cells: list[str] = column.astype(str).tolist()
    if column.dtype.kind in "biuf":
        return cells
    return ["'" + cell if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell for cell in cells]


def _without_apostrophes(names: NDArray[Any] | None) -> NDArray[Any] | None:
    """Names or labels as they were before `_cells` wrote them."""
    if names is None or names.dtype.kind not in "UO":
        return names
    cells = [
        n[1:] if isinstance(n, str) and n[:1] == "'" and _FORMULA.match(n[1:]) else n for n in names.tolist()
    ]
    return np.array(cells, dtype=names.dtype)


def _write_npz(file: IO[bytes], columns: Mapping[str, NDArray[Any]]) -> None:
    np.savez_compressed(file, allow_pickle=False, **columns)


def _write_parquet(file: IO[bytes], columns: Mapping[str, NDArray[Any]]) -> None:
    pyarrow = require_pyarrow("Writing a parquet file")
    arrays = {
        name: pyarrow.array(column.tolist() if column.dtype.kind in "US" else column)
        for name, column in columns.items()
    }
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)


def require_pyarrow(purpose: str) -> Any:
    """The package pyarrow, or an error that says how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("pyarrow", "parquet", purpose) from error
    return pyarrow


# Suffixes of files of columns that can be written; of a map there are npy and h5ad too.
WRITERS: dict[str, Callable[[IO[bytes], Mapping[str, NDArray[Any]]], None]] = {
    ".parquet": _write_parquet,
    ".csv": lambda file, columns: _write_text(file, columns, ","),
    ".tsv": lambda file, columns: _write_text(file, columns, "\t"),
    ".npz": _write_npz,
}
MAP_SUFFIXES = (*WRITERS, ".npy", ".h5ad")
