"""`make fire`: all of it, within so many minutes; prints one table and ends with 1 if anything failed.

    python -m tests.fire.run [--minutes 10]

Half of the time goes to cases (every case × every estimator, then every metric, in an order by the seed), a quarter to fuzzing, the
rest to faults and load. What the minutes allow is what the table counts.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import platform
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import date
from multiprocessing import get_context
from pathlib import Path

import winkel as wk
from winkel.errors import WinkelError

from ..estimators import instances, make, rows
from . import fuzz
from .cases import CASES, METRICS
from .child import ENVIRONMENT, ROOT, Box

Failures = list[str]


def cases(seconds: float, failures: Failures) -> tuple[int, int]:
    """How many cases were tried, and how many there are."""
    jobs = [(instance, case, "euclidean") for instance in instances() for case in CASES]
    jobs += [(i, case, m) for i in ("MDE", "LVM", "UMAP") for case in CASES for m in METRICS[1:]]
    random.Random(0).shuffle(jobs)
    share, end, tried = [jobs[0::2], jobs[1::2]], time.monotonic() + seconds, [0, 0]

    def work(k: int) -> None:
        with Box() as box:
            for job in share[k]:
                if time.monotonic() > end:
                    return
                answer = box.try_case(job)
                tried[k] += 1
                if answer not in ("map", "refused"):
                    failures.append(f"{' × '.join(job)}: {answer}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (0, 1)))
    return sum(tried), len(jobs)


FIT = """
import sys, warnings, hashlib, pathlib
warnings.simplefilter("ignore")
from tests.estimators import instances, make, rows
import winkel as wk
instance, folder, n = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
name, own = instances()[instance]
estimator = make(name, **{**own, "max_iter": 150, "checkpoint": folder / "fit.part"})
type(estimator)._checkpoint_every = 0.02
print("begin", flush=True)
estimator.fit(rows(n, 5))
estimator.save(folder / "map.winkel")
print(hashlib.sha256(estimator.embedding_.tobytes()).hexdigest(), estimator.status_.word, flush=True)
"""


def _fit(instance: str, folder: Path, n: int = 300) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FIT, instance, str(folder), str(n)], cwd=ROOT, env=ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def _finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    lines = [line for line in out.splitlines() if line and line != "begin"]
    return process.returncode, lines[-1] if lines else "", err


def interrupts(seconds: float, failures: Failures) -> int:
    """Fits that were interrupted, or killed and gone on with, at random moments."""
    rng, end, count = random.Random(1), time.monotonic() + seconds, 0
    whole: dict[str, str] = {}
    order = list(instances()) * 9
    for instance in order:
        if time.monotonic() > end:
            break
        for kind in (signal.SIGINT, signal.SIGKILL):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                process = _fit(instance, folder)
                assert process.stdout is not None
                process.stdout.readline()  # it has begun
                time.sleep(rng.random() * 0.6)
                process.send_signal(kind)
                code, last, err = _finish(process)
                count += 1
                if kind == signal.SIGINT:
                    fine = (code == 0 and last) or "KeyboardInterrupt" in err
                    if not fine:
                        failures.append(f"SIGINT in {instance}: code {code}, {err[-200:]!r}")
                    elif (folder / "map.winkel").exists():
                        wk.load(folder / "map.winkel")
                    continue
                if instance not in whole:
                    with tempfile.TemporaryDirectory() as other:
                        whole[instance] = _finish(_fit(instance, Path(other)))[1]
                code, last, err = _finish(_fit(instance, folder))
                if code or last != whole[instance]:
                    failures.append(
                        f"SIGKILL in {instance}, gone on with: code {code}, other bytes; {err[-200:]!r}"
                    )
    return count


def full_disks(failures: Failures) -> int:
    """Writes that fail on the way (a limit on the size of files) or at once (a folder that takes none)."""
    Y = rows(4000, 2)
    fitted = make("MDE").fit(rows(800, 5))
    writes = {
        "save": fitted.save,
        "page": lambda path: wk.write_html(path, Y),
        "report": lambda path: wk.maps.write_map(path, wk.maps.Map(Y)),
        "picture": lambda path: wk.plot(Y, path=path),
    }
    suffix = {"save": ".winkel", "page": ".html", "report": ".csv", "picture": ".png"}
    count = 0
    for what, write in writes.items():
        with tempfile.TemporaryDirectory() as name:
            target = Path(name) / f"old{suffix[what]}"
            target.write_bytes(b"old")
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
            try:
                write(target)
                failures.append(f"{what} onto a full disk: no error")
            except (WinkelError, OSError):
                pass
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            if target.read_bytes() != b"old" or len(list(Path(name).iterdir())) > 1:
                failures.append(f"{what} onto a full disk: the old file or a part is left changed")
            try:
                write(Path(f"/proc/self/new{suffix[what]}"))
                failures.append(f"{what} into a folder that takes no files: no error")
            except (WinkelError, OSError):
                pass
            count += 2
    return count


LIMITED = """
import resource, sys, warnings
warnings.simplefilter("ignore")
from tests.estimators import instances, make, rows
from winkel.errors import WinkelError
name, own = instances()[sys.argv[1]]
make(name, **own).fit(rows(50, 5))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    make(name, **{**own, "n_jobs": 1}).fit(rows(6000, 40))
    print("map")
except WinkelError as error:
    print("refused")
