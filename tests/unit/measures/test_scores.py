"""The registry of scores, the context they read, and a score of the user's own on its way through every call."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.measures import angles, baseline, context, ranks, scores, sources
from winkel.measures.context import Context, Measured
from winkel.measures.registry import QUANTITIES, Curve, Score, Value

DOCS = Path(__file__).parents[3] / "docs" / "faithfulness.md"
OWN = scores.__name__


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 6)) + 4 * np.repeat(np.eye(6)[:3], 30, axis=0)
    return X, X[:, :2] + 0.3 * random.normal(size=(90, 2)), np.repeat([0, 1, 2], 30)


@pytest.fixture
def nearest_kept():
    @wk.score(
        "nearest_kept",
        range=(0, 1),
        meaning="Rows that keep their nearest row.",
        needs=["ranks_in_map"],
    )
    def nearest_kept(context):
        return context.ranks_in_map[:, 0] == 1

    return nearest_kept


class Columns(BaseEstimator):
    """Two columns of the data as a map, and noise by the seed."""

    def __init__(self, first=0, random_state=None):
        self.first = first
        self.random_state = random_state

    def fit_transform(self, X, y=None):
        random = np.random.default_rng(self.random_state)
        return X[:, self.first : self.first + 2] + 0.01 * random.normal(size=(len(X), 2))


# ------------------------------------------------------------------------------------------- a score of the user's own


def test_an_own_score_is_in_every_report(data, nearest_kept):
    X, Y, _ = data
    report = wk.measure(X, Y)
    assert list(report.scores)[-1] == "nearest_kept"
    found = report["nearest_kept"]
    D, E = (np.linalg.norm(A[:, None] - A, axis=2) + 1e9 * np.eye(90) for A in (X, Y))
    expected = (D.argmin(axis=1) == E.argmin(axis=1)).astype(float)
    np.testing.assert_array_equal(found.per_point, expected)
    assert found.value == expected.mean()
    assert found.baseline is not None
    assert found.exact
    np.testing.assert_array_equal(report.points["nearest_kept"], expected)
    assert "Rows that keep their nearest row." in str(report)
    assert "nearest_kept" in report._repr_html_()
    assert report.to_frame().loc["nearest_kept", "value"] == found.value
    written = {record["score"]: record for record in json.loads(report.to_json())["scores"]}
    assert written["nearest_kept"]["value"] == found.value
    assert written["nearest_kept"]["best"] == 1


def test_of_sampled_rows_it_has_an_interval(data, nearest_kept):
    X, Y, _ = data
    found = wk.measure(X, Y, sample=40)["nearest_kept"]
    assert found.n_sampled == 40
    assert np.isfinite(found.per_point).sum() == 40
    assert 0 <= found.interval[0] <= found.value <= found.interval[1] <= 1


def test_an_own_score_is_in_comparisons(data, nearest_kept):
    X, Y, _ = data
    found = wk.compare(X, {"a": Y, "b": Columns(3), "whole": X})
    assert found.reports["a"]["nearest_kept"].value == wk.measure(X, Y)["nearest_kept"].value
    assert "nearest_kept" in str(found)
    assert "nearest_kept" in found._repr_html_()
    assert found.to_frame().loc["b", "nearest_kept"] < found.to_frame().loc["whole", "nearest_kept"] == 1
    only = wk.compare(X, {"a": Y}, scores=["nearest_kept"])
    assert list(only.reports["a"].scores) == ["nearest_kept"]


@pytest.mark.parametrize("sample", [None, 50])
def test_parameters_can_be_chosen_by_it(data, nearest_kept, sample):
    found = wk.tune(Columns(), data[0], {"first": [4, 0]}, score="nearest_kept", n_runs=2, sample=sample)
    assert found.score_name == "nearest_kept"
    assert "nearest_kept" in str(found)
    values = {c.parameters["first"]: c.faithfulness for c in found.candidates}
    assert found.best["first"] == max(values, key=values.get)
    again = wk.tune(Columns(), data[0], {"first": [4, 0]}, score=nearest_kept, n_runs=2, sample=sample)
    assert [c.score for c in again.candidates] == [c.score for c in found.candidates]


def test_it_is_drawn_and_shown_on_the_page(data, nearest_kept, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")

    from winkel.view.trust import plot_comparison, plot_faithfulness

    X, Y, _ = data
    figure = plot_faithfulness(wk.measure(X, Y))
    assert "nearest kept" in [text.get_text() for text in figure.axes[0].get_yticklabels()]
    alone = plot_faithfulness(wk.measure(X, Y, scores=["nearest_kept"]))
    assert len(alone.axes) == 1
    maps = plot_comparison(wk.compare(X, {"a": Y}, scores=["nearest_kept"]), path=tmp_path / "maps.png")
    assert "nearest kept" in maps.axes[0].get_title()
    from winkel.view.html.parts import build_parts

    from ..view.test_container import read

    main = read(build_parts({"a": Y}, scores=wk.measure(X, Y))["main"])[0]
    row = next(row for row in main["scores"] if row["name"] == "nearest kept")
    assert row["meaning"] == "Rows that keep their nearest row."
    assert row["values"] == [wk.measure(X, Y)["nearest_kept"].value]


def test_a_function_need_not_be_registered(data):
    X, Y, _ = data

    def spread_of_the_map(context):
        """The mean variance of the map's columns."""
        return context.Y.var(axis=0).mean()

    report = wk.measure(X, Y, scores=[spread_of_the_map, "stress"])
    assert list(report.scores) == ["spread_of_the_map", "stress"]
    found = report["spread_of_the_map"]
    assert found.value == pytest.approx(Y.var(axis=0).mean())
    assert found.meaning == "The mean variance of the map's columns."
    assert found.range == (-math.inf, math.inf)
    assert "spread_of_the_map" not in wk.scores()
    tuned = wk.tune(Columns(), X, {"first": [0, 3]}, score=spread_of_the_map, n_runs=2)
    assert tuned.candidates[0].faithfulness > tuned.candidates[1].faithfulness
    with pytest.raises(InvalidParameterError, match="no finite range"):
        wk.tune(Columns(), X, {"first": [0]}, score=spread_of_the_map, stability_weight=0.5)


