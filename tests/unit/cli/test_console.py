"""The other commands, and what is printed where."""

from __future__ import annotations

import json
import threading
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from winkel import __version__
from winkel.cli import main
from winkel.cli.console import Console, Outcome, printable
from winkel.errors import DataWarning

from .data import call, call_json

PAGE = b"<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><p>map</p>"


def test_info_names_versions_threads_memory_and_extras(capsys):
    code, out, err = call(capsys, "info")
    assert (code, err) == (0, "")
    for text in (f"winkel {__version__}", "numpy ", "threads ", "extra server: starlette "):
        assert text in out
    listed = next(line for line in out.splitlines() if line.startswith("methods "))
    assert {"mde", "lvm", "tsm", "kds", "pca"} <= set(listed.removeprefix("methods ").split(", "))
    values = call_json(capsys, "info")[1]
    assert values["threads"] >= 1
    assert set(values["extras"]["server"]) == {"starlette", "uvicorn"}


def test_info_says_how_to_install_what_is_missing(capsys, monkeypatch):
    from winkel.cli import info

    monkeypatch.setattr(info, "_EXTRAS", {"plot": ("surely-not-there",)})
    assert 'extra plot: not installed (pip install "winkel[plot]")' in call(capsys, "info")[1]


def test_demo_writes_its_picture(tmp_path, capsys, monkeypatch):
    from winkel.cli import demo

    whole = demo.methods
    monkeypatch.setattr(
        demo, "methods", lambda seed: {name: m.set_params(max_iter=5) for name, m in whole(seed).items()}
    )
    code, values = call_json(capsys, "demo", "-o", tmp_path / "demo")
    assert code == 0
    assert set(values["files"]) == {"picture", "page"}
    assert all(Path(path).stat().st_size > 10_000 for path in values["files"].values())
    assert set(values["scores"]) == set(whole(0))
    assert all(0 < scores["trustworthiness"]["value"] <= 1 for scores in values["scores"].values())


def test_json_has_no_numbers_that_json_lacks(capsys):
    Console(json=True).result(
        Outcome({"a": np.float32("nan"), "b": [np.int64(3), float("inf")], "c": {"d": True}})
    )
    assert json.loads(capsys.readouterr().out) == {
        "a": None,
        "b": [3, None],
        "c": {"d": True},
        "warnings": [],
    }


def test_control_characters_are_shown_not_sent():
    assert printable("a\x1b]0;title\x07\u202eb\nü") == "a\\x1b]0;title\\x07\\u202eb\nü"


def test_warnings_are_lines_and_kept(capsys):
    import warnings

    console = Console()
    with console.warnings_shown():
        warnings.warn("constant \x1b column", DataWarning, stacklevel=1)
        warnings.warn("of no interest to users", DeprecationWarning, stacklevel=1)
    assert console.warnings == ["constant \x1b column"]
    assert capsys.readouterr().err == "winkel: note: constant \\x1b column\n"


@pytest.mark.parametrize("place", ["before", "after"])
def test_common_options_may_stand_on_either_side(capsys, place):
    arguments = ["--json", "info"] if place == "before" else ["info", "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["winkel"] == __version__


def test_options_are_not_abbreviated(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["embed", "x.csv", "-o", "y.csv", "--max", "1GB"])
    assert caught.value.code == 2
    assert "--max" in capsys.readouterr().err


def test_view_serves_the_page_until_it_is_ended(tmp_path, capsys, monkeypatch):
    from winkel.view import server as module

    (tmp_path / "map.html").write_bytes(PAGE)
    seen = {}

    def look(self):
        with urllib.request.urlopen(self.url, timeout=10) as response:
            seen["body"] = response.read()
        seen["url"] = self.url

    monkeypatch.setattr(module.LocalServer, "wait", look)
    code, out, _ = call(capsys, "view", tmp_path / "map.html", "--no-browser")
    assert code == 0
    assert seen["body"] == PAGE
    assert out == f"{seen['url']}\n"
    assert threading.active_count() == 1 or all(t.name != "winkel-server" for t in threading.enumerate())
    code, out, _ = call(capsys, "view", tmp_path / "map.html", "--no-browser", "--json")
    assert json.loads(out)["url"] == seen["url"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("map.html", None, "does not exist"),
        ("map.html", b"<script>alert(1)</script>", "not a page that winkel wrote"),
        ("map.xyz", b"", "Cannot tell the format"),
        ("map.winkel", b"no", "map.winkel"),
    ],
)
def test_view_refuses_other_files(tmp_path, capsys, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code, out, err = call(capsys, "view", tmp_path / name)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
