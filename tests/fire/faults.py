"""Faults, injected: Ctrl-C, kills, full and read-only disks, little memory. Part of `make fire`.

Children are forked by a server that has winkel loaded (`multiprocessing`'s forkserver), so that most of their time is the fit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

import numpy as np

import winkel as wk
from winkel.errors import WinkelError

from ..estimators import instances, make, rows
from .child import ENVIRONMENT, ROOT

Failures = list[str]
INTERRUPTS = KILLS = 3  # of each estimator
_WITHOUT_CHECKPOINT = ("knn", "paths")
_context = get_context("forkserver")
_context.set_forkserver_preload(
    ["tests.fire.faults", "sklearn.cluster", "scipy.sparse.linalg", "winkel.measures"]
)
# `start` asks every child for its exit code. If `join` of another thread asks at the same moment, one of the two reads the code and the
# other finds its pipe empty, which multiprocessing takes for 255. So one thread asks at a time.
_asking = threading.Lock()


# --------------------------------------------------------------------------------------------- Ctrl-C and kills


def _work(job: str, folder: str, pipe: Any) -> None:
    """In a child: a fit with a checkpoint, its map saved; or a search that has none. Sends the digest of what it found."""
    warnings.simplefilter("ignore")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        pipe.send("begin")
        if job in _WITHOUT_CHECKPOINT:
            graph = wk.graph.knn(rows(3000, 5), 15, n_jobs=1)
            found = graph.knn_distances if job == "knn" else wk.graph.shortest_paths(graph, n_jobs=1)
            pipe.send(hashlib.sha256(np.asarray(found).tobytes()).hexdigest())
            return
        name, own = instances()[job]
        estimator = make(
            name, **{**own, "max_iter": 150, "n_jobs": 1, "checkpoint": Path(folder) / "fit.part"}
        )
        type(estimator)._checkpoint_every = 0.02
        estimator.fit(rows(300, 5))
        estimator.save(Path(folder) / "map.winkel")
        done = estimator.status_.word
        pipe.send(
            done if done == "interrupted" else hashlib.sha256(estimator.embedding_.tobytes()).hexdigest()
        )
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            pipe.send("interrupted")


def _start(process: Any) -> None:
    with _asking:
        process.start()


def _exit_code(process: Any, seconds: float) -> int | None:
    """The code of a child that ends within the seconds; None of one that had to be killed."""
    if not connection.wait([process.sentinel], seconds):
        process.kill()
        return None
    with _asking:
        process.join()
        return int(process.exitcode)


def _child(
    job: str, folder: Path, kind: signal.Signals | None = None, moment: float = 0.0
) -> tuple[int | None, str, float]:
    """Exit code, the last word and the seconds of a child that gets a signal so long after it began."""
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_work, args=(job, str(folder), theirs))
    _start(process)
    theirs.close()
    last = ours.recv()
    begin = time.monotonic()
    if kind is not None:
        time.sleep(moment)
        assert process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, kind)
    try:
        last = ours.recv()
    except EOFError:
        last = ""
    seconds = time.monotonic() - begin
    code = _exit_code(process, 120)
    return code, "still running after two minutes" if code is None else last, seconds


def _try_job(job: str, rng: random.Random, failures: Failures) -> tuple[int, int]:
    """Interrupts and kills of one job at random moments; those killed go on to the bytes of a fit that nobody disturbed."""
    with tempfile.TemporaryDirectory() as name:
        _, whole, seconds = _child(job, Path(name))
    for _ in range(INTERRUPTS):
        with tempfile.TemporaryDirectory() as name:
            moment = rng.random() * seconds
            code, last, _ = _child(job, Path(name), signal.SIGINT, moment)
            if code != 0 or last not in ("interrupted", whole):
                failures.append(f"SIGINT in {job} after {moment:.2f} s: code {code}, {last!r}")
            left = [file.name for file in Path(name).iterdir() if file.suffix == ".tmp"]
            if left:
                failures.append(f"SIGINT in {job} left {left}")
            if (Path(name) / "map.winkel").exists():
                wk.load(Path(name) / "map.winkel")
    if job in _WITHOUT_CHECKPOINT:
        return INTERRUPTS, 0
    for _ in range(KILLS):
        with tempfile.TemporaryDirectory() as name:
            moment = rng.random() * seconds
            _child(job, Path(name), signal.SIGKILL, moment)
            code, last, _ = _child(job, Path(name))
            if code != 0 or last != whole:
                failures.append(
                    f"SIGKILL in {job} after {moment:.2f} s, gone on with: code {code}, {last!r} and not {whole!r}"
                )
            if (Path(name) / "fit.part").exists():
                failures.append(f"SIGKILL in {job}: the checkpoint is left after the fit has ended")
    return INTERRUPTS, KILLS


def interrupts(failures: Failures) -> tuple[int, int]:
    """How many fits and searches were interrupted, and how many killed and gone on with."""
    jobs = [*instances(), *_WITHOUT_CHECKPOINT]
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda k: _try_job(jobs[k], random.Random(k), failures), range(len(jobs))))
    return sum(count[0] for count in counts), sum(count[1] for count in counts)


# -------------------------------------------------------------------------------------------------------- disks


def _writes() -> dict[str, Callable[[Path], Any]]:
    """What writes files, by the name that its file has."""
    Y, X = rows(4000, 2), rows(800, 5)
    fitted = make("MDE").fit(X)
    report = fitted.faithfulness(X)

    def fit(path: Path) -> None:
        path.unlink()  # a checkpoint that is no checkpoint is refused before anything is written
        estimator = make("LVM", max_iter=40, checkpoint=path)
        type(estimator)._checkpoint_every = 0.0
        try:
            estimator.fit(rows(2000, 5))
        finally:
            del type(estimator)._checkpoint_every
            if not path.exists():
                path.write_bytes(b"old")

    return {
        "old.winkel": fitted.save,
        "old.html": lambda path: wk.write_html(path, Y),
        "old.csv": lambda path: wk.maps.write_map(path, wk.maps.Map(Y)),
        "old.png": lambda path: wk.plot(Y, path=path),
        "report.html": lambda path: wk.write_html(path, fitted, data=X) if report else None,
        "fit.part": fit,
    }


@contextlib.contextmanager
def _full_file_system() -> Iterator[Path]:
    """A folder on a file system of 64 kB of which a few are left; PermissionError where none may be mounted."""
    with tempfile.TemporaryDirectory() as name:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "none", name],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PermissionError(done.stderr.strip())
        try:
            Path(name, "filling").write_bytes(bytes(48 * 1024))
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)


@contextlib.contextmanager
def _short_files() -> Iterator[Path]:
    """A folder in which files cannot grow beyond 4 kB, as on a disk that fills up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as name:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        try:
            yield Path(name)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _attempt(what: str, write: Callable[[Path], Any], target: Path, failures: Failures) -> None:
    """The write must fail by an error that says so, and leave the folder as it was."""
    before = {file.name: file.read_bytes() for file in target.parent.iterdir()}
    try:
        write(target)
        failures.append(f"{what}: no error")
    except (WinkelError, OSError) as error:
        if not str(error):
            failures.append(f"{what}: an error without words")
    except Exception as error:
        failures.append(f"{what}: {type(error).__name__}: {error}"[:200])
    after = {file.name: file.read_bytes() for file in target.parent.iterdir()}
    if after != before:
        failures.append(f"{what}: the folder has {sorted(after)} and not {sorted(before)} as they were")


