"""The README's picture of the explorer: MNIST by the default map and by principal components, coloured by reliability.

python tools/explorer_picture.py FILE.png      (needs playwright, Chromium, and MNIST in WINKEL_DATA or the cache)
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import winkel as wk

FLAGS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox", "--disable-dev-shm-usage")
APP = "document.getElementById('winkel-explorer').explorer"


def write_page(path: Path) -> None:
    """The page; a row's reliability is the share of its 15 nearest rows that are among its 15 nearest on the map."""
    mnist = wk.datasets.load_mnist()
    X = wk.quadratic.pca(mnist.X, 50).to_textbook().astype(np.float32)
    graph = wk.graph.knn(X, 15, random_state=0)
    maps = {
        "MDE": np.asarray(wk.MDE(random_state=0).fit(X).embedding_),
        "PCA": np.ascontiguousarray(X[:, :2]),
    }
    kept = {}
    for name, Y in maps.items():
        shown = wk.graph.knn(Y, 15, random_state=0).knn_indices
        kept[name] = (graph.knn_indices[:, :, None] == shown[:, None, :]).any(axis=2).mean(axis=1)
    scores = {name: {"neighbor_recall": share.mean()} for name, share in kept.items()}
    wk.write_html(
        path,
        maps,
        labels=mnist.y,
        neighbors=graph,
        reliability=kept,
        scores=scores,
        title="MNIST",
        trust=False,
    )


def main(target: Path) -> None:
    """Write the page, open it without a window, and take its picture."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as work, sync_playwright() as driver:
        path = Path(work) / "mnist.html"
        write_page(path)
        browser = driver.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1200, "height": 720})
        page.goto(path.as_uri())
        page.evaluate(f"{APP}.then((app) => app.complete)")
        if page.evaluate(f"{APP}.then((app) => app.stage.panels.length)") == 1:
            page.keyboard.press("s")  # side by side
        page.locator("select:visible").first.select_option("reliability")
        page.wait_for_timeout(3000)
        page.screenshot(path=str(target))
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
