"""Pictures of the explorer for docs/explorer.md and the README, by Chromium without a window.

python tools/explorer_picture.py FOLDER [card maps space phone reliability]   (needs playwright, Chromium, and MNIST in WINKEL_DATA
                                                                               or the cache)

Without names, all five are made. "card" and "reliability" show MNIST, the others the page of examples/explorer.py.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import winkel as wk

EXAMPLE = Path(__file__).parents[1] / "examples" / "explorer.py"
FLAGS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox", "--disable-dev-shm-usage")
APP = "document.getElementById('winkel-explorer').explorer"
MOSTLY = 0.8
WINDOW = {"viewport": {"width": 1200, "height": 720}}
DARK = {**WINDOW, "color_scheme": "dark"}
TELEPHONE = {"viewport": {"width": 390, "height": 720}, "has_touch": True}


def write_digits(path: Path) -> None:
    """The page of the example."""
    arguments, sys.argv = sys.argv, [EXAMPLE.name, str(path.parent)]
    try:
        runpy.run_path(str(EXAMPLE))
    finally:
        sys.argv = arguments
    (path.parent / "explorer.html").rename(path)


def write_mnist(path: Path) -> int:
    """The page of MNIST, and a row that the map put mostly among rows of other digits, far from its like.

    A row's reliability is the share of its 15 nearest rows that are among its 15 nearest on the map. The row's like are to its left,
    since its card opens on the right.
    """
    mnist = wk.datasets.load_mnist()
    X = wk.quadratic.pca(mnist.X, 50).to_textbook().astype(np.float32)
    graph = wk.graph.knn(X, 15, random_state=0)
    maps = {
        "MDE": np.asarray(wk.MDE(random_state=0).fit(X).embedding_),
        "PCA": np.ascontiguousarray(X[:, :2]),
    }
    lists = graph.knn_indices
    shown = {name: wk.graph.knn(Y, 15, random_state=0).knn_indices for name, Y in maps.items()}
    kept = {
        name: (lists[:, :, None] == near[:, None, :]).any(axis=2).mean(axis=1) for name, near in shown.items()
    }
    wk.write_html(
        path,
        maps,
        labels=mnist.y,
        neighbors=graph,
        reliability=kept,
        scores={name: {"neighbor_recall": share.mean()} for name, share in kept.items()},
        images=np.asarray(mnist.X).reshape(-1, 28, 28).astype(np.uint8),
        title="MNIST",
        trust=False,
    )
    others = mnist.y[shown["MDE"]]
    alone = (mnist.y[lists] == mnist.y[:, None]).all(axis=1)
    alone &= (others != mnist.y[:, None]).mean(axis=1) > MOSTLY
    Y = maps["MDE"]
    way = np.median(Y[lists], axis=1) - Y
    alone &= (way[:, 0] < 0) & (Y[:, 0] < Y[:, 0].max() / 2)
    return int(np.argmax(np.where(alone, np.linalg.norm(way, axis=1), -1.0)))


class Page:
    """A page that is open, with what the pictures need."""

    def __init__(self, browser: Any, path: Path, how: dict[str, Any], *, maps: int) -> None:
        self.page = browser.new_context(**how).new_page()
        self.page.goto(path.as_uri())
        self.page.evaluate(f"{APP}.then((app) => app.complete)")
        self.page.wait_for_timeout(2500)
        panels = self.page.evaluate(f"{APP}.then((app) => app.stage.panels.length)")
        if (panels == 1) != (maps == 1):
            self.page.keyboard.press("s")  # side by side, or one by one
            self.page.wait_for_timeout(1000)

    def pixels(self, rows: Any, panel: int = 0) -> np.ndarray:
        """Where points are in the window."""
        found = self.page.evaluate(
            f"""{APP}.then((app) => {{
                const panel = app.stage.panels[{panel}], box = app.stage.element.getBoundingClientRect();
                return {[int(row) for row in rows]}.map((row) => {{
                    const [x, y] = panel.pixel(row);
                    return [box.left + panel.rect.x + x, box.top + panel.rect.y + y];
                }});
            }})"""
        )
        return np.array(found)

    def lasso(self, around: np.ndarray) -> None:
        """Draw a lasso along corners in the window."""
        self.page.keyboard.press("l")
        self.page.mouse.move(*around[0])
        self.page.mouse.down()
        for corner in [*around[1:], around[0]]:
            self.page.mouse.move(*corner, steps=4)
        self.page.mouse.up()

    def shot(self, path: Path) -> None:
        """The window as a picture, without the frame of what the keyboard is for."""
        self.page.evaluate("document.activeElement.blur()")
        self.page.wait_for_timeout(2500)
        self.page.screenshot(path=str(path))
        self.page.close()


def outline(at: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Corners around the middle of each class: the hull of the nine tenths of its points nearest to its median."""
    from scipy.spatial import ConvexHull

    middle = []
    for label in np.unique(y):
        own = at[y == label]
        off = np.linalg.norm(own - np.median(own, axis=0), axis=1)
        middle.append(own[off <= np.quantile(off, 0.9)])
    points = np.concatenate(middle)
    return points[ConvexHull(points).vertices]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ("card", "maps", "space", "phone", "reliability")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="name", help=", ".join(names))
    options = parser.parse_args()
    options.names = options.names or names
    options.folder.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as work, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        digits, mnist = Path(work) / "digits.html", Path(work) / "mnist.html"
        if {"maps", "space", "phone"} & set(options.names):
            write_digits(digits)
        row = write_mnist(mnist) if {"card", "reliability"} & set(options.names) else -1

        def card() -> Page:
            page = Page(browser, mnist, WINDOW, maps=1)
            page.page.mouse.move(*page.pixels([row])[0])
            return page

        def linked_maps() -> Page:
            page = Page(browser, digits, WINDOW, maps=3)
            y = wk.datasets.load_digits().y
            rows = np.flatnonzero((y == 0) | (y == 6))
            page.lasso(outline(page.pixels(rows, panel=1), y[rows]))
            return page

        def space() -> Page:
            page = Page(browser, digits, DARK, maps=1)
            page.page.get_by_text("MDE in space", exact=True).first.click()
            return page

        def phone() -> Page:
            page = Page(browser, digits, TELEPHONE, maps=1)
            page.page.touchscreen.tap(*page.pixels([7])[0])
            return page

        def reliability() -> Page:
            page = Page(browser, mnist, WINDOW, maps=2)
            page.page.locator("select:visible").first.select_option("reliability")
            return page

        makers: dict[str, Callable[[], Page]] = dict(
            zip(names, (card, linked_maps, space, phone, reliability), strict=True)
        )
        for name in options.names:
            makers[name]().shot(options.folder / f"explorer-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
