"""Every script of examples/ runs, on few rows of built-in or generated data in place of the published ones."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp

from winkel.data import datasets
from winkel.data.datasets import Dataset

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = 240
FEWER = {"forces.py": 80, "tsm.py": 80}  # for scripts that make many maps
DIGITS = datasets.load_digits()


def digits():
    rows = slice(0, ROWS)
    return Dataset(DIGITS.X[rows], DIGITS.y[rows], "digits", "few digits", label_names=DIGITS.label_names)


def clusters(columns):
    """Rows in four groups."""
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 4
    return (rng.normal(size=(ROWS, columns)) + 3 * rng.normal(size=(4, columns))[y]).astype(np.float32), y


def images(side):
    X, y = clusters(side * side)
    return Dataset(X, y, "images", "generated")


def words(name="glove", *, size="30k"):
    X, _ = clusters(40)
    return Dataset(X, None, name, "generated", ids=np.array([f"word{i}" for i in range(ROWS)]))


def analogies():
    quadruples = np.array([[f"word{4 * i + j}" for j in range(4)] for i in range(20)])
    return Dataset(quadruples, None, "analogies", "generated", extras={"semantic": np.arange(20) % 2 == 0})


def network(name="AstroPh"):
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, ROWS, size=(2, 4 * ROWS))
    links = sp.coo_array((np.ones(len(i)), (i, j)), shape=(ROWS, ROWS)).tocsr()
    links = ((links + links.T) > 0).astype(np.float64).tolil()
    links.setdiag(0)
    return Dataset(links.tocsr(), None, name, "generated")


def people():
    X, y = clusters(20)
    extras = {"eigenvalues": np.linspace(4, 1, 20), "lonlat": X[:, :2]}
    return Dataset(X, np.array(["A", "B", "C", "D"])[y], "people", "generated", extras=extras)


def counties():
    X, _ = clusters(10)
    return Dataset(X, X[:, 0] / 10, "counties", "generated")


def cells():
    X, y = clusters(20)
    return Dataset(X, y, "cells", "generated", label_names={k: f"type {k}" for k in range(4)})


LOADERS = {
    "load_digits": digits,
    "load_mnist": lambda: images(8),
    "load_coil20": lambda: images(8),
    "load_words": words,
    "load_analogies": analogies,
    "load_coauthorship": network,
    "load_popres": people,
    "load_counties": counties,
    "load_covid_balf": cells,
    "load_pbmc3k": cells,
}


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning", "ignore::winkel.errors.DataWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("script", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs(tmp_path, monkeypatch, capsys, script):
    mpl.use("Agg")
    monkeypatch.setitem(globals(), "ROWS", FEWER.get(script, ROWS))
    for name, loader in LOADERS.items():
        monkeypatch.setattr(datasets, name, loader)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path)])
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    made = [path for folder, _, names in os.walk(tmp_path) for name in names for path in [Path(folder, name)]]
    assert made, "it wrote no picture or page"
    assert all(path.stat().st_size > 1000 for path in made)
    assert capsys.readouterr().out or script == "plots.py"
