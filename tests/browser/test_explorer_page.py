"""The explorer in a real browser: what is drawn, and what happens when a person does something."""

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from .conftest import blobs

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_points_are_drawn_in_the_colours_of_their_classes(show):
    Y, y = blobs()
    page = show(Y, labels=y, title="Three classes")
    image = page.colors()
    for row, color in ((0, (0, 114, 178)), (60, (230, 159, 0)), (120, (0, 158, 115))):
        alone = np.argmax(np.abs(Y[y == y[row]] - Y.mean(axis=0)).sum(axis=1)) + row
        x, y_pixel = page.app(f"app.stage.panels[0].pixel({alone})")[:2]
        red, green, blue, alpha = image[round(y_pixel), round(x)]
        assert alpha > 200
        assert np.allclose([red, green, blue], color, atol=12)
    assert page.page.title() == "Three classes"


def test_the_card_shows_the_row_under_the_pointer(show):
    Y, y = blobs()
    ids = [f"sample-{i}" for i in range(len(Y))]
    page = show(
        Y, labels=[("red", "green", "blue")[c] for c in y], ids=ids, fields={"weight": np.arange(len(Y)) / 4}
    )
    row = int(np.argmax(Y[:, 0]))
    card = page.page.locator(".wk-card")
    assert card.is_hidden()
    page.hover(row)
    assert f"sample-{row}" in card.inner_text()
    assert "weight" in card.inner_text()
    assert f"{row / 4:g}" in card.inner_text()


def test_the_lasso_selects_what_it_goes_around_in_every_map(show):
    Y, y = blobs()
    page = show({"first": Y, "second": -Y[::-1]}, labels=y)
    page.page.keyboard.press("l")
    corners = [page.app(f"app.stage.panels[0].pixel({row})") for row in np.flatnonzero(y == 1)]
    (x0, y0), (x1, y1) = np.min(corners, axis=0)[:2] - 8, np.max(corners, axis=0)[:2] + 8
    left, top = page.app("(({left, top}) => [left, top])(app.stage.element.getBoundingClientRect())")
    page.drag([(left + x, top + y) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0))])
    inside = page.app(
        f"Array.from({{length: {len(Y)}}}, (_, i) => i).filter((i) => {{"
        f" const [x, y] = app.stage.panels[0].pixel(i); return x > {x0} && x < {x1} && y > {y0} && y < {y1}; }})"
    )
    assert page.selected() == inside
    assert set(np.flatnonzero(y == 1)) <= set(inside)
    assert f"{len(inside)} of {len(Y)} rows" in page.page.locator(".wk-selection").inner_text()
    for panel in (0, 1):  # linked: the same rows stand out in both maps
        assert np.flatnonzero(page.full(panel)).tolist() == inside


