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

from .knn_oracle import clustered

knn_module, sparse_module = (import_module(f"winkel.graph.{name}") for name in ("knn", "search"))

# Runs a search with the forecast as its limit and prints the forecast and the peak beside the data.
SCRIPT = """
import json, sys
from importlib import import_module
import numpy as np, scipy.sparse as sp
from winkel.graph import knn

def status(name):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))

case = json.loads(sys.argv[1])
rng = np.random.default_rng(0)

def make(n):
    m = case["m"]
    if case["sparse"]:
        return sp.random(n, m, density=case["sparse"], format="csr", dtype=case["dtype"], random_state=rng)
    centres = rng.normal(size=(30, m)).astype(case["dtype"])
    return centres[rng.integers(30, size=n)] + rng.normal(size=(n, m)).astype(case["dtype"])

settings = dict(metric=case["metric"], method=case["method"], random_state=0, n_jobs=2)
knn(make(200), 5, **settings)
X = make(case["n"])
forecasts = []
for module in ("knn", "search"):
    import_module("winkel.graph." + module).check_memory = lambda need, *_: forecasts.append(need)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = status("VmRSS")
graph = knn(X, case["k"], **settings)
print(json.dumps([forecasts[-1], status("VmHWM") - before, graph.origin.method]))
"""

CASE = {
    "n": 5000,
    "m": 1500,
    "k": 15,
    "dtype": "float32",
    "metric": "euclidean",
    "method": "exact",
    "sparse": 0,
}
CASES = {
    "exact, long lists": {"n": 15000, "m": 4, "k": 100},
    "exact, float64": {"dtype": "float64"},
    "exact, cosine": {"metric": "cosine"},
    "exact, correlation": {"metric": "correlation"},
    "approximate": {"n": 40000, "m": 32, "method": "approximate"},
    "approximate, sketched": {"n": 20000, "m": 300, "method": "approximate"},
    "approximate, float64 cosine": {
        "n": 15000,
        "m": 300,
        "method": "approximate",
        "dtype": "float64",
        "metric": "cosine",
    },
    "sparse": {"n": 600, "m": 50000, "sparse": 0.04, "method": "auto"},
    "sparse, float64 cosine": {
        "n": 600,
        "m": 50000,
        "sparse": 0.04,
        "method": "auto",
        "dtype": "float64",
        "metric": "cosine",
    },
}


def measure(case):
    # Without a fixed threshold freed memory is kept for reuse and hides what the search takes.
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", SCRIPT, json.dumps({**CASE, **case})]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.path.exists("/proc/self/clear_refs"), reason="peak memory is read from Linux's /proc"
)
@pytest.mark.parametrize("name", CASES)
def test_forecast_holds_and_is_not_far_above_the_peak(name):
    forecast, peak, method = measure(CASES[name])
    assert peak <= forecast <= 3 * peak
    if CASES[name].get("sparse"):
        assert peak < 600 * 50000 * 4  # what the matrix would need as a dense one
    else:
        assert method == {**CASE, **CASES[name]}["method"]


def test_refused_before_the_work_starts(monkeypatch):
    monkeypatch.setattr(knn_module, "Points", None)
    monkeypatch.setattr(sparse_module, "_prepare", None)
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
    monkeypatch.setattr(
        knn_module, "check_memory", lambda need, limit, what, advice: needs.update({what.split()[1]: need})
    )
    X = clustered(6000, 30)
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
