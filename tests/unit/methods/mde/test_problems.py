from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

import winkel as wk
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError, MemoryLimitError
from winkel.methods.mde.neighbors import list_length


def rows(n=60, m=5, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


def letters_apart(a, b):
    return float(len(set(a) ^ set(b)))


class OwnPenalty:
    def value(self, d):
        return d**2

    def derivative(self, d):
        return 2 * d


# ------------------------------------------------------------------------------------------------- neighbours


def test_weights_are_two_for_mutual_one_for_single_and_minus_one():
    # 0, 1, 3 and 7 on a line, one neighbour each: 0 and 1 list each other, 3 lists 1, 7 lists 3.
    data = np.array([[0.0], [1.0], [3.0], [7.0]])
    problem = wk.preserve_neighbors(data, n_neighbors=1, repulsive="log", random_state=0)
    np.testing.assert_array_equal(problem.edges[:3], [[0, 1], [1, 2], [2, 3]])
    np.testing.assert_array_equal(problem.distortion.weights, [2, 1, 1, -1, -1, -1])
    np.testing.assert_array_equal(problem.edges[3:], [[0, 2], [0, 3], [1, 3]])  # all that are left


@pytest.mark.parametrize("fraction", [0.5, 1.0, 2.5])
def test_number_of_dissimilar_pairs(fraction):
    graph = wk.graph.knn(rows(200), 5)
    problem = wk.preserve_neighbors(graph, repulsive="log", repulsive_fraction=fraction, random_state=1)
    similar = problem.distortion.weights > 0
    assert similar.sum() == graph.n_edges
    assert (~similar).sum() == round(fraction * graph.n_edges)
    every = problem.edges[:, 0].astype(np.int64) * 200 + problem.edges[:, 1]
    assert len(np.unique(every)) == len(every)


def test_data_and_its_graph_make_the_same_problem():
    X = rows()
    a = wk.preserve_neighbors(X, n_neighbors=7, random_state=3, n_jobs=1)
    listed = list_length(len(X), 7)  # more than the 7 nearest
    assert listed > 7
    b = wk.preserve_neighbors(wk.graph.knn(X, listed), n_neighbors=7, random_state=3, n_jobs=3)
    assert a.edges.tobytes() == b.edges.tobytes()
    assert a.distortion.weights.tobytes() == b.distortion.weights.tobytes()


def test_weighted_graph_keeps_its_weights():
    graph = wk.Graph.from_edges([[0, 1], [1, 2], [3, 4]], weights=[0.5, 3.0, 7.0])
    problem = wk.preserve_neighbors(graph, repulsive=None)
    np.testing.assert_allclose(problem.distortion.weights, [0.5, 3.0, 7.0])
    assert problem.n_pairs == 3


def test_sample_weight_multiplies_by_the_root_of_both_ends():
    graph = wk.Graph.from_edges([[0, 1], [1, 2]], n=4)
    given = np.array([4.0, 9.0, 1.0, 1.0])
    problem = wk.preserve_neighbors(graph, repulsive="log", sample_weight=given, random_state=0)
    plain = wk.preserve_neighbors(graph, repulsive="log", random_state=0)
    np.testing.assert_allclose(problem.distortion.weights[:2], [6.0, 3.0])
    root = np.sqrt(given)[problem.edges].prod(axis=1)
    np.testing.assert_allclose(problem.distortion.weights, plain.distortion.weights * root)


@pytest.mark.parametrize(
    "given", [np.ones(3), [1, -1, 1, 1], [1, np.nan, 1, 1], [0, 1, 1, 1], np.ones((4, 1))]
)
def test_misused_sample_weight(given):
    graph = wk.Graph.from_edges([[0, 1], [1, 2]], n=4)
    with pytest.raises(InvalidParameterError, match="sample_weight"):
        wk.preserve_neighbors(graph, sample_weight=given)


def test_penalties_by_name_class_instance_and_own():
    graph = wk.graph.knn(rows(), 5)
    Y = wk.Centered().initialize(60, 2, 0)

    def value(attractive, repulsive):
        problem = wk.preserve_neighbors(graph, attractive=attractive, repulsive=repulsive, random_state=0)
        return problem.average_distortion(Y)

    named = value("quadratic", "inv_power")
    assert named == value(wk.penalties.Quadratic, wk.penalties.InvPower)
    assert named == value(wk.penalties.Quadratic(), wk.penalties.InvPower(exponent=1.0))
    assert named == pytest.approx(value(OwnPenalty(), "inv_power"))
    assert named == pytest.approx(value(OwnPenalty, "inv_power"))
    assert named != value("quadratic", wk.penalties.InvPower(exponent=2.0))
    assert value(wk.penalties.Quadratic(3.0), None) == pytest.approx(3 * value("quadratic", None))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attractive": "log"}, "attractive must be one of 'linear'"),
        ({"repulsive": "log1p"}, "repulsive must be one of .*'cauchy', 'log'"),
        ({"attractive": 3}, "distortion must be"),
        ({"attractive": wk.penalties.Log1p([1.0, 2.0])}, "one weight for all pairs"),
        ({"repulsive_fraction": 0}, "repulsive_fraction"),
        ({"repulsive_fraction": "many"}, "repulsive_fraction"),
        ({"repulsive_fraction": np.nan}, "repulsive_fraction"),
        ({"n_neighbors": 60}, "n_neighbors"),
        ({"n_neighbors": True}, "n_neighbors"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_misuse_of_preserve_neighbors(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        wk.preserve_neighbors(rows(), **change)


def test_when_all_are_neighbours_the_map_may_shrink():
    with pytest.warns(DataWarning, match="all 6 rows are neighbours of each other"):
        problem = wk.preserve_neighbors(rows(6), n_neighbors=5, repulsive="log")
    assert (problem.distortion.weights > 0).all()


def test_graph_without_edges():
    with pytest.raises(InvalidInputError, match="no edges"):
        wk.preserve_neighbors(wk.Graph.from_edges(np.empty((0, 2), dtype=int), n=4))


def test_memory_is_refused_before_the_search():
    with pytest.raises(MemoryLimitError, match="max_memory"):
        wk.preserve_neighbors(rows(), max_memory="1KB")


# ------------------------------------------------------------------------------------------------- distances


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev"])
def test_distances_are_those_of_the_data(metric):
    X = rows(20)
    problem = wk.preserve_distances(X, metric=metric)
    names = {"manhattan": "cityblock"}
    np.testing.assert_allclose(problem.distortion.deviations, pdist(X, names.get(metric, metric)), rtol=1e-6)
    np.testing.assert_array_equal(problem.edges, np.stack(np.triu_indices(20, 1), axis=1))


def test_precomputed_distances_are_taken_as_they_are():
    X = rows(20)
    given = wk.preserve_distances(squareform(pdist(X)), metric="precomputed")
    np.testing.assert_allclose(given.distortion.deviations, pdist(X))


def test_a_function_gives_the_distances_of_any_items():
    words = ["cat", "act", "dog", "god", "bird"]
    problem = wk.preserve_distances(words, metric=letters_apart)
    np.testing.assert_array_equal(problem.distortion.deviations[:4], [0, 6, 6, 7])


def test_lopsided_distances_are_refused():
    D = squareform(pdist(rows(5)))
    D[0, 1] *= 2
    with pytest.raises(InvalidInputError, match="symmetric"):
        wk.preserve_distances(D, metric="precomputed")


def test_graph_distances_are_shortest_paths_and_unreachable_pairs_are_left_out():
    # A path 0–1–2 with steps 1 and 2, and a piece 3–4.
    graph = wk.Graph.from_edges([[0, 1], [1, 2], [3, 4]], distances=[1.0, 2.0, 5.0])
    problem = wk.preserve_distances(graph)
    np.testing.assert_array_equal(problem.edges, [[0, 1], [0, 2], [1, 2], [3, 4]])
    np.testing.assert_allclose(problem.distortion.deviations, [1, 3, 2, 5])


def test_budget_of_distances():
    X = rows(60)
    some = wk.preserve_distances(X, max_distances=100, random_state=0)
    assert some.n_pairs == 100
    np.testing.assert_allclose(
        some.distortion.deviations, np.linalg.norm(np.diff(X[some.edges], axis=1)[:, 0], axis=1)
    )
    assert (
        some.edges.tobytes()
        == wk.preserve_distances(X, max_distances=100, random_state=0, n_jobs=3).edges.tobytes()
    )
    assert wk.preserve_distances(X, max_distances=1770).n_pairs == 1770
    assert wk.preserve_distances(wk.graph.knn(X, 8), max_distances=100, random_state=0).n_pairs <= 100


@pytest.mark.parametrize(
    "name",
    [
        "quadratic",
        "weighted_quadratic",
        "cubic",
        "power",
        "huber",
        "logistic",
        "fractional",
        "soft_fractional",
    ],
)
def test_losses_by_name(name):
    problem = wk.preserve_distances(rows(10, m=2), loss=name)
    X = rows(10, m=2)
    assert problem.average_distortion(X) == pytest.approx(0, abs=1e-9)
    assert problem.average_distortion(1.5 * X) > 0.01


def test_loss_from_a_function():
    problem = wk.preserve_distances(rows(10), loss=lambda d: wk.losses.Huber(d, threshold=0.3))
    assert problem.distortion.threshold == 0.3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"loss": "nope"}, InvalidParameterError, "loss must be one of .*'absolute'"),
        ({"loss": None}, InvalidParameterError, "loss must be"),
        ({"max_distances": 0}, InvalidParameterError, "max_distances"),
        ({"max_distances": 10.5}, InvalidParameterError, "max_distances"),
        ({"max_distances": True}, InvalidParameterError, "max_distances"),
        ({"metric": "nope"}, InvalidParameterError, "metric"),
        ({"max_memory": "1KB"}, MemoryLimitError, "1770 distances"),
    ],
)
def test_misuse_of_preserve_distances(change, error, message):
    with pytest.raises(error, match=message):
        wk.preserve_distances(rows(), **change)


