"""`winkel embed`, called as a function."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

import winkel as wk
from winkel.cli.methods import find_method
from winkel.estimators import registry
from winkel.maps import read_map

from .data import CLASSES, call, call_json, rows, write_table

FEW = ("--set", "max_iter=20", "--set", "n_neighbors=5")


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv")


def named(table):
    return (table, "--id", "name", "--label", "kind")


def test_a_map_keeps_ids_and_labels(tmp_path, capsys, table):
    out = tmp_path / "map.parquet"
    code, values = call_json(capsys, "embed", *named(table), "-o", out, *FEW)
    assert code == 0
    found = read_map(str(out))
    assert found.ids[:2].tolist() == ["row 0", "row 1"]
    assert set(found.labels) == set(CLASSES)
    expected = wk.MDE(max_iter=20, n_neighbors=5, random_state=0).fit_transform(
        wk.data.read(table, id="name", label="kind").values
    )
    np.testing.assert_array_equal(found.Y, expected)
    assert values["n_rows"] == 60
    assert values["n_columns"] == 5
    assert values["settings"] == {"max_iter": 20, "n_neighbors": 5}
    assert values["status"]["word"] in ("max_iter", "converged")
    assert values["files"] == {"map": str(out)}


def test_without_json_standard_output_stays_empty(tmp_path, capsys, table):
    code, out, err = call(capsys, "embed", *named(table), "-o", tmp_path / "map.csv", *FEW)
    assert (code, out) == (0, "")
    assert "60 rows × 5 columns" in err
    assert f"map: {tmp_path / 'map.csv'}" in err
    assert "%|" not in err  # no bar where nobody looks


def test_quiet_says_nothing(tmp_path, capsys, table):
    code, out, err = call(capsys, "--quiet", "embed", *named(table), "-o", tmp_path / "map.csv", *FEW)
    assert (code, out, err) == (0, "", "")


def test_no_checkpoint_is_left(tmp_path, capsys, table):
    call(capsys, "embed", *named(table), "-o", tmp_path / "map.csv", *FEW)
    assert sorted(os.listdir(tmp_path)) == ["map.csv", "table.csv"]


def test_model_and_picture(tmp_path, capsys, table):
    model, picture = tmp_path / "m.winkel", tmp_path / "map.png"
    missing = tmp_path / "new folder" / "m.winkel"
    code, _, err = call(capsys, "embed", *named(table), "-o", tmp_path / "map.npz", "--model", missing, *FEW)
    assert code != 0
    assert "does not exist" in err
    assert not missing.parent.exists()
    code, _, _ = call(
        capsys, "embed", *named(table), "-o", tmp_path / "map.npz", "--model", model, "--png", picture, *FEW
    )
    assert code == 0
    fitted = wk.load(model)
    assert isinstance(fitted, wk.MDE)
    assert list(fitted.feature_names_in_) == ["f0", "f1", "f2", "f3", "f4"]
    np.testing.assert_array_equal(fitted.embedding_, read_map(str(tmp_path / "map.npz")).Y)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_an_exact_method_keeps_its_embedding_as_model(tmp_path, capsys, table):
    model = tmp_path / "m.winkel"
    code, values = call_json(
        capsys, "embed", *named(table), "-o", tmp_path / "map.csv", "--method", "pca", "--model", model
    )
    assert code == 0
    assert values["n_iter"] == 0
    assert values["residual"] is None  # JSON has no NaN
    Y = read_map(str(model)).Y
    X = wk.data.read(table, id="name", label="kind").values
    np.testing.assert_allclose(np.abs(Y), np.abs(wk.quadratic.pca(X).to_textbook()), rtol=1e-6)


def test_watching_changes_nothing(tmp_path, capsys, table):
    out, watched, model = tmp_path / "map.npz", tmp_path / "watched.npz", tmp_path / "m.winkel"
    assert call(capsys, "embed", *named(table), "-o", out, *FEW)[0] == 0
    code, _, err = call(
        capsys, "embed", *named(table), "-o", watched, "--model", model, *FEW, "--watch", "--no-browser"
    )
    assert code == 0
    assert "the map forms at http://127.0.0.1:" in err
    assert watched.read_bytes() == out.read_bytes()
    assert wk.load(model).callbacks is None


def test_seed_and_columns(tmp_path, capsys, table):
    maps = []
    for seed in (0, 0, 1):
        out = tmp_path / f"map{len(maps)}.npz"
        assert (
            call(capsys, "embed", *named(table), "-o", out, "--seed", seed, "--columns", "f0,f1,f2", *FEW)[0]
            == 0
        )
        maps.append(out.read_bytes())
    assert maps[0] == maps[1] != maps[2]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-o", "map.foo"), 2, "cannot tell the format"),
        (("-o", "map.csv", "--set", "n_neighbors=0"), 2, "n_neighbors must be a positive integer"),
        (("-o", "map.csv", "--set", "neighbours=4"), 2, "mde has no setting 'neighbours'"),
        (("-o", "map.csv", "--max-memory", "much"), 2, "max_memory must be"),
        (("-o", "map.csv", "--label", "nothing"), 2, "label='nothing' does not name one column"),
        (("-o", "map.csv", "--n-jobs", "0"), 2, "n_jobs must be"),
        (
            ("-o", "map.csv", "--png", "map.png", "--set", "n_components=3"),
            2,
            "--png draws maps of 2 dimensions",
        ),
        (("-o", "map.csv", "--model", "./map.csv"), 2, "two outputs have the same name"),
        (("-o", "table.csv"), 2, "would replace the input"),
        (("-o", "-", "--json"), 2, "both write to standard output"),
        (("-o", "-", "--resume"), 2, "--resume needs an output file"),
        (("-o", "map.csv", "--max-memory", "10B"), 1, "more than max_memory=10 B"),
        (("-o", "map.csv"), 1, "columns without numbers: 'name' (text), 'kind' (text)"),
    ],
)
def test_errors_are_one_sentence(tmp_path, monkeypatch, capsys, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    write_table("table.csv")
    pick = () if "without numbers" in message else ("--id", "name")
    pick += () if "--label" in arguments or "without numbers" in message else ("--label", "kind")
    got, out, err = call(capsys, "embed", "table.csv", *pick, *arguments)
    assert got == code
    said = [line for line in err.splitlines() if line.startswith("winkel: ")]
    assert len(said) == 1
    assert message in said[0]
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == ["table.csv"]
    if "--json" in arguments:
        assert message in json.loads(out)["error"]["message"]


def test_debug_shows_where(tmp_path, capsys):
    with pytest.raises(FileNotFoundError):
        call(capsys, "embed", tmp_path / "none.csv", "-o", tmp_path / "map.csv", "--debug")


def test_names_cannot_steer_the_terminal(tmp_path, capsys):
    code, _, err = call(capsys, "embed", tmp_path / "\x1b[31mred.csv", "-o", tmp_path / "map.csv")
    assert code == 1
    assert "\x1b" not in err
    assert r"[31mred.csv" in err


def test_warnings_are_notes(tmp_path, capsys):
    np.save(tmp_path / "few.npy", rows(8)[0])
    code, out, err = call(capsys, "embed", tmp_path / "few.npy", "-o", tmp_path / "map.csv", "--json")
    assert code == 0
    assert "n_neighbors=15, but there are only 8 rows" in json.loads(out)["warnings"][0]
    assert err.count("winkel: note: ") == len(json.loads(out)["warnings"])


@pytest.mark.parametrize(
    "name",
    ["quo'te\".csv", "a b;$(touch owned).csv", "<script>.csv", "new\nline.csv", "ünï😀.csv", "-rf.csv"],
)
def test_hostile_names(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    write_table(name)
    code, values = call_json(capsys, "embed", *named(f"./{name}"), "-o", f"./map {name}", *FEW)
    assert code == 0
    assert values["input"] == f"./{name}"
    assert sorted(os.listdir()) == sorted([name, f"map {name}"])
    assert read_map(f"map {name}").Y.shape == (60, 2)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fit_writes_the_best_map_and_can_be_resumed(tmp_path, monkeypatch, capsys, table, how):
    from winkel.solvers import loop

    monkeypatch.setattr(signal, "default_int_handler", signal.default_int_handler)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    advance = loop._Loop._advance

    def interrupted(self):
        if self._mark.state.iteration == 7:
            os.kill(os.getpid(), how)
        return advance(self)

    out, whole = tmp_path / "map.npz", tmp_path / "whole.npz"
    command = ("embed", *named(table), *FEW)
    try:
        monkeypatch.setattr(loop._Loop, "_advance", interrupted)
        code, _, err = call(capsys, *command, "-o", out)
    finally:
        monkeypatch.setattr(loop._Loop, "_advance", advance)
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert "The best iterate" in err
    assert "--resume continues from here" in err
    assert read_map(str(out)).Y.shape == (60, 2)
    assert parts(tmp_path)
    assert call(capsys, *command, "-o", out, "--resume")[0] == 0
    assert call(capsys, *command, "-o", whole)[0] == 0
    assert out.read_bytes() == whole.read_bytes()
    assert not parts(tmp_path)


def parts(folder):
    """The checkpoint files in a folder."""
    return [name for name in os.listdir(folder) if ".part" in name]


def test_a_time_limit_ends_the_fit_with_the_map_there_is(tmp_path, capsys, table):
    out, whole, command = tmp_path / "map.npz", tmp_path / "whole.npz", ("embed", *named(table), *FEW)
    code, values = call_json(capsys, *command, "-o", out, "--time-limit", "0")
    assert code == 0
    assert values["status"]["word"] == "time_limit"
    assert read_map(out).Y.shape == (60, 2)
    assert parts(tmp_path)
    code, _, err = call(capsys, *command, "-o", out, "--time-limit", "0")
    assert "--resume continues from here" in err
    assert call(capsys, *command, "-o", out, "--resume")[0] == 0
    assert call(capsys, *command, "-o", whole)[0] == 0
    assert out.read_bytes() == whole.read_bytes()
    assert not parts(tmp_path)


def test_without_resume_older_checkpoints_are_removed(tmp_path, capsys, table):
    command = ("embed", *named(table), *FEW, "-o", tmp_path / "map.npz")
    assert call_json(capsys, *command, "--time-limit", "0")[0] == 0
    other = ("embed", *named(write_table(tmp_path / "other.csv", 63)), *FEW, "-o", tmp_path / "map.npz")
    assert call(capsys, *other, "--resume")[0] == 2  # the checkpoint of other data
    assert call(capsys, *other)[0] == 0
    assert not parts(tmp_path)


def test_the_table_is_looked_at_once(tmp_path, monkeypatch, capsys, table):
    from winkel.data import table as module

    seen, clean = [], module.dense_matrix

    def spy(values, *rest):
        seen.append(np.shape(values))
        return clean(values, *rest)

    monkeypatch.setattr(module, "dense_matrix", spy)
    command = ("embed", *named(table), "-o", tmp_path / "map.csv", "--html", tmp_path / "map.html")
    assert call(capsys, *command, *FEW)[0] == 0
    assert seen.count((60, 5)) == 1


ITERATIVE = sorted(command.name for name in registry.names() for command in registry.entry(name).commands)


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
@pytest.mark.parametrize("method", ITERATIVE)
@pytest.mark.parametrize("steps", [2, 13])
def test_every_method_that_crashed_is_resumed_to_the_same_bytes(
    tmp_path, monkeypatch, capsys, table, method, steps
):
    from winkel.solvers import loop

    known = find_method(method).settings
    given = {"max_iter": 20, "n_neighbors": 9, "perplexity": 5, "n_components": 2, "n_atoms": 10, "tol": 0}
    few = [part for name, value in given.items() if name in known for part in ("--set", f"{name}={value}")]
    command = ("embed", *named(table), "--method", method, *few)
    assert call(capsys, *command, "-o", tmp_path / "whole.npz")[0] == 0
    left, advance = [steps], loop._Loop._advance

    def crash(self):
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("crash")
        return advance(self)

    with monkeypatch.context() as patch:
        patch.setattr(loop._Loop, "_advance", crash)
        assert call(capsys, *command, "-o", tmp_path / "map.npz")[0] == 1
    assert parts(tmp_path)
    code, _, err = call(capsys, *command, "-o", tmp_path / "map.npz", "--resume")
    assert code == 0, err
    assert (tmp_path / "map.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["map.npz", "table.csv", "whole.npz"]


def test_the_checkpoint_of_other_data_is_refused(tmp_path, monkeypatch, capsys, table):
    from winkel.solvers import loop

    def fail(self):
        raise RuntimeError("a bug")

    other = write_table(tmp_path / "other.csv", 63)
    with monkeypatch.context() as patch:
        patch.setattr(loop._Loop, "_advance", fail)
        code, _, err = call(capsys, "embed", *named(table), "-o", tmp_path / "map.npz", *FEW)
    assert code == 1
    assert "unexpected RuntimeError: a bug (--debug shows where)" in err
    code, _, err = call(capsys, "embed", *named(other), "-o", tmp_path / "map.npz", *FEW, "--resume")
    assert code == 2
    assert "belongs to another run" in err
