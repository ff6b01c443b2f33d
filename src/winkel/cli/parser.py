"""The options of every command, with argparse; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .. import __version__
from .methods import methods

SHELLS = ("bash", "zsh", "fish")
_READABLE = "csv, tsv, parquet, npy, npz or h5ad"


class _CommandParser(argparse.ArgumentParser):
    """A parser whose help may end with the list of methods; methods are imported only when this help is shown."""

    lists_methods = False

    def format_help(self) -> str:
        if self.lists_methods:
            known = methods().values()
            width = max(len(method.name) for method in known)
            lines = [f"  {method.name:<{width}}  {method.summary}" for method in known]
            self.epilog = "\n".join(["methods, whose parameters --set takes:", *lines])
        return super().format_help()


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="winkel",
        description="Maps of high-dimensional data, and how far each can be trusted.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"winkel {__version__}")
    _common(parser)
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_CommandParser
    )

    def add(name: str, text: str, lists_methods: bool = False) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=text,
            description=_sentence(text),
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.lists_methods = lists_methods
        _common(command, nested=True)
        return command

    _embed(add("embed", "make a map of a table", lists_methods=True))
    _measure(add("measure", "say how faithful a map is to its data"))
    _compare(
        add(
            "compare",
            "compare several maps of the same data, from files or made by several methods",
            lists_methods=True,
        )
    )
    _spectrum(add("spectrum", "make maps from the overall shape to the neighbours of each row"))
    _view(add("view", "show a map in the browser, served only on this computer"))
    _demo(add("demo", "make maps of the built-in digits, with pictures"))
    add("info", "versions, threads, memory and optional packages")
    completion = add("completion", "print the completion script of a shell")
    completion.add_argument("shell", choices=SHELLS)
    return parser


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def common_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The options that may come before or after the command; they are needed before the others can be read."""
    parser = argparse.ArgumentParser(prog="winkel", add_help=False, allow_abbrev=False)
    _common(parser)
    return parser.parse_known_args(arguments)[0]


def _common(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """The options of all commands; in a nested parser, they do not override options given before the command."""
    for name, text in (
        ("json", "print one JSON object on standard output, for scripts"),
        ("quiet", "no notes and no progress on standard error"),
        ("debug", "show the traceback of an error"),
    ):
        default = argparse.SUPPRESS if nested else False
        parser.add_argument(f"--{name}", action="store_true", default=default, help=text)
    parser.add_argument(
        "--plugin",
        action="append",
        default=argparse.SUPPRESS if nested else [],
        metavar="FILE",
        help="first import a Python file of your own, whose estimators, scores and penalties are then known; may be given several "
        "times (also: the environment variable WINKEL_PLUGINS)",
    )


def _embed(command: argparse.ArgumentParser) -> None:
    _data(command)
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="map file to write: parquet, csv, tsv, npz, npy or h5ad; - for csv on standard output; or a folder such as out/ "
        "for data larger than memory (parquet files by a pattern in quotation marks, npy, h5ad, zarr): the map is then made by shards",
    )
    command.add_argument(
        "--method", default="mde", metavar="METHOD", help="one of those listed below (default: mde)"
    )
    _settings(command)
    command.add_argument(
        "--html", metavar="F", help="also write an explorer page, one file that works offline"
    )
    command.add_argument(
        "--features",
        action="store_true",
        help="put the columns of the data into the page, so that it can say what sets a selection apart",
    )
    command.add_argument("--png", metavar="F", help="also write a picture")
    command.add_argument("--model", metavar="F", help="also write the model, for winkel.load")
    _resources(command)
    command.add_argument(
        "--time-limit",
        type=_seconds,
        metavar="SECONDS",
        help="stop after this time and keep the best map so far (default: no limit)",
    )
    command.add_argument("--resume", action="store_true", help="continue where the same command stopped")
    command.add_argument(
        "--checkpoint-every",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="seconds between checkpoints, which are next to OUT until it is written (default: 60)",
    )
    command.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="with a folder as OUT: use the Dask cluster at this address (tcp://…)",
    )
    command.add_argument(
        "--pca",
        type=int,
        metavar="COUNT",
        help="with a folder as OUT: first reduce the rows to this number of principal components",
    )
    command.add_argument(
        "--landmarks",
        type=int,
        metavar="COUNT",
        help="with a folder as OUT: fit this number of rows, by any method that places new rows, and place the others among them",
    )
    command.add_argument(
        "--refine",
        action="store_true",
        help="with --landmarks: keep their arrangement, but search the neighbours of each row among all rows, and refine (by mde)",
    )
    command.add_argument("--watch", action="store_true", help="show the map in the browser as it forms")
    _server(command)


