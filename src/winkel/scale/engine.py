"""Where shards are worked on: in this process, or by the workers of a Dask cluster. What comes out is the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import InvalidParameterError

_AHEAD = 4  # tasks for each worker that may be under way or done and not yet fetched


class Engine(Protocol):
    """What carries out functions of shards. A function may be carried out again after a fault, to the same result."""

    @property
    def n_jobs(self) -> int:
        """Threads of one task."""

    def share(self, value: Any) -> Any:
        """What tasks are passed to have `value`: sent to each worker once."""

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        """function(item, *shared) for every item, in order."""


@dataclass(frozen=True)
class LocalEngine:
    """Shards one after another in this process, each by `n_jobs` threads."""

    n_jobs: int = 1

    def share(self, value: Any) -> Any:
        """The value itself."""
        return value

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        """function(item, *shared) for every item, in order."""
        return (function(item, *shared) for item in items)


@dataclass(frozen=True)
class DaskEngine:
    """Shards on the workers of a `distributed.Client`; each task takes `n_jobs` threads.

    Dask carries out again what a lost worker had under way, and what it held.
    """

    client: Any
    n_jobs: int = 1

    def share(self, value: Any) -> Any:
        """A future of the value, which every worker has."""
        return self.client.scatter(value, broadcast=True, hash=False)

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        """function(item, *shared) for every item, in order; some are worked on ahead."""
        waiting: deque[Any] = deque()
        most = max(2, _AHEAD * len(self.client.scheduler_info()["workers"]))
        try:
            for item in items:
                waiting.append(self.client.submit(function, item, *shared, pure=False))
                if len(waiting) >= most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def engine_of(client: Any, n_jobs: int) -> Engine:
    """The engine of a Dask client, or this process for None."""
    if client is None:
        return LocalEngine(n_jobs)
    if not (hasattr(client, "submit") and hasattr(client, "scatter")):
        raise InvalidParameterError(f"client must be None or a distributed.Client; got {client!r:.200}.")
    return DaskEngine(client)
