"""The command line `winkel`: argparse, and one module per command, imported only when the command is called.

parser.py      the options of every command
console.py     output: results on standard output, everything else on standard error
plugins.py     `--plugin`: a user's own estimators, scores and distortions
methods.py     `--method` and `--set`
inputs.py      the tables and maps that a command names
embed.py  measure.py  compare.py  spectrum.py  view.py  demo.py  info.py  completion.py     the commands
"""

from __future__ import annotations

import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from ..errors import InvalidParameterError, WinkelError
from .console import Console, Outcome
from .parser import common_options, make_parser
from .plugins import load_plugins


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code of the command: 0, 1 for an error, 2 for wrong usage, 130 if interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    common = common_options(arguments)
    console = Console(json=common.json, quiet=common.quiet, debug=common.debug)
    try:
        load_plugins(common.plugin)
        options = make_parser().parse_args(arguments)
        with console.warnings_shown():
            outcome = _call(options, console)
        console.result(outcome)
        sys.stdout.flush()
        return outcome.code
    except KeyboardInterrupt:
        console.failure("interrupted", "interrupted")
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone; Python must not try to flush it once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if console.debug:
            raise
        console.failure(type(error).__name__, _sentence(error))
        return 2 if isinstance(error, InvalidParameterError) else 1


def _call(options: Namespace, console: Console) -> Outcome:
    module = importlib.import_module(f".{options.command}", __name__)
    outcome: Outcome = module.command(options, console)
    return outcome


def _sentence(error: Exception) -> str:
    """The sentence about an error for a person."""
    if isinstance(error, WinkelError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    if isinstance(error, MemoryError):
        return "there is not enough memory; with --max-memory, such work is refused before it starts."
    return f"unexpected {type(error).__name__}: {error} (--debug shows where)"
