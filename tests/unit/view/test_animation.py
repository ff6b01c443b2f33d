"""Animations: how long they are, what moves, and what is refused."""

from __future__ import annotations

import shutil

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from PIL import Image

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError, MissingDependencyError
from winkel.maps import Map, write_map
from winkel.solvers import Frames
from winkel.view import animation

SMALL = {"fps": 5, "seconds": 0.8, "hold": 0.2, "size": 1.5}
START = np.random.default_rng(0).normal(size=(30, 2))
MAPS = np.stack([START, START * 2, START * 3])


def pictures(path):
    with Image.open(path) as image:
        assert image.format == "GIF"
        return image.n_frames


def test_kept_iterates_become_a_gif(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = wk.MDE(n_neighbors=5, random_state=0, keep_frames=5).fit(X)
    path = wk.animate(model, tmp_path / "map.gif", labels=np.arange(40) % 3, **SMALL)
    assert pictures(path) > 3
    assert [file.name for file in path.parent.iterdir()] == ["map.gif"]


@pytest.mark.parametrize("frames", [MAPS, list(MAPS), Frames(np.arange(3), MAPS.astype(np.float32))])
def test_the_movement_goes_evenly_through_all_maps(frames):
    names, maps = animation._maps(frames)
    shown = animation._schedule(names, maps, fps=5, seconds=0.8, hold=0.4)
    scales = [float(Y[0, 0] / START[0, 0]) for _, Y in shown]
    np.testing.assert_allclose(scales, [1, 1.5, 2, 2.5, 3, 3, 3], rtol=1e-6)


def test_maps_of_a_dict_come_in_every_form(tmp_path):
    write_map(tmp_path / "map.csv", Map(MAPS[0]))
    names, maps = animation._maps({"file": tmp_path / "map.csv", "list": MAPS[0].tolist()})
    assert names == ["file", "list"]
    np.testing.assert_allclose(maps[0], maps[1])


def test_named_maps_turn_into_one_another():
    turned = MAPS[0] @ np.array([[0.0, 1.0], [-1.0, 0.0]]) * 5
    names, maps = animation._maps({"a": MAPS[0], "b": turned})
    np.testing.assert_allclose(maps[1], MAPS[0], atol=1e-12)  # the same map once it is turned and scaled
    captions = [name for name, _ in animation._schedule(names, maps, fps=5, seconds=0.8, hold=0.4)]
    assert captions == ["a"] * 6 + ["b"] * 3


@pytest.mark.parametrize(
    "colors", [{}, {"labels": np.arange(30) % 14}, {"values": np.r_[np.nan, np.arange(29)]}]
)
def test_every_point_is_moved(tmp_path, monkeypatch, colors):
    seen = []
    draw = animation._draw

    def spy(*arguments):
        groups = draw(*arguments)
        seen.extend(groups)
        return groups

    monkeypatch.setattr(animation, "_draw", spy)
    wk.animate(MAPS, tmp_path / "map.gif", **colors, **(SMALL | {"size": 4.0}))
    ends = np.empty_like(START)
    for dots, rows in seen:
        ends[rows] = dots.get_offsets()
    np.testing.assert_allclose(ends, MAPS[-1])


def test_a_film_needs_ffmpeg(tmp_path):
    if shutil.which("ffmpeg") is None:
        with pytest.raises(MissingDependencyError, match=r"needs the program ffmpeg.*ends in \.gif"):
            wk.animate(MAPS, tmp_path / "map.mp4")
    else:
        assert wk.animate(MAPS, tmp_path / "map.mp4", **SMALL).stat().st_size > 1000


@pytest.mark.parametrize(
    ("frames", "options", "error", "message"),
    [
        (MAPS, {"name": "map.avi"}, InvalidParameterError, r"end in \.gif or \.mp4; got '\.avi'"),
        (MAPS, {"fps": 0}, InvalidParameterError, "fps must be a positive integer; got 0"),
        (MAPS, {"seconds": 0}, InvalidParameterError, "seconds must be a positive number; got 0"),
        (MAPS, {"hold": -1}, InvalidParameterError, "hold must be a number of at least 0; got -1"),
        (MAPS, {"size": "big"}, InvalidParameterError, "size must be a positive number; got 'big'"),
        (MAPS[:1], {}, InvalidInputError, "two or more maps"),
        (np.zeros((3, 5, 3)), {}, InvalidInputError, r"each of shape \(n, 2\)"),
        ([START, START[:5]], {}, InvalidInputError, "of the same rows"),
        (np.full((2, 5, 2), np.nan), {}, InvalidInputError, "finite"),
        (MAPS, {"labels": [1]}, InvalidInputError, "labels must hold one value per row"),
    ],
)
def test_what_cannot_move_is_refused(tmp_path, frames, options, error, message):
    name = options.pop("name", "map.gif")
    with pytest.raises(error, match=message):
        wk.animate(frames, tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_an_embedding_without_frames_says_how_to_keep_them(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = wk.MDE(n_neighbors=5, random_state=0).fit(X)
    model.save(tmp_path / "m.winkel")
    for form in (model, model.result_, tmp_path / "m.winkel"):
        with pytest.raises(InvalidInputError, match="keep_frames"):
            wk.animate(form, tmp_path / "map.gif")