def test_sparse_data_has_no_distances_here():
    with pytest.raises(InvalidInputError, match="sparse"):
        wk.preserve_distances(sp.csr_matrix(rows()))


# ------------------------------------------------------------------------------- standardized maps, odd weights


@pytest.mark.parametrize("loss", ["absolute", "huber", "quadratic"])
def test_the_unit_of_distances_does_not_matter_for_a_standardized_map(loss):
    X = np.random.Generator(np.random.Philox(key=1)).normal(size=(80, 4))
    problems = [
        wk.preserve_distances(scale * X, loss=loss, constraint="standardized") for scale in (1.0, 100.0, 1e-6)
    ]
    natural = np.sqrt(2 * 80 * 2 / 79)
    for problem in problems:
        wanted = problem.distortion.deviations
        assert np.sqrt(np.mean(wanted**2)) == pytest.approx(natural, rel=1e-6)
        np.testing.assert_allclose(wanted, problems[0].distortion.deviations, rtol=1e-5)
    # A standardized map has that root mean square distance, which is what makes the length natural.
    Y = wk.Standardized().initialize(80, 2, seed=0)
    assert np.sqrt(np.mean(problems[0].distances(Y) ** 2)) == pytest.approx(natural, rel=1e-5)
    assert wk.Standardized.natural_length(80, 2) == pytest.approx(natural)


