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
        (["--method", "tsne"], "by mde"),
        (["--scale", "standard"], "--scale needs"),
    ],
)
def test_what_needs_all_rows_in_memory_is_refused(files, capsys, options, what):
    assert embed(*options) == 2
    assert what in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--scheduler", "tcp://127.0.0.1:1"], ["--pca", "5"]])
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
