"""Load: a server under wrk with slow clients beside, a thousand fits in one process, eight at once. Part of `make fire`."""

from __future__ import annotations

import hashlib
import http.client
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import winkel as wk

from ..estimators import instances, make, rows

Failures = list[str]
_SLOW = 20


def server_load(seconds: float, failures: Failures) -> tuple[int, str]:
    """Requests that `winkel view`'s server answered, beside clients that send a byte a second; and who asked."""
    from winkel.view.server import LocalServer, page_site

    with tempfile.TemporaryDirectory() as folder:
        page = wk.write_html(Path(folder) / "map.html", rows(2000, 2)).read_bytes()
    with LocalServer(page_site(page)) as server:
        path = "/" + server.url.split("/", 3)[3]
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(_SLOW)]
        done = threading.Event()

        def dawdle() -> None:
            while not done.wait(1):
                for client in slow:
                    try:
                        client.send(b"G")
                    except OSError:  # the server has had enough of it
                        continue

        beside = threading.Thread(target=dawdle)
        beside.start()
        try:
            if shutil.which("wrk"):
                count, who = _by_wrk(server.port, path, seconds, failures), "wrk"
            else:
                count, who = 0, "http.client, since wrk is not installed"
            count += _by_hand(server.port, path, page, 2.0 if count else seconds, failures)
        finally:
            done.set()
            beside.join()
            for client in slow:
                client.close()
    return count, who


def _by_wrk(port: int, path: str, seconds: float, failures: Failures) -> int:
    """Requests by wrk over 16 connections."""
    done = subprocess.run(
        ["wrk", "-t2", "-c16", f"-d{seconds:.0f}s", "--timeout", "30s", f"http://127.0.0.1:{port}{path}"],
        capture_output=True, text=True, timeout=seconds + 120, check=False,
    )  # fmt: skip
    found = re.search(r"(\d+) requests in", done.stdout)
    errors = re.findall(r"(Socket errors:.*|Non-2xx.*)", done.stdout)
    if done.returncode or not found or int(found[1]) == 0 or errors:
        failures.append(f"wrk: {errors or done.stdout[-200:] or done.stderr[-200:]}")
    return int(found[1]) if found else 0


def _by_hand(port: int, path: str, page: bytes, seconds: float, failures: Failures) -> int:
    """Requests, right and wrong ones by turns, whose answers are compared."""
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for target, expected in ((path, 200), ("*", 403), ("/x/", 403), (path + "nothing", 404)):
            try:
                connection.request("GET", target, headers={"Host": f"127.0.0.1:{port}"})
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"server, {target[:3]}: {type(error).__name__} {error}")
                return count
            count += 1
            if answer.status != expected or (expected == 200 and body != page):
                failures.append(f"server: {answer.status} where {expected} was due")
        connection.close()
    return count


def many_fits(failures: Failures, count: int = 1000) -> int:
    """Small fits in one process: resident memory stays where it was after the first three hundred."""
    X, sizes = rows(60, 4), []
    names = list(instances())
    for k in range(count):
        name, own = instances()[names[k % len(names)]]
        make(name, **{**own, "max_iter": 2}).fit(X)
        if k % 100 == 99:
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
    if sizes[-1] - sizes[2] > 20e6:
        failures.append(f"{count} fits: memory grew from {sizes[2] / 1e6:.0f} to {sizes[-1] / 1e6:.0f} MB")
    return count


def one_fit(instance: str) -> str:
    """The digest of a map."""
    warnings.simplefilter("ignore")
    name, own = instances()[instance]
    made = make(name, **{**own, "n_jobs": 2}).fit(rows(150, 5))
    return hashlib.sha256(made.embedding_.tobytes()).hexdigest()


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