def test_standardized_maps_of_distances_in_any_unit():
    X = np.random.Generator(np.random.Philox(key=2)).normal(size=(150, 4))
    kept = []
    for scale in (1.0, 100.0, 0.01):
        model = wk.MDE(
            preserve="distances", constraint="standardized", loss="quadratic", random_state=0, n_jobs=1
        ).fit(scale * X[:120])
        Y = model.embedding_
        np.testing.assert_allclose(Y.T @ Y / 120, np.eye(2), atol=1e-3)
        factor = model.result_.settings["distance_scale"]
        assert factor * scale == pytest.approx(
            wk.Standardized.natural_length(120, 2) / np.sqrt(np.mean(pdist(X[:120]) ** 2))
        )
        placed = model.transform(scale * X[120:])
        assert 0.5 < placed.std() < 2
        kept.append(spearmanr(pdist(X[:120]), pdist(Y))[0])
        grown = model.extend(scale * X[120:])
        assert 0.5 < grown.std() < 2
        assert model.result_.settings["distance_scale"] == pytest.approx(factor)
    assert min(kept) > 0.7
    assert max(kept) - min(kept) < 0.01


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.0, 0.0, 0.0], "nothing attracts"),
        ([1.0, 1.0, 1e300], "Clip or rescale"),
        ([1e300] * 3, "Clip or rescale"),
    ],
)
@pytest.mark.parametrize("repulsive", ["auto", "log"])
def test_weights_that_leave_nothing_to_solve_are_refused(weights, message, repulsive):
    graph = wk.Graph.from_edges([[0, 1], [1, 2], [2, 3]], n=4, weights=weights)
    with pytest.raises(InvalidInputError, match=message):
        wk.preserve_neighbors(graph, repulsive=repulsive, random_state=0)


def test_some_weights_of_zero_are_as_none():
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]])
    graph = wk.Graph.from_edges(edges, n=5, weights=[1.0, 1.0, 1.0, 1.0, 0.0])
    Y = wk.preserve_neighbors(graph, repulsive_fraction=0.5, random_state=0).solve(random_state=0).Y
    assert np.isfinite(Y).all()


def test_the_stochastic_solver_at_its_defaults():
    X = wk.datasets.load_digits().X[:150]
    model = wk.MDE(solver="stochastic", max_iter=20, random_state=0, n_jobs=1).fit(X)
    assert model.result_.settings["solver"] == "stochastic proximal"
    assert model.result_.settings["trust"] == 30.0
    assert np.isfinite(model.embedding_).all()
    problem = wk.preserve_neighbors(X, repulsive="log", random_state=0)
    free, bound = (
        problem.solve(solver="stochastic", trust=trust, max_iter=12, random_state=0) for trust in (1e6, 0.1)
    )
    start = problem.solve(solver="stochastic", max_iter=1, random_state=0).Y
    assert np.linalg.norm(bound.Y - start) < 0.5 * np.linalg.norm(free.Y - start)
    with pytest.raises(InvalidParameterError, match="trust"):
        problem.solve(solver="lbfgs", trust=10.0)
    with pytest.raises(InvalidParameterError, match="trust"):
        problem.solve(solver="stochastic", trust=0.0)