def test_the_box_adds_with_shift_and_takes_away_with_alt(show):
    page = show(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    page.page.keyboard.press("b")

    def box(row):
        x, y = page.pixel(row)
        page.drag([(x - 30, y - 30), (x + 30, y + 30)])

    box(0)
    assert page.selected() == [0]
    page.page.keyboard.down("Shift")
    box(3)
    page.page.keyboard.up("Shift")
    assert page.selected() == [0, 3]
    page.page.keyboard.down("Alt")
    box(0)
    page.page.keyboard.up("Alt")
    assert page.selected() == [3]
    page.page.get_by_role("button", name="Invert").click()
    assert page.selected() == [0, 1, 2]
    page.page.keyboard.press("Escape")
    assert page.selected() == []


def test_the_slider_fades_points_below_a_reliability(show):
    Y, _ = blobs()
    trust = np.linspace(0, 1, len(Y))
    page = show({"told": Y, "untold": Y + 0.1}, reliability={"told": trust})
    slider = page.page.get_by_label("Fade below a reliability of")
    slider.focus()
    for _ in range(50):
        slider.press("ArrowRight")
    full = [page.full(panel) for panel in (0, 1)]
    np.testing.assert_array_equal(full[0], np.rint(trust * 255) >= np.ceil(0.5 * 255))
    assert all(full[1])  # that map has no reliability of its own
    faded = page.app("app.stage.panels[0].pixel(0)")
    image = page.colors()
    assert 0 < image[round(faded[1]), round(faded[0]), 3] < 160


def test_search_finds_ids_and_text_and_goes_there(show):
    Y, _ = blobs()
    ids = [f"sample-{i}" for i in range(len(Y))]
    text = ["a needle in the hay" if i in (7, 77) else "hay" for i in range(len(Y))]
    page = show(Y, ids=ids, text=text)
    page.page.keyboard.press("/")
    page.page.keyboard.type("NEEDLE")
    page.page.get_by_text("2 found").wait_for()
    assert page.app("Array.from(app.state.hits).flatMap((hit, i) => (hit ? [i] : []))") == [7, 77]
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Enter")
    assert "sample-77" in page.page.locator(".wk-card").inner_text()
    x, y = page.app("app.stage.panels[0].pixel(77)")[:2]
    width, height = page.app("[app.stage.element.clientWidth, app.stage.element.clientHeight]")
    assert (x, y) == pytest.approx((width / 2, height / 2), abs=1)
    page.page.get_by_role("button", name="Select them").click()
    assert page.selected() == [7, 77]
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("/")
    page.page.keyboard.type("sample-17")
    page.page.get_by_text("11 found").wait_for()


def test_neighbours_kept_missing_and_false_are_told_and_drawn(show):
    # On a line in the map; in the data row 0 is next to 1 and 4.
    Y = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.1]])
    lists = np.array([[1, 4], [0, 2], [1, 3], [2, 4], [3, 2]])
    page = show(Y, neighbors=lists, images=np.arange(20, dtype=np.uint8).reshape(5, 2, 2))
    page.hover(0)
    card = page.page.locator(".wk-card").inner_text()
    assert "Its 2 nearest in the data" in card
    assert [f"1 {word}" in card for word in ("kept", "missing", "false")] == [True] * 3
    assert page.page.locator(".wk-neighbor canvas").count() == 2
    # Halfway to the missing neighbour, above the line of points, runs the dashed line.
    painted = page.app(
        """(() => {
            app.stage.drawNow(1);
            const [a, b] = [0, 4].map((row) => app.stage.panels[0].pixel(row));
            const pen = app.stage.overlay.canvas.getContext('2d');
            const pixels = pen.getImageData(a[0] + 40, Math.min(a[1], b[1]) - 3, b[0] - a[0] - 80, 10).data;
            let found = 0;
            for (let i = 0; i < pixels.length; i += 4) found += pixels[i] > 190 && pixels[i + 1] > 70 && pixels[i + 1] < 120 && pixels[i + 2] < 40;
            return found;
        })()"""
    )
    assert painted > 50
    page.page.mouse.click(*page.pixel(0))
    page.page.locator(".wk-neighbor").first.click()
    assert page.app("app.state.pinned") == 1


def test_lists_of_a_measure_come_before_those_made_here(show):
    Y, _ = blobs()
    n = len(Y)
    told = SimpleNamespace(
        reliability=np.full(n, 0.25),
        false_neighbors=[[(i + 1) % n] for i in range(n)],
        missing_neighbors=[[(i + 2) % n, (i + 3) % n] for i in range(n)],
    )
    page = show(Y, indicatrix=told)
    row = int(np.argmax(Y[:, 0]))
    page.hover(row)
    card = page.page.locator(".wk-card").inner_text()
    assert "2 missing" in card
    assert "1 false" in card
    assert "25 %" in card


