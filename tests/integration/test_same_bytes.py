"""The same bytes from processes that were told to take themselves for other processors, and from other machines.

Each child makes all digests of `tests.digests` with one instruction set for the core's kernels, one for OpenBLAS, one for NumPy's
loops, one for the C library's functions, and one number of threads. `tests/reference/digests.json` holds those of another machine:
after a change that moves bytes on purpose, `python -m tests.digests --write`.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy

from winkel import _core

from .. import digests as made

ROOT = Path(__file__).parents[2]
_WITHOUT_VECTORS = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": " ".join(
        name for name in np._core._multiarray_umath.__cpu_dispatch__ if made.NUMPY_HAS.get(name, False)
    ),
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable",
}
_WITH_AVX2 = {"OPENBLAS_CORETYPE": "Haswell"}
# Few processes: each takes some seconds. The highest level meets the oldest libraries and the reverse.
CASES = [
    (name, environment, n_jobs)
    for name, environment, n_jobs in (
        ("baseline", {}, 2),
        ("baseline", _WITH_AVX2, 1),
        ("v3", _WITHOUT_VECTORS, 3),
        ("v4", _WITHOUT_VECTORS, 2),
        ("v4", {"OPENBLAS_CORETYPE": "SkylakeX"}, 3),
    )
    if name in _core.instruction_sets()
]
X86 = platform.machine() in ("x86_64", "AMD64")


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


@pytest.mark.skipif(not X86, reason="forces instruction sets of x86-64")
@pytest.mark.parametrize(("instructions", "environment", "n_jobs"), CASES)
def test_bytes_do_not_depend_on_the_processor(instructions, environment, n_jobs, here):
    found = digests({"WINKEL_ISA": instructions, **environment}, n_jobs)
    differing = {name for name in here if found[name] != here[name]}
    assert differing - made.PROCESSOR_DEPENDENT == set()


@pytest.mark.skipif(not X86, reason="the committed digests are those of x86-64")
def test_bytes_are_those_of_another_machine(here):
    known = json.loads(made.FILE.read_text())
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    if known.pop("versions") != versions:
        pytest.skip(
            "the digests were made with other versions of NumPy or SciPy, whose own sums may have changed"
        )
    assert {name for name in known if here.get(name) != known[name]} == set()


def test_an_unknown_instruction_set_is_an_error_of_the_import():
    ran = subprocess.run(
        [sys.executable, "-c", "import winkel._core"],
        env={**os.environ, "WINKEL_ISA": "abacus"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode != 0
    assert "must be 'baseline', 'v3' or 'v4'; got 'abacus'" in ran.stderr
