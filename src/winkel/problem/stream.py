"""Pairs that need not fit in memory: streams that return them batch by batch, from arrays, files or a function.

A batch is a pure function of (t, size, seed). Within a pass, every pair appears in exactly one batch; each pass has
its own random order if the source allows it; and any batch can be requested at any time.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import integer
from ..errors import InvalidInputError, InvalidParameterError
from ..run import Stream
from ..typing import FloatArray, IntArray

Chunk: TypeAlias = Any  # an array of pairs, or a tuple of it and vectors with one entry a pair

BLOCK = 256  # neighbouring pairs read together from a file: about a page or two
_LOCAL_HEADER = 30  # bytes before the name of a member in a zip file
_SCAN = 1 << 18  # pairs looked at together when a whole source is passed over


@dataclass(frozen=True)
class EdgeBatch:
    """Some of the pairs, shape (b, 2), and the vectors that come with them, one entry per pair."""

    edges: IntArray
    data: tuple[NDArray[Any], ...] = ()


class EdgeStream(Protocol):
    """A source of pairs."""

    @property
    def n_items(self) -> int:
        """The number of items."""

    @property
    def n_pairs(self) -> int:
        """The number of pairs in one pass."""

    def n_batches(self, size: int, /) -> int:
        """The number of batches of about `size` pairs that make one pass."""

    def batch(self, t: int, size: int, seed: int, /) -> EdgeBatch:
        """Batch t of an endless sequence of passes."""


class ArrayStream:
    """Pairs in arrays, in memory or mapped from files, in a random order.

    Parameters
    ----------
    edges : array of int, shape (p, 2)
        The pairs.
    *data : arrays of shape (p,)
        Vectors that come with the pairs, such as weights or deviations.
    n_items : int or None, default=None
        The number of items; None takes the largest in `edges`, plus one.
    block : int, default=1
        Number of consecutive pairs that are drawn together: 1 for arrays in memory, more for files, since a disk reads whole pages.

    Examples
    --------
    >>> from winkel.problem import ArrayStream
    >>> stream = ArrayStream([[0, 1], [1, 2], [2, 3], [3, 4]], [1.0, 2.0, 3.0, 4.0])
    >>> stream.n_batches(2)
    2
    >>> stream.batch(0, size=2, seed=0).edges.shape
    (2, 2)
    """

    def __init__(
        self, edges: ArrayLike, *data: ArrayLike, n_items: int | None = None, block: int = 1
    ) -> None:
        self._edges = _pairs(edges)
        self._data = tuple(np.asanyarray(column) for column in data)
        _check_data(self._edges, self._data)
        self._block = integer("block", block, 1)
        self._n_items = _largest(self._edges) + 1 if n_items is None else int(n_items)
        self._order: tuple[tuple[int, int], IntArray] | None = None

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self._n_items

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self._edges)

    def n_batches(self, size: int) -> int:
        """The number of batches of at most about `size` pairs that make one pass."""
        return min(pieces(self.n_pairs, size), self._n_blocks)

    def batch(self, t: int, size: int, seed: int) -> EdgeBatch:
        """Batch t, its pairs in the order of the arrays."""
        epoch, part = divmod(t, self.n_batches(size))
        low, high = cut(self._n_blocks, self.n_batches(size), part)
        blocks = np.sort(self._blocks(epoch, seed)[low:high])
        rows = (blocks[:, None] * self._block + np.arange(self._block)).ravel()
        rows = rows[rows < self.n_pairs]
        return EdgeBatch(np.asarray(self._edges[rows]), tuple(np.asarray(d[rows]) for d in self._data))

    @property
    def _n_blocks(self) -> int:
        return -(-self.n_pairs // self._block)

    def _blocks(self, epoch: int, seed: int) -> IntArray:
        """The order of the blocks in a pass; that of the last pass asked for is kept."""
        key = (epoch, seed)
        if self._order is None or self._order[0] != key:
            self._order = (key, _shuffled(self._n_blocks, epoch, seed))
        return self._order[1]


class ChunkStream:
    """Pairs that a function makes chunk by chunk: read from somewhere, received, or computed.

    A chunk is an array of pairs, or a tuple of such an array and vectors with one entry per pair. Batches are cut
    from the chunks as they come, so there is never more than one batch and one chunk in memory. A batch should be like a random
    sample of all pairs; so if the order of the pairs is fixed, it should not be sorted.

    Parameters
    ----------
    chunks : callable
        Without `n_chunks`, `chunks()` returns an iterable of chunks, always the same ones, which each pass goes through in
        order. With `n_chunks`, `chunks(k)` returns chunk k, and each pass has its own random order.
    n_items : int
        The number of items.
    n_pairs : int or None, default=None
        The number of pairs; None counts them in one pass.
    n_chunks : int or None, default=None
        The number of chunks, if they can be made in any order.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.problem import ChunkStream
    >>> stream = ChunkStream(lambda k: np.array([[k, k + 1], [k, k + 2]]), n_items=12, n_chunks=10)
    >>> stream.n_pairs
    20
    """

    def __init__(
        self,
        chunks: Callable[..., Any],
        *,
        n_items: int,
        n_pairs: int | None = None,
        n_chunks: int | None = None,
    ) -> None:
        if not callable(chunks):
            raise InvalidParameterError(
                "chunks must be a function that returns chunks of pairs, so that each pass can start again; "
                f"got {type(chunks).__name__}. Wrap a list as `lambda: the_list`."
            )
        self._chunks = chunks
        self._n_chunks = n_chunks
        self._n_items = int(n_items)
        self._cursor: tuple[tuple[int, int], _Cursor] | None = None
        self._n_pairs = (
            sum(len(chunk.edges) for chunk in self._pass(0, 0)) if n_pairs is None else int(n_pairs)
        )
        if self._n_pairs < 1:
            raise InvalidInputError("The chunks hold no pairs; at least one is needed.")

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self._n_items

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return self._n_pairs

    def n_batches(self, size: int) -> int:
        """The number of batches of at most `size` pairs that make one pass."""
        return pieces(self.n_pairs, size)

    def batch(self, t: int, size: int, seed: int) -> EdgeBatch:
        """Batch t; fastest if batches are requested in order."""
        epoch, part = divmod(t, self.n_batches(size))
        low, high = cut(self.n_pairs, self.n_batches(size), part)
        key = (epoch, seed)
        if self._cursor is None or self._cursor[0] != key or self._cursor[1].begin > low:
            self._cursor = (key, _Cursor(self._pass(epoch, seed)))
        return self._cursor[1].read(low, high, self.n_pairs)

    def _pass(self, epoch: int, seed: int) -> Iterator[EdgeBatch]:
        made: Iterable[Chunk]
        if self._n_chunks is None:
            made = self._chunks()
        else:
            made = (self._chunks(int(k)) for k in _shuffled(self._n_chunks, epoch, seed))
        return (_as_batch(chunk) for chunk in made)


class _Cursor:
    """One pass over chunks, read forwards; `begin` is the first pair that can still be read."""

    def __init__(self, chunks: Iterator[EdgeBatch]) -> None:
        self._chunks = chunks
        self._held = EdgeBatch(np.empty((0, 2), np.int64))
        self.begin = 0

    def read(self, low: int, high: int, n_pairs: int) -> EdgeBatch:
        """The pairs from `low` to before `high` of the pass."""
        found: list[EdgeBatch] = []
        while True:
            end = self.begin + len(self._held.edges)
            if low < end:
                found.append(_slice(self._held, max(low - self.begin, 0), high - self.begin))
            if high <= end:
                return _joined(found)
            self.begin, self._held = end, self._next(end, n_pairs)

    def _next(self, end: int, n_pairs: int) -> EdgeBatch:
        for chunk in self._chunks:
            return chunk
        raise InvalidInputError(
            f"The chunks of a pass ended after {end} pairs; n_pairs={n_pairs}. Each pass must give the same pairs."
        )


def pieces(n: int, size: int) -> int:
    """The smallest number of pieces into which n things can be divided if no piece is longer than `size`."""
    return math.ceil(n / integer("batch_size", size, 1))


def cut(n: int, count: int, part: int) -> tuple[int, int]:
    """Begin and end of piece `part`, if n things are divided into `count` pieces that are as equal as possible."""
    return part * n // count, (part + 1) * n // count


def _shuffled(n: int, epoch: int, seed: int) -> IntArray:
    return Stream.named(seed, f"pass {epoch}").permutation(n)


def _pairs(edges: ArrayLike) -> IntArray:
    """Pairs as an array, which stays memory-mapped if it was; item numbers are checked batch by batch."""
    array = np.asanyarray(edges)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(
            "edges must be an integer array of shape (p, 2) with at least one pair; "
            f"got an array of {array.dtype}, shape {array.shape}."
        )
    return array


def _check_data(edges: IntArray, data: tuple[FloatArray, ...]) -> None:
    for column in data:
        if column.shape != (len(edges),):
            raise InvalidInputError(
                f"Vectors that come with pairs must have one entry per pair, shape ({len(edges)},); "
                f"got shape {column.shape}."
            )


def _largest(edges: IntArray) -> int:
    return max(int(edges[k : k + _SCAN].max()) for k in range(0, len(edges), _SCAN))


def _as_batch(chunk: Chunk) -> EdgeBatch:
    edges, *data = chunk if isinstance(chunk, tuple) else (chunk,)
    batch = EdgeBatch(_pairs(edges), tuple(np.asarray(column) for column in data))
    _check_data(batch.edges, batch.data)
    return batch


def _slice(batch: EdgeBatch, low: int, high: int) -> EdgeBatch:
    return EdgeBatch(batch.edges[low:high], tuple(column[low:high] for column in batch.data))


def _joined(batches: list[EdgeBatch]) -> EdgeBatch:
    if len({len(batch.data) for batch in batches}) > 1:
        raise InvalidInputError("Every chunk must come with as many vectors as the others.")
    data = zip(*(batch.data for batch in batches), strict=True)
    return EdgeBatch(
        np.concatenate([batch.edges for batch in batches]), tuple(np.concatenate(column) for column in data)
    )


# ------------------------------------------------------------------------------------------------ files


def open_edges(
    path: str | os.PathLike[str],
    *data: str | os.PathLike[str],
    n_items: int | None = None,
    block: int = BLOCK,
) -> ArrayStream:
    """The stream of the pairs in a file, which is memory-mapped and never read as a whole.

    Parameters
    ----------
    path : path
        A .npy file of the pairs, shape (p, 2), or an .npz file written by `np.savez` without compression that holds them as
        `edges`.
    *data : path or str
        Further .npy files with one entry per pair, such as weights or deviations; for an .npz file, names of arrays in it.
    n_items : int or None, default=None
        The number of items; None takes the largest in the file, plus one.
    block : int, default=256
        Number of consecutive pairs that are read together.

    Returns
    -------
    ArrayStream
        The stream.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from winkel.problem import open_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "pairs.npz")
    ...     np.savez(file, edges=np.array([[0, 1], [1, 2]]), weights=np.array([1.0, 2.0]))
    ...     open_edges(file, "weights").n_pairs
    2
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
            f"{str(path)!r} is not a .npy file of numbers ({error}). Write it with np.save."
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
            "Write the file with np.savez, not np.savez_compressed."
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