def test_a_hundred_thousand_points_are_drawn_and_met(show):
    stream = np.random.default_rng(0)
    Y = stream.uniform(size=(100_000, 2))
    page = show(Y, values=Y[:, 0])
    image = page.colors()
    assert (image[..., 3] > 0).mean() > 0.3
    near, far = image[:, : image.shape[1] // 2], image[:, image.shape[1] // 2 :]
    blue_less_yellow = [
        float((part[..., 2].astype(float) - part[..., 0])[part[..., 3] > 0].mean()) for part in (near, far)
    ]
    assert blue_less_yellow[0] > blue_less_yellow[1] + 20  # from violet to yellow, left to right
    for row in (5, 50_000, 99_999):
        page.hover(row)
        met = page.app("app.state.hover")
        assert np.linalg.norm(Y[met] - Y[row]) <= 0.003
    page.page.mouse.wheel(0, -600)
    assert page.app("app.stage.panels[0].camera.zoom") > 2


def test_points_far_away_do_not_hide_the_others(show):
    Y, _ = blobs()
    Y = np.concatenate([Y, Y + 0.1, Y - 0.1, [[400.0, -300.0]]])
    page = show(Y, neighbors=np.arange(1, len(Y) + 1)[:, None] % len(Y))
    row = int(np.argmin(Y[:-1, 0]))
    page.hover(row)
    assert page.app("app.state.hover") == row
    far = len(Y) - 1
    width = page.app("app.stage.element.clientWidth")
    assert not 0 < page.app(f"app.stage.panels[0].pixel({far})")[0] < width
    page.page.keyboard.press("0")
    assert 0 < page.app(f"app.stage.panels[0].pixel({far})")[0] < width
    page.hover(far)
    assert page.app("app.state.hover") == far


def test_a_far_value_does_not_take_the_colours_from_the_others(show):
    Y, _ = blobs()
    values = np.linspace(0, 1, len(Y))
    values[0] = 1e6
    values[1] = np.nan
    page = show(Y, values={"dose": values})
    assert page.page.locator(".wk-ends").inner_text().split("\n")[-1].startswith("≥ ")
    colors = page.app(
        "[1, 2, 90, 170, 0].map((row) => Array.from(app.stage.panels[0].colors.subarray(4 * row, 4 * row + 3)))"
    )
    assert colors[0] == [150, 150, 150]  # not known
    assert len({tuple(color) for color in colors}) == 5
    assert colors[-1] == [253, 231, 37]  # the end of the scale


def test_a_solid_map_turns(show):
    stream = np.random.default_rng(0)
    Y = stream.normal(size=(300, 3))
    page = show(Y, labels=Y[:, 2] > 0)
    before = page.app("app.stage.panels[0].pixel(0)")
    left, top = page.app("(({left, top}) => [left, top])(app.stage.element.getBoundingClientRect())")
    page.drag([(left + 50, top + 50), (left + 250, top + 120)])
    after = page.app("app.stage.panels[0].pixel(0)")
    assert np.hypot(after[0] - before[0], after[1] - before[1]) > 5
    assert (page.colors()[..., 3] > 0).sum() > 1000
    # The nearest point to the camera is met where it is drawn.
    front = page.app(
        "(() => { let best = [1e9, -1]; app.stage.panels[0].eachPixel((row, x, y, depth) => { if (depth < best[0]) best = [depth, row]; }); return best[1]; })()"
    )
    page.hover(front)
    assert page.app("app.state.hover") == front


def test_the_optimisation_plays_and_ends_at_the_map(show):
    Y, y = blobs()
    frames = np.stack([0.2 * Y, 0.6 * Y, Y])
    page = show(Y, labels=y, frames=frames)
    row = int(np.argmax(np.abs(Y).sum(axis=1)))
    end = page.app(f"app.stage.panels[0].pixel({row})")
    page.app("app.timeline.seek(0)")
    start = page.app(f"app.stage.panels[0].pixel({row})")
    middle = [page.app("app.stage.element.clientWidth / 2"), page.app("app.stage.element.clientHeight / 2")]
    inner, outer = (np.hypot(p[0] - middle[0], p[1] - middle[1]) for p in (start, end))
    assert inner < 0.5 * outer
    page.app("app.timeline.seek(0.5)")
    between = page.app(f"app.stage.panels[0].pixel({row})")
    assert inner < np.hypot(between[0] - middle[0], between[1] - middle[1]) < outer
    page.app("app.timeline.seek(0)")
    page.page.keyboard.press("Space")
    page.until("!app.timeline.playing && app.stage.panels[0].atRest")
    assert page.page.locator(".wk-moment").inner_text() == "result"
    assert page.app(f"app.stage.panels[0].pixel({row})") == pytest.approx(end)
    assert page.app("app.stage.panels[0].atRest")


def test_points_move_from_map_to_map(show):
    Y, y = blobs()
    page = show({"round": Y, "line": np.stack([np.arange(len(Y)), np.zeros(len(Y))], axis=1)}, labels=y)
    assert page.app("app.stage.panels.length") == 2
    page.page.keyboard.press("1")
    assert page.app("app.stage.panels.map((panel) => panel.map)") == [0]
    page.page.get_by_role("tab", name="line").click()
    page.until("app.stage.panels[0].map === 1 && app.stage.panels[0].atRest")
    page.app("app.timeline.seek(0.5)")
    x = page.app("app.stage.panels[0].position(3)")
    a, b = page.app(
        "[0, 1].map((map) => { app.stage.panelOf(map).show(map); return app.stage.panelOf(map).position(3); })"
    )
    assert x == pytest.approx([(p + q) / 2 for p, q in zip(a, b)])
    page.page.keyboard.press("s")
    assert page.app("app.stage.panels.length") == 2


def test_the_legend_isolates_classes(show):
    Y, y = blobs()
    page = show(Y, labels=[("red", "green", "blue")[c] for c in y])
    page.page.locator(".wk-entry", has_text="green").click()
    np.testing.assert_array_equal(page.full(), y == 1)
    page.page.locator(".wk-entry", has_text="blue").click(modifiers=["Shift"])
    np.testing.assert_array_equal(page.full(), y > 0)
    page.page.keyboard.press("Escape")
    assert all(page.full())


def test_a_legend_of_many_classes_lists_the_largest(show):
    labels = [f"class {i}" for i in range(1000)] + ["class 999"] * 5
    page = show(np.random.default_rng(0).normal(size=(1005, 2)), labels=labels)
    assert page.page.locator(".wk-entry").count() == 200
    assert "class 999" in page.page.locator(".wk-entry").first.inner_text()
    assert "and 800 smaller classes" in page.page.locator(".wk-legend").inner_text()


def saved(page, name):
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name=name, exact=True).click()
    path = waiting.value.path()
    return waiting.value.suggested_filename, path.read_bytes()


