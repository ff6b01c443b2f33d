"""The notebooks are those of the scripts beside them, and every story runs, on few rows of generated data."""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from winkel.data import datasets

from .test_examples import LOADERS

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import notebooks

STORIES = sorted(notebooks.FOLDER.glob("*.py"))


def test_there_are_six_stories():
    assert [script.stem for script in STORIES] == [
        "cells",
        "counties",
        "genetics",
        "images",
        "network",
        "words",
    ]


@pytest.mark.parametrize("script", STORIES, ids=lambda script: script.stem)
def test_the_notebook_is_that_of_the_script(script):
    file = script.with_suffix(".ipynb")
    cells = notebooks.cells_of(script)
    assert file.read_text(encoding="utf-8") == notebooks.notebook(
        cells, notebooks.kept_outputs(file, cells)
    ), "run `python tools/notebooks.py`"
    assert file.stat().st_size < 30_000
    assert "What can and cannot be trusted" in cells[-1][1]
    whole = json.loads(file.read_text(encoding="utf-8"))
    assert any(cell.get("outputs") for cell in whole["cells"])


@pytest.mark.parametrize("script", STORIES, ids=lambda script: script.stem)
def test_the_last_cell_has_the_numbers_that_were_printed(script):
    whole = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    outputs = [line for cell in whole["cells"] for out in cell.get("outputs", []) for line in out["text"]]
    printed = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", " ".join(outputs))]
    for told in re.findall(r"\d+\.\d+|\d+(?= %)", "".join(whole["cells"][-1]["source"])):
        digits = len(told.partition(".")[2])
        unit = 0.501 * 10**-digits  # told is a rounded form of something that was printed
        assert any(abs(number - float(told)) <= unit for number in printed), f"{told} was not printed"


@pytest.mark.slow
@pytest.mark.parametrize("script", STORIES, ids=lambda script: script.stem)
def test_a_story_runs(script, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    plt.switch_backend("agg")
    for name, make in LOADERS.items():
        monkeypatch.setattr(datasets, name, make)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        printed = notebooks.run(notebooks.cells_of(script))
    assert any(printed)
