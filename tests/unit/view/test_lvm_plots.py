"""Pictures of a latent variable model."""

from __future__ import annotations

import numpy as np
import pytest

from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.view.lvm import most_uncertain, plot_density, plot_uncertain, plot_variance

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

RNG = np.random.Generator(np.random.Philox(key=0))
Y, VARIANCE = RNG.normal(size=(60, 2)), np.exp(RNG.normal(size=60))
IMAGES, LABELS = RNG.random((60, 8, 8)), np.arange(60) % 3


def test_variance_leaves_out_the_uncertain(tmp_path):
    figure = plot_variance(Y, VARIANCE, labels=LABELS, quantile=0.9, path=tmp_path / "v.png")
    shown = figure.axes[1].collections[0].get_offsets()
    np.testing.assert_array_equal(shown, Y[np.quantile(VARIANCE, 0.9) >= VARIANCE])
    assert len(shown) == 54
    assert (tmp_path / "v.png").stat().st_size > 1000


def test_density_counts_every_point(tmp_path):
    ax = plot_density(Y, bins=10, path=tmp_path / "d.png")
    assert np.nansum(ax.collections[0].get_array()) == 60
    assert (tmp_path / "d.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "items", [IMAGES, np.array([f"word {i}" for i in range(60)])], ids=["images", "texts"]
)
def test_uncertain_ones_are_circled(items, tmp_path):
    figure = plot_uncertain(Y, VARIANCE, items, labels=LABELS, count=7, path=tmp_path / "u.png")
    worst = np.argsort(-VARIANCE)[:7]
    np.testing.assert_array_equal(most_uncertain(VARIANCE, 7), worst)
    np.testing.assert_array_equal(figure.axes[0].collections[-1].get_offsets(), Y[worst])
    if items.ndim == 1:
        assert [text.get_text() for text in figure.axes[1].texts] == items[worst].tolist()
    else:
        np.testing.assert_array_equal(figure.axes[1].images[0].get_array()[:8, :8], IMAGES[worst[0]])


def test_misuse():
    with pytest.raises(InvalidInputError, match="variance must hold one value per row"):
        plot_variance(Y, VARIANCE[:5])
    with pytest.raises(InvalidInputError, match="positive"):
        plot_variance(Y, -VARIANCE)
    with pytest.raises(InvalidParameterError, match="quantile"):
        plot_variance(Y, VARIANCE, quantile=0)
    with pytest.raises(InvalidInputError, match="60 images"):
        plot_uncertain(Y, VARIANCE, IMAGES[:4])