def disks(failures: Failures) -> tuple[int, str]:
    """How many writes were tried onto a full disk and a read-only one; and what was left out, and why."""
    warnings.simplefilter("ignore")
    writes, count, left_out = _writes(), 0, ""
    for name, write in writes.items():
        with _short_files() as folder:
            (folder / name).write_bytes(b"old")
            _attempt(f"{name}, files too short", write, folder / name, failures)
            count += 1
        try:
            with _full_file_system() as folder:
                (folder / name).write_bytes(b"old")
                _attempt(f"{name}, full file system", write, folder / name, failures)
                subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
                if name != "fit.part":  # which would have to be removed first
                    _attempt(f"{name}, read-only file system", write, folder / name, failures)
                    count += 1
            count += 1
        except PermissionError as error:
            left_out = f"; no file system could be mounted ({error})"
    return count, left_out


# ------------------------------------------------------------------------------------------------------- memory

LIMITED = """
import os, resource, sys, tempfile, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from tests.estimators import instances, make, rows
import winkel as wk
from winkel.errors import WinkelError
what, room = sys.argv[1], int(sys.argv[2])
X, Y = rows(20000, 40), rows(200000, 2)
folder = Path(tempfile.mkdtemp())
small = make("MDE").fit(rows(50, 5))
works = {
    "save": (lambda path: fitted.save(path)),
    "page": (lambda path: wk.write_html(path, Y)),
    "report": (lambda path: wk.write_html(path, {"map": X[:, :2]}, data=X)),
    "table": (lambda path: wk.maps.write_map(path, wk.maps.Map(Y))),
    "picture": (lambda path: wk.plot(Y, path=path)),
}
suffix = {"save": "winkel", "page": "html", "report": "html", "table": "csv", "picture": "png"}
if what in works:
    target = folder / f"old.{suffix[what]}"
    works["page"](folder / "warm.html") if what in ("page", "report") else None
    if what == "save":
        fitted = make("MDE", max_iter=1, repulsive="log", init="random").fit(X)
    small.save(folder / "warm.winkel"); wk.plot(Y[:50], path=folder / "warm.png")
    wk.maps.write_map(folder / "warm.csv", wk.maps.Map(Y[:50]))
    target.write_bytes(b"old")
    work = lambda: works[what](target)
else:
    name, own = instances()[what]
    make(name, **own).fit(rows(50, 5))
    target = None
    work = lambda: make(name, **{**own, "n_jobs": 1}).fit(rows(6000, 40))
before = sorted(os.listdir(folder))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
try:
    work()
    said = "done"
except WinkelError as error:
    said = "refused"
except MemoryError as error:
    said = "MemoryError"
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2) if False else None
if target is not None:
    if said != "done" and target.read_bytes() != b"old":
        said = "the old file is changed"
    if sorted(os.listdir(folder)) != before:
        said = "a part is left"
print(said)
"""


def _limited(what: str, room: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, what, str(room)], cwd=ROOT, env=ENVIRONMENT, text=True,
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    return done.stdout.strip() or f"code {done.returncode}, {done.stderr[-300:]!r}"


def memory_limits(failures: Failures) -> tuple[int, int]:
    """Fits, and writes, in processes that may not have the memory they need (address space, some MB above what is in use)."""
    fits = [i for i in instances() if "-" not in i or i in ("AttractRepel-pca", "MDE-distances")]
    fits += [i for i in instances() if i.startswith("AttractRepel")][:1]
    tried = [(what, 20_000_000) for what in fits]
    tried += [
        (what, room)
        for what in ("save", "page", "report", "table", "picture")
        for room in (1_000_000, 8_000_000, 30_000_000)
    ]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda job: _limited(*job), tried))
    for (what, room), answer in zip(tried, answers):
        if answer not in ("done", "refused"):
            failures.append(f"{room // 10**6} MB for {what}: {answer}")
    return len(fits), len(tried) - len(fits)
