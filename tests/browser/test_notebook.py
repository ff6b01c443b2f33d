"""A live JupyterLab: the widget is drawn, what is selected in it arrives in Python, and progress bars come to their end."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    "import numpy as np\n"
    "import winkel as wk\n"
    "Y = np.random.default_rng(0).normal(size=(60, 2))\n"
    "widget = wk.explore(Y, labels=np.arange(60) % 3, height=420)\n"
    "widget.observe(lambda change: open('selection.txt', 'w').write(str(change['new'])), 'selection')\n"
    "widget",
    "wk.MDE(verbose=True, random_state=0).fit(wk.datasets.load_digits().X[:300]);",
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def notebook(folder):
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "id": f"cell{i}",
            "source": text,
        }
        for i, text in enumerate(CELLS)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "map.ipynb").write_text(json.dumps(content))


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab on this machine that shows a folder with a notebook; it ends with the test."""
    for needed in ("jupyterlab", "ipykernel", "anywidget"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (dependency group notebook-test)")
    notebook(tmp_path)
    port, token = free_port(), secrets.token_hex(16)
    home = tmp_path / "home"
    home.mkdir()
    source = str(Path(__file__).parents[2] / "src")
    path = os.pathsep.join(
        filter(
            None,
            [source if list(Path(source).glob("winkel/_core*")) else "", os.environ.get("PYTHONPATH", "")],
        )
    )
    places = {"HOME": str(home), "JUPYTER_CONFIG_DIR": str(home), "IPYTHONDIR": str(home), "PYTHONPATH": path}
    with open(tmp_path / "log.txt", "w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
             f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={tmp_path}", "--ServerApp.port_retries=0",
             "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
            env=os.environ | places, stdout=log, stderr=log, cwd=tmp_path,
        )  # fmt: skip
        try:
            wait_for(
                lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token={token}").status == 200
            )
            yield f"http://127.0.0.1:{port}/lab/tree/map.ipynb?token={token}"
        finally:
            server.terminate()
            server.wait(60)


def wait_for(happens, seconds=120):
    end = time.monotonic() + seconds
    while True:
        try:
            if happens():
                return
        except OSError:
            pass
        assert time.monotonic() < end, "did not come true in time"
        time.sleep(0.3)


def opened(chromium, lab):
    """The notebook, its kernel ready and its first cell run."""
    page = chromium.new_page()
    page.set_default_timeout(120_000)
    page.goto(lab)
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.get_by_text("| Idle").wait_for()  # a cell that is run before its kernel is there is left as it is
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    return page


def test_progress_bars_come_to_their_end_in_jupyterlab(chromium, lab):
    page = opened(chromium, lab)
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea .progress-bar-success").first.wait_for(state="attached")
    assert page.locator(".jp-OutputArea .progress-bar-danger").count() == 0
    texts = page.locator(".jp-OutputArea .widget-html").all_inner_texts()
    assert any("100%" in text for text in texts), texts
    page.close()


def test_the_widget_is_drawn_in_jupyterlab_and_its_selection_comes_back(chromium, lab, tmp_path):
    page = opened(chromium, lab)
    stage = page.locator(".wk-cell .wk-stage")
    stage.wait_for()
    app = "document.querySelector('.wk-cell').explorer"
    page.evaluate(f"{app}.then((app) => app.complete)")
    inked = page.evaluate(
        f"""{app}.then((app) => {{
            app.stage.drawNow();
            const canvas = document.createElement('canvas'), from = app.stage.canvas;
            Object.assign(canvas, {{ width: from.width, height: from.height }});
            const pen = canvas.getContext('2d');
            pen.drawImage(from, 0, 0);
            return pen.getImageData(0, 0, from.width, from.height).data.filter((v, i) => i % 4 === 3 && v > 0).length;
        }})"""
    )
    assert inked > 500
    page.evaluate(f"{app}.then((app) => app.setTool('box'))")
    box = stage.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 5, steps=4)
    page.mouse.up()
    selected = page.evaluate(f"{app}.then((app) => app.state.selectedRows())")
    assert 0 < len(selected) < 60
    wait_for(
        lambda: (
            (tmp_path / "selection.txt").exists()
            and (tmp_path / "selection.txt").read_text() == str(selected)
        )
    )
    page.close()
