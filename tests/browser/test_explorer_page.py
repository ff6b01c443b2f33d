"""The explorer in a real browser: what is drawn, and what happens when a person does something."""

import numpy as np
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def blobs(n_classes=3, each=60, seed=0):
    """Classes of points around corners of a triangle, and their labels."""
    stream = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centers = 5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = np.repeat(np.arange(n_classes), each)
    return centers[y] + stream.normal(size=(len(y), 2)), y


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
