"""The explorer in a real browser: hostile text, its policy, and the other doors to the same program."""

import functools
import http.server
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

from winkel.view.html.container import ALPHABET, to_text
from winkel.view.html.page import page as page_text
from winkel.view.html.page import program, style
from winkel.view.html.parts import build_parts

from .conftest import Explorer, blobs

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "</script><script>window.hacked = 1</script>",
    "long " * 2000,
    "👩‍🔬🧪 emoji 🇩🇪",
    "שלום עולם مرحبا",
    "\u202eright-to-left override",
    "quotes \" and ' and \\ and \x00 and \u2028",
]


def test_hostile_text_is_only_text(show):
    n = len(HOSTILE)
    angle = 2 * np.pi * np.arange(n) / n
    Y = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    page = show({HOSTILE[0]: Y, HOSTILE[4]: 2 * Y}, labels=HOSTILE, ids=HOSTILE, text=HOSTILE, title=HOSTILE[2],
                fields={HOSTILE[1]: HOSTILE}, scores={HOSTILE[0]: {HOSTILE[1]: 0.5}}, values={HOSTILE[5]: np.arange(n)})  # fmt: skip
    for row, text in enumerate(HOSTILE):
        page.hover(row)
        shown = page.page.locator(".wk-card-id").text_content()
        assert shown == text or (len(text) > 80 and shown.endswith("…") and len(shown) == 80)
    page.page.keyboard.press("/")
    page.page.keyboard.type("<script>")
    page.page.get_by_text("2 found").wait_for()
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("#winkel-explorer script, #winkel-explorer img").count() == 0
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name="SVG", exact=True).click()
    ElementTree.fromstring(waiting.value.path().read_bytes())  # well-formed, whatever the labels


def test_the_policy_stops_what_does_not_belong_to_the_page(show):
    Y, _ = blobs()
    page = show(Y)
    page.page.evaluate(
        """() => { const script = document.createElement('script'); script.textContent = 'window.hacked = 1';
                   document.body.append(script); }"""
    )
    assert page.page.evaluate("window.hacked") is None
    refused = page.page.evaluate("fetch('https://example.org/').then(() => 'fetched', () => 'refused')")
    assert refused == "refused"
    assert any("Content Security Policy" in text for text in page.problems)
    page.problems.clear()  # both were meant to happen
    page.requests.clear()


def test_a_page_can_fetch_its_data_from_its_server(chromium, tmp_path):
    Y, y = blobs()
    (tmp_path / "data").mkdir()
    for name, part in build_parts(Y, labels=y, ids=[f"s{i}" for i in range(len(Y))]).items():
        (tmp_path / "data" / name).write_bytes(part)
    (tmp_path / "index.html").write_text(page_text("Served", None), encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        explorer = Explorer(chromium.new_page()).open(
            f"http://127.0.0.1:{server.server_port}/index.html?token=abc"
        )
        assert explorer.app("app.data.n") == len(Y)
        assert explorer.app("app.data.ids.shown(5)") == "s5"
        assert [url for url in explorer.requests if "/data/" in url and "token=abc" not in url] == []
        assert explorer.problems == []
        explorer.page.close()
        server.shutdown()


def test_the_widget_and_python_share_the_selection(chromium, tmp_path):
    """The module as a notebook loads it, with a stand-in for the notebook's model."""
    Y, y = blobs()
    packed = to_text(build_parts(Y, labels=y)["main"])
    page = Explorer(chromium.new_page())
    page.page.goto("about:blank")
    page.page.evaluate(
        """async ([program, style, text, alphabet]) => {
            document.head.append(Object.assign(document.createElement('style'), { textContent: style }));
            const module = await import(URL.createObjectURL(new Blob([program], { type: 'text/javascript' })));
            const [length, digits] = text.split(' ');
            const bytes = new Uint8Array(digits.length / 5 * 4), view = new DataView(bytes.buffer);
            for (let i = 0; i < digits.length / 5; i++) {
                let word = 0;
                for (const c of digits.slice(5 * i, 5 * i + 5)) word = word * 85 + alphabet.indexOf(c);
                view.setUint32(4 * i, word);
            }
            const values = { parts: { main: new DataView(bytes.buffer, 0, Number(length)) }, height: 420, selection: [] };
            const listeners = {};
            window.saves = 0;
            window.model = {
                get: (name) => values[name],
                set: (name, value) => { values[name] = value; },
                save_changes: () => { window.saves++; },
                on: (event, listener) => { listeners[event] = listener; },
                off: (event) => { delete listeners[event]; },
                tell: (rows) => { values.selection = rows; listeners['change:selection'](); },
            };
            const cell = document.body.appendChild(document.createElement('div'));
            window.end = await module.default.render({ model: window.model, el: cell });
        }""",
        [program(), style(), packed, ALPHABET],
    )
    explorer = "document.querySelector('.wk-cell').explorer"
    page.page.evaluate(f"{explorer}.then((app) => app.select(() => app.state.select([5, 6], 'replace')))")
    assert page.page.evaluate("model.get('selection')") == [5, 6]
    assert page.page.evaluate("saves") == 1
    page.page.evaluate("model.tell([1])")
    assert page.page.evaluate(f"{explorer}.then((app) => app.state.selectedRows())") == [1]
    assert page.page.locator(".wk-cell").bounding_box()["height"] == 420
    page.page.evaluate("end()")
    assert page.page.locator(".wk-cell").count() == 0
    assert page.problems == []
    page.page.close()
