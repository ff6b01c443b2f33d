"""`Run`, the context of a call: seed, threads, memory, progress and callbacks, time limit, checkpoints and frames.

A public function makes a Run from its parameters (`Run.of`) and passes it inward as one argument. It is frozen; a part of
the work that needs other settings gets a changed copy (`stage`, `quiet`, `reseeded`). `Stream` are its random numbers, the
same ones that the compiled core draws. `resolve_n_jobs`, `resolve_seed` and `parse_memory` interpret parameters.
"""

from __future__ import annotations

import glob
import hashlib
import importlib
import importlib.util
import math
import os
import re
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from .checks import integer, number, optional, refuse
from .errors import MemoryLimitError, WinkelError
from .typing import RandomState


@dataclass(frozen=True)
class Stream:
    """An endless sequence of random numbers: number i is a function of (seed, stream, i) and nothing else.

    A Stream has no state: draws with `start=k` begin at number k, whatever was drawn before. So any part
    can be drawn by any thread in any order, and a run that continues only needs to know where it was. The methods
    are different readings of the same sequence; to be independent, draws must not share both stream and
    numbers.
    """

    seed: int
    stream: int = 0

    @classmethod
    def named(cls, seed: int, name: str) -> Stream:
        """The stream of `seed` for a purpose such as "init"; streams of different purposes are independent."""
        return cls(seed, int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little"))

    def bits(self, shape: int | tuple[int, ...], *, start: int = 0) -> NDArray[np.uint64]:
        """Random 64-bit words."""
        return _core.random_bits(self.seed, self.stream, start, _size(shape)).reshape(shape)

    def uniform(self, shape: int | tuple[int, ...], *, start: int = 0) -> NDArray[np.float64]:
        """Uniform draws in [0, 1)."""
        return _core.random_uniform(self.seed, self.stream, start, _size(shape)).reshape(shape)

    def normal(self, shape: int | tuple[int, ...], *, start: int = 0) -> NDArray[np.float64]:
        """Standard normal draws."""
        return _core.random_normal(self.seed, self.stream, start, _size(shape)).reshape(shape)

    def integers(self, bound: int, shape: int | tuple[int, ...], *, start: int = 0) -> NDArray[np.int64]:
        """Uniform draws in {0, ..., bound - 1}."""
        return _core.random_integers(self.seed, self.stream, start, _size(shape), bound).reshape(shape)

    def permutation(self, n: int, *, start: int = 0) -> NDArray[np.int64]:
        """A random order of 0, ..., n - 1, from n numbers of the stream."""
        return np.argsort(self.bits(n, start=start), kind="stable").astype(np.int64, copy=False)


def _size(shape: int | tuple[int, ...]) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

MOST_THREADS = 1024
CHECKPOINT_SECONDS = 60.0
_STAGE = (
    ".stage-"  # files of stages bear this after the name of the checkpoint, and no file of the user's does
)
_Item = TypeVar("_Item")


@dataclass(frozen=True, kw_only=True)
class Run:
    """How one call is carried out. All values are resolved, so internal code never has to interpret None.

    `seed` determines every random number. `n_jobs` is the number of threads, which changes no byte. `max_memory` is a limit in bytes.
    `verbose` shows progress, and `callbacks` are called at each iteration. Solvers stop `time_limit` seconds after `started`,
    write `checkpoint` every `checkpoint_every` seconds and continue from it if it exists, and keep `keep_frames`
    intermediate maps. `fingerprint` identifies the data and settings, so that a checkpoint of other work is refused.
    """

    seed: int = 0
    n_jobs: int = 1
    max_memory: int | None = None
    verbose: bool | int = False
    callbacks: tuple[object, ...] = ()
    time_limit: float | None = None
    checkpoint: Path | None = None
    checkpoint_every: float = CHECKPOINT_SECONDS
    keep_frames: int = 0
    fingerprint: Mapping[str, object] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(
        cls,
        *,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        max_memory: int | float | str | None = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] | None = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = CHECKPOINT_SECONDS,
        keep_frames: int = 0,
    ) -> Run:
        """The Run for the parameters of a public call, each of which is checked."""
        if callbacks is not None and (isinstance(callbacks, str) or not isinstance(callbacks, Sequence)):
            refuse("callbacks", "None or a list of functions", callbacks)
        if checkpoint is not None and not isinstance(checkpoint, str | os.PathLike):
            refuse("checkpoint", "None or the path of a file", checkpoint)
        if not isinstance(verbose, bool | int | np.bool_ | np.integer):
            refuse("verbose", "True, False or an integer", verbose)
        if not (isinstance(time_limit, float) and time_limit == math.inf):
            time_limit = optional(number, "time_limit", time_limit, 0.0)
        return cls(
            seed=resolve_seed(random_state),
            n_jobs=resolve_n_jobs(n_jobs),
            max_memory=parse_memory(max_memory),
            verbose=verbose,
            callbacks=tuple(callbacks or ()),
            time_limit=time_limit,
            checkpoint=None if checkpoint is None else Path(os.fspath(checkpoint)),
            checkpoint_every=number("checkpoint_every", checkpoint_every, 0.0),
            keep_frames=integer("keep_frames", keep_frames, 0),
        )

    def stream(self, purpose: str) -> Stream:
        """Random numbers for a purpose such as "init"; streams of different purposes are independent."""
        return Stream.named(self.seed, purpose)

    def stage(self, name: str) -> Run:
        """The same run for one named part of the work, which has its own checkpoint file."""
        if self.checkpoint is None:
            return self
        return replace(self, checkpoint=self.checkpoint.with_name(f"{self.checkpoint.name}{_STAGE}{name}"))

    def quiet(self) -> Run:
        """The same run without progress, callbacks, frames and checkpoint."""
        return replace(self, verbose=False, callbacks=(), keep_frames=0, checkpoint=None)

    def reseeded(self, seed: int) -> Run:
        """The same run with another seed."""
        return replace(self, seed=seed)

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit of the whole call has passed."""
        return self.time_limit is not None and time.perf_counter() - self.started >= self.time_limit

    def check_memory(self, forecast: float, what: str, advice: str) -> None:
        """Raise MemoryLimitError if `what` is forecast to need more bytes than the limit."""
        check_memory(forecast, self.max_memory, what, advice)

    def progress(self, steps: Iterable[_Item], what: str, total: int | None = None) -> Iterator[_Item]:
        """The steps, with a progress bar (if tqdm is installed) if progress is shown."""
        if self.verbose:
            steps = _shown(steps, what, total)
        yield from steps

    def remove_checkpoints(self) -> None:
        """Delete the checkpoint file and those of the stages, once the work is complete."""
        if self.checkpoint is None:
            return
        stages = self.checkpoint.parent.glob(f"{glob.escape(self.checkpoint.name + _STAGE)}*")
        for file in (self.checkpoint, *stages):
            if file.is_file():
                file.unlink(missing_ok=True)


def bars() -> Any:
    """The class of tqdm to use: a widget in a notebook that can show one, otherwise text; None without tqdm."""
    widgets = "ipykernel" in sys.modules and importlib.util.find_spec("ipywidgets") is not None
    try:
        return importlib.import_module("tqdm.auto" if widgets else "tqdm").tqdm
    except ImportError:
        return None


def end_bar(bar: Any) -> None:
    """Close the bar of finished work; if the work took fewer steps than expected, those become the total."""
    bar.total = bar.n
    if hasattr(bar, "container"):  # a notebook's, which is drawn from a widget of its own
        bar.container.children[1].max = max(bar.n, 1)
    bar.close()


def _shown(steps: Iterable[_Item], what: str, total: int | None) -> Iterator[_Item]:
    make = bars()
    if make is None:
        print(f"winkel: {what}", file=sys.stderr)
        yield from steps
        return
    bar: Any = make(
        desc=what,
        total=total if total is not None or not isinstance(steps, Sized) else len(steps),
        leave=False,
    )
    try:
        for step in steps:
            yield step
            bar.update(1)
    finally:
        end_bar(bar)


# ---------------------------------------------------------------------------- threads, seeds, memory


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Number of threads: None for all cores that this process should use, -1 for every core it may use, -2 for all but one.

    docs/runtime.md lists the limits that None and -1 respect.
    """
    if n_jobs is None:
        return min([available_cores(), *_limits("OMP_NUM_THREADS")])
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs > MOST_THREADS:
        refuse(
            "n_jobs",
            f"None, a positive integer up to {MOST_THREADS}, or a negative one that counts back from all cores",
            n_jobs,
        )
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + int(n_jobs))