def test_selection_and_picture_can_be_saved(show):
    Y, y = blobs()
    Y = np.round(Y, 3)
    page = show(Y, labels=y, fields={"remark": ['says "a, b"\nthere'] * len(Y)}, title="My map: 1/2")
    page.app("app.select(() => app.state.select([3, 70], 'replace'))")
    name, content = saved(page, "CSV")
    assert name == "My-map-12-selection.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert [row["row"] for row in rows] == ["3", "70"]
    assert rows[1]["remark"] == 'says "a, b"\nthere'
    assert float(rows[1]["map.x"]) == pytest.approx(Y[70, 0], abs=1e-3)
    name, content = saved(page, "JSON")
    assert [record["label"] for record in json.loads(content)] == ["0", "1"]
    name, content = saved(page, "PNG")
    assert name.endswith("-map.png")
    assert content.startswith(b"\x89PNG")
    assert len(content) > 5000
    name, content = saved(page, "SVG")
    root = ElementTree.fromstring(content)
    circles = root.findall(".//{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}circle")
    assert len(circles) == len(Y)


def test_the_keyboard_alone_is_enough(show):
    Y, y = blobs()
    page = show(Y, labels=y)
    press = page.page.keyboard.press
    camera = "(({x, y, zoom}) => [x, y, zoom])(app.stage.panels[0].camera)"
    press("ArrowRight")
    press("ArrowUp")
    x, y_center, _ = page.app(camera)
    assert x > 0.5
    assert y_center > 0.5
    press("+")
    assert page.app(camera)[2] == pytest.approx(1.3)
    press("-")
    press("0")
    assert page.app(camera) == [0.5, 0.5, 1]
    press("t")
    assert page.page.locator(".wk").get_attribute("data-theme") == "dark"
    press("?")
    assert page.page.get_by_role("dialog").is_visible()
    assert "lasso" in page.page.get_by_role("dialog").inner_text()
    press("Escape")
    assert page.page.get_by_role("dialog").count() == 0
    page.app("app.select(() => app.state.select([4, 9], 'replace'))")
    press("n")
    press("n")
    assert page.app("app.state.pinned") == 9
    for _ in range(40):  # every control can be reached, and shows that it is
        press("Tab")
        if page.page.evaluate("document.activeElement.classList.contains('wk-entry')"):
            break
    else:
        pytest.fail("the legend cannot be reached by the tabulator key")
    press("Enter")
    assert page.app("[...app.state.isolated]") == [0]


