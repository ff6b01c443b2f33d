"""What injects faults tells truly how its children ended."""

from __future__ import annotations

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver

import pytest

from .faults import _context, _exit_code, _start


@pytest.mark.skipif(sys.platform != "linux", reason="children are forked by a server")
def test_children_of_two_threads_end_with_their_own_codes(monkeypatch):
    """Between a child's end and its code there is a moment in which another thread may ask too: here a long one."""
    read = forkserver.read_signed

    rng = random.Random(0)

    def slowly(pipe):
        time.sleep(0.06 * rng.random())
        return read(pipe)

    monkeypatch.setattr(forkserver, "read_signed", slowly)

    def code(k):
        process = _context.Process(target=time.sleep, args=(0.013 * (k % 5),))
        _start(process)
        return _exit_code(process, 60)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(code, range(24))) == [0] * 24


@pytest.mark.skipif(sys.platform != "linux", reason="children are forked by a server")
def test_a_child_that_does_not_end_is_killed():
    process = _context.Process(target=time.sleep, args=(60,))
    _start(process)
    assert _exit_code(process, 0.05) is None
    process.join(30)
    assert process.exitcode == -9
