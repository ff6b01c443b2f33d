"""The command line. `winkel demo` makes maps of built-in data, `winkel info` says what is installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import WinkelError


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code of the command: 0, 2 for wrong use, 1 for an error, 130 when interrupted."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.command == "demo":
            from .demo import demo

            demo(options.output, options.seed)
        else:
            from .info import info

            print(info())
    except WinkelError as error:
        if options.debug:
            raise
        print(f"winkel: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("winkel: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="winkel", description="Maps of high-dimensional data, and their faithfulness."
    )
    parser.add_argument("--version", action="version", version=f"winkel {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="make maps of the built-in digits, with pictures")
    demo.add_argument(
        "-o", "--output", default="out/demo", help="folder for the pictures (default: %(default)s)"
    )
    demo.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    commands.add_parser("info", help="versions, threads, memory and optional packages")
    return parser
