"""Explorer pages of the command line: what goes into them, and that `view` makes them of any map."""

from __future__ import annotations

import urllib.request

import numpy as np
import pytest

from winkel.cli import view as view_module
from winkel.scale.placing import write_places
from winkel.view import explorer
from winkel.view import server as server_module

from .data import CLASSES, call, rows, write_table

FEW = ("--set", "max_iter=20", "--set", "n_neighbors=5")


@pytest.fixture
def written(monkeypatch):
    """What was given to the page, each time one was written."""
    from winkel.cli import pages

    calls = []

    def spy(path, maps, **content):
        calls.append({"maps": maps, **content})
        return explorer.write_html(path, maps, **content)

    monkeypatch.setattr(pages, "write_html", spy)
    return calls


def test_a_page_knows_rows_neighbours_and_further_columns(tmp_path, capsys, written):
    table = write_table(tmp_path / "table.csv")
    page = tmp_path / "map.html"
    command = ("embed", table, "--id", "name", "--label", "kind", "-o", tmp_path / "map.csv", "--html", page)
    assert call(capsys, *command, *FEW)[0] == 0
    (given,) = written
    assert list(given["maps"]) == ["mde"]
    assert given["maps"]["mde"].embedding.graph.n == 60
    assert given["ids"].tolist()[:1] == ["row 0"]
    assert set(np.asarray(given["labels"])) == set(CLASSES)
    assert given["labels"].name == "kind", "the colour menu names the column"
    assert len(given["indicatrix"]["mde"].reliability) == 60
    assert 0 < given["scores"]["mde"]["trustworthiness"].value <= 1
    text = page.read_text()
    assert "alert(1)" not in text  # labels lie in compressed data, not in the HTML


def test_few_rows_have_a_page_too(tmp_path, capsys, written):
    np.save(tmp_path / "few.npy", rows(6)[0])
    command = ("embed", tmp_path / "few.npy", "-o", tmp_path / "map.csv", "--method", "pca")
    assert call(capsys, *command, "--html", tmp_path / "map.html")[0] == 0
    assert written[0]["indicatrix"] is None


def test_a_page_of_many_rows_is_judged_by_a_sample(tmp_path, capsys, monkeypatch, written):
    from winkel.cli import pages

    monkeypatch.setattr(pages, "_MOST_ROWS", 50)
    table = write_table(tmp_path / "table.csv")
    command = ("embed", table, "--id", "name", "--label", "kind", "-o", tmp_path / "map.csv")
    assert call(capsys, *command, "--html", tmp_path / "map.html", *FEW)[0] == 0
    assert written[0]["indicatrix"] is None
    assert written[0]["data"].shape[0] == 60  # by which the page judges the map itself


@pytest.mark.parametrize("name", ["map.csv", "map.npz", "map.parquet", "m.winkel"])
def test_view_makes_a_page_of_any_map(tmp_path, capsys, monkeypatch, written, name):
    table = write_table(tmp_path / "table.csv")
    out = tmp_path / ("map.csv" if name == "m.winkel" else name)
    command = ("embed", table, "--id", "name", "--label", "kind", "-o", out, "--model", tmp_path / "m.winkel")
    assert call(capsys, *command, *FEW)[0] == 0
    bodies = []

    def look(self):
        with urllib.request.urlopen(self.url, timeout=10) as response:
            bodies.append(response.read())

    monkeypatch.setattr(server_module.LocalServer, "wait", look)
    code, _, err = call(capsys, "view", tmp_path / name, "--no-browser")
    assert code == 0, err
    assert b"winkel-explorer" in bodies[0]
    (given,) = written
    assert list(given["maps"]) == [name]
    assert (given["labels"] is None) == (name == "m.winkel")


def test_view_shows_the_folder_of_a_map_and_maps_of_very_many_rows_by_tiles(tmp_path, capsys, monkeypatch):
    Y = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    (tmp_path / "out").mkdir()
    write_places(tmp_path / "out" / "map.parquet", iter([Y]), 50)
    np.save(tmp_path / "map.npy", Y)
    bodies = []

    def look(self):
        for name in ("", "tiles.json", "density/0/0/0"):
            with urllib.request.urlopen(self.url + name, timeout=10) as response:
                bodies.append(response.read())

    monkeypatch.setattr(server_module.LocalServer, "wait", look)
    monkeypatch.setattr(view_module, "_PAGE_ROWS", 49)
    for name in ("out", "map.npy", "out/map.parquet"):
        bodies.clear()
        code, _, err = call(capsys, "view", tmp_path / name, "--no-browser")
        assert code == 0, err
        assert "50 points in tiles" in err
        assert b"tiles.js" in bodies[0]
        assert b'"n": 50' in bodies[1]
        assert len(bodies[2]) == 8 + 256 * 256
