"""The entry "iterations": how long one iteration of projected L-BFGS takes."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from .contestants import Task
from .datasets import Dataset
from .harness import Arrays, Contestant, Entry

KINDS = ("quadratic", "push-and-pull")


def problem(n: int, p: int, m: int, kind: int) -> np.ndarray:
    """p random pairs of n items below the two rows that say what to do with them; section 7.1 of the MDE paper."""
    random = np.random.default_rng(7)
    pairs = random.integers(0, n, size=(p + p // 50 + 100, 2), dtype=np.int64)
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    _, first = np.unique(pairs[:, 0] * n + pairs[:, 1], return_index=True)
    pairs = pairs[np.sort(first)][:p]
    assert len(pairs) == p, "too few distinct pairs were drawn"
    return np.concatenate([[[n, m], [kind, 0]], pairs]).astype(np.int32)


def _dataset(n: int, p: int, m: int, kind: int) -> Dataset:
    return Dataset(
        f"{KINDS[kind]}-m{m}" + ("" if n == 100_000 else f"-n{n}"),
        f"{KINDS[kind]} problem, n = {n:,}, p = {p:,}, m = {m}".replace(",", " "),
        p + 2,
        lambda: problem(n, p, m, kind),
    )


@cache
def copy_bandwidth(megabytes: int = 400) -> float:
    """Bytes a second that a copy of a large array reads and writes here, by one thread: the best of five."""
    source = np.zeros(megabytes * 125_000)
    target = np.ones_like(source)
    best = np.inf
    for _ in range(5):
        begun = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - begun)
    return 2 * source.nbytes / best


def score(dataset: Dataset, task: Task, arrays: Arrays) -> dict[str, float]:
    """Milliseconds an iteration, the value reached, and how near an evaluation comes to the speed of memory."""
    steps = np.diff(arrays["seconds"])
    found = {"ms an iteration": 1e3 * float(np.median(steps)), "objective": float(arrays["objective"])}
    if "seconds_evaluation" in arrays:
        (n, m), kind = dataset.load()[0], dataset.load()[1, 0]
        p = dataset.rows - 2
        # Each pair is read from both its ends (index, and weight if there is one) with the far end's coordinates;
        # the gradient is written and the near end's coordinates are read once a row.
        moved = 2 * p * (4 + 4 * int(kind) + 4 * int(m)) + 2 * int(n) * int(m) * 4
        seconds = float(arrays["seconds_evaluation"])
        found["ms an evaluation"] = 1e3 * seconds
        found["share of copy bandwidth"] = moved / seconds / copy_bandwidth()
    return found


ENTRY = Entry(
    name="iterations",
    title="Iterations of projected L-BFGS, side by side",
    contestants=(
        Contestant("winkel", "iterations:winkel", ("winkel", "numpy"), "winkel"),
        Contestant("pymde", "iterations:pymde", ("pymde", "torch", "numpy"), max_rows=2_000_000),
    ),
    reference="winkel",
    timings=("first", "second"),
    datasets=(
        _dataset(100_000, 1_000_000, 2, 0),
        _dataset(100_000, 1_000_000, 2, 1),
        _dataset(100_000, 1_000_000, 10, 0),
        _dataset(100_000, 1_000_000, 10, 1),
        _dataset(1_000_000, 10_000_000, 2, 0),
        _dataset(1_000_000, 10_000_000, 2, 1),
    ),
    quick=("quadratic-m2", "push-and-pull-m2"),
    score=score,
    notes=(
        "- *Times* are of 40 iterations from the same random start, including the set-up of the problem, and for winkel also 20 "
        "evaluations after it. `ms an iteration` is the median over the 40 by each library's own clock.\n"
        "- An *evaluation* computes the value and the gradient. Its share of the bandwidth is the number of bytes that it must touch divided "
        "by its time, compared with a plain copy of 400 MB by one thread on the same machine. Coordinates that stay in the caches between "
        "uses can bring it above 1.\n"
        "- *× winkel* above 1 means that winkel is faster. ≈ compares processor time, where contestants were not run in turn or other "
        "processes used the machine.",
    ),
)
