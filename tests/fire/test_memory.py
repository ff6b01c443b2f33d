"""Forecasts of memory against measured peaks, and the limit that is kept. `make fire` measures a grid of sizes for every estimator."""

from __future__ import annotations

import subprocess
import sys

import pytest

from winkel.data import as_table
from winkel.errors import MemoryLimitError

from ..estimators import instances, make, rows
from .child import ENVIRONMENT, ROOT
from .faults import _limited


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_forecasts_are_near_the_peaks_and_the_limit_is_kept():
    done = subprocess.run(
        [sys.executable, "-m", "tests.fire.memory", "--quick"], cwd=ROOT, env=ENVIRONMENT, text=True,
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("MB") >= 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("instance", instances())
def test_work_beyond_the_limit_is_refused_before_it_begins(instance):
    name, own = instances()[instance]
    seen: list[object] = []
    X = rows(400, 6)
    forecast = make(name, **own)._forecast(as_table(X))
    assert forecast > 0
    with pytest.raises(MemoryLimitError, match=f"{name} is forecast to need"):
        make(name, **own, max_memory=forecast - 1, callbacks=[seen.append]).fit(X)
    assert not seen
    assert make(name, **own, max_memory=forecast + 1, callbacks=[seen.append]).fit(X).n_iter_ > 0
    more = make(name, **own)._forecast(as_table(rows(4000, 6)))
    assert more > forecast


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is set above what /proc says is in use")
@pytest.mark.parametrize("what", ["page", "report", "table"])
def test_what_runs_out_of_memory_while_it_writes_says_so_and_leaves_the_old_file(what):
    assert _limited(what, 8_000_000) == "refused"
