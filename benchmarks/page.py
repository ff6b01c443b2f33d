"""How long an explorer page takes to open, and how fast it moves, in Chromium without a graphics card.

    python -m benchmarks.page                        # 100 000, 1 000 000 and 2 000 000 rows, three times each
    python -m benchmarks.page --rows 1000000 --repeat 1

Per page: its size; seconds from the start of navigation until the program is ready, until the first picture and until all points
are drawn; the median and the slowest of the times between two pictures while the map is dragged and zoomed; the time until
the picture is whole again after that; the first hover, which builds the grid; and processor seconds of all processes of the browser.
Times by the clock are worth something on a machine that does nothing else; the load at the start is printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import winkel as wk

FLAGS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox", "--disable-dev-shm-usage")
_APP = "document.getElementById('winkel-explorer').explorer"
_OPENED = f"""async () => {{
    const app = await {_APP};
    await app.complete;
    while (app.stage.whole === false) await new Promise((done) => requestAnimationFrame(done));
    const at = (name) => performance.getEntriesByName(`winkel-${{name}}`)[0]?.startTime ?? performance.now();
    return [at("ready"), at("first"), at("whole")];
}}"""
_MOVED = f"""async (steps) => {{
    const app = await {_APP}, panel = app.stage.panels[0], gaps = [];
    const picture = () => new Promise((done) => requestAnimationFrame(done));
    let last = await picture();
    for (let i = 0; i < steps; i++) {{
        if (i % 10 === 9) app.stage.zoom(panel, i % 20 === 9 ? 1.3 : 1 / 1.3);
        else app.stage.pan(panel, i % 2 ? 9 : -7, 3);
        const now = await picture();
        gaps.push(now - last);
        last = now;
    }}
    const stopped = performance.now();
    while (app.stage.whole === false) await picture();
    return [gaps, performance.now() - stopped];
}}"""
_HOVERED = f"""async () => {{
    const app = await {_APP}, panel = app.stage.panels[0], begin = performance.now();
    panel.pick(panel.rect.width / 2, panel.rect.height / 2, 10);
    const first = performance.now();
    panel.pick(panel.rect.width / 3, panel.rect.height / 2, 10);
    return [first - begin, performance.now() - first];
}}"""


def example(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Thirty clouds of points of unlike sizes, and the cloud of each row; rows in random order."""
    stream = np.random.default_rng(0)
    centers = stream.uniform(-20, 20, size=(30, 2))
    which = stream.choice(30, size=n, p=stream.dirichlet(np.full(30, 2.0)))
    return centers[which] + stream.normal(size=(n, 2)) * stream.uniform(0.5, 2.5, size=(30, 1))[which], which


def browser_seconds(profile: str) -> float:
    """Processor seconds of the browser that runs with this profile, and of all processes below it."""
    parent: dict[int, int] = {}
    spent: dict[int, int] = {}
    inside: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text()
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parent[int(folder.name)], spent[int(folder.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
        if profile in command:
            inside.add(int(folder.name))
    while more := {pid for pid, above in parent.items() if above in inside} - inside:
        inside |= more
    return sum(spent[pid] for pid in inside) / os.sysconf("SC_CLK_TCK")


def one(driver: Any, path: Path, steps: int) -> dict[str, Any]:
    """What one opening of the page gave."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as profile:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=chromium, args=list(FLAGS), viewport={"width": 1280, "height": 800}
        )
        try:
            page = context.new_page()
            before = browser_seconds(profile)
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_selector("#winkel-explorer.wk", timeout=120_000)
            ready, first, complete = page.evaluate(_OPENED)
            opened = browser_seconds(profile) - before
            gaps, settled = page.evaluate(_MOVED, steps)
            moved = browser_seconds(profile) - before - opened
            hover = page.evaluate(_HOVERED)
        finally:
            context.close()
    return {
        "ready": ready / 1e3, "first": first / 1e3, "complete": complete / 1e3, "cpu open": opened,
        "frame": statistics.median(gaps) / 1e3, "slowest": max(gaps) / 1e3, "settled": settled / 1e3, "cpu move": moved,
        "hover": hover[0] / 1e3, "next hover": hover[1] / 1e3,
    }  # fmt: skip


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 2_000_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        for n in options.rows:
            Y, which = example(n)
            path = wk.write_html(Path(folder) / f"{n}.html", Y, labels=which, title="Clouds")
            runs = [one(driver, path, options.steps) for _ in range(options.repeat)]
            best = {key: min(run[key] for run in runs) for key in runs[0]}
            size = path.stat().st_size / 1e6
            print(
                f"{n:>9} rows, {size:.1f} MB: "
                + ", ".join(f"{key} {value:.2f} s" for key, value in best.items()),
                flush=True,
            )


if __name__ == "__main__":
    main()
