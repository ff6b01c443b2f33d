"""The command line in a process of its own, as a shell would start it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import winkel

COMMAND = (sys.executable, "-m", "winkel")
# The package under test, also when it was found by a path relative to this process's folder.
ENVIRONMENT = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": str(Path(winkel.__file__).parents[1])}


def start(*arguments, folder, **options):
    """The running process."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def command(*arguments, folder, given=None):
    """Exit code, standard output and standard error as bytes."""
    process = start(
        *arguments, folder=folder, stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL
    )
    out, err = process.communicate(given, timeout=120)
    return process.returncode, out, err
