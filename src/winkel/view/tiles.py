"""A map of millions in tiles: from far away the density of points, from close up the points themselves.

    map file ──> points in the order of a Z-curve ──> tiles: level z has 2^z × 2^z of them, each with 256 × 256 counts
                 counts of the first levels       ──> "density/z/x/y", "points/z/x/y" of the local server

Along a Z-curve, the points of every tile of every level are next to each other, so that a tile is a slice of a file. A folder of tiles is
made once, always with the same bytes, and made again if its map has changed.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.archive import atomic_file
from ..errors import InvalidInputError, missing_extra
from ..typing import FloatArray, IntArray

SIDE_BITS = 8  # a tile has 2^8 × 2^8 counts
BITS = 28  # of a coordinate along the curve
DEEPEST = BITS - SIDE_BITS  # level of the smallest tiles
MOST_POINTS = 65_536  # that one tile gives; where there are more, nobody could tell them apart
_MADE_LEVELS = 4  # levels of counts at most that are made beforehand: the last has 4096 × 4096
_TILE_POINTS = 50_000  # points of a tile at the last of them, if there are not more levels than that
_FORMAT, _RECORD, _MAP = 1, "tiles.json", "map.parquet"
_MARGIN = 0.01  # around the map, of its extent


@dataclass(frozen=True)
class Tiles:
    """The tiles in a folder: `n` points in a square with its lower left corner at `corner`."""

    folder: Path
    n: int
    corner: tuple[float, float]
    side: float
    levels: int  # whose counts were made beforehand

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Tiles:
        """The tiles that `make_tiles` wrote."""
        path = Path(os.fspath(folder))
        try:
            told = json.loads((path / _RECORD).read_text())
            x, y = told["corner"]
            return cls(path, int(told["n"]), (float(x), float(y)), float(told["side"]), int(told["levels"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(f"{str(path)!r} holds no tiles that can be read ({error}).") from error

    def told(self, title: str) -> dict[str, Any]:
        """The information that the page needs first."""
        return {
            "title": title,
            "n": self.n,
            "corner": self.corner,
            "side": self.side,
            "deepest": DEEPEST,
            "most": MOST_POINTS,
        }

    def density(self, z: int, x: int, y: int) -> bytes:
        """The number of points of a tile (8 bytes) and, if there are any, a byte for each of 256 × 256 places: 16 log₂(1 + count)."""
        counts = self._made(z, x, y) if z < self.levels else self._counted(z, x, y)
        total = int(counts.sum())
        head = struct.pack("<d", total)
        return (
            head + np.rint(np.minimum(16 * np.log2(1.0 + counts), 255)).astype(np.uint8).tobytes()
            if total
            else head
        )

    def points(self, z: int, x: int, y: int) -> bytes:
        """The number of points of a tile (8 bytes) and, if there are not too many, their places and rows, as float64, float32 and float32."""
        first, last = self._span(z, x, y)
        head = struct.pack("<d", last - first)
        if last - first > MOST_POINTS:
            return head
        places = np.ascontiguousarray(self._array("places")[first:last], dtype="<f4")
        rows = self._array("rows")[first:last].astype("<f8")
        return head + rows.tobytes() + places.tobytes()

    def _made(self, z: int, x: int, y: int) -> IntArray:
        """Counts of a tile that were made beforehand."""
        size = 1 << SIDE_BITS
        whole = self._array(f"counts-{z}")
        return np.array(whole[y * size : (y + 1) * size, x * size : (x + 1) * size], np.int64)

    def _counted(self, z: int, x: int, y: int) -> IntArray:
        """Counts of a tile from its points."""
        first, last = self._span(z, x, y)
        codes = np.array(self._array("codes")[first:last])
        codes >>= np.uint64(2 * (BITS - z - SIDE_BITS))
        size = 1 << SIDE_BITS
        place = (_compacted(codes >> np.uint64(1)) % size) * size + _compacted(codes) % size
        return np.bincount(place.astype(np.int64), minlength=size * size).reshape(size, size).astype(np.int64)

    def _span(self, z: int, x: int, y: int) -> tuple[int, int]:
        """First and last point of a tile along the curve."""
        shift = np.uint64(2 * (BITS - z))
        first = _interleaved(np.array([x], np.uint64), np.array([y], np.uint64))[0]
        ends = np.array([first << shift, ((first + np.uint64(1)) << shift)], np.uint64)
        begin, end = np.searchsorted(self._array("codes"), ends)
        return int(begin), int(end)

    def _array(self, name: str) -> Any:
        return np.load(self.folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)


def tiles_of(path: str | os.PathLike[str]) -> Tiles:
    """The tiles of a map file, or of the folder that `winkel embed` wrote; if there are none yet, they are made next to it.

    If nothing can be written there, they are made in a temporary folder.
    """
    given = Path(os.fspath(path))
    source = given / _MAP if given.is_dir() else given
    if not source.is_file():
        raise InvalidInputError(f"{str(given)!r} holds no map: {str(source)!r} does not exist.")
    target = given / "tiles" if given.is_dir() else given.with_name(f"{given.name}.tiles")
    if (target / _RECORD).is_file() and _identity(source) == _kept_identity(target):
        return Tiles.open(target)
    if not os.access(target.parent, os.W_OK):
        target = Path(tempfile.mkdtemp(prefix="winkel-")) / "tiles"
    return make_tiles(source, target)


def make_tiles(source: Path, target: Path) -> Tiles:
    """Write the tiles of a map file to a folder, all or nothing."""
    Y = _read(source)
    low, high = Y.min(axis=0).astype(np.float64), Y.max(axis=0).astype(np.float64)
    extent = float((high - low).max()) or 1.0
    side = extent * (1 + 2 * _MARGIN)
    corner = (low + high) / 2 - side / 2
    cell = np.floor((Y - corner) / side * 2.0**BITS).astype(np.uint64)
    codes = _interleaved(cell[:, 0], cell[:, 1])
    del cell
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    levels = int(np.clip(math.ceil(math.log(len(Y) / _TILE_POINTS, 4)), 0, _MADE_LEVELS)) + 1
    told = {
        "format": _FORMAT,
        "map": _identity(source),
        "n": len(Y),
        "corner": corner.tolist(),
        "side": side,
        "levels": levels,
    }
    made = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    made.mkdir(parents=True)
    try:
        for name, array in (("codes", codes), ("rows", order), ("places", Y[order]), *_counts(codes, levels)):
            with atomic_file(made / f"{name}.npy") as file:
                np.save(file, array)
        with atomic_file(made / _RECORD) as file:
            file.write(json.dumps(told).encode())
        shutil.rmtree(target, ignore_errors=True)
        made.replace(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return Tiles.open(target)


def _counts(codes: NDArray[np.uint64], levels: int) -> Iterator[tuple[str, Any]]:
    """Counts of every level, the last first."""
    size = 1 << (levels - 1 + SIDE_BITS)
    short = codes >> np.uint64(2 * (BITS - levels + 1 - SIDE_BITS))
    place = _compacted(short >> np.uint64(1)) * np.uint64(size) + _compacted(short)
    counts = np.bincount(place.astype(np.int64), minlength=size * size).reshape(size, size).astype(np.uint32)
    for z in reversed(range(levels)):
        yield f"counts-{z}", counts
        counts = counts[::2, ::2] + counts[1::2, ::2] + counts[::2, 1::2] + counts[1::2, 1::2]


def _interleaved(x: NDArray[np.uint64], y: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bits of x and y in turn, those of y before those of x."""
    return _spread(x) | (_spread(y) << np.uint64(1))


