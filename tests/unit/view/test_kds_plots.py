"""Pictures of K-Deep Simplex hold what they say."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.errors import InvalidInputError

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")

from winkel.view.kds import plot_atoms, plot_atoms_among_rows, plot_degrees, plot_usage  # noqa: E402

CODES = sp.csr_array(np.array([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.5, 0]]))


def heights(ax):
    return [bar.get_height() for bar in ax.patches]


def test_usage_and_degrees(tmp_path):
    ax = plot_usage(CODES, path=tmp_path / "usage.png")
    assert heights(ax) == [1.75, 0.75, 0.5, 0.0]
    assert ax.get_title() == "4 atoms, 1 unused"
    ax = plot_degrees(CODES, path=tmp_path / "degrees.png")
    assert heights(ax) == [1, 1, 1]
    assert ax.get_title() == "2.00 atoms per row on average"
    assert {path.name for path in tmp_path.iterdir()} == {"usage.png", "degrees.png"}


def test_atoms_as_images(tmp_path):
    atoms = np.arange(7 * 6.0).reshape(7, 6)
    figure = plot_atoms(atoms, (2, 3), labels=[1, 0, 1, 0, 0, 1, 1], columns=4, path=tmp_path / "atoms.png")
    shown = [ax.images[0].get_array() for ax in figure.axes if ax.images]
    assert len(shown) == 7
    np.testing.assert_array_equal(shown[0], atoms[1].reshape(2, 3))  # sorted by label
    assert (tmp_path / "atoms.png").stat().st_size > 0
    with pytest.raises(InvalidInputError, match="cannot be images of 2 × 2"):
        plot_atoms(atoms, (2, 2))
    with pytest.raises(InvalidInputError, match="one entry per atom"):
        plot_atoms(atoms, (2, 3), labels=[1])


def test_atoms_among_rows():
    ax = plot_atoms_among_rows(np.zeros((5, 2)), np.ones((3, 2)))
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), np.ones((3, 2)))
    with pytest.raises(InvalidInputError, match=r"\(m, 2\)"):
        plot_atoms_among_rows(np.zeros((5, 2)), np.ones((3, 4)))
