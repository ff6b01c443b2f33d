"""Every header of the core compiles alone, so that no order of includes matters."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CPP = Path(__file__).parents[2] / "cpp"
HEADERS = [path for path in sorted((CPP / "core").glob("*.hpp")) if "#pragma once" in path.read_text()]
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on the path")
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_a_header_compiles_alone(header):
    command = [str(COMPILER), "-fsyntax-only", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    made = subprocess.run(
        [*command, f"-I{CPP}", "-x", "c++", "-"],
        input=f'#include "core/{header.name}"\n',
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr


def test_all_headers_are_looked_at():
    assert len(HEADERS) > 40
    fragments = {path.name for path in (CPP / "core").glob("*.hpp")} - {path.name for path in HEADERS}
    assert fragments <= {"tile_body.hpp"}, "a header without a guard"
