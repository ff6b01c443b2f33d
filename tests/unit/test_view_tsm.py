"""Figures of TSM are drawn from what they are given."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import winkel as wk
from winkel.view.tsm import plot_angles, plot_by_dimension

mpl.use("Agg")


def test_angles_with_their_threshold(tmp_path):
    shown = wk.TSM(random_state=0).angle_histogram(wk.datasets.load_digits().X[:300])
    ax = plot_angles(shown, title="digits", path=tmp_path / "angles.png")
    (line,) = [line for line in ax.lines if len(line.get_xdata()) == 2]
    assert line.get_xdata()[0] == pytest.approx(np.degrees(np.arccos(shown.threshold)))
    assert ax.get_title() == "digits"
    assert (tmp_path / "angles.png").stat().st_size > 1000


def test_curves_by_dimension(tmp_path):
    ax = plot_by_dimension(
        [2, 4, 8], {"TSM": [3, 2, 1], "SVD": [9, 8, 7]}, ylabel="degrees", path=tmp_path / "c.png"
    )
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [9, 8, 7])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["TSM", "SVD"]
    assert (tmp_path / "c.png").exists()
