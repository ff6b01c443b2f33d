"""Tests of maps made again: stability, null_test, compare, tune."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA

import winkel as wk
from winkel.data import as_table
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.graph.knn import neighbor_graph
from winkel.measures.density import density_clusters, labelled_clarity
from winkel.measures.fits import cut_graph
from winkel.measures.null_test import _arms_null, _corrected, _gaussian, _local, _permuted, maps_for
from winkel.run import Run, Stream


class Noisy(BaseEstimator):
    """The first two columns and noise by the seed: a map whose stability is known."""

    def __init__(self, noise=0.0, random_state=None):
        self.noise = noise
        self.random_state = random_state

    def fit_transform(self, X, y=None):
        random = np.random.default_rng(self.random_state)
        return X[:, :2] + self.noise * random.normal(size=(len(X), 2))


def data(n=120, gap=0.0, seed=0, m=6):
    X = np.random.default_rng(seed).normal(size=(n, m))
    X[: n // 2] += gap
    return X


def quick():
    return wk.MDE(repulsive="log", max_iter=15, tol=10.0)


# ------------------------------------------------------------------------------------------- stability


def test_what_does_not_change_is_perfectly_stable():
    found = wk.stability(Noisy(), data(), n_runs=2, random_state=0)
    assert found.value == 1
    assert found.by("seed") == found.by("rows") == 1
    np.testing.assert_allclose(found.displacement, 0, atol=1e-9)
    assert found.similarity == pytest.approx(1)
    assert len(found.runs) == 4
    assert not found.shared_graph


def test_noise_makes_maps_less_stable_down_to_chance():
    values = [
        wk.stability(Noisy(noise), data(), n_runs=4, vary="seeds", random_state=0).value
        for noise in (0.1, 1.0, 100.0)
    ]
    assert values[0] > values[1] > values[2]
    last = wk.stability(Noisy(100.0), data(), n_runs=4, vary="seeds", random_state=0)
    assert last.value == pytest.approx(last.chance, abs=0.04)
    assert last.interval[0] <= last.value <= last.interval[1]


def test_points_that_move_are_found():
    class OneLoose(Noisy):
        def fit_transform(self, X, y=None):
            Y = X[:, :2].copy()
            Y[7] = 5 * np.random.default_rng(self.random_state).normal(size=2)
            return Y

    found = wk.stability(OneLoose(), data(), n_runs=4, vary="seeds", random_state=0)
    assert found.displacement.argmax() == 7
    assert found.neighbors.argmin() == 7


def test_estimators_that_take_a_graph_share_one():
    X = data(60)
    found = wk.stability(quick(), X, n_runs=1, random_state=0)
    assert found.shared_graph
    assert "one neighbour graph" in str(found)
    again = wk.stability(quick(), X, n_runs=1, random_state=0)
    np.testing.assert_array_equal(found.neighbors, again.neighbors)
    assert not wk.MDE(preserve="distances").accepts_graph


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_a_graph_is_shared_only_where_it_gives_the_map_of_the_rows():
    X = data(60)
    for model in (quick(), wk.MDE(), wk.LVM(n_neighbors=6)):
        model.set_params(max_iter=5, random_state=0)
        graph = wk.graph.knn(X, model.n_neighbors)
        of_rows, of_graph = model.fit_transform(X), model.fit_transform(graph)
        same = np.allclose(
            of_rows, of_graph, atol=1e-3 * np.ptp(of_rows)
        )  # a graph has no precision of its own
        assert model.graph_suffices == same


def test_stability_refuses_nonsense():
    for bad in ({"vary": "all"}, {"share": 1.0}, {"n_runs": 0}):
        with pytest.raises(InvalidParameterError):
            wk.stability(Noisy(), data(), **bad)
    with pytest.raises(InvalidParameterError, match="fit_transform"):
        wk.stability(np.zeros(3), data())


# ------------------------------------------------------------------------------------------- clusters and chance


def test_hills_of_density_by_hand():
    random = np.random.default_rng(0)
    far = np.concatenate([random.normal(size=(80, 2)), random.normal(size=(60, 2)) + 30])
    found = density_clusters(far, 10, 0.5, Run())
    assert len(np.unique(found.labels[:80])) == 1 or found.clarity[0] > 2
    assert not set(found.labels[:80]) & set(found.labels[80:])
    assert found.clarity.max() > 4  # the gap is many times wider than a neighbourhood
    wider = density_clusters(np.concatenate([far[:80], far[80:] + 100]), 10, 0.5, Run())
    assert wider.clarity.max() > found.clarity.max()
    np.testing.assert_allclose(
        density_clusters(7 * far + 3, 10, 0.5, Run()).clarity, found.clarity, rtol=1e-6
    )
    given = labelled_clarity(far, np.repeat(["x", "y"], [80, 60]), 10, Run())
    assert np.isinf(given.clarity).all()  # nobody has a neighbour on the other side
    halves = labelled_clarity(far[:80], far[:80, 0] > 0, 10, Run())
    assert halves.clarity.max() < 1


def test_one_hill_has_no_clarity():
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), -1).reshape(-1, 2)
    found = density_clusters(grid, 8, 1.0, Run())
    assert found.clarity.tolist() == [0.0]
    assert (found.labels == 0).all()


def test_structureless_data_keeps_what_it_should():
    X = data(2000, gap=3.0) @ np.random.default_rng(1).normal(size=(6, 6))
    normal = _gaussian(X, Stream(0, 1))
    np.testing.assert_allclose(normal.mean(axis=0), X.mean(axis=0), atol=0.6)
    np.testing.assert_allclose(np.cov(normal.T), np.cov(X.T), atol=0.15 * np.cov(X.T).max())
    few = _gaussian(X[:4], Stream(0, 1))  # fewer rows than columns
    assert np.linalg.matrix_rank(few - X[:4].mean(axis=0)) <= 4
    shuffled = _permuted(X, Stream(0, 1))
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), np.sort(X, axis=0))
    assert abs(np.corrcoef(shuffled[:, 0], shuffled[:, 1])[0, 1]) < 0.08


def test_p_counts_repetitions_honestly():
    X = data(100)
    found = wk.null_test(PCA(2), X, n_repeats=3, random_state=0)
    assert found.cluster_p.min() >= 1 / 4
    assert found.point_p.min() >= 1 / (1 + 3 * 100)
    assert found.point_p[found.preserved.argmax()] == found.point_p.min() < found.point_p.max() <= 1
    assert "3 maps" in str(found)
    again = wk.null_test(PCA(2), X, n_repeats=3, random_state=0)
    np.testing.assert_array_equal(found.point_p, again.point_p)
    named = wk.null_test(PCA(2), X, n_repeats=3, clusters=X[:, 0] > 0, null="permutation", random_state=0)
    assert len(named.cluster_p) == 2
    assert named.chance.all()
    with pytest.raises(InvalidParameterError, match="null"):
        wk.null_test(PCA(2), X, null="nothing")


def test_maps_of_chance_for_a_level():
    assert [maps_for(level) for level in (0.5, 0.1, 0.05, 0.01, 0.03)] == [1, 9, 19, 99, 33]
    found = wk.null_test(PCA(2), data(60, gap=8.0), level=0.2)
    assert found.n_repeats == 4
    assert found.can_reach_level
    assert not found.chance.any()
    few = wk.null_test(PCA(2), data(60, gap=8.0), n_repeats=3)
    assert not few.can_reach_level
    assert "none can reach the level 0.05: n_repeats=19 would do" in str(few)
    assert "too few maps to tell" in str(few)
    with pytest.raises(InvalidParameterError, match="level must be"):
        wk.null_test(PCA(2), data(60), level=0.0)


def test_p_is_corrected_for_the_number_of_clusters():
    # Worked out by hand: no map of three is as clear as the first; one has a cluster as clear as the second, and only it is as clear as 4.
    null = np.array([[1.0, 9.0], [2.0, 1.0], [3.0, 2.0]])
    single, corrected = _corrected(np.array([10.0, 4.0]), null)
    np.testing.assert_allclose(single, [1 / 4, 2 / 4])
    np.testing.assert_allclose(corrected, [1 / 4, 2 / 4])
    single, corrected = _corrected(np.array([4.0, 4.0]), null)
    np.testing.assert_allclose(single, [1 / 4, 2 / 4])
    np.testing.assert_allclose(corrected, [2 / 4, 2 / 4])  # some cluster is as clear as the first in one map
    alone, same = _corrected(np.array([4.0]), null[:, :1])
    assert alone == same == 1 / 4
    many = np.random.Generator(np.random.Philox(key=0)).normal(size=(40, 30))
    one, all_together = _corrected(many[0], many[1:])
    assert (all_together >= one).all()
    assert one.min() < 0.1 < all_together.min()


def test_a_cluster_without_its_like_by_chance_is_not_called_chance():
    # The first is called; chance makes the like of the second; the third is clearer than all, but not beyond the correction.
    found = wk.null_test(PCA(2), data(60), n_repeats=19, random_state=0)
    found = replace(
        found, clusters=np.arange(60) % 3, clarity=np.array([9.0, 1.0, 2.0]), null_clarity=np.ones((19, 3)),
        single_p=np.array([0.05, 1.0, 0.05]), cluster_p=np.array([0.05, 1.0, 0.1]),
    )  # fmt: skip
    verdicts = [row[-1] for row in found._table()[1:]]
    assert verdicts == ["not by chance", "chance does as well", "cannot be told among 3"]
    assert found.chance.tolist() == [False, True, True]


def test_the_arms_of_chance_are_as_thin_as_the_data():
    # A bent sheet has two dimensions within neighbourhoods and three in all; a line in noise gives arms, round groups give none.
    rng = np.random.default_rng(0)
    run = Run.of(random_state=0)
    t = 1.5 + 3 * rng.random(600)
    sheet = np.column_stack([t * np.cos(2 * t), 6 * rng.random(600), t * np.sin(2 * t)])
    line = np.column_stack([20 * rng.random(600), 0.02 * rng.normal(size=(600, 3))])
    apart = rng.normal(size=(300, 4)) + 50 * np.eye(4)[np.arange(300) % 3]
    thickness = {}
    for name, X in {"sheet": sheet, "line": line, "apart": apart}.items():
        table = as_table(X)
        drawn = as_table(_arms_null(table, 15, run)(Stream(0, 1)))
        assert drawn.values.var(axis=0).sum() == pytest.approx(X.var(axis=0).sum())
        ours, theirs = (
            _local(part.values, neighbor_graph(part, 15, run).knn_indices) / part.values.var(axis=0).sum()
            for part in (table, drawn)
        )
        np.testing.assert_allclose(theirs, ours, atol=0.08)
        thickness[name] = theirs[-1] / theirs[0]
    assert thickness["line"] < 0.1
    assert thickness["apart"] > 0.3


def test_data_that_branch_are_not_called_clusters():
    # Three thin arms that leave one place; against round data of the same dimension their pieces would be clearer than chance.
    rng = np.random.default_rng(0)
    X = 3 * rng.random((150, 1)) * np.eye(5)[np.arange(150) % 3] + 0.2 * rng.normal(size=(150, 5))
    clumping = wk.MDE(repulsive="log", max_iter=25)
    found = wk.null_test(clumping, X, min_clarity=0.3)
    assert found.clarity.max() > 2
    assert found.chance.all()


# ------------------------------------------------------------------------------------------- compare


def test_compare_estimators_and_finished_maps():
    X = data(90, gap=4.0)
    Y = X[:, :2]
    turned = 2 * Y @ np.array([[0.0, -1.0], [1.0, 0.0]]) + 5
    labels = np.repeat([0, 1], 45)
    found = wk.compare(
        X, {"given": Y, "turned": turned, "PCA": PCA(2), "MDE": quick()}, labels=labels, random_state=0
    )
    assert found.names == ("given", "turned", "PCA", "MDE")
    np.testing.assert_allclose(found.maps["turned"], Y, atol=1e-8)
    assert found.similarity[0, 1] == pytest.approx(1)
    np.testing.assert_array_equal(found.similarity, found.similarity.T)
    assert found.seconds["given"] is None
    assert found.seconds["MDE"] > 0
    assert found.graph_seconds is not None
    alone = wk.measure(X, Y, labels=labels, random_state=0)
    for name, score in alone.scores.items():
        assert found.reports["given"][name].value == pytest.approx(score.value, abs=1e-9)
    assert list(found.to_frame().index) == list(found.names)
    assert "label_accuracy" in str(found)
    assert "similarity" in str(found)


def test_compare_refuses_what_is_no_map():
    X = data()
    with pytest.raises(InvalidParameterError, match="at least one"):
        wk.compare(X, {})
    with pytest.raises(InvalidInputError, match="rows"):
        wk.compare(X, {"short": X[:50, :2]})


# ------------------------------------------------------------------------------------------- tune


def test_tune_finds_the_faithful_and_stable_choice_and_its_doubt():
    found = wk.tune(Noisy(), data(), {"noise": [3.0, 0.3, 0.0]}, random_state=0)
    assert dict(found.best) == {"noise": 0.0}
    assert found.confidence > 0.95
    assert len(found.alike) == 1
    scores = [c.score for c in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert sum(c.wins for c in found.candidates) == pytest.approx(1)


def test_tune_says_when_choices_cannot_be_told_apart():
    class Tagged(Noisy):
        """Another draw of the same noise for each tag."""

        def __init__(self, tag=0, noise=0.3, random_state=None):
            super().__init__(noise, random_state)
            self.tag = tag

        def fit_transform(self, X, y=None):
            random = np.random.default_rng([self.tag, self.random_state])
            return X[:, :2] + self.noise * random.normal(size=(len(X), 2))

    close = wk.tune(Tagged(), data(), {"tag": [1, 2, 3, 4]}, random_state=0)
    assert close.confidence < 0.95
    assert len(close.alike) > 1
    assert "cannot be distinguished" in str(close)


def test_tune_shares_the_largest_graph():
    X = data(80)
    found = wk.tune(quick(), X, {"n_neighbors": [5, 20]}, n_runs=2, random_state=0)
    assert found.shared_graph
    large = wk.graph.knn(X, 20)
    np.testing.assert_array_equal(cut_graph(large, 5).knn_indices, wk.graph.knn(X, 5).knn_indices)
    with pytest.raises(InvalidParameterError, match="no parameter 'depth'"):
        wk.tune(quick(), X, {"depth": [1]})
    with pytest.raises(InvalidParameterError, match="grid"):
        wk.tune(quick(), X, {})


# ------------------------------------------------------------------------------------------- estimators and pictures


def test_estimators_carry_their_faithfulness(capsys):
    X = data(60)
    mde = quick().set_params(random_state=0, verbose=True).fit(X)
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("MDE: trustworthiness 0.")
    report = mde.faithfulness(X)
    assert report["trustworthiness"].value == wk.measure(X, mde.embedding_)["trustworthiness"].value
    few = quick().set_params(n_neighbors=2).fit(X[:6])
    assert few.faithfulness(X[:6]).n_neighbors == 2


def test_pictures_are_drawn(tmp_path):
    import matplotlib

    matplotlib.use("Agg")

    from winkel.view.trust import plot_comparison, plot_faithfulness, plot_indicatrix

    X = data(90)
    Y = X[:, :2]
    plot_faithfulness(wk.measure(X, Y, sample=50, random_state=0), path=tmp_path / "scores.png")
    plot_indicatrix(Y, wk.indicatrix(X, Y), path=tmp_path / "ellipses.png")
    figure = plot_comparison(wk.compare(X, {"a": Y, "b": -Y}, random_state=0), path=tmp_path / "maps.png")
    assert len(figure.axes) == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ellipses.png", "maps.png", "scores.png"]
    with pytest.raises(InvalidInputError, match="two dimensions"):
        plot_indicatrix(Y[:5], wk.indicatrix(X, Y))


def test_notebooks_show_tables_with_every_text_escaped():
    X = wk.datasets.load_digits().X[:120]
    stable = wk.stability(PCA(2), X, n_runs=2)._repr_html_()
    assert "2 other seeds" in stable
    assert "2 subsamples" in stable
    chance = wk.null_test(PCA(2), X, n_repeats=2)
    assert "too few maps to tell" in chance._repr_html_()
    assert "neighbours kept" in chance._repr_html_()
    assert "<script>" not in replace(chance, null="<script>")._repr_html_()
    tuned = wk.tune(PCA(2), X, {"whiten": [False, True]}, score="stress", n_runs=2)._repr_html_()
    assert "whiten=True" in tuned
    assert "recommended: {&#x27;whiten&#x27;" in tuned
    for shown in (stable, chance._repr_html_(), tuned):
        assert shown.startswith("<table><caption>")
