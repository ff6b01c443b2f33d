"""`winkel embed` with a folder as output: files beyond memory, by shards."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winkel as wk
from winkel.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = wk.datasets.load_digits().X[:400].astype(np.float32)
    for k in range(2):
        table = pa.table({f"c{j}": X[k * 200 : (k + 1) * 200, j] for j in range(X.shape[1])})
        pq.write_table(table, f"part{k}.parquet", row_group_size=128)
    return tmp_path


def embed(*options):
    return main(["embed", "part*.parquet", "-o", "out/", "--seed", "0", "--set", "max_iter=6", *options])


def test_a_folder_as_output_holds_the_map_of_all_rows(files, capsys):
    assert embed("--json", "--max-memory", "2GB") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_rows"] == 400
    assert told["recall"] == 1.0
    table = pq.read_table("out/map.parquet")
    found = np.column_stack([table.column(name).to_numpy() for name in ("y1", "y2")])
    expected = wk.scale.fit(wk.MDE(random_state=0, max_iter=6), "part*.parquet").embedding_
    np.testing.assert_array_equal(found, expected)
    assert [path.name for path in (files / "out").iterdir()] == ["map.parquet"]


def test_resume_goes_on_from_what_is_there(files, monkeypatch):
    from winkel.scale import edges

    pair = edges._pair
    monkeypatch.setattr(edges, "_pair", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        embed("--debug")
    assert (files / "out" / "work" / "neighbors.npy").exists()
    monkeypatch.setattr(edges, "_pair", pair)
    monkeypatch.setattr(edges, "_give", lambda *_: 1 / 0)  # has been done
    assert embed("--resume") == 0
    assert not (files / "out" / "work").exists()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--png", "a.png"], "--png needs all rows"),
        (["--method", "tsne"], "Add --landmarks"),
        (["--scale", "standard"], "--scale needs"),
        (["--numeric"], "--numeric needs"),
        (["--refine"], "--refine with a folder as output is for maps by --landmarks"),
        (["--model", "a.winkel"], "--model with a folder as output is for maps by --landmarks"),
        (["--landmarks", "50", "--method", "lle"], "lle"),
        (["--landmarks", "50", "--model", "a.winkel", "--pca", "5"], "components, not rows"),
    ],
)
def test_what_needs_all_rows_in_memory_is_refused(files, capsys, options, what):
    assert embed(*options) == 2
    assert what in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [["--scheduler", "tcp://127.0.0.1:1"], ["--pca", "5"], ["--landmarks", "9"], ["--refine"]]
)
def test_what_is_for_shards_needs_a_folder(files, capsys, option):
    assert main(["embed", "part0.parquet", "-o", "map.csv", *option]) == 2
    assert f"{option[0]} is for maps by shards: name a folder" in capsys.readouterr().err


def test_rows_are_reduced_to_principal_components_first(files, capsys):
    assert embed("--pca", "5") == 0
    table = pq.read_table("out/map.parquet")
    found = np.column_stack([table.column(name).to_numpy() for name in ("y1", "y2")])
    model = wk.MDE(random_state=0, max_iter=6)
    np.testing.assert_array_equal(found, wk.scale.fit(model, "part*.parquet", pca=5).embedding_)
    assert embed("--pca", "65") == 2
    assert "pca must" in capsys.readouterr().err


def places():
    table = pq.read_table("out/map.parquet")
    return np.column_stack([table.column(name).to_numpy() for name in ("y1", "y2")])


def test_files_by_a_pattern_need_a_folder(files, capsys):
    assert main(["embed", "part*.parquet", "-o", "map.csv"]) == 2
    assert "read in shards: name a folder" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["mde", "tsne"])
def test_landmarks_are_fitted_by_any_method_and_all_rows_placed(files, capsys, method):
    estimator = {"mde": wk.MDE, "tsne": wk.TSNE}[method](random_state=0, max_iter=6)
    assert embed("--json", "--landmarks", "100", "--method", method, "--model", "landmarks.winkel") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["n_rows"], told["n_landmarks"], told["recall"]) == (400, 100, None)
    model = wk.scale.fit_landmarks(estimator, "part*.parquet", 100)
    np.testing.assert_array_equal(places(), wk.scale.transform(model, "part*.parquet"))
    np.testing.assert_array_equal(wk.load("landmarks.winkel").embedding_, model.embedding_)
    assert [path.name for path in (files / "out").iterdir()] == ["map.parquet"]


def test_a_map_by_landmarks_is_refined_where_that_is_asked_for(files, capsys):
    assert embed("--landmarks", "100", "--refine") == 0
    model = wk.MDE(random_state=0, max_iter=6)
    placed = wk.scale.fit_landmarks(model, "part*.parquet", 100)
    refined = wk.scale.fit(model, "part*.parquet", init=placed)
    np.testing.assert_array_equal(places(), refined.embedding_)


def test_a_map_by_landmarks_goes_on_from_what_is_there(files, monkeypatch, capsys):
    from winkel.cli import shards
    from winkel.scale import placing

    asked = ("--landmarks", "100", "--pca", "5")
    assert embed(*asked) == 0
    expected = places()
    place, placed = placing.place_shard, []

    def fails_at_third(number, *others):
        placed.append(number)
        return place(number, *others) if number != 2 else 1 / 0

    monkeypatch.setattr(placing, "place_shard", fails_at_third)
    with pytest.raises(ZeroDivisionError):
        embed("--debug", *asked)
    monkeypatch.setattr(placing, "place_shard", lambda *all: (placed.append(all[0]), place(*all))[1])
    monkeypatch.setattr(shards, "fit_landmarks", None)  # has been done
    assert embed("--resume", *asked) == 0
    assert placed == [0, 1, 2, 2, 3]
    np.testing.assert_array_equal(places(), expected)


def test_landmarks_of_another_run_are_refused(files, monkeypatch, capsys):
    from winkel.cli import shards

    monkeypatch.setattr(shards, "placed_in", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        embed("--debug", "--landmarks", "100")
    assert embed("--resume", "--landmarks", "120") == 2
    assert "differs in landmarks" in capsys.readouterr().err


def test_a_map_by_shards_is_measured_from_a_sample(files, capsys):
    assert embed() == 0
    capsys.readouterr()
    asked = ["--scores", "trustworthiness,rnx_auc", "--seed", "3"]
    assert main(["measure", "part*.parquet", "out/", "--json", *asked]) == 0
    told = json.loads(capsys.readouterr().out)
    report = wk.scale.measure(
        "part*.parquet", places(), scores=["trustworthiness", "rnx_auc"], random_state=3
    )
    assert (told["n_rows"], told["n_components"]) == (400, 2)
    assert {name: score["value"] for name, score in told["scores"].items()} == {
        name: score.value for name, score in report.scores.items()
    }
    assert main(["measure", "part*.parquet", "out/", "-o", "points.csv"]) == 2
    assert "--output needs all rows" in capsys.readouterr().err


def test_columns_and_keys_choose_the_rows(files, capsys):
    for k in range(2):
        table = pq.read_table(f"part{k}.parquet")
        pq.write_table(table.append_column("name", [["x"] * 200]), f"part{k}.parquet", row_group_size=128)
    assert embed() == 1
    assert "'name'" in capsys.readouterr().err
    assert embed("--drop", "name,c3") == 0
    names = [f"c{j}" for j in range(64) if j != 3]
    source = wk.scale.open_source("part*.parquet", columns=names)
    np.testing.assert_array_equal(
        places(), wk.scale.fit(wk.MDE(random_state=0, max_iter=6), source).embedding_
    )
    zarr = pytest.importorskip("zarr")
    stored = wk.datasets.load_digits().X[:300]
    zarr.save_group("cells.zarr", rows=stored, others=stored[:200])
    assert main(["embed", "cells.zarr", "--key", "others", "-o", "out/", "--set", "max_iter=3"]) == 0
    assert len(places()) == 200
