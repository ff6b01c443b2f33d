"""Where shards are worked on: in this process, or by the workers of a Dask cluster. What comes out is the same."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import InvalidParameterError, UnwritableFileError, WorkerError

_SHARED = 4  # arrays that tasks share, kept at a time
_AHEAD = 4  # tasks for each worker that may be under way or done and not yet fetched
PATIENCE = 120.0  # seconds without any worker after which a run ends
_LOOK, _FETCH = (
    5.0,
    600.0,
)  # seconds between two looks at the workers; and within which a result must be handed over
_GO_ON = "What was done is kept: the same call with the same folder goes on from there."


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

    Dask carries out again what a lost worker had under way, `distributed.scheduler.allowed-failures` times; where no worker is left
    for `patience` seconds, the work ends with an error. What tasks share lies in `folder`, which all workers reach: no worker
    holds anything that would be lost with it.
    """

    client: Any
    folder: Path
    n_jobs: int = 1
    patience: float = PATIENCE
    _written: deque[Path] = field(default_factory=deque, repr=False)
    _count: int = 0
    _token: str = field(default_factory=lambda: secrets.token_hex(4), repr=False)

    def share(self, value: Any) -> Any:
        """Where tasks read the value."""
        self._count += 1
        # A new name: a task of a client that is gone may still read what that one shared.
        path = self.folder / f"shared-{self._token}-{self._count}.npy"
        try:
            with explained(path):
                np.save(path, value)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        self._written.append(path)
        while len(self._written) > _SHARED:
            self._written.popleft().unlink(missing_ok=True)
        return _OnDisk(str(path))

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        """function(item, *shared) for every item, in order; some are worked on ahead."""
        waiting: deque[Any] = deque()
        most = max(2, _AHEAD * self._workers())
        try:
            for item in items:
                waiting.append(self.client.submit(_carried_out, function, item, *shared, pure=False))
                if len(waiting) >= most:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()

    def _result(self, future: Any) -> Any:
        """What a task gave, once it is there; an error where nobody is left to work on it."""
        from distributed import CancelledError, KilledWorker

        try:
            self._wait(future)
            return future.result(timeout=None if future.status == "error" else _FETCH)
        except KilledWorker as error:
            raise WorkerError(f"A task ended every worker that took it ({error}). {_GO_ON}") from error
        except CancelledError as error:
            raise WorkerError(f"The Dask scheduler was lost ({error}). {_GO_ON}") from error
        except TimeoutError as error:
            if future.status == "error":  # the task's own
                raise
            raise WorkerError(f"A Dask worker does not hand over what it found. {_GO_ON}") from error
        except OSError as error:  # the connection was closed while the answer was on its way
            if future.status == "error":
                raise
            raise WorkerError(f"The Dask scheduler was lost ({error}). {_GO_ON}") from error

    def _workers(self) -> int:
        """How many workers there are; an error where the scheduler does not say."""
        try:
            return len(self.client.nthreads())
        except (OSError, RuntimeError) as error:
            raise WorkerError(f"The Dask scheduler does not answer ({error}). {_GO_ON}") from error

    def _wait(self, future: Any) -> None:
        """Wait until a task has ended, as long as there is someone who may work on it."""
        from distributed import wait

        alone: float | None = None  # since when there has been no worker
        while True:
            with suppress(TimeoutError):
                wait([future], timeout=min(_LOOK, self.patience))
                return
            workers, now = self._workers(), time.monotonic()
            alone = None if workers else (alone or now)
            if alone is not None and now - alone >= self.patience:
                raise WorkerError(f"There has been no Dask worker for {now - alone:.0f} s. {_GO_ON}")

    def close(self) -> None:
        """Delete what tasks shared."""
        while self._written:
            self._written.popleft().unlink(missing_ok=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """A block that writes a file, whose errors say which, and how to go on."""
    try:
        yield
    except OSError as error:
        if isinstance(error, UnwritableFileError):
            raise
        raise UnwritableFileError(
            error.errno,
            f"{str(path)!r} could not be written ({error.strerror or error}); make room, and repeat the call with the same folder "
            "to go on",
        ) from error


def engine_of(client: Any, n_jobs: int, folder: Path) -> Engine:
    """The engine of a Dask client, or this process for None."""
    if client is None:
        return LocalEngine(n_jobs)
    if not (hasattr(client, "submit") and hasattr(client, "scatter")):
        raise InvalidParameterError(f"client must be None or a distributed.Client; got {client!r:.200}.")
    return DaskEngine(client, folder)