def test_small_screens_keep_the_controls_within_reach(show):
    Y, y = blobs()
    page = show({"a": Y, "b": -Y}, labels=y)
    page.page.set_viewport_size({"width": 380, "height": 700})
    side = page.page.locator(".wk-side")
    side.wait_for(state="hidden")
    heights = page.app("app.stage.panels.map((panel) => [panel.rect.y, panel.rect.width])")
    assert heights[1][0] > heights[0][0]  # one above the other
    assert heights[0][1] > 340
    page.page.get_by_role("button", name="Controls").click()
    side.wait_for(state="visible")
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_page_says_how_far_to_trust_it_and_shows_seams(show):
    X = np.random.default_rng(0).uniform(size=(200, 2))
    Y = X + 5 * (X[:, :1] > 0.5)
    page = show(Y, data=X, labels=(X[:, 0] > 0.5).astype(int), names=False)
    table = page.page.locator(".wk-scores").inner_text()
    assert "PCA" in table
    assert "tearing" in table
    assert page.app("app.data.maps[0].seams.length") > 0
    drawn = """(() => {
        app.stage.drawNow();
        const copy = document.createElement('canvas'), { width, height } = app.stage.overlay.canvas;
        Object.assign(copy, { width, height });
        const pen = copy.getContext('2d', { willReadFrequently: true });
        pen.drawImage(app.stage.overlay.canvas, 0, 0);
        return pen.getImageData(0, 0, width, height).data.filter((value, i) => i % 4 === 3 && value > 0).length;
    })()"""
    page.page.locator(".wk-head h1").hover()  # away from the points
    assert page.app(drawn) > 500
    page.page.keyboard.press("j")
    assert not page.page.get_by_label("Seams of torn places").is_checked()
    assert page.app(drawn) == 0
    page.page.get_by_label("Seams of torn places").check()
    assert page.app(drawn) > 500


def test_two_fingers_zoom_and_move_and_a_tap_opens_a_card(show):
    Y, y = blobs()
    page = show(Y, labels=y)
    touch = """(type, id, x, y) => app.stage.element.dispatchEvent(new PointerEvent(type, {
        pointerId: id, pointerType: 'touch', clientX: x, clientY: y, bubbles: true, isPrimary: id === 1 }))"""
    page.app("(app.stage.element.setPointerCapture = () => {}, 1)")  # there is no such pointer
    camera = "(({x, y, zoom}) => [x, y, zoom])(app.stage.panels[0].camera)"
    page.app(
        f"[[ 'pointerdown', 1, 300, 300], ['pointerdown', 2, 400, 300], ['pointermove', 2, 500, 300]].map((e) => ({touch})(...e))"
    )
    x, _, zoom = page.app(camera)
    assert zoom == pytest.approx(2)
    page.app(f"[['pointermove', 1, 400, 300], ['pointermove', 2, 600, 300]].map((e) => ({touch})(...e))")
    assert page.app(camera)[0] < x  # the map went to the right with the fingers
    page.app(f"[['pointerup', 1, 400, 300], ['pointerup', 2, 600, 300]].map((e) => ({touch})(...e))")
    page.app("app.fit()")
    at = page.pixel(5)
    page.app(f"['pointerdown', 'pointerup'].map((type) => ({touch})(type, 3, {at[0]}, {at[1]}))")
    assert page.app("app.state.pinned") >= 0
    assert page.page.locator(".wk-card").is_visible()
    page.page.keyboard.press("?")
    assert "touch" in page.page.get_by_role("dialog").inner_text()