"""


def memory_limits(failures: Failures) -> int:
    """Fits in processes that may not have the memory they need."""
    chosen = [i for i in instances() if "-" not in i or i in ("AttractRepel-pca", "MDE-distances")]
    for instance in chosen:
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, instance, str(20_000_000)], cwd=ROOT, env=ENVIRONMENT, text=True,
            capture_output=True, timeout=300, check=False,
        )  # fmt: skip
        if done.stdout.strip() not in ("map", "refused"):
            failures.append(f"little memory for {instance}: code {done.returncode}, {done.stderr[-200:]!r}")
    return len(chosen)


def fuzzing(seconds: float, failures: Failures) -> int:
    """Executions of all targets, two at a time."""

    def work(target: str) -> int:
        with tempfile.TemporaryDirectory() as name:
            command = [
                sys.executable,
                "-m",
                "tests.fire.fuzz",
                target,
                name,
                "--seconds",
                str(seconds * 2 / len(fuzz.TARGETS)),
            ]
            done = subprocess.run(
                command, cwd=ROOT, env=ENVIRONMENT, text=True, capture_output=True, check=False
            )
            if done.returncode:
                failures.append(
                    f"fuzzing {target}: the process died ({done.returncode}), {done.stderr[-200:]!r}"
                )
            found = Path(name) / "found.json"
            if not found.exists():
                return 0
            answer = json.loads(found.read_text())
            failures.extend(f"fuzzing {target}: {failure}" for failure in answer["failures"])
            return int(answer["executions"])

    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(work, fuzz.TARGETS))


def server_load(seconds: float, failures: Failures) -> int:
    """Requests that a server of one page answered, with clients beside that send a byte a second."""
    from winkel.view.server import LocalServer, page_site

    answered = [0] * 6
    with tempfile.TemporaryDirectory() as folder:
        page = wk.write_html(Path(folder) / "map.html", rows(2000, 2)).read_bytes()
    with LocalServer(page_site(page)) as server:
        end, path = time.monotonic() + seconds, "/" + server.url.split("/", 3)[3]

        def ask(k: int) -> None:
            while time.monotonic() < end:
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
                for target, expected in ((path, 200), ("*", 403), ("/x/", 403), (path + "nothing", 404)):
                    try:
                        connection.request("GET", target, headers={"Host": f"127.0.0.1:{server.port}"})
                        answer = connection.getresponse()
                        body = answer.read()
                    except (OSError, http.client.HTTPException) as error:
                        failures.append(f"server, {target[:3]}: {type(error).__name__} {error}")
                        return
                    answered[k] += 1
                    if answer.status != expected or (expected == 200 and body != page):
                        failures.append(f"server: {answer.status} where {expected} was due")
                connection.close()

        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        threads = [threading.Thread(target=ask, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            for client in slow:
                try:
                    client.send(b"G")
                except OSError:
                    break
            time.sleep(1)
        for thread in threads:
            thread.join(60)
        for client in slow:
            client.close()
    return sum(answered)


def many_fits(failures: Failures) -> int:
    """A thousand small fits in one process: resident memory stays where it was after the first hundred."""
    X, sizes = rows(60, 4), []
    names = list(instances())
    for k in range(1000):
        name, own = instances()[names[k % len(names)]]
        make(name, **{**own, "max_iter": 2}).fit(X)
        if k % 100 == 99:
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
    if sizes[-1] - sizes[2] > 20e6:
        failures.append(f"1000 fits: memory grew from {sizes[2] / 1e6:.0f} to {sizes[-1] / 1e6:.0f} MB")
    return 1000


def one_fit(instance: str) -> str:
    """The digest of a map."""
    warnings.simplefilter("ignore")
    name, own = instances()[instance]
    return hashlib.sha256(
        make(name, **{**own, "n_jobs": 2}).fit(rows(150, 5)).embedding_.tobytes()
    ).hexdigest()


def at_once(failures: Failures) -> int:
    """Eight fits at once, from threads and from processes that were forked and spawned: the bytes of one alone."""
    chosen = list(instances())[::2][:8]
    alone = [one_fit(instance) for instance in chosen]
    with ThreadPoolExecutor(8) as threads:
        if list(threads.map(one_fit, chosen)) != alone:
            failures.append("eight fits in threads: other bytes")
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(8, mp_context=get_context(method)) as processes:
            if list(processes.map(one_fit, chosen, timeout=300)) != alone:
                failures.append(f"eight fits in processes ({method}): other bytes")
    return 3 * len(chosen)


def main() -> int:
    """Run all parts and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    seconds = 60 * parser.parse_args().minutes
    warnings.simplefilter("ignore")
    lines: list[tuple[str, str, int]] = []
    told: Failures = []

    def part(what: str, counted: str, failures: Failures) -> None:
        lines.append((what, counted, len(failures)))
        told.extend(failures)
        print(f"… {what}: {counted}, {len(failures)} failures", file=sys.stderr, flush=True)

    found: Failures = []
    part("8 fits at once, in threads, forked and spawned", f"{at_once(found)} fits", found)
    found = []
    tried, of = cases(0.5 * seconds, found)
    part("adversarial data × estimators × metrics", f"{tried} of {of} cases", found)
    found = []
    part("SIGINT, SIGKILL and going on", f"{interrupts(0.15 * seconds, found)} faults", found)
    found = []
    part("full disk, folder that takes no files", f"{full_disks(found)} faults", found)
    found = []
    part("hard limit on memory", f"{memory_limits(found)} faults", found)
    found = []
    part(
        "fuzzing: model, checkpoint, data, command line", f"{fuzzing(0.2 * seconds, found)} executions", found
    )
    found = []
    part("server under load, 20 slow clients beside", f"{server_load(0.05 * seconds, found)} requests", found)
    found = []
    part("1000 small fits in one process, memory flat", f"{many_fits(found)} fits", found)
    print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {seconds / 60:g} minutes\n"
    )
    print("| what | tried | failures |\n|---|---|---|")
    for what, counted, failures in lines:
        print(f"| {what} | {counted} | {failures} |")
    for failure in told[:40]:
        print("-", failure)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
