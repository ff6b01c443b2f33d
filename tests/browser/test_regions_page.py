"""Names on the map, what sets a selection apart, and maps of very many points, in a real browser."""

import numpy as np
import pytest

import winkel as wk

from .conftest import blobs

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NAMES = "app.stage.overlay.placedNames(app.stage.panels[0])"


def overlaps(placed):
    """Pairs of names that cover one another."""
    return [
        (a["text"], b["text"])
        for i, a in enumerate(placed)
        for b in placed[:i]
        if abs(a["y"] - b["y"]) < 14 and abs(a["x"] - b["x"]) < (a["width"] + b["width"]) / 2
    ]


def test_every_class_is_named_where_its_points_are(show):
    Y, y = blobs()
    page = show(Y, labels=[("red", "green", "blue")[c] for c in y])
    placed = page.app(NAMES)
    assert sorted(name["text"] for name in placed) == ["blue", "green", "red"]
    for name in placed:
        rows = np.flatnonzero(np.array(["red", "green", "blue"])[y] == name["text"])
        pixels = np.array([page.app(f"app.stage.panels[0].pixel({row})") for row in rows])[:, :2]
        assert np.all(np.abs(pixels.mean(axis=0) - [name["x"], name["y"]]) < 2 * pixels.std(axis=0) + 10)
    page.page.get_by_label("Names on the map").uncheck()
    assert page.app(NAMES) == []
    page.page.keyboard.press("a")
    assert len(page.app(NAMES)) == 3


def test_no_name_covers_another_and_a_closer_look_shows_more(show):
    stream = np.random.default_rng(0)
    centers = stream.uniform(size=(38, 2)) * [1.0, 0.15]
    y = np.repeat(np.arange(38), 1 + np.arange(38))
    Y = centers[y] + 0.002 * stream.normal(size=(len(y), 2))
    page = show(Y, labels=[f"a rather long name {c}" for c in y])
    first = page.app(NAMES)
    assert overlaps(first) == []
    assert 5 < len(first) < 38
    side = page.app("Math.min(app.stage.panels[0].rect.width, app.stage.panels[0].rect.height)")
    assert sum(16 * name["width"] for name in first) < 0.15 * side**2  # points have to be seen, too
    assert "a rather long name 37" in {name["text"] for name in first}  # the largest comes first
    page.app("app.stage.zoom(app.stage.panels[0], 3)")
    closer = page.app(NAMES)
    width = page.app("app.stage.panels[0].rect.width")
    assert overlaps(closer) == []
    between = [name for name in first if abs(name["x"] - width / 2) < width / 7]
    assert len([name for name in closer if 0 < name["x"] < width]) > len(between)


def lasso(page, rows):
    page.app(f"app.select(() => app.state.select({list(map(int, rows))}, 'replace'))")


def test_the_page_explains_a_selection_by_the_numbers_of_explain(show):
    pandas = pytest.importorskip("pandas")
    stream = np.random.default_rng(1)
    Y, y = blobs()
    table = pandas.DataFrame(
        {
            "tall": stream.normal(size=len(Y)) + 2 * (y == 1),
            "short": stream.normal(size=len(Y)) * (1 + y) - 0.4 * (y == 1),
            "noise": stream.normal(size=len(Y)),
            "constant": np.ones(len(Y)),
        }
    )
    kind = np.array(["town", "field"])[(stream.uniform(size=len(Y)) < 0.3 + 0.5 * (y == 1)).astype(int)]
    page = show(Y, data=table, features=True, trust=False, fields={"kind": kind})
    rows = np.flatnonzero(y == 1)
    lasso(page, rows)
    page.page.get_by_text("What sets them apart").wait_for()
    found = {one["name"]: one for one in page.app("app.sidebar.reasons.differences()")}
    table["kind = field"], table["kind = town"] = (
        (kind == "field").astype(float),
        (kind == "town").astype(float),
    )
    told = wk.explain(table, rows)
    assert set(found) == set(told.columns)
    for c, name in enumerate(told.columns):
        seen = found[name]
        for key, value in (("effect", told.effect), ("inside", told.inside), ("outside", told.outside)):
            assert seen[key] == pytest.approx(value[c], rel=1e-5, abs=1e-6), (name, key)
        assert seen["p"] == pytest.approx(told.p_value[c], rel=1e-3), name
    assert "tall" in page.page.locator(".wk-reasons tbody tr").first.inner_text()
    page.page.locator(".wk-reasons .wk-link").first.click()
    assert page.app("app.state.coloring.name") == "tall"


def test_words_that_set_a_selection_apart(show):
    Y, y = blobs()
    texts = [f"every text has words, this one of {('bread', 'iron', 'rain')[c]}" for c in y]
    page = show(Y, text=texts)
    assert {name["text"] for name in page.app(NAMES)} == {"bread", "iron", "rain"}
    lasso(page, np.flatnonzero(y == 2))
    assert page.app("app.sidebar.reasons.differences()[0].name") == "“rain”"


def test_a_map_of_very_many_points_is_drawn_in_shares_that_make_the_whole(show):
    stream = np.random.default_rng(0)
    Y = stream.normal(size=(400_000, 2))
    page = show(Y, values={"x": Y[:, 0]})
    page.until("app.stage.whole")
    at_once = page.colors()
    seen = page.app(
        """(async () => {
            const picture = () => new Promise((done) => requestAnimationFrame(done)), shares = [];
            for (let i = 0; i < 4; i++) {
                app.stage.pan(app.stage.panels[0], i % 2 ? 5 : -5, 0);
                await picture();
                shares.push(app.stage.shares);
            }
            return shares;
        })()"""
    )
    assert min(seen) > 1  # a part of the points while it moves
    page.until("app.stage.whole")
    settled = page.app(
        """(() => {
            const gl = app.stage.canvas.getContext('webgl2'), { width, height } = app.stage.canvas;
            const bytes = new Uint8Array(4 * width * height);
            gl.bindFramebuffer(gl.FRAMEBUFFER, app.stage.renderer.behind.frame);
            gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
            gl.bindFramebuffer(gl.FRAMEBUFFER, null);
            const alpha = [];
            for (let i = 3; i < bytes.length; i += 4) alpha.push(bytes[i]);
            return [alpha, width, height];
        })()"""
    )
    alpha = np.array(settled[0], dtype=np.uint8).reshape(settled[2], settled[1])[::-1]
    # The same points, in another order: what is covered is the same but for rounding of what was blended.
    assert np.abs(alpha.astype(int) - at_once[..., 3]).mean() < 1.0
    assert np.mean((alpha > 0) == (at_once[..., 3] > 0)) > 0.999
