"""`winkel measure` and `winkel compare`."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

import winkel as wk
from winkel.maps import Map, write_map

from .data import call, call_json, rows, write_table

NAMED = ("--id", "name", "--label", "kind")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table("table.csv")
    X, _ = rows()
    ids = np.array([f"row {i}" for i in range(len(X))])
    write_map("good.csv", Map(wk.quadratic.pca(X).to_textbook(), ids))
    backwards = np.arange(len(X))[::-1]
    write_map("turned.csv", Map(wk.quadratic.pca(X).to_textbook()[backwards], ids[backwards]))
    write_map("bad.npz", Map(np.random.default_rng(0).normal(size=(len(X), 2))))
    return tmp_path


def test_scores_are_those_of_the_library(folder, capsys):
    code, values = call_json(capsys, "measure", "table.csv", "good.csv", *NAMED)
    assert code == 0
    table = wk.data.read("table.csv", id="name", label="kind")
    Y = wk.quadratic.pca(rows()[0]).to_textbook()
    expected = wk.measure(table.values, Y, labels=table.labels, random_state=0)
    assert set(values["scores"]) == set(expected.scores)
    for name, score in expected.scores.items():
        assert values["scores"][name]["value"] == pytest.approx(score.value, rel=1e-6)
    text = call(capsys, "measure", "table.csv", "good.csv", *NAMED)[1]
    assert "trustworthiness" in text


def test_rows_of_a_map_are_matched_by_id(folder, capsys):
    straight = call_json(capsys, "measure", "table.csv", "good.csv", *NAMED)[1]["scores"]
    turned = call_json(capsys, "measure", "table.csv", "turned.csv", *NAMED)[1]["scores"]
    assert turned == straight


def test_measures_of_every_point_are_written(folder, capsys):
    code, _, err = call(capsys, "measure", "table.csv", "good.csv", *NAMED, "-o", "points.csv")
    assert code == 0
    assert "points.csv" in err
    with open("points.csv", newline="") as file:
        points = list(csv.DictReader(file))
    assert [point["id"] for point in points] == [f"row {i}" for i in range(60)]
    assert all(0 <= float(point["reliability"]) <= 1 for point in points)


PLUGIN = """
import winkel as wk

@wk.score("nearest_kept", range=(0, 1), meaning="Rows that keep their nearest row.", needs=["ranks_in_map"])
def nearest_kept(context):
    return context.ranks_in_map[:, 0] == 1
"""


@pytest.fixture
def plugin(folder):
    """The path of a file with a score of the user's own, which is forgotten at the end."""
    path = folder / "my_score.py"
    path.write_text(PLUGIN)
    yield path
    for name in [name for name in sys.modules if name.startswith("winkel_plugin_my_score")]:
        del sys.modules[name]


def test_a_score_of_the_users_own(folder, plugin, capsys):
    code, values = call_json(capsys, "--plugin", plugin, "measure", "table.csv", "good.csv", *NAMED)
    assert code == 0
    assert list(values["scores"])[-1] == "nearest_kept"
    own = values["scores"]["nearest_kept"]
    assert 0 < own["value"] <= 1
    assert own["meaning"] == "Rows that keep their nearest row."
    only = ("--scores", "nearest_kept, stress", "-o", "points.csv")
    values = call_json(capsys, "measure", "table.csv", "good.csv", *NAMED, *only, "--plugin", plugin)[1]
    assert list(values["scores"]) == ["nearest_kept", "stress"]
    assert values["scores"]["nearest_kept"] == own
    with open("points.csv", newline="") as file:
        points = [float(row["nearest_kept"]) for row in csv.DictReader(file)]
    assert np.mean(points) == pytest.approx(own["value"])
    maps = call_json(capsys, "compare", "table.csv", "bad.npz", "good.csv", *NAMED, "--scores", "nearest_kept", "--html", "page.html", "--plugin", plugin)[1]["maps"]  # fmt: skip
    assert maps["good"]["scores"] == {"nearest_kept": own}
    assert maps["bad"]["scores"]["nearest_kept"]["value"] < own["value"]
    assert (folder / "page.html").stat().st_size > 1000


def test_the_better_map_scores_better(folder, capsys):
    code, values = call_json(capsys, "compare", "table.csv", "bad.npz", "good.csv", *NAMED)
    assert code == 0
    assert list(values["maps"]) == ["bad", "good"]
    good, bad = (values["maps"][name]["scores"]["trustworthiness"]["value"] for name in ("good", "bad"))
    assert good > bad
    assert np.shape(values["similarity"]) == (2, 2)
    text = call(capsys, "compare", "table.csv", "bad.npz", "good.csv", *NAMED)[1]
    assert "trustworthiness" in text
    assert "similarity" in text


def test_methods_and_files_are_compared(folder, capsys):
    code, values = call_json(
        capsys, "compare", "table.csv", "bad.npz", *NAMED, "--methods", "pca,mde", "--set", "n_neighbors=5",
        "--set", "max_iter=20", "-o", "scores.csv", "--png", "maps.png",
    )  # fmt: skip
    assert code == 0
    assert set(values["maps"]) == {"pca", "mde", "bad"}
    assert values["maps"]["pca"]["seconds"] > 0
    assert values["maps"]["bad"]["seconds"] is None
    with open("scores.csv", newline="") as file:
        header = next(csv.reader(file))
    assert header == ["score", *values["maps"]]
    assert (folder / "maps.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "table.csv"), "name map files, or methods"),
        (
            ("compare", "table.csv", "good.csv", "--scores", "beauty"),
            "there is no score 'beauty'; choose among trust",
        ),
        (("measure", "table.csv", "good.csv", "--scores", "beauty"), "there is no score 'beauty'"),
        (("compare", "table.csv", "--methods", "pca", "--set", "max_iter=3"), "has a setting 'max_iter'"),
        (("compare", "table.csv", "good.csv", "./good.csv"), "two maps have the same name"),
        (("measure", "table.csv", "good.csv", "-o", "points.txt"), "cannot tell the format"),
    ],
)
def test_wrong_use(folder, capsys, arguments, message):
    code, _, err = call(capsys, *arguments, *NAMED)
    assert code == 2
    assert message in err
