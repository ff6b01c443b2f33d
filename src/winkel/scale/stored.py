"""Arrays in files that are read in parts: .npy, h5ad and zarr; dense, or compressed sparse rows in the form that AnnData writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..data.annotated import split_key
from ..errors import InvalidInputError, InvalidParameterError, MissingFileError, WinkelError, missing_extra

SUFFIXES = (".npy", ".h5ad", ".zarr")


@contextmanager
def opened(path: str, key: str | None) -> Iterator[Any]:
    """The array named `key` in a file, open during the block: it has shape and dtype, and a slice of it gives rows."""
    suffix = Path(path).suffix
    with ExitStack() as stack:
        try:
            if suffix == ".npy":
                array = _mapped(path, key)
            elif suffix == ".h5ad":
                array = _array(stack.enter_context(_h5(path)), path_within(key, path), path)
            else:
                array = _array(_zarr(path), key, path)
        except WinkelError:
            raise
        except Exception as error:  # h5py and zarr raise most kinds for broken files
            raise InvalidInputError(
                f"{path!r} cannot be read as {suffix[1:]}: {str(error) or type(error).__name__}."
            ) from error
        yield array


def path_within(key: str | None, path: str) -> str:
    """The path in an h5ad file of the rows named by a key such as "X", "X_pca", "obsm/X_pca" or "layers/counts"."""
    use_rep, layer = split_key(key, path)
    if layer is not None:
        return f"layers/{layer}"
    return "X" if use_rep in (None, "X") else f"obsm/{use_rep}"


def _mapped(path: str, key: str | None) -> Any:
    if key is not None:
        raise InvalidParameterError(f"key names an array of an h5ad file or a zarr store; got {path!r}.")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidInputError(f"{path!r} cannot be read as a NumPy file: {error}.") from error


def _h5(path: str) -> Any:
    try:
        import h5py
    except ImportError:
        raise missing_extra("h5py", "anndata", "Reading an h5ad file") from None
    return h5py.File(path, "r")


def _zarr(path: str) -> Any:
    try:
        import zarr
    except ImportError:
        raise missing_extra("zarr", "zarr", "Reading a zarr store") from None
    return zarr.open(path, mode="r")


def _array(root: Any, key: str | None, path: str) -> Any:
    """The array at a key; without one the root itself, or its X."""
    if key is None and hasattr(root, "dtype"):
        return root
    within = "X" if key is None else key
    if hasattr(root, "dtype") or within not in root:
        names = "one array and no others" if hasattr(root, "dtype") else ", ".join(map(repr, _names(root)))
        raise InvalidParameterError(f"key={within!r} is not in {path!r}, which has: {names or 'nothing'}.")
    found = root[within]
    if hasattr(found, "dtype"):
        return found
    kind = found.attrs.get("encoding-type")
    if kind != "csr_matrix":
        raise InvalidInputError(
            f"{within!r} in {path!r} is {kind or 'a group'}; rows can be read from an array or from compressed sparse rows "
            "(csr_matrix). Write it again as one of these."
        )
    return SparseRows(found)


def _names(root: Any) -> list[str]:
    """Arrays and groups one and two levels down."""
    return [
        path
        for name in root
        for path in ((name,) if hasattr(root[name], "dtype") else [f"{name}/{inner}" for inner in root[name]])
    ]


class SparseRows:
    """Compressed sparse rows on disk; a slice of them is a matrix in memory."""

    ndim = 2

    def __init__(self, group: Any) -> None:
        self._group = group
        self.shape = tuple(int(length) for length in group.attrs["shape"])
        self.dtype = group["data"].dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> csr_matrix:
        begin, end, _ = rows.indices(self.shape[0])
        starts = np.asarray(self._group["indptr"][begin : end + 1], dtype=np.int64)
        part = slice(int(starts[0]), int(starts[-1]))
        values, columns = (np.asarray(self._group[name][part]) for name in ("data", "indices"))
        return csr_matrix((values, columns, starts - starts[0]), shape=(end - begin, self.shape[1]))


def identity_of(files: Sequence[str]) -> str:
    """Names, sizes and times of files; for a folder, the total size and the time of the newest file."""
    return " ".join(f"{Path(file).resolve()} {_size_and_time(Path(file))}" for file in files)


def _size_and_time(path: Path) -> str:
    try:
        inside = path.rglob("*") if path.is_dir() else [path]
        states = [file.stat() for file in inside]
    except FileNotFoundError as error:
        raise MissingFileError(f"{str(error.filename)!r} does not exist.") from None
    newest = max((state.st_mtime_ns for state in states), default=0)
    return f"{sum(state.st_size for state in states)} {newest}"
