"""The worked pages of docs/extending are true: each file there, alone, goes through everything that it promises."""

from __future__ import annotations

import inspect
import os
import pydoc
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

PAGES = Path(__file__).parents[2] / "docs" / "extending"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
SOURCE = re.compile(r"<!-- source: (\S+) -->\n```python\n(.*?)```", re.DOTALL)
# What every page's script is followed by, to see that it did what it says.
PROOF = {
    "penalty": """
        import numpy as np
        assert model.transform(digits.X[:5]).tobytes() == model.embedding_[:5].tobytes()
        assert type(model.problem_.distortion.attractive) is Welsch
        again = wk.load("map.winkel")
        new = digits.X[:20] + 0.25
        assert again.transform(new).tobytes() == model.transform(new).tobytes()
        d = np.linspace(0.1, 5, 50)
        slope = (Welsch().value(d + 1e-6) - Welsch().value(d - 1e-6)) / 2e-6
        assert np.allclose(slope, Welsch().derivative(d), atol=1e-6)
        X = digits.X[:300]
        everywhere = wk.MDE(repulsive=Far, repulsive_pairs="all", n_components=3, max_iter=5, random_state=0).fit(X)
        assert np.isfinite(everywhere.embedding_).all()
        wk.measure(digits.X, model), wk.plot(model, path="map.png")
        assert np.isfinite(model.extend(new)).all()
    """,
    "score": """
        assert 0 < report["nearest_kept"].value < 1
        assert report["nearest_kept"].baseline is not None
        assert "nearest_kept" in str(report) and "nearest_kept" in report.to_json()
        assert "nearest_kept" in wk.compare(digits.X[:200], {"a": digits.X[:200, 20:22]}).to_frame()
    """,
    "estimator": """
        import os
        assert model.transform(X).tobytes() == model.embedding_.tobytes()
        assert wk.load("map.winkel").transform(X).tobytes() == model.embedding_.tobytes()
        assert os.path.getsize("map.png") > 1000
        assert "checkpoint" in StressMap.__doc__ and StressMap(time_limit=0.0).fit(X).status_.word == "time_limit"
    """,
}
BEFORE = {
    "penalty": """
        import winkel as wk
        class Far(wk.penalties.Penalty):
            role = "repulsive"
            def value(self, d):
                return -1 / (1 + d * d) ** 1.5
            def derivative(self, d):
                return 3 * d / (1 + d * d) ** 2.5
    """
}
COMMAND = re.compile(r"^    (winkel .+)$", re.MULTILINE)


def run(folder: Path, *command: str) -> str:
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def digits(tmp_path):
    """The first digits as a table with a header, and a map of them, as files of the folder."""
    from sklearn.datasets import load_digits

    X = load_digits().data[:150]
    header = ",".join(f"p{j}" for j in range(X.shape[1]))
    np.savetxt(tmp_path / "digits.csv", X, delimiter=",", header=header, comments="", fmt="%g")
    np.savetxt(tmp_path / "map.csv", X[:, 20:22], delimiter=",", header="y1,y2", comments="", fmt="%g")
    return tmp_path


@pytest.mark.parametrize("page", ["penalty", "score", "estimator"])
def test_the_page_runs_from_one_file(page, digits):
    text = (PAGES / f"{page}.md").read_text()
    file, use = BLOCK.findall(text)[:2]
    (digits / f"my_{page}.py").write_text(file)
    assert file.startswith(f"# my_{page}.py")
    script = textwrap.dedent(BEFORE.get(page, "")) + use + textwrap.dedent(PROOF[page])
    (digits / "use.py").write_text("import warnings\nwarnings.simplefilter('ignore')\n" + script)
    run(digits, sys.executable, "use.py")
    (command,) = COMMAND.findall(text)
    printed = run(digits, sys.executable, "-m", "winkel", *command.split()[1:])
    if page == "score":
        assert "nearest_kept" in printed
    else:
        places = np.loadtxt(digits / "map.csv", delimiter=",", skiprows=1)
        assert len(places) == 150


@pytest.mark.parametrize("page", ["penalty", "score", "estimator"])
def test_included_source_is_the_source(page):
    ((name, shown),) = SOURCE.findall((PAGES / f"{page}.md").read_text())
    assert shown == textwrap.dedent(inspect.getsource(pydoc.locate(name)))
