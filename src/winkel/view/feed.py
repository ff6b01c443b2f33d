"""A map as it forms, as server-sent events: the newest state is sent to every page that listens."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..solvers import IterationInfo, Status
from ..solvers.progress import Listener
from ..typing import FloatArray
from .layers import classes

MOST_POINTS = 200_000  # drawn while the map forms; of more rows every k-th is sent
_LEVELS = 65535  # a coordinate is sent as 16 bits of the extent of the map
_INTERVAL = 0.1  # seconds between two maps, for few points
_POINTS_A_SECOND = 500_000  # for many, so that telling costs a small part of the work
_POLL = 0.05
_STILL_HERE = 10.0


class Feed(Listener):
    """A callback of a fit that keeps the newest map for `events`; slow pages skip states."""

    def __init__(self, title: str, labels: ArrayLike | None = None) -> None:
        self._start = _event("start", {"title": title, **_label_parts(labels)})
        self._lock = threading.Lock()
        self._text = _event("state", {"stage": "preparing"})
        self._version = 1
        self._ended = False
        self._sent_at = -math.inf
        self._name = ""
        self._last: IterationInfo | None = None
        self._status = ""

    # ------------------------------------------------------------------------------------ from the fit

    def open(self, name: str, iteration: int, max_iter: int) -> None:
        self._name = name

    def end(self, info: IterationInfo) -> bool:
        """Keep the parts of this iteration that a page needs, unless the last state was sent only a moment ago."""
        self._last = info
        now = time.monotonic()
        if now - self._sent_at >= max(_INTERVAL, len(info.Y) / _POINTS_A_SECOND):
            self._sent_at = now
            self._put(self._state(info))
        return False

    def close(self, status: Status | None) -> None:
        self._status = "" if status is None else str(status)

    def finish(self) -> None:
        """The fit is done: send the last map and how the fit ended; listening ends after that."""
        state = {} if self._last is None else self._state(self._last)
        self._put(state | {"stage": "finished", "status": self._status})
        self.stop()

    def stop(self) -> None:
        """End all listening after the current state was sent."""
        with self._lock:
            self._ended = True

    def _state(self, info: IterationInfo) -> dict[str, Any]:
        return self._numbers(info) | _points(info.Y) | {"stage": "running"}

    def _numbers(self, info: IterationInfo) -> dict[str, Any]:
        return {
            "solver": self._name,
            "iteration": info.iteration,
            "max_iter": info.max_iter,
            "objective": info.objective if math.isfinite(info.objective) else None,
            "seconds": info.seconds,
        }

    def _put(self, state: dict[str, Any]) -> None:
        text = _event("state", state)
        with self._lock:
            self._text = text
            self._version += 1

    # ------------------------------------------------------------------------------------ to the pages

    async def events(self) -> AsyncIterator[str]:
        """Server-sent events: first everything that never changes, then every state, except states that a slow listener misses."""
        yield self._start
        seen, silent = 0, 0.0
        while True:
            with self._lock:
                version, text, ended = self._version, self._text, self._ended
            if version != seen:
                seen, silent = version, 0.0
                yield text
            elif ended:
                yield _event("end", {})
                return
            else:
                await asyncio.sleep(_POLL)
                silent += _POLL
                if silent >= _STILL_HERE:
                    silent = 0.0
                    yield ": still here\n\n"


def _event(name: str, content: dict[str, Any]) -> str:
    """One event; JSON in ASCII has no line breaks, which would end it."""
    return f"event: {name}\ndata: {json.dumps(content, allow_nan=False)}\n\n"


def _every(n: int) -> slice:
    return slice(None, None, -(-n // MOST_POINTS) if n else 1)


def _points(Y: FloatArray) -> dict[str, Any]:
    """The first two coordinates as 16-bit steps of their extent, x y x y …, little-endian, in base64."""
    flat = np.zeros((len(Y), 2))
    flat[:, : min(2, Y.shape[1])] = Y[:, :2]
    low, high = flat.min(axis=0), flat.max(axis=0)
    extent = float((high - low).max()) or 1.0
    steps = ((flat[_every(len(Y))] - low) / extent * _LEVELS).astype("<u2")
    return {
        "n": len(Y),
        "points": base64.b64encode(steps.tobytes()).decode("ascii"),
        "extent": [float(length) / extent for length in high - low],
    }


def _label_parts(labels: ArrayLike | None) -> dict[str, Any]:
    """Names of the classes and each row's class as 16 bits in base64; nothing where there are too many."""
    if labels is None:
        return {}
    names, codes = classes(np.asarray(labels))
    if len(names) > _LEVELS:
        return {}
    text = base64.b64encode(codes[_every(len(codes))].astype("<u2").tobytes()).decode("ascii")
    return {"names": names, "codes": text, "n": len(codes)}
