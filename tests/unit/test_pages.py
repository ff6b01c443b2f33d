"""Every Python block on every page of docs/ and in the README runs, block after block."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import winkel as wk

ROOT = Path(__file__).parents[2]
# What a page takes as given, such as a user's own data; made small where a page uses a whole data set.
GIVEN = {
    "y": lambda: wk.datasets.load_digits().y,
    "Y_umap": lambda: wk.quadratic.pca(wk.datasets.load_digits().X).Y,
    "frame": lambda: FRAME,
}
FRAME = pd.DataFrame({"cell": ["a", "b", "c"], "x": [1.0, 2.0, 0.5], "type": ["T", "B", "T"]})


def blocks(path: Path) -> list[tuple[int, str]]:
    """Python blocks of a page, each with the line it begins on."""
    text = path.read_text(encoding="utf-8")
    return [
        (text[: m.start()].count("\n") + 2, m[1])
        for m in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M)
    ]


PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if blocks(path)]
# Checked by tests of their own (tests/unit/test_extending.py), or full of a user's own names.
OTHERWISE = {"penalty.md", "score.md", "estimator.md"}


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.stem)
def test_a_page_has_no_python_that_is_not_run(page):
    plain = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    assert not re.findall(r"^    (?:import |from \w+ import |.*\bwk\.\w+\().*", plain, re.M)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in OTHERWISE], ids=lambda p: p.stem)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("cells.csv", index=False)
    if page.stem == "explorer":
        pytest.importorskip("anywidget")
        monkeypatch.setattr("winkel.view.explorer._in_notebook", lambda: True)
    names: dict[str, object] = {"__name__": "__main__"}
    for line, source in blocks(page):
        for name, make in GIVEN.items():
            if name not in names and re.search(rf"\b{name}\b", source):
                names[name] = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wk.errors.NotConvergedWarning)
            warnings.simplefilter("ignore", wk.errors.DataWarning)
            exec(compile("\n" * (line - 1) + source, str(page), "exec"), names)
