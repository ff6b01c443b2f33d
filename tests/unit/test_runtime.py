"""Fork, exhausted memory, Ctrl-C and callers at the same time, each in a process of its own that may die."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import winkel as wk
from winkel import _core
from winkel.estimators import registry

ROOT = Path(__file__).parents[2]
PREPARE = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import winkel as wk
from winkel import _core
rng = np.random.default_rng(0)
"""


def run(program: str, *arguments: str, seconds: float = 120) -> str:
    """What the program prints, in a Python of its own."""
    command = [sys.executable, "-c", PREPARE + program, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [*registry.names(), "knn"])
def test_a_forked_child_works(name):
    program = """
from tests.estimators import make, rows
X = rows(900, 20)

def bytes_of(name):
    if name == "knn":
        return wk.graph.knn(X, 10, random_state=0, n_jobs=2).knn_indices.tobytes()
    return make(name, n_jobs=2).fit(X).embedding_.tobytes()

_core.search_queries(*[np.ones((4000, 64), np.float32), np.ones(4000, np.float32)] * 2, 0, 5, 2)  # wakes the pool
before = bytes_of(sys.argv[1])
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if bytes_of(sys.argv[1]) == before else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), bytes_of(sys.argv[1]) == before)
"""
    assert run(program, name).split() == ["0", "True"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory hold on Linux")
@pytest.mark.parametrize("threads", [1, 2])
def test_exhausted_memory_is_an_error(threads):
    program = """
import resource
import scipy.sparse as sp
X = sp.random_array((200, 2**26), density=1e-6, format="csr", rng=rng, dtype=np.float32)
resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))
try:
    wk.graph.knn(X, 5, n_jobs=int(sys.argv[1]))
except MemoryError:
    print("MemoryError")
print(len(wk.graph.knn(rng.normal(size=(500, 4)), 5, n_jobs=2).knn_indices))
"""
    assert run(program, str(threads)).split() == ["MemoryError", "500"]


# Each would take far longer than the test waits.
LONG = {
    "exact": "_core.ExactSearch(points(150_000), ones(150_000), 0, 15).run(0, 195, 2)",
    "queries": "_core.search_queries(points(150_000), ones(150_000), points(150_000), ones(150_000), 0, 15, 2)",
    "similar_pairs": "_core.similar_pairs(points(150_000), 1e9, 0, 1000, 2)",
    "paths": "wk.graph.shortest_paths(wk.Graph.from_adjacency(lattice(200), entries='distances'), n_jobs=2)",
    "direct": "_core.direct_neighbors(p := points(40_000).astype(float), p, np.arange(40_000), 1, 5, 2)",
    "simplex": "wk.KDS(n_atoms=2000, n_jobs=2).fit(points(4000))",
    "one thread": "_core.search_queries(points(150_000), ones(150_000), points(150_000), ones(150_000), 0, 15, 1)",
}


@pytest.mark.parametrize("work", LONG)
def test_control_c_is_seen_soon(work):
    program = f"""
import scipy.sparse as sp
points = lambda n: rng.normal(size=(n, 64)).astype(np.float32)
ones = lambda n: np.ones(n, np.float32)

def lattice(side):
    line = sp.diags_array([np.arange(1.0, side), np.arange(1.0, side)], offsets=[-1, 1])
    return sp.csr_array(sp.kron(line, sp.eye_array(side)) + sp.kron(sp.eye_array(side), line))

sent = []
def interrupt():
    time.sleep(float(sys.argv[1]))
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    {LONG[work]}
    print("nan")
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0])
"""
    # The best of three: another process may hold the processor for a moment.
    waited = []
    while len(waited) < 3 and not any(w < 0.3 for w in waited):
        waited.append(float(run(program, "1.5")))
    assert min(waited) < 0.3


def test_callers_at_the_same_time_get_the_same_bytes():
    X = np.random.default_rng(0).normal(size=(1500, 12))
    alone = wk.graph.knn(X, 10, random_state=0, n_jobs=1)

    def search(n_jobs):
        return wk.graph.knn(X, 10, random_state=0, n_jobs=n_jobs)

    with ThreadPoolExecutor(6) as threads:
        for found in threads.map(search, [1, 2, 3] * 6):
            assert found.knn_indices.tobytes() == alone.knn_indices.tobytes()
            assert found.knn_distances.tobytes() == alone.knn_distances.tobytes()


def test_signals_do_not_reach_threads_that_are_not_the_main_one():
    program = """
def work():
    found.append(_core.search_queries(P, np.ones(20_000, np.float32), P, np.ones(20_000, np.float32), 0, 15, 2))
found, P = [], rng.normal(size=(20_000, 64)).astype(np.float32)
caller = threading.Thread(target=work)
caller.start()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted")
caller.join()
print(len(found))
"""
    assert run(program).split() == ["interrupted", "1"]


def test_no_other_runtime_of_threads_is_linked():
    content = Path(_core.__file__).read_bytes()
    assert b"pthread" in content  # such names are found where they are
    assert not any(runtime in content for runtime in (b"libgomp", b"libomp", b"libiomp", b"GOMP_parallel"))
