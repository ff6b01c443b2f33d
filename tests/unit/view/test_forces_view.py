"""Pictures of agreement and of similarities hold what they are given."""

from __future__ import annotations

import numpy as np
import pytest

from winkel.methods.forces import Agreement
from winkel.methods.forces.objectives import LLE, UMAP

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from winkel.view.forces import plot_agreement, plot_similarities  # noqa: E402


def test_a_line_a_dataset(tmp_path):
    found = {
        name: Agreement(UMAP(), LLE(), np.arange(4), np.ones(4), np.full(4, cosine))
        for name, cosine in (("digits", 0.5), ("words", -0.2))
    }
    ax = plot_agreement(found, path=tmp_path / "agreement.png")
    drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_array_equal(drawn["words"], np.full(4, -0.2))
    np.testing.assert_array_equal(drawn["digits"], np.full(4, 0.5))
    assert ax.get_title() == "umap and lle"
    assert (tmp_path / "agreement.png").stat().st_size > 1000
    matplotlib.pyplot.close(ax.figure)


def test_a_number_a_pair(tmp_path):
    values = np.array([[1.0, 0.25], [0.25, 1.0]])
    ax = plot_similarities(values, ["PCA", "UMAP"], title="procrustes", path=tmp_path / "matrix.png")
    assert [text.get_text() for text in ax.texts] == ["1.00", "0.25", "0.25", "1.00"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["PCA", "UMAP"]
    assert (tmp_path / "matrix.png").exists()
    matplotlib.pyplot.close(ax.figure)
