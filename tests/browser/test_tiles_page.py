"""A map by tiles in a real browser: density from far away, points from close by."""

from __future__ import annotations

import numpy as np
import pytest

from winkel.scale.placing import write_places
from winkel.view.server import LocalServer, tiles_site
from winkel.view.tiles import tiles_of

from .conftest import Explorer

pytestmark = [pytest.mark.browser, pytest.mark.slow]
N = 60_000
rng = np.random.default_rng(0)
# Two clouds, left and right of the middle, and one row by itself in the middle.
Y = (rng.normal(size=(N, 2)) + np.where(np.arange(N) % 2, -6, 6)[:, None] * [1, 0]).astype(np.float32)
Y[123] = (Y.min(axis=0) + Y.max(axis=0)) / 2


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    write_places(folder / "map.parquet", iter([Y]), N)
    return tiles_site(tiles_of(folder), "<b>map</b>")


@pytest.fixture
def opened(chromium, site):
    explorer = Explorer(chromium.new_page())
    with LocalServer(site) as server:
        explorer.page.goto(server.url)
        settle(explorer.page)
        yield explorer
        explorer.page.close()
    assert explorer.problems == []
    assert all(url.startswith((server.url, "data:")) for url in explorer.requests)


def settle(page):
    page.evaluate("tiles.complete()")


def drawn(page):
    return page.evaluate("document.getElementById('map').dataset.drawn")


def ink(page, x, y):
    """How opaque the canvas is around a place, given in parts of its width and height."""
    return page.evaluate(
        """([x, y]) => {
            const map = document.getElementById("map");
            const [u, v] = [Math.round(x * map.width) - 5, Math.round(y * map.height) - 5];
            const copy = new OffscreenCanvas(11, 11).getContext("2d");
            copy.drawImage(map, -u, -v);
            const data = copy.getImageData(0, 0, 11, 11).data;
            return data.filter((_, k) => k % 4 === 3).reduce((sum, each) => sum + each, 0) / 255;
        }""",
        [x, y],
    )


def test_density_is_shown_from_far_away(opened):
    page = opened.page
    assert drawn(page) == "density"
    assert "60,000 points" in page.text_content("#status")
    assert page.text_content("#title") == "<b>map</b>"  # text stays text
    shares = page.evaluate("[map.width, map.height]".replace("map", "document.getElementById('map')"))
    side = min(shares) / shares[0]  # of the map's square, in widths
    half = 6 / float(np.ptp(Y[:, 0])) * side
    assert ink(page, 0.5 - half, 0.5) > 100  # both clouds, and nothing above them
    assert ink(page, 0.5 + half, 0.5) > 100
    assert ink(page, 0.5, 0.1) == 0


def test_points_are_shown_from_close_by_and_name_their_row(opened):
    page = opened.page
    for _ in range(12):
        if drawn(page) == "points":
            break
        page.click("#in")
        settle(page)
    assert drawn(page) == "points"
    middle = page.evaluate(
        "[document.getElementById('map').width / 2, document.getElementById('map').height / 2]"
    )
    x, y, row, *place = min(
        page.evaluate("tiles.drawn()"), key=lambda p: np.hypot(p[0] - middle[0], p[1] - middle[1])
    )
    assert row == 123
    np.testing.assert_allclose(place, Y[123], rtol=1e-6)
    assert np.hypot(x - middle[0], y - middle[1]) < 2
    assert ink(page, 0.5, 0.5) > 3
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.text_content("#hint").startswith("row 123 (")
    page.keyboard.press("0")
    settle(page)
    assert drawn(page) == "density"


def test_every_point_of_the_tiles_in_sight_is_drawn_where_it_is(opened):
    page = opened.page
    page.evaluate("tiles.zoom(64)")
    settle(page)
    assert drawn(page) == "points"
    x, y = page.evaluate("[tiles.view.x, tiles.view.y]")
    scale, width, height = page.evaluate(
        "[tiles.view.scale, document.getElementById('map').width, document.getElementById('map').height]"
    )
    told = page.evaluate("fetch('tiles.json').then((answer) => answer.json())")
    at = (Y - told["corner"]) / told["side"]
    u, v = width / 2 + (at[:, 0] - x) * scale, height / 2 - (at[:, 1] - y) * scale
    inside = np.flatnonzero((u > 0) & (u < width) & (v > 0) & (v < height))
    found = {int(row): (px, py) for px, py, row, *_ in page.evaluate("tiles.drawn()")}
    assert set(inside.tolist()) <= set(found)
    np.testing.assert_allclose(
        [found[row] for row in inside.tolist()], np.stack([u, v], axis=1)[inside], atol=0.05
    )


def test_the_wheel_zooms_about_the_pointer_and_a_drag_moves(opened):
    page = opened.page
    box = page.locator("#map").bounding_box()
    before = page.evaluate("({...tiles.view})")
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.wheel(0, -800)
    page.wait_for_function("(scale) => tiles.view.scale > 3.9 * scale", arg=before["scale"])
    after = page.evaluate("({...tiles.view})")
    offset = 0.25 * box["width"]
    assert after["x"] + offset / after["scale"] == pytest.approx(
        before["x"] + offset / before["scale"], abs=1e-6
    )
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"] - 100, box["y"] + 0.5 * box["height"], steps=4)
    page.mouse.up()
    moved = page.evaluate("({...tiles.view})")
    assert moved["x"] == pytest.approx(after["x"] + 100 / after["scale"], abs=1e-6)
