"""Labels in the fit and densities kept: what they do to pulls, to maps, and the scores that tell."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.methods.labels import read_labels
from winkel.methods.mde.leanings import Leanings, density_factors, label_factors

pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
KINDS = RNG.integers(0, 3, 150)  # which have nothing to do with X
EDGES = np.array([[0, 1], [0, 2], [1, 3]])
QUICK = {"n_neighbors": 8, "max_iter": 60, "random_state": 0, "n_jobs": 1}


def test_factors_of_classes_and_numbers():
    np.testing.assert_array_equal(label_factors(np.array([1, 1, 2, -1]), EDGES, 0.7), [1, 1 - 0.7, 1])
    values = np.array([0.0, 1.0, np.nan, 3.0])
    scale = np.std([0.0, 1.0, 3.0])
    expected = [1 - 0.5 * (1 - np.exp(-((1 / scale) ** 2))), 1, 1 - 0.5 * (1 - np.exp(-((2 / scale) ** 2)))]
    np.testing.assert_allclose(label_factors(values, EDGES, 0.5), expected)


def test_factors_of_densities():
    graph = wk.graph.knn([[0.0], [1.0], [2.0], [6.0]], 1)
    radius = np.array([1.0, 1.0, 1.0, 4.0])
    relative = radius / 4.0**0.25
    expected = 1 / (relative[EDGES[:, 0]] * relative[EDGES[:, 1]])
    np.testing.assert_allclose(density_factors(graph, EDGES, 1.0), expected, rtol=1e-6)


def test_labels_are_read():
    codes = read_labels(np.array(["b", "a", "", "b"]), 4)
    assert codes[0] == codes[3] != codes[1]
    assert codes[2] == -1
    assert read_labels(np.array([3, -1, -5]), 3).tolist() == [3, -1, -1]
    assert np.isnan(read_labels(np.array([1.5, np.nan]), 2)[1])
    with pytest.raises(InvalidInputError, match="one label for each of the 3 rows"):
        read_labels([1, 2], 3)


def test_labels_draw_classes_together_as_far_as_asked_and_the_score_says_so():
    excess = []
    for weight in (0.0, 0.9, 1.0):
        model = wk.MDE(label_weight=weight, **QUICK).fit(X, KINDS)
        excess.append(
            wk.measure(X, model, labels=KINDS, scores=["label_excess"], n_jobs=1)["label_excess"].value
        )
    assert excess[0] < 0.05
    assert excess[0] < excess[1] < excess[2]
    assert excess[2] > 0.3
    plain = wk.MDE(**QUICK).fit(X)
    assert wk.MDE(**QUICK).fit(X, KINDS).embedding_.tobytes() == plain.embedding_.tobytes()
    unknown = wk.MDE(label_weight=1.0, **QUICK).fit(X, np.full(150, -1))
    np.testing.assert_allclose(unknown.embedding_, plain.embedding_, atol=1e-6)


def test_the_sum_of_attractions_stays():
    plain = wk.MDE(**QUICK).fit(X).problem_.distortion.weights
    drawn = wk.MDE(label_weight=0.8, **QUICK).fit(X, KINDS).problem_.distortion.weights
    np.testing.assert_allclose(drawn[drawn > 0].sum(), plain[plain > 0].sum(), rtol=1e-6)


def test_equal_rows_keep_a_label_that_they_share():
    twins = np.repeat(X[:40], 2, axis=0)
    labels = np.repeat(KINDS[:40], 2)
    labels[0], labels[3] = -1, labels[2] + 1
    from winkel.methods.mde.distinct import find_items

    items = find_items(wk.data.as_table(twins))
    found = Leanings(1.0, labels).of_items(items).labels
    by_row = found[items.of]
    assert by_row[0] == labels[1]  # the one that is known
    assert by_row[2] == -1  # two different ones
    np.testing.assert_array_equal(by_row[4:], labels[4:])
    assert np.isfinite(wk.MDE(label_weight=1.0, **QUICK).fit(twins, labels).embedding_).all()


def test_density_is_shown_and_scored():
    spread = np.repeat([0.2, 1.0, 3.0], 50)
    groups = 30 * np.eye(3, 5)[np.repeat([0, 1, 2], 50)] + RNG.normal(size=(150, 5)) * spread[:, None]
    scores = [
        wk.measure(groups, wk.MDE(density=d, **QUICK).fit(groups), scores=["density_correlation"], n_jobs=1)
        for d in (0.0, 1.0)
    ]
    assert scores[1]["density_correlation"].value > max(0.8, scores[0]["density_correlation"].value + 0.2)
    same = wk.measure(X, X, scores=["density_correlation"], n_jobs=1)["density_correlation"]
    assert same.value == pytest.approx(1)
    flipped = wk.measure(
        X[:, :1], np.sign(X[:, :1]) / np.abs(X[:, :1]), scores=["density_correlation"], n_jobs=1
    )
    assert flipped["density_correlation"].value < 0


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"label_weight": 0.5}, None, r"needs labels: call fit\(X, y\)"),
        ({"label_weight": 1.5}, KINDS, r"label_weight must be a number in \[0, 1\]"),
        ({"density": 0.5, "preserve": "distances"}, None, 'density only works with preserve="neighbors"'),
        ({"label_weight": 1.0}, np.arange(150), "no two neighbours have the same label"),
    ],
)
def test_what_cannot_be_is_refused(parameters, y, message):
    with pytest.raises((InvalidParameterError, InvalidInputError), match=message):
        wk.MDE(**QUICK | parameters).fit(X, y)