def test_a_value_says_more(data):
    X, Y, _ = data

    @wk.score("detailed", range=(0, 9), better="lower", baseline=False)
    def detailed(context):
        """Half of three."""
        curve = Curve("at", np.arange(3.0), "height", np.ones(3))
        return Value(1.5, np.arange(90.0), (1.0, 2.0), 77, (curve,))

    report = wk.measure(X, Y, scores=["detailed"])
    found = report["detailed"]
    assert isinstance(found, Score)
    assert (found.value, found.interval, found.n_sampled, found.baseline) == (1.5, (1.0, 2.0), 77, None)
    assert (found.best, found.worst, found.meaning) == (0, 9, "Half of three.")
    assert set(report.curves) == {"at", "height"}


def test_what_scores_return_is_checked(data):
    X, Y, _ = data
    with pytest.raises(InvalidInputError, match=r"'wrong' must return a number.*shape"):
        wk.measure(X, Y, scores=[named("wrong", lambda context: np.ones(7))])
    with pytest.raises(InvalidInputError, match="'nothing' is not a number"):
        wk.measure(X, Y, scores=[named("nothing", lambda context: math.nan)])
    assert wk.measure(X, Y, sample=20, scores=[named("all", lambda c: np.ones(c.n))])["all"].value == 1


def named(name, function):
    function.__name__ = name
    return function


# ------------------------------------------------------------------------------------------- the registry


