"""Where shards are processed: in this process, or by the workers of a Dask cluster. The results are the same."""

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
_GO_ON = "Finished work is kept: the same call with the same folder continues from there."


class Engine(Protocol):
    """Executes functions of shards. After a fault a function may be executed again, with the same result."""

    @property
    def n_jobs(self) -> int:
        """Threads of one task."""

    def share(self, value: Any) -> Any:
        """A handle with which tasks get the array `value`; the last few values are kept."""

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

    Dask repeats the tasks of a lost worker, `distributed.scheduler.allowed-failures` times. If there is no worker
    for `patience` seconds, the work ends with an error. Values that tasks share are in `folder`, which all workers can open, so no worker
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
        """The place where tasks read the value."""
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
        """function(item, *shared) for every item, in order; some items are processed ahead."""
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
        """The result of a task, once it is available; an error if no worker is left."""
        from distributed import CancelledError, KilledWorker

        try:
            self._wait(future)
            return future.result(timeout=None if future.status == "error" else _FETCH)
        except KilledWorker as error:
            raise WorkerError(f"A task crashed every worker that took it ({error}). {_GO_ON}") from error
        except CancelledError as error:
            raise WorkerError(f"The Dask scheduler was lost ({error}). {_GO_ON}") from error
        except TimeoutError as error:
            if future.status == "error":  # the task's own
                raise
            raise WorkerError(f"A Dask worker does not return its result. {_GO_ON}") from error
        except OSError as error:  # the connection was closed while the answer was on its way
            if future.status == "error":
                raise
            raise WorkerError(f"The Dask scheduler was lost ({error}). {_GO_ON}") from error

    def _workers(self) -> int:
        """The number of workers; an error if the scheduler does not answer."""
        try:
            return len(self.client.nthreads())
        except (OSError, RuntimeError) as error:
            raise WorkerError(f"The Dask scheduler does not answer ({error}). {_GO_ON}") from error

    def _wait(self, future: Any) -> None:
        """Wait until a task has ended, as long as there is a worker for it."""
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
        """Delete the shared values."""
        while self._written:
            self._written.popleft().unlink(missing_ok=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """A block that writes a file; its errors name the file and say how to continue."""
    try:
        yield
    except OSError as error:
        if isinstance(error, UnwritableFileError):
            raise
        raise UnwritableFileError(
            error.errno,
            f"{str(path)!r} could not be written ({error.strerror or error}); free some space, and repeat the call with the same folder "
            "to continue",
        ) from error


def engine_of(client: Any, n_jobs: int, folder: Path) -> Engine:
    """The engine of a Dask client, or this process for None."""
    if client is None:
        return LocalEngine(n_jobs)
    if not (hasattr(client, "submit") and hasattr(client, "scatter")):
        raise InvalidParameterError(f"client must be None or a distributed.Client; got {client!r:.200}.")
    return DaskEngine(client, folder)