def test_an_open_drawer_leaves_the_map_visible(show):
    Y, y = blobs()
    page = show(Y, labels=y)
    page.page.set_viewport_size({"width": 380, "height": 700})
    page.page.get_by_role("button", name="Controls").click()
    side = page.page.locator(".wk-side")
    side.wait_for(state="visible")
    page.until("app.stage.element.getBoundingClientRect().height < 420")
    page.page.wait_for_timeout(300)
    assert side.bounding_box()["y"] >= page.page.locator(".wk-stage").bounding_box()["y"] + 150
    stage = page.page.locator(".wk-stage").bounding_box()
    assert stage["y"] + stage["height"] <= side.bounding_box()["y"] + 1


def test_a_small_screen_shows_the_whole_card_and_the_point_it_belongs_to(show):
    Y, y = blobs()
    Y[[0, 1, 2, 3, 4]] = [[0.0, 0.0], [-9.0, 0.0], [9.0, 0.0], [0.0, 9.0], [0.0, -9.0]]
    page = show(Y, labels=y, data=Y, text=["a longer text about the row, of some lines " * 4] * len(Y))
    card, stage, side = (page.page.locator(f".wk-{name}") for name in ("card", "stage", "side"))
    controls = page.page.get_by_role("button", name="Controls")

    def whole(row):
        inner, outer, (x, y) = card.bounding_box(), stage.bounding_box(), page.pixel(row)
        right, bottom = inner["x"] + inner["width"], inner["y"] + inner["height"]
        inside = outer["x"] <= inner["x"] and right <= outer["x"] + outer["width"]
        inside = inside and outer["y"] <= inner["y"] and bottom <= outer["y"] + outer["height"]
        beside = x <= inner["x"] - 5 or x >= right + 5 or y <= inner["y"] - 5 or y >= bottom + 5
        return inside and beside, (inner, outer, x, y)

    def settles(row):
        """The map and the card follow a new size within some pictures."""
        page.until("app.card.element.offsetWidth > 0")
        for _ in range(40):
            well, where = whole(row)
            if well:
                return
            page.page.wait_for_timeout(50)
        raise AssertionError(where)

    for width, height in ((390, 844), (390, 500), (640, 390)):
        page.page.set_viewport_size({"width": width, "height": height})
        page.until(f"app.stage.element.clientWidth === {width - 12} && app.stage.panels[0].rect.height > 200")
        for row in range(5):
            page.app(f"app.pin({row})")
            settles(row)
        controls.click()
        side.wait_for(state="visible")
        assert controls.get_attribute("aria-expanded") == "true"
        assert card.is_hidden()  # there is no room for both
        page.app("app.pin(3)")
        side.wait_for(state="hidden")
        settles(3)
        controls.click()
        side.wait_for(state="visible")
        controls.click()
        side.wait_for(state="hidden")
        settles(3)  # it comes back when the drawer closes
    page.page.set_viewport_size({"width": 390, "height": 844})
    page.app("(app.stage.pan(app.stage.panels[0], -2000, 0), 1)")  # the point is out of sight
    settles(3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_is_named_reachable_and_has_contrast(show, theme):
    package = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    source = Path(package.__file__).with_name("axe.min.js")
    X = np.random.default_rng(0).uniform(size=(200, 2))
    page = show(
        {"a": X + 5 * (X[:, :1] > 0.5), "b": X},
        data=X,
        labels=(X[:, 0] > 0.5).astype(int),
        ids=np.arange(200),
    )
    page.app(
        f"(app.setDark({str(theme == 'dark').lower()}), app.go(3), app.select(() => app.state.select([1, 2], 'replace')), 1)"
    )
    page.page.evaluate(source.read_text())
    found = page.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found["violations"]] == []