_STEPS = (
    (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333), (1, 0x5555555555555555),
)  # fmt: skip


def _spread(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A zero before every bit of 32."""
    out = bits.astype(np.uint64)
    for shift, mask in _STEPS:
        out = (out | (out << np.uint64(shift))) & np.uint64(mask)
    return out


def _compacted(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every second bit, from the last on."""
    out = bits & np.uint64(_STEPS[-1][1])
    for (shift, _), mask in zip(reversed(_STEPS), [*(mask for _, mask in reversed(_STEPS[:-1])), 0xFFFFFFFF]):
        out = (out | (out >> np.uint64(shift))) & np.uint64(mask)
    return out


def _read(source: Path) -> FloatArray:
    """The first two coordinates of all rows in single precision."""
    if source.suffix == ".npy":
        found = np.load(source, mmap_mode="r", allow_pickle=False)
        if found.ndim != 2 or found.shape[1] < 2:
            raise InvalidInputError(
                f"{source.name} must have rows of two coordinates; its shape is {found.shape}."
            )
        Y = np.array(found[:, :2], dtype=np.float32)
    elif source.suffix == ".parquet":
        Y = _read_parquet(source)
    else:
        raise InvalidInputError(f"Tiles can be made from .parquet and .npy files; got {source.name!r}.")
    if len(Y) == 0:
        raise InvalidInputError(f"{source.name} has no rows.")
    bad = np.flatnonzero(~np.isfinite(Y).all(axis=1))
    if len(bad):
        raise InvalidInputError(f"{source.name} has no place for row {bad[0]}: {Y[bad[0]].tolist()}.")
    return Y


def _read_parquet(source: Path) -> FloatArray:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "Reading parquet files") from None
    try:
        file = pq.ParquetFile(source)
        missing = [name for name in ("y1", "y2") if name not in file.schema_arrow.names]
        if missing:
            raise InvalidInputError(
                f"{source.name} has no column {missing[0]!r}; a map has columns y1 and y2."
            )
        Y = np.empty((file.metadata.num_rows, 2), dtype=np.float32)
        first = 0
        for batch in file.iter_batches(1 << 20, columns=["y1", "y2"]):
            for j, name in enumerate(("y1", "y2")):
                Y[first : first + len(batch), j] = batch.column(name).to_numpy(zero_copy_only=False)
            first += len(batch)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(f"{source.name} cannot be read as a parquet file: {error}.") from error
    return Y


def _identity(source: Path) -> list[int]:
    state = source.stat()
    return [_FORMAT, state.st_size, state.st_mtime_ns]


def _kept_identity(target: Path) -> Any:
    try:
        return json.loads((target / _RECORD).read_text()).get("map")
    except (OSError, ValueError):
        return None
