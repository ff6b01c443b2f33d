"""A child process that tries cases: one JSON line in, (instance, case, metric), one JSON line out, what came of it.

The parent (`Box`) gives each case a time box; a child that hangs or dies is replaced, and the case has failed.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

_WALL = 10  # times as long by the clock as a case may take of the processor
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH", "")]), str(ROOT)]),
    "OMP_NUM_THREADS": "1",
}


def verdict(instance: str, case: str, metric: str) -> str:
    """ "map", "refused", or what is wrong."""
    from winkel.errors import WinkelError

    from ..estimators import instances, make
    from .cases import CASES

    name, own = instances()[instance]
    data = CASES[case]()
    parameters = own if metric == "euclidean" else {**own, "metric": metric}
    try:
        made = make(name, **parameters).fit(data)
        Y = np.asarray(made.embedding_)
        if not np.isfinite(Y).all():
            return "NaN in the map"
        normal = (
            made.status_.word in ("converged", "max_iter") and "rows are equal" not in made.status_.sentence
        )
        if normal and not np.ptp(Y, axis=0).any():
            return f"a map in one place is {made.status_.word!r}"
        try:
            placed = made.transform(data[:2])
        except WinkelError:
            return "map"
        return "map" if np.isfinite(placed).all() else "NaN in transform"
    except WinkelError:
        return "refused"


class Box:
    """Children that are given one case at a time, each for at most so many seconds."""

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._child: subprocess.Popen[str] | None = None

    def try_case(self, job: tuple[str, str, str]) -> str:
        """What came of a case."""
        child = self._running()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(job) + "\n")
        child.stdin.flush()
        if not self._answers(child, self._seconds):
            self.close()
            return f"still running after {self._seconds:g} s of its own, or {_WALL} times as long"
        line = child.stdout.readline()
        if not line:
            code = child.wait()
            self._child = None
            return f"the process died ({code})"
        return str(json.loads(line))

    def _answers(self, child: subprocess.Popen[str], seconds: float) -> bool:
        """Whether the child says something within these seconds of processor time: others may have the processor meanwhile."""
        assert child.stdout is not None
        begin, spent = time.monotonic(), cpu_seconds(child.pid)
        while not select.select([child.stdout], [], [], 1.0)[0]:
            if cpu_seconds(child.pid) - spent > seconds or time.monotonic() - begin > _WALL * seconds:
                return False
        return True

    def _running(self) -> subprocess.Popen[str]:
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "tests.fire.child"], cwd=ROOT, env=ENVIRONMENT, text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            if self._answers(self._child, 60.0):
                assert self._child.stdout is not None
                self._child.stdout.readline()  # it has begun
        return self._child

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()  # closes the pipes too
            self._child = None

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def cpu_seconds(process: int) -> float:
    """Seconds of processor time of a child, as far as the system tells them."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def import_all() -> None:
    """What every case needs, so that its time is its own."""
    verdict("MDE", "normal, double", "euclidean")


def serve() -> None:
    """Answer jobs until there are no more."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    sys.stdout = sys.stderr
    import_all()
    answers.write("ready\n")
    for line in sys.stdin:
        try:
            answer = verdict(*json.loads(line))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"[:200]
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    serve()
