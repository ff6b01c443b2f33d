"""The single-file container for models, embeddings, graphs and checkpoints: only numbers and text, never code.

Layout, all integers little-endian:

    0    8   magic  89 "winkel" 0A
    8    4   format version            12   4   reserved, zero
    16   8   bytes of the header       24   8   bytes of the whole file
    32   header, JSON: kind, winkel, meta, arrays = [{name, dtype, shape, offset, nbytes, stored, codec}, ...]
    ...  each array, C order, at the next multiple of 64, in the order of the table
    -32  BLAKE2b-256 of everything before it

The first 32 bytes keep their meaning in every format version. Reading checks sizes against the file before
anything is allocated, the checksum before anything is interpreted, and the table before anything is decoded.
A checksum finds accidents; the other checks also protect against forged files.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import struct
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..checks import existing_file, new_file, plain_json
from ..errors import InvalidParameterError, ModelFileError, UnwritableFileError, WinkelError
from ..run import available_memory, check_memory, format_memory, telling_of_memory

FORMAT = 1
_MAGIC = b"\x89winkel\n"
_PROLOGUE = struct.Struct("<8sIIQQ")
_CHECKSUM = 32
_ALIGN = 64
_CHUNK = 1 << 20
_MAX_DIMENSIONS = 32
_MAX_DEPTH = (
    64  # of lists and dicts in one another, far from where Python's own limit would end in other errors
)
_MAX_RATIO = 1040  # DEFLATE cannot shrink more than 1032 : 1; a table that says otherwise is false
_KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NUMERIC = frozenset(
    ("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16")
)
_TEXT = re.compile(r"<U[1-9][0-9]{0,6}|\|S[1-9][0-9]{0,6}")
_ENTRY = {"name": str, "dtype": str, "shape": list, "offset": int, "nbytes": int, "stored": int, "codec": str}


@dataclass(frozen=True, eq=False)
class Archive:
    """The content of a file: its kind, the winkel version that wrote it, JSON values and read-only arrays."""

    kind: str
    version: str
    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


# ---------------------------------------------------------------------------------------------------- writing


@telling_of_memory(
    "Writing the file", "Close other programs that use memory; an existing file was not changed."
)
def write_archive(
    path: str | os.PathLike[str],
    kind: str,
    meta: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    compress: bool = True,
) -> None:
    """Write `meta` and `arrays` to `path`, all or nothing: an older file stays until the new one is complete."""
    if not _KIND.fullmatch(kind):
        raise InvalidParameterError(f"kind must be a lower-case word of at most 64 letters; got {kind!r}.")
    table: list[dict[str, Any]] = []
    blobs: list[bytes | memoryview] = []
    for name, array in arrays.items():
        entry, blob = _encode(name, array, compress)
        table.append(entry)
        blobs.append(blob)
    values = plain_json(meta, "meta")
    if _too_deep(values):
        raise InvalidParameterError(
            f"meta has lists or dicts more than {_MAX_DEPTH} deep, too deep to be saved."
        )
    header, total = _layout(kind, values, table)
    checksum = hashlib.blake2b(digest_size=_CHECKSUM)
    with atomic_file(path) as file:

        def put(data: bytes | memoryview) -> None:
            checksum.update(data)
            file.write(data)

        put(_PROLOGUE.pack(_MAGIC, FORMAT, 0, len(header), total))
        put(header)
        for entry, blob in zip(table, blobs):
            put(bytes(entry["offset"] - file.tell()))
            put(blob)
        file.write(checksum.digest())


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that replaces `path` if the block ends without an error, and is deleted otherwise."""
    target = new_file("path", path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        _remove(temporary)
        if isinstance(error, WinkelError):
            raise
        raise UnwritableFileError(
            error.errno,
            f"{str(target)!r} could not be written ({error.strerror or error}); an existing file was not changed",
        ) from error
    except BaseException:
        _remove(temporary)
        raise


def _remove(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def _encode(name: str, array: NDArray[Any], compress: bool) -> tuple[dict[str, Any], bytes | memoryview]:
    """The table entry of an array, its offset still open, and the bytes to store."""
    array = np.asarray(array)
    little = array.dtype.newbyteorder("<")
    if not _allowed(little.str):
        raise InvalidParameterError(
            f"Array {name!r} has dtype {array.dtype}, which a model file cannot hold; allowed are booleans, "
            "integers, floats up to 64 bits, complex numbers up to 128 bits, and fixed-width text or bytes."
        )
    if array.ndim > _MAX_DIMENSIONS:
        raise InvalidParameterError(
            f"Array {name!r} has {array.ndim} dimensions; at most {_MAX_DIMENSIONS} can be saved."
        )
    raw = (
        memoryview(np.ascontiguousarray(array, dtype=little).reshape(-1).view(np.uint8))
        if array.size
        else b""
    )
    stored = _squeeze(raw) if compress else raw
    entry = {
        "name": name,
        "dtype": little.str,
        "shape": list(array.shape),
        "offset": 0,
        "nbytes": len(raw),
        "stored": len(stored),
        "codec": "raw" if stored is raw else "zlib",
    }
    return entry, stored


def _squeeze(raw: bytes | memoryview) -> bytes | memoryview:
    """The compressed bytes if a sample shows that compression saves space, otherwise the bytes themselves."""
    if len(raw) < 4096 or len(zlib.compress(raw[: 1 << 16], 1)) > 0.8 * min(len(raw), 1 << 16):
        return raw
    packed = zlib.compress(raw, 4)
    return packed if len(packed) < len(raw) else raw


def _layout(kind: str, meta: Any, table: list[dict[str, Any]]) -> tuple[bytes, int]:
    """The header with every offset filled in, and the size of the whole file.

    Offsets depend on the length of the header that contains them. They only grow with it, so the loop ends.
    """
    header = b""
    while True:
        end = _PROLOGUE.size + len(header)
        for entry in table:
            entry["offset"] = _aligned(end)
            end = entry["offset"] + entry["stored"]
        content = {"kind": kind, "winkel": __version__, "meta": meta, "arrays": table}
        text = json.dumps(content, separators=(",", ":")).encode("ascii")
        if len(text) <= len(header):
            return text.ljust(len(header)), end + _CHECKSUM
        header = text


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, list | dict)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _aligned(position: int) -> int:
    return -(-position // _ALIGN) * _ALIGN


def _allowed(dtype: str) -> bool:
    return dtype in _NUMERIC or _TEXT.fullmatch(dtype) is not None


# ---------------------------------------------------------------------------------------------------- reading


@telling_of_memory(
    "Reading the file", "Close other programs that use memory, or use a computer with more memory."
)
def read_archive(
    path: str | os.PathLike[str], *, kind: str | None = None, max_memory: int | None = None
) -> Archive:
    """The content of the file at `path`, completely checked; a file that cannot be trusted raises ModelFileError.

    Arrays that would need more than `max_memory` bytes, or more memory than this computer has free, are not decompressed.
    """
    with existing_file("path", path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        header_size = _check_prologue(file, size, path)
        _check_sum(file, size, path)
        header = _read_header(file, header_size, path)
        if kind is not None and header["kind"] != kind:
            raise ModelFileError(
                f"{_name(path)} holds a winkel {header['kind']!r}, where a {kind!r} was expected."
            )
        _check_table(header["arrays"], _PROLOGUE.size + header_size, size - _CHECKSUM, path)
        check_memory(
            sum(entry["nbytes"] for entry in header["arrays"]),
            available_memory() if max_memory is None else max_memory,
            f"Reading {_name(path)} ({format_memory(size)})",
            "Raise max_memory if you trust the file.",
        )
        arrays = {entry["name"]: _decode(file, entry, path) for entry in header["arrays"]}
    return Archive(header["kind"], header["winkel"], header["meta"], arrays)


def _name(path: str | os.PathLike[str]) -> str:
    return repr(os.fspath(path))


def _damaged(path: str | os.PathLike[str], what: str) -> ModelFileError:
    return ModelFileError(
        f"{_name(path)} is damaged: {what}. Nothing was loaded; use a backup of the file, or write it again."
    )


def _check_prologue(file: BinaryIO, size: int, path: str | os.PathLike[str]) -> int:
    """The size of the header, after a check of magic, format version and sizes."""
    start = file.read(_PROLOGUE.size)
    if start[: len(_MAGIC)] != _MAGIC[: len(start)] or not start:
        raise ModelFileError(
            f"{_name(path)} is not a winkel file: it does not begin as files written by save() do. "
            "Check the path; data tables are read with winkel.data.read."
        )
    if len(start) < _PROLOGUE.size:
        raise _truncated(path, size, None)
    _, version, reserved, header_size, total = _PROLOGUE.unpack(start)
    if version > FORMAT:
        raise ModelFileError(
            f"{_name(path)} has format version {version}; this winkel ({__version__}) reads up to "
            f"version {FORMAT}. Load it with the winkel that wrote it, or upgrade: "
            "pip install --upgrade winkel."
        )
    if version < 1 or reserved != 0:
        raise _damaged(path, "its first bytes are not valid")
    if size < total:
        raise _truncated(path, size, total)
    if size > total:
        raise _damaged(path, f"it has {size} bytes and says that it has {total}")
    if header_size > total - _PROLOGUE.size - _CHECKSUM:
        raise _damaged(path, "its header does not fit into the file")
    return int(header_size)


def _truncated(path: str | os.PathLike[str], size: int, total: int | None) -> ModelFileError:
    of = "" if total is None else f" of {total}"
    return ModelFileError(
        f"{_name(path)} is truncated: it ends after {size}{of} bytes. A copy or download probably stopped "
        "early; get the file again."
    )


def _check_sum(file: BinaryIO, size: int, path: str | os.PathLike[str]) -> None:
    """Raise unless the last bytes are the checksum of all others."""
    file.seek(0)
    checksum = hashlib.blake2b(digest_size=_CHECKSUM)
    left = size - _CHECKSUM
    while left > 0:
        chunk = file.read(min(_CHUNK, left))
        if not chunk:
            raise _truncated(path, size - left, size)
        checksum.update(chunk)
        left -= len(chunk)
    if file.read(_CHECKSUM) != checksum.digest():
        raise _damaged(path, "its checksum does not match its content")


def _read_header(file: BinaryIO, size: int, path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header, after a check that it has its four parts."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key stands twice")
        return dict(pairs)

    file.seek(_PROLOGUE.size)
    try:
        header = json.loads(file.read(size).decode("ascii"), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"its header cannot be read ({error})") from None
    parts = {"kind": str, "winkel": str, "meta": dict, "arrays": list}
    if not _has_types(header, parts) or not _KIND.fullmatch(header["kind"]) or _too_deep(header["meta"]):
        raise _damaged(path, "its header has a missing or invalid part")
    return cast(dict[str, Any], header)


def _has_types(value: Any, types: Mapping[str, type]) -> bool:
    """Whether `value` is a dict with exactly these keys and types (a bool does not pass as an integer)."""
    return (
        isinstance(value, dict)
        and value.keys() == types.keys()
        and all(type(value[k]) is t for k, t in types.items())
    )


def _check_table(table: list[Any], start: int, end: int, path: str | os.PathLike[str]) -> None:
    """Raise unless the arrays are in order from `start` to `end`, each with the size that follows from its shape."""
    names: set[str] = set()
    for entry in table:
        if not _has_types(entry, _ENTRY) or entry["name"] in names or not _allowed(entry["dtype"]):
            raise _damaged(path, "its table of arrays has an invalid or repeated entry")
        names.add(entry["name"])
        shape, itemsize = entry["shape"], np.dtype(entry["dtype"]).itemsize
        if len(shape) > _MAX_DIMENSIONS or any(type(length) is not int or length < 0 for length in shape):
            raise _damaged(path, f"array {entry['name']!r} has an impossible shape")
        extent = math.prod(max(length, 1) for length in shape) * itemsize
        raw, nbytes, stored = entry["codec"] == "raw", entry["nbytes"], entry["stored"]
        sizes_agree = (
            stored == nbytes if raw else entry["codec"] == "zlib" and 0 < nbytes <= _MAX_RATIO * stored
        )
        if extent > sys.maxsize or nbytes != math.prod(shape) * itemsize or stored < 0 or not sizes_agree:
            raise _damaged(path, f"array {entry['name']!r} has a size that does not fit its shape")
        if entry["offset"] != _aligned(start) or entry["offset"] + stored > end:
            raise _damaged(path, f"array {entry['name']!r} is not at its correct position")
        start = entry["offset"] + stored
    if start != end:
        raise _damaged(path, "it holds bytes that belong to no array")


def _decode(file: BinaryIO, entry: dict[str, Any], path: str | os.PathLike[str]) -> NDArray[Any]:
    """One array of the checked table, read-only."""
    file.seek(entry["offset"])
    raw = np.empty(entry["stored"], dtype=np.uint8)
    if file.readinto(raw.data) != entry["stored"]:  # type: ignore[attr-defined]
        raise _damaged(path, "it changed while it was read")
    if entry["codec"] == "zlib":
        raw = _inflate(raw, entry, path)
    dtype = np.dtype(entry["dtype"])
    word, largest = {"b": ("<u1", 1), "U": ("<u4", 0x10FFFF)}.get(dtype.kind, ("<u1", 0xFF))
    if raw.size and raw.view(word).max() > largest:
        raise _damaged(path, f"array {entry['name']!r} holds values that its type does not have")
    array: NDArray[Any] = raw.view(dtype).reshape(entry["shape"]).astype(dtype.newbyteorder("="), copy=False)
    array.flags.writeable = False
    return array


def _inflate(
    raw: NDArray[np.uint8], entry: dict[str, Any], path: str | os.PathLike[str]
) -> NDArray[np.uint8]:
    """The bytes that `raw` was compressed from, never more than the table promised."""
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(raw.data, entry["nbytes"])
        beyond = stream.decompress(
            stream.unconsumed_tail, 1
        )  # reads the end mark, which may still be to come
    except zlib.error as error:
        raise _damaged(path, f"array {entry['name']!r} cannot be decompressed ({error})") from None
    if len(plain) != entry["nbytes"] or beyond or not stream.eof or stream.unused_data:
        raise _damaged(path, f"array {entry['name']!r} does not decompress to its size")
    return np.frombuffer(plain, dtype=np.uint8)
