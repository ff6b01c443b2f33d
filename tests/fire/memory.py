"""The memory that fits take, measured: the peak of the resident memory of a forked child above what it had with the data.

python -m tests.fire.memory [--fresh] [NAME ...]      # a table: forecast, peak and their ratio for every job of the grid
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import winkel as wk
from winkel.data import as_table

from ..estimators import make


@dataclass(frozen=True)
class Job:
    """A fit: class and parameters, rows and columns, dense or the share of entries that a sparse matrix has."""

    name: str
    n: int
    m: int
    parameters: dict[str, Any] = field(default_factory=dict)
    density: float | None = None
    dtype: str = "float64"
    normal: bool = False

    def data(self) -> Any:
        """Rows about a curved sheet with noise, or sparse counts in groups; or normally distributed rows, few of which list each other."""
        rng = np.random.Generator(np.random.Philox(key=self.n))
        if self.normal:
            return rng.standard_normal((self.n, self.m), dtype=self.dtype)  # type: ignore[call-overload]
        if self.density is not None:
            return sp.random(
                self.n, self.m, self.density, "csr", self.dtype, rng, lambda k: rng.integers(1, 9, k)
            )
        latent = rng.normal(size=(self.n, 3)).astype(self.dtype)
        latent[:, 0] += 4 * rng.integers(0, 4, self.n)
        X = np.tanh(latent @ rng.normal(size=(3, self.m)).astype(self.dtype))
        X += 0.1 * rng.standard_normal(X.shape, dtype=self.dtype)  # type: ignore[call-overload]
        return X

    def estimator(self, **more: Any) -> Any:
        """The estimator, with few iterations: how many there are seldom changes what is held (a map that grows takes larger grids)."""
        return (
            make(self.name, **{"n_jobs": 1, "n_neighbors": 15, "max_iter": 12} | self.parameters | more)
            if _has(self.name, "n_neighbors")
            else make(self.name, **{"n_jobs": 1, "max_iter": 12} | self.parameters | more)
        )

    def __str__(self) -> str:
        own = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        how = self.dtype if self.density is None else f"{self.dtype}, {self.density:g} of entries"
        return f"{self.name}({own}), {self.n} × {self.m} {how}{', normal' if self.normal else ''}"


def _has(name: str, parameter: str) -> bool:
    from winkel.estimators import registry

    return parameter in registry.entry(name).cls._get_param_names()


def in_child(work: Callable[[], Any], seconds: float = 600.0) -> Any:
    """What `work` gives in a forked child; None if that died."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(out)
            answer = json.dumps(work())
            with os.fdopen(into, "w") as stream:
                stream.write(answer)
            code = 0
        finally:
            os._exit(code)
    os.close(into)
    with os.fdopen(out) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def peak_of(work: Callable[[], Any]) -> int:
    """Bytes of resident memory that `work` took at most, above what the process had."""
    ctypes.CDLL(None).malloc_trim(0)
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    work()
    return _status("VmHWM") - before


def measure(job: Job) -> dict[str, Any]:
    """Forecast, and the peak under a limit just above it; to be called in a child."""
    warnings.simplefilter("ignore")
    small = Job(job.name, 60, 5, job.parameters, job.density and 0.5, job.dtype)
    small.estimator().fit(small.data())  # what is imported when it is first used
    X = job.data()
    forecast = job.estimator()._forecast(as_table(X))
    estimator = job.estimator(max_memory=forecast + 1)
    return {"forecast": forecast, "peak": peak_of(lambda: estimator.fit(X))}