def test_scores_are_checked_when_they_are_registered():
    for wrong, message in (
        ({"name": "two words"}, "name must be a word"),
        ({"range": (1, 0)}, "range must be"),
        ({"range": 3}, "range must be"),
        ({"better": "more"}, "better must be one of"),
        ({"needs": ["rank_in_map"]}, "Did you mean 'ranks_in_map'"),
        ({"needs": "labels"}, "needs must be a list"),
        ({"baseline": 1}, "baseline must be"),
    ):
        options = {"name": "own", **wrong}
        name = options.pop("name")
        with pytest.raises(InvalidParameterError, match=message):
            wk.score(name, **options)(lambda context: 1.0)
        assert "own" not in wk.scores()


def test_a_name_is_taken_once(data):
    with pytest.raises(InvalidParameterError, match=r"'stress' already, by winkel\.measures\.scores\.stress"):
        wk.score("stress")(lambda context: 1.0)

    def define(value):
        @wk.score("own")
        def own(context):
            return value

    define(1.0)
    define(2.0)  # as when a cell of a notebook is run again
    assert wk.measure(data[0], data[1], scores=["own"])["own"].value == 2.0


def test_unknown_and_impossible_scores_are_refused(data):
    X, Y, labels = data
    with pytest.raises(InvalidParameterError, match="Did you mean 'trustworthiness'"):
        wk.measure(X, Y, scores=["trustworthyness"])
    with pytest.raises(InvalidParameterError, match="at least one"):
        wk.measure(X, Y, scores=[])
    with pytest.raises(InvalidParameterError, match="'label_accuracy' needs labels"):
        wk.measure(X, Y, scores=["label_accuracy"])
    with pytest.raises(InvalidParameterError, match="two of the scores are called"):
        wk.measure(X, Y, scores=[lambda c: 1.0, lambda c: 2.0])
    D = np.linalg.norm(X[:, None] - X, axis=2)
    with pytest.raises(InvalidParameterError, match="'jaccard' needs rows of data"):
        wk.measure(D, Y, metric="precomputed", scores=["jaccard"])
    assert "jaccard" not in wk.measure(D, Y, metric="precomputed").scores
    with pytest.raises(InvalidInputError, match="needs labels"):
        wk.measure(X, Y, scores=[lambda context: context.labels.mean()])
    assert list(wk.measure(X, Y, labels=labels, scores="label_accuracy").scores) == ["label_accuracy"]


def test_quantities_are_those_of_the_context():
    for name in QUANTITIES:
        assert inspect.getdoc(getattr(Context, name)), name
    for name, definition in wk.scores().items():
        source = inspect.getsource(definition.function)
        read = set(re.findall(r"context\.(\w+)", source)) & set(QUANTITIES)
        assert read == set(definition.needs), name  # what a score reads is what it says it needs


ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \| (.*?) \|$", re.MULTILINE)


def test_the_table_of_the_documentation_is_the_registry():
    own = {name: d for name, d in wk.scores().items() if d.function.__module__ == OWN}
    expected = []
    for name, d in own.items():
        low, high = ("∞" if v == math.inf else "−∞" if v == -math.inf else f"{v:g}" for v in d.range)
        inputs = [need for need in d.needs if need in ("labels", "problem")]
        inputs += ["rows"] if {"X", "angles", "norms"} & set(d.needs) else []
        expected.append((name, f"{low} to {high}", d.better, d.meaning, ", ".join(inputs)))
    table = "\n".join(f"| `{name}` | " + " | ".join(rest) + " |" for name, *rest in expected)
    assert ROW.findall(DOCS.read_text()) == expected, f"docs/faithfulness.md needs this table:\n{table}"


# ------------------------------------------------------------------------------------------- nothing twice


