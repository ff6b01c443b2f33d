"""The fresh process in which one contestant runs: `python -m benchmarks.child JOB.json`.

The job names the contestant ("module:function"), the task, the data file and where the outputs and the
measurements go. Only the standard library is imported here before the contestant's own import is timed.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from pathlib import Path

from .contestants import Task
from .files import write_json


def memory(field: str) -> int:
    """Bytes of this process: "VmRSS" now or "VmHWM" at the highest.

    The kernel's own figures come first because ru_maxrss begins with what the parent process had used.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def reset_peak() -> None:
    """Let "VmHWM" count from now on, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def timed_call(call, X) -> tuple[dict, float, float]:
    """Outputs, wall seconds and processor seconds (of all threads) of `call(X)`."""
    cpu, wall = time.process_time(), time.perf_counter()
    arrays = call(X)
    return arrays, time.perf_counter() - wall, time.process_time() - cpu


def measure(job: dict) -> dict:
    """What the job's contestant took, or why it is absent; its arrays go to the file job["output"]."""
    module, function = job["contestant"].split(":")
    factory = getattr(importlib.import_module(module), function)
    start = time.perf_counter()
    try:
        call = factory(Task(**job["task"]))
    except (ImportError, AttributeError, NotImplementedError) as error:
        return {"status": "absent", "reason": f"{type(error).__name__}: {error}"}
    result = {"status": "ran", "import_seconds": time.perf_counter() - start, "rss_import": memory("VmRSS")}
    if job["data"] is not None:
        result |= measure_calls(job, call)
    result["versions"] = {"python": sys.version.split()[0]} | versions(job["packages"])
    return result


def measure_calls(job: dict, call) -> dict:
    """Times of the first and, if the job asks for two calls, of the second; memory; hash of the output.

    Arrays whose name begins with "seconds" are times of the contestant's own, which no two runs share.
    """
    import hashlib

    import numpy as np

    X = np.load(job["data"])
    reset_peak()
    result = {"rss_data": memory("VmRSS")}
    arrays, result["first_seconds"], result["first_cpu_seconds"] = timed_call(call, X)
    result["rss_peak"] = memory("VmHWM")
    if job["calls"] > 1:
        arrays, result["second_seconds"], result["second_cpu_seconds"] = timed_call(call, X)
    digest = hashlib.sha256()
    for name in sorted(name for name in arrays if not name.startswith("seconds")):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    np.savez(job["output"], **arrays)
    return result | {"sha256": digest.hexdigest()}


def versions(packages: list[str]) -> dict[str, str]:
    """Installed version of each package; winkel run from its sources has its own."""
    from importlib import metadata

    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = getattr(sys.modules.get(package), "__version__", "unknown")
    return found


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    try:
        result = measure(job)
    except Exception as error:
        result = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    write_json(Path(job["result"]), result)


if __name__ == "__main__":
    main()
