"""Threads, memory and seeds: how the parameters `n_jobs`, `max_memory` and `random_state` are read."""

from __future__ import annotations

import os
import re
import secrets

import numpy as np

from .errors import InvalidParameterError, MemoryLimitError
from .typing import RandomState

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Number of threads: None or -1 means every core this process may use, -2 all but one, and so on."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return available
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise InvalidParameterError(
            "n_jobs must be None, a positive integer, or a negative one that counts back from all cores; "
            f"got {n_jobs!r}."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, available + 1 + int(n_jobs))


def resolve_seed(random_state: RandomState) -> int:
    """A 64-bit seed. None draws a fresh one, which results record so that a run can be repeated."""
    if random_state is None:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise InvalidParameterError(
            f"random_state must be None, an integer or a NumPy random generator; got {random_state!r}."
        )
    if not 0 <= random_state < 2**64:
        raise InvalidParameterError(f"random_state must lie in [0, 2**64); got {random_state}.")
    return int(random_state)


def parse_memory(max_memory: int | float | str | None) -> int | None:
    """Bytes meant by `max_memory`: a number of bytes, or text such as "4GB"; None is no limit."""
    if max_memory is None:
        return None
    if isinstance(max_memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*", max_memory)
        if match is None or match[2].upper() not in _UNITS:
            raise InvalidParameterError(
                f'max_memory must be a number of bytes or text like "4GB" or "512MiB"; got {max_memory!r}.'
            )
        size = int(float(match[1]) * _UNITS[match[2].upper()])
    elif isinstance(max_memory, bool) or not isinstance(max_memory, int | float | np.number):
        raise InvalidParameterError(
            f'max_memory must be a number of bytes or text like "4GB"; got {max_memory!r}.'
        )
    else:
        size = int(max_memory)
    if size <= 0:
        raise InvalidParameterError(f"max_memory must be positive; got {max_memory!r}.")
    return size


def format_memory(size: float) -> str:
    """`size` bytes as people say it, such as "1.3 GB"."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def check_memory(forecast: float, limit: int | None, what: str, advice: str) -> None:
    """Raise MemoryLimitError when `what` is forecast to need more bytes than `limit`."""
    if limit is not None and forecast > limit:
        raise MemoryLimitError(
            f"{what} is forecast to need {format_memory(forecast)}, more than "
            f"max_memory={format_memory(limit)}. {advice}"
        )
