"""Fuzzing of a reader whose C library may run for ever on broken files: in forked children that are watched.

HDF5 loops without end on some broken files, in its own code, where no signal handler of Python is called. A child that gives no
answer for some seconds of its own processor time says where it stands, is ended, and the next one goes on with other inputs.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import random
import shutil
import signal
import struct
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from .child import cpu_seconds

PATIENCE = 2.0  # seconds of processor time for one input; a usual one takes a thousandth
_COUNT = struct.Struct("<q")


class Watch:
    """Runs `work(rng, count)`, which goes through inputs and calls `count`, in one child after another."""

    def __init__(
        self, folder: Path, newest: Path, work: Callable[[random.Random, Callable[[], None]], None]
    ) -> None:
        self._folder, self._newest, self._work = folder, newest, work
        self._shared = mmap.mmap(-1, _COUNT.size)
        self.elsewhere = 0  # children that were ended inside HDF5
        self.failures: list[str] = []

    @property
    def count(self) -> int:
        """Executions so far."""
        return int(_COUNT.unpack_from(self._shared)[0])

    def run(self, seconds: float, runs: int, seed: int) -> None:
        """Go on until time or the number of runs is over."""
        end, generation = time.monotonic() + seconds, 0
        while time.monotonic() < end and not 0 <= runs <= self.count:
            child = self._begin(f"{seed}.{generation}", runs)
            generation += 1
            self._attend(child, end)

    def _begin(self, seed: str, runs: int) -> int:
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            with (self._folder / "where").open("w") as where:
                faulthandler.enable(where)
                faulthandler.register(signal.SIGUSR1, where, all_threads=False)

                def count() -> None:
                    _COUNT.pack_into(self._shared, 0, self.count + 1)
                    if 0 <= runs <= self.count:
                        os._exit(0)

                self._work(random.Random(seed), count)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _attend(self, child: int, end: float) -> None:
        """Wait for a child to end, to stand still, or for the end of time."""
        seen, since = self.count, cpu_seconds(child)
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                if status:
                    self._tell(f"ended by itself ({os.waitstatus_to_exitcode(status)})")
                return
            time.sleep(0.2)
            if self.count != seen:
                seen, since = self.count, cpu_seconds(child)
            stuck = cpu_seconds(child) - since > PATIENCE
            if stuck:
                os.kill(child, signal.SIGUSR1)
                time.sleep(1.0)
                self._tell("no answer")
            if stuck or time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return

    def _tell(self, what: str) -> None:
        """Count what ended in HDF5's own code apart; all else is a failure, whose input is kept."""
        where = (self._folder / "where").read_text()
        frames = [line.strip() for line in where.splitlines() if line.strip().startswith("File ")]
        if frames and ("/h5py/" in frames[0] or "/h5py/" in "".join(frames[1:2])):
            self.elsewhere += 1
            return
        self.failures.append(f"{what} at {frames[:1]}: {json.dumps(where[:200])}")
        shutil.copy(self._newest, self._folder / f"failure-watched-{len(self.failures)}")
