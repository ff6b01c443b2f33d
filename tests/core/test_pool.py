"""The pool of threads, tried without Python, also under the sanitizers that see races and wrong memory."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which("g++") or shutil.which("clang++")


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on the path")
@pytest.mark.parametrize("sanitizer", [None, "thread", "address,undefined"])
def test_pool(sanitizer, tmp_path):
    program = tmp_path / "pool"
    flags = [
        "-std=c++17",
        "-O2",
        "-g",
        "-pthread",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{HERE.parents[1] / 'cpp'}",
    ]
    flags += [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"] if sanitizer else []
    made = subprocess.run(
        [str(COMPILER), *flags, str(HERE / "pool.cpp"), "-o", str(program)], capture_output=True, text=True
    )
    if sanitizer and "cannot find" in made.stderr:
        pytest.skip(f"the {sanitizer} sanitizer is not installed")
    assert made.returncode == 0, made.stderr
    command = [str(program), *(["no fork"] if sanitizer == "thread" else [])]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "unexpected memory mapping" in ran.stderr:
        pytest.skip("the kernel lays memory out in a way that the thread sanitizer does not know")
    assert ran.returncode == 0, ran.stdout + ran.stderr
