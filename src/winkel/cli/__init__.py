"""The command line `winkel`: argparse on top, one module a command, each imported only when it is called.

parser.py      the options of every command
console.py     what is said where: results on standard output, everything else on standard error
methods.py     `--method` and `--set`
maps.py        map files in and out
embed.py  measure.py  compare.py  view.py  demo.py  info.py  completion.py     the commands
"""

from __future__ import annotations

import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from ..errors import InvalidParameterError, WinkelError
from .console import Console, Outcome
from .parser import make_parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code of the command: 0, 1 for an error, 2 for wrong use, 130 when interrupted."""
    options = make_parser().parse_args(arguments)
    console = Console(json=options.json, quiet=options.quiet, debug=options.debug)
    try:
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
        if options.debug:
            raise
        console.failure(type(error).__name__, _sentence(error))
        return 2 if isinstance(error, InvalidParameterError) else 1


def _call(options: Namespace, console: Console) -> Outcome:
    module = importlib.import_module(f".{options.command}", __name__)
    outcome: Outcome = module.command(options, console)
    return outcome


def _sentence(error: Exception) -> str:
    """What a person is told of an error."""
    if isinstance(error, WinkelError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    if isinstance(error, MemoryError):
        return "there is not enough memory; give --max-memory to be told of this before the work."
    return f"unexpected {type(error).__name__}: {error} (--debug shows where)"
