"""Pages that the local server gives, in a real browser: the explorer, and a map as it forms."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.solvers import IterationInfo, SolverState, Status
from winkel.view.feed import Feed
from winkel.view.server import LocalServer, page_site, watch_site

from .conftest import Explorer, blobs

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = "<img src=x onerror=document.title='owned'>"
BLUE = [0x00, 0x72, 0xB2]  # of the first class


@pytest.fixture
def opened(chromium):
    page = Explorer(chromium.new_page())
    yield page
    page.page.close()
    assert page.problems == []


def told(feed, Y, iteration=1):
    feed.end(IterationInfo(iteration, 10, Y, 1.0 / iteration, 0.1, 0.5, SolverState(iteration, Y, 1.0, 0.1)))


def wait_for_text(page, name, text):
    for _ in range(200):
        if text in page.text_content(f"#{name}"):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{name} says {page.text_content(f'#{name}')!r}, not {text!r}")


def test_the_explorer_works_under_the_servers_policy(opened, tmp_path):
    Y, y = blobs()
    path = wk.write_html(tmp_path / "map.html", Y, labels=y)
    with LocalServer(page_site(path.read_bytes())) as server:
        opened.open(server.url)
        assert opened.app("app.data.n") == len(Y)
        assert {url for url in opened.requests if not url.startswith(("data:", "blob:"))} == {server.url}


def test_a_map_is_drawn_as_it_forms_and_text_stays_text(opened):
    Y, y = blobs()
    feed = Feed(f"map {HOSTILE}", labels=np.array([HOSTILE, "b", "שלום " * 40])[y])
    with LocalServer(watch_site(feed)) as server:
        page = opened.page
        page.goto(server.url)
        wait_for_text(page, "status", "preparing")
        feed.open("lbfgs", 0, 10)
        told(feed, Y, 1)
        wait_for_text(page, "iteration", "1 of 10")
        assert page.text_content("#title") == f"map {HOSTILE}"
        assert page.locator("#legend li").count() == 3
        assert page.locator("img").count() == 0
        assert "owned" not in page.title().partition(" · ")[2]
        assert _count(page, BLUE) > 60
        feed.close(Status("converged", "Done."))
        feed.finish()
        wait_for_text(page, "status", "converged: Done.")
        own = [url for url in opened.requests if url.startswith(server.url) or url == "data:,"]
        assert own == opened.requests


def _count(page, color):
    """Pixels of the map in a colour."""
    script = """([r, g, b]) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
        const canvas = document.getElementById('map');
        const d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let count = 0;
        for (let i = 0; i < d.length; i += 4) count += d[i] === r && d[i + 1] === g && d[i + 2] === b && d[i + 3] > 0;
        done(count);
    })))"""
    return page.evaluate(script, color)


def test_a_foreign_page_gets_nothing(chromium, tmp_path):
    path = wk.write_html(tmp_path / "map.html", blobs()[0])
    page = chromium.new_page()
    try:
        with LocalServer(page_site(path.read_bytes())) as server:
            page.goto("about:blank")
            script = f"""fetch({server.url!r}, {{mode: 'no-cors'}})
                .then((answer) => answer.text()).then((text) => text.length, () => 'refused')"""
            assert page.evaluate(script) in (0, "refused")
            framed = page.evaluate(
                f"""new Promise((done) => {{
                    const frame = document.createElement('iframe');
                    frame.src = {server.url!r};
                    frame.onload = () => {{ try {{ done(frame.contentDocument !== null); }} catch {{ done(false); }} }};
                    document.body.append(frame);
                }})"""
            )
            assert framed is False
    finally:
        page.close()
