"""`winkel view`, and the page that `winkel embed --watch` shows."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ..maps import read_map
from ..view.feed import Feed
from ..view.server import LocalServer, Site, page_site, tiles_site, watch_site
from ..view.tiles import tiles_of
from .console import Console, Outcome

_PAGE_ROWS = 2_000_000  # that a page holds; maps of more are shown by tiles


def command(options: Namespace, console: Console) -> Outcome:
    """Serve the page of a file, or the tiles of a folder, until Ctrl-C."""
    site = _site(options.file, console)
    with LocalServer(site, options.port) as server:
        if console.json:
            console.result(Outcome({"command": "view", "url": server.url}))
            sys.stdout.flush()
        else:
            print(server.url, flush=True)
        console.note("This address only works on this computer; Ctrl-C ends the server.")
        _open(server.url, options)
        server.wait()
    return Outcome({})


def _site(path: str, console: Console) -> Site:
    """The site to serve: tiles if the map is in a folder or has very many rows, otherwise a page."""
    if not Path(path).is_dir() and _row_count(path) <= _PAGE_ROWS:
        return page_site(_page(path))
    tiles = tiles_of(path)
    console.note(f"{tiles.n} points in tiles: {tiles.folder}")
    return tiles_site(tiles, Path(path).resolve().name)


def _row_count(path: str) -> int:
    """The number of rows of a parquet file or an array, if it is known without reading the file."""
    file = Path(path)
    if not file.is_file():
        return 0
    if file.suffix == ".parquet":
        try:
            from pyarrow.parquet import read_metadata

            return int(read_metadata(file).num_rows)
        except (ImportError, OSError, ValueError):
            return 0
    if file.suffix == ".npy":
        try:
            return len(np.load(file, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError, EOFError, TypeError):
            return 0
    return 0


def _page(path: str) -> bytes:
    """The page in a file, or one made of the map in it."""
    file = Path(path)
    if file.suffix.lower() in (".html", ".htm"):
        if not file.is_file():
            raise InvalidInputError(f"The file {path!r} does not exist.")
        return file.read_bytes()
    from .pages import write_page

    found = read_map(path)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "page.html"
        write_page(str(target), {file.name: found})
        return target.read_bytes()


@contextmanager
def watching(options: Namespace, console: Console, title: str, labels: Any) -> Iterator[Feed]:
    """A callback of the fit that shows its progress in the browser; on a terminal, the page stays until Ctrl-C."""
    feed = Feed(title, labels)
    with LocalServer(watch_site(feed), options.port) as server:
        print(f"winkel: the map forms at {server.url}", file=sys.stderr, flush=True)
        _open(server.url, options)
        yield feed
        feed.finish()
        if console.progress:
            console.note("The page stays open; Ctrl-C ends it.")
            server.wait()


def _open(url: str, options: Namespace) -> None:
    """Show the address in a browser, if there is one and the user did not forbid it."""
    if not options.no_browser and (os.name == "nt" or sys.platform == "darwin" or "DISPLAY" in os.environ):
        webbrowser.open(url)
