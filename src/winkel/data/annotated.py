"""AnnData objects and h5ad files: which of their arrays are the rows, and how maps are written back into them.

Only the requested array is read: for a file that is open in backed mode, the other arrays stay on disk.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataWarning, InvalidInputError, InvalidParameterError, WinkelError, missing_extra
from .frames import Parts, Pick, Selection, find_column, frame_of, is_a, pandas_frame, plain_column

COMPONENTS = "X_pca"  # where scanpy keeps principal components, from which it makes maps


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData object."""
    return is_a(X, "anndata", "AnnData")


def require_anndata(purpose: str) -> Any:
    """The package anndata, or an error that says how to install it."""
    try:
        import anndata
    except ImportError as error:
        raise missing_extra("anndata", "anndata", purpose) from error
    return anndata


def from_anndata(
    X: Any, selection: Selection, name: str, use_rep: str | None = None, layer: str | None = None
) -> Parts:
    """The selected parts of an AnnData object; ids, labels and kept columns are columns of its `obs`."""
    values, names = representation(X, use_rep, layer, name)
    label, given = (None if pick is None else obs_column(X, pick, what, name)
                    for pick, what in ((selection.label, "label"), (selection.id, "id")))  # fmt: skip
    kept = {str(pick): obs_column(X, pick, "keep", name) for pick in selection.keep or ()}
    if selection.columns is not None or selection.drop is not None:
        features = Selection(columns=selection.columns, drop=selection.drop)
        aside = features.aside(names, name)
        wanted = (
            [j for j in range(len(names)) if j not in aside]
            if selection.columns is None
            else [j for c in selection.columns if (j := find_column(names, c, "columns", name)) is not None]
        )
        values, names = values[:, wanted], tuple(names[j] for j in wanted)
    ids = plain_column(np.asarray(X.obs_names)) if given is None else given
    told = find_column(tuple(map(str, X.obs.columns)), selection.label, "label", f"{name}.obs")
    return Parts(
        values, ids, names, label, kept, label_name=None if told is None else str(X.obs.columns[told])
    )


def representation(X: Any, use_rep: str | None, layer: str | None, name: str) -> tuple[Any, tuple[str, ...]]:
    """The array named by `use_rep` (in `obsm`, or "X") or `layer`, otherwise `.X`; and the names of its columns."""
    if use_rep is not None and layer is not None:
        raise InvalidParameterError(
            f"use_rep={use_rep!r} and layer={layer!r} name two arrays of {name}; give one of them."
        )
    genes = tuple(map(str, X.var_names))
    if layer is not None:
        return _in_memory(_entry(X, "layers", layer, "layer", name)), genes
    if use_rep is not None and use_rep != "X":
        values = _entry(X, "obsm", use_rep, "use_rep", name)
        if hasattr(values, "columns"):
            return values.to_numpy(), tuple(map(str, values.columns))
        values = _in_memory(values)
        return values, tuple(f"{use_rep}{j + 1}" for j in range(values.shape[1] if values.ndim == 2 else 0))
    if X.X is None:
        stored = ", ".join(map(repr, X.obsm)) or "none"
        raise InvalidInputError(
            f"{name} is an AnnData object without X. Name one of its arrays by use_rep (obsm has: {stored})."
        )
    if use_rep is None and COMPONENTS in X.obsm:
        warnings.warn(
            f"{name} has {COMPONENTS}, but all {len(genes)} columns of its X are used. For {COMPONENTS}, pass "
            f'winkel.scverse.table(adata), or key="obsm/{COMPONENTS}" if you read a file (--key in the shell). To use X without this '
            'warning, say use_rep="X" or key="X".',
            DataWarning,
            stacklevel=6,
        )
    return _in_memory(X.X), genes


def obs_column(X: Any, wanted: Pick, what: str, name: str = "X") -> NDArray[Any]:
    """A column of `obs`, without Python objects."""
    return pandas_frame(X.obs).plain(wanted, what, f"{name}.obs")


def named_labels(X: Any, labels: Any, what: str = "labels", name: str = "X") -> Any:
    """`labels`; if it is text, the column of that name: of an AnnData object's `obs`, of a data frame, or one that a Table keeps."""
    if not isinstance(labels, str):
        return labels
    if is_anndata(X):
        return obs_column(X, labels, what, name)
    if (frame := frame_of(X, name)) is not None:
        return frame.plain(labels, what, name)
    kept = getattr(X, "kept", None)
    if not isinstance(kept, Mapping):
        raise InvalidParameterError(
            f"{what} must hold one label per row. The name of a column, {labels!r}, only works with a data frame, an AnnData object or a "
            f"table that keeps the column, but {name} is a {type(X).__name__}."
        )
    if labels == getattr(X, "label_name", None):
        return X.labels
    if labels not in kept:
        listed = ", ".join(map(repr, kept)) or "none"
        raise InvalidParameterError(
            f"{what}={labels!r} is not a column that the table keeps; the table keeps: {listed}."
        )
    return kept[labels]


def split_key(key: str | None, name: str) -> tuple[str | None, str | None]:
    """`use_rep` and `layer` for a key such as "obsm/X_pca", "layers/counts", "X" or "X_pca"."""
    if key is None:
        return None, None
    group, slash, entry = key.partition("/")
    if not slash:
        return key, None
    if group == "obsm" and entry:
        return entry, None
    if group == "layers" and entry:
        return None, entry
    raise InvalidParameterError(
        f"key={key!r} is not a table of {name}: use X, obsm/NAME or layers/NAME, such as obsm/X_pca."
    )


def _entry(X: Any, group: str, key: str, what: str, name: str) -> Any:
    stored = getattr(X, group)
    if key in stored:
        return stored[key]
    listed = ", ".join(map(repr, stored)) or "none"
    raise InvalidParameterError(f"{what}={key!r} is not in {name}.{group}, which has: {listed}.")


def _in_memory(values: Any) -> Any:
    """An array or sparse matrix in memory; arrays on disk are read."""
    if hasattr(values, "to_memory"):
        values = values.to_memory()
    return values if hasattr(values, "tocsr") else np.asarray(values)


@contextmanager
def opened_h5ad(file: Path) -> Any:
    """The AnnData object in a file, whose arrays stay on disk until they are read; closed at the end."""
    anndata = require_anndata("Reading an h5ad file")
    with _telling(file):
        content = anndata.read_h5ad(file, backed="r")
    try:
        with _telling(file):
            yield content
    finally:
        content.file.close()


@contextmanager
def _telling(file: Path) -> Any:
    """Turn any error that anndata and HDF5 raise for a broken file (fuzzing finds most kinds) into one error that names the file."""
    try:
        yield
    except WinkelError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{str(file)!r} cannot be read as an h5ad file: {str(error) or type(error).__name__}"
        ) from error


def add_to_h5ad(
    source: Path,
    part: str | os.PathLike[str],
    obsm: Mapping[str, NDArray[Any]],
    obs: Mapping[str, NDArray[Any]],
    uns: Mapping[str, Any],
) -> None:
    """Write the h5ad file `source`, with these entries added, to `part`; its matrices are copied as bytes, never loaded."""
    require_anndata("Writing an h5ad file")
    import h5py
    from anndata.io import read_elem, write_elem

    shutil.copyfile(source, part)
    with h5py.File(part, "r+") as file:
        for group, entries in (("obsm", obsm), ("uns", uns)):
            for key, value in entries.items():
                write_elem(file.require_group(group), key, value)
        if obs:
            frame = read_elem(file["obs"])
            for key, value in obs.items():
                frame[key] = value
            write_elem(file, "obs", frame)
