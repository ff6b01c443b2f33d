"""Tests of `measure` and its report."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA

import winkel as wk
from winkel.errors import InvalidInputError
from winkel.measures import angles, baseline
from winkel.measures.baseline import principal_map
from winkel.measures.classes import leading
from winkel.measures.faithfulness import Faithfulness

ALWAYS = {
    "trustworthiness", "continuity", "neighbor_recall", "rnx_auc", "distance_correlation", "stress",
    "tearing", "merging", "angular_deviation", "jaccard", "norm_error",
    "density_correlation",
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 60)
    X = random.normal(size=(180, 6)) + 5 * np.repeat(np.eye(6)[:3], 60, axis=0)
    return X, X[:, :2] + 0.3 * random.normal(size=(180, 2)), labels


@pytest.fixture(scope="module")
def report(data):
    X, Y, labels = data
    return wk.measure(X, Y, labels=labels, random_state=0)


def test_has_every_score_with_its_meaning_and_baseline(report):
    assert set(report.scores) == ALWAYS | {"label_accuracy", "clustering_accuracy", "label_excess"}
    for name, score in report.scores.items():
        assert score.name == name
        assert score.range[0] <= score.value <= score.range[1]
        assert len(score.meaning) > 20
        assert score.baseline is not None
    assert report["trustworthiness"].exact
    assert set(report.points) >= {"trustworthiness", "continuity", "neighbor_recall", "rnx_auc"}
    assert all(len(values) == 180 for values in report.points.values())


def test_baseline_is_the_score_of_principal_components(data, report):
    X, _, labels = data
    own = wk.measure(X, PCA(2).fit_transform(X), labels=labels, random_state=0)
    for name, score in own.scores.items():
        assert score.value == pytest.approx(score.baseline, abs=1e-6), name
        assert score.baseline == pytest.approx(report[name].baseline, abs=1e-6)


def test_angles_are_those_of_their_own_functions(data, report):
    X, Y, _ = data
    assert report["angular_deviation"].value == pytest.approx(angles.angular_deviation(X, Y).value, abs=1e-9)
    assert report["jaccard"].value == pytest.approx(angles.jaccard(X, Y).value, abs=1e-12)
    assert report["norm_error"].value == angles.norm_error(X, Y).value


def test_prints_one_line_a_score_then_the_notes(report):
    lines = str(report).splitlines()
    assert lines[2 + len(report.scores) :] == report.notes
    assert len(report.notes) == 2
    assert lines[1].split()[:4] == ["score", "map", "interval", "PCA"]
    assert f"{report['stress'].value:.4g}" in next(line for line in lines if line.startswith("stress"))
    assert "trustworthiness" in report.summary
    assert "\n" not in report.summary


def test_frame_and_json_hold_the_scores(report, tmp_path):
    frame = report.to_frame()
    assert list(frame.index) == list(report.scores)
    assert frame.loc["continuity", "value"] == report["continuity"].value
    path = tmp_path / "report.json"
    read = json.loads(report.to_json(path))
    assert json.loads(path.read_text()) == read
    assert list(tmp_path.iterdir()) == [path]
    assert read["scores"][0]["score"] == "trustworthiness"
    assert read["n"] == 180
    assert len(read["curves"]["K"]) == len(read["curves"]["rnx"]) == len(read["curves"]["rnx_baseline"])
    assert (
        next(s for s in read["scores"] if s["score"] == "norm_error")["worst"] is None
    )  # no bound, and JSON has no ∞


def test_same_seed_same_numbers_for_any_number_of_threads(data):
    X, Y, labels = data
    one, two = (wk.measure(X, Y, labels=labels, sample=50, random_state=5, n_jobs=jobs) for jobs in (1, 3))
    assert one.to_json() == two.to_json()
    assert one["trustworthiness"].n_sampled == 50
    assert one["trustworthiness"].interval is not None
    assert one.to_json() != wk.measure(X, Y, labels=labels, sample=50, random_state=6).to_json()


def test_distances_and_functions_take_the_place_of_rows(data):
    X, Y, _ = data
    rows = wk.measure(X, Y, random_state=0)
    given = wk.measure(squareform(pdist(X)), Y, metric="precomputed", random_state=0)
    called = wk.measure(list(X[:40]), Y[:40], metric=lambda a, b: float(np.linalg.norm(a - b)), random_state=0, n_neighbors=5)  # fmt: skip
    for name in ("trustworthiness", "continuity", "neighbor_recall", "rnx_auc", "stress"):
        assert given[name].value == pytest.approx(rows[name].value, abs=1e-6)
        assert given[name].baseline is None
    assert "jaccard" not in given.scores
    assert called["continuity"].value == pytest.approx(
        wk.measure(X[:40], Y[:40], n_neighbors=5)["continuity"].value
    )


def test_problem_adds_its_distortions(data):
    X, Y, _ = data
    problem = wk.preserve_neighbors(X, random_state=0)
    report = wk.measure(X, Y, problem=problem, random_state=0)
    assert report["average_distortion"].value == pytest.approx(problem.average_distortion(Y))
    levels, share = report.curves["distortion"], report.curves["distortion_cdf"]
    assert share[-1] == 1
    assert (np.diff(levels) >= 0).all()


def test_graph_gives_the_neighbors(data):
    X, Y, _ = data
    graph = wk.graph.knn(X, 20)
    assert wk.measure(X, Y, graph=graph)["continuity"].value == wk.measure(X, Y)["continuity"].value
    with pytest.raises(InvalidInputError, match="must list 15"):
        wk.measure(X, Y, graph=wk.graph.knn(X, 5))
    with pytest.raises(InvalidInputError, match="compared with its data"):
        wk.measure(graph, Y)


def test_a_map_may_come_in_every_form(data, tmp_path):
    X = data[0]
    fitted = wk.MDE(3, random_state=0, max_iter=5, tol=10.0).fit(X)
    report = wk.measure(X, fitted)
    assert isinstance(report, Faithfulness)
    assert report.n_components == 3
    fitted.save(tmp_path / "model.winkel")
    fitted.result_.save(tmp_path / "map.winkel")
    np.save(tmp_path / "map.npy", fitted.embedding_)
    forms = [fitted.embedding_, fitted.result_, tmp_path / "model.winkel", str(tmp_path / "map.winkel"), tmp_path / "map.npy"]  # fmt: skip
    for form in forms:
        assert wk.measure(X, form).to_json() == report.to_json()
    assert wk.measure(X, PCA(2).fit_transform(X).tolist()).n_components == 2
    with pytest.raises(InvalidInputError, match="not fitted"):
        wk.measure(X, wk.MDE())
    with pytest.raises(InvalidInputError, match="map must be an array"):
        wk.measure(X, X[0])


def test_the_seed_is_zero_unless_another_is_passed(data):
    X, Y, labels = data
    report = wk.measure(X, Y, labels=labels, sample=50)
    assert report.seed == 0
    assert report.to_json() == wk.measure(X, Y, labels=labels, sample=50, random_state=0).to_json()


def test_without_baseline_nothing_stands_beside(data, report):
    X, Y, labels = data
    alone = wk.measure(X, Y, labels=labels, baseline=False)
    assert [s.value for s in alone.scores.values()] == [s.value for s in report.scores.values()]
    assert all(s.baseline is None for s in alone.scores.values())
    assert "rnx_baseline" not in alone.curves


def test_a_notebook_shows_a_table_in_which_nothing_is_html(report):
    shown = replace(report, metric="<script>")._repr_html_()
    assert shown.count("<tr>") == 1 + len(report.scores)
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown


def test_label_accuracy_by_hand():
    Y = np.array([[0.0], [0.1], [0.2], [0.3], [0.4], [9.0], [9.1], [9.2], [9.3], [9.4]])
    labels = [0] * 5 + [1] * 5
    names = ["label_accuracy", "clustering_accuracy"]
    found = wk.measure(Y, Y, scores=names, labels=labels, n_neighbors=3)
    assert [found[name].value for name in names] == [1, 1]
    # Of votes 1 0 0 1 both have two: the first to be met leads.
    np.testing.assert_array_equal(leading(np.array([[1, 0, 0, 1], [0, 1, 1, 2]]), 3), [1, 1])
    flat = wk.measure(Y[:4], np.zeros((4, 1)), scores=names[1:], labels=[0, 0, 0, 1], n_neighbors=1)
    assert flat[names[1]].value == 0.75


def test_refuses_labels_that_do_not_fit(data):
    X, Y, labels = data
    with pytest.raises(InvalidInputError, match="one entry for each"):
        wk.measure(X, Y, labels=labels[:-1])
    with pytest.raises(InvalidInputError, match="NaN"):
        wk.measure(X, Y, labels=np.full(180, np.nan))


@pytest.mark.parametrize("shape", [(50, 4), (4, 50), (60, 40)])
def test_principal_map_is_that_of_scikit_learn(shape, monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=shape) * np.linspace(4, 0.1, shape[1])
    expected = np.abs(PCA(2, svd_solver="full").fit_transform(X))
    np.testing.assert_allclose(np.abs(principal_map(X, 2)), expected, atol=1e-6)
    np.testing.assert_allclose(np.abs(principal_map(sp.csr_matrix(X), 2)), expected, atol=1e-6)
    monkeypatch.setattr(baseline, "_DENSE_UP_TO", 2)  # as if there were thousands of columns
    np.testing.assert_allclose(np.abs(principal_map(X, 2)), expected, atol=1e-6)


def test_principal_map_beyond_the_rank_is_zero():
    assert not principal_map(np.arange(10.0).reshape(5, 2), 4)[:, 2:].any()