def available_cores() -> int:
    """Number of cores that this process may use, by its affinity, the quota of its container and the limits of joblib."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min([affinity, *cgroup_quota(), *_limits("LOKY_MAX_CPU_COUNT")])


def _limits(variable: str) -> list[int]:
    """The positive number in an environment variable, if there is one; for "4,2" (nested loops), the first number."""
    first = os.environ.get(variable, "").split(",")[0].strip()
    return [int(first)] if first.isdecimal() and int(first) > 0 else []


def cgroup_quota(root: Path = Path("/")) -> list[int]:
    """The quotas of the process's control groups, in whole processors; empty if there is no limit."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in groups:
        _, controllers, path = line.split(":", 2)
        # In a container the path may be the host's, while its own group is mounted at the top.
        places = [path, *(str(above) for above in PurePosixPath(path).parents)]
        if not controllers:
            for place in places:
                found += _quota(root / "sys/fs/cgroup" / place.lstrip("/") / "cpu.max")
        elif "cpu" in controllers.split(","):
            for mount in ("cpu", controllers):
                for place in places:
                    group = root / "sys/fs/cgroup" / mount / place.lstrip("/")
                    found += _quota(group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us")
    return found


def _quota(*files: Path) -> list[int]:
    """Quota divided by period, rounded up, from files that contain both; "max" and -1 mean no limit."""
    try:
        quota, period = " ".join(file.read_text() for file in files).split()
        return [max(1, math.ceil(int(quota) / int(period)))] if int(quota) > 0 else []
    except (OSError, ValueError, ZeroDivisionError):
        return []


def resolve_seed(random_state: RandomState) -> int:
    """A 64-bit seed. None draws a new seed, which is kept in the result so that the run can be repeated."""
    if random_state is None:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not whole or not 0 <= random_state < 2**64:
        refuse("random_state", "None, an integer in [0, 2**64) or a NumPy random generator", random_state)
    return int(random_state)


def parse_memory(max_memory: int | float | str | None) -> int | None:
    """The bytes of `max_memory`, which is a number of bytes, text such as "4GB", or None for no limit."""
    if max_memory is None:
        return None
    size: float | None = None
    if isinstance(max_memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*", max_memory)
        if match is not None and match[2].upper() in _UNITS:
            size = float(match[1]) * _UNITS[match[2].upper()]
    elif isinstance(max_memory, int | float | np.integer | np.floating) and not isinstance(max_memory, bool):
        size = max_memory
    if size is None or not 1 <= size < math.inf:
        refuse("max_memory", 'None, a positive number of bytes or text like "4GB" or "512MiB"', max_memory)
    return min(int(size), 2**63 - 1)  # what the core can count


def available_memory() -> int | None:
    """Bytes of free memory of this computer, if known."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found and found[0].isdecimal() else None


def format_memory(size: float) -> str:
    """`size` bytes in a readable form, such as "1.3 GB"."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


@contextmanager
def telling_of_memory(what: str, advice: str) -> Iterator[None]:
    """Turn a bare MemoryError into one that says what ran out of memory and what to do; also a decorator."""
    try:
        yield
    except MemoryError as error:
        if isinstance(error, WinkelError):
            raise
        raise MemoryLimitError(
            f"{what} ran out of memory ({str(error) or 'the system gave no more'}). {advice}"
        ) from error


def check_memory(forecast: float, limit: int | None, what: str, advice: str) -> None:
    """Raise MemoryLimitError if `what` is forecast to need more bytes than `limit`."""
    if limit is not None and forecast > limit:
        raise MemoryLimitError(
            f"{what} is forecast to need {format_memory(forecast)}, more than "
            f"max_memory={format_memory(limit)}. {advice}"
        )
