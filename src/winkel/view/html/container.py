"""Named arrays as compressed bytes, and bytes as text for an HTML file.

One part of a page is zlib-compressed:

    "WKX1"  u32 length of the header  header (JSON: {"meta": …, "arrays": [{name, type, shape, filter, offset}]})  arrays

Numbers are little-endian. A filter rearranges an array of integers so that it compresses better:

    plain    as it is
    planes   all lowest bytes, then all second ones, …
    delta    differences along the last axis, folded to positive numbers (0, −1, 1, −2, … are 0, 1, 2, 3, …), then planes
    time     differences along the first axis, whose first entry is a delta along the last one, then as above
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"WKX1"
_TYPES = {"u1": "u8", "u2": "u16", "u4": "u32", "i4": "i32", "f4": "f32", "f8": "f64"}

# 85 printable characters, none of which means anything in HTML, CSS or JavaScript text.
ALPHABET = "!#$%()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|"
_CODES = np.frombuffer(ALPHABET.encode("ascii"), dtype=np.uint8)


class Part:
    """Arrays of one part of a page, collected by name."""

    def __init__(self, meta: Mapping[str, Any] | None = None) -> None:
        self.meta: dict[str, Any] = dict(meta or {})
        self._arrays: list[dict[str, Any]] = []
        self._bytes: list[bytes] = []
        self._size = 0

    def add(self, name: str, array: NDArray[Any], filter: str = "plain") -> str:
        """Put an array into the part; returns its name."""
        array = np.ascontiguousarray(array)
        code = _TYPES[array.dtype.str[1:]]
        data = _filtered(array, filter)
        self._arrays.append(
            {"name": name, "type": code, "shape": array.shape, "filter": filter, "offset": self._size}
        )
        padding = -len(data) % 8  # so that every array starts where its type needs it
        self._bytes += [data, bytes(padding)]
        self._size += len(data) + padding
        return name

    def pack(self, level: int = 6) -> bytes:
        """The compressed bytes of the whole part."""
        header = json.dumps({"meta": self.meta, "arrays": self._arrays}, separators=(",", ":")).encode()
        header += b" " * (-(8 + len(header)) % 8)
        length = len(header).to_bytes(4, "little")
        return zlib.compress(b"".join([MAGIC, length, header, *self._bytes]), level)


def _filtered(array: NDArray[Any], filter: str) -> bytes:
    if filter == "delta":
        array = _folded(np.diff(array, axis=-1, prepend=array.dtype.type(0)))
    elif filter == "time":
        moved = np.diff(array, axis=0)
        first = np.diff(array[:1], axis=-1, prepend=array.dtype.type(0))
        array = _folded(np.concatenate([first, moved]))
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if filter == "plain":
        return little.tobytes()
    return little.reshape(-1, 1).view(np.uint8).T.tobytes()


def _folded(difference: NDArray[Any]) -> NDArray[Any]:
    """Differences modulo the unsigned type, with those near zero of either sign as small numbers."""
    signed = difference.view(f"i{difference.itemsize}")
    bits = 8 * difference.itemsize
    return ((signed << 1) ^ (signed >> (bits - 1))).view(difference.dtype)


def to_text(data: bytes) -> str:
    """Bytes as text in `ALPHABET`, five characters for four bytes; the length comes first, followed by a space."""
    padded = np.frombuffer(data + bytes(-len(data) % 4), dtype=">u4").astype(np.uint32)
    digits = np.empty((len(padded), 5), dtype=np.uint8)
    for place in range(4, -1, -1):
        padded, digits[:, place] = np.divmod(padded, np.uint32(85))
    return f"{len(data)} {_CODES[digits].tobytes().decode('ascii')}"
