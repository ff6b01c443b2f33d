"""Pairs in .npy and .npz files, mapped and never read as a whole."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from .stream import ArrayStream

BLOCK = 256  # neighbouring pairs read together: about a page or two of a file
_LOCAL_HEADER = 30  # bytes before the name of a member in a zip file


def open_edges(
    path: str | os.PathLike[str],
    *data: str | os.PathLike[str],
    n_items: int | None = None,
    block: int = BLOCK,
) -> ArrayStream:
    """The stream of the pairs in a file.

    A .npy file holds the pairs, shape (p, 2), and `data` are further .npy files with one entry a pair, such
    as weights or deviations. An .npz file, written by `np.savez` without compression, holds the pairs as
    `edges`, and `data` are names of other arrays in it.
    """
    where = Path(path)
    if where.suffix == ".npz":
        return ArrayStream(
            _map_member(where, "edges"),
            *(_map_member(where, os.fspath(name)) for name in data),
            n_items=n_items,
            block=block,
        )
    return ArrayStream(_map(where), *(_map(Path(name)) for name in data), n_items=n_items, block=block)


def _map(path: Path) -> NDArray[Any]:
    try:
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise InvalidInputError(
            f"{str(path)!r} is not a .npy file of numbers ({error}). Write it by np.save."
        ) from None


def _map_member(path: Path, name: str) -> NDArray[Any]:
    """An array of an .npz file, mapped in place: members that are not compressed are .npy files one after the other."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [member.removesuffix(".npy") for member in archive.namelist()]
            if name not in names:
                raise InvalidInputError(f"{str(path)!r} has no array {name!r}; it has {', '.join(names)}.")
            member = archive.getinfo(f"{name}.npy")
    except zipfile.BadZipFile as error:
        raise InvalidInputError(f"{str(path)!r} is not an .npz file ({error}).") from None
    if member.compress_type != zipfile.ZIP_STORED:
        raise InvalidInputError(
            f"{name!r} in {str(path)!r} is compressed, so it cannot be mapped. "
            "Write the file by np.savez, not np.savez_compressed."
        )
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(_LOCAL_HEADER)
        skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        file.seek(skip, os.SEEK_CUR)
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(file)
        if dtype.hasobject:
            raise InvalidInputError(f"{name!r} in {str(path)!r} holds objects; numbers are needed.")
        return np.memmap(
            path, dtype=dtype, mode="r", offset=file.tell(), shape=shape, order="F" if fortran else "C"
        )
