"""The pool of threads and the main kernels, tried without Python, also under the sanitizers that see races and wrong memory."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


def gcc_before(version: int) -> bool:
    """Whether the compiler is an older GCC."""
    asked = [str(COMPILER), "-dM", "-E", "-x", "c++", os.devnull]
    macros = dict(
        line.split(" ", 2)[1:]
        for line in subprocess.run(asked, capture_output=True, text=True).stdout.splitlines()
    )
    return "__clang__" not in macros and int(macros.get("__GNUC__", version)) < version


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on the path")
@pytest.mark.parametrize(
    ("name", "sanitizer"),
    [("pool", None), ("pool", "thread"), ("pool", "address,undefined"), ("races", "thread")],
)
def test_program(name, sanitizer, tmp_path):
    if sanitizer == "thread" and gcc_before(12):
        pytest.skip(
            "before GCC 12 that sanitizer sees no wait by the steady clock, and takes its mutex for held"
        )
    program = tmp_path / name
    flags = [
        "-std=c++17",
        "-O1",
        "-g",
        "-pthread",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-psabi",
        "-ffp-contract=off",
        "-DWINKEL_NO_CLONES",
        f"-I{HERE.parents[1] / 'cpp'}",
    ]
    flags += [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"] if sanitizer else []
    made = subprocess.run(
        [str(COMPILER), *flags, str(HERE / f"{name}.cpp"), "-o", str(program)], capture_output=True, text=True
    )
    if sanitizer and "cannot find" in made.stderr:
        pytest.skip(f"the {sanitizer} sanitizer is not installed")
    assert made.returncode == 0, made.stderr
    # By default the thread sanitizer ends a child that starts threads; it sees the fork all the same.
    environment = {**os.environ, "TSAN_OPTIONS": "die_after_fork=0"}
    ran = subprocess.run([str(program)], env=environment, capture_output=True, text=True, timeout=300)
    if "unexpected memory mapping" in ran.stderr:
        pytest.skip("the kernel lays memory out in a way that the thread sanitizer does not know")
    assert ran.returncode == 0, ran.stdout + ran.stderr
