"""A map in tiles: every count and every point is where it is in the map."""

from __future__ import annotations

import json
import os
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from winkel.errors import InvalidInputError
from winkel.view import tiles as module
from winkel.view.server import tiles_site
from winkel.view.tiles import DEEPEST, Tiles, make_tiles, tiles_of

N = 3000
Y = (np.random.default_rng(0).normal(size=(N, 2)) * [3, 1]).astype(np.float32)


def write(path, Y=Y):
    pq.write_table(pa.table({"y1": Y[:, 0], "y2": Y[:, 1]}), path, row_group_size=1000)
    return path


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_TILE_POINTS", 300)  # so that counts of three levels are made beforehand
    return make_tiles(write(tmp_path / "map.parquet"), tmp_path / "tiles")


def cells_of(tiles, bits):
    return np.floor((Y.astype(np.float64) - tiles.corner) / tiles.side * 2**bits).astype(int)


def read_density(answer):
    (count,) = struct.unpack("<d", answer[:8])
    codes = np.frombuffer(answer, np.uint8, offset=8).reshape(-1, 256)
    return count, np.rint(2 ** (codes / 16) - 1).astype(int)


def read_points(answer):
    count = int(struct.unpack("<d", answer[:8])[0])
    return np.frombuffer(answer, "<f8", count, 8).astype(int), np.frombuffer(
        answer, "<f4", 2 * count, 8 + 8 * count
    ).reshape(-1, 2)


@pytest.mark.parametrize("z", [0, 1, 2, 3, 5])
def test_counts_are_those_of_the_points_in_every_tile(made, z):
    assert made.levels == 3  # so that both kinds of levels are looked at
    x, y = cells_of(made, z + 8).T
    total = 0
    for tile in np.unique(np.stack([x >> 8, y >> 8], axis=1), axis=0).tolist():
        mine = ((x >> 8) == tile[0]) & ((y >> 8) == tile[1])
        expected = np.zeros((256, 256), int)
        np.add.at(expected, (y[mine] & 255, x[mine] & 255), 1)
        count, found = read_density(made.density(z, *tile))
        assert count == mine.sum()
        np.testing.assert_array_equal(found, expected)
        total += count
    assert total == N


def test_points_of_a_tile_are_all_that_lie_in_it(made):
    x, y = cells_of(made, 4).T
    seen = []
    for i in range(16):
        for j in range(16):
            rows, places = read_points(made.points(4, i, j))
            assert sorted(rows) == np.flatnonzero((x == i) & (y == j)).tolist()
            np.testing.assert_array_equal(places, Y[rows])
            seen += rows.tolist()
    assert sorted(seen) == list(range(N))


def test_too_many_points_are_only_counted(made, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", N - 1)
    assert made.points(0, 0, 0) == struct.pack("<d", N)


def test_a_tile_without_points_is_short(made):
    assert made.density(4, 0, 0) == struct.pack("<d", 0)


def test_the_deepest_tile_of_a_point_holds_it(made):
    x, y = cells_of(made, DEEPEST)[17]
    rows, _ = read_points(made.points(DEEPEST, x, y))
    assert 17 in rows
    assert read_density(made.density(DEEPEST, x, y))[0] == len(rows)


def test_tiles_are_made_once_and_to_the_same_bytes(tmp_path):
    write(tmp_path / "map.parquet")
    first = tiles_of(tmp_path)
    assert first.folder == tmp_path / "tiles"
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in first.folder.iterdir()}
    assert tiles_of(tmp_path) == first
    assert before == {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in first.folder.iterdir()
    }
    other = make_tiles(tmp_path / "map.parquet", tmp_path / "other")
    assert {name: content for name, (content, _) in before.items()} == {
        path.name: path.read_bytes() for path in other.folder.iterdir()
    }
    write(tmp_path / "map.parquet", Y + 5)  # another map: made anew
    assert tiles_of(tmp_path).corner != first.corner
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.parquet", "other", "tiles"]


def test_the_tiles_of_an_array_lie_beside_it(tmp_path):
    np.save(tmp_path / "map.npy", Y.astype(np.float64))
    assert tiles_of(tmp_path / "map.npy").folder == tmp_path / "map.npy.tiles"


def test_what_is_left_of_tiles_that_were_not_finished_is_made_anew(tmp_path):
    write(tmp_path / "map.parquet")
    (tiles_of(tmp_path).folder / "tiles.json").write_text("{")
    assert tiles_of(tmp_path).n == N
    (tmp_path / "tiles" / "tiles.json").write_text("{}")
    with pytest.raises(InvalidInputError, match="holds no tiles that can be read"):
        Tiles.open(tmp_path / "tiles")


def test_nothing_is_left_where_the_disk_is_full(tmp_path, monkeypatch):
    write(tmp_path / "map.parquet")

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space left"):
        tiles_of(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["map.parquet"]


def test_one_point_and_equal_points_have_tiles(tmp_path):
    for rows in (1, 5):
        tiles = make_tiles(
            write(tmp_path / "map.parquet", np.ones((rows, 2), np.float32)), tmp_path / "tiles"
        )
        assert read_density(tiles.density(0, 0, 0))[0] == rows


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"y1": [1.0]}, "no column 'y2'"),
        ({"y1": [1.0, 2.0], "y2": [1.0, float("nan")]}, "no place for row 1"),
        ({"y1": np.empty(0), "y2": np.empty(0)}, "no rows"),
    ],
)
def test_files_that_are_no_map_are_refused(tmp_path, values, what):
    pq.write_table(pa.table(values), tmp_path / "map.parquet")
    with pytest.raises(InvalidInputError, match=what):
        tiles_of(tmp_path)


def test_folders_and_files_without_a_map_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="holds no map"):
        tiles_of(tmp_path)
    (tmp_path / "map.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InvalidInputError, match="cannot be read as a parquet file"):
        tiles_of(tmp_path)
    (tmp_path / "map.txt").write_text("1")
    with pytest.raises(InvalidInputError, match=r"parquet and \.npy"):
        tiles_of(tmp_path / "map.txt")


def test_the_site_gives_tiles_within_bounds_alone(made):
    site = tiles_site(made, "a map")
    assert {"", "tiles.js", "tiles.css", "tiles.json"} == set(site.resources)
    assert json.loads(site.resources["tiles.json"].body)["n"] == N
    assert site.make("density/1/0/1").body == made.density(1, 0, 1)
    assert site.make("points/4/8/8").body == made.points(4, 8, 8)
    for name in (
        "density/1/2/0", "density/1/0/2", f"density/{DEEPEST + 1}/0/0", "density/-1/0/0", "density/1/0", "density/1/0/0/",
        "density/١/0/0", "rows/1/0/0", "density/1/0/1\n", "../tiles.json", "density/1/0/99999999999999",
    ):  # fmt: skip
        assert site.make(name) is None
