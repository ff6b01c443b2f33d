"""`Run`, the one context of a call: seed, threads, memory, who watches, how long, and what is written on the way.

The surface makes one from its parameters (`Run.of`), and passes it inward as one argument. It is frozen: a part of
the work that needs something else gets a changed copy (`stage`, `quiet`, `reseeded`). `Stream` is its random numbers, the
same ones that the compiled core draws.
"""

from __future__ import annotations

import glob
import hashlib
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from .checks import integer, number, optional, refuse
from .resources import check_memory, parse_memory, resolve_n_jobs, resolve_seed
from .typing import RandomState


@dataclass(frozen=True)
class Stream:
    """An endless sequence of random numbers: number i is a function of (seed, stream, i) and of nothing else.

    Nothing advances: draws with `start=k` begin at number k, whatever was drawn before, so that any part
    can be drawn by anyone in any order, and a run that goes on needs to know only where it was. The methods
    are different readings of the same sequence: to be independent, draws must not share both stream and
    numbers.
    """

    seed: int
    stream: int = 0

    @classmethod
    def named(cls, seed: int, name: str) -> Stream:
        """The stream of `seed` for a purpose such as "init": purposes do not disturb one another."""
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


CHECKPOINT_SECONDS = 60.0
_STAGE = (
    ".stage-"  # files of stages bear this after the name of the checkpoint, and no file of the user's does
)
_Item = TypeVar("_Item")


@dataclass(frozen=True, kw_only=True)
class Run:
    """How one call is to be carried out. All values are resolved: nothing inward asks what None means.

    `seed` decides every random number. `n_jobs` threads work, which changes no byte. `max_memory` is a limit in bytes.
    `verbose` shows progress, `callbacks` are told of each iteration. Solvers stop `time_limit` seconds after `started`,
    write `checkpoint` every `checkpoint_every` seconds and go on from it where it exists, and keep `keep_frames`
    iterates. `fingerprint` names the data and settings, so that a checkpoint of other work is refused.
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
        """The Run that the parameters of a public call ask for, each of them checked."""
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
        """Random numbers for a purpose such as "init"; purposes do not disturb one another."""
        return Stream.named(self.seed, purpose)

    def stage(self, name: str) -> Run:
        """The same run for one named part of the work, which has a checkpoint file of its own."""
        if self.checkpoint is None:
            return self
        return replace(self, checkpoint=self.checkpoint.with_name(f"{self.checkpoint.name}{_STAGE}{name}"))

    def quiet(self) -> Run:
        """The same run for work that nobody watches: no progress, callbacks, frames or checkpoint."""
        return replace(self, verbose=False, callbacks=(), keep_frames=0, checkpoint=None)

    def reseeded(self, seed: int) -> Run:
        """The same run with another seed."""
        return replace(self, seed=seed)

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit of the whole call has passed."""
        return self.time_limit is not None and time.perf_counter() - self.started >= self.time_limit

    def check_memory(self, forecast: float, what: str, advice: str) -> None:
        """Raise MemoryLimitError when `what` is forecast to need more bytes than the limit."""
        check_memory(forecast, self.max_memory, what, advice)

    def progress(self, steps: Iterable[_Item], what: str, total: int | None = None) -> Iterator[_Item]:
        """The steps, with a bar on the screen (tqdm, where it is installed) if progress is to be shown."""
        if self.verbose:
            steps = _shown(steps, what, total)
        yield from steps

    def remove_checkpoints(self) -> None:
        """Delete the checkpoint file and those of the stages, once the work has come to its end."""
        if self.checkpoint is None:
            return
        stages = self.checkpoint.parent.glob(f"{glob.escape(self.checkpoint.name + _STAGE)}*")
        for file in (self.checkpoint, *stages):
            if file.is_file():
                file.unlink(missing_ok=True)


def _shown(steps: Iterable[_Item], what: str, total: int | None) -> Iterable[_Item]:
    try:
        if "ipykernel" in sys.modules:
            from tqdm.auto import tqdm
        else:
            from tqdm import tqdm
    except ImportError:
        print(f"winkel: {what}", file=sys.stderr)
        return steps
    bar: Any = tqdm(steps, desc=what, total=total, leave=False)
    return bar
