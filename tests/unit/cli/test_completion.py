"""Completion scripts: they know every command, option and method."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from winkel.cli.methods import methods

from .data import call, call_json


@pytest.fixture
def script(capsys):
    def made(shell):
        code, out, _ = call(capsys, "completion", shell)
        assert code == 0
        return out

    return made


def completed(script, *words):
    """What bash offers for the last of `words`."""
    listed = " ".join(f"'{word}'" for word in ("winkel", *words))
    program = f"{script}\nCOMP_WORDS=({listed})\nCOMP_CWORD={len(words)}\n_winkel\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    result = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_offers_what_can_follow(script):
    bash = script("bash")
    assert completed(bash, "") >= {
        "embed",
        "measure",
        "compare",
        "spectrum",
        "view",
        "demo",
        "info",
        "completion",
    }
    assert completed(bash, "e") == {"embed"}
    assert completed(bash, "embed", "--me") == {"--method"}
    assert completed(bash, "embed", "--method", "") == set(methods())
    assert completed(bash, "completion", "") == {"bash", "zsh", "fish"}
    assert "--no-browser" in completed(bash, "view", "--")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_offers_files(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").touch()
    assert completed(script("bash"), "embed", "ta") == {"table.csv"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_knows_every_command_and_method(script, shell):
    text = script(shell)
    for word in ("embed", "measure", "compare", "spectrum", "view", "demo", "info", "completion", *methods()):
        assert word in text
    for option in ("max-memory", "time-limit", "checkpoint-every", "no-browser", "resume", "plugin"):
        assert option in text
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_as_json(capsys):
    code, values = call_json(capsys, "completion", "fish")
    assert code == 0
    assert values["script"].startswith("# fish completion")
