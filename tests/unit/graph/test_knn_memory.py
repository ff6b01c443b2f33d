"""`max_memory`: forecasts against the real peak of a process, refusal before the work, and the leaner way."""

import json
import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.errors import InvalidParameterError, MemoryLimitError
from winkel.graph import knn
from winkel.run import Run

from .knn_oracle import clustered

knn_module, search_module = (import_module(f"winkel.graph.{name}") for name in ("knn", "search"))

# Runs searches and prints, for each, the forecast and the peak beside the data. One process for all: importing takes longer
# than most of them.
SCRIPT = """
import json, sys
import numpy as np, scipy.sparse as sp
from winkel.graph import knn
from winkel.run import Run

def status(name):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))

rng = np.random.default_rng(0)

def make(n, m, dtype, per_row):
    if per_row:
        columns = rng.integers(m, size=(n, per_row)).ravel()
        X = sp.csr_matrix((rng.random(n * per_row).astype(dtype), columns, np.arange(n + 1) * per_row), shape=(n, m))
        X.sum_duplicates()
        return X
    centres = rng.normal(size=(30, m)).astype(dtype)
    return centres[rng.integers(30, size=n)] + rng.normal(size=(n, m)).astype(dtype)

forecasts, found = [], {}
Run.check_memory = lambda run, need, *_: forecasts.append(need)
for name, case in json.loads(sys.argv[1]).items():
    kind = case["m"], case["dtype"], case["per_row"]
    settings = dict(metric=case["metric"], method=case["method"], random_state=0, n_jobs=2)
    knn(make(200, *kind), 5, **settings)
    X = make(case["n"], *kind)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status("VmRSS")
    graph = knn(X, case["k"], **settings)
    found[name] = forecasts[-1], status("VmHWM") - before, graph.origin.method
    del X, graph
print(json.dumps(found))
"""

CASE = {
    "n": 3000,
    "m": 1500,
    "k": 15,
    "dtype": "float32",
    "metric": "euclidean",
    "method": "exact",
    "per_row": 0,
}
APPROXIMATE = CASE | {"n": 8000, "m": 300, "method": "approximate"}
SPARSE = CASE | {"n": 450, "m": 50000, "method": "auto", "per_row": 2000}
CASES = {
    "exact, long lists": CASE | {"n": 10000, "m": 4, "k": 100},
    "exact, float64": CASE | {"dtype": "float64"},
    "exact, cosine": CASE | {"metric": "cosine"},
    "exact, correlation": CASE | {"metric": "correlation"},
    "approximate": APPROXIMATE | {"n": 20000, "m": 32},
    "approximate, sketched": APPROXIMATE,
    "approximate, float64 cosine": APPROXIMATE | {"dtype": "float64", "metric": "cosine"},
    "sparse": SPARSE,
    "sparse, float64 cosine": SPARSE | {"dtype": "float64", "metric": "cosine"},
}


@pytest.mark.slow
@pytest.mark.skipif(
    not os.path.exists("/proc/self/clear_refs"), reason="peak memory is read from Linux's /proc"
)
def test_forecasts_hold_and_are_not_far_above_the_peak():
    # Without a fixed threshold freed memory is kept for reuse and hides what the search takes.
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", SCRIPT, json.dumps(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == CASES.keys()
    for name, (forecast, peak, method) in found.items():
        case = CASES[name]
        assert peak <= forecast <= 3 * peak, name
        if case["per_row"]:
            assert peak < case["n"] * case["m"] * 4, name  # what the matrix would need as a dense one
        else:
            assert method == case["method"], name


def test_refused_before_the_work_starts(monkeypatch):
    monkeypatch.setattr(knn_module, "Points", None)
    monkeypatch.setattr(search_module, "prepare_sparse", None)
    X = clustered(500, 20)
    for method in ("exact", "approximate", "auto"):
        with pytest.raises(
            MemoryLimitError, match=r"forecast to need 1\d\.\d MB, more than max_memory=1\.0 MB"
        ):
            knn(X, 5, method=method, max_memory="1MB")
    with pytest.raises(MemoryLimitError, match="sparse rows"):
        knn(sp.csr_matrix(X), 5, max_memory=10**6)


def test_the_error_of_an_approximate_search_names_the_leaner_way():
    with pytest.raises(MemoryLimitError, match=r'method="exact" needs \d'):
        knn(clustered(500, 20), 5, method="approximate", max_memory=1000)


def test_auto_takes_the_leaner_way(monkeypatch):
    monkeypatch.setattr(knn_module, "_EXACT_UP_TO", 1000)
    needs = {}
    X = clustered(6000, 30)
    with monkeypatch.context() as patch:
        patch.setattr(Run, "check_memory", lambda run, need, what, _: needs.update({what.split()[1]: need}))
        for method in ("exact", "approximate"):
            knn(X, 5, method=method)
    assert needs["exact"] < needs["approximate"]
    between = (needs["exact"] + needs["approximate"]) / 2
    assert knn(X, 5).origin.method == "approximate"
    assert knn(X, 5, max_memory=needs["approximate"]).origin.method == "approximate"
    assert knn(X, 5, max_memory=between).origin.method == "exact"


def test_auto_is_exact_for_few_rows():
    assert knn(clustered(300, 4), 5).origin.method == "exact"


def test_forecast_grows_with_threads_and_copies():
    from winkel.graph.search import forecast

    X = np.zeros((1000, 784), dtype=np.float32)
    for exactly in (True, False):
        few = forecast(X, 10, copies=False, exactly=exactly, n_jobs=1)
        assert forecast(X, 10, copies=False, exactly=exactly, n_jobs=64) > few
        assert forecast(X, 10, copies=True, exactly=exactly, n_jobs=1) == few + X.nbytes


@pytest.mark.parametrize("bad", ["lots", -1, 0, True, "4 apples"])
def test_impossible_limits(bad):
    with pytest.raises(InvalidParameterError, match="max_memory"):
        knn(np.eye(5), 2, max_memory=bad)
