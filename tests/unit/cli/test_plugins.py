"""`--plugin`: what a file of the user's own registers is known to every command."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pytest

from winkel.cli.plugins import VARIABLE, PluginError, load_plugins
from winkel.estimators import registry

from .data import call, call_json, rows

PLUGIN = '''
from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from winkel.checks import integer, positive
from winkel.embedding import Embedding
from winkel.estimators import Embedder, estimator
from winkel.solvers import History, Status


@estimator("first-columns", "the first columns, scaled")
class FirstColumns(Embedder):
    """The first columns of the data as a map."""

    n_components: int = 2
    _: KW_ONLY
    scale: float = 1.0

    def fit(self, X: Any, y: Any = None) -> FirstColumns:
        """Take the first columns of X."""
        d = integer("n_components", self.n_components, 1)
        table = self._read(X)
        with self._working(table) as run:
            Y = positive("scale", self.scale) * np.asarray(table.values[:, :d], dtype=float)
            row = {name: np.zeros(1) for name in ("iteration", "objective", "residual", "seconds")}
            self.result_ = Embedding(Y, 0.0, 0.0, History(row), Status("converged", "Done."), seed=run.seed)
        return self
'''


@pytest.fixture
def plugin(tmp_path):
    """The path of a plugin; what it registered is forgotten at the end."""
    before = dict(registry._KNOWN)
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    yield path
    registry._KNOWN.clear()
    registry._KNOWN.update(before)
    for name in [name for name in sys.modules if name.startswith("winkel_plugin_")]:
        del sys.modules[name]


@pytest.fixture
def data(tmp_path):
    np.save(tmp_path / "X.npy", rows()[0])
    return tmp_path / "X.npy"


@pytest.mark.parametrize("how", ["before", "after", "environment"])
def test_an_estimator_of_the_users_own_makes_maps(tmp_path, capsys, monkeypatch, plugin, data, how):
    command = ("embed", data, "-o", tmp_path / "map.npz", "--method", "first-columns", "--set", "scale=2.5")
    command += ("--model", tmp_path / "m.winkel")
    if how == "environment":
        monkeypatch.setenv(VARIABLE, os.pathsep.join(["", str(plugin)]))
    else:
        command = ("--plugin", plugin, *command) if how == "before" else (*command, "--plugin", plugin)
    code, values = call_json(capsys, *command)
    assert code == 0, values
    assert values["settings"] == {"scale": 2.5}
    with np.load(tmp_path / "map.npz") as archive:
        np.testing.assert_array_equal(archive["Y"], 2.5 * rows()[0][:, :2].astype(float))
    code, values = call_json(capsys, "measure", data, tmp_path / "m.winkel", "--plugin", plugin)
    assert code == 0
    assert 0 < values["scores"]["trustworthiness"]["value"] < 1


def test_a_plugin_is_part_of_help_and_lists(capsys, plugin):
    with pytest.raises(SystemExit):
        call(capsys, "embed", "--plugin", plugin, "--help")
    listed = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["first-columns", "the first columns, scaled"] in listed
    assert "first-columns" in call_json(capsys, "info", "--plugin", plugin)[1]["methods"]


def test_two_plugins_of_the_same_name(tmp_path, plugin):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.py").write_text("LOADED = True\n")
    load_plugins([str(plugin), str(tmp_path / "other" / "mine.py"), str(plugin)])
    assert "FirstColumns" in registry.names()
    assert len([name for name in sys.modules if name.startswith("winkel_plugin_mine")]) == 2


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("none.py", None, 2, "does not exist"),
        ("mine.txt", "x = 1", 2, "must be a Python file"),
        ("bad.py", "x = 1\ny = x / 0\n", 1, "bad.py' failed in line 2: ZeroDivisionError: division by zero"),
        ("wrong.py", "def f(:\n", 1, "wrong.py' failed in line 1: SyntaxError"),
        ("needy.py", "\n\nimport surely_not_there\n", 1, "failed in line 3: ModuleNotFoundError"),
    ],
)
def test_a_plugin_that_fails_is_one_sentence(tmp_path, capsys, name, text, code, message):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    got, out, err = call(capsys, "--plugin", path, "info", "--json")
    assert got == code
    assert message in err
    assert err.startswith("winkel: ")
    assert err.count("\n") == 1
    assert message in json.loads(out)["error"]["message"]
    assert not [module for module in sys.modules if module.startswith(f"winkel_plugin_{path.stem}")]


def test_debug_shows_where_a_plugin_failed(tmp_path, capsys):
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(PluginError) as caught:
        call(capsys, "info", "--debug", "--plugin", tmp_path / "bad.py")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_folder_is_no_plugin(tmp_path, capsys):
    code, _, err = call(capsys, "info", "--plugin", tmp_path)
    assert code == 2
    assert "is a folder" in err
