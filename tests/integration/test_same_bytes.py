"""The same bytes from processes that were told to take themselves for other processors.

Each child makes all digests of `tests.digests` with one instruction set for the core's kernels, one for NumPy's and one number of
threads; every pair of values meets at least once.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from winkel import _core

from ..pairwise import pairwise

ROOT = Path(__file__).parents[2]
CASES = pairwise(_core.instruction_sets(), [1, 2, 3])


def digests(environment: dict[str, str], n_jobs: int) -> dict[str, str]:
    """What a child process makes under these variables."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.digests", "--n-jobs", str(n_jobs)],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digests({}, 1)


@pytest.mark.parametrize(("instructions", "n_jobs"), CASES)
def test_bytes_do_not_depend_on_the_processor(instructions, n_jobs, here):
    found = digests({"WINKEL_ISA": instructions}, n_jobs)
    assert {name for name in here if found[name] != here[name]} == set()


def test_an_unknown_instruction_set_is_an_error_of_the_import():
    ran = subprocess.run(
        [sys.executable, "-c", "import winkel._core"],
        env={**os.environ, "WINKEL_ISA": "abacus"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode != 0
    assert "must be 'baseline', 'v3' or 'v4'; got 'abacus'" in ran.stderr
