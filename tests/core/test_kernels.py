"""Kernels give the same bytes for every instruction set and on another architecture, tried without Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from winkel import _core

HERE = Path(__file__).parent
FLAGS = [
    *("-std=c++17", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-pthread"),
    *("-Wall", "-Wextra", "-Werror", "-Wno-psabi", f"-I{HERE.parents[1] / 'cpp'}"),
]
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
CROSS, EMULATOR = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")


def build(compiler: str, program: Path, *flags: str) -> Path:
    command = [compiler, *FLAGS, *flags, str(HERE / "kernels.cpp"), "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    return program


def lines(*command: str, **environment: str) -> list[str]:
    ran = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> Path:
    if COMPILER is None:
        pytest.skip("no C++ compiler on the path")
    return build(COMPILER, tmp_path_factory.mktemp("kernels") / "here")


def test_every_instruction_set_gives_the_same_bytes(here):
    found = {name: lines(str(here), WINKEL_ISA=name) for name in _core.instruction_sets()}
    assert len(found["baseline"]) > 30
    for name in found:
        assert found[name] == found["baseline"], name


@pytest.mark.skipif(CROSS is None, reason="aarch64-linux-gnu-g++ is not installed")
@pytest.mark.skipif(EMULATOR is None, reason="qemu-aarch64 is not installed")
def test_aarch64_gives_the_same_bytes(here, tmp_path):
    program = build(str(CROSS), tmp_path / "aarch64", "-static")
    assert lines(str(EMULATOR), str(program)) == lines(str(here))
