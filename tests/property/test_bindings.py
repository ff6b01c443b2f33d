"""No call of the core can crash or hang, whatever its arguments (tests/hostile.py has the calls)."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tests import hostile
from winkel import _core

ROOT = Path(__file__).parents[2]
PARTS = 2


def test_every_name_of_the_core_is_called():
    names = set()
    for name in dir(_core):
        if name.startswith("_"):
            continue
        names.add(name)
        cls = getattr(_core, name)
        if isinstance(cls, type):
            methods = {m for m in vars(cls) if not m.startswith("_") or m == "__call__"}
            names |= {f"{name}.{m}" for m in methods if callable(getattr(cls, m))}
    assert names == {name.removesuffix(" float32") for name in hostile.CALLS}


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="needs a POSIX system")
@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_arguments_are_refused_or_borne(part, tmp_path):
    progress = tmp_path / "progress"
    names = list(hostile.CALLS)[part::PARTS]
    command = [sys.executable, "-m", "tests.hostile", str(progress), *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    under_way = progress.read_bytes().decode(errors="replace").strip()
    assert done.returncode == 0, f"{under_way}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}"
    counts = [line.split("\t") for line in done.stdout.splitlines()]
    assert [name for name, _, _ in counts] == names
    raised = {name: int(n) for name, _, n in counts}
    # Everything that has an argument refuses some.
    assert all(
        raised[n] > 0 for n in names if n not in ("instruction_set", "instruction_sets", *without_arguments())
    )


def without_arguments() -> list[str]:
    return [name for name in hostile.CALLS if name.endswith((".result", ".finish"))]


# What each of these is known to have done before it was checked: ended the process, or never returned.
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _core.column_range(np.empty((3, 0))), "a row and a column"),
        (lambda: _core.subtract_row(np.empty((3, 0)), np.empty(0), 1), "of which there must be one"),
        (lambda: hostile.model(_core.LatentPairs32).gradient(np.ones((12, 2)), np.ones(12), 0), "at least 1"),
        (lambda: exact_nearest(np.full((12, 12), np.nan, np.float32)), "NaN"),
        (lambda: groups_of_a_line(), "symmetric"),
        (lambda: paths(-1.0), "lengths must not be negative"),
    ],
    ids=["no columns", "no columns either", "no threads", "NaN", "asymmetric", "negative lengths"],
)
def test_the_message_says_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def exact_nearest(d):
    x = np.ones((12, 3))
    return _core.exact_nearest(d, x, x, np.arange(12), 0, 2, np.ones(12), 1e-6, 1)


def groups_of_a_line():
    """Node 0 leads to 1, but 1 not to 0."""
    order = np.array([0, 1], np.int32)
    return _core.neighbor_groups(np.array([0, 1, 1], np.int32), np.array([1], np.int32), np.ones(1), order)


def paths(length):
    sources = np.array([0], np.int32)
    return _core.path_pairs(*hostile.ring(), np.full(24, length), sources, 9.0, 1.0, 0, 1)


def test_a_code_that_begins_with_nothing_is_found_anyway():
    rows, center, atoms, gram, *settings, indptr, indices, values, threads = hostile.codes()
    empty = _core.code_simplex(
        rows, center, atoms, gram, *settings, indptr, indices, np.zeros_like(values), threads
    )
    nothing = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
    fresh = _core.code_simplex(rows, center, atoms, gram, *settings, *nothing, threads)
    assert all(np.array_equal(a, b) for a, b in zip(empty, fresh, strict=True))


def test_threads_that_share_an_object_take_turns():
    """Rounds, trees and looks at one search, and pairs added to a plan that others evaluate, from several threads."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 8)).astype(np.float32)
    norm = (x * x).sum(axis=1)

    def search():
        return _core.NeighborDescent(x, norm, x, 0, 10, 10, 20, 0, 1)

    def look(descent):
        return descent.peek(np.arange(2000))

    together, alone = search(), search()
    plan = _core.PairPlan64(2000, 2)
    edges = np.sort(rng.choice(2000, size=(3000, 2)), axis=1).astype(np.int32)
    Y, gradient = rng.normal(size=(2000, 2)), [np.empty((2000, 2)) for _ in range(3)]
    failures = []

    def work(turn):
        try:
            for _ in range(3):
                together.round(2)
                look(together)
                plan.add("power", 2.0, 1.0, 1e-6, edges, None, 1.0, None, 1)
                plan.evaluate(Y, 1.0, None, gradient[turn], 2)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for _ in range(9):
        alone.round(1)
    assert np.array_equal(look(together), look(alone))
    value = plan.evaluate(Y, 1.0, None, gradient[0], 1)
    assert value == pytest.approx(9 * (np.linalg.norm(Y[edges[:, 0]] - Y[edges[:, 1]], axis=1) ** 2).sum())
