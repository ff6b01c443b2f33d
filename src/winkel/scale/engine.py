"""Where shards are worked on: in this process, or by the workers of a Dask cluster. What comes out is the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import InvalidParameterError

_SHARED = 4  # arrays that tasks share, kept at a time
_AHEAD = 4  # tasks for each worker that may be under way or done and not yet fetched


class Engine(Protocol):
    """What carries out functions of shards. A function may be carried out again after a fault, to the same result."""

    @property
    def n_jobs(self) -> int:
        """Threads of one task."""

    def share(self, value: Any) -> Any:
        """What tasks are passed to have the array `value`; the last few are kept."""

    def close(self) -> None:
        """Leave nothing behind."""

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        """function(item, *shared) for every item, in order."""


@dataclass(frozen=True)
class LocalEngine:
    """Shards one after another in this process, each by `n_jobs` threads."""

    n_jobs: int = 1

    def share(self, value: Any) -> Any:
        """The value itself."""
        return value

    def close(self) -> None:
        """Nothing is left to do."""

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        """function(item, *shared) for every item, in order."""
        return (function(item, *shared) for item in items)


@dataclass(frozen=True)
class _OnDisk:
    """An array that tasks are to read from a file."""

    path: str

    def read(self) -> Any:
        return np.load(self.path, mmap_mode="r", allow_pickle=False)


def _carried_out(function: Callable[..., Any], item: Any, *shared: Any) -> Any:
    return function(item, *(each.read() if isinstance(each, _OnDisk) else each for each in shared))


@dataclass(eq=False)
class DaskEngine:
    """Shards on the workers of a `distributed.Client`; each task takes `n_jobs` threads.

    Dask carries out again what a lost worker had under way. What tasks share lies in `folder`, which all workers reach: no worker
    holds anything that would be lost with it.
    """

    client: Any
    folder: Path
    n_jobs: int = 1
    _written: deque[Path] = field(default_factory=deque, repr=False)
    _count: int = 0

    def share(self, value: Any) -> Any:
        """Where tasks read the value."""
        self._count += 1
        path = self.folder / f"shared-{self._count}.npy"
        np.save(path, value)
        self._written.append(path)
        while len(self._written) > _SHARED:
            self._written.popleft().unlink(missing_ok=True)
        return _OnDisk(str(path))

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        """function(item, *shared) for every item, in order; some are worked on ahead."""
        waiting: deque[Any] = deque()
        most = max(2, _AHEAD * len(self.client.scheduler_info()["workers"]))
        try:
            for item in items:
                waiting.append(self.client.submit(_carried_out, function, item, *shared, pure=False))
                if len(waiting) >= most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Delete what tasks shared."""
        while self._written:
            self._written.popleft().unlink(missing_ok=True)


def engine_of(client: Any, n_jobs: int, folder: Path) -> Engine:
    """The engine of a Dask client, or this process for None."""
    if client is None:
        return LocalEngine(n_jobs)
    if not (hasattr(client, "submit") and hasattr(client, "scatter")):
        raise InvalidParameterError(f"client must be None or a distributed.Client; got {client!r:.200}.")
    return DaskEngine(client, folder)