@pytest.fixture
def calls(monkeypatch):
    """How often each costly part of the context was computed, by name and by the object it was asked of."""
    found: Counter[tuple[str, int]] = Counter()

    def count(owner, name, label, key=lambda *args: 0):
        real = getattr(owner, name)

        def counted(*args, **options):
            found[label, key(*args)] += 1
            return real(*args, **options)

        monkeypatch.setattr(owner, name, counted)

    count(context, "compare_rows", "pass")
    count(context, "data_pairs", "pairs")
    count(context, "nearest_by_angle", "angles in data")
    count(scores, "nearest_by_angle", "angles in map", lambda Y, *_: id(Y))
    count(context, "principal_map", "baseline", lambda X, d: d)
    count(sources.DenseRows, "__init__", "places", lambda self, values, metric, _: (id(values), metric))
    count(context.Directions, "of", "directions", lambda values: id(values))
    count(ranks.PairDistances, "rank_correlation", "correlation", id)
    return found


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_each_quantity_is_computed_at_most_once(calls, data, kind):
    X, Y, labels = data
    wk.measure(kind(X), Y, labels=labels)
    assert max(calls.values()) == 1, calls
    assert {label for label, _ in calls} >= {
        "pass",
        "pairs",
        "angles in data",
        "baseline",
        "places",
        "directions",
    }
    calls.clear()
    wk.compare(kind(X), {"a": Y, "b": Y + 1, "c": X[:, :3]}, labels=labels)
    assert max(calls.values()) == 1, calls
    assert sum(label == "baseline" for label, _ in calls) == 2  # in two and in three dimensions


def test_only_what_is_needed_is_computed(calls, data):
    X, Y, labels = data
    wk.measure(X, Y, scores=["label_accuracy"], labels=labels, baseline=False)
    assert {label for label, _ in calls} == {"places"}  # of the data
    wk.measure(X, Y, scores=["norm_error"], baseline=False)
    assert {label for label, _ in calls} == {"places", "directions"}


def test_a_quantity_that_was_not_announced_is_still_there(calls, data):
    X, Y, _ = data
    quiet = wk.measure(X, Y, scores=[lambda c: (c.map_neighbors == c.data_neighbors).mean()], baseline=False)
    assert calls["pass", 0] == 2  # one for each: nobody said that both would be needed
    calls.clear()
    same = wk.score("same", needs=["map_neighbors", "data_neighbors"])(lambda c: (c.map_neighbors == c.data_neighbors).mean())  # fmt: skip
    assert wk.measure(X, Y, scores=[same], baseline=False)["same"].value == quiet["lambda"].value
    assert calls["pass", 0] == 1


def test_contexts_hold_what_they_say(data):
    X, Y, labels = data
    from winkel.run import Run

    measured = Measured(X, Run(), n_neighbors=5, metric="euclidean", labels=labels)
    (one,) = measured.contexts([wk.data.as_table(Y)], ["ranks_in_data"])
    np.testing.assert_array_equal(one.data_neighbors, wk.graph.knn(X, 5).knn_indices)
    np.testing.assert_array_equal(one.map_neighbors, wk.graph.knn(Y, 5).knn_indices)
    both = one.data_neighbors[:, :, None] == one.map_neighbors[:, None, :]
    np.testing.assert_array_equal((one.ranks_in_map <= 5), both.any(axis=2))
    np.testing.assert_array_equal((one.ranks_in_data <= 5), both.any(axis=1))
    np.testing.assert_allclose(one.norms[0], np.linalg.norm(X, axis=1))
    np.testing.assert_allclose(
        one.distances.map, [np.linalg.norm(Y[i] - Y[j]) for i, j in one.distances.pairs]
    )
    i, j = 7, one.angles.neighbors[7, 2]
    cosine = X[i] @ X[j] / np.linalg.norm(X[i]) / np.linalg.norm(X[j])
    assert one.angles.data[7, 2] == pytest.approx(np.arccos(cosine))
    assert one.baseline.Y.shape == Y.shape
    np.testing.assert_array_equal(one.X, X)
    with pytest.raises(InvalidInputError, match="needs a problem"):
        _ = one.problem
    assert angles.Directions.of(X).unit(slice(0, 3)).shape == (3, 6)
    assert baseline.principal_map(X, 2).shape == (90, 2)