def _measure(command: argparse.ArgumentParser) -> None:
    _data(command)
    command.add_argument(
        "map",
        metavar="MAP",
        help="map file, model file, any table of coordinates, or the folder of a map by shards",
    )
    command.add_argument(
        "-o", "--output", metavar="OUT", help="also write the measures of every point to a file"
    )
    _judging(command)


def _compare(command: argparse.ArgumentParser) -> None:
    _data(command)
    command.add_argument("maps", nargs="*", metavar="MAP", help="map files of the same rows")
    command.add_argument(
        "--methods",
        type=lambda names: [name.strip() for name in names.split(",")],
        default=[],
        metavar="A,B,…",
        help="also make maps by these methods (see the list below)",
    )
    _settings(command)
    command.add_argument("-o", "--output", metavar="OUT", help="also write the table of scores to a file")
    command.add_argument("--html", metavar="F", help="also write an explorer page with all maps")
    command.add_argument("--png", metavar="F", help="also write a picture of all maps")
    _judging(command)


def _spectrum(command: argparse.ArgumentParser) -> None:
    _data(command)
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="explorer page to write, with a slider over the maps",
    )
    command.add_argument("--png", metavar="F", help="also write a picture of all maps")
    _settings(command)
    _judging(command)


def _view(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file",
        metavar="FILE",
        help="page of write_html, map file or model file; or the folder of a map by shards, which is shown by tiles",
    )
    _server(command)


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o", "--output", default="out/demo", help="folder for the pictures (default: %(default)s)"
    )
    command.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")


def _data(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "input",
        metavar="INPUT",
        help=f"table to read: {_READABLE}; - for text with columns on standard input",
    )
    command.add_argument(
        "--label", "--labels", metavar="COL", help="column of labels, for colours and scores"
    )
    command.add_argument("--id", metavar="COL", help="column that names the rows")
    command.add_argument(
        "--columns", action="append", metavar="A,B,…", help="columns to use (default: all others)"
    )
    command.add_argument("--drop", action="append", metavar="A,B,…", help="columns to leave out")
    command.add_argument(
        "--keep",
        action="append",
        metavar="A,B,…",
        help="columns to carry along, into the map file and the page",
    )
    command.add_argument(
        "--numeric",
        action="store_true",
        help="use only the columns of numbers, and say which columns are left out",
    )
    command.add_argument(
        "--encode",
        choices=("onehot", "gower"),
        help="use columns of text as categories: onehot makes a column of 0 and 1 for each value, gower compares by Gower's distance",
    )
    command.add_argument(
        "--scale",
        choices=("standard", "robust", "none"),
        default="none",
        help="scale the columns: standard by mean and standard deviation, robust by median and quartiles (default: none)",
    )
    command.add_argument(
        "--key",
        metavar="NAME",
        help="array to read from an npz file (default: X, or the only one) or from an h5ad file, such as obsm/X_pca",
    )


def _settings(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the method, such as n_neighbors=30; may be given several times",
    )


def _resources(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    command.add_argument("--n-jobs", type=int, metavar="N", help="threads (default: all cores)")
    command.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="refuse work that is forecast to need more memory than this, such as 4GB",
    )


def _judging(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--n-neighbors", type=int, default=15, metavar="K", help="size of a neighbourhood (default: 15)"
    )
    command.add_argument("--metric", default="euclidean", help="distance in the data (default: euclidean)")
    command.add_argument(
        "--scores",
        type=lambda names: [name.strip() for name in names.split(",")],
        metavar="A,B,…",
        help="compute only these scores, including those of a plugin (default: all)",
    )
    _resources(command)


def _server(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--port", type=int, default=0, metavar="N", help="port of the local server (default: a free one)"
    )
    command.add_argument(
        "--no-browser", action="store_true", help="only print the address; do not open a browser"
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"must be zero or more; got {text!r}")
    return seconds