FACTOR, LEAST = (
    1.5,
    60e6,
)  # a forecast is at most so many times a peak of so many bytes or more; smaller ones drown in noise
LLE30 = wk.objectives.LLE(30)
QUICK: list[Job] = [Job("MDE", 5000, 50), Job("AttractRepel", 10000, 1000, {"objective": "pca"})]
GRID: list[Job] = [
    Job("MDE", 6000, 50), Job("MDE", 25000, 20), Job("MDE", 60000, 20), Job("MDE", 8000, 400, dtype="float32"),
    Job("MDE", 6000, 50, {"n_neighbors": 40}), Job("MDE", 8000, 50, {"n_components": 3}), Job("MDE", 8000, 50, {"n_components": 20}),
    Job("MDE", 5000, 2000, density=0.02), Job("MDE", 3000, 8000),
    Job("MDE", 9000, 30, normal=True), Job("MDE", 30000, 30, normal=True),
    Job("MDE", 9000, 60, dtype="float32", normal=True), Job("MDE", 30000, 30, dtype="float32", normal=True),
    Job("MDE", 4000, 50, {"preserve": "distances"}), Job("MDE", 6000, 50, {"preserve": "distances", "max_distances": 10**6}),
    Job("MDE", 30000, 30, {"repulsive": "log"}), Job("MDE", 30000, 30, {"constraint": "standardized"}),
    Job("LVM", 20000, 50), Job("LVM", 20000, 10, {"n_neighbors": 40}), Job("LVM", 20000, 10, {"n_components": 4}),
    Job("LVM", 20000, 50, {"levels": 2}, dtype="float32"), Job("LVM", 20000, 2000, density=0.01),
    Job("TSM", 9000, 50), Job("TSM", 4000, 50, {"n_components": 64}), Job("TSM", 20000, 200, {"n_landmarks": 1000}),
    Job("TSM", 4000, 2000), Job("TSM", 4000, 2000, dtype="float32"), Job("TSM", 8000, 1000, density=0.05),
    Job("KDS", 300000, 10), Job("KDS", 100000, 100, {"n_atoms": 100}), Job("KDS", 300000, 20, {"training": "minibatch"}, dtype="float32"),
    Job("KDS", 20000, 20, {"n_atoms": 2000}), Job("KDSClustering", 150000, 20),
    Job("AttractRepel", 20000, 20), Job("AttractRepel", 4000, 400), Job("AttractRepel", 6000, 50, {"objective": LLE30}),
    Job("AttractRepel", 20000, 400, {"objective": "pca"}), Job("AttractRepel", 100000, 60, {"objective": "pca"}, dtype="float32"),
    Job("AttractRepel", 30000, 10, {"objective": "two_kernel_pca"}),
    Job("TSNE", 8000, 50), Job("TSNE", 8000, 50, {"perplexity": 60}), Job("TSNE", 12000, 500, dtype="float32"),
    Job("TSNE", 5000, 2000, density=0.02), Job("TSNE", 8000, 50, {"n_components": 3}),
    Job("UMAP", 30000, 50), Job("UMAP", 20000, 50, {"n_neighbors": 40}), Job("UMAP", 20000, 1000, dtype="float32"),
    Job("UMAP", 20000, 2000, density=0.01), Job("UMAP", 20000, 50, {"n_neighbors": 40, "max_iter": None}),
]  # fmt: skip

# Sizes that came after the coefficients had been set; what they showed is in docs/reliability.md.
FRESH: list[Job] = [
    Job("MDE", 9000, 30), Job("MDE", 40000, 12, dtype="float32"), Job("MDE", 3500, 1200), Job("MDE", 7000, 3000, density=0.01, dtype="float32"),
    Job("MDE", 2500, 20, {"preserve": "distances"}), Job("MDE", 12000, 40, {"preserve": "distances", "max_distances": 5 * 10**5}),
    Job("MDE", 15000, 25, {"n_neighbors": 25}), Job("MDE", 11000, 40, {"n_components": 5}),
    Job("LVM", 12000, 100), Job("LVM", 35000, 8, dtype="float32"), Job("LVM", 9000, 5000, density=0.005), Job("LVM", 30000, 15, {"n_components": 3}),
    Job("TSM", 6000, 120), Job("TSM", 12000, 30, {"n_components": 32}, dtype="float32"), Job("TSM", 50000, 60, {"n_landmarks": 500}),
    Job("TSM", 5000, 3000, density=0.02),
    Job("KDS", 180000, 40), Job("KDS", 60000, 300), Job("KDS", 500000, 6, dtype="float32"), Job("KDS", 50000, 2000, density=0.02),
    Job("KDS", 120000, 30, {"n_atoms": 200, "training": "minibatch"}),
    Job("KDSClustering", 90000, 50), Job("KDSClustering", 250000, 8, dtype="float32"),
    Job("AttractRepel", 12000, 60), Job("AttractRepel", 8000, 200, {"objective": LLE30}, dtype="float32"),
    Job("AttractRepel", 50000, 150, {"objective": "pca"}), Job("AttractRepel", 15000, 40, {"objective": "two_kernel_pca"}),
    Job("TSNE", 15000, 20), Job("TSNE", 6000, 1500, dtype="float32"), Job("TSNE", 20000, 30, {"perplexity": 15}),
    Job("UMAP", 12000, 300), Job("UMAP", 45000, 10, dtype="float32"), Job("UMAP", 8000, 4000, density=0.01),
]  # fmt: skip


def wrong(found: dict[str, Any] | None) -> str:
    """What is wrong with a measured job, in words; empty if nothing is."""
    if found is None:
        return "the process died"
    ratio = found["forecast"] / found["peak"]
    if found["peak"] > found["forecast"]:
        return f"took {found['peak'] / 1e6:.0f} MB where max_memory allowed {found['forecast'] / 1e6:.0f}"
    if found["peak"] >= LEAST and ratio > FACTOR:
        return f"was forecast to take {found['forecast'] / 1e6:.0f} MB, and took {found['peak'] / 1e6:.0f}"
    return ""


def main() -> int:
    """Measure the grid, the few of `--quick`, or the jobs of some classes."""
    words, failures = sys.argv[1:], 0
    jobs = QUICK if "--quick" in words else FRESH if "--fresh" in words else GRID
    wanted = [word for word in words if not word.startswith("-")]
    for job in jobs:
        if wanted and job.name not in wanted:
            continue
        found = in_child(lambda job=job: measure(job))  # type: ignore[misc]
        trouble = wrong(found)
        failures += bool(trouble)
        told = (
            ""
            if found is None
            else f"{found['forecast'] / 1e6:7.0f} {found['peak'] / 1e6:7.0f} MB {found['forecast'] / found['peak']:5.2f}  "
        )
        print(f"{told}{job}{': ' if trouble else ''}{trouble}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main())
