"""A Chromium without a window, and pages of it that note everything that must not happen."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winkel as wk

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# WebGL2 by software, no sandbox since tests may run as root, and no calls of the browser's own.
FLAGS = (
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-dev-shm-usage",
)  # fmt: skip


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser context with a new empty profile."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no Chromium was found (looked for {', '.join(NAMES)})")
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=path,
            headless=True,
            args=list(FLAGS),
            viewport={"width": 1100, "height": 700},
            color_scheme="light",
            accept_downloads=True,
        )
        yield context
        context.close()


def blobs(n_classes: int = 3, each: int = 60, seed: int = 0) -> tuple[Any, Any]:
    """Classes of points around corners of a triangle, and their labels."""
    stream = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centers = 5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = np.repeat(np.arange(n_classes), each)
    return centers[y] + stream.normal(size=(len(y), 2)), y


class Explorer:
    """A page that is open, with short words for what tests do on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and "GPU stall due to ReadPixels" not in message.text:
            self.problems.append(message.text)

    def open(self, url: str) -> Explorer:
        self.page.goto(url)
        self.page.evaluate("document.getElementById('winkel-explorer').explorer.then((app) => app.complete)")
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self

    def app(self, expression: str) -> Any:
        """The value of a JavaScript expression of `app`, the program of the page."""
        script = f"document.getElementById('winkel-explorer').explorer.then((app) => ({expression}))"
        return self.page.evaluate(script)

    def pixel(self, row: int, panel: int = 0) -> tuple[float, float]:
        """Where a row's point is in the window."""
        script = f"""(() => {{
            const panel = app.stage.panels[{panel}], box = app.stage.element.getBoundingClientRect();
            const [x, y] = panel.pixel({row});
            return [box.left + panel.rect.x + x, box.top + panel.rect.y + y];
        }})()"""
        x, y = self.app(script)
        return x, y

    def hover(self, row: int, panel: int = 0) -> None:
        self.page.mouse.move(*self.pixel(row, panel))

    def drag(self, places: list[tuple[float, float]]) -> None:
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=3)
        self.page.mouse.up()

    def colors(self) -> Any:
        """The points as drawn, an array of height × width × 4 bytes in device pixels."""
        flat, width, height = self.app(
            """(() => {
                app.stage.drawNow();
                const canvas = document.createElement('canvas'), from = app.stage.canvas;
                canvas.width = from.width; canvas.height = from.height;
                const pen = canvas.getContext('2d', { willReadFrequently: true });
                pen.drawImage(from, 0, 0);
                const bytes = pen.getImageData(0, 0, from.width, from.height).data;
                let text = '';
                for (let i = 0; i < bytes.length; i += 32768)
                    text += String.fromCharCode(...bytes.subarray(i, i + 32768));
                return [btoa(text), from.width, from.height];
            })()"""
        )
        return np.frombuffer(base64.b64decode(flat), dtype=np.uint8).reshape(height, width, 4)

    def until(self, condition: str) -> None:
        """Wait for a condition of `app`; playwright's own way would need eval, which the page forbids."""
        for _ in range(300):
            if self.app(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"did not come true: {condition}")

    def full(self, panel: int = 0) -> list[bool]:
        """Of each row, whether its point is neither faint nor hidden."""
        return list(
            self.app(f"Array.from(Array(app.data.n).keys(), (i) => app.stage.panels[{panel}].isFull(i))")
        )

    def selected(self) -> list[int]:
        return list(self.app("app.state.selectedRows()"))


@pytest.fixture
def show(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Explorer]]:
    """Write a page, open it from disk; at the end nothing may have failed or been fetched."""
    opened: list[Explorer] = []

    def write_and_open(maps: Any, **content: Any) -> Explorer:
        path = wk.write_html(tmp_path / f"page{len(opened)}.html", maps, **content)
        explorer = Explorer(chromium.new_page())
        opened.append(explorer)
        return explorer.open(path.as_uri())

    yield write_and_open
    for explorer in opened:
        explorer.page.close()
        assert explorer.problems == []
        assert [url for url in explorer.requests if not url.startswith(("file:", "data:", "blob:"))] == []
